//! The state of a client's session, what it sends, and its end.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::task::Waker;
use std::time::Duration;
use turnbuckle_types::base::debug_fields;

use serde::Serialize;
use tokio::sync::Semaphore;
use tokio::time::Instant;
use tracing::Instrument as _;
use turnbuckle_types::RequestId;
use turnbuckle_wire::era::Project;
use turnbuckle_wire::revision::{EraKind, Features};
use turnbuckle_wire::rpc;

use super::handler::ClientHandler;
use super::limits::ClientLimits;
use super::pending_response::PendingRequest;
use super::request_tag::AbandonedRequests;
use super::response::RequestError;
use super::timeout_timer::TimeoutTimer;
use crate::client::link::{Link, LinkKind};
use crate::client::link_error::LinkError;
use crate::client::message_observer::MessageObserver;
use crate::client::negotiated_revision::{MirroredFields, NegotiatedRevision};
use crate::client::outbound_message::{OutboundKind, OutboundMessage};
use crate::client::user_waits::UserWaits;
use crate::shared::kernel::{Kernel, OutgoingRequestError};
use crate::shared::signal::Signal;
use crate::shared::trace::{SessionCount, Side, TracedNotification, has_spans, notification_span};

/// The client's end of one connection to a server.
///
/// Dropping it ends the connection at once; [`close`](Self::close) ends it in an orderly way.
pub struct ClientSession {
    pub(super) weak_self: Weak<Self>,
    pub(super) handler: Arc<dyn ClientHandler>,
    pub(super) limits: ClientLimits,
    kernel: Mutex<Kernel<Signal, PendingRequest>>,
    /// Locked after the kernel, never before.
    abandoned: Mutex<AbandonedRequests>,
    pub(super) link: OnceLock<Arc<dyn Link>>,
    /// The revision of the connection; unset until the handshake has found it out.
    pub(super) revision: OnceLock<Arc<NegotiatedRevision>>,
    close_reason: Mutex<Option<LinkError>>,
    closed: Signal,
    pub(super) invalid_messages: AtomicU64,
    /// The time at which a request of the server was last answered.
    last_reply_at: Mutex<Instant>,
    count: SessionCount,
    pub(super) timer: Arc<TimeoutTimer>,
    /// Permits for responses that wait to be sent.
    pub(super) reply_permits: Arc<Semaphore>,
    /// The times in which requests wait for their user.
    user_waits: UserWaits,
    observer: Option<Arc<dyn MessageObserver>>,
}

/// The numbers of requests in flight on a connection.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct InFlight {
    /// Requests that wait for the server's response.
    pub requests: usize,
    /// Requests of the server that are being answered.
    pub server_requests: usize,
}

impl ClientSession {
    /// Creates a session without a link.
    pub(super) fn new(
        handler: Arc<dyn ClientHandler>,
        limits: ClientLimits,
        user_waits: UserWaits,
        observer: Option<Arc<dyn MessageObserver>>,
    ) -> Arc<Self> {
        Arc::new_cyclic(|weak_self: &Weak<Self>| Self {
            weak_self: weak_self.clone(),
            handler,
            kernel: Mutex::new(
                Kernel::new(limits.max_in_flight, limits.max_outgoing_requests)
                    .with_limit_name("ClientLimits::max_in_flight"),
            ),
            abandoned: Mutex::default(),
            reply_permits: Arc::new(Semaphore::new(
                limits.max_queued_replies.min(Semaphore::MAX_PERMITS),
            )),
            limits,
            link: OnceLock::new(),
            revision: OnceLock::new(),
            close_reason: Mutex::new(None),
            closed: Signal::new(),
            invalid_messages: AtomicU64::new(0),
            last_reply_at: Mutex::new(Instant::now()),
            count: SessionCount::default(),
            timer: Arc::default(),
            user_waits,
            observer,
        })
    }

    pub(super) fn kernel(&self) -> MutexGuard<'_, Kernel<Signal, PendingRequest>> {
        self.kernel.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn abandoned_requests(&self) -> MutexGuard<'_, AbandonedRequests> {
        self.abandoned
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the limits for the server.
    #[must_use]
    pub fn limits(&self) -> &ClientLimits {
        &self.limits
    }

    /// Returns the kind of the session's link.
    #[must_use]
    pub fn link_kind(&self) -> LinkKind {
        self.link.get().map_or(LinkKind::Duplex, |link| link.kind())
    }

