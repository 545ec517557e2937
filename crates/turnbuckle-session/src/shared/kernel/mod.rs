//! The rules of a connection as a pure machine: which requests are in flight in both directions,
//! what a cancellation ends, and where the handshake stands.
//!
//! It knows no clock, no task and no byte. `C` is what its owner keeps of a request that it is
//! answering, `P` what it keeps of one that it waits for.

#[cfg(test)]
mod explore;

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use turnbuckle_types::{Error, ErrorKind, RequestId};
use turnbuckle_wire::revision::{EraKind, Method};

use crate::shared::hash::QuickHash;

use crate::shared::rate::in_flight;

/// Room for requests that is kept while there are none.
const KEPT: usize = 28;

/// What is to be done with a request.
#[derive(Debug)]
pub(crate) enum RequestDecision {
    /// Serve it: [`Kernel::begin`] and, in the end, [`Kernel::finish`].
    Serve,
    /// Open the legacy session: [`Kernel::opened`] or [`Kernel::not_opened`] follows.
    Open,
    /// Answer that we are there.
    Pong,
    /// Answer with this error.
    Refuse(Error),
}

/// What a notification means to the connection itself.
#[derive(Debug)]
pub(crate) enum NotificationDecision<C> {
    /// The handshake is over.
    Initialized,
    /// This request is not to be answered any more.
    Cancel(C),
    /// Nothing; it may mean something to somebody else.
    Other,
    /// Nothing to anybody: it came too late, too early, or names what is not there.
    Ignored,
}

/// Where the legacy handshake stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HandshakePhase {
    Fresh,
    Opening,
    Open,
    Operating,
}

/// Why a request of ours has no id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OutgoingRequestError {
    /// Everything has ended.
    Ended,
    /// Too many wait already.
    TooMany,
}

/// The state of one connection or session.
#[derive(Debug)]
#[cfg_attr(test, derive(Clone))]
pub(crate) struct Kernel<C, P> {
    phase: HandshakePhase,
    /// Nothing is taken up any more.
    ended: bool,
    /// The requests of the peer whose handlers have not ended; empty for those that were cancelled.
    answering: HashMap<RequestId, Option<C>, QuickHash>,
    cancelled: usize,
    waiting: HashMap<RequestId, P, QuickHash>,
    next_id: i64,
    max_answering: usize,
    max_waiting: usize,
    /// Where it is set how many are answered at a time.
    set_by: &'static str,
}

impl<C, P> Kernel<C, P> {
    /// A connection on which nothing was said yet; at most that many requests are in flight from
    /// the peer and to it.
    #[must_use]
    pub(crate) fn new(max_answering: usize, max_waiting: usize) -> Self {
        Self {
            phase: HandshakePhase::Fresh,
            ended: false,
            answering: HashMap::default(),
            cancelled: 0,
            waiting: HashMap::default(),
            next_id: 1,
            max_answering,
            max_waiting,
            set_by: "Limits::max_in_flight",
        }
    }

    /// Names what sets how many requests of the peer may be in flight.
    pub(crate) fn with_limit_name(self, set_by: &'static str) -> Self {
        Self { set_by, ..self }
    }

