//! Sessions of the Model Context Protocol: requests in flight in both directions, cancellation,
//! progress, lifecycle; and what a handler sees of all that.
//!
//! This crate knows no byte stream and no HTTP: a transport hands it frames and takes frames back.
//! It knows no tool and no resource either: what a request means is a [`Dispatch`]'s business. The
//! rules of the protocol are in the pure `kernel`; the driver is the only place that spawns.
//!
//! Documented is what users name: what a handler sees, what couples the two sides, and what a
//! transport of one's own is made of ([`Transport`], or [`Connector`] and [`Link`]). What is hidden
//! is shared with turnbuckle's other crates only, and may change together with them in any release.

mod client;
mod server;
mod shared;
#[cfg(test)]
mod tests;

pub use client::conversation::ConversationLimits;
pub use client::joined::Joined;
pub use client::link::{
    Carrying, Connector, Inbox, Link, LinkError, LinkKind, Opening, Parcel, ParcelKind, Settling,
};
pub use client::patience::{Late, Patience};
pub use client::pump::Pump;
pub use client::speaks::reaches_server;
pub use server::change::Change;
pub use server::context::Context;
pub use server::limits::Limits;
pub use server::peer::{Peer, PeerError};
pub use server::pipe::{Closed, serve};
pub use shared::call::Dispatch;
pub use shared::memory::{MemoryTransport, pair};
pub use shared::rate::Rate;
pub use shared::signal::Signal;
pub use shared::transport::{Binding, Frame, HttpHead, Transport, TransportContext};

#[doc(hidden)]
pub use client::conversation::{
    Ask, AskError, Conversation, Host, Progressing, RawResult, ServerRequest,
};
#[doc(hidden)]
pub use client::speaks::{About, Speaks, Verbatim};
#[doc(hidden)]
pub use server::change::Feed;
#[doc(hidden)]
pub use server::exchange::{Exchange, Opened};
#[doc(hidden)]
pub use server::legacy::LegacyState;
#[doc(hidden)]
pub use server::outbox::{Outbox, OutboxLimits};
#[doc(hidden)]
pub use server::pipe::serve_on;
#[doc(hidden)]
pub use server::session::{Delivery, Received, Session};
#[doc(hidden)]
pub use server::underway::{Exchanged, Underway};
#[doc(hidden)]
pub use shared::blocking::run_blocking;
#[doc(hidden)]
pub use shared::call::{Call, Handling, Identity, Notice, Reaction};
#[doc(hidden)]
pub use shared::driver::caught;
#[doc(hidden)]
pub use shared::hash::QuickHash;
#[doc(hidden)]
pub use shared::rate::{Account, Bucket};
#[doc(hidden)]
pub use shared::route::{Answer, Full, Route};
