//! Every feature in every revision over every transport, with the same handlers.
//!
//! A test is one feature, a row of the table. [`cells`] runs it in every cell of the row, which is
//! a revision and a transport, and names the cells in which it fails. [`readers`] describes the
//! differences between the revisions. [`server`] has the handlers.

// A test fails by panicking, and so do the functions that it calls.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod cells;
mod connections;
mod hosts;
mod readers;
mod rows;
mod server;
mod telemetry;
mod user;
