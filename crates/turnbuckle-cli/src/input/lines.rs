//! The one reader of the lines that the user types, for logins, forms and choices.
//!
//! A read of standard input cannot be ended. A login that got its answer from the browser leaves one
//! behind; its line belongs to whoever asks next.

use std::io::{self, BufRead as _, Read as _};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::thread;

use tokio::sync::Notify;

/// The longest line that is read, in bytes.
pub(crate) const MAX_LINE_BYTES: usize = 64 << 10;

/// The reader of standard input.
static STANDARD_INPUT: LazyLock<Arc<LineReader>> =
    LazyLock::new(|| Arc::new(LineReader::new(read_standard_input)));

/// Returns the next line of standard input, without its end, or `None` at the end of the input.
/// Dropping the future loses no line.
pub(crate) async fn read_typed_line() -> Option<String> {
    STANDARD_INPUT.next_line().await
}

/// Returns the next line of a source that reads standard input in another way.
///
/// A read that is under way already gets the line: two would take it from each other.
pub(crate) async fn read_line_of(source: LineSource) -> Option<String> {
    STANDARD_INPUT.next_line_of(source).await
}

/// Returns whether a read of standard input is under way.
pub(crate) fn is_reading() -> bool {
    let state = STANDARD_INPUT.state.lock();
    let state = state.unwrap_or_else(PoisonError::into_inner);
    !matches!(*state, ReaderState::Idle)
}

/// Reads a line, or returns `None` at the end of the input.
pub(crate) type LineSource = Arc<dyn Fn() -> Option<String> + Send + Sync>;

fn read_standard_input() -> Option<String> {
    let mut typed = Vec::new();
    let mut input = io::stdin().lock().take(MAX_LINE_BYTES as u64);
    match input.read_until(b'\n', &mut typed) {
        Ok(0) | Err(_) => None,
        Ok(_) => {
            let typed = String::from_utf8_lossy(&typed);
            Some(typed.trim_end_matches(['\n', '\r']).to_owned())
        }
    }
}

/// Reads lines on a thread of its own, one when it is asked for.
struct LineReader {
    source: LineSource,
    state: Mutex<ReaderState>,
    has_read: Notify,
}

/// The state of the next line.
enum ReaderState {
    Idle,
    Reading,
    Read(Option<String>),
}

impl LineReader {
    fn new(source: impl Fn() -> Option<String> + Send + Sync + 'static) -> Self {
        Self {
            source: Arc::new(source),
            state: Mutex::new(ReaderState::Idle),
            has_read: Notify::new(),
        }
    }

    async fn next_line(self: &Arc<Self>) -> Option<String> {
        self.next_line_of(self.source.clone()).await
    }

    async fn next_line_of(self: &Arc<Self>, source: LineSource) -> Option<String> {
        loop {
            // Created first: it sees each notification from now on.
            let has_read = self.has_read.notified();
            if let Some(line) = self.take_or_start(&source) {
                return line;
            }
            has_read.await;
        }
    }

    /// Returns the line that was read, or starts to read one.
    fn take_or_start(self: &Arc<Self>, source: &LineSource) -> Option<Option<String>> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match std::mem::replace(&mut *state, ReaderState::Reading) {
            ReaderState::Read(line) => {
                *state = ReaderState::Idle;
                return Some(line);
            }
            ReaderState::Reading => {}
            ReaderState::Idle => {
                let (reader, source) = (self.clone(), source.clone());
                let started = thread::Builder::new().spawn(move || reader.read(&*source));
                if started.is_err() {
                    *state = ReaderState::Idle;
                    return Some(None);
                }
            }
        }
        None
    }

    fn read(&self, source: &dyn Fn() -> Option<String>) {
        let line = source();
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = ReaderState::Read(line);
        self.has_read.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[tokio::test]
    async fn a_line_belongs_to_whoever_asks_when_it_is_typed() {
        let (keyboard, typed) = mpsc::channel::<&str>();
        let typed = Mutex::new(typed);
        let source = move || Some(typed.lock().ok()?.recv().ok()?.to_owned());
        let reader = Arc::new(LineReader::new(source));
        let abandoned = tokio::spawn({
            let reader = reader.clone();
            async move { reader.next_line().await }
        });
        tokio::task::yield_now().await;
        abandoned.abort();
        assert!(abandoned.await.unwrap_err().is_cancelled());
        keyboard.send("first").unwrap();
        assert_eq!(reader.next_line().await.as_deref(), Some("first"));
        keyboard.send("second").unwrap();
        assert_eq!(reader.next_line().await.as_deref(), Some("second"));
        drop(keyboard);
        assert_eq!(reader.next_line().await, None);
        assert_eq!(reader.next_line().await, None);
    }
}
