//! A log for unit tests, which collects the events of this workspace.

use std::cell::RefCell;
use std::fmt;
use std::sync::Once;

use tracing::field::{Field, Visit};

thread_local! {
    static EVENTS: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Collects the fields of the events of one thread, until it is dropped.
pub(crate) struct Log(());

impl Log {
    /// Collects the events of this thread from now on.
    ///
    /// The subscriber is that of the whole process: with one for each test, the tests that run beside
    /// it would decide which events are recorded.
    pub(crate) fn start() -> Self {
        static INSTALLED: Once = Once::new();
        INSTALLED.call_once(|| tracing::subscriber::set_global_default(Events).unwrap());
        EVENTS.set(Some(String::new()));
        Self(())
    }

    /// Returns the events so far, with their levels.
    pub(crate) fn text(&self) -> String {
        EVENTS.with_borrow(|events| events.clone().unwrap_or_default())
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        EVENTS.set(None);
    }
}

/// Adds the events of each thread to its log.
struct Events;

fn add(text: &str) {
    EVENTS.with_borrow_mut(|events| events.iter_mut().for_each(|events| events.push_str(text)));
}

impl Visit for Events {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        add(&format!("{field}={value:?} "));
    }
}

impl tracing::Subscriber for Events {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        metadata.target().starts_with("turnbuckle")
    }

    fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        tracing::span::Id::from_u64(1)
    }

    fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}

    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        add(&format!("{} ", event.metadata().level()));
        event.record(&mut Self);
    }

    fn enter(&self, _: &tracing::span::Id) {}

    fn exit(&self, _: &tracing::span::Id) {}
}
