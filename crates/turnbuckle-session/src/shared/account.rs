//! The accounts of owners: what each has used of its rates, how many of its requests run, and the
//! memory that is held for it.
//!
//! An owner is a principal, else a legacy session, else a client address that a proxy names, else a
//! connection.

use std::borrow::Cow;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hash};
use std::net::IpAddr;
use std::ops::Deref;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::time::Instant;
use turnbuckle_types::{Principal, ProtocolError};
use turnbuckle_wire::revision::{Method, RequestRate};

use crate::shared::bounded_table::BoundedTable;
use crate::shared::limits::Limits;
use crate::shared::memory_budget::{AddressMemory, MemoryAccount, MemoryBudget, MemoryExceeded};
use crate::shared::rate::{Rate, TokenBucket};
use crate::shared::trace::{count_refusal, limit_error};

/// The account of an owner, for requests from one address: what the owner has used of its rates, how many
/// of its requests run, and the memory that is held for it. Clones are the same account.
#[derive(Debug, Clone)]
pub struct OwnerAccount {
    usage: Arc<Usage>,
    memory: MemoryAccount,
}

/// The use of an owner, at all addresses.
#[derive(Debug)]
struct Usage {
    calls: TokenBucket,
    completions: TokenBucket,
    logs: TokenBucket,
    handshakes: TokenBucket,
    progress: Rate,
    /// Log messages that were dropped since the last one was sent.
    dropped_logs: AtomicU64,
    /// Handlers that run in tasks.
    running: AtomicUsize,
    /// Sessions that count on the account.
    sessions: AtomicUsize,
    max_running: usize,
    /// True if several owners share the account.
    shared: bool,
}

impl OwnerAccount {
    /// Returns the account of the only owner of a server, which has used nothing yet.
    #[must_use]
    pub fn new(limits: &Limits) -> Self {
        Self::in_budget(limits, &MemoryBudget::new(limits))
    }

    /// Returns the account of one of several owners, which has used nothing yet.
    #[must_use]
    pub fn in_budget(limits: &Limits, budget: &Arc<MemoryBudget>) -> Self {
        Self::with_sharing(limits, budget, false)
    }

    fn with_sharing(limits: &Limits, budget: &Arc<MemoryBudget>, shared: bool) -> Self {
        let now = Instant::now();
        let full = |rate| TokenBucket::full(rate, now);
        let usage = Usage {
            calls: full(limits.call_rate),
            completions: full(limits.completion_rate),
            logs: full(limits.log_rate),
            handshakes: full(limits.handshake_rate),
            progress: limits.progress_rate,
            dropped_logs: AtomicU64::new(0),
            running: AtomicUsize::new(0),
            sessions: AtomicUsize::new(0),
            max_running: limits.max_in_flight,
            shared,
        };
        Self {
            usage: Arc::new(usage),
            memory: budget.new_account(),
        }
    }

    /// Returns the account of the same owner for requests from an address.
    ///
    /// Where several owners share the account, their memory counts for the address alone: those at one
    /// address would take that of all others.
    #[must_use]
    pub fn with_address(&self, address: Option<Arc<AddressMemory>>) -> Self {
        let memory = match self.usage.shared && address.is_some() {
            true => self.memory.budget().new_account().with_address(address),
            false => self.memory.with_address(address),
        };
        Self {
            usage: self.usage.clone(),
            memory,
        }
    }

    /// Counts a request of the owner. Requests that show that the client is there, or that end
    /// something, are always admitted.
    ///
    /// # Errors
    /// Returns an error when the rate is exceeded, or too many requests run. The requests of a
    /// shared account that run are not bounded.
    pub(crate) fn admit(&self, method: Option<Method>) -> Result<(), ProtocolError> {
        let usage = &*self.usage;
        let (bucket, what, set_by) = match method.map_or(RequestRate::Calls, Method::rate) {
            RequestRate::Exempt => return Ok(()),
            RequestRate::Completions => {
                (&usage.completions, "completions", "Limits::completion_rate")
            }
            RequestRate::Calls => (&usage.calls, "calls", "Limits::call_rate"),
        };
        if usage.running.load(Ordering::Relaxed) >= usage.max_running && !usage.shared {
            return Err(in_flight(usage.max_running, "Limits::max_in_flight"));
        }
        bucket.admit(what, set_by)
    }

