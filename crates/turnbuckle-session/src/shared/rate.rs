//! How often a peer may do something: token buckets, and whose they are.
//!
//! A bucket reads the clock only when its tokens are used up: what comes slower than its rate pays
//! one subtraction.

use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::atomic::{AtomicI64, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use turnbuckle_types::{Error, ErrorKind, Principal};
use turnbuckle_wire::revision::Method;

use crate::Limits;

/// How often something may be done: so many times a second, and so many at once after a pause.
///
/// What was not used is saved up to the burst. As time is looked at only when the burst is used up,
/// what comes within one second after a pause is at most twice the burst; over any longer time the
/// rate holds.
///
/// ```
/// use turnbuckle_session::{Limits, Rate};
///
/// let limits = Limits::new().call_rate(Rate::per_second(50).burst(200));
/// assert_eq!(limits.completion_rate, Rate::per_second(100));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    per_second: u32,
    burst: u32,
}

impl Rate {
    /// As often as it comes.
    pub const UNLIMITED: Self = Self::per_second(u32::MAX);

    /// So many times a second, and as many at once; 0 is never.
    #[must_use]
    pub const fn per_second(times: u32) -> Self {
        Self {
            per_second: times,
            burst: times,
        }
    }

    /// Sets how many may come at once.
    #[must_use]
    pub const fn burst(mut self, times: u32) -> Self {
        self.burst = times;
        self
    }

    /// What is saved up in so long a time, and how much of that time is left over.
    fn earned(self, time: Duration) -> (u32, Duration) {
        let whole = time.as_nanos().saturating_mul(u128::from(self.per_second)) / NANOS;
        match u32::try_from(whole) {
            Ok(times) if times < self.burst => (times, time.saturating_sub(self.until(times))),
            _ => (self.burst, Duration::ZERO),
        }
    }

    /// How long it takes to save up so many, rounded up.
    fn until(self, times: u32) -> Duration {
        match self.per_second {
            0 => Duration::MAX,
            rate => {
                let nanos = (u128::from(times) * NANOS).div_ceil(u128::from(rate));
                Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
            }
        }
    }
}

const NANOS: u128 = 1_000_000_000;

/// The tokens of one rate.
#[derive(Debug)]
pub struct TokenBucket {
    rate: Rate,
    /// Below zero for as long as somebody looks what time it is.
    left: AtomicI64,
    /// Until when what was earned is counted.
    since: Mutex<Instant>,
}

impl TokenBucket {
    /// A full one.
    #[must_use]
    pub fn new(rate: Rate) -> Self {
        Self::full(rate, Instant::now())
    }

    /// Counts something.
    ///
    /// # Errors
    /// When it comes too fast; `set_by` is where that is set.
    pub fn admit(&self, what: &str, set_by: &str) -> Result<(), Error> {
        let taken = self.take(Instant::now);
        taken.map_err(|wait| too_many(what, self.rate, set_by, wait))
    }

    pub(crate) fn full(rate: Rate, now: Instant) -> Self {
        Self {
            rate,
            left: AtomicI64::new(i64::from(rate.burst)),
            since: Mutex::new(now),
        }
    }

    /// Takes a token.
    ///
    /// # Errors
    /// When there is none: how long it takes until there is.
    pub(crate) fn take(&self, now: impl FnOnce() -> Instant) -> Result<(), Duration> {
        match self.left.fetch_sub(1, Ordering::Relaxed) {
            1.. => Ok(()),
            _ => self.earn(now),
        }
    }

    /// Whether there will be another token when all are used up.
    pub(crate) fn refills(&self) -> bool {
        self.rate.per_second > 0
    }

