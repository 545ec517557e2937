//! The point at which something is ended, and the way.

use std::env;
use std::time::Duration;

use rustix::process::Signal;

/// Points of each kind that are tried unless told otherwise.
const FEW: u64 = 6;

/// The time that anything may take that is to happen at once.
pub(crate) const SOON: Duration = Duration::from_secs(30);

/// A point: what is done is chosen by its number.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Point {
    pub(crate) number: u64,
    state: u64,
}

impl Point {
    /// Returns one below `end`.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % end
    }

    /// Returns every other one is killed, the others are asked.
    pub(crate) fn signal(&self) -> Signal {
        match self.number % 2 {
            0 => Signal::KILL,
            _ => Signal::TERM,
        }
    }
}

/// Returns the points.
pub(crate) fn points() -> impl Iterator<Item = Point> {
    let number = |name: &str| env::var(name).ok()?.parse().ok();
    let first = number("TURNBUCKLE_SEED").unwrap_or(1);
    let count = number("TURNBUCKLE_KILLS").unwrap_or(FEW);
    (first..first + count).map(|number| Point {
        number,
        state: number.wrapping_mul(0xA24B_AED4_963E_E407),
    })
}
