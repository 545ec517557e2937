//! What a request said of its progress: only what increases is said, and not too fast.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use turnbuckle_types::ProgressParams;

use crate::Rate;
use crate::rate::Bucket;

/// The reports of one request.
#[derive(Debug)]
pub(crate) struct Reports {
    bucket: Bucket,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The greatest value so far.
    last: Option<f64>,
    /// What came too fast: the newest of it.
    newest: Option<ProgressParams>,
    /// Somebody sends that later.
    awaited: bool,
}

/// What becomes of a report.
#[derive(Debug)]
pub(crate) enum Taken {
    /// It is sent.
    Send(ProgressParams),
    /// It is kept as the newest, to be sent after that time.
    Later(Duration),
    /// It says nothing new, or is kept and somebody sends it.
    Never,
}

impl Reports {
    pub(crate) fn new(rate: Rate) -> Self {
        Self {
            bucket: Bucket::new(rate),
            state: Mutex::default(),
        }
    }

    /// Takes a report of that value.
    pub(crate) fn take(&self, value: f64, params: ProgressParams) -> Taken {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.last.is_some_and(|last| value <= last) {
            return Taken::Never;
        }
        state.last = Some(value);
        match self.bucket.take(Instant::now) {
            Ok(()) => {
                state.newest = None;
                Taken::Send(params)
            }
            Err(wait) => {
                state.newest = Some(params);
                // Where none may be sent any more, the end of the request is what it waits for.
                let is_awaited = !self.bucket.refills();
                match is_awaited || std::mem::replace(&mut state.awaited, true) {
                    false => Taken::Later(wait),
                    true => Taken::Never,
                }
            }
        }
    }

    /// Has the newest report sent that came too fast. None comes before it is.
    pub(crate) fn newest(&self, send: impl FnOnce(ProgressParams)) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.awaited = false;
        if let Some(newest) = state.newest.take() {
            // It takes the place of one that would be let through by now.
            let _ = self.bucket.take(Instant::now);
            send(newest);
        }
    }
}

#[cfg(test)]
mod tests {
    use turnbuckle_types::{Number, ProgressToken};

    use super::*;

    fn report(reports: &Reports, value: u64) -> Taken {
        let token = ProgressToken::from(1);
        let params = ProgressParams::new(token, Number::from(value));
        reports.take(value as f64, params)
    }

    fn newest(reports: &Reports) -> Option<f64> {
        let mut sent = None;
        reports.newest(|params| sent = Some(params.progress.as_f64()));
        sent
    }

    #[tokio::test(start_paused = true)]
    async fn what_may_never_be_sent_waits_for_the_end() {
        let reports = Reports::new(Rate::per_second(0).burst(1));
        assert!(matches!(report(&reports, 1), Taken::Send(_)));
        for value in [2, 3] {
            assert!(matches!(report(&reports, value), Taken::Never));
        }
        assert_eq!(newest(&reports), Some(3.0));
    }

    #[tokio::test(start_paused = true)]
    async fn what_comes_too_fast_comes_down_to_the_newest() {
        let reports = Reports::new(Rate::per_second(10).burst(2));
        for value in [1, 2] {
            assert!(matches!(report(&reports, value), Taken::Send(_)));
        }
        assert!(matches!(report(&reports, 2), Taken::Never), "no increase");
        let tenth = Duration::from_millis(100);
        assert!(matches!(report(&reports, 3), Taken::Later(wait) if wait == tenth));
        assert!(
            matches!(report(&reports, 4), Taken::Never),
            "awaited already"
        );
        tokio::time::sleep(tenth).await;
        assert_eq!(newest(&reports), Some(4.0));
        assert_eq!(newest(&reports), None);
        // That took the token of the time.
        assert!(matches!(report(&reports, 5), Taken::Later(_)));
        tokio::time::sleep(tenth).await;
        // A newer one may go at once; the older is forgotten.
        assert!(matches!(report(&reports, 6), Taken::Send(_)));
        assert_eq!(newest(&reports), None);
    }
}
