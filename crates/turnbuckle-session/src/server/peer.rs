//! The client of a legacy session, as the server reaches it: requests from the server, and
//! notifications that belong to no request.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use tokio::sync::oneshot;
use tracing::Instrument as _;
use turnbuckle_types::base::text::Escaped;
use turnbuckle_types::{ErrorObject, Json, ProtocolError, RequestId};
use turnbuckle_wire::era::Project;
use turnbuckle_wire::revision::{Method, MethodRole, Party};
use turnbuckle_wire::rpc;

use crate::server::change_feed::ChangeFeed;
use crate::server::legacy_state::LegacyState;
use crate::server::session::state::SessionState;
use crate::shared::kernel::OutgoingRequestError;
use crate::shared::memory_budget::MemoryPermit;
use crate::shared::reply_sink::{ReplySink, send_when_space};
use crate::shared::signal::Signal;
use crate::shared::trace::{
    RequestTrace, Side, TracedFailure, TracedRequest, count_refusal, has_spans, is_traced,
    telemetry,
};

/// A handle to the client of a legacy session, with which the server sends requests and
/// notifications to that client.
#[derive(Clone)]
pub struct Peer {
    session: Arc<SessionState>,
    sink: Arc<dyn ReplySink>,
    /// Cancelled when the request that this peer belongs to ends, or the session.
    cancelled: Signal,
    /// The timeout of a request; `None` means `Limits::request_timeout`.
    timeout: Option<Duration>,
}

/// The reason why a request to the client has no result.
#[derive(Debug)]
#[non_exhaustive]
pub enum PeerError {
    /// The client returned an error response.
    Refused(ErrorObject),
    /// The client's revision has no such request, or the client has no session in which it could
    /// respond.
    Unsupported,
    /// Too many requests wait for this client already.
    TooMany {
        /// The limit (`Limits::max_outgoing_requests`).
        limit: usize,
    },
    /// The connection, the session or the request that this one belonged to has ended.
    Ended,
    /// The client did not respond in time. The request was cancelled.
    TimedOut {
        /// The time that the request waited.
        after: Duration,
        /// True if the timeout is the session's (`Limits::request_timeout`), false if it is a timeout
        /// of this request alone.
        by_limit: bool,
    },
    /// The parameters could not be encoded as JSON.
    Unwritable(String),
}

impl fmt::Display for PeerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(error) => write!(f, "the client refused: {}", error.message),
            Self::Unsupported => {
                f.write_str("the client has no such request, or no session to answer it in")
            }
            Self::TooMany { limit } => write!(f, "more than {limit} requests wait for the client"),
            Self::Ended => f.write_str("the request or its session has ended"),
            Self::TimedOut { after, .. } => {
                write!(f, "the client did not answer within {after:?}")
            }
            Self::Unwritable(reason) => write!(f, "the request could not be written: {reason}"),
        }
    }
}

impl std::error::Error for PeerError {}

/// The bytes that a request to the client takes until it is answered, beside its frame.
const SENT_REQUEST_BYTES: usize = 8 << 10;

/// A request to the client.
struct SentRequest<'a, P: ?Sized> {
    method: &'a str,
    params: Option<&'a P>,
    /// True if it is sent however many requests wait already.
    over_limit: bool,
}

impl Peer {
    pub(crate) fn new(
        session: Arc<SessionState>,
        sink: Arc<dyn ReplySink>,
        cancelled: Signal,
    ) -> Self {
        Self {
            session,
            sink,
            cancelled,
            timeout: None,
        }
    }

    /// Returns the client of a session, for messages that belong to no request.
    pub(crate) fn of_session(session: &Arc<SessionState>) -> Self {
        let (sink, ended) = (session.sink.clone(), session.ended.clone());
        Self::new(session.clone(), sink, ended)
    }

    /// Sets how long each request to the client may wait for its response. The default is
    /// [`Limits::request_timeout`](crate::handler::Limits::request_timeout).
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Returns the state that the session's handshake left behind.
    #[must_use]
    pub fn legacy_state(&self) -> Option<&LegacyState> {
        self.session.legacy.get().map(|legacy| &**legacy)
    }

    /// Keeps the client's answer to `roots/list`, a request that was sent at this version of the
    /// [`RootsCache`](crate::internal::RootsCache), until the client says that its roots have changed.
    pub fn cache_roots(&self, version: u64, roots: &Json) {
        let cache = self.legacy_state().and_then(LegacyState::roots_cache);
        if let Some(cache) = cache {
            cache.insert(version, roots, &self.session.memory);
        }
    }

