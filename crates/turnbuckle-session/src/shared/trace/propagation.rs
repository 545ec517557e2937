//! The trace that a request belongs to, as it goes over the wire.
//!
//! This crate knows only `tracing`. The exporter of spans sets a [`TracePropagator`], which joins
//! them to traces of other processes.

use std::borrow::Cow;
use std::sync::OnceLock;

use serde::Deserialize;
use tracing::Span;
use turnbuckle_wire::era::params::raw_meta;

use crate::shared::transport::HttpHead;

/// The most bytes of a `tracestate` that are read; W3C Trace Context asks for at least 512.
const MAX_TRACESTATE_BYTES: usize = 512;

/// The most bytes of a `traceparent` that are read; one of version 00 has 55.
const MAX_TRACEPARENT_BYTES: usize = 64;

/// The trace context of W3C, as `_meta` and HTTP headers carry it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceContext {
    /// The value of `traceparent`.
    pub traceparent: String,
    /// The value of `tracestate`, if there is one.
    pub tracestate: Option<String>,
}

/// The link between spans of `tracing` and traces on the wire.
pub trait TracePropagator: Send + Sync + 'static {
    /// Makes a span a child of a span of another process.
    fn set_parent(&self, span: RequestSpan<'_>, parent: &TraceContext);

    /// Returns the context to send with a request whose span this is.
    fn context(&self, span: RequestSpan<'_>) -> Option<TraceContext>;
}

/// The span of a request.
#[derive(Debug, Clone, Copy)]
pub struct RequestSpan<'a>(&'a Span);

impl RequestSpan<'_> {
    /// Returns the id that the subscriber of `tracing` gave to the span; `None` if the span is
    /// disabled.
    #[must_use]
    pub fn id(&self) -> Option<u64> {
        self.0.id().map(|id| id.into_u64())
    }
}

static PROPAGATOR: OnceLock<Box<dyn TracePropagator>> = OnceLock::new();

/// Sets the propagator of this process. Only the first one counts; returns whether this was it.
pub fn set_trace_propagator(propagator: impl TracePropagator) -> bool {
    PROPAGATOR.set(Box::new(propagator)).is_ok()
}

/// The members of `_meta` that carry a trace.
///
/// Specification: basic/index, "`_meta`" (2026-07-28); SEP-414.
#[derive(Deserialize)]
struct TraceMeta<'a> {
    #[serde(borrow, default)]
    traceparent: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    tracestate: Option<Cow<'a, str>>,
}

/// Makes a span a child of the span that a message names in its `_meta`, or else in the headers of
/// its HTTP request.
pub(crate) fn link_parent(span: &Span, text: &str, head: Option<&dyn HttpHead>) {
    let Some(propagator) = PROPAGATOR.get() else {
        return;
    };
    if let Some(parent) = read_meta(text).or_else(|| head.and_then(read_headers)) {
        propagator.set_parent(RequestSpan(span), &parent);
    }
}

/// Returns the context to send with a request whose span this is.
pub(crate) fn context_to_send(span: &Span) -> Option<TraceContext> {
    PROPAGATOR.get()?.context(RequestSpan(span))
}

fn read_meta(text: &str) -> Option<TraceContext> {
    let meta: TraceMeta<'_> = serde_json::from_str(raw_meta(text)?.as_str()).ok()?;
    trace_context(&meta.traceparent?, meta.tracestate.as_deref())
}

fn read_headers(head: &dyn HttpHead) -> Option<TraceContext> {
    trace_context(head.header("traceparent")?, head.header("tracestate"))
}

/// Returns a trace context without what is too long.
fn trace_context(traceparent: &str, tracestate: Option<&str>) -> Option<TraceContext> {
    let tracestate = tracestate.filter(|state| state.len() <= MAX_TRACESTATE_BYTES);
    (traceparent.len() <= MAX_TRACEPARENT_BYTES).then(|| TraceContext {
        traceparent: traceparent.to_owned(),
        tracestate: tracestate.map(str::to_owned),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    fn message(meta: &str) -> String {
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"_meta":{meta}}}}}"#)
    }

    #[test]
    fn a_trace_context_is_read_from_meta() {
        let text = message(&format!(
            r#"{{"traceparent":"{PARENT}","tracestate":"a=1"}}"#
        ));
        let context = read_meta(&text).unwrap();
        assert_eq!(context.traceparent, PARENT);
        assert_eq!(context.tracestate.as_deref(), Some("a=1"));
        assert_eq!(read_meta(&message("{}")), None);
        assert_eq!(read_meta(&message(r#"{"traceparent":1}"#)), None);
    }

    #[test]
    fn an_oversized_trace_context_is_ignored() {
        let read = |parent: usize, state: usize| {
            let (parent, state) = ("a".repeat(parent), "a".repeat(state));
            read_meta(&message(&format!(
                r#"{{"traceparent":"{parent}","tracestate":"{state}"}}"#
            )))
        };
        let (parent, state) = (MAX_TRACEPARENT_BYTES, MAX_TRACESTATE_BYTES);
        assert!(read(parent, state).unwrap().tracestate.is_some());
        assert_eq!(read(parent, state + 1).unwrap().tracestate, None);
        assert_eq!(read(parent + 1, state), None);
    }
}
