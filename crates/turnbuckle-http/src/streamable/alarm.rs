//! One clock for all that waits on an endpoint. Each waits as long, so who began first is through
//! first: a place in the queue costs less than a timer.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

/// The longest wait, whatever is set.
const LONGEST: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// Room that an empty queue keeps.
const KEPT: usize = 256;

/// Wakes whoever has waited for so long.
#[derive(Debug)]
pub(crate) struct Alarm {
    wait: Duration,
    queue: Arc<Shared>,
}

type Shared = Mutex<Queue>;

#[derive(Debug, Default)]
struct Queue {
    /// Who waits, in the order in which they came. There is nothing where one has left before
    /// those around it, until these are more than those who wait.
    waiting: VecDeque<Slot>,
    /// How many wait.
    count: usize,
    /// The number of the one in front.
    first: u64,
    /// Whether a task sleeps until it is the turn of the one in front.
    watched: bool,
}

#[derive(Debug)]
struct Slot {
    number: u64,
    waiting: Option<Waiting>,
}

#[derive(Debug)]
struct Waiting {
    due: Instant,
    waker: Waker,
}

/// A place in the queue, which is left when this is dropped.
#[derive(Debug)]
pub(crate) struct Place<'a> {
    alarm: &'a Alarm,
    number: u64,
}

impl Alarm {
    pub(crate) fn new(wait: Duration) -> Self {
        Self {
            wait: wait.min(LONGEST),
            queue: Arc::default(),
        }
    }

    /// Begins to wait at `now`.
    pub(crate) fn place(&self, now: Instant, cx: &Context<'_>) -> Place<'_> {
        let waiting = Waiting {
            due: now + self.wait,
            waker: cx.waker().clone(),
        };
        let mut queue = lock(&self.queue);
        let number = queue.join(waiting);
        self.watch(queue);
        Place {
            alarm: self,
            number,
        }
    }

    /// Has somebody watch the queue. It is given back before: a runtime that is about to end drops
    /// who would watch at once.
    #[inline]
    fn watch(&self, mut queue: MutexGuard<'_, Queue>) {
        let watched = std::mem::replace(&mut queue.watched, true);
        drop(queue);
        if !watched {
            self.begin_to_watch();
        }
    }

    #[cold]
    fn begin_to_watch(&self) {
        tokio::spawn(ring(Watch {
            queue: self.queue.clone(),
            is_over: false,
        }));
    }
}

impl Place<'_> {
    /// Ready when the wait is over.
    pub(crate) fn poll(&self, cx: &Context<'_>) -> Poll<()> {
        let mut queue = lock(&self.alarm.queue);
        let Some(waiting) = queue.at(self.number).and_then(|it| it.waiting.as_mut()) else {
            return Poll::Ready(());
        };
        if !waiting.waker.will_wake(cx.waker()) {
            waiting.waker = cx.waker().clone();
        }
        self.alarm.watch(queue);
        Poll::Pending
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let left = lock(&self.alarm.queue).leave(self.number);
        drop(left);
    }
}

impl Queue {
    /// Takes a place at the end. Its number is that of no other place.
    fn join(&mut self, waiting: Waiting) -> u64 {
        let number = self.waiting.back().map_or(self.first, |it| it.number + 1);
        let waiting = Some(waiting);
        self.waiting.push_back(Slot { number, waiting });
        self.count += 1;
        number
    }

    fn at(&mut self, number: u64) -> Option<&mut Slot> {
        // That is where it is unless places before it were forgotten.
        let most = usize::try_from(number.checked_sub(self.first)?).ok()?;
        let at = match self.waiting.get(most) {
            Some(slot) if slot.number == number => most,
            _ => {
                let found = self.waiting.binary_search_by_key(&number, |it| it.number);
                found.ok()?
            }
        };
        self.waiting.get_mut(at)
    }