    /// Reserves memory on the account of the client.
    ///
    /// # Errors
    /// An error that names the limit, when the client or all clients together would have too much.
    pub fn reserve_memory(&self, bytes: usize) -> Result<MemoryPermit, ProtocolError> {
        Ok(self.session.memory.reserve(bytes)?)
    }

    /// Returns the feed of changed lists and resources. The session reads changes from it and sends
    /// them to the client as notifications.
    #[must_use]
    pub fn change_feed(&self) -> &Arc<ChangeFeed> {
        &self.session.feed
    }

    /// Sends a request and waits for its result, as raw JSON. The request is cancelled when the
    /// future is dropped and when the timeout passes.
    ///
    /// Requests other than `ping` are sent after the client has sent `notifications/initialized`.
    ///
    /// # Errors
    /// Returns an error when there is no result: see [`PeerError`].
    pub async fn request<P: Serialize + ?Sized>(
        &self,
        method: &str,
        params: Option<&P>,
    ) -> Result<Json, PeerError> {
        let request = SentRequest {
            method,
            params,
            over_limit: false,
        };
        self.send_request(request).await
    }

    async fn send_request<P: Serialize + ?Sized>(
        &self,
        request: SentRequest<'_, P>,
    ) -> Result<Json, PeerError> {
        let legacy = self.session.legacy.get().ok_or(PeerError::Unsupported)?;
        let known = Method::parse(request.method);
        let revision = legacy.features().revision;
        let unsupported =
            known.is_some_and(|method| !method.is_received_by(Party::Client, revision));
        if unsupported || !legacy.can_be_asked() {
            return Err(PeerError::Unsupported);
        }
        // Pings that keep a session alive are nobody's request, and are logged where they fail.
        if request.over_limit || !is_traced() {
            return self.send_supported(legacy, request, None).await;
        }
        let transport = self.session.network_transport.get().copied();
        let trace = RequestTrace::start(&TracedRequest {
            side: Side::Client,
            method: request.method,
            target: None,
            arguments: None,
            id: None,
            features: legacy.features(),
            transport: transport.unwrap_or("pipe"),
            session_id: None,
            parent: None,
            sender: None,
            audit: None,
        });
        let span = trace.span().clone();
        let sending = self.send_supported(legacy, request, Some(&trace));
        let outcome = Box::pin(sending.instrument(span)).await;
        match &outcome {
            Ok(_) => trace.succeed(),
            Err(PeerError::Refused(error)) => trace.fail_with_code(error.code),
            Err(error) => trace.fail(&TracedFailure::from_type(match error {
                PeerError::TimedOut { .. } => "timeout",
                PeerError::TooMany { .. } => "too_many_requests",
                PeerError::Unwritable(_) => "unwritable",
                _ => "cancelled",
            })),
        }
        outcome
    }

    async fn send_supported<P: Serialize + ?Sized>(
        &self,
        legacy: &LegacyState,
        request: SentRequest<'_, P>,
        trace: Option<&RequestTrace>,
    ) -> Result<Json, PeerError> {
        let by_limit = self.timeout.is_none();
        let after = self.timeout.unwrap_or(self.session.limits.request_timeout);
        let SentRequest {
            method,
            params,
            over_limit,
        } = request;
        if Method::role_of(method) != MethodRole::Liveness {
            tokio::select! {
                () = legacy.initialized() => {}
                () = self.wait_for_end() => return Err(PeerError::Ended),
            }
        }
        let (sender, receiver) = oneshot::channel();
        let started = {
            let mut kernel = self.session.kernel();
            match over_limit {
                true => kernel.start_request_over_limit(sender),
                false => kernel.start_request(sender),
            }
        };
        let id = started.map_err(|error| match error {
            OutgoingRequestError::Ended => PeerError::Ended,
            OutgoingRequestError::TooMany => {
                let limit = self.session.limits.max_outgoing_requests;
                count_refusal("Limits::max_outgoing_requests");
                tracing::warn!(
                    "more than {limit} requests wait for the client (Limits::max_outgoing_requests)"
                );
                PeerError::TooMany { limit }
            }
        })?;
        let mut pending = PendingRequest {
            peer: self,
            id,
            sent: false,
        };
        // The request of the client that this one belongs to was admitted; its further requests are
        // refused where memory is used up.
        let memory = &self.session.memory;
        let _memory = memory.reserve_beyond_limits(SENT_REQUEST_BYTES);
        let context = trace.and_then(|trace| {
            trace.record_id(&pending.id);
            telemetry()?.current_context()
        });
        let members = context.unwrap_or_default().to_members();
        let meta: Vec<_> = members
            .iter()
            .map(|(key, value)| (*key, &**value))
            .collect();
        let frame = rpc::encode_request(&pending.id, method, params, &meta)
            .map_err(|error| PeerError::Unwritable(error.to_string()))?;
        let response = async {
            pending.sent = send_when_space(&*self.sink, &self.cancelled, frame).await;
            receiver.await
        };
        tokio::select! {
            biased;
            response = response => {
                response.map_err(|_| PeerError::Ended)?.map_err(PeerError::Refused)
            }
            () = self.wait_for_end() => Err(PeerError::Ended),
            () = tokio::time::sleep(after) => {
                if by_limit {
                    count_refusal("Limits::request_timeout");
                    tracing::warn!(
                        "the client did not answer within {after:?} (Limits::request_timeout)"
                    );
                }
                Err(PeerError::TimedOut { after, by_limit })
            }
        }
    }

