//! Faulty connections between a client and a server. A script, made from a seed, delays, splits,
//! repeats, cuts off or drops the data.
//!
//! Both ends are in this process and on a paused clock: the same script does the same each time.
//! Streams carry lines ([`Wires::lines`]) or HTTP/1.1 with hyper at both ends ([`Wires::web`]);
//! [`Wires::memory`] carries whole messages.
//!
//! Wherever the tests have a stream of bytes it comes [in pieces](InPieces), and so do the
//! [bodies](BodyInPieces) of what is asked and answered: nothing may depend on where a read ends.
//! Another seed (`TURNBUCKLE_SEED`) has other pieces.

mod connect;
mod frames;
mod pieces;
mod rng;
mod script;
mod stream;
mod trace;
mod web;

use std::sync::Arc;

use turnbuckle_session::Dispatch;

pub use connect::Joint;
pub use pieces::{BodyInPieces, InPieces};
pub use rng::Rng;
pub use script::{Harm, Script, Toward, seed, seeds};
pub use trace::{Passed, Trace};
pub use web::OverWire;

use connect::Kind;

/// All connections of one client to one server, under one script. Clones are the same ones.
#[derive(Debug, Clone)]
pub struct Wires {
    script: Arc<Script>,
    trace: Trace,
}

impl Wires {
    /// Connections to which that happens.
    #[must_use]
    pub fn new(script: Script) -> Self {
        Self {
            script: Arc::new(script),
            trace: Trace::default(),
        }
    }

    /// Connections that bring everything, at once and in pieces, as the tests' seed has them at that
    /// place. What goes over them is not kept.
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

    /// Returns a connector to a server over lines, as of standard input and output.
    #[must_use]
    pub fn lines(&self, server: impl Into<Arc<dyn Dispatch>>) -> Joint {
        Joint::new(self, Kind::Lines, server.into())
    }

    /// Returns a connector to a server over queues in memory.
    #[must_use]
    pub fn memory(&self, server: impl Into<Arc<dyn Dispatch>>) -> Joint {
        Joint::new(self, Kind::Memory, server.into())
    }

    /// Returns an HTTP service that reaches an endpoint in this process.
    #[must_use]
    pub fn web<S>(&self, endpoint: S) -> OverWire<S> {
        OverWire::new(self, endpoint)
    }
}
