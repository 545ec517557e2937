//! Permits that the clients of one resource share: each takes a part, and those that wait have their
//! turn.
//!
//! A semaphore with one queue serves whoever asks most. Here permits belong to keys, such as the
//! network addresses of clients, and a key holds half of the permits at most.

use std::collections::BTreeMap;
use std::collections::hash_map::Entry;
use std::fmt;
use std::hash::Hash;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use foldhash::HashMap;

/// A bounded number of permits, of which no key holds more than half at a time.
///
/// Whoever finds no permit waits. A permit that comes back goes to the waiting keys in turn, and to
/// the waiters of one key in the order in which they came. The number of waiters is bounded, and no key has more than half of
/// these places. Half is rounded up, so that a key may have one of one.
///
/// Clones share the permits. An operation takes a time that grows with the logarithm of the number of
/// waiters.
///
/// ```
/// use turnbuckle_types::base::fair_permits::FairPermits;
///
/// let permits = FairPermits::new(4, 100);
/// let first = permits.try_acquire("ann").unwrap();
/// let second = permits.try_acquire("ann").unwrap();
/// assert!(permits.try_acquire("ann").is_none());
/// assert!(permits.try_acquire("bob").is_some());
/// # drop((first, second));
/// ```
pub struct FairPermits<K>(Arc<Mutex<State<K>>>);

/// There is no room for another waiter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TooManyWaiting {
    /// The key has half of the places of waiters.
    #[error("too many requests of this client wait")]
    OfKey,
    /// All places of waiters are taken.
    #[error("too many requests wait")]
    InTotal,
}

/// The permits and waiters of all keys. Whenever a permit is free, each key that waits holds its
/// share: `turns` is empty.
struct State<K> {
    free: usize,
    max_permits_per_key: usize,
    waiting: usize,
    max_waiting: usize,
    max_waiting_per_key: usize,
    /// The keys that hold permits or wait.
    keys: HashMap<K, KeyState>,
    /// The keys that wait and hold less than their share, in the order of their turns.
    turns: BTreeMap<u64, K>,
    /// The last number that was given to a turn or a waiter.
    last_number: u64,
}

/// The permits and waiters of one key.
#[derive(Default)]
struct KeyState {
    held: usize,
    /// The wakers of waiters, in the order in which they came.
    waiters: BTreeMap<u64, Waker>,
    /// The number of the key's turn.
    turn: Option<u64>,
}

impl<K: Hash + Eq + Clone> FairPermits<K> {
    /// Creates permits, and a number of places for those who wait for one.
    #[must_use]
    pub fn new(max_permits: usize, max_waiting: usize) -> Self {
        Self(Arc::new(Mutex::new(State {
            free: max_permits,
            max_permits_per_key: max_permits.div_ceil(2),
            waiting: 0,
            max_waiting,
            max_waiting_per_key: max_waiting.div_ceil(2),
            keys: HashMap::default(),
            turns: BTreeMap::new(),
            last_number: 0,
        })))
    }

    /// Returns a permit for a key, if one is free and the key holds less than its share.
    #[must_use]
    pub fn try_acquire(&self, key: K) -> Option<Permit<K>> {
        if !self.state().take(&key) {
            return None;
        }
        Some(Permit {
            permits: self.clone(),
            key,
        })
    }

    /// Waits for a permit for a key. The place in the queue is taken when the future is first polled,
    /// and left when it is dropped.
    ///
    /// # Errors
    /// When the key or all keys together have as many waiters as they may.
    pub fn acquire(&self, key: K) -> Acquire<K> {
        Acquire {
            permits: self.clone(),
            key,
            place: None,
        }
    }

    /// Gives a permit of a key back.
    fn release(&self, key: &K) {
        let waker = self.state().release(key);
        wake(waker);
    }
}

impl<K> FairPermits<K> {
    fn state(&self) -> MutexGuard<'_, State<K>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K> Clone for FairPermits<K> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<K> fmt::Debug for FairPermits<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state();
        f.debug_struct("FairPermits")
            .field("free", &state.free)
            .field("waiting", &state.waiting)
            .finish_non_exhaustive()
    }
}

impl<K: Hash + Eq + Clone> State<K> {
    /// Takes a permit for a key, if it need not wait.
    fn take(&mut self, key: &K) -> bool {
        if self.free == 0 {
            return false;
        }
        let known = self.keys.entry(key.clone()).or_default();
        if known.held >= self.max_permits_per_key {
            return false;
        }
        known.held += 1;
        self.free -= 1;
        true
    }

    /// Adds a waiter of a key and returns the number of its place.
    fn wait(&mut self, key: &K, waker: Waker) -> Result<u64, TooManyWaiting> {
        let of_key = self.keys.get(key).map_or(0, |known| known.waiters.len());
        if of_key >= self.max_waiting_per_key {
            return Err(TooManyWaiting::OfKey);
        }
        if self.waiting >= self.max_waiting {
            return Err(TooManyWaiting::InTotal);
        }
        self.last_number += 1;
        let place = self.last_number;
        let known = self.keys.entry(key.clone()).or_default();
        known.waiters.insert(place, waker);
        self.waiting += 1;
        self.update_turn(key);
        Ok(place)
    }

