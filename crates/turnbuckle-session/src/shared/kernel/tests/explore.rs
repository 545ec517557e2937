//! Everything that can happen to a kernel, in every order, against a model that is too small to be
//! wrong.
//!
//! After every event the whole state of the kernel is that of the model, so states that are alike
//! in the model are alike, and each has to be gone on from once only.

use std::collections::{HashSet, VecDeque};

use super::super::*;

/// The id of a request of the peer.
type Id = i64;

/// The ids that the peer uses; it never uses [`UNKNOWN`].
const IDS: [Id; 2] = [1, 2];
const UNKNOWN: Id = 99;

/// Requests that were judged and have not begun: each is on a thread of its own.
const THREADS: usize = 2;

/// An action of the peer, a handler or the owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Event {
    Request(Id, Kind),
    /// The request that was judged is begun.
    Begin(usize),
    /// A handler ends, in its place or in its task.
    HandlerEnds(usize),
    HandshakeEnds {
        well: bool,
    },
    Initialized,
    Cancel(Option<Id>),
    Ask,
    /// An answer comes, or whoever asked gives up: the kernel is told the same.
    Response(Answers),
    End,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Legacy,
    Modern,
    Ping,
    Initialize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answers {
    /// The request that waits at this place.
    Waiting(usize),
    /// A request that was answered before.
    Spent,
    /// A request that was never made.
    Unknown,
    Nothing,
}

/// The end of a request that was begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    Answered,
    Cancelled,
    /// With everything.
    Ended,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Stage {
    Fresh,
    Opening,
    Open,
    Operating,
}

/// A handler that runs.
#[derive(Debug, Clone, Copy)]
struct Handler {
    id: Id,
    serial: usize,
    wanted: bool,
}

/// The part that all states with the same continuations have in common.
type Key = (Stage, bool, Vec<Id>, Vec<(Id, bool)>, usize, bool);

/// A kernel, and what is known of it.
#[derive(Clone)]
struct World {
    kernel: Kernel<usize, usize>,
    limits: (usize, usize),
    stage: Stage,
    ended: bool,
    judged: Vec<Id>,
    handlers: Vec<Handler>,
    /// Id and serial of our requests.
    waiting: Vec<(RequestId, usize)>,
    given: HashSet<RequestId>,
    spent: Option<RequestId>,
    /// By serial: how each of the peer's requests and of ours ended.
    theirs: Vec<Option<Ending>>,
    ours: Vec<Option<Ending>>,
}

impl World {
    fn new(limits: (usize, usize)) -> Self {
        Self {
            kernel: Kernel::new(limits.0, limits.1),
            limits,
            stage: Stage::Fresh,
            ended: false,
            judged: Vec::new(),
            handlers: Vec::new(),
            waiting: Vec::new(),
            given: HashSet::new(),
            spent: None,
            theirs: Vec::new(),
            ours: Vec::new(),
        }
    }

    fn key(&self) -> Key {
        let mut judged = self.judged.clone();
        judged.sort_unstable();
        let mut handlers: Vec<_> = self.handlers.iter().map(|h| (h.id, h.wanted)).collect();
        handlers.sort_unstable();
        (
            self.stage,
            self.ended,
            judged,
            handlers,
            self.waiting.len(),
            self.spent.is_some(),
        )
    }

    /// Returns every event that can happen now.
    fn events(&self) -> Vec<Event> {
        let mut events = vec![Event::Initialized, Event::Ask, Event::End];
        for id in IDS {
            let kinds = [Kind::Ping, Kind::Initialize];
            events.extend(kinds.map(|kind| Event::Request(id, kind)));
            if self.judged.len() < THREADS {
                let kinds = [Kind::Legacy, Kind::Modern];
                events.extend(kinds.map(|kind| Event::Request(id, kind)));
            }
        }
        for id in [Some(IDS[0]), Some(IDS[1]), Some(UNKNOWN), None] {
            events.push(Event::Cancel(id));
        }
        events.extend((0..self.judged.len()).map(Event::Begin));
        events.extend((0..self.handlers.len()).map(Event::HandlerEnds));
        match self.stage {
            Stage::Opening => {
                events.extend([true, false].map(|well| Event::HandshakeEnds { well }));
            }
            // The client's end opens so, and a session whose handshake is assumed.
            Stage::Fresh => events.push(Event::HandshakeEnds { well: true }),
            Stage::Open | Stage::Operating => {}
        }
        let waiting = (0..self.waiting.len()).map(Answers::Waiting);
        events.extend(waiting.map(Event::Response));
        events.extend([Answers::Unknown, Answers::Nothing].map(Event::Response));
        if self.spent.is_some() {
            events.push(Event::Response(Answers::Spent));
        }
        events
    }

