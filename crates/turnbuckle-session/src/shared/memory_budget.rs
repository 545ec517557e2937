//! The memory that clients make a server use: accounts of its owners and of their addresses, and the
//! total.
//!
//! An owner is whom the rates count for: a principal, else a session, else a connection. One client can
//! have any number of connections, so the bytes of an owner also count for the address that they
//! came from. Everything that is held for an owner has a [`MemoryPermit`] for its bytes, which
//! gives them back when it is dropped. A permit travels with the bytes that it stands for.

use std::collections::HashMap;
use std::fmt;
use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use bytes::Bytes;
use turnbuckle_types::{ClientAddress, ProtocolError};

use crate::shared::limits::Limits;
use crate::shared::trace::{count_refusal, limit_error};

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
    /// The addresses for which memory is held, or that have a connection.
    addresses: Mutex<HashMap<IpAddr, Weak<AddressMemory>>>,
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
            addresses: Mutex::default(),
            evictors: Evictors::default(),
        })
    }

    /// Adds a table that gives memory back before a request is refused for the total.
    pub fn add_evictor(&self, evictor: Weak<dyn EvictMemory>) {
        self.evictors.add(evictor);
    }

    /// Returns the account of another owner, at no address.
    pub(crate) fn new_account(self: &Arc<Self>) -> MemoryAccount {
        MemoryAccount {
            owner: Arc::new(OwnerMemory {
                budget: self.clone(),
                used: AtomicUsize::new(0),
            }),
            address: None,
        }
    }

    /// Returns the memory of all owners at an address, an IPv4 address or the /64 network of an IPv6
    /// address. It is known for as long as anyone holds it.
    #[must_use]
    pub fn address(self: &Arc<Self>, address: IpAddr) -> Arc<AddressMemory> {
        let network = ClientAddress(address).network();
        let mut addresses = self.addresses();
        if let Some(known) = addresses.get(&network).and_then(Weak::upgrade) {
            return known;
        }
        let memory = Arc::new(AddressMemory {
            budget: self.clone(),
            network,
            used: AtomicUsize::new(0),
        });
        addresses.insert(network, Arc::downgrade(&memory));
        memory
    }

    fn addresses(&self) -> MutexGuard<'_, HashMap<IpAddr, Weak<AddressMemory>>> {
        let addresses = self.addresses.lock();
        addresses.unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the bytes that are in use.
    #[must_use]
    pub fn used(&self) -> usize {
        self.total.load(Ordering::Relaxed)
    }
}

/// The memory that one owner makes a server use.
#[derive(Debug)]
struct OwnerMemory {
    budget: Arc<MemoryBudget>,
    used: AtomicUsize,
}

/// The memory that all owners at one address make a server use.
#[derive(Debug)]
pub struct AddressMemory {
    budget: Arc<MemoryBudget>,
    network: IpAddr,
    used: AtomicUsize,
}

impl AddressMemory {
    /// Returns the address, or the first address of its network.
    pub(crate) fn network(&self) -> IpAddr {
        self.network
    }

    /// Returns the bytes that are in use.
    #[must_use]
    pub fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }
}

impl Drop for AddressMemory {
    fn drop(&mut self) {
        let mut addresses = self.budget.addresses();
        let known = addresses.get(&self.network);
        // Another may have taken the place while this one ended.
        if known.is_some_and(|known| std::ptr::eq(known.as_ptr(), self)) {
            addresses.remove(&self.network);
        }
    }
}

/// The account of an owner's memory, for requests from one address. Clones are the same account.
#[derive(Debug, Clone)]
pub struct MemoryAccount {
    owner: Arc<OwnerMemory>,
    /// The memory of the address, if it is known.
    address: Option<Arc<AddressMemory>>,
}

impl MemoryAccount {
    /// Returns the account of the same owner for requests from an address.
    #[must_use]
    pub(crate) fn with_address(&self, address: Option<Arc<AddressMemory>>) -> Self {
        Self {
            owner: self.owner.clone(),
            address,
        }
    }

    /// Returns the memory of the address that the account is for.
    #[must_use]
    pub fn address(&self) -> Option<&Arc<AddressMemory>> {
        self.address.as_ref()
    }

    /// Reserves bytes for the owner. Where the total is used up, what can be dropped makes room first:
    /// no caller holds a lock of a session, of its streams, or of a table of sessions.
    ///
    /// # Errors
    /// When the owner would have more than [`Limits::max_owner_bytes`], or all owners together more
    /// than [`Limits::max_total_bytes`], or the owner or its address more than it leaves to all others:
    /// a few of them cannot use up the total.
    pub fn reserve(&self, bytes: usize) -> Result<MemoryPermit, MemoryExceeded> {
        self.add(bytes)?;
        Ok(self.permit(bytes))
    }

