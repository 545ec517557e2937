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
mod connections;
mod frames;
mod pieces;
mod rng;
mod script;
mod stream;
mod trace;
mod web;

pub use connect::WireConnector;
pub use connections::Wires;
pub use pieces::{BodyInPieces, InPieces};
pub use rng::Rng;
pub use script::{Harm, Script, Toward, seed, seeds};
pub use trace::{Passed, Trace};
pub use web::WireHttpService;
