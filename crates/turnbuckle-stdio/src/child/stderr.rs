//! The standard error of a server: always read, and kept within a bound.

use std::fmt;
use std::process::Stdio;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use memchr::memchr;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// The bytes that are kept for error texts unless a number is given.
const DEFAULT_CAPTURE_BYTES: usize = 4 << 10;

/// The largest part of a line in bytes that is passed on at once.
const MAX_LINE_BYTES: usize = 16 << 10;

/// The destination of a server's standard error. Output there does not mean that anything failed.
///
/// Specification: basic/transports/stdio (2026-07-28).
#[derive(Clone)]
#[non_exhaustive]
pub enum StderrMode {
    /// This process's own standard error, unchanged.
    Inherit,
    /// No destination: the output is discarded.
    Null,
    /// A buffer of that many bytes: the last of the output are part of the error when the server ends.
    Capture(usize),
    /// A function that is called with each line, without its end. A line of more than 16 KiB comes
    /// in pieces, and bytes that are not UTF-8 are replaced. The function must not block or panic.
    /// The last 4 KiB are part of the error when the server ends.
    Lines(Arc<dyn Fn(&str) + Send + Sync>),
}

impl StderrMode {
    /// Creates [`StderrMode::Lines`] with the function `sink`.
    pub fn lines(sink: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self::Lines(Arc::new(sink))
    }

    /// Returns the standard error that the process is started with.
    pub(super) fn stdio(&self) -> Stdio {
        match self {
            Self::Inherit => Stdio::inherit(),
            Self::Null => Stdio::null(),
            Self::Capture(_) | Self::Lines(_) => Stdio::piped(),
        }
    }
}

/// The default: [`StderrMode::Capture`] of 4 KiB.
impl Default for StderrMode {
    fn default() -> Self {
        Self::Capture(DEFAULT_CAPTURE_BYTES)
    }
}

impl fmt::Debug for StderrMode {
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
pub(super) struct StderrReader {
    task: JoinHandle<()>,
    tail: Arc<Mutex<TailBuffer>>,
}

impl StderrReader {
    pub(super) fn start(pipe: impl AsyncRead + Send + Unpin + 'static, to: &StderrMode) -> Self {
        let max_bytes = match to {
            StderrMode::Capture(bytes) => *bytes,
            _ => DEFAULT_CAPTURE_BYTES,
        };
        let tail = Arc::new(Mutex::new(TailBuffer::new(max_bytes)));
        let splitter = match to {
            StderrMode::Lines(sink) => Some(LineSplitter::new(sink.clone())),
            _ => None,
        };
        Self {
            task: tokio::spawn(read_stderr(pipe, tail.clone(), splitter)),
            tail,
        }
    }

    /// Reads the rest of the output and returns its last part. Reading ends after `limit`, since another
    /// process may hold the pipe open.
    pub(super) async fn finish(mut self, limit: Duration) -> String {
        let _ = timeout(limit, &mut self.task).await;
        lock(&self.tail).text()
    }
}

impl Drop for StderrReader {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn read_stderr(
    mut pipe: impl AsyncRead + Unpin,
    tail: Arc<Mutex<TailBuffer>>,
    mut splitter: Option<LineSplitter>,
) {
    let mut chunk = vec![0; 4 << 10];
    while let Ok(read @ 1..) = pipe.read(&mut chunk).await {
        let output = chunk.get(..read).unwrap_or_default();
        lock(&tail).push(output);
        if let Some(splitter) = &mut splitter {
            splitter.push(output);
        }
    }
    if let Some(splitter) = &mut splitter {
        splitter.end();
    }
}

fn lock(tail: &Mutex<TailBuffer>) -> MutexGuard<'_, TailBuffer> {
    tail.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A buffer of the last bytes of a stream.
struct TailBuffer {
    max_bytes: usize,
    bytes: Vec<u8>,
    is_truncated: bool,
}

impl TailBuffer {
    fn new(max_bytes: usize) -> Self {
        Self {
            max_bytes,
            bytes: Vec::new(),
            is_truncated: false,
        }
    }

    fn push(&mut self, output: &[u8]) {
        self.bytes.extend_from_slice(output);
        if let Some(over @ 1..) = self.bytes.len().checked_sub(self.max_bytes) {
            self.bytes.drain(..over);
            self.is_truncated = true;
        }
    }

    /// Returns the text. If its beginning was cut off, it starts with a whole line if there is one.
    fn text(&self) -> String {
        let mut bytes = self.bytes.as_slice();
        if self.is_truncated {
            let line = memchr(b'\n', bytes).and_then(|end| bytes.get(end + 1..));
            bytes = line.filter(|rest| !rest.is_empty()).unwrap_or(bytes);
        }
        String::from_utf8_lossy(bytes).trim().to_owned()
    }
}

/// A splitter of output into lines, each of which is passed to a function.
struct LineSplitter {
    sink: Arc<dyn Fn(&str) + Send + Sync>,
    partial: Vec<u8>,
}

impl LineSplitter {
    fn new(sink: Arc<dyn Fn(&str) + Send + Sync>) -> Self {
        Self {
            sink,
            partial: Vec::new(),
        }
    }

    fn push(&mut self, mut output: &[u8]) {
        while let Some(end) = memchr(b'\n', output) {
            let (line, rest) = output.split_at(end);
            self.partial.extend_from_slice(line);
            self.emit();
            output = rest.get(1..).unwrap_or_default();
        }
        self.partial.extend_from_slice(output);
        if self.partial.len() >= MAX_LINE_BYTES {
            self.emit();
        }
    }

    fn end(&mut self) {
        if !self.partial.is_empty() {
            self.emit();
        }
    }

    fn emit(&mut self) {
        let line = self.partial.strip_suffix(b"\r").unwrap_or(&self.partial);
        (self.sink)(&String::from_utf8_lossy(line));
        self.partial.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tail_is_bounded_and_starts_with_a_line() {
        let mut tail = TailBuffer::new(10);
        tail.push(b"first line\n");
        tail.push(b"then\n");
        tail.push(b"end\n");
        assert!(tail.bytes.len() <= 10);
        assert_eq!(tail.text(), "then\nend");
        tail.push(&[b'x'; 100]);
        assert_eq!(tail.text(), "x".repeat(10));
        let mut empty = TailBuffer::new(0);
        empty.push(b"output");
        assert_eq!(empty.text(), "");
    }

    #[test]
    fn short_lines_are_passed_whole_and_long_ones_in_pieces() {
        let lines = Arc::new(Mutex::new(Vec::new()));
        let sink = lines.clone();
        let mut splitter = LineSplitter::new(Arc::new(move |line: &str| {
            sink.lock().unwrap().push(line.to_owned());
        }));
        splitter.push(b"a\r\nb");
        splitter.push(b"c\n\n\xff");
        splitter.end();
        assert_eq!(*lines.lock().unwrap(), ["a", "bc", "", "\u{fffd}"]);
        lines.lock().unwrap().clear();
        for _ in 0..100 {
            splitter.push(&[b'x'; 1000]);
        }
        let lines = lines.lock().unwrap();
        assert!(
            lines.len() >= 5
                && lines
                    .iter()
                    .all(|piece| piece.len() < MAX_LINE_BYTES + 1000)
        );
    }
}
