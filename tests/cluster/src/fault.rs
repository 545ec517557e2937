//! The kinds of faults.

use clap::ValueEnum;

/// A fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Fault {
    /// An instance is killed and replaced.
    Kill,
    /// An instance is told to stop, and replaced.
    Stop,
    /// All instances are replaced by ones with a new key; one alone while the newest key is young.
    Keys,
    /// Redis is halted for a while.
    PauseStore,
    /// Redis is killed, and starts without what it held.
    EmptyStore,
}
