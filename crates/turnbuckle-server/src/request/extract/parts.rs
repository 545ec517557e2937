//! Extractors of single parts of the context, so that a handler's parameters show the parts that it uses.

use std::fmt;
use std::sync::Arc;

use serde::Serialize;
use turnbuckle_session::internal::block_on;
use turnbuckle_session::transport::HttpHead;
use turnbuckle_types::base::debug_fields;
use turnbuckle_types::{ClientCapabilities, Implementation, LoggingLevel, Meta, Number, Principal};
use turnbuckle_wire::revision::Revision;

use super::{Extract, HandlerRequirements, Invocation};
use crate::error::failure::Result;
use crate::request::context::HandlerContext;

/// Sends progress notifications to the client, if it asked for them. Cheap to clone.
///
/// Specification: basic/patterns/progress (2026-07-28).
#[derive(Debug, Clone)]
pub struct Progress(HandlerContext);

impl Progress {
    /// Reports progress without a known total. Values that do not increase are not sent, nor are
    /// infinities and NaN.
    ///
    /// Waits while the client is too slow to receive more.
    pub async fn report(&self, done: impl ProgressValue) {
        if let Some(done) = done.into_number() {
            self.0.progress(done, None).await;
        }
    }

    /// Reports progress out of a total.
    pub async fn report_with_total(&self, done: impl ProgressValue, total: impl ProgressValue) {
        let total = total.into_number();
        if let Some(done) = done.into_number() {
            self.0.progress(done, total).await;
        }
    }

    /// Reports progress out of a total, with a message for people.
    pub async fn report_with_message(
        &self,
        done: impl ProgressValue,
        total: impl ProgressValue,
        message: impl Into<String>,
    ) {
        let total = total.into_number();
        if let Some(done) = done.into_number() {
            self.0.progress_message(done, total, message).await;
        }
    }
}

/// A number that progress can be reported in: an integer, a float, or a [`Number`].
#[diagnostic::on_unimplemented(
    message = "progress is a number, and `{Self}` is none",
    label = "an integer, `f32`, `f64` or `Number`"
)]
pub trait ProgressValue {
    /// Converts into a number; `None` for infinities and NaN.
    fn into_number(self) -> Option<Number>;
}

impl ProgressValue for Number {
    fn into_number(self) -> Option<Number> {
        Some(self)
    }
}

macro_rules! progress_values {
    ($($Integer:ty),* as $Wide:ty) => {$(
        impl ProgressValue for $Integer {
            fn into_number(self) -> Option<Number> {
                <$Wide>::try_from(self).ok().map(Number::from)
            }
        }
    )*};
}

progress_values!(u8, u16, u32, u64, usize as u64);
progress_values!(i8, i16, i32, i64, isize as i64);

impl ProgressValue for f64 {
    fn into_number(self) -> Option<Number> {
        Number::from_f64(self)
    }
}

impl ProgressValue for f32 {
    fn into_number(self) -> Option<Number> {
        Number::from_f64(self.into())
    }
}

/// The blocking forms of the methods, for blocking handlers: they wait on the handler's own thread.
/// Elsewhere nothing is sent, and the log has a warning.
impl Progress {
    /// Reports progress without a known total, in a blocking handler.
    pub fn blocking_report(&self, done: impl ProgressValue) {
        block(self.report(done));
    }

    /// Reports progress out of a total, in a blocking handler.
    pub fn blocking_report_with_total(&self, done: impl ProgressValue, total: impl ProgressValue) {
        block(self.report_with_total(done, total));
    }

    /// Reports progress out of a total with a message for people, in a blocking handler.
    pub fn blocking_report_with_message(
        &self,
        done: impl ProgressValue,
        total: impl ProgressValue,
        message: impl Into<String>,
    ) {
        block(self.report_with_message(done, total, message));
    }
}

/// Sends a message from the thread of a blocking handler.
fn block(sending: impl Future<Output = ()>) {
    if block_on(sending).is_none() {
        tracing::warn!("a `blocking_` method was called outside of a blocking handler: not sent");
    }
}

/// Sends log messages to the client, if their level is high enough for it and the server declared
/// [`logging`](crate::ServerBuilder::logging). Cheap to clone.
///
/// The revision 2026-07-28 deprecates logging over the protocol (SEP-2577): write messages for the
/// operator of the server to stderr, or send them with OpenTelemetry.
///
/// Specification: server/utilities/logging (2026-07-28).
#[derive(Debug, Clone)]
pub struct Log(HandlerContext);

impl Log {
    /// Sends a message: any data, not only text.
    pub async fn send<T: Serialize + ?Sized>(&self, level: LoggingLevel, data: &T) {
        self.0.log(level, None, data).await;
    }

    /// Sends a message with the name of a logger.
    pub async fn send_from<T: Serialize + ?Sized>(
        &self,
        logger: &str,
        level: LoggingLevel,
        data: &T,
    ) {
        self.0.log(level, Some(logger), data).await;
    }