    #[cold]
    fn earn(&self, now: impl FnOnce() -> Instant) -> Result<(), Duration> {
        let mut since = self.since.lock().unwrap_or_else(PoisonError::into_inner);
        // Somebody else may have looked meanwhile.
        if self.left.fetch_sub(1, Ordering::Relaxed) > 0 {
            return Ok(());
        }
        let now = now();
        let time = now.saturating_duration_since(*since);
        let (times, over) = self.rate.earned(time);
        if times == 0 {
            self.left.store(0, Ordering::Relaxed);
            return Err(self.rate.until(1).saturating_sub(time));
        }
        *since = now.checked_sub(over).unwrap_or(now);
        self.left.store(i64::from(times) - 1, Ordering::Relaxed);
        Ok(())
    }

    /// Whether it is as good as new.
    fn is_full(&self, now: Instant) -> bool {
        let since = *self.since.lock().unwrap_or_else(PoisonError::into_inner);
        let (times, _) = self.rate.earned(now.saturating_duration_since(since));
        self.left.load(Ordering::Relaxed) + i64::from(times) >= i64::from(self.rate.burst)
    }
}

/// What one peer has used of its rates.
#[derive(Debug)]
pub struct RateAccount {
    calls: TokenBucket,
    completions: TokenBucket,
    logs: TokenBucket,
    progress: Rate,
    /// Log messages that were left out since one last went through.
    unsaid: AtomicU64,
    /// Handlers that outlived the poll that they began in.
    running: AtomicUsize,
    most_running: usize,
    /// Whether it is of more than one peer.
    shared: bool,
}

impl RateAccount {
    /// The account of one peer that has used nothing yet.
    #[must_use]
    pub fn new(limits: &Limits) -> Arc<Self> {
        Arc::new(Self::of(limits, false))
    }

    fn of(limits: &Limits, shared: bool) -> Self {
        let now = Instant::now();
        let full = |rate| TokenBucket::full(rate, now);
        Self {
            calls: full(limits.call_rate),
            completions: full(limits.completion_rate),
            logs: full(limits.log_rate),
            progress: limits.progress_rate,
            unsaid: AtomicU64::new(0),
            running: AtomicUsize::new(0),
            most_running: limits.max_in_flight,
            shared,
        }
    }

    /// Counts a request of the peer. What shows that somebody is there, or ends something, is let
    /// through.
    ///
    /// # Errors
    /// When it comes too fast, or too many go on already. What several peers share has no bound
    /// on those.
    pub(crate) fn admit(&self, method: Option<Method>) -> Result<(), Error> {
        let (bucket, what, set_by) = match method {
            Some(Method::Ping | Method::Initialize | Method::Unsubscribe) => return Ok(()),
            Some(Method::Complete) => (&self.completions, "completions", "Limits::completion_rate"),
            _ => (&self.calls, "calls", "Limits::call_rate"),
        };
        if self.running.load(Ordering::Relaxed) >= self.most_running && !self.shared {
            return Err(in_flight(self.most_running, "Limits::max_in_flight"));
        }
        bucket.admit(what, set_by)
    }

    /// Counts a log message: how many were left out before it, or `None` if it is one of them.
    pub(crate) fn log(&self) -> Option<u64> {
        match self.logs.take(Instant::now) {
            Ok(()) => Some(self.unsaid.swap(0, Ordering::Relaxed)),
            Err(_) => {
                self.unsaid.fetch_add(1, Ordering::Relaxed);
                None
            }
        }
    }

    /// How often one request may report its progress.
    pub(crate) fn progress(&self) -> Rate {
        self.progress
    }

    /// Counts a request that goes on.
    pub(crate) fn run(self: &Arc<Self>) -> Run {
        self.running.fetch_add(1, Ordering::Relaxed);
        Run(self.clone())
    }

    /// An account with the same rates, of which nothing is used.
    pub(crate) fn fresh(&self) -> Arc<Self> {
        let now = Instant::now();
        let full = |bucket: &TokenBucket| TokenBucket::full(bucket.rate, now);
        Arc::new(Self {
            calls: full(&self.calls),
            completions: full(&self.completions),
            logs: full(&self.logs),
            progress: self.progress,
            unsaid: AtomicU64::new(0),
            running: AtomicUsize::new(0),
            most_running: self.most_running,
            shared: false,
        })
    }