    /// Gives a key a turn at the end if it waits and holds less than its share, takes the turn of
    /// any other key away, and forgets a key that neither holds permits nor waits.
    fn update_turn(&mut self, key: &K) {
        let Some(known) = self.keys.get_mut(key) else {
            return;
        };
        let has_turn = !known.waiters.is_empty() && known.held < self.max_permits_per_key;
        match known.turn {
            None if has_turn => {
                self.last_number += 1;
                known.turn = Some(self.last_number);
                self.turns.insert(self.last_number, key.clone());
            }
            Some(turn) if !has_turn => {
                known.turn = None;
                self.turns.remove(&turn);
            }
            _ => {}
        }
        if known.held == 0 && known.waiters.is_empty() {
            self.keys.remove(key);
        }
    }

    /// Gives a permit of a key back and returns the waker of the waiter that has it next. One permit
    /// came back, and at most one key is served by it.
    fn release(&mut self, key: &K) -> Option<Waker> {
        self.free += 1;
        if let Entry::Occupied(mut known) = self.keys.entry(key.clone()) {
            let state = known.get_mut();
            state.held = state.held.saturating_sub(1);
            match (state.held, state.waiters.is_empty()) {
                // A key without waiters has no turn.
                (0, true) => drop(known.remove()),
                (_, true) => {}
                (_, false) => self.update_turn(key),
            }
        }
        let (_, next) = self.turns.pop_first()?;
        let known = self.keys.get_mut(&next)?;
        known.turn = None;
        let (_, waker) = known.waiters.pop_first()?;
        known.held += 1;
        self.free -= 1;
        self.waiting -= 1;
        self.update_turn(&next);
        Some(waker)
    }

    /// Returns the waker of a waiter. None if it was given a permit.
    fn waker_mut(&mut self, key: &K, place: u64) -> Option<&mut Waker> {
        self.keys.get_mut(key)?.waiters.get_mut(&place)
    }

    /// Removes a waiter and returns its waker. None if it was given a permit.
    fn leave(&mut self, key: &K, place: u64) -> Option<Waker> {
        let waker = self.keys.get_mut(key)?.waiters.remove(&place)?;
        self.waiting -= 1;
        self.update_turn(key);
        Some(waker)
    }
}

/// Wakes a waiter. The caller has let go of the lock: a waker may run code of others.
fn wake(waker: Option<Waker>) {
    if let Some(waker) = waker {
        waker.wake();
    }
}

/// The future of [`FairPermits::acquire`].
#[must_use = "a future does nothing unless it is polled"]
pub struct Acquire<K: Hash + Eq + Clone> {
    permits: FairPermits<K>,
    key: K,
    /// The number of the waiter, while it waits or has a permit that was not taken yet.
    place: Option<u64>,
}

// Nothing in it is pinned.
impl<K: Hash + Eq + Clone> Unpin for Acquire<K> {}

impl<K: Hash + Eq + Clone> Future for Acquire<K> {
    type Output = Result<Permit<K>, TooManyWaiting>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        let mut state = this.permits.state();
        if let Some(place) = this.place {
            if let Some(known) = state.waker_mut(&this.key, place) {
                let former = (!known.will_wake(cx.waker()))
                    .then(|| std::mem::replace(known, cx.waker().clone()));
                drop(state);
                // Outside of the lock: a waker may run code of others when it is dropped.
                drop(former);
                return Poll::Pending;
            }
            this.place = None;
        } else if !state.take(&this.key) {
            let place = state.wait(&this.key, cx.waker().clone());
            drop(state);
            return match place {
                Ok(place) => {
                    this.place = Some(place);
                    Poll::Pending
                }
                Err(error) => Poll::Ready(Err(error)),
            };
        }
        drop(state);
        Poll::Ready(Ok(Permit {
            permits: this.permits.clone(),
            key: this.key.clone(),
        }))
    }
}

impl<K: Hash + Eq + Clone> Drop for Acquire<K> {
    fn drop(&mut self) {
        let Some(place) = self.place else {
            return;
        };
        let left = self.permits.state().leave(&self.key, place);
        if left.is_none() {
            self.permits.release(&self.key);
        }
    }
}

impl<K: Hash + Eq + Clone> fmt::Debug for Acquire<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Acquire")
            .field("place", &self.place)
            .finish_non_exhaustive()
    }
}

/// A permit of a key. It is given back when it is dropped.
#[must_use = "a permit is given back when it is dropped"]
pub struct Permit<K: Hash + Eq + Clone> {
    permits: FairPermits<K>,
    key: K,
}

impl<K: Hash + Eq + Clone> Drop for Permit<K> {
    fn drop(&mut self) {
        self.permits.release(&self.key);
    }
}

impl<K: Hash + Eq + Clone> fmt::Debug for Permit<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Permit").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
