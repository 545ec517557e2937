//! Scripts of the faults that happen to data on connections.

use std::ops::Range;
use std::time::Duration;

use super::Rng;

/// Direction of data on a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Toward {
    /// From the client.
    Server,
    /// From the server.
    Client,
}

/// One fault. Connections are counted from 0 in the order in which they are opened; over HTTP each
/// request has its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Harm {
    /// A connection ends, both ways, when so many of its bytes (in memory: messages) have arrived.
    Cut(usize, Toward, usize),
    /// A message is lost: a line, or an event of a stream; toward a server of HTTP the whole
    /// request.
    Drop(usize, Toward, usize),
    /// A message comes twice.
    Twice(usize, Toward, usize),
}

/// Script for all connections of a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Script {
    /// Seed of the script.
    pub seed: u64,
    /// Bytes that are under way at most.
    pub window: usize,
    /// Bytes that travel at once, at most.
    pub piece: usize,
    /// Of so many pieces one waits; 0 for none.
    pub stall: u64,
    /// For how long it waits at most.
    pub delay: Duration,
    /// Faults that the script makes.
    pub harms: Vec<Harm>,
}

impl Script {
    /// Creates a script in which nothing happens.
    #[must_use]
    pub fn plain() -> Self {
        Self {
            seed: 0,
            window: 64 << 10,
            piece: 8 << 10,
            stall: 0,
            delay: Duration::ZERO,
            harms: Vec::new(),
        }
    }

    /// Creates a script of everything that a connection may do to its data without affecting either
    /// side. Each place has its own.
    #[must_use]
    pub fn harmless(seed: u64, place: &str) -> Self {
        let mut rng = Rng::new(seed, place);
        let (window, piece, stall, delay) = match rng.below(4) {
            // Each byte alone.
            0 => (1, 1, 0, 0),
            // Everything that is there together, and late.
            1 => (64 << 10, 16 << 10, 1, rng.between(1, 40)),
            // Pieces of any size.
            2 => (rng.between(8, 2000), rng.between(2, 300), 8, 20),
            // A reader that takes little, and often nothing.
            _ => (rng.between(1, 32), rng.between(1, 32), 40, 300),
        };
        Self {
            seed,
            window,
            piece,
            stall,
            delay: Duration::from_millis(delay as u64),
            harms: Vec::new(),
        }
    }

    /// Removes everything that takes time, so that tests on the paused clock are not affected.
    #[must_use]
    pub fn at_once(mut self) -> Self {
        self.stall = 0;
        self.delay = Duration::ZERO;
        self
    }

    /// Adds a fault to the script.
    #[must_use]
    pub fn harm(mut self, harm: Harm) -> Self {
        self.harms.push(harm);
        self
    }

    /// Returns whether a message is lost, and whether it arrives twice.
    pub(super) fn of_frame(&self, (wire, toward, frame): (usize, Toward, usize)) -> (bool, bool) {
        (
            self.harms.contains(&Harm::Drop(wire, toward, frame)),
            self.harms.contains(&Harm::Twice(wire, toward, frame)),
        )
    }
}

/// Returns the first of the [seeds] to try.
#[must_use]
pub fn seed() -> u64 {
    seeds(1).start
}

/// Returns the seeds to try: `usual` many, counted from 1, unless the environment says otherwise.
/// `TURNBUCKLE_SEED=7` is that one alone, `TURNBUCKLE_SEEDS=100` so many, `TURNBUCKLE_SEEDS=50..60`
/// these.
///
/// # Panics
/// When the environment says what cannot be read.
#[must_use]
pub fn seeds(usual: u64) -> Range<u64> {
    let number = |text: &str| text.trim().parse::<u64>().expect("a seed is a number");
    if let Ok(one) = std::env::var("TURNBUCKLE_SEED") {
        let one = number(&one);
        return one..one + 1;
    }
    match std::env::var("TURNBUCKLE_SEEDS") {
        Ok(range) => match range.split_once("..") {
            Some((first, end)) => number(first)..number(end),
            None => 1..number(&range) + 1,
        },
        Err(_) => 1..usual + 1,
    }
}
