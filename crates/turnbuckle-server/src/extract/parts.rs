//! Parts of a request's context, each for itself: a handler says by its parameters what it uses.

use std::fmt;
use std::sync::Arc;

use serde::Serialize;
use turnbuckle_session::HttpHead;
use turnbuckle_types::{ClientCapabilities, Implementation, LogLevel, Meta, Number, Principal};
use turnbuckle_wire::revision::Revision;

use super::{Extract, Incoming, Needs};
use crate::context::Context;
use crate::failure::Result;

/// Reports how far a request has come, to a client that wants to know; for all others it does
/// nothing. Cheap to clone.
///
/// Specification: basic/patterns/progress (2026-07-28).
#[derive(Debug, Clone)]
pub struct Progress(Context);

impl Progress {
    /// So much is done, of a total that is not known. What does not increase is not sent.
    ///
    /// Waits while the client is too far behind to take more.
    pub async fn report(&self, done: impl Into<Number>) {
        self.0.progress(done, None).await;
    }

    /// So much is done of a total.
    pub async fn report_of(&self, done: impl Into<Number>, total: impl Into<Number>) {
        self.0.progress(done, Some(total.into())).await;
    }

    /// So much is done of a total, and what is being done, for people.
    pub async fn describe(
        &self,
        done: impl Into<Number>,
        total: impl Into<Number>,
        message: impl Into<String>,
    ) {
        let total = Some(total.into());
        self.0.progress_message(done, total, message).await;
    }
}

/// Sends log messages to the client, those that it wants, from a server that declared
/// [`logging`](crate::ServerBuilder::logging). Cheap to clone.
///
/// The revision 2026-07-28 deprecates logging over the protocol (SEP-2577): what is for the
/// server's operator is better written to stderr or sent by OpenTelemetry.
///
/// Specification: server/utilities/logging (2026-07-28).
#[derive(Debug, Clone)]
pub struct Log(Context);

impl Log {
    /// Sends a message of that level: any data, not only text.
    pub async fn send<T: Serialize + ?Sized>(&self, level: LogLevel, data: &T) {
        self.0.log(level, None, data).await;
    }

    /// Sends a message under a logger's name.
    pub async fn send_as<T: Serialize + ?Sized>(&self, logger: &str, level: LogLevel, data: &T) {
        self.0.log(level, Some(logger), data).await;
    }

    /// A message that is text before anything waits, whatever it was made of.
    async fn say(&self, level: LogLevel, message: String) {
        self.send(level, &message).await;
    }

    /// Something for whoever looks for a fault.
    pub fn debug(&self, message: impl fmt::Display) -> impl Future<Output = ()> + Send + '_ {
        self.say(LogLevel::Debug, message.to_string())
    }

    /// What is going on.
    pub fn info(&self, message: impl fmt::Display) -> impl Future<Output = ()> + Send + '_ {
        self.say(LogLevel::Info, message.to_string())
    }

    /// Something may be wrong.
    pub fn warning(&self, message: impl fmt::Display) -> impl Future<Output = ()> + Send + '_ {
        self.say(LogLevel::Warning, message.to_string())
    }

    /// Something went wrong.
    pub fn error(&self, message: impl fmt::Display) -> impl Future<Output = ()> + Send + '_ {
        self.say(LogLevel::Error, message.to_string())
    }
}

/// Tells when the client gave up on the request. Cheap to clone.
///
/// Specification: basic/patterns/cancellation (2026-07-28).
#[derive(Debug, Clone)]
pub struct Cancel(Context);

impl Cancel {
    /// Whether it did. Nothing is sent for the request any more.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.is_cancelled()
    }

    /// Resolves when it does. The handler then has a short grace to finish before its future is
    /// dropped.
    pub async fn cancelled(&self) {
        self.0.cancelled().await;
    }
}

/// Who asks. What a client says of itself is for display and logs only: it may say anything, and
/// what it can do is seen to by what asks it. Cheap to clone.
///
/// Specification: basic/index, "_meta" (2026-07-28).
#[derive(Debug, Clone)]
pub struct Client(Context);

impl Client {
    /// Its name and version, as it says.
    #[must_use]
    pub fn info(&self) -> Option<Implementation> {
        self.0.client_info()
    }

    /// What it declared that it can do.
    #[must_use]
    pub fn capabilities(&self) -> &ClientCapabilities {
        self.0.client_capabilities()
    }

    /// The revision of the protocol that it speaks.
    #[must_use]
    pub fn revision(&self) -> Revision {
        self.0.features().revision
    }

    /// On whose behalf it asks, where the transport established it.
    #[must_use]
    pub fn principal(&self) -> Option<&Principal> {
        self.0.principal()
    }
}

/// The HTTP request that this one came in, where it came in one: a handler runs on every transport.
/// Cheap to clone.
///
/// What carries credentials is not shown: whom they name is the request's
/// [principal](Client::principal).
#[derive(Clone)]
pub struct Http(Option<Arc<dyn HttpHead>>);

impl Http {
    /// Whether it came over HTTP.
    #[must_use]
    pub fn is_there(&self) -> bool {
        self.0.is_some()
    }

    /// A header, by its name in any case, if it is there and is text.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.0.as_ref()?.header(name)
    }

    /// The path and query that were asked for.
    #[must_use]
    pub fn target(&self) -> Option<&str> {
        Some(self.0.as_ref()?.target())
    }

    /// The method.
    #[must_use]
    pub fn method(&self) -> Option<&str> {
        Some(self.0.as_ref()?.method())
    }
}

impl fmt::Debug for Http {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Http")
            .field("method", &self.method())
            .field("target", &self.target())
            .finish_non_exhaustive()
    }
}

impl Extract for Http {
    fn extract(incoming: &Incoming<'_>) -> Result<Self> {
        Ok(Self(incoming.context().http().cloned()))
    }

    fn needs(needs: &mut Needs) {
        needs.http = true;
    }
}

macro_rules! parts_of_the_context {
    ($($Part:ident),*) => {$(
        impl Extract for $Part {
            fn extract(incoming: &Incoming<'_>) -> Result<Self> {
                Ok(Self(incoming.context().clone()))
            }
        }
    )*};
}

parts_of_the_context!(Progress, Log, Cancel, Client);

/// The request's `_meta`, as it came; empty if there is none.
impl Extract for Meta {
    fn extract(incoming: &Incoming<'_>) -> Result<Self> {
        Ok(incoming.context().meta().unwrap_or_default())
    }
}