    /// Counts a handshake of the owner: an `initialize`, or a new connection of HTTP+SSE. A shared account
    /// admits all of them, because one owner could take the handshakes of all others.
    ///
    /// # Errors
    /// Returns an error when the rate is exceeded.
    pub fn admit_handshake(&self) -> Result<(), ProtocolError> {
        match self.usage.shared {
            true => Ok(()),
            false => self
                .usage
                .handshakes
                .admit("handshakes", "Limits::handshake_rate"),
        }
    }

    /// Counts a log message. Returns the number of messages that were dropped before it, or `None`
    /// if it is to be dropped.
    pub(crate) fn admit_log(&self) -> Option<u64> {
        match self.usage.logs.take(Instant::now) {
            Ok(()) => Some(self.usage.dropped_logs.swap(0, Ordering::Relaxed)),
            Err(_) => {
                count_refusal("Limits::log_rate");
                self.usage.dropped_logs.fetch_add(1, Ordering::Relaxed);
                None
            }
        }
    }

    /// Returns the rate of progress reports of one request.
    pub(crate) fn progress(&self) -> Rate {
        self.usage.progress
    }

    /// Counts a running request.
    pub(crate) fn start_request(&self) -> RunningRequest {
        self.usage.running.fetch_add(1, Ordering::Relaxed);
        RunningRequest(self.usage.clone())
    }

    /// Returns an account with the same rates, of which nothing is used.
    pub(crate) fn with_same_rates(&self) -> Self {
        let now = Instant::now();
        let full = |bucket: &TokenBucket| TokenBucket::full(bucket.rate(), now);
        let usage = Usage {
            calls: full(&self.usage.calls),
            completions: full(&self.usage.completions),
            logs: full(&self.usage.logs),
            handshakes: full(&self.usage.handshakes),
            progress: self.usage.progress,
            dropped_logs: AtomicU64::new(0),
            running: AtomicUsize::new(0),
            sessions: AtomicUsize::new(0),
            max_running: self.usage.max_running,
            shared: false,
        };
        Self {
            usage: Arc::new(usage),
            memory: self.memory.clone(),
        }
    }

    /// Reserves the memory of a request. Returns the account with these bytes, which are given back
    /// when it is dropped.
    ///
    /// # Errors
    /// As [`MemoryAccount::reserve`].
    pub(crate) fn with_reserved(&self, bytes: usize) -> Result<RequestAccount, MemoryExceeded> {
        self.memory.add(bytes)?;
        Ok(RequestAccount {
            account: self.clone(),
            bytes,
        })
    }

    /// Returns the account of the memory that is held for the owner.
    #[must_use]
    pub fn memory(&self) -> &MemoryAccount {
        &self.memory
    }

    pub(crate) fn is_shared(&self) -> bool {
        self.usage.shared
    }

    fn is_idle(&self, now: Instant) -> bool {
        self.usage.running.load(Ordering::Relaxed) == 0
            && self.usage.sessions.load(Ordering::Relaxed) == 0
            && self.memory.used() == 0
            && [
                &self.usage.calls,
                &self.usage.completions,
                &self.usage.logs,
                &self.usage.handshakes,
            ]
            .iter()
            .all(|bucket| bucket.is_full(now))
    }
}

/// The account of a request, with the memory of the request. It is one clone of the account, where the
/// account and a permit would be two.
#[derive(Debug)]
pub(crate) struct RequestAccount {
    account: OwnerAccount,
    bytes: usize,
}

impl Deref for RequestAccount {
    type Target = OwnerAccount;

    fn deref(&self) -> &OwnerAccount {
        &self.account
    }
}

impl Drop for RequestAccount {
    fn drop(&mut self) {
        self.account.memory.subtract(self.bytes);
    }
}

/// A running request. It is counted until this is dropped.
#[derive(Debug)]
pub(crate) struct RunningRequest(Arc<Usage>);

