//! Pairs responses, progress and cancellations with the requests that they are about.

use std::collections::HashMap;

/// The most requests without a response, and the most tokens, that are known at once. A peer that leaves
/// more open gets no pairs for them.
const MAX_OPEN: usize = 10_000;

/// The side that sent a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Sender {
    Client,
    Server,
}

impl Sender {
    pub(super) fn other(self) -> Self {
        match self {
            Self::Client => Self::Server,
            Self::Server => Self::Client,
        }
    }
}

/// A session, the side that sent a request, and the id or token as it was sent.
type Key = (String, Sender, String);

/// The requests that are open.
#[derive(Default)]
pub(super) struct Pairing {
    requests: HashMap<Key, u64>,
    tokens: HashMap<Key, u64>,
}

impl Pairing {
    pub(super) fn add_request(&mut self, session: &str, sender: Sender, id: &str, n: u64) {
        add(&mut self.requests, session, sender, id, n);
    }

    /// Returns the request of an id, and forgets the id. Its token stays known until the request is
    /// dropped: progress may come late.
    pub(super) fn take_request(&mut self, session: &str, sender: Sender, id: &str) -> Option<u64> {
        self.requests.remove(&key(session, sender, id))
    }

    pub(super) fn add_token(&mut self, session: &str, sender: Sender, token: &str, n: u64) {
        if self.tokens.len() >= MAX_OPEN {
            // Those that come late are rare: the oldest half is forgotten.
            let mut numbers: Vec<u64> = self.tokens.values().copied().collect();
            numbers.sort_unstable();
            let middle = numbers[numbers.len() / 2];
            self.tokens.retain(|_, n| *n >= middle);
        }
        add(&mut self.tokens, session, sender, token, n);
    }

    pub(super) fn token(&self, session: &str, sender: Sender, token: &str) -> Option<u64> {
        self.tokens.get(&key(session, sender, token)).copied()
    }

    /// Returns the requests of a session that have no response, and forgets the ids and tokens of the
    /// session: the next connection begins with the same ones.
    pub(super) fn take_session(&mut self, session: &str) -> Vec<u64> {
        self.tokens.retain(|(of, ..), _| of != session);
        let of_session = self.requests.extract_if(|(of, ..), _| of == session);
        of_session.map(|(_, n)| n).collect()
    }

    /// Forgets a request by its number.
    pub(super) fn forget(&mut self, n: u64) {
        if !self.requests.is_empty() {
            self.requests.retain(|_, open| *open != n);
        }
    }
}

fn add(map: &mut HashMap<Key, u64>, session: &str, sender: Sender, text: &str, n: u64) {
    if map.len() < MAX_OPEN {
        map.insert(key(session, sender, text), n);
    }
}

fn key(session: &str, sender: Sender, text: &str) -> Key {
    (session.to_owned(), sender, text.to_owned())
}
