//! Sessions of the Model Context Protocol: running requests in both directions, cancellation,
//! progress and lifecycle, and a handler's view of its request.
//!
//! The crate reads no bytes and knows no HTTP: a transport hands frames to it and takes frames from
//! it. It knows no tool and no resource either: a server implements [`transport::Dispatch`], and a
//! client an [`internal::ClientHandler`]. Most programs use the crates `turnbuckle-server` and `turnbuckle-client`, and
//! name only a few items of this one.
//!
//! - [`handler`]: a handler's view of its request, and the limits of a server.
//! - [`transport`]: the traits of transports, and the types that they are called with.
//! - [`internal`]: items for turnbuckle's other crates, which may change in every release.

mod client;
mod server;
mod shared;
#[cfg(test)]
mod tests;

pub mod handler {
    //! A handler's view of its request, and the limits of a server.
    //!
    //! [`RequestContext`] is the request that a handler serves, [`Peer`] the client of a legacy session,
    //! and [`Change`] a change that clients are told of. [`Limits`] and [`Rate`] bound the resources
    //! that one client can use.

    pub use crate::server::change::Change;
    pub use crate::server::context::RequestContext;
    pub use crate::server::peer::{Peer, PeerError};
    pub use crate::shared::limits::Limits;
    pub use crate::shared::rate::Rate;
    pub use crate::shared::signal::Signal;
    pub use crate::shared::trace::{record_arguments, record_users};
}

pub mod transport {
    //! The traits of transports, for both sides, and the types that they are called with.
    //!
    //! A connection that carries whole messages in both directions implements [`Transport`]: [`serve`]
    //! runs a server on it, and [`TransportConnector`] connects a client over it. A client reaches all
    //! other servers through a [`Connector`], which opens a [`Link`]. [`memory_pair`] returns two
    //! connected transports in one process.

    pub use crate::client::link::{
        Connector, Inbox, Link, LinkFuture, LinkKind, OpenFuture, SendFuture,
    };
    pub use crate::client::link_error::LinkError;
    pub use crate::client::message_observer::MessageObserver;
    pub use crate::client::negotiated_revision::is_server_method;
    pub use crate::client::outbound_message::{OutboundKind, OutboundMessage};
    pub use crate::client::session::limits::ClientLimits;
    pub use crate::client::session::request_tag::RequestTag;
    pub use crate::client::timeouts::{TimeoutKind, Timeouts};
    pub use crate::client::transport_connector::TransportConnector;
    pub use crate::client::transport_link::TransportLink;
    pub use crate::client::user_waits::UserWaits;
    pub use crate::server::dispatch::Dispatch;
    pub use crate::server::duplex::{CloseReason, serve};
    pub use crate::shared::memory::{MemoryTransport, memory_pair};
    pub use crate::shared::transport::{
        Binding, Frame, HttpHead, HttpNeeds, Transport, TransportContext,
    };
}

pub mod internal {
    //! Items for turnbuckle's other crates, which may change in every release.
    //!
    //! - Of the server's end, [`ServerEndpoint`], [`Session`] and [`InboundFrame`] serve messages,
    //!   [`ReplySink`] carries messages and responses back, [`OwnerAccount`] counts requests, and
    //!   [`MemoryAccount`] the bytes that are held for them.
    //! - Of the client's end, [`ClientSession`] makes an [`OutboundRequest`] on a link.
    //! - [`IncomingRequest`], [`IncomingNotification`] and [`HandlerOutcome`] are the interface between
    //!   a session of either side and its handlers.

    // Both ends.
    pub use crate::shared::account::OwnerAccount;
    pub use crate::shared::blocking::{block_on, run_blocking};
    pub use crate::shared::incoming::{
        HandlerFuture, HandlerOutcome, IncomingNotification, IncomingRequest,
    };
    pub use crate::shared::keyed_rates::KeyedRates;
    pub use crate::shared::memory_budget::{
        AddressMemory, EvictMemory, MemoryAccount, MemoryBudget, MemoryExceeded, MemoryPermit,
    };
    pub use crate::shared::panic_guard::{HandlerPanic, catch_panic, log_reference};
    pub use crate::shared::rate::TokenBucket;
    #[cfg(any(not(unix), feature = "shutdown-signals"))]
    pub use crate::shared::signals::ShutdownSignals;
    #[cfg(all(unix, feature = "signals"))]
    pub use crate::shared::signals::{SignalHandlers, end_process_while};
    pub use crate::shared::trace::{
        EndedRequest, EndedSession, FailureCause, Level, RefusedSender, Side, StreamCount,
        Telemetry, TraceContext, count_refusal, count_store_operation, limit_error,
        set_local_metrics, set_telemetry,
    };
    pub use crate::shared::write_timeout::WriteTimeout;

    // The server's end.
    pub use crate::server::change::{ChangeNotification, TopicNotification};
    pub use crate::server::change_feed::{ChangeFeed, PendingChange};
    pub use crate::server::context::DuplexConnection;
    pub use crate::server::context::detached::{Outlet, RestoredRequest};
    pub use crate::server::detached_handler::DetachedHandler;
    pub use crate::server::dispatch::{NotificationFuture, RestoredSubscriptions, ServerIdentity};
    pub use crate::server::duplex::serve_with_account;
    pub use crate::server::endpoint::{ExchangeOutcome, ServerEndpoint};
    pub use crate::server::foreign_messages::{ForeignMessage, ForeignMessages};
    pub use crate::server::inbound_frame::InboundFrame;
    pub use crate::server::legacy_state::LegacyState;
    pub use crate::server::response_stream::ResponseStream;
    pub use crate::server::roots_cache::RootsCache;
    pub use crate::server::session::{MessageOutcome, Session};
    pub use crate::server::session_record::{RecordBase, RecordError, SessionOwner, SessionRecord};
    pub use crate::shared::frame_queue::QueuedFrame;
    pub use crate::shared::reply_sink::{EncodedResponse, QueueFull, ReplySink};

    // The client's end.
    pub use crate::client::link_error::cut_process_output;
    pub use crate::client::negotiated_revision::{MirroredFields, NegotiatedRevision, RawParams};
    pub use crate::client::session::client_session::{ClientSession, InFlight};
    pub use crate::client::session::handler::{ClientHandler, ServerRequest};
    pub use crate::client::session::in_flight::SentRequest;
    pub use crate::client::session::request::{OutboundRequest, ProgressHandler};
    pub use crate::client::session::response::{RawResult, RequestError};
}
