//! Tags of requests, by which messages of the server find the request that they are about.
//!
//! A client that serves several parties, such as a proxy, must not show a question to a party that did
//! not cause it. The session knows which requests the server may be working on, and so which request a
//! message is about.

use std::any::Any;
use std::sync::Arc;

use foldhash::HashMap;
use tokio::time::{Duration, Instant};
use turnbuckle_types::RequestId;
use turnbuckle_types::base::debug_fields;

/// The most abandoned requests that are remembered.
const MAX_ABANDONED: usize = 1024;

/// The time for which an abandoned request is remembered. A server that honours cancellations answers
/// none, so that only time ends the memory of them.
const ABANDONED_TTL: Duration = Duration::from_secs(10 * 60);

/// A value that keeps the number of a connection from being given to another one.
type ConnectionGuard = Arc<dyn Any + Send + Sync>;

/// A value that the sender of a request attaches to it. Handlers of the server's questions and log
/// messages get the tag of the request that a message is about. Clones are the same tag.
#[derive(Clone)]
pub struct RequestTag {
    sender: u64,
    connection: u64,
    /// The party that late log messages about a request may reach with another one.
    party: u64,
    guard: Option<ConnectionGuard>,
    value: Arc<dyn Any + Send + Sync>,
}

impl RequestTag {
    /// Creates a tag. `sender` is the same number for all requests of one party.
    #[must_use]
    pub fn new(sender: u64, value: impl Any + Send + Sync) -> Self {
        Self {
            sender,
            connection: sender,
            party: sender,
            guard: None,
            value: Arc::new(value),
        }
    }

    /// Sets the number of the connection or session that the sender is reached by, where requests of one have
    /// different senders: messages of the server about one of them may reach another. No other connection has
    /// the number while `guard` exists. Default: the number of the sender.
    #[must_use]
    pub fn with_connection(mut self, number: u64, guard: impl Any + Send + Sync) -> Self {
        self.connection = number;
        self.party = number;
        self.guard = Some(Arc::new(guard));
        self
    }

    /// Sets the number of a party that sends requests over several connections: a log message about one of them,
    /// which comes late, may reach another. Questions do not. Default: the number of the connection.
    #[must_use]
    pub fn with_party(mut self, number: u64) -> Self {
        self.party = number;
        self
    }

    /// Returns the number of the connection.
    pub(super) fn connection(&self) -> u64 {
        self.connection
    }

    /// Returns the number of the sender.
    #[must_use]
    pub fn sender(&self) -> u64 {
        self.sender
    }

    /// Returns the value, if it is a `T`.
    #[must_use]
    pub fn value<T: Any>(&self) -> Option<&T> {
        self.value.downcast_ref()
    }
}

debug_fields!(RequestTag { sender });
debug_fields!(AbandonedRequests { by_id });

/// The tagged requests that were taken back before the server answered them, and the senders of those that
/// it has answered. The server may still send messages about them.
#[derive(Default)]
pub(super) struct AbandonedRequests {
    by_id: HashMap<RequestId, (RequestTag, Instant)>,
    /// The time until which requests are missing here, because there were too many.
    incomplete_until: Option<Instant>,
    /// The newest answered request of each party. Late messages may still be about it.
    answered: HashMap<u64, (Option<ConnectionGuard>, Instant)>,
    /// The time until which parties are missing there.
    answered_incomplete_until: Option<Instant>,
    /// The connections whose requests were answered since the server last worked on none.
    answered_since_idle: AnsweredSinceIdle,
}

/// The connections whose requests a server has answered since it last worked on none: a question may still be
/// about one of these.
#[derive(Default)]
enum AnsweredSinceIdle {
    #[default]
    None,
    One(u64, Option<ConnectionGuard>),
    Several,
}

