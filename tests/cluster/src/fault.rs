//! The kinds of faults.

use clap::ValueEnum;

/// A fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Fault {
    /// An instance is killed and replaced.
    Kill,
    /// An instance is told to stop, and replaced.
    Stop,
    /// An instance is replaced by one with another generation of keys.
    Keys,
    /// Redis is halted for a while.
    PauseStore,
    /// Redis is killed, and starts without what it held.
    EmptyStore,
}