    /// Who came last is most often the first to leave.
    fn leave(&mut self, number: u64) -> Option<Waiting> {
        let left = match self.waiting.back() {
            Some(last) if last.number == number => self.waiting.pop_back()?.waiting,
            _ => self.at(number)?.waiting.take(),
        };
        self.count -= usize::from(left.is_some());
        self.trim();
        left
    }

    /// Forgets the places at both ends that were left, and all of them where they are most.
    fn trim(&mut self) {
        let is_left = |slot: Option<&Slot>| slot.is_some_and(|it| it.waiting.is_none());
        while is_left(self.waiting.front()) {
            self.pop();
        }
        while is_left(self.waiting.back()) {
            self.waiting.pop_back();
        }
        let len = self.waiting.len();
        if len > KEPT && len / 2 > self.count {
            self.waiting.retain(|it| it.waiting.is_some());
            self.waiting.shrink_to(KEPT.max(2 * self.count));
        } else if len == 0 {
            self.waiting.shrink_to(KEPT);
        }
    }

    /// Takes the place in front.
    fn pop(&mut self) -> Option<Waiting> {
        let slot = self.waiting.pop_front()?;
        self.first = self.waiting.front().map_or(slot.number, |it| it.number - 1) + 1;
        self.count -= usize::from(slot.waiting.is_some());
        slot.waiting
    }

    /// Takes out who has waited long enough at `now`. When the next will have; without one nobody
    /// watches any more.
    fn take_due(&mut self, now: Instant, due: &mut Vec<Waker>) -> Option<Instant> {
        loop {
            self.trim();
            let next = self.waiting.front().and_then(|it| it.waiting.as_ref());
            match next {
                Some(next) if next.due > now => return Some(next.due),
                Some(_) => due.extend(self.pop().map(|it| it.waker)),
                None => {
                    self.watched = false;
                    return None;
                }
            }
        }
    }
}

/// Who watches the queue. When its runtime ends too soon, somebody else has to.
struct Watch {
    queue: Arc<Shared>,
    is_over: bool,
}

impl Drop for Watch {
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        let mut queue = lock(&self.queue);
        queue.watched = false;
        let waiting = queue.waiting.iter().filter_map(|it| it.waiting.as_ref());
        let wakers: Vec<_> = waiting.map(|it| it.waker.clone()).collect();
        drop(queue);
        wakers.into_iter().for_each(Waker::wake);
    }
}

async fn ring(mut watch: Watch) {
    while !watch.is_over {
        let mut due = Vec::new();
        let next = lock(&watch.queue).take_due(Instant::now(), &mut due);
        watch.is_over = next.is_none();
        due.into_iter().for_each(Waker::wake);
        if let Some(next) = next {
            sleep_until(next).await;
        }
    }
}

