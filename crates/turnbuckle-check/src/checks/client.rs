//! The checks of clients: what they did with the scripted servers is judged.

mod http;
mod login;
mod messages;
mod rounds;
mod sending;
#[cfg(test)]
mod tests;

use crate::check::Check;

/// Returns the checks of clients.
pub(crate) fn all() -> impl Iterator<Item = &'static Check> {
    [
        messages::CHECKS,
        http::CHECKS,
        rounds::CHECKS,
        sending::CHECKS,
        login::CHECKS,
    ]
    .into_iter()
    .flatten()
}
