//! A raw client: plain JSON in and out, over every revision and every transport.
//!
//! It knows nothing of the client that turnbuckle offers, trusts nothing that it is told, and waits for
//! nothing without a limit. Every message of the server is judged by the official schema of the
//! revision that it belongs to, and recorded in a [`Transcript`].

mod ask;
mod client;
mod conversation;
mod error;
mod events;
mod handshake;
mod http;
mod lines;
mod link;
mod message_record;
mod messages;
mod options;
mod questions;
mod sse;
mod transcript;

pub(crate) use ask::mirrored_headers;
pub use ask::{Answer, Ask, Events};
pub use client::Probe;
pub(crate) use client::START_FACTOR;
pub(crate) use conversation::RuleFault;
pub use error::ProbeError;
pub use events::{Event, EventReader};
pub use http::HttpLink;
pub use lines::LinesLink;
pub use link::{Arrival, Link};
pub use messages::modern_meta;
pub use options::{Handshake, ProbeOptions};
pub use sse::SseLink;
pub use transcript::{Direction, Line, SchemaFault, Transcript};