fn lock(queue: &Shared) -> MutexGuard<'_, Queue> {
    queue.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Wake;

    use super::*;

    const WAIT: Duration = Duration::from_secs(1);

    #[derive(Default)]
    struct Woken(AtomicUsize);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    impl Woken {
        fn times(&self) -> usize {
            self.0.load(Ordering::Relaxed)
        }
    }

    fn woken() -> (Arc<Woken>, Waker) {
        let woken = Arc::new(Woken::default());
        (woken.clone(), woken.into())
    }

    #[tokio::test(start_paused = true)]
    async fn each_is_woken_when_its_wait_is_over_and_not_before() {
        let alarm = Alarm::new(WAIT);
        let ((one, first), (two, second)) = (woken(), woken());
        let (one_cx, two_cx) = (Context::from_waker(&first), Context::from_waker(&second));
        let began = alarm.place(Instant::now(), &one_cx);
        tokio::time::sleep(WAIT / 2).await;
        let later = alarm.place(Instant::now(), &two_cx);
        assert!(began.poll(&one_cx).is_pending());
        tokio::time::sleep(WAIT / 2 + WAIT / 100).await;
        assert_eq!((one.times(), two.times()), (1, 0));
        assert!(began.poll(&one_cx).is_ready());
        assert!(later.poll(&two_cx).is_pending());
        tokio::time::sleep(WAIT / 2).await;
        assert_eq!((one.times(), two.times()), (1, 1));
        assert!(later.poll(&two_cx).is_ready());
    }

    #[tokio::test(start_paused = true)]
    async fn who_leaves_is_not_woken_and_leaves_no_place() {
        let alarm = Alarm::new(WAIT);
        let (woken, waker) = woken();
        let cx = Context::from_waker(&waker);
        let places: Vec<_> = (0..5).map(|_| alarm.place(Instant::now(), &cx)).collect();
        let mut places = places.into_iter();
        let (first, last) = (places.next(), places.next_back());
        drop(places);
        assert_eq!(lock(&alarm.queue).waiting.len(), 5, "two are around them");
        drop(last);
        assert_eq!(lock(&alarm.queue).waiting.len(), 1);
        drop(first);
        assert!(lock(&alarm.queue).waiting.is_empty());
        // A number that was given before is that of another now.
        let again = alarm.place(Instant::now(), &cx);
        tokio::time::sleep(2 * WAIT).await;
        assert!(again.poll(&cx).is_ready());
        assert_eq!(woken.times(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn who_waits_long_keeps_no_place_of_those_who_left() {
        let alarm = Alarm::new(WAIT);
        let (woken, waker) = woken();
        let cx = Context::from_waker(&waker);
        let place = || alarm.place(Instant::now(), &cx);
        let mut stays = vec![place()];
        for _ in 0..100 {
            let leave: Vec<_> = (0..100).map(|_| place()).collect();
            stays.push(place());
            drop(leave);
            let most = KEPT.max(2 * stays.len() + 1);
            assert!(lock(&alarm.queue).waiting.len() <= most);
        }
        assert_eq!(lock(&alarm.queue).count, stays.len());
        // Those in the middle are found as well, to be asked and to leave.
        drop(stays.drain(20..70));
        assert!(stays.iter().all(|it| it.poll(&cx).is_pending()));
        assert_eq!(lock(&alarm.queue).count, stays.len());
        tokio::time::sleep(2 * WAIT).await;
        assert!(stays.iter().all(|it| it.poll(&cx).is_ready()));
        assert_eq!(woken.times(), stays.len());
        drop(stays);
        let queue = lock(&alarm.queue);
        assert_eq!((queue.waiting.len(), queue.count), (0, 0));
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_watches_an_empty_queue_for_longer_than_one_wait() {
        let alarm = Alarm::new(WAIT);
        let cx = Context::from_waker(Waker::noop());
        drop(alarm.place(Instant::now(), &cx));
        assert!(lock(&alarm.queue).watched);
        tokio::time::sleep(2 * WAIT).await;
        assert!(!lock(&alarm.queue).watched);
        let place = alarm.place(Instant::now(), &cx);
        tokio::time::sleep(2 * WAIT).await;
        assert!(place.poll(&cx).is_ready());
    }

    #[test]
    fn another_runtime_watches_when_the_first_has_ended() {
        let runtime = || {
            let mut builder = tokio::runtime::Builder::new_current_thread();
            builder.enable_time().start_paused(true).build().unwrap()
        };
        let alarm = Alarm::new(WAIT);
        let (woken, waker) = woken();
        let cx = Context::from_waker(&waker);
        let first = runtime();
        let place = first.block_on(async {
            let place = alarm.place(Instant::now(), &cx);
            tokio::task::yield_now().await;
            place
        });
        drop(first);
        assert_eq!(woken.times(), 1, "it is to look again");
        runtime().block_on(async {
            assert!(place.poll(&cx).is_pending());
            tokio::time::sleep(2 * WAIT).await;
            assert!(place.poll(&cx).is_ready());
        });
        assert_eq!(woken.times(), 2);
    }
}
