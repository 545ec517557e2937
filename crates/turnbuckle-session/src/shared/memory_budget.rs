//! The memory that clients make a server use: accounts of its owners, and the total.
//!
//! An owner is whom the rates count for: a principal, else a session, else a connection. What is
//! held for an owner holds a [`MemoryPermit`] for its bytes, which gives them back when it is
//! dropped. A permit travels with the bytes that it stands for.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use bytes::Bytes;
use turnbuckle_types::ProtocolError;

use crate::shared::limits::Limits;
use crate::shared::trace::count_refusal;

mod eviction;

pub use eviction::EvictMemory;
use eviction::{Evictors, RETRY_DELAY};

/// A search for memory frees one of so many parts of the total more than is needed, because it reads
/// whole tables.
const EVICTED_SHARE: usize = 64;

/// The memory that all clients of a server together make it use.
#[derive(Debug)]
pub struct MemoryBudget {
    max_owner_bytes: usize,
    max_total_bytes: usize,
    total: AtomicUsize,
    evictors: Evictors,
}

impl MemoryBudget {
    /// Returns the budget of a server with these limits, of which nothing is used.
    #[must_use]
    pub fn new(limits: &Limits) -> Arc<Self> {
        Arc::new(Self {
            max_owner_bytes: limits.max_owner_bytes,
            max_total_bytes: limits.max_total_bytes,
            total: AtomicUsize::new(0),
            evictors: Evictors::default(),
        })
    }

    /// Adds a table that gives memory back before a request is refused for the total.
    pub fn add_evictor(&self, evictor: Weak<dyn EvictMemory>) {
        self.evictors.add(evictor);
    }

    /// Returns the account of another owner.
    pub(crate) fn new_account(self: &Arc<Self>) -> Arc<MemoryAccount> {
        Arc::new(MemoryAccount {
            budget: self.clone(),
            used: AtomicUsize::new(0),
        })
    }

    /// Returns the bytes that are in use.
    #[must_use]
    pub fn used(&self) -> usize {
        self.total.load(Ordering::Relaxed)
    }
}

/// The memory that one owner makes a server use.
#[derive(Debug)]
pub struct MemoryAccount {
    budget: Arc<MemoryBudget>,
    used: AtomicUsize,
}

impl MemoryAccount {
    /// Reserves bytes for the owner. Where the total is used up, what can be dropped makes room first:
    /// no caller holds a lock of a session, of its streams, or of a table of sessions.
    ///
    /// # Errors
    /// When the owner would have more than [`Limits::max_owner_bytes`], or all owners together more
    /// than [`Limits::max_total_bytes`], or the owner more than it leaves to all others: a few owners
    /// cannot use up the total.
    pub fn reserve(self: &Arc<Self>, bytes: usize) -> Result<MemoryPermit, MemoryExceeded> {
        self.add(bytes)?;
        Ok(self.permit(bytes))
    }

    /// Reserves bytes for the owner if they are free: for a sender that can wait for its reader instead.
    ///
    /// # Errors
    /// As [`reserve`](Self::reserve).
    pub fn reserve_free(self: &Arc<Self>, bytes: usize) -> Result<MemoryPermit, MemoryExceeded> {
        self.add_free(bytes)?;
        Ok(self.permit(bytes))
    }

    /// Reserves bytes that exist already and are bounded otherwise, even beyond the limits.
    #[must_use]
    pub fn reserve_beyond_limits(self: &Arc<Self>, bytes: usize) -> MemoryPermit {
        self.add_beyond_limits(bytes);
        self.permit(bytes)
    }

    fn permit(self: &Arc<Self>, bytes: usize) -> MemoryPermit {
        MemoryPermit(Some(Reservation {
            account: self.clone(),
            bytes,
        }))
    }

    /// Returns the bytes that are in use.
    #[must_use]
    pub fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    /// Returns the budget that the account belongs to.
    #[must_use]
    pub fn budget(&self) -> &Arc<MemoryBudget> {
        &self.budget
    }

    fn add(&self, bytes: usize) -> Result<(), MemoryExceeded> {
        match self.add_free(bytes) {
            Err(MemoryExceeded::Total { .. }) if self.evict(bytes) => self.add_free(bytes),
            added => added,
        }
    }

