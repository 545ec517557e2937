//! The connections of one client to one server, and their script.

use std::sync::Arc;

use super::{Script, Trace, seed};

/// All connections of one client to one server, under one script. Clones are the same ones.
#[derive(Debug, Clone)]
pub struct Wires {
    pub(super) script: Arc<Script>,
    pub(super) trace: Trace,
}

impl Wires {
    /// Creates connections to which the script happens.
    #[must_use]
    pub fn new(script: Script) -> Self {
        Self {
            script: Arc::new(script),
            trace: Trace::default(),
        }
    }

    /// Creates connections that bring everything, at once and in pieces, as the tests' seed has them
    /// at that place. The trace keeps nothing of it.
    #[must_use]
    pub fn in_pieces(place: &str) -> Self {
        Self {
            script: Arc::new(Script::harmless(seed(), place).at_once()),
            trace: Trace::forgetful(),
        }
    }

    /// Returns the trace of everything that travelled so far.
    #[must_use]
    pub fn trace(&self) -> &Trace {
        &self.trace
    }
}
