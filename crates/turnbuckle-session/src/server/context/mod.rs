//! A handler's view of its request: the sender, the client's capabilities, and the way back to the
//! client while the request runs.

mod client_details;
pub(crate) mod detached;
mod notify;
mod progress;

use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;
use turnbuckle_types::base::debug_fields;

use bytes::Bytes;
use turnbuckle_types::{
    LoggingLevel, Meta, Principal, ProgressToken, ProtocolError, RawJson, RequestId,
};
use turnbuckle_wire::era::{Reply, params};
use turnbuckle_wire::json::read_members;
use turnbuckle_wire::revision::{EraKind, Features};
use turnbuckle_wire::rpc;

use crate::server::session::state::CancelRequest;
use crate::shared::account::{OwnerAccount, RequestAccount};
use crate::shared::frame_queue::FrameQueue;
use crate::shared::frame_range::FrameRange;
use crate::shared::memory_budget::MemoryPermit;
use crate::shared::reply_sink::{NO_READER, ReplySink};
use crate::shared::signal::LazySignal;
use crate::shared::trace::{FailureCause, FailureFacts};
use crate::shared::transport::{Binding, HttpHead, TransportContext};
use progress::ProgressThrottle;

pub(crate) use client_details::ClientDetails;
pub use client_details::DuplexConnection;
use detached::Outlet;

/// The bytes that a request takes besides its frame and its arguments: its state, its task, and the
/// rest of the buffer that it was read into.
pub(crate) const REQUEST_BYTES: usize = 12 << 10;

/// A request, as its handler sees it. Cheap to clone. A clone that outlives the request sends
/// nothing any more.
#[derive(Clone)]
pub struct RequestContext {
    pub(crate) state: Arc<RequestState>,
}

/// The state that all clones of a [`RequestContext`] share.
pub(crate) struct RequestState {
    pub(crate) id: RequestId,
    pub(crate) features: &'static Features,
    pub(crate) binding: Binding,
    pub(crate) frame: Bytes,
    /// The place of `_meta` in the frame.
    pub(crate) meta: Option<FrameRange>,
    pub(crate) client: ClientDetails,
    pub(crate) progress_token: Option<ProgressToken>,
    /// The lowest level of log messages that this request asked for. A legacy session has a level
    /// of its own.
    pub(crate) log_level: Option<LoggingLevel>,
    /// True if the server declared the logging capability.
    pub(crate) logging_declared: bool,
    pub(crate) transport: TransportContext,
    pub(crate) sink: RequestSink,
    pub(crate) signal: LazySignal,
    /// The account whose rates the request counts on, with the memory of the frame and of the
    /// arguments that were decoded from it.
    pub(crate) account: RequestAccount,
    pub(crate) lazy: LazyState,
}

/// State that most requests never need.
#[derive(Default)]
pub(crate) struct LazyState {
    /// `None` in the cell: the request ended before it reported any progress.
    progress: OnceLock<Option<Box<ProgressThrottle>>>,
    /// The account of this request's log messages, where `account` is shared between peers.
    log_account: OnceLock<OwnerAccount>,
    /// A timeout of its own, set before its handler was first pending.
    timeout: Mutex<Option<(Duration, TimeoutReply)>>,
    /// True once the client was handed out to be asked.
    peer_taken: AtomicBool,
    /// The cause of the failure, where the reply does not tell it.
    failure_cause: OnceLock<FailureCause>,
    /// True if the log has the failure already.
    failure_is_logged: AtomicBool,
}

/// Makes the reply to a request whose own timeout has passed.
pub(crate) type TimeoutReply = Arc<dyn Fn() -> Reply + Send + Sync>;

/// The reply sink of one request.
pub(crate) enum RequestSink {
    /// A sink that existed before the request.
    Shared(Arc<dyn ReplySink>),
    /// A queue that belongs to the request alone. It owns no memory until a frame is sent.
    Own(FrameQueue),
    /// None: the handler may outlive its request.
    Detached(Arc<dyn Outlet>),
}