impl Drop for RunningRequest {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The account of a session, which is remembered until this is dropped, however idle it is.
#[derive(Debug)]
pub(crate) struct AccountLease(OwnerAccount);

impl AccountLease {
    pub(crate) fn new(account: OwnerAccount) -> Self {
        account.usage.sessions.fetch_add(1, Ordering::Relaxed);
        Self(account)
    }

    pub(crate) fn account(&self) -> &OwnerAccount {
        &self.0
    }
}

impl Drop for AccountLease {
    fn drop(&mut self) {
        self.0.usage.sessions.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Returns the error for a request beyond a limit of running requests.
pub(crate) fn in_flight(most: usize, set_by: &'static str) -> ProtocolError {
    let message = format!("too many requests in flight: the limit is {most} ({set_by})");
    limit_error(set_by, message, None)
}

/// The accounts of the owners of one endpoint.
#[derive(Debug)]
pub(crate) struct OwnerAccounts {
    limits: Arc<Limits>,
    budget: Arc<MemoryBudget>,
    /// Accounts by a keyed hash of the principal.
    by_principal: Mutex<BoundedTable<OwnerAccount>>,
    /// Accounts by a keyed hash of the address, in a table of their own: anyone can have many addresses,
    /// and they take no place from principals.
    by_address: Mutex<BoundedTable<OwnerAccount>>,
    hasher: RandomState,
    /// The account of the owners beyond the limit.
    overflow: OwnerAccount,
    /// The account of the requests without a principal and without a known connection.
    anonymous: OwnerAccount,
}

impl OwnerAccounts {
    pub(crate) fn new(limits: Arc<Limits>, budget: Arc<MemoryBudget>) -> Self {
        Self {
            by_principal: Mutex::new(BoundedTable::new(limits.max_principals)),
            by_address: Mutex::new(BoundedTable::new(limits.max_principals)),
            hasher: RandomState::new(),
            overflow: OwnerAccount::with_sharing(&limits, &budget, true),
            anonymous: OwnerAccount::with_sharing(&limits, &budget, true),
            limits,
            budget,
        }
    }

    /// Returns the budget that the accounts share.
    pub(crate) fn budget(&self) -> &Arc<MemoryBudget> {
        &self.budget
    }

    /// Returns the account of another owner.
    pub(crate) fn new_account(&self) -> OwnerAccount {
        OwnerAccount::in_budget(&self.limits, &self.budget)
    }

    /// Returns the account of a request: that of its principal at the address of its connection, else
    /// that of its connection, else one account for all requests without either.
    pub(crate) fn account_of<'a>(
        &'a self,
        principal: Option<&Principal>,
        connection: Option<&'a OwnerAccount>,
    ) -> Cow<'a, OwnerAccount> {
        match (principal, connection) {
            (Some(principal), connection) => {
                let address = connection.and_then(|connection| connection.memory.address());
                let account = self.account_of_principal(principal);
                Cow::Owned(account.with_address(address.cloned()))
            }
            (None, Some(connection)) => Cow::Borrowed(connection),
            (None, None) => Cow::Borrowed(&self.anonymous),
        }
    }

    /// Returns the account of a client that is known by its address alone.
    pub(crate) fn account_at(&self, address: IpAddr) -> OwnerAccount {
        let address = self.budget.address(address);
        let account = self.account_in(&self.by_address, address.network());
        account.with_address(Some(address))
    }

    fn account_of_principal(&self, principal: &Principal) -> OwnerAccount {
        self.account_in(&self.by_principal, principal.identity())
    }

    fn account_in(
        &self,
        table: &Mutex<BoundedTable<OwnerAccount>>,
        key: impl Hash,
    ) -> OwnerAccount {
        let key = self.hasher.hash_one(key);
        let table = table.lock();
        let mut table = table.unwrap_or_else(PoisonError::into_inner);
        let is_idle = |account: &OwnerAccount, now| account.is_idle(now);
        let account = table.get_or_insert(key, is_idle, || self.new_account());
        account.unwrap_or(&self.overflow).clone()
    }
}

#[cfg(test)]
mod tests;
