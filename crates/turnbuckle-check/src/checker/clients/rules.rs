//! The rules that clients are judged by.

mod http;
mod messages;
mod rounds;

use super::run::Rule;

/// Returns the rules.
pub(super) fn all() -> impl Iterator<Item = &'static Rule> {
    [messages::RULES, http::RULES, rounds::RULES]
        .into_iter()
        .flatten()
}