impl RequestContext {
    pub(crate) fn new(state: RequestState) -> Self {
        Self {
            state: Arc::new(state),
        }
    }

    /// Returns the whole message that the request arrived as.
    #[must_use]
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.state.frame).unwrap_or_default()
    }

    /// Returns the captured parameters, decoded again from the message.
    #[must_use]
    pub fn params(&self) -> params::Params<'_> {
        match rpc::decode(self.text()) {
            Ok(rpc::Message::Request(request)) => request.params,
            _ => params::Params::default(),
        }
    }

    /// Returns the request's id.
    #[must_use]
    pub fn id(&self) -> &RequestId {
        &self.state.id
    }

    /// Returns the features of the client's revision. Handlers do not need them: everything that a
    /// handler sends is projected onto what the client's revision knows.
    #[must_use]
    pub fn features(&self) -> &'static Features {
        self.state.features
    }

    /// Returns how the request was delivered.
    #[must_use]
    pub fn binding(&self) -> Binding {
        self.state.binding
    }

    /// Returns whether the client speaks a revision of the legacy era: it can be asked by requests
    /// from the server, and not by input requests in a result.
    #[must_use]
    pub fn is_legacy(&self) -> bool {
        self.state.features.era == EraKind::Legacy
    }

    /// Returns the principal on whose behalf the request is made, if the transport established
    /// one.
    #[must_use]
    pub fn principal(&self) -> Option<&Principal> {
        self.state.transport.principal.as_deref()
    }

    /// Returns the network address of the client, if the transport knows it.
    #[must_use]
    pub fn client_address(&self) -> Option<IpAddr> {
        self.state.transport.address
    }

    /// Returns the head of the HTTP request that carried the message. `None` on other transports,
    /// and when no handler of the server reads HTTP heads.
    #[must_use]
    pub fn http(&self) -> Option<&Arc<dyn HttpHead>> {
        self.state.transport.http.as_ref()
    }

    /// Returns the request's `_meta` as it was received.
    #[must_use]
    pub fn meta(&self) -> Option<Meta> {
        self.raw_meta()?.decode().ok()
    }

    fn raw_meta(&self) -> Option<RawJson<'_>> {
        let text = self.state.meta?.of_frame(&self.state.frame);
        std::str::from_utf8(text).ok().map(RawJson::from_valid_text)
    }

    /// Returns the request's `_meta` as it was received, without some keys. What has only these is not decoded.
    #[must_use]
    pub fn meta_without(&self, keys: &[&str]) -> Meta {
        let Some(received) = self.raw_meta() else {
            return Meta::new();
        };
        let is_left_out = |name, _| keys.contains(&name).then_some(());
        if read_members(received.as_str(), is_left_out).is_some() {
            return Meta::new();
        }
        let mut meta: Meta = received.decode().unwrap_or_default();
        for key in keys {
            meta.remove(key);
        }
        meta
    }

    /// Reserves memory on the account of the client, for what outlives the request.
    ///
    /// # Errors
    /// An error that names the limit, when the client or all clients together would have too much.
    pub fn reserve_memory(&self, bytes: usize) -> Result<MemoryPermit, ProtocolError> {
        Ok(self.state.account.memory().reserve(bytes)?)
    }

    /// Records the cause of the request's failure, for logs and spans. The first one counts. For
    /// turnbuckle's other crates.
    pub fn set_failure_cause(&self, cause: FailureCause) {
        self.state.lazy.failure_cause.get_or_init(|| cause);
    }

    /// Records that the log has the failure of the request, with its error. For turnbuckle's other
    /// crates.
    pub fn set_failure_logged(&self) {
        let is_logged = &self.state.lazy.failure_is_logged;
        is_logged.store(true, Ordering::Relaxed);
    }

    /// Returns the facts about the failure of the request beside its reply.
    pub(crate) fn failure_facts(&self) -> FailureFacts {
        let lazy = &self.state.lazy;
        FailureFacts {
            cause: lazy.failure_cause.get().copied(),
            is_logged: lazy.failure_is_logged.load(Ordering::Relaxed),
        }
    }

    /// Returns whether the request was cancelled. Nothing is sent for it any more.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.state.signal.is_cancelled()
    }

    /// Returns whether [`peer`](Self::peer) or [`session_peer`](Self::session_peer) handed out the
    /// client during this request, so that its result may depend on the client's answers.
    #[must_use]
    pub fn has_taken_peer(&self) -> bool {
        self.state.lazy.peer_taken.load(Ordering::Relaxed)
    }

    /// Resolves when the request is cancelled. Its handler may go on for
    /// [`Limits::cancel_timeout`](crate::handler::Limits::cancel_timeout) before its future is dropped.
    pub async fn cancelled(&self) {
        self.state.signal.get().cancelled().await;
    }

    /// Resolves when the connection or the server is about to close: for handlers that would
    /// otherwise never end.
    pub async fn closing(&self) {
        match &self.state.transport.shutdown {
            None => self.state.signal.get().closing().await,
            Some(shutdown) => tokio::select! {
                () = self.state.signal.get().closing() => {}
                () = shutdown.closing() => {}
            },
        }
    }

    /// Cancels the request: nothing is sent for it any more.
    pub(crate) fn cancel(&self) {
        self.state.signal.cancel();
    }

    /// Ends the request when its handler has ended: sends the last progress report that was held
    /// back, and lets nothing follow. Returns whether a response is still wanted.
    pub(crate) fn finish(&self) -> bool {
        self.finish_progress();
        let is_wanted = !self.is_cancelled();
        self.cancel();
        is_wanted
    }

    /// Returns a handle that cancels or closes this request.
    pub(crate) fn cancel_handle(&self) -> Arc<dyn CancelRequest> {
        self.state.clone()
    }

    /// Returns the sink for the request's messages and its response.
    pub(crate) fn sink(&self) -> &dyn ReplySink {
        match &self.state.sink {
            RequestSink::Shared(sink) => &**sink,
            RequestSink::Own(queue) => queue,
            RequestSink::Detached(_) => &NO_READER,
        }
    }

    /// Returns the queue that belongs to this request alone, if it has one.
    pub(crate) fn own_queue(&self) -> Option<&FrameQueue> {
        match &self.state.sink {
            RequestSink::Shared(_) | RequestSink::Detached(_) => None,
            RequestSink::Own(queue) => Some(queue),
        }
    }

    /// Sets a timeout for this request, which counts from the next time that its handler is
    /// pending. The request is then cancelled and answered with `timeout_reply`. [`Limits::handler_timeout`](crate::handler::Limits::handler_timeout) holds as well.
    pub fn set_timeout(
        &self,
        timeout: Duration,
        timeout_reply: Arc<dyn Fn() -> Reply + Send + Sync>,
    ) {
        *self.own_timeout() = Some((timeout, timeout_reply));
    }

    pub(crate) fn take_timeout(&self) -> Option<(Duration, TimeoutReply)> {
        self.own_timeout().take()
    }

    fn own_timeout(&self) -> MutexGuard<'_, Option<(Duration, TimeoutReply)>> {
        let timeout = self.state.lazy.timeout.lock();
        timeout.unwrap_or_else(PoisonError::into_inner)
    }
}

impl CancelRequest for RequestState {
    fn id(&self) -> &RequestId {
        &self.id
    }

    fn cancel(&self) {
        self.signal.cancel();
    }

    fn close(&self) {
        self.signal.close();
    }
}

debug_fields!(RequestContext { id = |it| it.state.id.clone(), revision = |it| it.state.features.revision, cancelled = |it| it.is_cancelled() });

#[cfg(test)]
mod tests;