    /// Reserves bytes for the owner if they are free: for a sender that can wait for its reader instead.
    ///
    /// # Errors
    /// As [`reserve`](Self::reserve).
    pub fn reserve_free(&self, bytes: usize) -> Result<MemoryPermit, MemoryExceeded> {
        self.add_free(bytes)?;
        Ok(self.permit(bytes))
    }

    /// Reserves bytes that exist already and are bounded otherwise, even beyond the limits.
    #[must_use]
    pub fn reserve_beyond_limits(&self, bytes: usize) -> MemoryPermit {
        self.add_beyond_limits(bytes);
        self.permit(bytes)
    }

    fn permit(&self, bytes: usize) -> MemoryPermit {
        MemoryPermit(Some(Reservation {
            account: self.clone(),
            bytes,
        }))
    }

    /// Returns the bytes of the owner that are in use, at any address.
    #[must_use]
    pub fn used(&self) -> usize {
        self.owner.used.load(Ordering::Relaxed)
    }

    /// Returns the budget that the account belongs to.
    #[must_use]
    pub fn budget(&self) -> &Arc<MemoryBudget> {
        &self.owner.budget
    }

    fn is_same(&self, other: &Self) -> bool {
        let address = |account: &Self| account.address.as_ref().map(Arc::as_ptr);
        Arc::ptr_eq(&self.owner, &other.owner) && address(self) == address(other)
    }

    /// Returns the bytes of the owner or of its address, whichever has more.
    fn larger_use(&self) -> usize {
        let address = self.address.as_ref().map_or(0, |address| address.used());
        self.used().max(address)
    }

    pub(super) fn add(&self, bytes: usize) -> Result<(), MemoryExceeded> {
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
        let budget = self.budget();
        let evictors = &budget.evictors;
        let max = budget.max_total_bytes;
        // More than half of all is refused whatever the others have.
        let can_fit = self.larger_use().saturating_add(bytes) <= max / 2;
        if !can_fit || !evictors.is_worth_a_search() {
            return false;
        }
        let more = bytes + max / EVICTED_SHARE;
        let left = |more| max.checked_sub(budget.used() + more);
        let fits = |more| left(more).is_some_and(|left| self.larger_use() + bytes <= left);
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
        } = **self.budget();
        let add = |sum: &AtomicUsize| sum.fetch_add(bytes, Ordering::Relaxed) + bytes;
        let used = add(&self.owner.used);
        let at_address = self.address.as_ref().map_or(0, |it| add(&it.used));
        let total = add(total);
        let exceeded = match max_total_bytes.checked_sub(total) {
            _ if used > max_owner_bytes => MemoryExceeded::Owner {
                limit: max_owner_bytes,
            },
            Some(left) if used.max(at_address) <= left => return Ok(()),
            _ => MemoryExceeded::Total {
                limit: max_total_bytes,
            },
        };
        self.subtract(bytes);
        Err(exceeded)
    }

    fn add_beyond_limits(&self, bytes: usize) {
        self.owner.used.fetch_add(bytes, Ordering::Relaxed);
        self.budget().total.fetch_add(bytes, Ordering::Relaxed);
        if let Some(address) = &self.address {
            address.used.fetch_add(bytes, Ordering::Relaxed);
        }
    }

    pub(super) fn subtract(&self, bytes: usize) {
        self.owner.used.fetch_sub(bytes, Ordering::Relaxed);
        self.budget().total.fetch_sub(bytes, Ordering::Relaxed);
        if let Some(address) = &self.address {
            address.used.fetch_sub(bytes, Ordering::Relaxed);
        }
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
        count_refusal(self.limit());
    }

    /// Returns the name of the limit.
    #[must_use]
    pub fn limit(&self) -> &'static str {
        match self {
            Self::Owner { .. } => "Limits::max_owner_bytes",
            Self::Total { .. } => "Limits::max_total_bytes",
        }
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
        limit_error(
            exceeded.limit(),
            exceeded.to_string(),
            Some(exceeded.retry_after()),
        )
    }
}

/// Reserved bytes of an owner, given back when this is dropped. The default holds none.
#[derive(Default)]
pub struct MemoryPermit(Option<Reservation>);

struct Reservation {
    account: MemoryAccount,
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
            (Some(own), Some(more)) if own.account.is_same(&more.account) => {
                own.bytes += std::mem::take(&mut more.bytes);
            }
            // The bytes count on this account from now on, and no more on the other.
            (Some(own), Some(more)) => {
                own.account.add_beyond_limits(more.bytes);
                own.bytes += more.bytes;
            }
            (None, _) => *self = other,
            (Some(_), None) => {}
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
mod tests;
