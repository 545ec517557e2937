//! The servers, called by a client in memory.

#![expect(clippy::unwrap_used, clippy::panic, reason = "these are tests")]

mod fetch;
mod filesystem;
mod git;
mod memory;
mod openapi;
mod postgres;
mod recorded;
mod sequential_thinking;
mod sqlite;
mod time;
