//! The client, asked from the server's side: requests of our own, and notifications that belong to
//! no request.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use tokio::sync::oneshot;
use turnbuckle_types::{ErrorObject, Json, RequestId};
use turnbuckle_wire::era::Project;
use turnbuckle_wire::revision::{Method, Party};
use turnbuckle_wire::rpc;

use crate::server::context::send;
use crate::server::session::Waiting;
use crate::shared::kernel::{Kernel, OutgoingRequestError};
use crate::{LegacyState, ReplySink, RequestContext, Session, Signal};

/// The other end of a legacy session.
#[derive(Clone)]
pub struct Peer {
    session: Arc<Session>,
    route: Arc<dyn ReplySink>,
    /// What ends the requests made here: the request that they belong to, or the session.
    signal: Signal,
    /// How long one of them may wait for its answer, if that is not the session's limit.
    patience: Option<Duration>,
}

/// Why a request to the peer has no result.
#[derive(Debug)]
#[non_exhaustive]
pub enum PeerError {
    /// The peer answered with an error.
    Refused(ErrorObject),
    /// The peer's revision has no such request, or the peer has no session in which it could
    /// answer.
    Unsupported,
    /// Too many requests wait for this peer already.
    TooMany {
        /// How many may (`Limits::max_outgoing_requests`).
        limit: usize,
    },
    /// The connection, the session or the request that this one belonged to has ended.
    Ended,
    /// No answer came in time; the request was taken back.
    TimedOut {
        /// How long it was waited for.
        after: Duration,
        /// Whether that is what the session gives every request (`Limits::request_timeout`), and
        /// not a time that this one was given.
        by_limit: bool,
    },
    /// The parameters have no JSON form.
    Unwritable(String),
}

impl fmt::Display for PeerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(error) => write!(f, "the client refused: {}", error.message),
            Self::Unsupported => {
                f.write_str("the client has no such request, or no session to answer it in")
            }
            Self::TooMany { limit } => {
                write!(
                    f,
                    "more than {limit} requests wait for the client (Limits::max_outgoing_requests)"
                )
            }
            Self::Ended => f.write_str("the request or its session has ended"),
            Self::TimedOut {
                after,
                by_limit: true,
            } => {
                write!(
                    f,
                    "the client did not answer within {after:?} (Limits::request_timeout)"
                )
            }
            Self::TimedOut { after, .. } => {
                write!(f, "the client did not answer within {after:?}")
            }
            Self::Unwritable(reason) => write!(f, "the request could not be written: {reason}"),
        }
    }
}

impl std::error::Error for PeerError {}

impl Peer {
    pub(crate) fn of_request(
        session: Arc<Session>,
        route: Arc<dyn ReplySink>,
        signal: Signal,
    ) -> Self {
        Self {
            patience: None,
            session,
            route,
            signal,
        }
    }

    /// The same client, asked by requests that may wait that long for their answers
    /// ([`Limits::request_timeout`](crate::Limits::request_timeout) otherwise).
    #[must_use]
    pub fn with_timeout(mut self, patience: Duration) -> Self {
        self.patience = Some(patience);
        self
    }

    /// What the session's handshake left behind.
    #[doc(hidden)]
    #[must_use]
    pub fn legacy_state(&self) -> Option<&LegacyState> {
        self.session.legacy().map(|state| &**state)
    }

    /// What tells the session of changes.
    #[doc(hidden)]
    #[must_use]
    pub fn change_feed(&self) -> &Arc<crate::ChangeFeed> {
        self.session.feed()
    }

    /// Sends a request and waits for its result, as raw JSON. Dropping the future takes the
    /// request back, and so does waiting too long.
    ///
    /// Waits for the client to say that the handshake is over; only ping does not.
    ///
    /// # Errors
    /// When there is no result: see [`PeerError`].
    pub async fn request<P: Serialize + ?Sized>(
        &self,
        method: &str,
        params: Option<&P>,
    ) -> Result<Json, PeerError> {
        self.ask(method, params, Kernel::start_request).await
    }

