//! What a handler sees of its request: who asks, what the client can do, and the way back while
//! the request runs.

mod client_details;
mod notify;

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use turnbuckle_types::{LoggingLevel, Meta, Principal, ProgressToken, RequestId};
use turnbuckle_wire::era::{Reply, params};
use turnbuckle_wire::revision::{EraKind, Features};
use turnbuckle_wire::rpc;

use crate::server::progress::ProgressThrottle;
use crate::shared::rate::RateAccount;
use crate::shared::signal::LazySignal;
use crate::{Binding, FrameQueue, HttpHead, ReplySink, TransportContext};

pub(crate) use client_details::{ClientDetails, Span};
pub(crate) use notify::send;

/// One request, seen by its handler. Cheap to clone; a clone that outlives the request can do
/// nothing any more.
#[derive(Clone)]
pub struct RequestContext {
    pub(crate) state: Arc<State>,
}

pub(crate) struct State {
    pub(crate) id: RequestId,
    pub(crate) features: &'static Features,
    pub(crate) binding: Binding,
    pub(crate) frame: Bytes,
    pub(crate) sender: ClientDetails,
    pub(crate) progress_token: Option<ProgressToken>,
    /// The level from which on this request wants log messages; a legacy session has its own.
    pub(crate) log_level: Option<LoggingLevel>,
    /// Whether the server declared that it logs.
    pub(crate) logs: bool,
    pub(crate) transport: TransportContext,
    pub(crate) way: RequestSink,
    pub(crate) signal: LazySignal,
    /// Nothing, of a request that had ended before it reported anything.
    pub(crate) reports: OnceLock<Option<Box<ProgressThrottle>>>,
    /// Whose it is.
    pub(crate) account: Arc<RateAccount>,
    /// An account of this request alone, where the other is everybody's: of its log messages.
    pub(crate) own: OnceLock<Arc<RateAccount>>,
    /// What was set of a deadline before the handler began to wait.
    pub(crate) deadline: Mutex<Option<(Duration, Late)>>,
}

/// What a request is answered with when its deadline has passed.
type Late = Arc<dyn Fn() -> Reply + Send + Sync>;

/// The way back of a request.
#[expect(
    clippy::large_enum_variant,
    reason = "it is there once, in a context's own allocation"
)]
pub(crate) enum RequestSink {
    /// One that was there before it.
    Shared(Arc<dyn ReplySink>),
    /// One of its own, which costs nothing until something is said on it.
    Own(FrameQueue),
}

impl RequestContext {
    pub(crate) fn new(state: State) -> Self {
        Self {
            state: Arc::new(state),
        }
    }

    /// The whole message that the request came as.
    #[must_use]
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.state.frame).unwrap_or_default()
    }

    /// What was captured of its parameters, read again from the message.
    #[doc(hidden)]
    #[must_use]
    pub fn params(&self) -> params::Params<'_> {
        match rpc::decode(self.text()) {
            Ok(rpc::Message::Request(request)) => request.params,
            _ => params::Params::default(),
        }
    }

    /// The request's id.
    #[must_use]
    pub fn id(&self) -> &RequestId {
        &self.state.id
    }

    /// What the client's revision knows. Handlers do not need it: whatever they say is told to
    /// each client in what it knows.
    #[must_use]
    pub fn features(&self) -> &'static Features {
        self.state.features
    }

    /// How the request was delivered.
    #[must_use]
    pub fn binding(&self) -> Binding {
        self.state.binding
    }

    /// Whether the client can only be asked by requests of the server's own.
    #[must_use]
    pub fn is_legacy(&self) -> bool {
        self.state.features.era == EraKind::Legacy
    }

    /// On whose behalf the request is made, where the transport established it.
    #[must_use]
    pub fn principal(&self) -> Option<&Principal> {
        self.state.transport.principal.as_deref()
    }

    /// The HTTP request that this one came in, where it came in one and a handler asks for such.
    #[must_use]
    pub fn http(&self) -> Option<&Arc<dyn HttpHead>> {
        self.state.transport.http.as_ref()
    }

    /// The request's `_meta`, as it came.
    #[must_use]
    pub fn meta(&self) -> Option<Meta> {
        params::raw_meta(self.text())?.decode().ok()
    }

    /// Whether the client gave up on the request. Nothing is sent for it any more.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.state.signal.is_cancelled()
    }

    /// Resolves when the client gives up on the request. The handler then has a short grace to
    /// finish before its future is dropped.
    pub async fn cancelled(&self) {
        self.state.signal.get().cancelled().await;
    }

    /// Resolves when the connection or the server is about to end: for handlers that would go on
    /// for ever otherwise.
    pub async fn closing(&self) {
        match &self.state.transport.shutdown {
            None => self.state.signal.get().closing().await,
            Some(shutdown) => tokio::select! {
                () = self.state.signal.get().closing() => {}
                () = shutdown.closing() => {}
            },
        }
    }

    /// Says that nobody waits for the outcome any more.
    pub(crate) fn cancel(&self) {
        self.state.signal.cancel();
    }

    /// Asks the handler to come to its own end.
    pub(crate) fn close(&self) {
        self.state.signal.close();
    }

    /// Gives the request up, and has whoever waits for its answer see that.
    pub(crate) fn give_up(&self) {
        self.state.signal.cancel();
        self.route().stir();
    }

    /// The way back.
    pub(crate) fn route(&self) -> &dyn ReplySink {
        match &self.state.way {
            RequestSink::Shared(route) => &**route,
            RequestSink::Own(outbox) => outbox,
        }
    }

    /// The way back of an exchange.
    pub(crate) fn outbox(&self) -> Option<&FrameQueue> {
        match &self.state.way {
            RequestSink::Shared(_) => None,
            RequestSink::Own(outbox) => Some(outbox),
        }
    }

    pub(crate) fn has_deadline(&self) -> bool {
        self.own_deadline().is_some()
    }

    /// Gives the request that long, if the session does not give it less: then it is cancelled, and
    /// `late` is its answer. Counts from when the handler first waits, and has to be said before.
    #[doc(hidden)]
    pub fn set_timeout(&self, deadline: Duration, late: Arc<dyn Fn() -> Reply + Send + Sync>) {
        *self.own_deadline() = Some((deadline, late));
    }

    pub(crate) fn take_deadline(&self) -> Option<(Duration, Late)> {
        self.own_deadline().take()
    }

    fn own_deadline(&self) -> MutexGuard<'_, Option<(Duration, Late)>> {
        let deadline = self.state.deadline.lock();
        deadline.unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for RequestContext {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Context")
            .field("id", &self.state.id)
            .field("revision", &self.state.features.revision)
            .field("cancelled", &self.is_cancelled())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
