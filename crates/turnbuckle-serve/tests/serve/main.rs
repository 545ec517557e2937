//! The servers, called by a client in memory.

#![expect(clippy::unwrap_used, reason = "these are tests")]

mod sequential_thinking;
