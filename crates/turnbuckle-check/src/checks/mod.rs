//! The checks of servers, one file for each topic.

mod ask;
mod auth;
mod cache;
mod cancel;
mod capabilities;
mod completion;
mod envelope;
mod formats;
mod frame;
mod http;
mod listen;
mod logging;
mod meta;
mod pages;
mod progress;
mod prompts;
mod resources;
mod robust;
mod rpc;
mod skills;
mod start;
mod tasks;
mod tools;

use crate::check::Check;

/// The topics, in the order in which they are checked.
const TOPICS: &[&[Check]] = &[
    frame::CHECKS,
    start::CHECKS,
    envelope::CHECKS,
    rpc::CHECKS,
    http::CHECKS[0],
    http::CHECKS[1],
    http::CHECKS[2],
    http::CHECKS[3],
    auth::CHECKS,
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
    progress::CHECKS,
    cancel::CHECKS,
    listen::CHECKS,
    ask::CHECKS[0],
    ask::CHECKS[1],
    tasks::CHECKS[0],
    tasks::CHECKS[1],
    skills::CHECKS,
    robust::CHECKS,
    rpc::FINAL_CHECKS,
];

/// Returns every check, in the order in which they are made.
pub(crate) fn all() -> impl Iterator<Item = &'static Check> {
    TOPICS.iter().copied().flatten()
}
