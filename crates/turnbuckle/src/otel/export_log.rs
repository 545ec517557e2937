//! A filter of the log that keeps a broken collector from filling it.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tracing::subscriber::Interest;
use tracing::{Metadata, callsite};
use tracing_subscriber::layer::{Context, Filter};

/// The least time between two log lines of one kind about the export.
const LOG_INTERVAL: Duration = Duration::from_secs(60);

/// Passes a log line of each kind that the crates of OpenTelemetry write once in [`LOG_INTERVAL`]:
/// they write two for each request that a collector does not take. Passes everything else.
#[derive(Default)]
pub(super) struct ExportLog {
    /// The kinds that were logged, with the times. They are lines of source, so there are few.
    logged: Mutex<HashMap<callsite::Identifier, Instant>>,
}

impl ExportLog {
    fn passes(&self, metadata: &Metadata<'_>, now: Instant) -> bool {
        if !is_about_export(metadata) {
            return true;
        }
        let mut logged = self.logged.lock().unwrap_or_else(PoisonError::into_inner);
        let last = logged.get(&metadata.callsite());
        let passes = last.is_none_or(|last| now.duration_since(*last) >= LOG_INTERVAL);
        if passes {
            logged.insert(metadata.callsite(), now);
        }
        passes
    }
}

fn is_about_export(metadata: &Metadata<'_>) -> bool {
    metadata.target().starts_with("opentelemetry")
}

impl<S> Filter<S> for ExportLog {
    fn enabled(&self, metadata: &Metadata<'_>, _cx: &Context<'_, S>) -> bool {
        self.passes(metadata, Instant::now())
    }

    fn callsite_enabled(&self, metadata: &'static Metadata<'static>) -> Interest {
        match is_about_export(metadata) {
            // Asked for each line.
            true => Interest::sometimes(),
            false => Interest::always(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use tracing::{Event, Subscriber};
    use tracing_subscriber::filter::{FilterExt as _, Targets};
    use tracing_subscriber::layer::{Layer, SubscriberExt as _};

    use super::*;

    /// Counts the events that pass.
    struct Counted(Arc<AtomicUsize>);

    impl<S: Subscriber> Layer<S> for Counted {
        fn on_event(&self, _event: &Event<'_>, _cx: Context<'_, S>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Returns how many lines the log has after 1,000 failed exports.
    fn count_lines(failure: fn()) -> usize {
        let count = Arc::new(AtomicUsize::new(0));
        let targets: Targets = "info".parse().unwrap();
        let layer = Counted(count.clone()).with_filter(targets.and(ExportLog::default()));
        let subscriber = tracing_subscriber::registry().with(layer);
        tracing::subscriber::with_default(subscriber, || {
            for _ in 0..1_000 {
                failure();
            }
        });
        count.load(Ordering::Relaxed)
    }

    #[test]
    fn failed_exports_are_logged_now_and_then() {
        let count = count_lines(|| {
            tracing::warn!(target: "opentelemetry-otlp", "export failed");
            tracing::error!(target: "opentelemetry_sdk", "batch lost");
        });
        assert_eq!(count, 2);
    }

    #[test]
    fn lines_of_others_are_all_logged() {
        let count = count_lines(|| tracing::warn!(target: "turnbuckle", "failed"));
        assert_eq!(count, 1_000);
    }

    #[test]
    fn a_failure_that_goes_on_is_logged_again() {
        let log = ExportLog::default();
        let subscriber = tracing_subscriber::registry();
        tracing::subscriber::with_default(subscriber, || {
            let span = tracing::error_span!(target: "opentelemetry_sdk", "line");
            let metadata = span.metadata().unwrap();
            let start = Instant::now();
            assert!(log.passes(metadata, start));
            assert!(!log.passes(metadata, start + LOG_INTERVAL / 2));
            assert!(log.passes(metadata, start + LOG_INTERVAL));
        });
    }
}
