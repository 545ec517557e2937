//! The times in which requests of a client wait for their user, which no timeout counts.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, sleep_until};
use turnbuckle_types::UserWait;

/// The interval in which [`UserWaits::timeout`] looks again while a wait goes on.
const CHECK_INTERVAL: Duration = Duration::from_millis(100);

/// The times in which requests of one connector wait for their user, for instance for a login. Clones
/// share them. The default is for connectors without layers, whose requests never wait.
///
/// Timeouts do not run while any request of the connector waits: the layer that makes it wait has a
/// bound of its own.
#[derive(Debug, Clone, Default)]
pub struct UserWaits(Option<Arc<Mutex<State>>>);

#[derive(Debug, Default)]
struct State {
    /// The number of requests that wait.
    waiting: usize,
    /// The begin of the wait that goes on, or the end of the last one.
    changed_at: Option<Instant>,
    /// The sum of the waits that have ended.
    ended: Duration,
    /// The number of waits that have ended.
    ended_count: u64,
}

impl State {
    /// Returns the time for which the running wait has lasted.
    fn running(&self, now: Instant) -> Duration {
        match self.changed_at {
            Some(since) if self.waiting > 0 => now.saturating_duration_since(since),
            _ => Duration::ZERO,
        }
    }

    fn report(&mut self, begins: bool) {
        let now = Instant::now();
        if begins {
            if self.waiting == 0 {
                self.changed_at = Some(now);
            }
            self.waiting += 1;
        } else if self.waiting == 1 {
            self.ended += self.running(now);
            self.ended_count += 1;
            self.waiting = 0;
            self.changed_at = Some(now);
        } else {
            self.waiting = self.waiting.saturating_sub(1);
        }
    }
}

impl UserWaits {
    /// Creates a value for a connector whose layers report waits.
    #[must_use]
    pub fn new() -> Self {
        Self(Some(Arc::default()))
    }

    /// Returns the place where layers report waits.
    #[must_use]
    pub fn reporter(&self) -> UserWait {
        let waits = self.clone();
        UserWait::new(move |begins| {
            if let Some(mut state) = waits.state() {
                state.report(begins);
            }
        })
    }

    /// Returns the sum of all waits until now.
    #[must_use]
    pub fn total(&self) -> Duration {
        self.state().map_or(Duration::ZERO, |state| {
            state.ended + state.running(Instant::now())
        })
    }

    /// Returns the number of waits that have ended: after each, the user may be another.
    #[must_use]
    pub fn ended_count(&self) -> u64 {
        self.state().map_or(0, |state| state.ended_count)
    }

    /// Returns the time until which a request waited: now, if one does. `None` if none ever did.
    pub(crate) fn waited_until(&self) -> Option<Instant> {
        let state = self.state()?;
        match state.waiting {
            0 => state.changed_at,
            _ => Some(Instant::now()),
        }
    }

    /// Runs `work` for at most `limit`, in which waits do not count. Returns `None` when the time is
    /// over.
    pub async fn timeout<T>(&self, limit: Duration, work: impl Future<Output = T>) -> Option<T> {
        if self.0.is_none() {
            return tokio::time::timeout(limit, work).await.ok();
        }
        let (started, waited) = (Instant::now(), self.total());
        let mut work = std::pin::pin!(work);
        // A deadline beyond the range of the clock never comes.
        let Some(mut deadline) = started.checked_add(limit) else {
            return Some(work.await);
        };
        loop {
            tokio::select! {
                biased;
                output = &mut work => return Some(output),
                () = sleep_until(deadline) => {}
            }
            let now = Instant::now();
            let is_waiting = self.state().is_some_and(|state| state.waiting > 0);
            deadline = started + limit + self.total().saturating_sub(waited);
            if is_waiting {
                deadline = deadline.max(now + CHECK_INTERVAL);
            } else if deadline <= now {
                return None;
            }
        }
    }

    fn state(&self) -> Option<MutexGuard<'_, State>> {
        let state = self.0.as_ref()?;
        Some(state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::{advance, sleep};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn waits_that_overlap_count_once() {
        let waits = UserWaits::new();
        assert_eq!(
            (waits.total(), waits.waited_until()),
            (Duration::ZERO, None)
        );
        let first = waits.reporter().begin();
        advance(Duration::from_secs(2)).await;
        let second = waits.reporter().begin();
        advance(Duration::from_secs(3)).await;
        drop(first);
        advance(Duration::from_secs(1)).await;
        assert_eq!(waits.waited_until(), Some(Instant::now()));
        drop(second);
        let end = Instant::now();
        advance(Duration::from_secs(9)).await;
        assert_eq!(
            (waits.total(), waits.ended_count()),
            (Duration::from_secs(6), 1)
        );
        assert_eq!(waits.waited_until(), Some(end));
    }

    #[tokio::test(start_paused = true)]
    async fn a_timeout_does_not_run_during_a_wait() {
        let waits = UserWaits::new();
        let started = Instant::now();
        let work = async {
            sleep(Duration::from_secs(4)).await;
            let wait = waits.reporter().begin();
            sleep(Duration::from_secs(600)).await;
            drop(wait);
            std::future::pending::<()>().await;
        };
        assert_eq!(waits.timeout(Duration::from_secs(5), work).await, None);
        let elapsed = started.elapsed();
        assert!(elapsed >= Duration::from_secs(605), "{elapsed:?}");
        assert!(elapsed < Duration::from_secs(606), "{elapsed:?}");
        let done = waits.timeout(Duration::from_secs(5), sleep(Duration::from_secs(4)));
        assert_eq!(done.await, Some(()));
    }
}
