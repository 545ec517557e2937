//! Sessions of the Model Context Protocol: running requests in both directions, cancellation,
//! progress and lifecycle, and a handler's view of its request.
//!
//! The crate reads no bytes and knows no HTTP: a transport hands frames to it and takes frames from
//! it. It knows no tool and no resource either: a server implements [`Dispatch`], and a client a
//! [`ClientHandler`]. Most programs use the crates `turnbuckle-server` and `turnbuckle-client`, and
//! name only a few items of this one.
//!
//! **For handlers**: [`RequestContext`] is a handler's view of its request, [`Peer`] the client of a
//! legacy session, [`Change`] a change that clients are told of, and [`Limits`] and [`Rate`] bound
//! what one peer can use.
//!
//! **For transports**: a duplex transport implements [`Transport`] and is served by [`serve`]; a
//! client reaches a server through a [`Connector`], which opens a [`Link`]. [`memory_pair`] couples
//! two ends in one process.
//!
//! **For turnbuckle's own crates**, and free to change in every release:
//! - of the server's end, [`ServerEndpoint`], [`Session`] and [`InboundFrame`] serve messages,
//!   [`ReplySink`] carries messages and responses back, [`OwnerAccount`] counts requests, and
//!   [`MemoryAccount`] the bytes that are held for them;
//! - of the client's end, [`ClientSession`] makes an [`OutboundRequest`] on a link;
//! - [`IncomingRequest`], [`IncomingNotification`] and [`HandlerOutcome`] are the interface between
//!   a session of either side and its handlers.

mod client;
mod server;
mod shared;
#[cfg(test)]
mod tests;

// For handlers.
pub use server::change::Change;
pub use server::context::RequestContext;
pub use server::limits::Limits;
pub use server::peer::{Peer, PeerError};
pub use shared::rate::Rate;
pub use shared::signal::Signal;

// For transports.
pub use client::link::{Connector, Inbox, Link, LinkFuture, LinkKind, OpenFuture, SendFuture};
pub use client::link_error::LinkError;
pub use client::outbound_message::{OutboundKind, OutboundMessage};
pub use client::session::limits::ClientLimits;
pub use client::timeouts::{TimeoutKind, Timeouts};
pub use client::transport_connector::TransportConnector;
pub use client::transport_link::TransportLink;
pub use client::user_waits::{UserWaits, timeout_without_waits};
pub use server::dispatch::Dispatch;
pub use server::duplex::{CloseReason, serve};
pub use shared::memory::{MemoryTransport, memory_pair};
pub use shared::transport::{
    Binding, Frame, HttpHead, HttpNeeds, Transport, TransportContext, client_network,
};

// For turnbuckle's own crates: both ends.
pub use shared::account::OwnerAccount;
pub use shared::blocking::{block_on, run_blocking};
pub use shared::incoming::{HandlerFuture, HandlerOutcome, IncomingNotification, IncomingRequest};
pub use shared::keyed_rates::KeyedRates;
pub use shared::memory_budget::{
    EvictMemory, MemoryAccount, MemoryBudget, MemoryExceeded, MemoryPermit,
};
pub use shared::panic_guard::{catch_panic, log_reference};
pub use shared::rate::TokenBucket;
pub use shared::trace::{
    EndedRequest, EndedSession, Level, Side, StreamCount, Telemetry, TraceContext, count_refusal,
    record_arguments, set_telemetry,
};
pub use shared::write_timeout::WriteTimeout;

// For turnbuckle's own crates: the server's end.
pub use server::change::ChangeFeed;
pub use server::dispatch::{NotificationFuture, ServerIdentity};
pub use server::duplex::serve_with_account;
pub use server::endpoint::{ExchangeOutcome, ServerEndpoint};
pub use server::inbound_frame::InboundFrame;
pub use server::legacy_state::LegacyState;
pub use server::response_stream::ResponseStream;
pub use server::roots_cache::RootsCache;
pub use server::session::{MessageOutcome, Session};
pub use shared::frame_queue::QueuedFrame;
pub use shared::reply_sink::{EncodedResponse, QueueFull, ReplySink};

// For turnbuckle's own crates: the client's end.
pub use client::negotiated_revision::{
    MirroredFields, NegotiatedRevision, RawParams, is_server_method,
};
pub use client::session::client_session::ClientSession;
pub use client::session::handler::{ClientHandler, ServerRequest};
pub use client::session::request::{OutboundRequest, ProgressHandler};
pub use client::session::response::{RawResult, RequestError};