    /// Sends a message in a blocking handler. Elsewhere nothing is sent, and the server's own log
    /// has a warning.
    pub fn blocking_send<T: Serialize + ?Sized>(&self, level: LoggingLevel, data: &T) {
        block(self.send(level, data));
    }

    /// Sends a text, which was formatted before the first await.
    async fn send_text(&self, level: LoggingLevel, message: String) {
        self.send(level, &message).await;
    }

    /// Sends a message of level `debug`.
    pub fn debug(&self, message: impl fmt::Display) -> impl Future<Output = ()> + Send + '_ {
        self.send_text(LoggingLevel::Debug, message.to_string())
    }

    /// Sends a message of level `info`.
    pub fn info(&self, message: impl fmt::Display) -> impl Future<Output = ()> + Send + '_ {
        self.send_text(LoggingLevel::Info, message.to_string())
    }

    /// Sends a message of level `warning`.
    pub fn warning(&self, message: impl fmt::Display) -> impl Future<Output = ()> + Send + '_ {
        self.send_text(LoggingLevel::Warning, message.to_string())
    }

    /// Sends a message of level `error`.
    pub fn error(&self, message: impl fmt::Display) -> impl Future<Output = ()> + Send + '_ {
        self.send_text(LoggingLevel::Error, message.to_string())
    }
}

/// Signals that the client cancelled the request. Cheap to clone.
///
/// Specification: basic/patterns/cancellation (2026-07-28).
#[derive(Debug, Clone)]
pub struct Cancellation(HandlerContext);

impl Cancellation {
    /// Returns whether the request was cancelled. Nothing is sent for a cancelled request any more.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.is_cancelled()
    }

    /// Waits until the request is cancelled.
    ///
    /// The handler then has a short grace period before its future is dropped.
    pub async fn cancelled(&self) {
        self.0.cancelled().await;
    }
}

/// The client that sent the request: its name, capabilities, revision and principal. Cheap to
/// clone.
///
/// Name and version are for display and logs only, since a client can claim anything. Questions to
/// the client check its capabilities themselves.
///
/// Specification: basic/index, "_meta" (2026-07-28).
#[derive(Debug, Clone)]
pub struct ClientInfo(HandlerContext);

impl ClientInfo {
    /// Returns the name and version that the client claims.
    #[must_use]
    pub fn implementation(&self) -> Option<Implementation> {
        self.0.client_info()
    }

    /// Returns the capabilities that the client declared.
    #[must_use]
    pub fn capabilities(&self) -> &ClientCapabilities {
        self.0.client_capabilities()
    }

    /// Returns the revision of the protocol that the client speaks.
    #[must_use]
    pub fn revision(&self) -> Revision {
        self.0.features().revision
    }

    /// Returns the principal on whose behalf the request was sent, if the transport authenticated
    /// it.
    #[must_use]
    pub fn principal(&self) -> Option<&Principal> {
        self.0.principal()
    }
}

/// The head of the HTTP request, empty on other transports. Cheap to clone.
///
/// Headers with credentials are left out; the identity that they prove is the request's
/// [principal](ClientInfo::principal).
#[derive(Clone)]
pub struct HttpRequest(Option<Arc<dyn HttpHead>>);

impl HttpRequest {
    /// Returns whether the request came over HTTP.
    #[must_use]
    pub fn is_present(&self) -> bool {
        self.0.is_some()
    }

    /// Returns the value of a header if it is present and is text. Names are case-insensitive.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.0.as_ref()?.header(name)
    }

    /// Returns the path and query of the request.
    #[must_use]
    pub fn target(&self) -> Option<&str> {
        Some(self.0.as_ref()?.target())
    }

    /// Returns the HTTP method.
    #[must_use]
    pub fn method(&self) -> Option<&str> {
        Some(self.0.as_ref()?.method())
    }
}

debug_fields!(HttpRequest {
    method = |request| request.method().map(str::to_owned),
    target = |request| request.target().map(str::to_owned),
});

impl Extract for HttpRequest {
    const IS_READY: bool = true;

    async fn extract(invocation: &Invocation<'_>) -> Result<Self> {
        Ok(Self(invocation.context().http().cloned()))
    }

    fn add_requirements(requirements: &mut HandlerRequirements) {
        requirements.http.head = true;
    }
}

macro_rules! parts_of_the_context {
    ($($Part:ident),*) => {$(
        impl Extract for $Part {
            const IS_READY: bool = true;

    async fn extract(invocation: &Invocation<'_>) -> Result<Self> {
                Ok(Self(invocation.context().clone()))
            }
        }
    )*};
}

parts_of_the_context!(Progress, Log, Cancellation, ClientInfo);

/// Extracts the request's `_meta` as received; empty if the request has none.
impl Extract for Meta {
    const IS_READY: bool = true;

    async fn extract(invocation: &Invocation<'_>) -> Result<Self> {
        Ok(invocation.context().meta().unwrap_or_default())
    }
}
