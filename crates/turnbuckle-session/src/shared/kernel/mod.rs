//! The rules of a connection as a pure state machine: the requests in flight in both directions,
//! cancellation, and the handshake.
//!
//! The kernel knows no clock, no task and no byte. `C` is the record of a request that is served,
//! `P` the record of a request that waits for its response.

use std::collections::hash_map::Entry;
use std::sync::Arc;

use foldhash::HashMap;
use turnbuckle_types::{ErrorKind, ProtocolError, RequestId};
use turnbuckle_wire::revision::{EraKind, Method};

use crate::shared::account::in_flight;
use crate::shared::instance_id::next_tagged_id;

/// Capacity of the request table that is kept while no request runs.
const MIN_CAPACITY: usize = 28;

/// The decision about a request.
#[derive(Debug)]
pub(crate) enum RequestDecision {
    /// Serve the request: [`Kernel::begin_request`] follows and, in the end,
    /// [`Kernel::finish_request`].
    Serve,
    /// Open the legacy session: [`Kernel::handshake_succeeded`] or [`Kernel::handshake_failed`]
    /// follows.
    Open,
    /// Answer a ping.
    Pong,
    /// Answer with this error.
    Refuse(ProtocolError),
}

/// The decision about a notification.
#[derive(Debug)]
pub(crate) enum NotificationDecision<C> {
    /// The handshake is complete.
    Initialized,
    /// This request is cancelled.
    Cancel(C),
    /// The notification does not concern the connection itself.
    Other,
    /// The notification is ignored: it came too late or too early, or names an unknown request.
    Ignored,
}

/// The phase of the legacy handshake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HandshakePhase {
    Fresh,
    Opening,
    Open,
    Operating,
}

/// The reason why a request of our own cannot be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OutgoingRequestError {
    /// The connection has ended.
    Ended,
    /// Too many requests wait for responses.
    TooMany,
}

/// The state of one connection or session.
#[derive(Debug)]
#[cfg_attr(test, derive(Clone))]
pub(crate) struct Kernel<C, P> {
    phase: HandshakePhase,
    /// True if the connection has ended.
    ended: bool,
    /// The peer's requests whose handlers have not ended. The value is empty for a cancelled
    /// request.
    answering: HashMap<RequestId, Option<C>>,
    cancelled: usize,
    waiting: HashMap<RequestId, P>,
    next_id: i64,
    /// The name of this instance of the server, which the ids of our requests begin with if others
    /// serve the session too.
    instance: Option<Arc<str>>,
    max_answering: usize,
    max_waiting: usize,
    /// The name of the setting of `max_answering`, for errors.
    limit_name: &'static str,
}

impl<C, P> Kernel<C, P> {
    /// Returns the state of a new connection. At most `max_answering` requests of the peer are
    /// served, and at most `max_waiting` requests wait for the peer, at the same time.
    #[must_use]
    pub(crate) fn new(max_answering: usize, max_waiting: usize) -> Self {
        Self {
            phase: HandshakePhase::Fresh,
            ended: false,
            answering: HashMap::default(),
            cancelled: 0,
            waiting: HashMap::default(),
            next_id: 1,
            instance: None,
            max_answering,
            max_waiting,
            limit_name: "Limits::max_in_flight",
        }
    }

    /// Sets the name of the setting that limits how many requests of the peer are served.
    pub(crate) fn with_limit_name(self, limit_name: &'static str) -> Self {
        Self { limit_name, ..self }
    }

    /// Lets the ids of our requests name this instance of the server, since other instances receive
    /// messages of the session too.
    pub(crate) fn set_instance(&mut self, instance: Arc<str>) {
        self.instance = Some(instance);
    }

    /// Returns the name of this instance, if the ids of our requests begin with it.
    pub(crate) fn instance(&self) -> Option<&Arc<str>> {
        self.instance.as_ref()
    }

