//! Every feature in every revision over every transport, with the same handlers.
//!
//! A test is a row of the table, a feature; [`cells`] runs it in every cell of that row and names
//! the cells in which it fails. What a revision's reader gets instead of what its revision has not
//! stands in [`readers`], and nowhere else. [`server`] has the handlers.

// A test fails by panicking, and so do the functions that it calls.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod cells;
mod connections;
mod readers;
mod rows;
mod server;
mod user;
