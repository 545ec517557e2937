//! What is told to `tracing`, as text.

use std::fmt::{Debug, Write};
use std::sync::{Arc, Mutex};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::DefaultGuard;
use tracing::{Event, Metadata, Subscriber};

/// The events of this thread, for as long as it lives.
pub(crate) struct Traced {
    lines: Arc<Mutex<Vec<String>>>,
    _guard: DefaultGuard,
}

impl Traced {
    /// Listens from now on.
    pub(crate) fn start() -> Self {
        let lines = Arc::new(Mutex::default());
        let guard = tracing::subscriber::set_default(Lines(Arc::clone(&lines)));
        Self {
            lines,
            _guard: guard,
        }
    }

    /// The events so far that contain `text`.
    pub(crate) fn with(&self, text: &str) -> Vec<String> {
        let lines = self.lines.lock().unwrap();
        let found = lines.iter().filter(|line| line.contains(text));
        found.cloned().collect()
    }
}

struct Lines(Arc<Mutex<Vec<String>>>);

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
        let mut line = Line(event.metadata().level().to_string());
        event.record(&mut line);
        self.0.lock().unwrap().push(line.0);
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}
