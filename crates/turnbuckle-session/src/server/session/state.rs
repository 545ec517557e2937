//! The part of a session that its requests, its peer and its tasks share.

use std::borrow::Cow;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use tokio::sync::oneshot;
use tracing::Span;
use turnbuckle_types::{ErrorObject, Json, RequestId};

use crate::server::change_feed::ChangeFeed;
use crate::server::legacy_state::LegacyState;
use crate::shared::kernel::Kernel;
use crate::shared::limits::Limits;
use crate::shared::memory_budget::MemoryAccount;
use crate::shared::reply_sink::ReplySink;
use crate::shared::signal::Signal;
use crate::shared::trace::{SessionCount, Side, TracedNotification, notification_span};

/// The sender to a task that waits for the client's response: the result as raw JSON, or an error.
pub(crate) type ResponseSender = oneshot::Sender<Result<Json, ErrorObject>>;

/// A running request of the client, as its session reaches it.
pub(crate) trait CancelRequest: Send + Sync {
    /// Returns the request's id.
    fn id(&self) -> &RequestId;

    /// Cancels the request: no response is wanted any more.
    fn cancel(&self);

    /// Asks the handler to come to its own end.
    fn close(&self);
}

/// The state of one session or connection.
pub(crate) struct SessionState {
    pub(crate) limits: Arc<Limits>,
    /// The account of the client's memory.
    pub(crate) memory: MemoryAccount,
    kernel: Mutex<Kernel<Arc<dyn CancelRequest>, ResponseSender>>,
    /// Set by the handshake of the legacy era.
    pub(crate) legacy: OnceLock<Arc<LegacyState>>,
    /// The sink for messages that belong to no request.
    pub(crate) sink: Arc<dyn ReplySink>,
    /// The changes that the legacy client was not told of yet.
    pub(crate) feed: Arc<ChangeFeed>,
    pub(crate) count: SessionCount,
    /// The name of the transport in traces and metrics, set by the handshake.
    pub(crate) network_transport: OnceLock<&'static str>,
    /// Fires when the session has ended.
    pub(crate) ended: Signal,
}

impl SessionState {
    pub(crate) fn new(
        limits: Arc<Limits>,
        memory: MemoryAccount,
        sink: Arc<dyn ReplySink>,
    ) -> Arc<Self> {
        let kernel = Kernel::new(limits.max_in_flight, limits.max_outgoing_requests);
        Arc::new(Self {
            limits,
            memory,
            kernel: Mutex::new(kernel),
            legacy: OnceLock::new(),
            sink,
            feed: Arc::new(ChangeFeed::new()),
            count: SessionCount::default(),
            network_transport: OnceLock::new(),
            ended: Signal::new(),
        })
    }

    /// Returns the span of a notification to the legacy client; a disabled one if nothing wants it.
    pub(crate) fn notification_span(&self, method: &str, uri: Option<&str>) -> Span {
        notification_span(|| TracedNotification {
            side: Side::Client,
            method,
            uri: uri.map(Cow::Borrowed),
            features: self.legacy.get().map(|legacy| legacy.features()),
            transport: self.network_transport.get().copied().unwrap_or("pipe"),
            session_id: None,
            parent: None,
        })
    }

    pub(crate) fn kernel(&self) -> MutexGuard<'_, Kernel<Arc<dyn CancelRequest>, ResponseSender>> {
        self.kernel.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
