use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Wake;

use super::*;

/// A waker that counts how often it was woken.
#[derive(Default)]
struct Count(AtomicUsize);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

type Polled<K> = Poll<Result<Permit<K>, TooManyWaiting>>;

fn poll<K: Hash + Eq + Clone>(future: &mut Acquire<K>) -> Polled<K> {
    Pin::new(future).poll(&mut Context::from_waker(Waker::noop()))
}

/// Returns a future that waits.
fn waiting<K: Hash + Eq + Clone>(permits: &FairPermits<K>, key: K) -> Acquire<K> {
    let mut future = permits.acquire(key);
    assert!(poll(&mut future).is_pending());
    future
}

fn take_permit<K: Hash + Eq + Clone>(polled: Polled<K>) -> Permit<K> {
    match polled {
        Poll::Ready(Ok(permit)) => permit,
        other => panic!("{other:?}"),
    }
}

/// Asserts that nobody holds a permit or waits.
fn assert_unused<K>(permits: &FairPermits<K>, max_permits: usize) {
    let state = permits.state();
    assert_eq!((state.free, state.waiting), (max_permits, 0));
    assert_eq!((state.keys.len(), state.turns.len()), (0, 0));
}

#[test]
fn a_key_holds_half_of_the_permits_rounded_up() {
    for (max, share) in [(0, 0), (1, 1), (2, 1), (3, 2), (8, 4), (9, 5)] {
        let permits = FairPermits::new(max, 0);
        let held: Vec<_> = std::iter::from_fn(|| permits.try_acquire(1)).collect();
        assert_eq!(held.len(), share, "{max}");
        let others: Vec<_> = std::iter::from_fn(|| permits.try_acquire(2)).collect();
        assert_eq!(others.len(), share.min(max - share), "{max}");
        drop((held, others));
        assert_unused(&permits, max);
    }
}

#[test]
fn a_permit_goes_to_the_waiting_keys_in_turn_and_inside_a_key_to_the_first() {
    let permits = FairPermits::new(2, 100);
    let (first, second) = (
        permits.try_acquire('x').unwrap(),
        permits.try_acquire('y').unwrap(),
    );
    let mut queue: Vec<_> = "aaabbc"
        .chars()
        .map(|key| (key, waiting(&permits, key)))
        .collect();
    let mut order = Vec::new();
    let mut held = Some(first);
    while !queue.is_empty() {
        drop(held.take());
        let ready = queue
            .iter_mut()
            .enumerate()
            .find_map(|(index, (_, future))| match poll(future) {
                Poll::Ready(permit) => Some((index, permit.unwrap())),
                Poll::Pending => None,
            });
        let (index, permit) = ready.unwrap();
        order.push((queue.remove(index).0, index));
        held = Some(permit);
    }
    let keys: String = order.iter().map(|(key, _)| *key).collect();
    assert_eq!(keys, "abcaba");
    // The first of a key is always the one that came first.
    let indices: Vec<_> = order.iter().map(|(_, index)| *index).collect();
    assert_eq!(indices, [0, 2, 3, 0, 1, 0]);
    drop((held, second));
    assert_unused(&permits, 2);
}

#[test]
fn a_client_is_served_although_another_has_ten_thousand_waiting() {
    let permits = FairPermits::new(32, 20_000);
    let mut held: Vec<_> = (0..16)
        .map(|_| permits.try_acquire("crowd").unwrap())
        .collect();
    let crowd: Vec<_> = (0..10_000).map(|_| waiting(&permits, "crowd")).collect();
    let mut more = permits.acquire("crowd");
    assert!(matches!(
        poll(&mut more),
        Poll::Ready(Err(TooManyWaiting::OfKey))
    ));
    // The other half is free.
    let others: Vec<_> = (0..16)
        .map(|_| permits.try_acquire("ann").unwrap())
        .collect();
    // Without a free permit the next turn but one is that of another key.
    let mut bob = waiting(&permits, "bob");
    held.truncate(14);
    let _bob = take_permit(poll(&mut bob));
    drop((crowd, held, others));
}

#[test]
fn the_number_of_waiters_is_bounded_for_a_key_and_in_total() {
    let permits = FairPermits::new(1, 4);
    let held = permits.try_acquire(0).unwrap();
    let mut waiters = Vec::new();
    for (key, error) in [(1, TooManyWaiting::OfKey), (2, TooManyWaiting::OfKey)] {
        waiters.extend((0..2).map(|_| waiting(&permits, key)));
        let refused = poll(&mut permits.acquire(key));
        assert!(matches!(refused, Poll::Ready(Err(found)) if found == error));
    }
    let refused = poll(&mut permits.acquire(3));
    assert!(matches!(refused, Poll::Ready(Err(TooManyWaiting::InTotal))));
    waiters.pop();
    waiters.push(waiting(&permits, 3));
    drop((held, waiters));
    assert_unused(&permits, 1);
}

