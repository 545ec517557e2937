//! The servers, called by a client in memory.

#![expect(clippy::unwrap_used, clippy::panic, reason = "these are tests")]

mod openapi;
mod recorded;
mod sequential_thinking;
