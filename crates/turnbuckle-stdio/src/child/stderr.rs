//! What a server says on its standard error: always read, never kept without bound.

use std::fmt;
use std::process::Stdio;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use memchr::memchr;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// Bytes that are kept for the text of errors unless a number is given.
const KEPT: usize = 4 << 10;

/// Bytes of a line that are handed on in one piece.
const LONGEST: usize = 16 << 10;

/// Where a server's standard error goes. What is written there is no sign of an error.
///
/// Specification: basic/transports/stdio (2026-07-28).
#[derive(Clone)]
#[non_exhaustive]
pub enum StderrTo {
    /// To this process's own standard error, as it is.
    Inherit,
    /// Nowhere.
    Null,
    /// Nowhere, but its last bytes, as many as this, are part of the error when the server ends.
    Capture(usize),
    /// To a function, line by line without their ends; a line of more than 16 KiB comes in
    /// pieces, and what is not UTF-8 is replaced. The function must not block, nor panic. The
    /// last 4 KiB are part of the error when the server ends.
    Lines(Arc<dyn Fn(&str) + Send + Sync>),
}

impl StderrTo {
    /// Line by line to `sink`: [`StderrTo::Lines`].
    pub fn lines(sink: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self::Lines(Arc::new(sink))
    }

    /// What the process is given.
    pub(super) fn stdio(&self) -> Stdio {
        match self {
            Self::Inherit => Stdio::inherit(),
            Self::Null => Stdio::null(),
            Self::Capture(_) | Self::Lines(_) => Stdio::piped(),
        }
    }
}

/// [`StderrTo::Capture`] of 4 KiB.
impl Default for StderrTo {
    fn default() -> Self {
        Self::Capture(KEPT)
    }
}

impl fmt::Debug for StderrTo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Inherit => f.write_str("Inherit"),
            Self::Null => f.write_str("Null"),
            Self::Capture(bytes) => f.debug_tuple("Capture").field(bytes).finish(),
            Self::Lines(_) => f.debug_tuple("Lines").finish_non_exhaustive(),
        }
    }
}

/// A task that reads a server's standard error.
pub(super) struct Drain {
    task: JoinHandle<()>,
    tail: Arc<Mutex<Tail>>,
}

impl Drain {
    pub(super) fn start(pipe: impl AsyncRead + Send + Unpin + 'static, to: &StderrTo) -> Self {
        let keep = match to {
            StderrTo::Capture(bytes) => *bytes,
            _ => KEPT,
        };
        let tail = Arc::new(Mutex::new(Tail::new(keep)));
        let pieces = match to {
            StderrTo::Lines(sink) => Some(Pieces::new(sink.clone())),
            _ => None,
        };
        Self {
            task: tokio::spawn(drain(pipe, tail.clone(), pieces)),
            tail,
        }
    }

    /// The last that was said. What the pipe still holds is read, but not for longer than
    /// `patience`: somebody else may hold it open.
    pub(super) async fn last_words(mut self, patience: Duration) -> String {
        let _ = timeout(patience, &mut self.task).await;
        lock(&self.tail).text()
    }
}

impl Drop for Drain {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn drain(
    mut pipe: impl AsyncRead + Unpin,
    tail: Arc<Mutex<Tail>>,
    mut pieces: Option<Pieces>,
) {
    let mut chunk = vec![0; 4 << 10];
    while let Ok(read @ 1..) = pipe.read(&mut chunk).await {
        let said = chunk.get(..read).unwrap_or_default();
        lock(&tail).push(said);
        if let Some(pieces) = &mut pieces {
            pieces.push(said);
        }
    }
    if let Some(pieces) = &mut pieces {
        pieces.end();
    }
}

fn lock(tail: &Mutex<Tail>) -> MutexGuard<'_, Tail> {
    tail.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The last bytes of a stream.
struct Tail {
    keep: usize,
    bytes: Vec<u8>,
    cut: bool,
}

impl Tail {
    fn new(keep: usize) -> Self {
        Self {
            keep,
            bytes: Vec::new(),
            cut: false,
        }
    }

    fn push(&mut self, said: &[u8]) {
        self.bytes.extend_from_slice(said);
        if let Some(over @ 1..) = self.bytes.len().checked_sub(self.keep) {
            self.bytes.drain(..over);
            self.cut = true;
        }
    }

    /// From the beginning of a line, where there is more than one.
    fn text(&self) -> String {
        let mut bytes = self.bytes.as_slice();
        if self.cut {
            let line = memchr(b'\n', bytes).and_then(|end| bytes.get(end + 1..));
            bytes = line.filter(|rest| !rest.is_empty()).unwrap_or(bytes);
        }
        String::from_utf8_lossy(bytes).trim().to_owned()
    }
}

/// Lines on their way to a function.
struct Pieces {
    sink: Arc<dyn Fn(&str) + Send + Sync>,
    begun: Vec<u8>,
}

impl Pieces {
    fn new(sink: Arc<dyn Fn(&str) + Send + Sync>) -> Self {
        Self {
            sink,
            begun: Vec::new(),
        }
    }

    fn push(&mut self, mut said: &[u8]) {
        while let Some(end) = memchr(b'\n', said) {
            let (line, rest) = said.split_at(end);
            self.begun.extend_from_slice(line);
            self.hand_on();
            said = rest.get(1..).unwrap_or_default();
        }
        self.begun.extend_from_slice(said);
        if self.begun.len() >= LONGEST {
            self.hand_on();
        }
    }

    fn end(&mut self) {
        if !self.begun.is_empty() {
            self.hand_on();
        }
    }

    fn hand_on(&mut self) {
        let line = self.begun.strip_suffix(b"\r").unwrap_or(&self.begun);
        (self.sink)(&String::from_utf8_lossy(line));
        self.begun.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tail_is_bounded_and_starts_with_a_line() {
        let mut tail = Tail::new(10);
        tail.push(b"first line\n");
        tail.push(b"then\n");
        tail.push(b"end\n");
        assert!(tail.bytes.len() <= 10);
        assert_eq!(tail.text(), "then\nend");
        tail.push(&[b'x'; 100]);
        assert_eq!(tail.text(), "x".repeat(10));
        let mut nothing = Tail::new(0);
        nothing.push(b"said");
        assert_eq!(nothing.text(), "");
    }

    #[test]
    fn lines_come_whole_and_long_ones_in_pieces() {
        let heard = Arc::new(Mutex::new(Vec::new()));
        let ears = heard.clone();
        let mut pieces = Pieces::new(Arc::new(move |line: &str| {
            ears.lock().unwrap().push(line.to_owned());
        }));
        pieces.push(b"a\r\nb");
        pieces.push(b"c\n\n\xff");
        pieces.end();
        assert_eq!(*heard.lock().unwrap(), ["a", "bc", "", "\u{fffd}"]);
        heard.lock().unwrap().clear();
        for _ in 0..100 {
            pieces.push(&[b'x'; 1000]);
        }
        let heard = heard.lock().unwrap();
        assert!(heard.len() >= 5 && heard.iter().all(|piece| piece.len() < LONGEST + 1000));
    }
}