    fn running(&self, id: Id) -> Option<usize> {
        self.handlers.iter().position(|handler| handler.id == id)
    }

    fn full(&self) -> bool {
        self.handlers.len() >= self.limits.0
    }

    /// Lets it happen, and holds the kernel to what must come of it.
    fn happen(&mut self, event: Event) {
        match event {
            Event::Request(id, kind) => self.request(id, kind),
            Event::Begin(place) => {
                let (id, serial) = (self.judged.remove(place), self.theirs.len());
                let may = !self.ended && !self.full() && self.running(id).is_none();
                assert_eq!(self.kernel.begin_request(id.into(), serial).is_ok(), may);
                if may {
                    self.theirs.push(None);
                    self.handlers.push(Handler {
                        id,
                        serial,
                        wanted: true,
                    });
                }
            }
            Event::HandlerEnds(place) => {
                let handler = self.handlers.remove(place);
                let wanted = handler.wanted.then_some(handler.serial);
                assert_eq!(self.kernel.finish_request(&handler.id.into()), wanted);
                end(&mut self.theirs, wanted, Ending::Answered);
            }
            Event::HandshakeEnds { well: true } => {
                self.kernel.handshake_succeeded();
                self.stage = Stage::Open;
            }
            Event::HandshakeEnds { well: false } => {
                self.kernel.handshake_failed();
                self.stage = Stage::Fresh;
            }
            Event::Initialized => {
                let decision = self
                    .kernel
                    .judge_notification(Some(Method::Initialized), None);
                match self.stage {
                    Stage::Open => assert!(matches!(decision, NotificationDecision::Initialized)),
                    _ => assert!(matches!(decision, NotificationDecision::Ignored)),
                }
                if self.stage == Stage::Open {
                    self.stage = Stage::Operating;
                }
            }
            Event::Cancel(id) => self.cancel(id),
            Event::Ask => {
                let serial = self.ours.len();
                let expected = match () {
                    () if self.ended => Err(OutgoingRequestError::Ended),
                    () if self.waiting.len() >= self.limits.1 => Err(OutgoingRequestError::TooMany),
                    () => Ok(()),
                };
                let asked = self.kernel.start_request(serial);
                assert_eq!(asked.as_ref().map(drop).map_err(|why| *why), expected);
                if let Ok(id) = asked {
                    assert!(self.given.insert(id.clone()), "{id:?} was used before");
                    self.ours.push(None);
                    self.waiting.push((id, serial));
                }
            }
            Event::Response(answers) => self.response(answers),
            Event::End => {
                let (mut calls, mut waiting) = self.kernel.end();
                calls.sort_unstable();
                waiting.sort_unstable();
                let mut expected: Vec<_> = self.handlers.iter_mut().filter(|h| h.wanted).collect();
                expected.sort_unstable_by_key(|handler| handler.serial);
                let ended = expected.iter_mut().map(|handler| {
                    handler.wanted = false;
                    handler.serial
                });
                assert_eq!(calls, ended.collect::<Vec<_>>());
                let ours: Vec<_> = self.waiting.drain(..).collect();
                self.spent = ours.last().map(|(id, _)| id.clone()).or(self.spent.take());
                assert_eq!(
                    waiting,
                    ours.iter().map(|(_, serial)| *serial).collect::<Vec<_>>()
                );
                for call in calls {
                    end(&mut self.theirs, Some(call), Ending::Ended);
                }
                for asked in waiting {
                    end(&mut self.ours, Some(asked), Ending::Ended);
                }
                self.ended = true;
            }
        }
        self.compare();
    }

