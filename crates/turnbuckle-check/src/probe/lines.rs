//! Messages as lines of a byte stream, as on standard input and output.

use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use super::{Arrival, Link, ProbeError};
use crate::target::Process;
use crate::target::{BoxFuture, Pipe};

/// Bytes that one line may have.
const MAX_LINE_BYTES: usize = 64 << 20;

/// Bytes that a connection may carry in all.
const MAX_BYTES: usize = 512 << 20;

/// Bytes that are read at once.
const CHUNK_BYTES: usize = 64 << 10;

/// Time in which a program that has closed its output ends, and its standard error with it.
const END_TIMEOUT: Duration = Duration::from_millis(500);

/// A connection that carries lines.
pub struct LinesLink {
    reader: Box<dyn AsyncRead + Send + Unpin>,
    writer: Option<Box<dyn AsyncWrite + Send + Unpin>>,
    process: Option<Process>,
    unread: Vec<u8>,
    /// Bytes of `unread` that hold no end of a line.
    searched: usize,
    total_bytes: usize,
}

impl LinesLink {
    /// Creates the client's end of a connection.
    #[must_use]
    pub fn new(pipe: Pipe) -> Self {
        Self {
            reader: pipe.reader,
            writer: Some(pipe.writer),
            process: pipe.process,
            unread: Vec::new(),
            searched: 0,
            total_bytes: 0,
        }
    }

    /// Returns the process at the other end, if it is one.
    pub fn process(&mut self) -> Option<&mut Process> {
        self.process.as_mut()
    }

    /// Sends bytes without the end of a line.
    ///
    /// # Errors
    /// Fails if the server does not take them.
    pub async fn write(&mut self, bytes: &[u8]) -> Result<(), ProbeError> {
        let closed = || ProbeError::Closed {
            what: "taking a message".into(),
        };
        let writer = self.writer.as_mut().ok_or_else(closed)?;
        writer.write_all(bytes).await.map_err(|_| closed())?;
        writer.flush().await.map_err(|_| closed())
    }

    fn take_line(&mut self) -> Option<Vec<u8>> {
        let found = self.unread[self.searched..]
            .iter()
            .position(|byte| *byte == b'\n');
        let Some(end) = found else {
            self.searched = self.unread.len();
            return None;
        };
        let rest = self.unread.split_off(self.searched + end + 1);
        let mut line = std::mem::replace(&mut self.unread, rest);
        line.pop();
        self.searched = 0;
        Some(line)
    }

    async fn read(&mut self) -> Result<Option<Arrival>, ProbeError> {
        loop {
            if let Some(line) = self.take_line() {
                return Ok(Some(Arrival::Frame(line)));
            }
            if self.unread.len() > MAX_LINE_BYTES {
                return Err(ProbeError::TooMuch {
                    limit: MAX_LINE_BYTES,
                    unit: "bytes in one line",
                });
            }
            if self.total_bytes > MAX_BYTES {
                return Err(ProbeError::TooMuch {
                    limit: MAX_BYTES,
                    unit: "bytes in one connection",
                });
            }
            self.unread.reserve(CHUNK_BYTES);
            let count = self.reader.read_buf(&mut self.unread).await?;
            self.total_bytes += count;
            if count == 0 {
                let rest = std::mem::take(&mut self.unread);
                self.searched = 0;
                return Ok((!rest.is_empty()).then_some(Arrival::Frame(rest)));
            }
        }
    }

    /// Closes the input of the server, and waits for the end of its output.
    ///
    /// # Errors
    /// Fails if the output does not end in that time.
    pub async fn drain(&mut self, limit: Duration) -> Result<Vec<Vec<u8>>, ProbeError> {
        self.writer = None;
        let mut lines = Vec::new();
        let draining = async {
            while let Some(Arrival::Frame(line)) = self.read().await? {
                lines.push(line);
            }
            Ok(())
        };
        match tokio::time::timeout(limit, draining).await {
            Ok(done) => done.map(|()| lines),
            Err(_) => Err(ProbeError::TimedOut {
                what: "the end of the output after the end of the input".into(),
                limit,
            }),
        }
    }
}

impl Link for LinesLink {
    fn send<'a>(&'a mut self, frame: &'a [u8]) -> BoxFuture<'a, Result<(), ProbeError>> {
        Box::pin(async move {
            let mut line = Vec::with_capacity(frame.len() + 1);
            line.extend_from_slice(frame);
            line.push(b'\n');
            self.write(&line).await
        })
    }

    fn next(&mut self) -> BoxFuture<'_, Result<Option<Arrival>, ProbeError>> {
        Box::pin(self.read())
    }

    fn closed(&mut self, what: String) -> BoxFuture<'_, ProbeError> {
        Box::pin(async move {
            let Some(process) = self.process.as_mut() else {
                return ProbeError::Closed { what };
            };
            let Some(status) = process.wait(END_TIMEOUT).await else {
                return ProbeError::Closed { what };
            };
            ProbeError::Ended {
                what,
                status: status.to_string(),
                stderr: process.whole_stderr(END_TIMEOUT).await,
            }
        })
    }

    fn has_lines(&self) -> bool {
        true
    }

    fn close(&mut self) {
        self.writer = None;
    }
}
