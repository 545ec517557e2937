//! The checks, one file for each topic; those of clients are one of them.

mod ask;
mod auth;
mod cache;
mod callers;
mod cancel;
mod capabilities;
pub(crate) mod client;
mod completion;
mod conversation;
mod declared;
mod envelope;
mod formats;
mod frame;
mod http;
mod identity;
mod listen;
mod logging;
mod meta;
mod pages;
mod progress;
mod prompts;
mod resources;
mod robust;
mod rpc;
mod skill_resources;
mod skills;
mod start;
mod tasks;
mod tools;

use crate::check::Check;

/// The topics whose checks are made one after the other.
const IN_TURN: &[&[Check]] = &[
    frame::CHECKS,
    start::CHECKS,
    envelope::CHECKS,
    rpc::CHECKS,
    http::CHECKS[0],
    http::CHECKS[1],
    http::CHECKS[2],
    http::CHECKS[3],
    http::CHECKS[4],
    http::CHECKS[5],
    auth::CHECKS,
    identity::CHECKS,
    callers::CHECKS,
    tools::CHECKS[0],
    tools::CHECKS[1],
    tools::CHECKS[2],
    tools::CHECKS[3],
    tools::CHECKS[4],
    resources::CHECKS[0],
    resources::CHECKS[1],
    resources::CHECKS[2],
    resources::CHECKS[3],
    prompts::CHECKS,
    completion::CHECKS,
    pages::CHECKS,
    cache::CHECKS,
    logging::CHECKS,
    meta::CHECKS,
    capabilities::CHECKS,
    declared::CHECKS,
    listen::CHECKS,
    ask::CHECKS[0],
    ask::CHECKS[1],
    ask::CHECKS[2],
    skills::CHECKS,
    skill_resources::CHECKS,
    robust::CHECKS,
];

/// The topics whose checks mostly wait: each group is made beside the others, over connections of its own.
const BESIDE: [&[&[Check]]; 2] = [
    &[progress::CHECKS, cancel::CHECKS],
    &[
        tasks::CHECKS[0],
        tasks::CHECKS[1],
        tasks::CHECKS[2],
        tasks::CHECKS[3],
        tasks::CHECKS[4],
    ],
];

/// The checks of all messages, after all others.
const LAST: &[&[Check]] = &[frame::FINAL_CHECKS, conversation::CHECKS, rpc::FINAL_CHECKS];

/// Returns every check of servers, in the order of reports.
pub(crate) fn all() -> impl Iterator<Item = &'static Check> {
    [IN_TURN, BESIDE[0], BESIDE[1], LAST]
        .into_iter()
        .flatten()
        .copied()
        .flatten()
}

/// The checks of a case, by the time when they are made.
pub(crate) struct CheckOrder {
    /// One after the other.
    pub(crate) in_turn: Vec<&'static Check>,
    /// Each group one after the other too, at the same time as the first ones and the other group.
    pub(crate) beside: [Vec<&'static Check>; 2],
    /// After all others.
    pub(crate) last: Vec<&'static Check>,
}

impl CheckOrder {
    /// Sorts checks by the time when they are made.
    pub(crate) fn new(checks: &[&'static Check]) -> Self {
        let those_of = |topics: &[&[Check]]| {
            let is_in = |check: &&&'static Check| {
                topics.iter().copied().flatten().any(|it| it.id == check.id)
            };
            checks.iter().filter(is_in).copied().collect()
        };
        Self {
            in_turn: those_of(IN_TURN),
            beside: BESIDE.map(those_of),
            last: those_of(LAST),
        }
    }
}
