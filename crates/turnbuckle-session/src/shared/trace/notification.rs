//! Spans of notifications, on both sides: of the sender until it has been handed to the transport, of
//! the receiver while it is handled.

use std::borrow::Cow;

use tracing::Span;
use turnbuckle_wire::revision::Features;

use super::propagation::TraceContext;
use super::telemetry::{Side, telemetry};
use super::{cut, has_spans, session_text};

/// The facts about a notification that its span records.
pub(crate) struct TracedNotification<'a> {
    /// The client side is the sender's, which may be a server.
    pub(crate) side: Side,
    pub(crate) method: &'a str,
    /// The URI of the resource that the notification is about.
    pub(crate) uri: Option<Cow<'a, str>>,
    /// The features of the revision; `None` before it is known.
    pub(crate) features: Option<&'static Features>,
    /// `pipe` or `tcp`.
    pub(crate) transport: &'static str,
    pub(crate) session_id: Option<&'a str>,
    /// The span of another process that this one belongs to.
    pub(crate) parent: Option<TraceContext>,
}

/// Creates the span of a notification, as a child of the current span. The span is disabled if nothing
/// wants spans; that costs a comparison.
#[inline]
pub(crate) fn notification_span<'a>(facts: impl FnOnce() -> TracedNotification<'a>) -> Span {
    match has_spans() {
        true => facts().span(),
        false => Span::none(),
    }
}

impl TracedNotification<'_> {
    #[cold]
    fn span(&self) -> Span {
        let mut span = Span::none();
        let mut start = || span = self.new_span();
        match (telemetry(), &self.parent) {
            (Some(telemetry), Some(parent)) => telemetry.with_parent(parent, &mut start),
            _ => start(),
        }
        span
    }

    fn new_span(&self) -> Span {
        let method = cut(self.method);
        tracing::info_span!(
            target: "turnbuckle::notification",
            "notification",
            otel.name = &*method,
            otel.kind = match self.side {
                Side::Client => "client",
                Side::Server => "server",
            },
            mcp.method.name = &*method,
            mcp.protocol.version = self.features.map(|features| features.revision.as_str()),
            mcp.session.id = self.session_id.map(session_text).as_deref(),
            mcp.resource.uri = self.uri.as_deref().map(cut).as_deref(),
            network.transport = self.transport,
            network.protocol.name = (self.transport == "tcp").then_some("http"),
        )
    }
}