    /// Decides what is done with a request of the peer. After [`RequestDecision::Open`] the
    /// handshake is running.
    ///
    /// Specification: basic/lifecycle (2025-11-25).
    #[must_use]
    pub(crate) fn judge_request(
        &mut self,
        id: &RequestId,
        method: Option<Method>,
        era: EraKind,
    ) -> RequestDecision {
        let refuse = |message| RequestDecision::Refuse(not_a_message(message));
        if self.ended {
            return refuse(ENDED);
        }
        if self.answering.contains_key(id) {
            return refuse(IN_FLIGHT);
        }
        if era == EraKind::Legacy {
            match (method, self.phase) {
                (Some(Method::Ping), _) => return RequestDecision::Pong,
                (Some(Method::Initialize), HandshakePhase::Fresh) => {
                    self.phase = HandshakePhase::Opening;
                    return RequestDecision::Open;
                }
                (Some(Method::Initialize), _) => {
                    return refuse("the session is initialized already");
                }
                (_, HandshakePhase::Fresh | HandshakePhase::Opening) => {
                    return refuse("send \"initialize\" first, or requests with an envelope");
                }
                (_, HandshakePhase::Open | HandshakePhase::Operating) => {}
            }
        }
        self.check_capacity()
            .map_or_else(RequestDecision::Refuse, |()| RequestDecision::Serve)
    }

    fn check_capacity(&self) -> Result<(), ProtocolError> {
        if self.answering.len() < self.max_answering {
            return Ok(());
        }
        Err(in_flight(self.max_answering, self.limit_name))
    }

    /// Records that the handshake has succeeded: requests are served from now on.
    pub(crate) fn handshake_succeeded(&mut self) {
        self.phase = HandshakePhase::Open;
    }

    /// Records that the client has concluded a handshake that another instance served.
    pub(crate) fn handshake_concluded(&mut self) {
        self.phase = HandshakePhase::Operating;
    }

    /// Gives back the memory of requests that have ended.
    #[cold]
    pub(crate) fn shrink(&mut self) {
        if self.answering.is_empty() {
            self.answering.shrink_to_fit();
        }
        if self.waiting.is_empty() {
            self.waiting.shrink_to_fit();
        }
    }

    /// Records that the handshake has failed: another may follow.
    pub(crate) fn handshake_failed(&mut self) {
        self.phase = HandshakePhase::Fresh;
    }

    /// Records that a request is being served.
    ///
    /// # Errors
    /// Returns an error if the id or the last free place was taken since the decision, or the
    /// connection has ended.
    pub(crate) fn begin_request(&mut self, id: RequestId, call: C) -> Result<(), ProtocolError> {
        if self.ended {
            return Err(not_a_message(ENDED));
        }
        let capacity = self.check_capacity();
        match self.answering.entry(id) {
            Entry::Occupied(_) => Err(not_a_message(IN_FLIGHT)),
            Entry::Vacant(place) => capacity.map(|()| {
                place.insert(Some(call));
            }),
        }
    }

    /// Records that a request's handler has ended. Returns `None` if the request was cancelled: no
    /// response is wanted.
    pub(crate) fn finish_request(&mut self, id: &RequestId) -> Option<C> {
        let call = self.answering.remove(id)?;
        self.cancelled -= usize::from(call.is_none());
        if self.answering.is_empty() && self.answering.capacity() > MIN_CAPACITY {
            // A table keeps its capacity after a burst.
            self.answering.shrink_to_fit();
        }
        call
    }

    /// Cancels a request. It keeps its id and its place until its handler has ended.
    fn cancel(&mut self, id: &RequestId) -> Option<C> {
        let call = self.answering.get_mut(id)?.take()?;
        self.cancelled += 1;
        Some(call)
    }