    pub(crate) fn is_shared(&self) -> bool {
        self.shared
    }

    fn is_idle(&self, now: Instant) -> bool {
        self.running.load(Ordering::Relaxed) == 0
            && [&self.calls, &self.completions, &self.logs]
                .iter()
                .all(|bucket| bucket.is_full(now))
    }
}

/// A request that is counted for as long as this lives.
#[derive(Debug)]
pub(crate) struct Run(Arc<RateAccount>);

impl Drop for Run {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The refusal of a request for which there is no place.
pub(crate) fn in_flight(most: usize, set_by: &str) -> Error {
    let message = format!("too many requests in flight: the limit is {most} ({set_by})");
    Error::new(ErrorKind::RateLimited { retry_after: None }, message)
}

#[cold]
fn too_many(what: &str, rate: Rate, set_by: &str, wait: Duration) -> Error {
    let Rate { per_second, .. } = rate;
    let message = format!("too many {what}: the limit is {per_second} a second ({set_by})");
    Error::rate_limited(message, wait)
}

/// The accounts of those who come to one endpoint.
#[derive(Debug)]
pub(crate) struct Accounts {
    limits: Arc<Limits>,
    known: Mutex<Known>,
    hasher: RandomState,
    /// Of those for whom there was no room.
    rest: Arc<RateAccount>,
    /// Of those of whom nothing is known.
    strangers: Arc<RateAccount>,
}

#[derive(Debug, Default)]
struct Known {
    /// By the hash of a principal's name, under a key that nobody knows.
    by_name: HashMap<u64, Arc<RateAccount>>,
    /// When it was last looked through for those who are idle.
    swept: Option<Instant>,
}

/// How soon a full table is looked through again.
const SWEEP_GAP: Duration = Duration::from_secs(1);

impl Accounts {
    pub(crate) fn new(limits: Arc<Limits>) -> Self {
        Self {
            known: Mutex::default(),
            hasher: RandomState::new(),
            rest: Arc::new(RateAccount::of(&limits, true)),
            strangers: Arc::new(RateAccount::of(&limits, true)),
            limits,
        }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The account of who sends a request: of the principal, else of the connection, else of all
    /// of whom neither is known.
    pub(crate) fn of<'a>(
        &'a self,
        principal: Option<&Principal>,
        connection: Option<&'a Arc<RateAccount>>,
    ) -> Arc<RateAccount> {
        match (principal, connection) {
            (Some(principal), _) => self.of_principal(principal),
            (None, Some(connection)) => connection.clone(),
            (None, None) => self.strangers.clone(),
        }
    }

    fn of_principal(&self, principal: &Principal) -> Arc<RateAccount> {
        let Principal {
            issuer,
            subject,
            client,
            ..
        } = principal;
        let name = self.hasher.hash_one((issuer, subject, client));
        let mut known = self.known();
        if let Some(account) = known.by_name.get(&name) {
            return account.clone();
        }
        if known.by_name.len() >= self.limits.max_principals {
            known.forget_idle(Instant::now());
        }
        if known.by_name.len() >= self.limits.max_principals {
            return self.rest.clone();
        }
        let account = RateAccount::new(&self.limits);
        known.by_name.insert(name, account.clone());
        account
    }
}

impl Known {
    /// Forgets those who have used nothing for a while: they would begin with the same.
    fn forget_idle(&mut self, now: Instant) {
        let lately = |swept: Instant| now.saturating_duration_since(swept) < SWEEP_GAP;
        if self.swept.is_some_and(lately) {
            return;
        }
        self.swept = Some(now);
        self.by_name
            .retain(|_, account| Arc::strong_count(account) > 1 || !account.is_idle(now));
    }
}

#[cfg(test)]
mod tests;