    fn request(&mut self, id: Id, kind: Kind) {
        let (method, era) = match kind {
            Kind::Legacy => (Method::ListTools, EraKind::Legacy),
            Kind::Modern => (Method::ListTools, EraKind::Modern),
            Kind::Ping => (Method::Ping, EraKind::Legacy),
            Kind::Initialize => (Method::Initialize, EraKind::Legacy),
        };
        let step = self.kernel.judge_request(&id.into(), Some(method), era);
        let taken = self.ended || self.running(id).is_some();
        let greeted = matches!(self.stage, Stage::Open | Stage::Operating);
        match kind {
            _ if taken => assert!(matches!(step, RequestDecision::Refuse(_))),
            Kind::Ping => assert!(matches!(step, RequestDecision::Pong)),
            Kind::Initialize if self.stage == Stage::Fresh => {
                assert!(matches!(step, RequestDecision::Open));
                self.stage = Stage::Opening;
            }
            Kind::Initialize => assert!(matches!(step, RequestDecision::Refuse(_))),
            Kind::Legacy if !greeted => assert!(matches!(step, RequestDecision::Refuse(_))),
            _ if self.full() => match step {
                RequestDecision::Refuse(error) => assert!(error.message().contains("in_flight")),
                other => panic!("{other:?}"),
            },
            Kind::Legacy | Kind::Modern => {
                assert!(matches!(step, RequestDecision::Serve));
                self.judged.push(id);
            }
        }
    }

    fn cancel(&mut self, id: Option<Id>) {
        let named = id.map(RequestId::from);
        let decision = self
            .kernel
            .judge_notification(Some(Method::Cancelled), named.as_ref());
        let place = id.and_then(|id| self.running(id));
        let handler = place.and_then(|place| self.handlers.get_mut(place));
        match (decision, handler.filter(|handler| handler.wanted)) {
            (NotificationDecision::Cancel(call), Some(handler)) => {
                assert_eq!(call, handler.serial);
                handler.wanted = false;
                end(&mut self.theirs, Some(call), Ending::Cancelled);
            }
            (NotificationDecision::Ignored, None) => {}
            (decision, handler) => panic!("{decision:?} {handler:?}"),
        }
    }

    fn response(&mut self, answers: Answers) {
        let (id, serial) = match answers {
            Answers::Waiting(place) => {
                let (id, serial) = self.waiting.remove(place);
                assert_eq!(self.kernel.get_waiting(&id), Some(&serial));
                self.spent = Some(id.clone());
                (Some(id), Some(serial))
            }
            Answers::Spent => (self.spent.clone(), None),
            Answers::Unknown => (Some(RequestId::from(-1)), None),
            Answers::Nothing => (None, None),
        };
        assert_eq!(self.kernel.take_waiting(id.as_ref()), serial);
        end(&mut self.ours, serial, Ending::Answered);
    }

    /// Asserts that the whole kernel is as it must be.
    fn compare(&self) {
        let kernel = &self.kernel;
        let phase = match self.stage {
            Stage::Fresh => HandshakePhase::Fresh,
            Stage::Opening => HandshakePhase::Opening,
            Stage::Open => HandshakePhase::Open,
            Stage::Operating => HandshakePhase::Operating,
        };
        assert_eq!((kernel.phase, kernel.ended), (phase, self.ended));
        let answering = self
            .handlers
            .iter()
            .map(|h| (RequestId::from(h.id), h.wanted.then_some(h.serial)));
        assert_eq!(kernel.answering, answering.collect::<HashMap<_, _>>());
        assert_eq!(
            kernel.waiting,
            self.waiting.iter().cloned().collect::<HashMap<_, _>>()
        );
        let wanted = self.handlers.iter().filter(|handler| handler.wanted);
        assert_eq!(kernel.in_flight(), wanted.clone().count());
        assert_eq!(kernel.running_requests().count(), wanted.count());
        assert_eq!(kernel.waiting_ids().count(), self.waiting.len());
        assert_eq!(
            kernel.cancelled,
            kernel
                .answering
                .values()
                .filter(|call| call.is_none())
                .count()
        );
        assert!(kernel.answering.len() <= self.limits.0 && kernel.waiting.len() <= self.limits.1);
        assert!(kernel.next_id > kernel.waiting.len().try_into().unwrap());
    }

