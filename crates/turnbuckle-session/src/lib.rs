//! Sessions of the Model Context Protocol: requests in flight in both directions, cancellation,
//! progress, lifecycle; and what a handler sees of all that.
//!
//! This crate knows no byte stream and no HTTP: a transport hands it frames and takes frames back.
//! It knows no tool and no resource either: what a request means is a [`Dispatch`]'s business. The
//! rules of the protocol are in the pure [`kernel`]; the driver is the only place that spawns.

mod batch;
mod blocking;
mod call;
mod change;
mod context;
mod conversation;
mod driver;
mod exchange;
mod handshake;
mod joined;
pub mod kernel;
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
mod request;
mod route;
mod session;
mod signal;
mod speaks;
mod transport;

pub use blocking::run_blocking;
pub use call::{Call, Dispatch, Handling, Identity, Notice, Reaction};
pub use change::{Change, Feed};
pub use context::Context;
pub use conversation::{
    Ask, AskError, Conversation, ConversationLimits, Host, Progressing, RawResult, ServerRequest,
};
pub use exchange::{Exchange, Opened};
pub use joined::Joined;
pub use legacy::LegacyState;
pub use limits::Limits;
pub use link::{
    Carrying, Connector, Inbox, Link, LinkError, LinkKind, Opening, Parcel, ParcelKind, Settling,
};
pub use memory::{MemoryTransport, pair};
pub use outbox::{Outbox, OutboxLimits};
pub use patience::{Late, Patience};
pub use peer::{Peer, PeerError};
pub use pipe::{Closed, serve};
pub use pump::Pump;
pub use route::{Answer, Full, Route};
pub use session::{Delivery, Received, Session};
pub use signal::Signal;
pub use speaks::{About, Speaks, Verbatim, reaches_server};
pub use transport::{Binding, Frame, HttpHead, Transport, TransportContext};
pub use turnbuckle_wire::era::code;
pub use turnbuckle_wire::era::params;
pub use turnbuckle_wire::era::{
    Body, Encoded, InvalidParamHeader, Judgement, ParamHeader, Params, Plain, Project, Projected,
    Reply, ResultType, Structured, Target, is_modern_error, judge, param_headers, result_type,
    select,
};
pub use turnbuckle_wire::json;
pub use turnbuckle_wire::revision::{EraKind, Features, Method, Party, Revision};