    async fn ask<P: Serialize + ?Sized>(
        &self,
        method: &str,
        params: Option<&P>,
        take_up: fn(
            &mut Kernel<RequestContext, Waiting>,
            Waiting,
        ) -> Result<RequestId, OutgoingRequestError>,
    ) -> Result<Json, PeerError> {
        let by_limit = self.patience.is_none();
        let after = self
            .patience
            .unwrap_or(self.session.limits().request_timeout);
        let state = self.session.legacy().ok_or(PeerError::Unsupported)?.clone();
        let core = Method::parse(method);
        let revision = state.features().revision;
        let unknown = core.is_some_and(|method| !method.is_received_by(Party::Client, revision));
        if unknown || !state.is_reachable() {
            return Err(PeerError::Unsupported);
        }
        if core != Some(Method::Ping) {
            tokio::select! {
                () = state.initialized() => {}
                () = self.ended() => return Err(PeerError::Ended),
            }
        }
        let (answered, answer) = oneshot::channel();
        let taken_up = take_up(&mut self.session.kernel(), answered);
        let id = taken_up.map_err(|unasked| match unasked {
            OutgoingRequestError::Ended => PeerError::Ended,
            OutgoingRequestError::TooMany => PeerError::TooMany {
                limit: self.session.limits().max_outgoing_requests,
            },
        })?;
        let mut asked = Asked {
            peer: self,
            id,
            sent: false,
        };
        let frame = rpc::encode_request(&asked.id, method, params)
            .map_err(|error| PeerError::Unwritable(error.to_string()))?;
        let answered = async {
            asked.sent = send(&*self.route, &self.signal, frame).await;
            answer.await
        };
        tokio::select! {
            biased;
            answer = answered => {
                answer.map_err(|_| PeerError::Ended)?.map_err(PeerError::Refused)
            }
            () = self.ended() => Err(PeerError::Ended),
            () = tokio::time::sleep(after) => Err(PeerError::TimedOut { after, by_limit }),
        }
    }

    /// Whether somebody is there to hear it.
    pub(crate) fn is_heard(&self) -> bool {
        self.route.has_reader()
    }

    async fn ended(&self) {
        tokio::select! {
            () = self.signal.cancelled() => {}
            () = self.session.ended().cancelled() => {}
        }
    }

    /// Asks whether the client is there.
    ///
    /// # Errors
    /// When it does not say so within `timeout`.
    pub async fn ping(&self, timeout: Duration) -> Result<(), PeerError> {
        let peer = self.clone().with_timeout(timeout);
        peer.request::<()>(Method::Ping.as_str(), None)
            .await
            .map(drop)
    }

    /// The same, however many requests wait already: for who asks one at a time.
    pub(crate) async fn ping_anyway(&self, timeout: Duration) -> Result<(), PeerError> {
        let peer = self.clone().with_timeout(timeout);
        peer.ask::<()>(
            Method::Ping.as_str(),
            None,
            Kernel::start_request_over_limit,
        )
        .await
        .map(drop)
    }

    /// Sends a notification, once the client has said that the handshake is over. Waits while the
    /// client is too far behind.
    pub async fn notify<P: Serialize + Project>(&self, method: &str, mut params: P) {
        let Some(state) = self.session.legacy().cloned() else {
            return;
        };
        if !state.is_reachable() {
            return;
        }
        tokio::select! {
            () = state.initialized() => {}
            () = self.ended() => return,
        }
        if !params.fits(state.features()) {
            params.project(state.features());
        }
        match rpc::encode_notification(method, Some(&params)) {
            Ok(frame) => self.send_frame(frame).await,
            Err(error) => tracing::warn!(method, %error, "a notification could not be written"),
        }
    }

    /// Sends a notification that was encoded before, waiting while the client is too far behind.
    #[doc(hidden)]
    pub async fn send_frame(&self, frame: Vec<u8>) {
        send(&*self.route, &self.signal, frame).await;
    }
}

impl fmt::Debug for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Peer")
            .field("session", &self.session)
            .finish_non_exhaustive()
    }
}

/// A request that waits; taken back when it is dropped unanswered.
struct Asked<'a> {
    peer: &'a Peer,
    id: RequestId,
    sent: bool,
}

impl Drop for Asked<'_> {
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
            // Best effort: a client that is too far behind to be told finds out by itself.
            let _ = self.peer.route.send(frame);
        }
    }
}
