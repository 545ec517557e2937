//! What a request said of its progress: only what increases is said, and not too fast.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use turnbuckle_types::ProgressNotificationParams;

use crate::Rate;
use crate::shared::rate::TokenBucket;

/// The reports of one request. They are sent while the state is held, so that none overtakes a
/// greater one, and none the answer.
#[derive(Debug)]
pub(crate) struct ProgressThrottle {
    bucket: TokenBucket,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The greatest value so far.
    last: Option<f64>,
    /// What came too fast, or found no room: the newest of it.
    newest: Option<ProgressNotificationParams>,
    /// It came slowly enough, and found no room.
    is_admitted: bool,
    /// Somebody sends that later.
    awaited: bool,
    /// The request is about to be answered.
    is_over: bool,
}

/// What becomes of a report.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ReportOutcome {
    /// It was sent, or says nothing new, or is kept and somebody sends it.
    Settled,
    /// It is kept as the newest, to be sent after that time.
    Later(Duration),
    /// It is kept as the newest until there is [room](ProgressThrottle::retry).
    Full,
}

impl ProgressThrottle {
    pub(crate) fn new(rate: Rate) -> Self {
        Self {
            bucket: TokenBucket::new(rate),
            state: Mutex::default(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a report of that value. `send` says whether there was room for it.
    pub(crate) fn take(
        &self,
        value: f64,
        params: ProgressNotificationParams,
        send: impl FnOnce(&mut ProgressNotificationParams) -> bool,
    ) -> ReportOutcome {
        let mut state = self.state();
        if state.is_over || state.last.is_some_and(|last| value <= last) {
            return ReportOutcome::Settled;
        }
        state.last = Some(value);
        state.newest = Some(params);
        let Err(wait) = self.bucket.take(Instant::now) else {
            state.is_admitted = true;
            return match state.send(send) {
                true => ReportOutcome::Settled,
                false => ReportOutcome::Full,
            };
        };
        // Where none may be sent any more, the end of the request is what it waits for.
        let is_awaited = !self.bucket.refills();
        match is_awaited || std::mem::replace(&mut state.awaited, true) {
            false => ReportOutcome::Later(wait),
            true => ReportOutcome::Settled,
        }
    }

    /// Sends what found no room, or what has come since and says more. Whether nothing of it is
    /// left.
    pub(crate) fn retry(&self, send: impl FnOnce(&mut ProgressNotificationParams) -> bool) -> bool {
        let mut state = self.state();
        state.is_over || !state.is_admitted || state.send(send)
    }

    /// Has the newest report sent that came too fast. None comes before it is.
    pub(crate) fn newest(&self, send: impl FnOnce(&mut ProgressNotificationParams) -> bool) {
        let mut state = self.state();
        state.awaited = false;
        if state.is_over || state.newest.is_none() {
            return;
        }
        if !std::mem::replace(&mut state.is_admitted, true) {
            // It takes the place of one that would be let through by now.
            let _ = self.bucket.take(Instant::now);
        }
        state.send(send);
    }

    /// Has the newest report sent that was not, and takes no more.
    pub(crate) fn end(&self, send: impl FnOnce(&mut ProgressNotificationParams) -> bool) {
        let mut state = self.state();
        if !std::mem::replace(&mut state.is_over, true) {
            state.send(send);
        }
    }
}

impl State {
    /// Sends the newest report, and keeps it where there is no room.
    fn send(&mut self, send: impl FnOnce(&mut ProgressNotificationParams) -> bool) -> bool {
        let is_sent = self.newest.as_mut().is_none_or(send);
        if is_sent {
            self.newest = None;
            self.is_admitted = false;
        }
        is_sent
    }
}

#[cfg(test)]
mod tests {
    use turnbuckle_types::{Number, ProgressToken};

    use super::*;

    /// What was sent, where there is room.
    #[derive(Default)]
    struct Wire {
        sent: Vec<f64>,
        is_full: bool,
    }

    impl Wire {
        fn full() -> Self {
            Self {
                is_full: true,
                ..Self::default()
            }
        }

        fn send(&mut self, params: &mut ProgressNotificationParams) -> bool {
            if !self.is_full {
                self.sent.push(params.progress.as_f64());
            }
            !self.is_full
        }

        fn report(&mut self, reports: &ProgressThrottle, value: u64) -> ReportOutcome {
            let token = ProgressToken::from(1);
            let params = ProgressNotificationParams::new(token, Number::from(value));
            reports.take(value as f64, params, |params| self.send(params))
        }

        fn newest(&mut self, reports: &ProgressThrottle) {
            reports.newest(|params| self.send(params));
        }

        fn retry(&mut self, reports: &ProgressThrottle) -> bool {
            reports.retry(|params| self.send(params))
        }

        fn end(&mut self, reports: &ProgressThrottle) {
            reports.end(|params| self.send(params));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_may_never_be_sent_waits_for_the_end() {
        let (reports, mut wire) = (
            ProgressThrottle::new(Rate::per_second(0).burst(1)),
            Wire::default(),
        );
        for value in [1, 2, 3] {
            assert_eq!(wire.report(&reports, value), ReportOutcome::Settled);
        }
        assert_eq!(wire.sent, [1.0]);
        wire.end(&reports);
        assert_eq!(wire.sent, [1.0, 3.0]);
    }

    #[tokio::test(start_paused = true)]
    async fn what_comes_too_fast_comes_down_to_the_newest() {
        let reports = ProgressThrottle::new(Rate::per_second(10).burst(2));
        let mut wire = Wire::default();
        for value in [1, 2] {
            assert_eq!(wire.report(&reports, value), ReportOutcome::Settled);
        }
        assert_eq!(
            wire.report(&reports, 2),
            ReportOutcome::Settled,
            "no increase"
        );
        let tenth = Duration::from_millis(100);
        assert_eq!(wire.report(&reports, 3), ReportOutcome::Later(tenth));
        assert_eq!(
            wire.report(&reports, 4),
            ReportOutcome::Settled,
            "awaited already"
        );
        assert_eq!(wire.sent, [1.0, 2.0]);
        tokio::time::sleep(tenth).await;
        wire.newest(&reports);
        wire.newest(&reports);
        assert_eq!(wire.sent, [1.0, 2.0, 4.0]);
        // That took the token of the time.
        assert!(matches!(wire.report(&reports, 5), ReportOutcome::Later(_)));
        tokio::time::sleep(tenth).await;
        // A newer one may go at once; the older is forgotten.
        assert_eq!(wire.report(&reports, 6), ReportOutcome::Settled);
        wire.newest(&reports);
        assert_eq!(wire.sent, [1.0, 2.0, 4.0, 6.0]);
    }

    #[tokio::test(start_paused = true)]
    async fn what_finds_no_room_gives_way_to_what_says_more() {
        let (reports, mut wire) = (
            ProgressThrottle::new(Rate::per_second(10).burst(3)),
            Wire::full(),
        );
        for value in [1, 2] {
            assert_eq!(wire.report(&reports, value), ReportOutcome::Full);
            assert!(!wire.retry(&reports));
        }
        wire.is_full = false;
        assert!(wire.retry(&reports));
        assert!(wire.retry(&reports), "nothing is left of the other");
        assert_eq!(wire.sent, [2.0]);
        // One that came too fast goes in the place of one that found no room, and else waits.
        wire.is_full = true;
        assert_eq!(wire.report(&reports, 3), ReportOutcome::Full);
        wire.is_full = false;
        assert!(matches!(wire.report(&reports, 4), ReportOutcome::Later(_)));
        assert!(wire.retry(&reports));
        assert_eq!(
            wire.report(&reports, 5),
            ReportOutcome::Settled,
            "awaited already"
        );
        assert!(wire.retry(&reports));
        assert_eq!(wire.sent, [2.0, 4.0]);
        wire.newest(&reports);
        assert_eq!(wire.sent, [2.0, 4.0, 5.0]);
    }

    #[tokio::test(start_paused = true)]
    async fn nothing_is_sent_after_the_end() {
        let (reports, mut wire) = (ProgressThrottle::new(Rate::UNLIMITED), Wire::full());
        assert_eq!(wire.report(&reports, 1), ReportOutcome::Full);
        wire.end(&reports);
        wire.is_full = false;
        assert!(wire.retry(&reports));
        wire.newest(&reports);
        assert_eq!(wire.report(&reports, 2), ReportOutcome::Settled);
        assert_eq!(wire.sent, [0.0; 0]);
    }
}