    /// Judges a request of the peer. A handshake that may be opened is under way from here on.
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
        self.room()
            .map_or_else(RequestDecision::Refuse, |()| RequestDecision::Serve)
    }

    fn room(&self) -> Result<(), Error> {
        if self.answering.len() < self.max_answering {
            return Ok(());
        }
        Err(in_flight(self.max_answering, self.set_by))
    }

    /// The handshake was answered: requests are served from now on.
    pub(crate) fn handshake_succeeded(&mut self) {
        self.phase = HandshakePhase::Open;
    }

    /// The handshake was refused: another may be tried.
    pub(crate) fn handshake_failed(&mut self) {
        self.phase = HandshakePhase::Fresh;
    }

    /// Notes that a request is being served.
    ///
    /// # Errors
    /// When others took its id or the last place since it was judged, or everything has ended.
    pub(crate) fn begin_request(&mut self, id: RequestId, call: C) -> Result<(), Error> {
        if self.ended {
            return Err(not_a_message(ENDED));
        }
        let room = self.room();
        match self.answering.entry(id) {
            Entry::Occupied(_) => Err(not_a_message(IN_FLIGHT)),
            Entry::Vacant(place) => room.map(|()| {
                place.insert(Some(call));
            }),
        }
    }

    /// Notes that a request's handler has ended. `None` when no answer is wanted any more.
    pub(crate) fn finish_request(&mut self, id: &RequestId) -> Option<C> {
        let call = self.answering.remove(id)?;
        self.cancelled -= usize::from(call.is_none());
        if self.answering.is_empty() && self.answering.capacity() > KEPT {
            // After a burst its room is given back: a table does not do so by itself.
            self.answering.shrink_to_fit();
        }
        call
    }

    /// A cancelled request keeps its id and its place until its handler has ended.
    fn cancel(&mut self, id: &RequestId) -> Option<C> {
        let call = self.answering.get_mut(id)?.take()?;
        self.cancelled += 1;
        Some(call)
    }

    /// Judges a notification of the peer; `request` is the request that it names, if it does.
    pub(crate) fn judge_notification(
        &mut self,
        method: Option<Method>,
        request: Option<&RequestId>,
    ) -> NotificationDecision<C> {
        match method {
            Some(Method::Initialized) if self.phase == HandshakePhase::Open => {
                self.phase = HandshakePhase::Operating;
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

    /// Takes up a request of ours, and gives it an id that was never used here.
    ///
    /// # Errors
    /// When too many wait already, or everything has ended.
    pub(crate) fn start_request(&mut self, waiting: P) -> Result<RequestId, OutgoingRequestError> {
        if !self.ended && self.waiting.len() >= self.max_waiting {
            return Err(OutgoingRequestError::TooMany);
        }
        self.start_request_over_limit(waiting)
    }

    /// The same, however many wait already: for who asks one at a time whether the peer is there.
    ///
    /// # Errors
    /// When everything has ended.
    pub(crate) fn start_request_over_limit(
        &mut self,
        waiting: P,
    ) -> Result<RequestId, OutgoingRequestError> {
        if self.ended {
            return Err(OutgoingRequestError::Ended);
        }
        let id = RequestId::from(self.next_id);
        self.next_id += 1;
        self.waiting.insert(id.clone(), waiting);
        Ok(id)
    }

    /// Who waits for the answer of that id. `None` for an answer that nobody waits for.
    pub(crate) fn take_waiting(&mut self, id: Option<&RequestId>) -> Option<P> {
        self.waiting.remove(id?)
    }

    /// What waits for the answer of that id.
    #[must_use]
    pub(crate) fn get_waiting(&self, id: &RequestId) -> Option<&P> {
        self.waiting.get(id)
    }

    /// The ids of our requests that wait for their answers.
    pub(crate) fn waiting_ids(&self) -> impl Iterator<Item = &RequestId> {
        self.waiting.keys()
    }

    /// What waits for answers.
    pub(crate) fn waiting_values(&self) -> impl Iterator<Item = &P> {
        self.waiting.values()
    }

    /// How many requests of the peer are still to be answered.
    #[must_use]
    pub(crate) fn in_flight(&self) -> usize {
        self.answering.len() - self.cancelled
    }

    /// Ends everything: what was being answered, and who waits. Nothing is taken up any more.
    pub(crate) fn end(&mut self) -> (Vec<C>, Vec<P>) {
        self.ended = true;
        self.cancelled = 0;
        (
            self.answering
                .drain()
                .filter_map(|(_, call)| call)
                .collect(),
            self.waiting.drain().map(|(_, waiting)| waiting).collect(),
        )
    }

    /// What is being answered.
    pub(crate) fn running_requests(&self) -> impl Iterator<Item = &C> {
        self.answering.values().flatten()
    }
}

const ENDED: &str = "the session has ended";
const IN_FLIGHT: &str = "a request with this id is still in flight";

fn not_a_message(message: &'static str) -> Error {
    Error::new(ErrorKind::InvalidRequest, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    type Plain = Kernel<&'static str, &'static str>;

    fn refused(step: &RequestDecision) -> bool {
        matches!(step, RequestDecision::Refuse(error) if *error.kind() == ErrorKind::InvalidRequest)
    }

    fn initialize(kernel: &mut Plain, id: i64) -> RequestDecision {
        kernel.judge_request(&id.into(), Some(Method::Initialize), EraKind::Legacy)
    }

    fn open() -> Plain {
        let mut kernel = Plain::new(2, 2);
        assert!(matches!(initialize(&mut kernel, 0), RequestDecision::Open));
        kernel.handshake_succeeded();
        kernel
    }

    #[test]
    fn before_the_handshake_only_ping_and_modern_requests_are_served() {
        let mut kernel = Plain::new(2, 2);
        let id = RequestId::from(1);
        assert!(refused(&kernel.judge_request(
            &id,
            Some(Method::ListTools),
            EraKind::Legacy
        )));
        assert!(matches!(
            kernel.judge_request(&id, Some(Method::Ping), EraKind::Legacy),
            RequestDecision::Pong
        ));
        assert!(matches!(
            kernel.judge_request(&id, Some(Method::ListTools), EraKind::Modern),
            RequestDecision::Serve
        ));
        assert!(matches!(
            kernel.judge_request(&id, Some(Method::Initialize), EraKind::Legacy),
            RequestDecision::Open
        ));
    }

    #[test]
    fn a_burst_leaves_no_room_behind() {
        let mut kernel = Plain::new(2000, 2);
        for id in 0..2000 {
            kernel.begin_request(id.into(), "call").unwrap();
        }
        for id in 0..2000 {
            assert!(kernel.finish_request(&id.into()).is_some());
        }
        assert!(kernel.answering.capacity() <= KEPT);
    }

    #[test]
    fn a_second_handshake_is_refused() {
        let mut kernel = Plain::new(2, 2);
        assert!(matches!(initialize(&mut kernel, 0), RequestDecision::Open));
        assert!(refused(&initialize(&mut kernel, 1)));
        kernel.handshake_succeeded();
        assert!(refused(&initialize(&mut kernel, 2)));
    }

    #[test]
    fn requests_are_served_before_the_client_says_initialized() {
        let mut kernel = open();
        assert!(matches!(
            kernel.judge_request(&1.into(), Some(Method::ListTools), EraKind::Legacy),
            RequestDecision::Serve
        ));
    }

    #[test]
    fn an_id_in_flight_is_refused_and_free_again_afterwards() {
        let mut kernel = open();
        assert!(kernel.begin_request(1.into(), "one").is_ok());
        assert!(kernel.begin_request(1.into(), "again").is_err());
        assert!(refused(&kernel.judge_request(
            &1.into(),
            None,
            EraKind::Legacy
        )));
        assert!(matches!(
            kernel.judge_request(&"1".into(), None, EraKind::Legacy),
            RequestDecision::Serve
        ));
        assert_eq!(kernel.finish_request(&1.into()), Some("one"));
        assert!(matches!(
            kernel.judge_request(&1.into(), None, EraKind::Legacy),
            RequestDecision::Serve
        ));
    }

    #[test]
    fn requests_over_the_cap_are_refused_by_name_and_ping_is_not() {
        let mut kernel = open();
        kernel.begin_request(1.into(), "one").unwrap();
        kernel.begin_request(2.into(), "two").unwrap();
        match kernel.judge_request(&3.into(), None, EraKind::Legacy) {
            RequestDecision::Refuse(error) => assert!(error.message().contains("in_flight")),
            other => panic!("{other:?}"),
        }
        assert!(matches!(
            kernel.judge_request(&3.into(), Some(Method::Ping), EraKind::Legacy),
            RequestDecision::Pong
        ));
    }

    #[test]
    fn a_cancelled_request_gets_no_answer_and_only_once() {
        let mut kernel = open();
        kernel.begin_request(1.into(), "one").unwrap();
        let id = RequestId::from(1);
        assert!(matches!(
            kernel.judge_notification(Some(Method::Cancelled), Some(&id)),
            NotificationDecision::Cancel("one")
        ));
        assert_eq!(kernel.in_flight(), 0);
        assert!(matches!(
            kernel.judge_notification(Some(Method::Cancelled), Some(&id)),
            NotificationDecision::Ignored
        ));
        assert_eq!(kernel.finish_request(&id), None);
        assert!(matches!(
            kernel.judge_notification(Some(Method::Cancelled), None),
            NotificationDecision::Ignored
        ));
    }

    #[test]
    fn a_cancelled_request_keeps_its_place_until_its_handler_ends() {
        let mut kernel = open();
        kernel.begin_request(1.into(), "one").unwrap();
        kernel.begin_request(2.into(), "two").unwrap();
        let id = RequestId::from(1);
        kernel.judge_notification(Some(Method::Cancelled), Some(&id));
        assert_eq!(kernel.running_requests().collect::<Vec<_>>(), [&"two"]);
        assert!(refused(&kernel.judge_request(&id, None, EraKind::Legacy)));
        assert!(matches!(
            kernel.judge_request(&3.into(), None, EraKind::Legacy),
            RequestDecision::Refuse(_)
        ));
        kernel.finish_request(&id);
        assert!(matches!(
            kernel.judge_request(&id, None, EraKind::Legacy),
            RequestDecision::Serve
        ));
    }

    #[test]
    fn initialized_counts_once_and_only_after_the_answer() {
        let mut kernel = Plain::new(1, 1);
        assert!(matches!(
            kernel.judge_notification(Some(Method::Initialized), None),
            NotificationDecision::Ignored
        ));
        assert!(matches!(initialize(&mut kernel, 0), RequestDecision::Open));
        kernel.handshake_succeeded();
        assert!(matches!(
            kernel.judge_notification(Some(Method::Initialized), None),
            NotificationDecision::Initialized
        ));
        assert!(matches!(
            kernel.judge_notification(Some(Method::Initialized), None),
            NotificationDecision::Ignored
        ));
    }

    #[test]
    fn our_own_ids_never_repeat_and_an_answer_counts_once() {
        let mut kernel = open();
        let first = kernel.start_request("a").unwrap();
        assert_eq!(kernel.take_waiting(Some(&first)), Some("a"));
        assert_eq!(kernel.take_waiting(Some(&first)), None);
        assert_eq!(kernel.take_waiting(None), None);
        let second = kernel.start_request("b").unwrap();
        assert_ne!(first, second);
        kernel.start_request("c").unwrap();
        assert_eq!(
            kernel.start_request("d"),
            Err(OutgoingRequestError::TooMany)
        );
    }

    #[test]
    fn the_end_leaves_nothing() {
        let mut kernel = open();
        kernel.begin_request(1.into(), "one").unwrap();
        kernel.start_request("a").unwrap();
        assert_eq!(kernel.end(), (vec!["one"], vec!["a"]));
        assert_eq!((kernel.in_flight(), kernel.end()), (0, (vec![], vec![])));
        assert!(kernel.begin_request(1.into(), "late").is_err());
        assert_eq!(
            kernel.start_request("late"),
            Err(OutgoingRequestError::Ended)
        );
    }
}
