//! Programs that tests start: Redis, PostgreSQL, HAProxy; ports for them; and measurements of stores. Nothing of it is
//! needed to build.
//!
//! A test never passes without its program: `find_program` panics and says what to install.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "for tests: a fault of the setup ends the test"
)]

mod changes;
mod port;
#[cfg(unix)]
mod postgres;
#[cfg(unix)]
mod process;
#[cfg(unix)]
mod program;
#[cfg(unix)]
mod redis;
mod times;

pub use changes::print_change_rate;
pub use port::ReservedPort;
#[cfg(unix)]
pub use postgres::PostgresServer;
#[cfg(unix)]
pub use process::Running;
#[cfg(unix)]
pub use program::find_program;
#[cfg(unix)]
pub use redis::RedisServer;
pub use times::print_times;
