//! The accounts of owners: what each has used of its rates, how many of its requests run, and the
//! memory that is held for it.
//!
//! An owner is a principal, else a legacy session, else a connection.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::time::Instant;
use turnbuckle_types::{ErrorKind, Principal, ProtocolError};
use turnbuckle_wire::revision::{Method, RequestRate};

use crate::shared::bounded_table::BoundedTable;
use crate::shared::limits::Limits;
use crate::shared::memory_budget::{MemoryAccount, MemoryBudget};
use crate::shared::rate::{Rate, TokenBucket};
use crate::shared::trace::count_refusal;

/// The account of an owner: what it has used of its rates, how many of its requests run, and the memory
/// that is held for it.
#[derive(Debug)]
pub struct OwnerAccount {
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
    memory: Arc<MemoryAccount>,
}

impl OwnerAccount {
    /// Returns the account of the only owner of a server, which has used nothing yet.
    #[must_use]
    pub fn new(limits: &Limits) -> Arc<Self> {
        Self::in_budget(limits, &MemoryBudget::new(limits))
    }

    /// Returns the account of one of several owners, which has used nothing yet.
    #[must_use]
    pub fn in_budget(limits: &Limits, budget: &Arc<MemoryBudget>) -> Arc<Self> {
        Arc::new(Self::with_sharing(limits, budget, false))
    }

    fn with_sharing(limits: &Limits, budget: &Arc<MemoryBudget>, shared: bool) -> Self {
        let now = Instant::now();
        let full = |rate| TokenBucket::full(rate, now);
        Self {
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
            memory: budget.new_account(),
        }
    }

    /// Counts a request of the owner. Requests that show that the client is there, or that end
    /// something, are always admitted.
    ///
    /// # Errors
    /// Returns an error when the rate is exceeded, or too many requests run. The requests of a
    /// shared account that run are not bounded.
    pub(crate) fn admit(&self, method: Option<Method>) -> Result<(), ProtocolError> {
        let (bucket, what, set_by) = match method.map_or(RequestRate::Calls, Method::rate) {
            RequestRate::Exempt => return Ok(()),
            RequestRate::Completions => {
                (&self.completions, "completions", "Limits::completion_rate")
            }
            RequestRate::Calls => (&self.calls, "calls", "Limits::call_rate"),
        };
        if self.running.load(Ordering::Relaxed) >= self.max_running && !self.shared {
            return Err(in_flight(self.max_running, "Limits::max_in_flight"));
        }
        bucket.admit(what, set_by)
    }

    /// Counts a handshake of the owner: an `initialize`, or a new connection of HTTP+SSE. A shared account
    /// admits all of them, because one owner could take the handshakes of all others.
    ///
    /// # Errors
    /// Returns an error when the rate is exceeded.
    pub fn admit_handshake(&self) -> Result<(), ProtocolError> {
        match self.shared {
            true => Ok(()),
            false => self
                .handshakes
                .admit("handshakes", "Limits::handshake_rate"),
        }
    }

    /// Counts a log message. Returns the number of messages that were dropped before it, or `None`
    /// if it is to be dropped.
    pub(crate) fn admit_log(&self) -> Option<u64> {
        match self.logs.take(Instant::now) {
            Ok(()) => Some(self.dropped_logs.swap(0, Ordering::Relaxed)),
            Err(_) => {
                count_refusal("Limits::log_rate");
                self.dropped_logs.fetch_add(1, Ordering::Relaxed);
                None
            }
        }
    }

    /// Returns the rate of progress reports of one request.
    pub(crate) fn progress(&self) -> Rate {
        self.progress
    }

    /// Counts a running request.
    pub(crate) fn start_request(self: &Arc<Self>) -> RunningRequest {
        self.running.fetch_add(1, Ordering::Relaxed);
        RunningRequest(self.clone())
    }

    /// Returns an account with the same rates, of which nothing is used.
    pub(crate) fn with_same_rates(&self) -> Arc<Self> {
        let now = Instant::now();
        let full = |bucket: &TokenBucket| TokenBucket::full(bucket.rate(), now);
        Arc::new(Self {
            calls: full(&self.calls),
            completions: full(&self.completions),
            logs: full(&self.logs),
            handshakes: full(&self.handshakes),
            progress: self.progress,
            dropped_logs: AtomicU64::new(0),
            running: AtomicUsize::new(0),
            sessions: AtomicUsize::new(0),
            max_running: self.max_running,
            shared: false,
            memory: self.memory.clone(),
        })
    }