    /// Returns the name of the transport in traces and metrics.
    pub(super) fn network_transport(&self) -> &'static str {
        self.link
            .get()
            .map_or("pipe", |link| link.network_transport())
    }

    /// Sets the revision of the connection. Only then are requests of the server answered.
    ///
    /// In the legacy era this happens after the response to `initialize` and before `initialized` is
    /// sent.
    pub fn set_revision(&self, revision: Arc<NegotiatedRevision>) {
        let features = revision.features();
        if self.revision.set(revision).is_ok() {
            if features.era == EraKind::Legacy {
                let transport = self.network_transport();
                self.count.start(Side::Client, features.revision, transport);
            }
            self.kernel().handshake_succeeded();
        }
    }

    /// Returns the features of the connection's revision; `None` before that is known.
    pub(super) fn features(&self) -> Option<&'static Features> {
        self.revision.get().map(|revision| revision.features())
    }

    /// Completes the handshake: the link may open a stream for messages of the server that belong to
    /// no request. Returns once that stream is open, or once it is clear that there is none.
    pub async fn complete_handshake(&self) {
        if let (Some(link), Some(features)) = (self.link.get(), self.features()) {
            link.complete_handshake(features).await;
        }
    }

    /// Returns whether the connection has ended.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.closed.is_cancelled()
    }

    /// Returns the signal that fires when the connection ends.
    #[must_use]
    pub fn closed(&self) -> &Signal {
        &self.closed
    }

    /// Returns the reason why the connection has ended; `None` while it is open.
    #[must_use]
    pub fn close_reason(&self) -> Option<LinkError> {
        self.close_reason
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Returns the number of frames that were skipped because they were no valid messages.
    #[must_use]
    pub fn invalid_messages(&self) -> u64 {
        self.invalid_messages.load(Ordering::Relaxed)
    }

    /// Returns the numbers of requests in flight, in both directions.
    #[must_use]
    pub fn in_flight(&self) -> InFlight {
        let kernel = self.kernel();
        InFlight {
            requests: kernel.waiting_ids().count(),
            server_requests: kernel.in_flight(),
        }
    }

    /// Shows a message to the observer before it is sent.
    pub(super) fn observe_sent(&self, message: &OutboundMessage) {
        if let Some(observer) = &self.observer {
            observer.on_send(message);
        }
    }

    /// Returns the time until which the server waited for this side: for a response to its request,
    /// or for the user of a request.
    fn server_waited_until(&self) -> Instant {
        let replied = match self.kernel().in_flight() {
            0 => *self.last_reply_at(),
            _ => Instant::now(),
        };
        let waited = self.user_waits.waited_until();
        waited.map_or(replied, |waited| waited.max(replied))
    }

    /// Returns the sum of the times in which requests waited for their user.
    pub(super) fn waited_for_user(&self) -> Duration {
        self.user_waits.total()
    }

    pub(super) fn last_reply_at(&self) -> MutexGuard<'_, Instant> {
        self.last_reply_at
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Enters a request into the table of pending requests and returns its id.
    pub(super) fn register_request(
        &self,
        pending: PendingRequest,
        ignores_limit: bool,
    ) -> Result<RequestId, RequestError> {
        let mut kernel = self.kernel();
        if pending.tag.is_some() && kernel.waiting_values().all(|it| it.tag.is_none()) {
            self.abandoned_requests().begin_alone();
        }
        let registered = match ignores_limit {
            true => kernel.start_request_over_limit(pending),
            false => kernel.start_request(pending),
        };
        drop(kernel);
        registered.map_err(|error| match error {
            OutgoingRequestError::Ended => RequestError::Link {
                error: self.close_reason().unwrap_or(LinkError::Closed),
                sent: false,
            },
            OutgoingRequestError::TooMany => RequestError::TooManyRequests {
                limit: self.limits.max_outgoing_requests,
            },
        })
    }

    /// Sends a notification. Fields that the connection's revision lacks are left out.
    ///
    /// # Errors
    /// Fails when the notification could not be sent.
    pub async fn notify<P>(&self, method: &str, params: &P) -> Result<(), RequestError>
    where
        P: Serialize + Project + Clone,
    {
        let mut params = params.clone();
        if let Some(features) = self.features().filter(|features| !params.fits(features)) {
            params.project(features);
        }
        let frame = rpc::encode_notification(method, Some(&params))
            .map_err(|error| RequestError::Unwritable(error.to_string()))?;
        let sent = self.send_notification_frame(frame, method).await;
        sent.map_err(|error| RequestError::Link { error, sent: true })
    }

    pub(super) async fn send_notification_frame(
        &self,
        frame: Vec<u8>,
        method: &str,
    ) -> Result<(), LinkError> {
        let sending = self.send_frame(frame, OutboundKind::Notification, method);
        match has_spans() {
            false => sending.await,
            // Boxed, so that the future of a notification without a span does not grow.
            true => {
                let span = notification_span(|| self.trace_notification(Side::Client, method));
                Box::pin(sending.instrument(span)).await
            }
        }
    }

    /// Returns the facts for the span of a notification.
    pub(super) fn trace_notification<'a>(
        &self,
        side: Side,
        method: &'a str,
    ) -> TracedNotification<'a> {
        TracedNotification {
            side,
            method,
            uri: None,
            features: self.features(),
            transport: self.network_transport(),
            session_id: None,
            parent: None,
        }
    }

    /// Sends an encoded message that is no request.
    pub(super) async fn send_frame(
        &self,
        frame: Vec<u8>,
        kind: OutboundKind,
        method: &str,
    ) -> Result<(), LinkError> {
        let link = self.link.get().ok_or(LinkError::Closed)?;
        let headers = match (link.kind(), self.revision.get()) {
            (LinkKind::Exchange, Some(revision)) => revision
                .headers(method, MirroredFields::default())
                .unwrap_or_default(),
            _ => Vec::new(),
        };
        let message = OutboundMessage {
            frame,
            kind,
            headers,
        };
        self.observe_sent(&message);
        let sending = match link.try_send(message) {
            Ok(()) => return Ok(()),
            Err(message) => link.send(message),
        };
        tokio::select! {
            biased;
            sent = sending => sent.inspect_err(|error| self.abort_if_session_not_found(error)),
            () = self.closed.cancelled() => Err(LinkError::Closed),
        }
    }

    /// Ends the connection when the server no longer knows its session.
    pub(super) fn abort_if_session_not_found(&self, error: &LinkError) {
        if matches!(error, LinkError::SessionNotFound) {
            self.abort(error.clone());
        }
    }

    /// Ends the connection in an orderly way.
    pub async fn close(&self) {
        self.abort(LinkError::Closed);
        if let Some(link) = self.link.get() {
            link.close().await;
        }
    }

    /// Ends the connection at once: every pending request fails with `reason`, and the server's
    /// requests are cancelled.
    pub fn abort(&self, reason: LinkError) {
        let mut close_reason = self
            .close_reason
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if close_reason.is_some() {
            return;
        }
        *close_reason = Some(reason.clone());
        drop(close_reason);
        self.count.end();
        let mut kernel = self.kernel();
        self.closed.cancel();
        let (server_requests, pending_requests) = kernel.end();
        drop(kernel);
        for signal in server_requests {
            signal.cancel();
        }
        for pending in pending_requests {
            // These requests may have reached the server before, unless it has read nothing.
            let (error, sent) = (reason.clone(), !reason.has_read_nothing());
            pending
                .response
                .complete(Err(RequestError::Link { error, sent }));
        }
    }
}

impl ClientSession {
    /// Returns the wakers of the requests whose timeout has passed, and the next deadline of the
    /// others.
    pub(super) fn collect_timed_out(&self) -> (Vec<Waker>, Option<Instant>) {
        let (now, server_waited_until) = (Instant::now(), self.server_waited_until());
        let waited = self.waited_for_user();
        let (mut timed_out, mut next) = (Vec::new(), None);
        for pending in self.kernel().waiting_values() {
            match pending
                .response
                .check_timeout(now, server_waited_until, waited)
            {
                Ok(deadline) => next = next.into_iter().chain(deadline).min(),
                Err(waker) => timed_out.extend(waker),
            }
        }
        (timed_out, next)
    }
}

debug_fields!(ClientSession { revision = |it| it.features().map(|features| features.revision), is_closed = |it| it.is_closed() });

impl Drop for ClientSession {
    fn drop(&mut self) {
        self.closed.cancel();
    }
}
