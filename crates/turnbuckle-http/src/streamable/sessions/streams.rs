//! The streams of one session: those that are open, and those that are kept for replay.

use std::collections::VecDeque;
use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

use foldhash::HashMap;
use tokio::time::Instant;

use crate::options::HttpServerOptions;
use crate::streams::{ReplayBudget, SessionStream};

/// The streams of one session. Most sessions keep none, and take no space for them.
#[derive(Debug, Default)]
pub(super) struct SessionStreams {
    /// The id of the newest stream.
    last_id: u64,
    kept: Option<Box<KeptStreams>>,
}

/// The streams of one session by id. An ended stream stays for replay, within bounds of number,
/// bytes and age; beyond one of them the stream that ended first is removed first.
#[derive(Debug, Default)]
struct KeptStreams {
    by_id: HashMap<u64, Arc<SessionStream>>,
    /// The streams that had not ended when that was last checked.
    running: Vec<u64>,
    /// The other streams, in the order in which they ended.
    ended: VecDeque<EndedStream>,
    /// The bytes that the ended streams keep.
    ended_bytes: usize,
}

/// A record of an ended stream. Records are ordered by the time at which the streams ended.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct EndedStream {
    ended_at: Instant,
    id: u64,
    bytes: usize,
}

impl SessionStreams {
    /// Returns an id that no stream of the session has had.
    pub(super) fn next_id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }

    pub(super) fn get(&self, id: u64) -> Option<&Arc<SessionStream>> {
        self.kept.as_ref()?.by_id.get(&id)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Arc<SessionStream>> {
        self.kept.iter().flat_map(|kept| kept.by_id.values())
    }

    /// Adds a stream, after removing ended streams that are over a bound. Returns `false` if there
    /// are too many and none has ended.
    pub(super) fn insert(
        &mut self,
        stream: &Arc<SessionStream>,
        budget: &ReplayBudget,
        options: &HttpServerOptions,
    ) -> bool {
        let kept = self.kept.get_or_insert_default();
        kept.insert(stream, budget, options)
    }

    /// Removes the streams that ended `ttl` ago or earlier.
    pub(super) fn remove_expired(&mut self, now: Instant, ttl: Duration) {
        if let Some(kept) = &mut self.kept {
            kept.remove_expired(now, ttl);
            if kept.by_id.is_empty() {
                self.kept = None;
            }
        }
    }

    /// Removes all streams and returns them.
    pub(super) fn take_all(&mut self) -> impl Iterator<Item = Arc<SessionStream>> + use<> {
        let kept = self.kept.take();
        kept.into_iter().flat_map(|kept| kept.by_id.into_values())
    }

    /// Returns when the stream ended that ended first, if it is kept.
    pub(super) fn oldest_ended_at(&mut self) -> Option<Instant> {
        let kept = self.kept.as_mut()?;
        kept.find_ended();
        kept.ended.front().map(|stream| stream.ended_at)
    }

    /// Removes the stream that ended first.
    pub(super) fn remove_oldest_ended(&mut self) {
        if let Some(kept) = &mut self.kept {
            kept.remove_oldest_ended();
        }
    }
}

impl KeptStreams {
    fn insert(
        &mut self,
        stream: &Arc<SessionStream>,
        budget: &ReplayBudget,
        options: &HttpServerOptions,
    ) -> bool {
        self.make_room(budget, options);
        if self.by_id.len() >= options.http_limits.max_streams {
            return false;
        }
        let number = stream.name().number;
        self.by_id.insert(number, stream.clone());
        self.running.push(number);
        true
    }

    fn make_room(&mut self, budget: &ReplayBudget, options: &HttpServerOptions) {
        self.find_ended();
        while !self.ended.is_empty() {
            let fits =
                self.ended_bytes <= options.replay.max_session_bytes && !budget.is_exceeded();
            if self.by_id.len() < options.http_limits.max_streams && fits {
                break;
            }
            self.remove_oldest_ended();
        }
    }

    fn remove_expired(&mut self, now: Instant, ttl: Duration) {
        self.find_ended();
        let is_expired =
            |stream: &EndedStream| now.saturating_duration_since(stream.ended_at) >= ttl;
        while self.ended.front().is_some_and(is_expired) {
            self.remove_oldest_ended();
        }
        shrink(&mut self.by_id);
    }

    fn remove_oldest_ended(&mut self) {
        if let Some(stream) = self.ended.pop_front() {
            self.ended_bytes -= stream.bytes;
            self.by_id.remove(&stream.id);
        }
    }

    /// Moves the streams that have ended since the last call from `running` to `ended`.
    fn find_ended(&mut self) {
        let known = self.ended.len();
        let (by_id, ended, ended_bytes) = (&self.by_id, &mut self.ended, &mut self.ended_bytes);
        self.running.retain(|&id| {
            let Some(stream) = by_id.get(&id) else {
                return false;
            };
            let Some(ended_at) = stream.ended_at() else {
                return true;
            };
            let bytes = stream.replay_bytes();
            *ended_bytes += bytes;
            ended.push_back(EndedStream {
                ended_at,
                id,
                bytes,
            });
            false
        });
        if self.ended.len() > known + 1 {
            // The streams that were known before ended earlier.
            self.ended.make_contiguous()[known..].sort_unstable();
        }
    }
}

/// Gives back memory of a map that has become much smaller, which a map does not do by itself.
pub(super) fn shrink<K: Eq + Hash, V>(map: &mut HashMap<K, V>) {
    if map.is_empty() || map.capacity() / 4 > map.len() {
        map.shrink_to(map.len() * 2);
    }
}