    /// Makes room for `bytes` more of the owner within the total. Returns `false` if there is none.
    ///
    /// Streams that have ended go first. Sessions end only if all owners together have too much: an
    /// owner that has more than it leaves to the others ends nobody's session.
    #[cold]
    fn evict(&self, bytes: usize) -> bool {
        let evictors = &self.budget.evictors;
        let max = self.budget.max_total_bytes;
        // More than half of all is refused whatever the others have.
        let can_fit = self.used().saturating_add(bytes) <= max / 2;
        if !can_fit || !evictors.is_worth_a_search() {
            return false;
        }
        let more = bytes + max / EVICTED_SHARE;
        let left = |more| max.checked_sub(self.budget.used() + more);
        let fits = |more| left(more).is_some_and(|left| self.used() + bytes <= left);
        evictors.for_each(|table| table.evict_ended_streams(&|| fits(more)));
        if left(bytes).is_none() {
            evictors.for_each(|table| table.evict_idle_sessions(&|| left(more).is_some()));
        }
        let has_room = fits(bytes);
        if !has_room {
            evictors.set_exhausted();
        }
        has_room
    }

    fn add_free(&self, bytes: usize) -> Result<(), MemoryExceeded> {
        let MemoryBudget {
            max_owner_bytes,
            max_total_bytes,
            ref total,
            ..
        } = *self.budget;
        let used = self.used.fetch_add(bytes, Ordering::Relaxed) + bytes;
        let total = total.fetch_add(bytes, Ordering::Relaxed) + bytes;
        let exceeded = match max_total_bytes.checked_sub(total) {
            _ if used > max_owner_bytes => MemoryExceeded::Owner {
                limit: max_owner_bytes,
            },
            Some(left) if used <= left => return Ok(()),
            _ => MemoryExceeded::Total {
                limit: max_total_bytes,
            },
        };
        self.subtract(bytes);
        Err(exceeded)
    }

    fn add_beyond_limits(&self, bytes: usize) {
        self.used.fetch_add(bytes, Ordering::Relaxed);
        self.budget.total.fetch_add(bytes, Ordering::Relaxed);
    }

    fn subtract(&self, bytes: usize) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
        self.budget.total.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// The reason why memory is not given to an owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemoryExceeded {
    /// The owner uses as much as one may.
    Owner {
        /// The limit (`Limits::max_owner_bytes`).
        limit: usize,
    },
    /// All owners together use as much as they may.
    Total {
        /// The limit (`Limits::max_total_bytes`).
        limit: usize,
    },
}

impl MemoryExceeded {
    /// Counts a message that is refused for this reason, for metrics.
    #[cold]
    pub fn count_refusal(&self) {
        count_refusal(match self {
            Self::Owner { .. } => "Limits::max_owner_bytes",
            Self::Total { .. } => "Limits::max_total_bytes",
        });
    }

    /// Returns the time after which another try is worth it.
    #[must_use]
    pub fn retry_after(&self) -> Duration {
        RETRY_DELAY
    }
}

impl fmt::Display for MemoryExceeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Owner { limit } => write!(
                f,
                "too many bytes of this client's requests and answers are held: the limit is \
                 {limit} (Limits::max_owner_bytes)"
            ),
            Self::Total { limit } => write!(
                f,
                "too many bytes of requests and answers are held: the limit of all clients is \
                 {limit} (Limits::max_total_bytes)"
            ),
        }
    }
}

impl From<MemoryExceeded> for ProtocolError {
    fn from(exceeded: MemoryExceeded) -> Self {
        exceeded.count_refusal();
        Self::rate_limited(exceeded.to_string(), exceeded.retry_after())
    }
}

/// Reserved bytes of an owner, given back when this is dropped. The default holds none.
#[derive(Default)]
pub struct MemoryPermit(Option<Reservation>);

struct Reservation {
    account: Arc<MemoryAccount>,
    bytes: usize,
}

