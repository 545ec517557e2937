//! Programs that tests start: Redis, PostgreSQL, HAProxy. Nothing of it is needed to build.
//!
//! A test never passes without its program: [`find_program`] panics and says what to install.
#![cfg(unix)]
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "for tests: a fault of the setup ends the test"
)]

mod postgres;
mod process;
mod program;
mod redis;

pub use postgres::PostgresServer;
pub use process::Running;
pub use program::find_program;
pub use redis::RedisServer;
