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
#![cfg_attr(docsrs, feature(doc_cfg))]

mod client;
mod server;
mod shared;
#[cfg(test)]
mod tests;

pub use client::link::{Connector, Inbox, Link, LinkFuture, LinkKind, OpenFuture, SendFuture};
pub use client::link_error::LinkError;
pub use client::negotiated_revision::is_server_method;
pub use client::outbound_message::{OutboundKind, OutboundMessage};
pub use client::session::limits::ClientLimits;
pub use client::timeouts::{TimeoutKind, Timeouts};
pub use client::transport_connector::TransportConnector;
pub use client::transport_link::TransportLink;
pub use server::change::Change;
pub use server::context::RequestContext;
pub use server::duplex::{CloseReason, serve};
pub use server::limits::Limits;
pub use server::peer::{Peer, PeerError};
pub use shared::dispatch::Dispatch;
pub use shared::memory::{MemoryTransport, memory_pair};
pub use shared::rate::Rate;
pub use shared::signal::Signal;
pub use shared::transport::{Binding, Frame, HttpHead, Transport, TransportContext};

#[doc(hidden)]
pub use client::negotiated_revision::{MirroredFields, NegotiatedRevision, RawParams};
#[doc(hidden)]
pub use client::session::client_session::ClientSession;
#[doc(hidden)]
pub use client::session::handler::{ClientHandler, ServerRequest};
#[doc(hidden)]
pub use client::session::request::{OutboundRequest, ProgressHandler};
#[doc(hidden)]
pub use client::session::response::{RawResult, RequestError};
#[doc(hidden)]
pub use server::change::ChangeFeed;
#[doc(hidden)]
pub use server::duplex::serve_with_account;
#[doc(hidden)]
pub use server::endpoint::{ExchangeOutcome, ServerEndpoint};
#[doc(hidden)]
pub use server::frame_queue::{FrameQueue, FrameQueueLimits};
#[doc(hidden)]
pub use server::legacy_state::LegacyState;
#[doc(hidden)]
pub use server::session::{InboundFrame, MessageOutcome, Session};
#[doc(hidden)]
pub use server::underway::{ResponseStream, Underway};
#[doc(hidden)]
pub use shared::blocking::run_blocking;
#[doc(hidden)]
pub use shared::dispatch::{
    HandlerOutcome, IncomingNotification, IncomingRequest, NotificationFuture, ServerIdentity,
};
#[doc(hidden)]
pub use shared::driver::catch_panic;
#[doc(hidden)]
pub use shared::hash::QuickHash;
#[doc(hidden)]
pub use shared::rate::{RateAccount, TokenBucket};
#[doc(hidden)]
pub use shared::reply_sink::{EncodedResponse, QueueFull, ReplySink};

/// The example of the README, as a doc test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
