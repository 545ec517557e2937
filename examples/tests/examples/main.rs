//! Tests of the examples. Each runs as a process, with a client over stdio and over HTTP, in every
//! revision.
#![cfg(unix)]
// Tests and their helper functions fail by panicking.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod attacks;
mod backup;
mod chat;
mod deploy;
mod files;
mod harness;
mod notes;
mod report;
mod search;
mod shop;
mod tickets;
