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

mod batch;
mod blocking;
mod call;
mod change;
mod context;
mod conversation;
mod driver;
mod exchange;
mod handshake;
mod hash;
mod joined;
mod kernel;
mod legacy;
mod limits;
mod link;
mod memory;
mod outbox;
mod outgoing;
mod patience;
mod peer;
mod pipe;
mod pump;
mod rate;
mod reports;
mod request;
mod route;
mod session;
mod signal;
mod speaks;
#[cfg(test)]
mod tests;
mod transport;
mod underway;

pub use call::Dispatch;
pub use change::Change;
pub use context::Context;
pub use conversation::ConversationLimits;
pub use joined::Joined;
pub use limits::Limits;
pub use link::{
    Carrying, Connector, Inbox, Link, LinkError, LinkKind, Opening, Parcel, ParcelKind, Settling,
};
pub use memory::{MemoryTransport, pair};
pub use patience::{Late, Patience};
pub use peer::{Peer, PeerError};
pub use pipe::{Closed, serve};
pub use pump::Pump;
pub use rate::Rate;
pub use signal::Signal;
pub use speaks::reaches_server;
pub use transport::{Binding, Frame, HttpHead, Transport, TransportContext};
pub use turnbuckle_wire::era::{Project, Reply};
pub use turnbuckle_wire::revision::{EraKind, Features, Revision};

#[doc(hidden)]
pub use blocking::run_blocking;
#[doc(hidden)]
pub use call::{Call, Handling, Identity, Notice, Reaction};
#[doc(hidden)]
pub use change::Feed;
#[doc(hidden)]
pub use conversation::{Ask, AskError, Conversation, Host, Progressing, RawResult, ServerRequest};
#[doc(hidden)]
pub use driver::caught;
#[doc(hidden)]
pub use exchange::{Exchange, Opened};
#[doc(hidden)]
pub use hash::QuickHash;
#[doc(hidden)]
pub use legacy::LegacyState;
#[doc(hidden)]
pub use outbox::{Outbox, OutboxLimits};
#[doc(hidden)]
pub use pipe::serve_on;
#[doc(hidden)]
pub use rate::{Account, Bucket};
#[doc(hidden)]
pub use route::{Answer, Full, Route};
#[doc(hidden)]
pub use session::{Delivery, Received, Session};
#[doc(hidden)]
pub use speaks::{About, Speaks, Verbatim};
#[doc(hidden)]
pub use turnbuckle_wire::era::headers::mirrored_name;
#[doc(hidden)]
pub use turnbuckle_wire::era::{
    Body, Encoded, InvalidParamHeader, Judgement, ParamHeader, Params, Plain, Projected,
    RESULT_TYPE, ResultType, Structured, Target, code, is_complete, is_modern_error, judge,
    param_headers, params, result_type, select,
};
#[doc(hidden)]
pub use turnbuckle_wire::json;
#[doc(hidden)]
pub use turnbuckle_wire::revision::{Method, Party};
#[doc(hidden)]
pub use underway::{Exchanged, Underway};