    /// Returns whether the client is connected to receive messages.
    pub(crate) fn has_reader(&self) -> bool {
        self.sink.has_reader()
    }

    async fn wait_for_end(&self) {
        tokio::select! {
            () = self.cancelled.cancelled() => {}
            () = self.session.ended.cancelled() => {}
        }
    }

    /// Sends a ping and waits for the response.
    ///
    /// # Errors
    /// Returns an error when the client does not respond within `timeout`.
    pub async fn ping(&self, timeout: Duration) -> Result<(), PeerError> {
        let peer = self.clone().with_timeout(timeout);
        peer.request::<()>(Method::Ping.as_str(), None)
            .await
            .map(drop)
    }

    /// Sends a ping however many requests wait already: for keep-alive pings, of which there is one
    /// at a time.
    pub(crate) async fn ping_over_limit(&self, timeout: Duration) -> Result<(), PeerError> {
        let peer = self.clone().with_timeout(timeout);
        let request = SentRequest::<()> {
            method: Method::Ping.as_str(),
            params: None,
            over_limit: true,
        };
        peer.send_request(request).await.map(drop)
    }

    /// Sends a notification after the client has sent `notifications/initialized`. Waits while the
    /// client is too far behind.
    pub async fn notify<P: Serialize + Project>(&self, method: &str, mut params: P) {
        let Some(legacy) = self.session.legacy.get() else {
            return;
        };
        if !legacy.can_be_asked() {
            return;
        }
        tokio::select! {
            () = legacy.initialized() => {}
            () = self.wait_for_end() => return,
        }
        if !params.fits(legacy.features()) {
            params.project(legacy.features());
        }
        match rpc::encode_notification(method, Some(&params)) {
            Ok(frame) => match has_spans() {
                false => self.send_frame(frame).await,
                // Boxed, so that the future of a notification without a span does not grow.
                true => {
                    let span = self.session.notification_span(method, None);
                    Box::pin(self.send_frame(frame).instrument(span)).await;
                }
            },
            Err(error) => {
                tracing::warn!(method, error = %Escaped(&error), "a notification could not be encoded")
            }
        }
    }

    /// Sends an encoded notification. Waits while the client is too far behind.
    pub async fn send_frame(&self, frame: Vec<u8>) {
        send_when_space(&*self.sink, &self.cancelled, frame).await;
    }
}

impl fmt::Debug for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let legacy = self.session.legacy.get();
        f.debug_struct("Peer")
            .field("revision", &legacy.map(|legacy| legacy.features().revision))
            .finish_non_exhaustive()
    }
}

/// A guard of a request that waits for its response: if dropped before the response came, it cancels
/// the request.
struct PendingRequest<'a> {
    peer: &'a Peer,
    id: RequestId,
    sent: bool,
}

impl Drop for PendingRequest<'_> {
    fn drop(&mut self) {
        let unanswered = self.peer.session.kernel().take_waiting(Some(&self.id));
        if unanswered.is_none() || !self.sent {
            return;
        }
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Params<'a> {
            request_id: &'a RequestId,
        }
        let params = Params {
            request_id: &self.id,
        };
        if let Ok(frame) = rpc::encode_notification(Method::Cancelled.as_str(), Some(&params)) {
            // Best effort: a client that is too far behind misses the cancellation, and its late
            // response is ignored.
            if self.peer.sink.send(frame).is_ok() {
                let method = Method::Cancelled.as_str();
                self.peer.session.notification_span(method, None);
            }
        }
    }
}