    /// Ends everything from here: nothing is left, and everything has ended once.
    fn close(mut self) {
        self.happen(Event::End);
        while !self.judged.is_empty() {
            self.happen(Event::Begin(0));
        }
        while !self.handlers.is_empty() {
            self.happen(Event::HandlerEnds(0));
        }
        let kernel = &self.kernel;
        assert!(kernel.answering.is_empty() && kernel.waiting.is_empty());
        assert_eq!((kernel.cancelled, kernel.in_flight()), (0, 0));
        assert!(self.theirs.iter().chain(&self.ours).all(Option::is_some));
    }
}

/// Records the end of a request, which has not ended before.
fn end(all: &mut [Option<Ending>], serial: Option<usize>, ending: Ending) {
    if let Some(serial) = serial {
        assert_eq!(all[serial].replace(ending), None, "{serial} ended twice");
    }
}

const LIMITS: [(usize, usize); 4] = [(1, 1), (1, 2), (2, 1), (2, 2)];

/// Goes on from every state that there is until there is no new one.
#[test]
fn every_state_is_sound_and_leads_to_an_end_without_remains() {
    for limits in LIMITS {
        let first = World::new(limits);
        let mut known = HashMap::from_iter([(first.key(), 0)]);
        let mut edges: Vec<Vec<usize>> = Vec::new();
        let mut next = VecDeque::from([first]);
        while let Some(world) = next.pop_front() {
            world.clone().close();
            let mut leads = Vec::new();
            for event in world.events() {
                let mut then = world.clone();
                then.happen(event);
                let (key, fresh) = (then.key(), known.len());
                let place = *known.entry(key).or_insert(fresh);
                if place == fresh {
                    next.push_back(then);
                }
                leads.push(place);
            }
            edges.push(leads);
        }
        let steps: usize = edges.iter().map(Vec::len).sum();
        let paths = paths(&edges, 12);
        println!(
            "{limits:?}: {} states, {steps} steps, {paths:.1e} paths of 12 events",
            edges.len()
        );
        assert!(edges.len() > 300, "the model has lost its states");
    }
}

/// Returns the number of paths of that length that begin in the first state.
#[allow(clippy::cast_precision_loss, reason = "it is for reading")]
fn paths(edges: &[Vec<usize>], length: usize) -> f64 {
    let mut ahead = vec![1.0_f64; edges.len()];
    for _ in 0..length {
        ahead = edges
            .iter()
            .map(|leads| leads.iter().map(|place| ahead[*place]).sum())
            .collect();
    }
    ahead[0]
}

/// Every path, whether or not its states are known: what ends once along a path is seen here.
#[test]
fn every_short_path_ends_everything_once() {
    fn follow(world: &World, depth: usize, paths: &mut usize) {
        if depth == 0 {
            *paths += 1;
            return world.clone().close();
        }
        for event in world.events() {
            let mut then = world.clone();
            then.happen(event);
            follow(&then, depth - 1, paths);
        }
    }
    let opened = [
        Event::Request(IDS[0], Kind::Initialize),
        Event::HandshakeEnds { well: true },
        Event::Initialized,
    ];
    let busy = [
        Event::Request(IDS[0], Kind::Legacy),
        Event::Begin(0),
        Event::Ask,
    ];
    for limits in LIMITS {
        let mut paths = 0;
        let mut world = World::new(limits);
        follow(&world, 3, &mut paths);
        opened.into_iter().for_each(|event| world.happen(event));
        follow(&world, 3, &mut paths);
        busy.into_iter().for_each(|event| world.happen(event));
        follow(&world, if limits == (2, 2) { 4 } else { 3 }, &mut paths);
        println!("{limits:?}: {paths} paths of single steps");
        assert!(paths > 10_000);
    }
}
