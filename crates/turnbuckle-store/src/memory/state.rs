//! The state of a store in memory, without time and locks of its own.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use bytes::Bytes;
use tokio::task::AbortHandle;
use tokio::time::Instant;

use crate::error::{StoreError, StoreErrorKind};
use crate::types::{
    AppendAt, Claim, Condition, LogSlice, Position, ReadLimit, StoreKey, Version, Versioned,
};

/// The bytes that a value, entry or job is counted with beside its own and those of its key.
const OVERHEAD_BYTES: usize = 128;

type Table<T> = HashMap<StoreKey, T, foldhash::fast::RandomState>;

/// The time at which a thing expires, and a number that tells it from others of that time.
type Expiry = (Instant, u64);

/// A thing that expires.
enum Expiring {
    Value(StoreKey),
    Log(StoreKey),
    Job(StoreKey, u64),
}

struct Value {
    bytes: Bytes,
    version: Version,
    expiry: Expiry,
}

struct Log {
    entries: VecDeque<Bytes>,
    last: u64,
    expiry: Expiry,
}

impl Log {
    fn first(&self) -> u64 {
        self.last + 1 - self.entries.len() as u64
    }
}

#[derive(Default)]
struct Queue {
    jobs: HashMap<u64, Job, foldhash::fast::RandomState>,
    /// The jobs that may be claimed, the oldest first.
    ready: BTreeSet<u64>,
    /// The jobs that are claimed, by the time at which they are ready again.
    hidden: BTreeSet<(Instant, u64)>,
}

struct Job {
    bytes: Bytes,
    expiry: Expiry,
    hidden_until: Option<Instant>,
    token: u64,
    attempt: u32,
}

impl Queue {
    /// Makes claimed jobs ready whose time is over.
    fn release(&mut self, now: Instant) {
        while let Some(&(until, id)) = self.hidden.first()
            && until <= now
        {
            self.hidden.pop_first();
            self.ready.insert(id);
            if let Some(job) = self.jobs.get_mut(&id) {
                job.hidden_until = None;
            }
        }
    }

    fn remove(&mut self, id: u64) -> Option<Job> {
        let job = self.jobs.remove(&id)?;
        match job.hidden_until {
            Some(until) => self.hidden.remove(&(until, id)),
            None => self.ready.remove(&id),
        };
        Some(job)
    }

    fn hide(&mut self, id: u64, until: Instant) -> Option<&mut Job> {
        let job = self.jobs.get_mut(&id)?;
        match job.hidden_until.replace(until) {
            Some(before) => self.hidden.remove(&(before, id)),
            None => self.ready.remove(&id),
        };
        self.hidden.insert((until, id));
        Some(job)
    }
}

/// Everything that a store in memory holds.
pub(super) struct State {
    max_entries: usize,
    max_bytes: usize,
    entries: usize,
    bytes: usize,
    values: Table<Value>,
    logs: Table<Log>,
    queues: Table<Queue>,
    expiries: BTreeMap<Expiry, Expiring>,
    /// The last number that was given: to a version, a job, a claim or an expiry.
    last_number: u64,
    /// The task that removes what has expired while nobody uses the store.
    pub(super) sweeper: Option<AbortHandle>,
}