impl MemoryPermit {
    /// Returns the reserved bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.0.as_ref().map_or(0, |held| held.bytes)
    }

    /// Sets the number of reserved bytes.
    ///
    /// # Errors
    /// When a limit would be exceeded. The reserved bytes are then the same as before.
    pub fn resize(&mut self, bytes: usize) -> Result<(), MemoryExceeded> {
        let Some(held) = &mut self.0 else {
            return Ok(());
        };
        match bytes.checked_sub(held.bytes) {
            Some(more) => held.account.add(more)?,
            None => held.account.subtract(held.bytes - bytes),
        }
        held.bytes = bytes;
        Ok(())
    }

    /// Sets the number of reserved bytes, even beyond the limits.
    pub fn resize_beyond_limits(&mut self, bytes: usize) {
        let Some(held) = &mut self.0 else {
            return;
        };
        match bytes.checked_sub(held.bytes) {
            Some(more) => held.account.add_beyond_limits(more),
            None => held.account.subtract(held.bytes - bytes),
        }
        held.bytes = bytes;
    }

    /// Adds the bytes of another permit.
    pub fn absorb(&mut self, mut other: Self) {
        match (&mut self.0, &mut other.0) {
            (Some(own), Some(more)) if Arc::ptr_eq(&own.account, &more.account) => {
                own.bytes += std::mem::take(&mut more.bytes);
            }
            (None, _) => *self = other,
            _ => {}
        }
    }

    /// Returns the content as bytes that hold this permit until the last of their clones is dropped.
    #[must_use]
    pub fn attach(self, content: impl Into<Bytes>) -> Bytes {
        let content = content.into();
        match self.0 {
            None => content,
            Some(_) => Bytes::from_owner(CountedBytes {
                content,
                _permit: self,
            }),
        }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.account.subtract(self.bytes);
    }
}

impl fmt::Debug for MemoryPermit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MemoryPermit({} bytes)", self.bytes())
    }
}

/// Bytes with their permit.
struct CountedBytes {
    content: Bytes,
    _permit: MemoryPermit,
}

impl AsRef<[u8]> for CountedBytes {
    fn as_ref(&self) -> &[u8] {
        &self.content
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn budget(owner: usize, total: usize) -> Arc<MemoryBudget> {
        MemoryBudget::new(&Limits::new().max_owner_bytes(owner).max_total_bytes(total))
    }

    #[test]
    fn an_owner_has_its_share_and_others_have_theirs() {
        let budget = budget(10, 1000);
        let (one, two) = (budget.new_account(), budget.new_account());
        let held = one.reserve(10).unwrap();
        let refused = one.reserve(1).unwrap_err();
        assert_eq!(refused, MemoryExceeded::Owner { limit: 10 });
        assert!(refused.to_string().contains("Limits::max_owner_bytes"));
        assert!(two.reserve(10).is_ok());
        drop(held);
        assert!(one.reserve(10).is_ok());
        assert_eq!((one.used(), budget.used()), (0, 0));
    }

    #[test]
    fn an_owner_leaves_to_the_others_as_much_as_it_has() {
        let budget = budget(1000, 100);
        let owners: Vec<_> = (0..20).map(|_| budget.new_account()).collect();
        let mut held: Vec<MemoryPermit> = Vec::new();
        // All but one take whatever they get.
        for owner in &owners[1..] {
            while let Ok(permit) = owner.reserve(1) {
                held.push(permit);
            }
        }
        assert_eq!(owners[1].used(), 50, "half of what is there");
        assert!(budget.used() < 100, "there is some left for the last");
        let refused = owners[1].reserve(1).unwrap_err();
        assert_eq!(refused, MemoryExceeded::Total { limit: 100 });
        assert!(refused.to_string().contains("Limits::max_total_bytes"));
        drop(held);
        assert_eq!(budget.used(), 0);
    }

    #[test]
    fn a_permit_grows_shrinks_and_goes_with_its_bytes() {
        let budget = budget(100, 1000);
        let owner = budget.new_account();
        let mut permit = owner.reserve(10).unwrap();
        permit.resize(60).unwrap();
        assert!(permit.resize(101).is_err());
        assert_eq!((permit.bytes(), owner.used()), (60, 60));
        permit.resize(5).unwrap();
        permit.absorb(owner.reserve(2).unwrap());
        assert_eq!((permit.bytes(), owner.used()), (7, 7));
        let bytes = permit.attach(&b"content"[..]);
        let part = bytes.slice(2..4);
        drop(bytes);
        assert_eq!(owner.used(), 7);
        drop(part);
        assert_eq!((owner.used(), budget.used()), (0, 0));
        let beyond = owner.reserve_beyond_limits(5000);
        assert!(owner.reserve(1).is_err());
        drop(beyond);
        assert!(owner.reserve(1).is_ok());
    }
}
