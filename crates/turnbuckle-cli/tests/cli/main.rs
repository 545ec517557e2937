//! Tests of the `turnbuckle` command as a process, with the demo as its server.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests fail by panicking"
)]

mod action;
mod add;
mod agent_help;
mod auth;
mod auth_demo;
mod bridge;
mod check;
mod commands;
#[cfg(unix)]
mod completion;
mod config;
mod errors;
mod formats;
mod gateway;
mod gateway_http;
mod guide;
mod inspect;
mod network;
mod peers;
mod refusals;
mod registry;
mod schema;
mod serving;
mod shell;
#[cfg(unix)]
mod shell_editor;
mod skill;
mod stores;
mod support;
mod task;
mod telemetry;
#[cfg(unix)]
mod terminal;
#[cfg(unix)]
mod untrusted;
