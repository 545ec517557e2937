//! Skills of a server, as its clients see them.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests fail by panicking"
)]

mod code;
mod folders;
mod hostile;
mod limits;
mod methods;
mod support;
mod watching;
