//! A recorder of `tracing` events, as text.

use std::cell::RefCell;
use std::fmt::{Debug, Write};
use std::sync::{Arc, Mutex, Once};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

type SharedLines = Arc<Mutex<Vec<String>>>;

thread_local! {
    static LISTENING: RefCell<Option<SharedLines>> = const { RefCell::new(None) };
    static SPANS: RefCell<Option<SharedLines>> = const { RefCell::new(None) };
}

/// A line with the fields of an event or of a span.
struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        write!(self.0, " {field}={value:?}").unwrap();
    }
}

/// The events of this thread, for as long as it lives.
pub(crate) struct Traced {
    lines: SharedLines,
    spans: SharedLines,
}

impl Traced {
    /// Listens from now on.
    ///
    /// One subscriber for the whole process: with one for each test, whether an event is told would
    /// depend on which tests run beside it.
    pub(crate) fn start() -> Self {
        static INSTALLED: Once = Once::new();
        INSTALLED.call_once(|| tracing::subscriber::set_global_default(Lines).unwrap());
        let lines = SharedLines::default();
        let spans = SharedLines::default();
        LISTENING.set(Some(Arc::clone(&lines)));
        SPANS.set(Some(Arc::clone(&spans)));
        Self { lines, spans }
    }

    /// Returns the events so far that contain `text`.
    pub(crate) fn with(&self, text: &str) -> Vec<String> {
        let lines = self.lines.lock().unwrap();
        let found = lines.iter().filter(|line| line.contains(text));
        found.cloned().collect()
    }

    /// Returns the spans of a name that were started so far, with their fields.
    pub(crate) fn spans(&self, name: &str) -> Vec<String> {
        let spans = self.spans.lock().unwrap();
        let named = spans
            .iter()
            .filter(|line| line.split(' ').next() == Some(name));
        named.cloned().collect()
    }

    /// Returns all events and the fields of all spans so far.
    pub(crate) fn text(&self) -> String {
        let lines = self.lines.lock().unwrap().join("\n");
        let spans = self.spans.lock().unwrap().join("\n");
        format!("{lines}\n{spans}")
    }
}

impl Drop for Traced {
    fn drop(&mut self) {
        let clear = |heard: &mut Option<SharedLines>, own: &SharedLines| {
            heard.take_if(|lines| Arc::ptr_eq(lines, own));
        };
        LISTENING.with_borrow_mut(|heard| clear(heard, &self.lines));
        SPANS.with_borrow_mut(|heard| clear(heard, &self.spans));
    }
}

struct Lines;

impl Subscriber for Lines {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn event(&self, event: &Event<'_>) {
        let Some(heard) = LISTENING.with_borrow(Clone::clone) else {
            return;
        };
        let mut line = Line(event.metadata().level().to_string());
        event.record(&mut line);
        heard.lock().unwrap().push(line.0);
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        if let Some(heard) = SPANS.with_borrow(Clone::clone) {
            let mut line = Line(span.metadata().name().to_owned());
            span.record(&mut line);
            heard.lock().unwrap().push(line.0);
        }
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, fields: &Record<'_>) {
        if let Some(heard) = SPANS.with_borrow(Clone::clone) {
            let mut line = Line(String::new());
            fields.record(&mut line);
            heard.lock().unwrap().push(line.0);
        }
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}
