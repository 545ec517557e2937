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

/// A value that the sender of a request attaches to it. Handlers of the server's questions and log
/// messages get the tag of the request that a message is about. Clones are the same tag.
#[derive(Clone)]
pub struct RequestTag {
    sender: u64,
    value: Arc<dyn Any + Send + Sync>,
}

impl RequestTag {
    /// Creates a tag. `sender` is the same number for all requests of one party.
    #[must_use]
    pub fn new(sender: u64, value: impl Any + Send + Sync) -> Self {
        Self {
            sender,
            value: Arc::new(value),
        }
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

/// The tagged requests that were taken back before the server answered them. The server may still be
/// working on them, and send messages about them.
#[derive(Debug, Default)]
pub(super) struct AbandonedRequests {
    by_id: HashMap<RequestId, (RequestTag, Instant)>,
    /// The time until which requests are missing here, because there were too many.
    incomplete_until: Option<Instant>,
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

    /// Removes a request that the server has answered.
    pub(super) fn remove(&mut self, id: &RequestId) {
        self.by_id.remove(id);
        if self.by_id.is_empty() {
            self.by_id.shrink_to_fit();
        }
    }

    /// Returns the tag of a request.
    pub(super) fn get(&self, id: &RequestId) -> Option<&RequestTag> {
        Some(&self.by_id.get(id)?.0)
    }

    /// Returns whether all requests here have this sender, and none is missing.
    pub(super) fn are_all_of(&self, sender: u64) -> bool {
        let mut tags = self.by_id.values();
        self.incomplete_until.is_none() && tags.all(|(tag, _)| tag.sender == sender)
    }

    /// Forgets the requests that are too old.
    pub(super) fn remove_expired(&mut self, now: Instant) {
        self.by_id.retain(|_, (_, end)| *end > now);
        self.incomplete_until = self.incomplete_until.filter(|end| *end > now);
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