#[test]
fn a_waiter_that_leaves_gives_its_place_and_its_permit_to_the_next() {
    let permits = FairPermits::new(1, 10);
    let held = permits.try_acquire(0).unwrap();
    let (first, second, mut third) = (
        waiting(&permits, 1),
        waiting(&permits, 2),
        waiting(&permits, 3),
    );
    drop(first);
    // The permit is granted to the second, which never looks.
    drop(held);
    assert!(poll(&mut third).is_pending());
    drop(second);
    drop(take_permit(poll(&mut third)));
    assert_unused(&permits, 1);
    drop(permits.acquire(1));
    assert_unused(&permits, 1);
}

#[test]
fn only_the_latest_waker_of_the_next_waiter_is_woken() {
    let permits = FairPermits::new(1, 10);
    let held = permits.try_acquire(0).unwrap();
    let counts: [Arc<Count>; 3] = std::array::from_fn(|_| Arc::default());
    let wakers: Vec<Waker> = counts.iter().map(|count| count.clone().into()).collect();
    let mut first = permits.acquire(1);
    for waker in &wakers[..2] {
        let polled = Pin::new(&mut first).poll(&mut Context::from_waker(waker));
        assert!(polled.is_pending());
    }
    let mut second = permits.acquire(2);
    let polled = Pin::new(&mut second).poll(&mut Context::from_waker(&wakers[2]));
    assert!(polled.is_pending());
    drop(held);
    let woken = || {
        counts
            .each_ref()
            .map(|count| count.0.load(Ordering::Relaxed))
    };
    assert_eq!(woken(), [0, 1, 0]);
    drop(take_permit(poll(&mut first)));
    assert_eq!(woken(), [0, 1, 1]);
}

#[test]
fn a_permit_can_be_moved_to_another_thread() {
    fn assert_shareable<T: Send + Sync + 'static>(value: T) -> T {
        value
    }
    let permits = assert_shareable(FairPermits::new(1, 1));
    let _waiter = assert_shareable(permits.acquire(1));
    let permit = assert_shareable(permits.try_acquire(1).unwrap());
    std::thread::spawn(move || drop(permit)).join().unwrap();
    assert_unused(&permits, 1);
}

/// Numbers of a fixed seed (xorshift64).
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % end as u64).unwrap()
    }
}

#[test]
fn no_order_of_operations_breaks_the_bounds_or_loses_a_permit() {
    let mut random = Random(0x5EED);
    for (max_permits, max_waiting) in [(1, 3), (2, 8), (5, 7), (8, 40)] {
        let permits = FairPermits::new(max_permits, max_waiting);
        let mut held: Vec<(usize, Permit<usize>)> = Vec::new();
        let mut waiters: Vec<(usize, Acquire<usize>)> = Vec::new();
        for _ in 0..20_000 {
            let key = random.below(5);
            match random.below(6) {
                0 | 1 => {
                    let mut future = permits.acquire(key);
                    match poll(&mut future) {
                        Poll::Ready(Ok(permit)) => held.push((key, permit)),
                        Poll::Ready(Err(_)) => {}
                        Poll::Pending => waiters.push((key, future)),
                    }
                }
                2 => held.extend(permits.try_acquire(key).map(|permit| (key, permit))),
                3 if !waiters.is_empty() => drop(waiters.swap_remove(random.below(waiters.len()))),
                4 if !waiters.is_empty() => {
                    let index = random.below(waiters.len());
                    let (key, future) = &mut waiters[index];
                    if let Poll::Ready(permit) = poll(future) {
                        held.push((*key, permit.unwrap()));
                        drop(waiters.swap_remove(index));
                    }
                }
                _ if !held.is_empty() => drop(held.swap_remove(random.below(held.len()))),
                _ => {}
            }
            check(&permits, max_permits, max_waiting, &held, &waiters);
        }
        drop((held, waiters));
        assert_unused(&permits, max_permits);
    }
}

/// Asserts the invariants: nothing is lost, no share is exceeded, and no permit is free for a key
/// that waits and may have it.
fn check(
    permits: &FairPermits<usize>,
    max_permits: usize,
    max_waiting: usize,
    held: &[(usize, Permit<usize>)],
    waiters: &[(usize, Acquire<usize>)],
) {
    let state = permits.state();
    let in_use: usize = state.keys.values().map(|key| key.held).sum();
    assert_eq!(in_use + state.free, max_permits);
    let queued: usize = state.keys.values().map(|key| key.waiters.len()).sum();
    assert_eq!(queued, state.waiting);
    assert!(queued <= max_waiting);
    // Whoever waits has a place or a permit that was granted and not taken yet.
    assert_eq!(held.len() + waiters.len(), in_use + queued);
    for (key, known) in &state.keys {
        assert!(known.held <= max_permits.div_ceil(2));
        assert!(known.waiters.len() <= max_waiting.div_ceil(2));
        assert!(known.held > 0 || !known.waiters.is_empty());
        let may_have_one = !known.waiters.is_empty() && known.held < max_permits.div_ceil(2);
        assert_eq!(known.turn.is_some(), may_have_one);
        assert_eq!(
            known.turn.map(|turn| state.turns.get(&turn)),
            known.turn.map(|_| Some(key))
        );
        assert!(!may_have_one || state.free == 0, "a permit is idle");
    }
    let turns = state.keys.values().filter(|key| key.turn.is_some()).count();
    assert_eq!(turns, state.turns.len());
}
