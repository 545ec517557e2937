//! A frame that a transport received, with what the transport knows about it.

use bytes::Bytes;
use turnbuckle_types::base::debug_fields;
use turnbuckle_wire::era::headers::HeaderSource;

use crate::server::foreign_messages::ForeignMessages;
use crate::shared::account::OwnerAccount;
use crate::shared::transport::{Binding, TransportContext};

/// A received frame with its transport context.
#[derive(Clone, Copy)]
pub struct InboundFrame<'a> {
    /// The text of the message or batch.
    pub frame: &'a Bytes,
    /// The frame as text.
    pub text: &'a str,
    /// The facts that the transport knows about the message, such as its principal.
    pub transport: &'a TransportContext,
    /// The account of the connection for rate limits. It is charged for requests without a principal.
    pub account: Option<&'a OwnerAccount>,
    /// The headers of the HTTP request, if they have to mirror the arguments of a tool.
    pub headers: Option<&'a dyn HeaderSource>,
    /// The collection of messages that may be for another instance of the server, if the session is
    /// shared.
    pub foreign: Option<&'a ForeignMessages>,
}

impl InboundFrame<'_> {
    /// Returns the name of the transport in traces and metrics: `pipe` or `tcp`.
    pub(crate) fn transport_name(&self, binding: Binding) -> &'static str {
        self.transport.name(binding)
    }
}

debug_fields!(InboundFrame<'a> { bytes = |it| it.frame.len() });
