//! The refusals that metrics count.

use std::cell::RefCell;
use std::collections::BTreeMap;

use turnbuckle_session::internal::{
    EndedRequest, EndedSession, Level, Side, Telemetry, TraceContext, set_local_metrics,
};

thread_local! {
    static COUNTS: RefCell<BTreeMap<&'static str, usize>> = const { RefCell::new(BTreeMap::new()) };
}

/// The refusals that are counted in the thread of a test, from its start on.
pub(crate) struct Refusals(());

impl Refusals {
    pub(crate) fn start() -> Self {
        set_local_metrics(Recorder);
        COUNTS.take();
        Self(())
    }

    /// Returns the number of refusals because of a setting.
    pub(crate) fn count(&self, setting: &str) -> usize {
        COUNTS.with_borrow(|counts| counts.get(setting).copied().unwrap_or(0))
    }

    /// Returns all settings because of which something was refused.
    pub(crate) fn settings(&self) -> Vec<&'static str> {
        COUNTS.with_borrow(|counts| counts.keys().copied().collect())
    }
}

/// Counts the refusals of each thread.
struct Recorder;

impl Telemetry for Recorder {
    fn with_parent(&self, _: &TraceContext, start: &mut dyn FnMut()) {
        start();
    }

    fn current_context(&self) -> Option<TraceContext> {
        None
    }

    fn request_started(&self, _: Side) {}
    fn request_ended(&self, _: &EndedRequest<'_>) {}
    fn session_started(&self, _: Side) {}
    fn session_ended(&self, _: &EndedSession) {}
    fn level_changed(&self, _: Level, _: i64) {}

    fn bound_reached(&self, bound: &'static str) {
        COUNTS.with_borrow_mut(|counts| *counts.entry(bound).or_default() += 1);
    }

    fn store_operation_ended(&self, _: &'static str, _: Option<&'static str>, _: f64) {}
}
