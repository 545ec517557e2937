//! The link between requests and sessions of this process and an exporter of traces and metrics.
//!
//! This crate knows only `tracing`. An exporter sets a [`Telemetry`], which joins spans to traces of
//! other processes and counts requests and sessions.

use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;

use turnbuckle_wire::revision::Revision;

use super::propagation::TraceContext;

/// The side that measures or traces something, as the semantic conventions count sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Side {
    /// The sender of a request, which may be a server; of a session, the client.
    Client,
    /// The receiver of a request, which may be a client; of a session, the server.
    Server,
}

/// An exporter of traces and metrics. Its methods are called on the path of every request and must
/// not block.
pub trait Telemetry: Send + Sync + 'static {
    /// Runs `start`, which starts the span of a request, so that the span is a child of a span of
    /// another process.
    fn with_parent(&self, parent: &TraceContext, start: &mut dyn FnMut());

    /// Returns the context of the current span, to send it with a request.
    fn current_context(&self) -> Option<TraceContext>;

    /// Counts a request that a client sends or a server received.
    fn request_started(&self, side: Side);

    /// Counts a request that was answered or given up. No request ends without having started.
    fn request_ended(&self, request: &EndedRequest<'_>);

    /// Counts a legacy session that was opened.
    fn session_started(&self, side: Side);

    /// Counts a legacy session that has ended.
    fn session_ended(&self, session: &EndedSession);

    /// Counts a change of a level.
    fn level_changed(&self, level: Level, by: i64);

    /// Counts a message or a connection that a server refused or dropped because of a bound: the
    /// setting of that name, such as `Limits::call_rate`.
    fn bound_reached(&self, bound: &'static str);
}

/// A number of things that exist at the same time, in the whole process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Level {
    /// Streams of events that a server over HTTP sends to its clients.
    Streams,
    /// Messages and responses that wait in a queue until the peer reads them.
    QueuedMessages,
}

/// A request that has ended, as metrics record it. Each member has a small number of values, whatever
/// a peer makes up.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct EndedRequest<'a> {
    /// The side that measured the request.
    pub side: Side,
    /// The method; `_OTHER` if no revision has it.
    pub method: &'static str,
    /// The name of a tool; `_OTHER` after the first 256 names. `None` for other requests, and if the
    /// answer was no result: the tool may not exist.
    pub tool: Option<&'a str>,
    /// The name of a prompt, by the same rules.
    pub prompt: Option<&'a str>,
    /// The revision of the request.
    pub revision: Revision,
    /// `tcp` or `pipe`.
    pub transport: &'static str,
    /// The type of the failure; `None` for a success, `_OTHER` for a code that a client received and
    /// the protocol does not have, and on servers for one after the first 32 of the application.
    pub error_type: Option<&'a str>,
    /// The code of the error response, if it was one.
    pub code: Option<i64>,
    /// The time from the start of the request to its end, in seconds.
    pub seconds: f64,
}

/// A legacy session that has ended, as metrics record it.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct EndedSession {
    /// The side that measured the session.
    pub side: Side,
    /// The revision of the session.
    pub revision: Revision,
    /// `tcp` or `pipe`.
    pub transport: &'static str,
    /// The time from the handshake to the end, in seconds.
    pub seconds: f64,
}

static TELEMETRY: OnceLock<Box<dyn Telemetry>> = OnceLock::new();

/// Sets the exporter of this process. Only the first one counts; returns whether this was it.
pub fn set_telemetry(telemetry: impl Telemetry) -> bool {
    TELEMETRY.set(Box::new(telemetry)).is_ok()
}

/// Returns the exporter of this process, if there is one.
#[inline]
pub(crate) fn telemetry() -> Option<&'static dyn Telemetry> {
    TELEMETRY.get().map(|telemetry| &**telemetry)
}

/// Counts a change of a level.
#[inline]
pub(crate) fn change_level(level: Level, by: i64) {
    if let Some(telemetry) = telemetry() {
        telemetry.level_changed(level, by);
    }
}

/// Counts a message or a connection that is refused or dropped because of a bound, for metrics:
/// the setting of that name.
#[cold]
pub fn count_refusal(bound: &'static str) {
    if let Some(telemetry) = telemetry() {
        telemetry.bound_reached(bound);
    }
}

/// The count of one open stream of events, for metrics, until this is dropped.
#[derive(Debug)]
pub struct StreamCount {
    is_counted: bool,
}

impl StreamCount {
    /// Counts a stream that was opened.
    #[must_use]
    pub fn start() -> Self {
        change_level(Level::Streams, 1);
        Self {
            is_counted: telemetry().is_some(),
        }
    }
}

impl Drop for StreamCount {
    fn drop(&mut self) {
        if self.is_counted {
            change_level(Level::Streams, -1);
        }
    }
}

/// The count of one legacy session while it is open: until it is ended or dropped.
#[derive(Default)]
pub(crate) struct SessionCount(Mutex<Option<Box<CountedSession>>>);

struct CountedSession {
    side: Side,
    revision: Revision,
    transport: &'static str,
    start: Instant,
}

impl SessionCount {
    /// Counts a session that was opened, if anything is measured.
    pub(crate) fn start(&self, side: Side, revision: Revision, transport: &'static str) {
        if let Some(telemetry) = telemetry() {
            telemetry.session_started(side);
            *self.lock() = Some(Box::new(CountedSession {
                side,
                revision,
                transport,
                start: Instant::now(),
            }));
        }
    }

    /// Measures the session, which has ended.
    pub(crate) fn end(&self) {
        drop(self.lock().take());
    }

    fn lock(&self) -> MutexGuard<'_, Option<Box<CountedSession>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for CountedSession {
    fn drop(&mut self) {
        if let Some(telemetry) = telemetry() {
            telemetry.session_ended(&EndedSession {
                side: self.side,
                revision: self.revision,
                transport: self.transport,
                seconds: self.start.elapsed().as_secs_f64(),
            });
        }
    }
}