    /// Returns the account of the memory that is held for the owner.
    #[must_use]
    pub fn memory(&self) -> &Arc<MemoryAccount> {
        &self.memory
    }

    pub(crate) fn is_shared(&self) -> bool {
        self.shared
    }

    fn is_idle(&self, now: Instant) -> bool {
        self.running.load(Ordering::Relaxed) == 0
            && self.sessions.load(Ordering::Relaxed) == 0
            && self.memory.used() == 0
            && [&self.calls, &self.completions, &self.logs, &self.handshakes]
                .iter()
                .all(|bucket| bucket.is_full(now))
    }
}

/// A running request. It is counted until this is dropped.
#[derive(Debug)]
pub(crate) struct RunningRequest(Arc<OwnerAccount>);

impl Drop for RunningRequest {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The account of a session, which is remembered until this is dropped, however idle it is.
#[derive(Debug)]
pub(crate) struct AccountLease(Arc<OwnerAccount>);

impl AccountLease {
    pub(crate) fn new(account: Arc<OwnerAccount>) -> Self {
        account.sessions.fetch_add(1, Ordering::Relaxed);
        Self(account)
    }

    pub(crate) fn account(&self) -> &Arc<OwnerAccount> {
        &self.0
    }
}

impl Drop for AccountLease {
    fn drop(&mut self) {
        self.0.sessions.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Returns the error for a request beyond a limit of running requests.
pub(crate) fn in_flight(most: usize, set_by: &str) -> ProtocolError {
    count_refusal(set_by);
    let message = format!("too many requests in flight: the limit is {most} ({set_by})");
    ProtocolError::new(ErrorKind::RateLimited { retry_after: None }, message)
}

/// The accounts of the owners of one endpoint.
#[derive(Debug)]
pub(crate) struct OwnerAccounts {
    limits: Arc<Limits>,
    budget: Arc<MemoryBudget>,
    /// Accounts by a keyed hash of the principal.
    by_principal: Mutex<BoundedTable<Arc<OwnerAccount>>>,
    hasher: RandomState,
    /// The account of the principals beyond the limit.
    overflow: Arc<OwnerAccount>,
    /// The account of the requests without a principal and without a known connection.
    anonymous: Arc<OwnerAccount>,
}

impl OwnerAccounts {
    pub(crate) fn new(limits: Arc<Limits>, budget: Arc<MemoryBudget>) -> Self {
        Self {
            by_principal: Mutex::new(BoundedTable::new(limits.max_principals)),
            hasher: RandomState::new(),
            overflow: Arc::new(OwnerAccount::with_sharing(&limits, &budget, true)),
            anonymous: Arc::new(OwnerAccount::with_sharing(&limits, &budget, true)),
            limits,
            budget,
        }
    }

    /// Returns the budget that the accounts share.
    pub(crate) fn budget(&self) -> &Arc<MemoryBudget> {
        &self.budget
    }

    /// Returns the account of another owner.
    pub(crate) fn new_account(&self) -> Arc<OwnerAccount> {
        OwnerAccount::in_budget(&self.limits, &self.budget)
    }

    /// Returns the account of a request: that of its principal, else that of its connection, else
    /// one account for all requests without either.
    pub(crate) fn account_of<'a>(
        &'a self,
        principal: Option<&Principal>,
        connection: Option<&'a Arc<OwnerAccount>>,
    ) -> Arc<OwnerAccount> {
        match (principal, connection) {
            (Some(principal), _) => self.account_of_principal(principal),
            (None, Some(connection)) => connection.clone(),
            (None, None) => self.anonymous.clone(),
        }
    }

    fn account_of_principal(&self, principal: &Principal) -> Arc<OwnerAccount> {
        let name = self.hasher.hash_one(principal.identity());
        let table = self.by_principal.lock();
        let mut table = table.unwrap_or_else(PoisonError::into_inner);
        let is_idle = |account: &Arc<OwnerAccount>, now| account.is_idle(now);
        let account = table.get_or_insert(name, is_idle, || self.new_account());
        account.unwrap_or(&self.overflow).clone()
    }
}

#[cfg(test)]
mod tests;
