//! A recorder of `tracing` events, as text.

use std::cell::RefCell;
use std::fmt::{Debug, Write};
use std::sync::{Arc, Mutex, Once};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

type Heard = Arc<Mutex<Vec<String>>>;

thread_local! {
    static LISTENING: RefCell<Option<Heard>> = const { RefCell::new(None) };
}

/// The events of this thread, for as long as it lives.
pub(crate) struct Traced {
    lines: Heard,
}

impl Traced {
    /// Listens from now on.
    ///
    /// One subscriber for the whole process: with one for each test, whether an event is told would
    /// depend on which tests run beside it.
    pub(crate) fn start() -> Self {
        static INSTALLED: Once = Once::new();
        INSTALLED.call_once(|| tracing::subscriber::set_global_default(Lines).unwrap());
        let lines = Heard::default();
        LISTENING.set(Some(Arc::clone(&lines)));
        Self { lines }
    }

    /// Returns the events so far that contain `text`.
    pub(crate) fn with(&self, text: &str) -> Vec<String> {
        let lines = self.lines.lock().unwrap();
        let found = lines.iter().filter(|line| line.contains(text));
        found.cloned().collect()
    }
}

impl Drop for Traced {
    fn drop(&mut self) {
        let ours = |heard: &mut Option<Heard>| {
            heard.take_if(|lines| Arc::ptr_eq(lines, &self.lines));
        };
        LISTENING.with_borrow_mut(ours);
    }
}

struct Lines;

impl Subscriber for Lines {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn event(&self, event: &Event<'_>) {
        struct Line(String);
        impl Visit for Line {
            fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
                write!(self.0, " {field}={value:?}").unwrap();
            }
        }
        let Some(heard) = LISTENING.with_borrow(Clone::clone) else {
            return;
        };
        let mut line = Line(event.metadata().level().to_string());
        event.record(&mut line);
        heard.lock().unwrap().push(line.0);
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}
