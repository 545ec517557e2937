//! Requests to the server, before they are sent.

use std::sync::Arc;
use turnbuckle_types::base::debug_fields;

use turnbuckle_types::{LoggingLevel, ProgressNotificationParams, RawObject, RequestId};
use turnbuckle_wire::era::WriteParams;

use super::request_tag::RequestTag;
use crate::client::negotiated_revision::{MirroredFields, NegotiatedRevision};
use crate::client::timeouts::Timeouts;

/// A handler for the progress notifications of one request.
pub trait ProgressHandler: Send + Sync + 'static {
    /// Handles a progress notification. It must return soon: the session receives nothing meanwhile.
    fn handle_progress(&self, params: ProgressNotificationParams);
}

/// A request to the server.
pub struct OutboundRequest<'a> {
    /// The name of the method on the wire.
    pub method: &'a str,
    /// The parameters.
    pub params: Option<&'a dyn WriteParams>,
    /// The revision in which the request is written.
    pub revision: &'a NegotiatedRevision,
    /// The fields that HTTP headers mirror.
    pub mirrored: MirroredFields<'a>,
    /// The times after which the request is given up.
    pub timeouts: Timeouts,
    /// The start of [`Timeouts::total_timeout`]; `None` for the moment in which it is sent.
    pub started_at: Option<std::time::Instant>,
    /// True if the request carries a progress token. A `progress_handler` implies one.
    pub wants_progress: bool,
    /// The handler for progress notifications.
    pub progress_handler: Option<Arc<dyn ProgressHandler>>,
    /// The lowest level of log messages that the server may send for this request. Written only in
    /// revisions whose requests carry it.
    pub log_level: Option<LoggingLevel>,
    /// The capabilities of the client that the request is for, instead of those of this one. Written only in revisions
    /// whose requests carry them.
    pub capabilities: Option<&'a RawObject>,
    /// A callback that receives the request's id before the request is sent.
    pub on_id_assigned: Option<&'a (dyn Fn(&RequestId) + Send + Sync)>,
    /// The tag that handlers get with the server's messages about the request.
    pub tag: Option<RequestTag>,
    /// True if the request is sent even if as many wait as
    /// [`ClientLimits::max_outgoing_requests`](crate::transport::ClientLimits::max_outgoing_requests) allows.
    pub(crate) ignores_limit: bool,
}

impl<'a> OutboundRequest<'a> {
    /// Creates a request with the default timeouts.
    #[must_use]
    pub fn new(
        method: &'a str,
        params: Option<&'a dyn WriteParams>,
        revision: &'a NegotiatedRevision,
    ) -> Self {
        Self {
            method,
            params,
            revision,
            mirrored: MirroredFields::default(),
            timeouts: Timeouts::default(),
            started_at: None,
            wants_progress: false,
            progress_handler: None,
            log_level: None,
            capabilities: None,
            on_id_assigned: None,
            tag: None,
            ignores_limit: false,
        }
    }
}

debug_fields!(['a] OutboundRequest<'a> { method, timeouts });