    /// Decides what is done with a notification of the peer. `request` is the request that it
    /// names.
    pub(crate) fn judge_notification(
        &mut self,
        method: Option<Method>,
        request: Option<&RequestId>,
    ) -> NotificationDecision<C> {
        match method {
            Some(Method::Initialized) if self.phase == HandshakePhase::Open => {
                self.phase = HandshakePhase::Operating;
                // Many clients only wait from now on.
                self.shrink();
                NotificationDecision::Initialized
            }
            Some(Method::Initialized) => NotificationDecision::Ignored,
            Some(Method::Cancelled) => match request.and_then(|id| self.cancel(id)) {
                Some(call) => NotificationDecision::Cancel(call),
                None => NotificationDecision::Ignored,
            },
            _ => NotificationDecision::Other,
        }
    }

    /// Starts a request of our own and returns its id. Ids are never used twice.
    ///
    /// # Errors
    /// Returns an error if too many requests wait, or the connection has ended.
    pub(crate) fn start_request(&mut self, waiting: P) -> Result<RequestId, OutgoingRequestError> {
        if !self.ended && self.waiting.len() >= self.max_waiting {
            return Err(OutgoingRequestError::TooMany);
        }
        self.start_request_over_limit(waiting)
    }

    /// Starts a request of our own, however many wait: for keep-alive pings, of which there is one
    /// at a time.
    ///
    /// # Errors
    /// Returns an error if the connection has ended.
    pub(crate) fn start_request_over_limit(
        &mut self,
        waiting: P,
    ) -> Result<RequestId, OutgoingRequestError> {
        if self.ended {
            return Err(OutgoingRequestError::Ended);
        }
        let id = match &self.instance {
            None => {
                self.next_id += 1;
                RequestId::from(self.next_id - 1)
            }
            Some(instance) => next_tagged_id(instance),
        };
        self.waiting.insert(id.clone(), waiting);
        Ok(id)
    }

    /// Takes out the record of the request with this id; `None` if no request waits under it.
    pub(crate) fn take_waiting(&mut self, id: Option<&RequestId>) -> Option<P> {
        self.waiting.remove(id?)
    }

    /// Returns the record of the request with this id.
    #[must_use]
    pub(crate) fn get_waiting(&self, id: &RequestId) -> Option<&P> {
        self.waiting.get(id)
    }

    /// Returns the ids of our requests that wait for responses.
    pub(crate) fn waiting_ids(&self) -> impl Iterator<Item = &RequestId> {
        self.waiting.keys()
    }

    /// Returns our requests that wait for responses.
    pub(crate) fn waiting_requests(&self) -> impl Iterator<Item = (&RequestId, &P)> {
        self.waiting.iter()
    }

    /// Returns the records of our requests that wait for responses.
    pub(crate) fn waiting_values(&self) -> impl Iterator<Item = &P> {
        self.waiting.values()
    }

    /// Returns how many requests of the peer are served and not cancelled.
    #[must_use]
    pub(crate) fn in_flight(&self) -> usize {
        self.answering.len() - self.cancelled
    }

    /// Returns how many requests of the peer have a handler that has not ended, cancelled or not.
    pub(crate) fn handler_count(&self) -> usize {
        self.answering.len()
    }

    /// Ends the connection, which cancels the requests of the peer. Returns the records of the
    /// requests in both directions.
    pub(crate) fn end(&mut self) -> (Vec<C>, Vec<P>) {
        self.ended = true;
        self.cancelled = self.answering.len();
        (
            self.answering
                .values_mut()
                .filter_map(Option::take)
                .collect(),
            self.waiting.drain().map(|(_, waiting)| waiting).collect(),
        )
    }

    /// Returns the records of the peer's requests that are served and not cancelled.
    pub(crate) fn running_requests(&self) -> impl Iterator<Item = &C> {
        self.answering.values().flatten()
    }
}

const ENDED: &str = "the session has ended";
const IN_FLIGHT: &str = "a request with this id is still in flight";

fn not_a_message(message: &'static str) -> ProtocolError {
    ProtocolError::new(ErrorKind::InvalidRequest, message)
}

#[cfg(test)]
mod tests;
