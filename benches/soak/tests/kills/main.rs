//! Processes that are killed or asked to end, at points that a seed chooses: every peer gets a named error,
//! none hangs, no process stays, and no message is cut in two.
//!
//! A few points are tried; `TURNBUCKLE_KILLS` sets how many of each kind instead, and
//! `TURNBUCKLE_SEED` the first number.
#![cfg(target_os = "linux")]
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests fail by panicking"
)]

mod http;
mod load;
mod process;
#[path = "../../src/random.rs"]
mod random;
mod stdio;

use std::env;
use std::time::Duration;

use rustix::process::Signal;

use random::Random;

/// Points of each kind that are tried unless the environment sets another number.
const FEW: u64 = 6;

/// The time that anything may take that is expected at once.
const SOON: Duration = Duration::from_secs(30);

/// A point at which a process is ended. Its number decides everything.
#[derive(Debug, Clone, Copy)]
struct Point {
    number: u64,
    random: Random,
}

impl Point {
    fn below(&mut self, end: u64) -> u64 {
        self.random.below(end)
    }

    /// Returns the signal: every other process is killed, the others are asked to end.
    fn signal(&self) -> Signal {
        match self.number % 2 {
            0 => Signal::KILL,
            _ => Signal::TERM,
        }
    }

    fn is_kill(&self) -> bool {
        self.signal() == Signal::KILL
    }
}

fn points() -> impl Iterator<Item = Point> {
    let number = |name: &str| env::var(name).ok()?.parse().ok();
    let first = number("TURNBUCKLE_SEED").unwrap_or(1);
    let count = number("TURNBUCKLE_KILLS").unwrap_or(FEW);
    (first..first + count).map(|number| Point {
        number,
        random: Random::new(number),
    })
}
