//! All that a session may do about a script: the states in which it may be after each event.
//!
//! What happens inside of it takes its time, so between two events it may have got anywhere; when
//! it has come to rest, only where nothing more can happen.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Behaviour of a handler.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// The handler replies at once.
    Ready,
    /// The handler panics at once.
    Panics,
    /// The handler waits to be released, and ends when it is cancelled.
    Polite,
    /// The handler waits to be released, and ignores cancellation.
    Stubborn,
    /// The handler waits to be released, and then panics.
    PanicsLater,
}

pub(super) type Id = u8;

/// A message of the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ClientMessage {
    Call(Id, Kind),
    Cancel(Id),
}

/// One event from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Event {
    Say(ClientMessage),
    /// The handler of that request may go on.
    Release(Id),
    /// More than the grace of a cancelled handler, and than what a closed connection waits.
    TimePasses,
    /// The client says no more.
    Close,
    /// The server is to stop.
    Stop,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum End {
    Open,
    Closed,
    Stopped,
    Over,
}

/// Set of the states that a session may be in.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct State {
    inbox: VecDeque<ClientMessage>,
    running: BTreeMap<Id, (Kind, bool)>,
    released: BTreeSet<Id>,
    /// Answers of handlers that are not written yet.
    unwritten: Vec<(Id, bool)>,
    /// By id: results and errors that the client got.
    pub(super) got: BTreeMap<Id, (u8, u8)>,
    end: End,
}

/// Everywhere it may be.
#[derive(Debug, Clone)]
pub(super) struct Model {
    limit: usize,
    pub(super) states: BTreeSet<State>,
}

impl Model {
    pub(super) fn new(limit: usize) -> Self {
        let fresh = State {
            inbox: VecDeque::new(),
            running: BTreeMap::new(),
            released: BTreeSet::new(),
            unwritten: Vec::new(),
            got: BTreeMap::new(),
            end: End::Open,
        };
        Self {
            limit,
            states: BTreeSet::from([fresh]),
        }
    }

    pub(super) fn happen(&mut self, event: Event) {
        let states = std::mem::take(&mut self.states);
        for mut state in states {
            match event {
                Event::Say(message) => state.inbox.push_back(message),
                Event::Release(id) => {
                    state.released.insert(id);
                }
                Event::Close if state.end == End::Open => state.end = End::Closed,
                Event::Stop if state.end != End::Over => state.end = End::Stopped,
                Event::TimePasses | Event::Close | Event::Stop => {}
            }
            self.states.insert(state);
        }
        self.go_on(event == Event::TimePasses);
    }

    /// Adds every state that the session can reach by itself.
    fn go_on(&mut self, time: bool) {
        let mut open: Vec<_> = self.states.iter().cloned().collect();
        while let Some(state) = open.pop() {
            let mut next = state.next(self.limit);
            if time {
                next.extend(state.late());
            }
            for next in next {
                if self.states.insert(next.clone()) {
                    open.push(next);
                }
            }
        }
    }

    /// Keeps only the states in which nothing more happens.
    pub(super) fn rest(&mut self) {
        let limit = self.limit;
        self.states.retain(|state| state.next(limit).is_empty());
    }

    /// Keeps only the states in which nothing more happens even after every timeout.
    pub(super) fn rest_late(&mut self) {
        self.go_on(true);
        self.rest();
        self.states.retain(|state| state.late().is_empty());
    }

    /// Returns whether the session is over in every state.
    pub(super) fn is_over(&self) -> bool {
        self.states.iter().all(|state| state.end == End::Over)
    }
}

impl State {
    /// Returns every state that may come next.
    fn next(&self, limit: usize) -> Vec<Self> {
        let mut all = Vec::new();
        if self.end == End::Over {
            return all;
        }
        let mut then = |change: &dyn Fn(&mut Self)| {
            let mut next = self.clone();
            change(&mut next);
            all.push(next);
        };
        if self.end == End::Stopped {
            then(&|next| next.end());
        }
        if !self.inbox.is_empty() {
            then(&|next| next.receive(limit));
        }
        for id in self.running.keys() {
            if self.may_end(*id) {
                then(&|next| next.handler_ends(*id));
            }
        }
        if !self.unwritten.is_empty() {
            then(&|next| {
                let (id, well) = next.unwritten.remove(0);
                next.answer(id, well);
            });
        }
        let wanted = self.running.values().any(|(_, wanted)| *wanted);
        let idle = self.inbox.is_empty() && self.unwritten.is_empty() && !wanted;
        if self.end == End::Closed && idle {
            then(&|next| next.end());
        }
        all
    }

    /// Returns the states that may follow because time has passed.
    fn late(&self) -> Vec<Self> {
        let mut all = Vec::new();
        for (id, (_, wanted)) in &self.running {
            if !wanted {
                let mut next = self.clone();
                next.running.remove(id);
                all.push(next);
            }
        }
        if self.end == End::Closed && self.inbox.is_empty() {
            let mut next = self.clone();
            next.end();
            all.push(next);
        }
        all
    }

    fn may_end(&self, id: Id) -> bool {
        let given_up = matches!(self.running.get(&id), Some((Kind::Polite, false)));
        given_up || self.released.contains(&id)
    }

    fn receive(&mut self, limit: usize) {
        match self.inbox.pop_front() {
            Some(ClientMessage::Call(id, kind)) => {
                let full = self.running.len() >= limit;
                if full || self.running.contains_key(&id) || kind == Kind::Panics {
                    self.answer(id, false);
                } else if kind == Kind::Ready {
                    self.answer(id, true);
                } else {
                    self.running.insert(id, (kind, true));
                }
            }
            Some(ClientMessage::Cancel(id)) => {
                if let Some((_, wanted)) = self.running.get_mut(&id) {
                    *wanted = false;
                }
            }
            None => {}
        }
    }

    fn handler_ends(&mut self, id: Id) {
        if let Some((kind, true)) = self.running.remove(&id) {
            self.unwritten.push((id, kind != Kind::PanicsLater));
        }
    }

    fn answer(&mut self, id: Id, well: bool) {
        let got = self.got.entry(id).or_default();
        match well {
            true => got.0 += 1,
            false => got.1 += 1,
        }
    }

    fn end(&mut self) {
        self.end = End::Over;
        self.inbox.clear();
        self.running.clear();
        self.unwritten.clear();
        self.released.clear();
    }
}
