//! The link between requests and sessions of this process and an exporter of traces and metrics.
//!
//! This crate knows only `tracing`. An exporter sets a [`Telemetry`], which joins spans to traces of
//! other processes and counts requests and sessions.

use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use turnbuckle_types::base::refusals::set_counter;
use turnbuckle_types::{ErrorKind, ProtocolError};
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

    /// Counts a message, a connection, a session or a handler that a server refused, dropped or gave
    /// up because of a limit or a timeout: the setting of that name, such as `Limits::call_rate`.
    fn bound_reached(&self, bound: &'static str);

    /// Counts an operation of the store that the instances of a server share: its name, the kind of its
    /// error, and the time that it took, in seconds.
    fn store_operation_ended(
        &self,
        operation: &'static str,
        error_type: Option<&'static str>,
        seconds: f64,
    );
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

static EXPORTER: OnceLock<Box<dyn Telemetry>> = OnceLock::new();
static LOCAL_METRICS: OnceLock<Box<dyn Telemetry>> = OnceLock::new();

/// Sets the exporter of this process. Only the first one counts; returns whether this was it.
pub fn set_telemetry(telemetry: impl Telemetry) -> bool {
    set_counter(count_refusal);
    EXPORTER.set(Box::new(telemetry)).is_ok()
}

/// Sets the metrics that this process shows by itself, beside those that it exports. Only the first
/// ones count; returns whether these were they.
pub fn set_local_metrics(metrics: impl Telemetry) -> bool {
    set_counter(count_refusal);
    LOCAL_METRICS.set(Box::new(metrics)).is_ok()
}

/// Returns the exporter or the metrics of this process, if there are any.
#[inline]
pub(crate) fn telemetry() -> Option<&'static dyn Telemetry> {
    match (EXPORTER.get(), LOCAL_METRICS.get()) {
        (None, None) => None,
        (Some(telemetry), None) | (None, Some(telemetry)) => Some(&**telemetry),
        (Some(_), Some(_)) => Some(&Both),
    }
}

/// The exporter and the metrics of this process, where there are both.
struct Both;

impl Both {
    fn all() -> impl Iterator<Item = &'static dyn Telemetry> {
        let all = [EXPORTER.get(), LOCAL_METRICS.get()];
        all.into_iter().flatten().map(|telemetry| &**telemetry)
    }
}

impl Telemetry for Both {
    fn with_parent(&self, parent: &TraceContext, start: &mut dyn FnMut()) {
        match EXPORTER.get() {
            Some(exporter) => exporter.with_parent(parent, start),
            None => start(),
        }
    }

    fn current_context(&self) -> Option<TraceContext> {
        EXPORTER.get()?.current_context()
    }

    fn request_started(&self, side: Side) {
        Self::all().for_each(|it| it.request_started(side));
    }

    fn request_ended(&self, request: &EndedRequest<'_>) {
        Self::all().for_each(|it| it.request_ended(request));
    }

    fn session_started(&self, side: Side) {
        Self::all().for_each(|it| it.session_started(side));
    }

    fn session_ended(&self, session: &EndedSession) {
        Self::all().for_each(|it| it.session_ended(session));
    }

    fn level_changed(&self, level: Level, by: i64) {
        Self::all().for_each(|it| it.level_changed(level, by));
    }

    fn bound_reached(&self, bound: &'static str) {
        Self::all().for_each(|it| it.bound_reached(bound));
    }

    fn store_operation_ended(
        &self,
        operation: &'static str,
        error_type: Option<&'static str>,
        seconds: f64,
    ) {
        Self::all().for_each(|it| it.store_operation_ended(operation, error_type, seconds));
    }
}

/// Counts a change of a level.
#[inline]
pub(crate) fn change_level(level: Level, by: i64) {
    if let Some(telemetry) = telemetry() {
        telemetry.level_changed(level, by);
    }
}

/// Counts what is refused, dropped or given up because of a limit or a timeout, for metrics: the
/// setting of that name.
#[cold]
pub fn count_refusal(bound: &'static str) {
    if let Some(telemetry) = telemetry() {
        telemetry.bound_reached(bound);
    }
}

/// Counts an operation of the store that the instances of a server share, for metrics.
pub fn count_store_operation(
    operation: &'static str,
    error_type: Option<&'static str>,
    time: Duration,
) {
    if let Some(telemetry) = telemetry() {
        telemetry.store_operation_ended(operation, error_type, time.as_secs_f64());
    }
}

/// Returns the error for a request that is refused because of a limit, the setting `limit`, and counts
/// it. `retry_after` is the time after which another try may succeed, if it is known.
#[cold]
pub fn limit_error(
    limit: &'static str,
    message: impl Into<String>,
    retry_after: Option<Duration>,
) -> ProtocolError {
    count_refusal(limit);
    let error = match retry_after {
        Some(wait) => ProtocolError::rate_limited(message, wait),
        None => ProtocolError::new(ErrorKind::RateLimited { retry_after: None }, message),
    };
    error.with_limit(limit)
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