impl AnsweredSinceIdle {
    /// Adds a request.
    fn add(&mut self, tag: &RequestTag) {
        *self = match std::mem::take(self) {
            Self::None => Self::One(tag.connection, tag.guard.clone()),
            Self::One(connection, guard) if connection == tag.connection => {
                Self::One(connection, guard)
            }
            Self::One(..) | Self::Several => Self::Several,
        };
    }

    fn is_all_of(&self, connection: u64) -> bool {
        match self {
            Self::None => true,
            Self::One(one, _) => *one == connection,
            Self::Several => false,
        }
    }
}

impl AbandonedRequests {
    /// Adds a request that is taken back.
    pub(super) fn insert(&mut self, id: RequestId, tag: RequestTag) {
        let now = Instant::now();
        self.remove_expired(now);
        let end = now + ABANDONED_TTL;
        if self.by_id.len() < MAX_ABANDONED {
            self.by_id.insert(id, (tag, end));
        } else {
            self.incomplete_until = Some(end);
        }
    }

    /// Adds a request that the server has answered.
    pub(super) fn insert_answered(&mut self, tag: &RequestTag) {
        self.answered_since_idle.add(tag);
        let end = Instant::now() + ABANDONED_TTL;
        if self.answered.len() < MAX_ABANDONED || self.answered.contains_key(&tag.party) {
            self.answered.insert(tag.party, (tag.guard.clone(), end));
        } else {
            self.answered_incomplete_until = Some(end);
        }
    }

    /// Returns whether all requests that were answered in the last minutes are of the party of a tag.
    pub(super) fn were_all_of(&self, tag: &RequestTag) -> bool {
        let own = usize::from(self.answered.contains_key(&tag.party));
        self.answered_incomplete_until.is_none() && self.answered.len() == own
    }

    /// Removes a request that the server has answered.
    pub(super) fn remove(&mut self, id: &RequestId) {
        let Some((tag, _)) = self.by_id.remove(id) else {
            return;
        };
        self.answered_since_idle.add(&tag);
        if self.by_id.is_empty() {
            self.by_id.shrink_to_fit();
        }
    }

    /// Records that the server gets a request while no other one waits for its answer.
    pub(super) fn begin_alone(&mut self) {
        self.remove_expired(Instant::now());
        if self.by_id.is_empty() {
            self.answered_since_idle = AnsweredSinceIdle::None;
        }
    }

    /// Returns the tag of a request.
    pub(super) fn get(&self, id: &RequestId) -> Option<&RequestTag> {
        Some(&self.by_id.get(id)?.0)
    }

    /// Returns whether all requests here, and all that the server has answered since it last worked on none,
    /// came on this connection, and none is missing.
    pub(super) fn are_all_of(&self, connection: u64) -> bool {
        let mut tags = self.by_id.values();
        self.incomplete_until.is_none()
            && self.answered_since_idle.is_all_of(connection)
            && tags.all(|(tag, _)| tag.connection == connection)
    }

    /// Forgets the requests that are too old.
    pub(super) fn remove_expired(&mut self, now: Instant) {
        self.by_id.retain(|_, (_, end)| *end > now);
        self.incomplete_until = self.incomplete_until.filter(|end| *end > now);
        self.answered.retain(|_, (_, end)| *end > now);
        let incomplete_until = self.answered_incomplete_until;
        self.answered_incomplete_until = incomplete_until.filter(|end| *end > now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn abandoned_requests_are_bounded_and_forgotten_after_ten_minutes() {
        let mut abandoned = AbandonedRequests::default();
        let tag = RequestTag::new(1, ());
        for id in 0..=MAX_ABANDONED {
            abandoned.insert(RequestId::from(id as i64), tag.clone());
        }
        assert_eq!(abandoned.by_id.len(), MAX_ABANDONED);
        assert!(abandoned.incomplete_until.is_some());
        tokio::time::advance(ABANDONED_TTL).await;
        abandoned.remove_expired(Instant::now());
        assert!(abandoned.by_id.is_empty() && abandoned.incomplete_until.is_none());
    }
}
