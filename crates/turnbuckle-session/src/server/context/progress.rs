//! The throttle of progress reports: values increase, and reports are not sent faster than the rate
//! allows.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use turnbuckle_types::ProgressNotificationParams;

use crate::shared::rate::{Rate, TokenBucket};

/// The throttle of one request's progress reports. Reports are sent while its lock is held, so that
/// a report overtakes neither a later one nor the response.
#[derive(Debug)]
pub(super) struct ProgressThrottle {
    bucket: TokenBucket,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The greatest value that was reported.
    last: Option<f64>,
    /// The latest report that was not sent yet.
    newest: Option<ProgressNotificationParams>,
    /// True if the rate allowed the latest report and only space was missing.
    is_admitted: bool,
    /// True if a task will send the latest report.
    awaited: bool,
    /// True if the handler has ended.
    is_over: bool,
}

/// The outcome of a progress report: sent, held back, or refused.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ReportOutcome {
    /// The report was sent, or is not greater than those before, or will be sent by another task.
    Done,
    /// The report is kept, and is to be sent after this delay.
    Delayed(Duration),
    /// The report is kept until there is space for it: see [`retry`](ProgressThrottle::retry).
    QueueFull,
}

impl ProgressThrottle {
    pub(super) fn new(rate: Rate) -> Self {
        Self {
            bucket: TokenBucket::new(rate),
            state: Mutex::default(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reports a value. `send` returns whether there was space for the report.
    pub(super) fn report(
        &self,
        value: f64,
        params: ProgressNotificationParams,
        send: impl FnOnce(&mut ProgressNotificationParams) -> bool,
    ) -> ReportOutcome {
        let mut state = self.state();
        if state.is_over || state.last.is_some_and(|last| value <= last) {
            return ReportOutcome::Done;
        }
        state.last = Some(value);
        state.newest = Some(params);
        let Err(wait) = self.bucket.take(Instant::now) else {
            state.is_admitted = true;
            return match state.send(send) {
                true => ReportOutcome::Done,
                false => ReportOutcome::QueueFull,
            };
        };
        // If the rate never allows another report, the latest one is sent when the request ends.
        let is_awaited = !self.bucket.refills();
        match is_awaited || std::mem::replace(&mut state.awaited, true) {
            false => ReportOutcome::Delayed(wait),
            true => ReportOutcome::Done,
        }
    }

    /// Sends the latest report if the rate allowed it. Returns whether nothing is left to send.
    pub(super) fn retry(&self, send: impl FnOnce(&mut ProgressNotificationParams) -> bool) -> bool {
        let mut state = self.state();
        state.is_over || !state.is_admitted || state.send(send)
    }

    /// Sends the latest report that the rate has delayed.
    pub(super) fn send_latest(&self, send: impl FnOnce(&mut ProgressNotificationParams) -> bool) {
        let mut state = self.state();
        state.awaited = false;
        if state.is_over || state.newest.is_none() {
            return;
        }
        if !std::mem::replace(&mut state.is_admitted, true) {
            // The report uses a token of its own.
            let _ = self.bucket.take(Instant::now);
        }
        state.send(send);
    }

    /// Sends the latest report, and accepts no others.
    pub(super) fn finish(&self, send: impl FnOnce(&mut ProgressNotificationParams) -> bool) {
        let mut state = self.state();
        if !std::mem::replace(&mut state.is_over, true) {
            state.send(send);
        }
    }
}

impl State {
    /// Sends the latest report, and keeps it if there is no space.
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

    /// The reports that were sent.
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
            reports.report(value as f64, params, |params| self.send(params))
        }

        fn newest(&mut self, reports: &ProgressThrottle) {
            reports.send_latest(|params| self.send(params));
        }

        fn retry(&mut self, reports: &ProgressThrottle) -> bool {
            reports.retry(|params| self.send(params))
        }

        fn end(&mut self, reports: &ProgressThrottle) {
            reports.finish(|params| self.send(params));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_progress_report_beyond_the_rate_waits_for_the_end() {
        let (reports, mut wire) = (
            ProgressThrottle::new(Rate::per_second(0).burst(1)),
            Wire::default(),
        );
        for value in [1, 2, 3] {
            assert_eq!(wire.report(&reports, value), ReportOutcome::Done);
        }
        assert_eq!(wire.sent, [1.0]);
        wire.end(&reports);
        assert_eq!(wire.sent, [1.0, 3.0]);
    }

    #[tokio::test(start_paused = true)]
    async fn too_frequent_progress_reports_shrink_to_the_newest() {
        let reports = ProgressThrottle::new(Rate::per_second(10).burst(2));
        let mut wire = Wire::default();
        for value in [1, 2] {
            assert_eq!(wire.report(&reports, value), ReportOutcome::Done);
        }
        assert_eq!(wire.report(&reports, 2), ReportOutcome::Done, "no increase");
        let tenth = Duration::from_millis(100);
        assert_eq!(wire.report(&reports, 3), ReportOutcome::Delayed(tenth));
        assert_eq!(
            wire.report(&reports, 4),
            ReportOutcome::Done,
            "awaited already"
        );
        assert_eq!(wire.sent, [1.0, 2.0]);
        tokio::time::sleep(tenth).await;
        wire.newest(&reports);
        wire.newest(&reports);
        assert_eq!(wire.sent, [1.0, 2.0, 4.0]);
        // That took the token of the time.
        assert!(matches!(
            wire.report(&reports, 5),
            ReportOutcome::Delayed(_)
        ));
        tokio::time::sleep(tenth).await;
        // A newer one may go at once; the older is forgotten.
        assert_eq!(wire.report(&reports, 6), ReportOutcome::Done);
        wire.newest(&reports);
        assert_eq!(wire.sent, [1.0, 2.0, 4.0, 6.0]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_progress_report_that_finds_the_queue_full_is_replaced_by_a_newer_one() {
        let (reports, mut wire) = (
            ProgressThrottle::new(Rate::per_second(10).burst(3)),
            Wire::full(),
        );
        for value in [1, 2] {
            assert_eq!(wire.report(&reports, value), ReportOutcome::QueueFull);
            assert!(!wire.retry(&reports));
        }
        wire.is_full = false;
        assert!(wire.retry(&reports));
        assert!(wire.retry(&reports), "nothing is left of the other");
        assert_eq!(wire.sent, [2.0]);
        // One that came too fast goes in the place of one that found no room, and else waits.
        wire.is_full = true;
        assert_eq!(wire.report(&reports, 3), ReportOutcome::QueueFull);
        wire.is_full = false;
        assert!(matches!(
            wire.report(&reports, 4),
            ReportOutcome::Delayed(_)
        ));
        assert!(wire.retry(&reports));
        assert_eq!(
            wire.report(&reports, 5),
            ReportOutcome::Done,
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
        assert_eq!(wire.report(&reports, 1), ReportOutcome::QueueFull);
        wire.end(&reports);
        wire.is_full = false;
        assert!(wire.retry(&reports));
        wire.newest(&reports);
        assert_eq!(wire.report(&reports, 2), ReportOutcome::Done);
        assert_eq!(wire.sent, [0.0; 0]);
    }
}