impl State {
    pub(super) fn new(max_entries: usize, max_bytes: usize) -> Self {
        Self {
            max_entries,
            max_bytes,
            entries: 0,
            bytes: 0,
            values: Table::default(),
            logs: Table::default(),
            queues: Table::default(),
            expiries: BTreeMap::new(),
            last_number: 0,
            sweeper: None,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.entries
    }

    /// Returns whether something will expire that no task will remove.
    pub(super) fn needs_sweeper(&self) -> bool {
        !self.expiries.is_empty() && self.sweeper.as_ref().is_none_or(AbortHandle::is_finished)
    }

    pub(super) fn next_expiry(&self) -> Option<Instant> {
        Some(self.expiries.first_key_value()?.0.0)
    }

    /// Removes what has expired.
    pub(super) fn sweep(&mut self, now: Instant) {
        while let Some(first) = self.expiries.first_entry()
            && first.key().0 <= now
        {
            match first.remove() {
                Expiring::Value(key) => {
                    if let Some(value) = self.values.remove(&key) {
                        self.forget(&key, value.bytes.len());
                    }
                }
                Expiring::Log(key) => {
                    for entry in self
                        .logs
                        .remove(&key)
                        .into_iter()
                        .flat_map(|log| log.entries)
                    {
                        self.forget(&key, entry.len());
                    }
                }
                Expiring::Job(key, id) => {
                    self.remove_job(&key, id);
                }
            }
        }
    }

    pub(super) fn get(&self, key: &StoreKey) -> Option<Versioned> {
        let value = self.values.get(key)?;
        Some(Versioned {
            value: value.bytes.clone(),
            version: value.version,
        })
    }

    pub(super) fn put(
        &mut self,
        key: &StoreKey,
        bytes: Bytes,
        when: Condition,
        expires: Instant,
    ) -> Result<Option<Version>, StoreError> {
        let old = self.values.get(key);
        if !when.holds(old.map(|value| value.version)) {
            return Ok(None);
        }
        let old = old.map(|value| (value.bytes.len(), value.expiry));
        let replaced = old.map_or((0, 0), |(length, _)| (1, size(key, length)));
        self.reserve((1, size(key, bytes.len())), replaced)?;
        if let Some((length, expiry)) = old {
            self.forget(key, length);
            self.expiries.remove(&expiry);
        }
        let version = Version(self.next_number());
        let expiry = (expires, version.0);
        self.account(key, bytes.len());
        self.expiries.insert(expiry, Expiring::Value(key.clone()));
        let value = Value {
            bytes,
            version,
            expiry,
        };
        match self.values.get_mut(key) {
            Some(old) => *old = value,
            None => drop(self.values.insert(key.clone(), value)),
        }
        Ok(Some(version))
    }

    pub(super) fn remove(&mut self, key: &StoreKey, when: Condition) -> bool {
        let Some(version) = self.values.get(key).map(|value| value.version) else {
            return false;
        };
        if !when.holds(Some(version)) {
            return false;
        }
        if let Some(value) = self.values.remove(key) {
            self.expiries.remove(&value.expiry);
            self.forget(key, value.bytes.len());
        }
        true
    }

    pub(super) fn touch(&mut self, key: &StoreKey, expires: Instant) {
        let Some(value) = self.values.get_mut(key) else {
            return;
        };
        let old = value.expiry;
        value.expiry.0 = expires;
        let new = value.expiry;
        if let Some(expiring) = self.expiries.remove(&old) {
            self.expiries.insert(new, expiring);
        }
    }

    pub(super) fn append(
        &mut self,
        key: &StoreKey,
        at: AppendAt,
        entries: Vec<Bytes>,
        keep: u64,
        expires: Instant,
    ) -> Result<Option<Position>, StoreError> {
        let last = self.logs.get(key).map_or(0, |log| log.last);
        if !at.follows(Position(last)) {
            return Ok(None);
        }
        let bytes = entries.iter().map(|entry| size(key, entry.len())).sum();
        self.reserve((entries.len(), bytes), (0, 0))?;
        entries.iter().for_each(|it| self.account(key, it.len()));
        let number = self.next_number();
        let log = self.logs.entry(key.clone()).or_insert_with(|| Log {
            entries: VecDeque::new(),
            last: 0,
            expiry: (expires, number),
        });
        self.expiries.remove(&log.expiry);
        log.expiry.0 = expires;
        self.expiries.insert(log.expiry, Expiring::Log(key.clone()));
        log.last += entries.len() as u64;
        log.entries.extend(entries);
        let last = Position(log.last);
        let surplus = (log.entries.len() as u64).saturating_sub(keep) as usize;
        let dropped: Vec<_> = log.entries.drain(..surplus).map(|it| it.len()).collect();
        for length in dropped {
            self.forget(key, length);
        }
        Ok(Some(last))
    }

    pub(super) fn read(&self, key: &StoreKey, after: Position, limit: ReadLimit) -> LogSlice {
        let Some(log) = self.logs.get(key) else {
            return LogSlice::default();
        };
        let start = log.first().max(after.0.saturating_add(1));
        let skipped = usize::try_from(start - log.first()).unwrap_or(usize::MAX);
        let mut bytes = 0;
        let entries: Vec<_> = log
            .entries
            .iter()
            .skip(skipped)
            .take(limit.entries)
            .take_while(|entry| {
                let is_first = bytes == 0;
                bytes += entry.len().max(1);
                is_first || bytes <= limit.bytes
            })
            .cloned()
            .collect();
        LogSlice {
            start: Position(if entries.is_empty() { 0 } else { start }),
            entries,
            first: Position(log.first()),
            last: Position(log.last),
        }
    }

    pub(super) fn push(
        &mut self,
        key: &StoreKey,
        bytes: Bytes,
        expires: Instant,
    ) -> Result<(), StoreError> {
        self.reserve((1, size(key, bytes.len())), (0, 0))?;
        self.account(key, bytes.len());
        let id = self.next_number();
        let expiry = (expires, id);
        self.expiries.insert(expiry, Expiring::Job(key.clone(), id));
        let queue = self.queues.entry(key.clone()).or_default();
        queue.ready.insert(id);
        let job = Job {
            bytes,
            expiry,
            hidden_until: None,
            token: 0,
            attempt: 0,
        };
        queue.jobs.insert(id, job);
        Ok(())
    }

    pub(super) fn claim(&mut self, key: &StoreKey, now: Instant, until: Instant) -> Option<Claim> {
        let token = self.next_number();
        let queue = self.queues.get_mut(key)?;
        queue.release(now);
        let id = *queue.ready.first()?;
        let job = queue.hide(id, until)?;
        job.token = token;
        job.attempt = job.attempt.saturating_add(1);
        Some(Claim {
            queue: key.clone(),
            id: id.into(),
            token,
            attempt: job.attempt,
            job: job.bytes.clone(),
        })
    }

    pub(super) fn extend(&mut self, claim: &Claim, until: Instant) -> bool {
        let Some(id) = self.find_claimed(claim) else {
            return false;
        };
        let queue = self.queues.get_mut(&claim.queue);
        queue.is_some_and(|queue| queue.hide(id, until).is_some())
    }

    pub(super) fn complete(&mut self, claim: &Claim) -> bool {
        let Some(id) = self.find_claimed(claim) else {
            return false;
        };
        let expiry = self.remove_job(&claim.queue, id);
        expiry.is_some_and(|expiry| self.expiries.remove(&expiry).is_some())
    }

    /// Returns the id of a job if its last claim is this one.
    fn find_claimed(&self, claim: &Claim) -> Option<u64> {
        let id = u64::try_from(claim.id).ok()?;
        let job = self.queues.get(&claim.queue)?.jobs.get(&id)?;
        (job.token == claim.token).then_some(id)
    }

    /// Removes a job. Returns its expiry.
    fn remove_job(&mut self, key: &StoreKey, id: u64) -> Option<Expiry> {
        let queue = self.queues.get_mut(key)?;
        let job = queue.remove(id)?;
        if queue.jobs.is_empty() {
            self.queues.remove(key);
        }
        self.forget(key, job.bytes.len());
        Some(job.expiry)
    }

    fn next_number(&mut self) -> u64 {
        self.last_number += 1;
        self.last_number
    }

    /// Checks that there is room for things instead of old ones: each a number of things and their bytes.
    fn reserve(&self, new: (usize, usize), old: (usize, usize)) -> Result<(), StoreError> {
        let full = if self.entries - old.0 + new.0 > self.max_entries {
            format!(
                "{} entries (MemoryStoreOptions::max_entries)",
                self.max_entries
            )
        } else if self.bytes - old.1 + new.1 > self.max_bytes {
            format!("{} bytes (MemoryStoreOptions::max_bytes)", self.max_bytes)
        } else {
            return Ok(());
        };
        let message = format!(
            "the store in memory is full: it holds at most {full}; raise the bound, or use shorter times \
             to live"
        );
        Err(StoreError::new(StoreErrorKind::Full, message))
    }

    fn account(&mut self, key: &StoreKey, bytes: usize) {
        self.entries += 1;
        self.bytes += size(key, bytes);
    }

    fn forget(&mut self, key: &StoreKey, bytes: usize) {
        self.entries -= 1;
        self.bytes -= size(key, bytes);
    }

    /// Returns the number of things that have an expiry, for tests.
    #[cfg(test)]
    pub(super) fn expiry_count(&self) -> usize {
        self.expiries.len()
    }

    /// Returns whether the store holds nothing at all, for tests.
    #[cfg(test)]
    pub(super) fn is_clean(&self) -> bool {
        (self.entries, self.bytes) == (0, 0)
            && self.values.is_empty()
            && self.logs.is_empty()
            && self.queues.is_empty()
            && self.expiries.is_empty()
    }
}

fn size(key: &StoreKey, bytes: usize) -> usize {
    OVERHEAD_BYTES + key.as_str().len() + bytes
}
