//! The examples, run as what they are: processes, spoken with by a client over their own standard
//! streams and over HTTP, in every revision.
#![cfg(unix)]
// A test fails by panicking, and so do the functions that it calls.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod attacks;
mod backup;
mod chat;
mod deploy;
mod files;
mod harness;
mod notes;
