//! A byte stream as a transport.

use std::fmt;
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};
use turnbuckle_session::{Closed, Dispatch, Frame, Transport, TransportContext, serve};

use crate::search::breaks;
use crate::{Lines, StdioOptions};

/// What the buffer of a stream that has nothing to send may still occupy.
const KEPT: usize = 64 << 10;

/// Reads without a message in them before others get their turn: empty lines, or one without end,
/// can come faster than they are skipped.
const READS: usize = 16;

/// Messages on the lines of a reader and a writer: a socket's halves, a child's pipes.
///
/// What is queued leaves in as few writes as the writer allows.
///
/// Specification: basic/transports/stdio (2026-07-28).
pub struct StreamTransport<R, W> {
    reader: R,
    lines: Lines,
    writer: W,
    unsent: Vec<u8>,
    /// Bytes of `unsent` that the writer has taken.
    sent: usize,
    /// The writer may still hold what it took.
    unflushed: bool,
}

impl<R, W> StreamTransport<R, W> {
    /// Reads lines of up to `max_line` bytes from `reader`, and writes to `writer`.
    pub fn new(reader: R, writer: W, max_line: usize) -> Self {
        Self {
            reader,
            lines: Lines::new(max_line),
            writer,
            unsent: Vec::new(),
            sent: 0,
            unflushed: false,
        }
    }
}

impl<R, W> Transport for StreamTransport<R, W>
where
    R: AsyncRead + Unpin + Send,
    W: AsyncWrite + Unpin + Send,
{
    fn poll_frame(&mut self, cx: &mut Context<'_>) -> Poll<Option<Frame>> {
        for _ in 0..READS {
            if let Some(frame) = self.lines.next_frame() {
                return Poll::Ready(Some(frame));
            }
            if self.lines.is_ended() {
                return Poll::Ready(None);
            }
            // The future holds nothing between polls.
            let read = pin!(self.reader.read_buf(self.lines.space()));
            match ready!(read.poll(cx)) {
                Ok(0) => self.lines.end(),
                Ok(_) => {}
                Err(error) => {
                    tracing::debug!(%error, "the input ended with an error");
                    self.lines.end();
                }
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    fn queue(&mut self, frame: &[u8]) {
        self.queue_parts(frame, &[]);
    }

    fn queue_parts(&mut self, head: &[u8], tail: &[u8]) {
        if self.sent > self.unsent.len() / 2 {
            self.unsent.drain(..self.sent);
            self.sent = 0;
        }
        self.unsent.reserve(head.len() + tail.len() + 1);
        for part in [head, tail] {
            let start = self.unsent.len();
            self.unsent.extend_from_slice(part);
            if breaks(part) {
                join_lines(self.unsent.get_mut(start..).unwrap_or_default());
            }
        }
        self.unsent.push(b'\n');
    }

    fn queued(&self) -> usize {
        (self.unsent.len() - self.sent).max(usize::from(self.unflushed))
    }

    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while let Some(rest) = self.unsent.get(self.sent..).filter(|rest| !rest.is_empty()) {
            match ready!(Pin::new(&mut self.writer).poll_write(cx, rest))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                taken => self.sent += taken,
            }
            self.unflushed = true;
        }
        self.unsent.clear();
        self.unsent.shrink_to(KEPT);
        self.sent = 0;
        if self.unflushed {
            ready!(Pin::new(&mut self.writer).poll_flush(cx))?;
            self.unflushed = false;
        }
        Poll::Ready(Ok(()))
    }
}

/// Without what the messages say.
impl<R, W> fmt::Debug for StreamTransport<R, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StreamTransport")
            .field("lines", &self.lines)
            .field("unsent", &(self.unsent.len() - self.sent))
            .finish_non_exhaustive()
    }
}

/// Outside of strings, where JSON allows them, line ends are as good as spaces.
#[cold]
fn join_lines(json: &mut [u8]) {
    for byte in json {
        if matches!(byte, b'\n' | b'\r') {
            *byte = b' ';
        }
    }
}

/// Serves the client at the other end of a byte stream, until either side ends it.
///
/// Both eras may be spoken, also in turn. At the end of the input what was read is still
/// answered, for as long as the limits' `drain` says. Dropping the future, or cancelling the
/// options' `stop`, gives up whatever runs.
///
/// Specification: basic/transports/stdio (2026-07-28).
pub async fn serve_stream<R, W>(
    dispatch: impl Into<Arc<dyn Dispatch>>,
    reader: R,
    writer: W,
    options: StdioOptions,
) -> Closed
where
    R: AsyncRead + Unpin + Send,
    W: AsyncWrite + Unpin + Send,
{
    let transport = StreamTransport::new(reader, writer, options.max_line);
    let context = TransportContext {
        principal: None,
        shutdown: Some(options.stop.clone()),
        http: None,
    };
    serve(dispatch, transport, options.limits, context, options.stop).await
}

#[cfg(test)]
mod tests {
    use tokio::io::{Empty, empty};

    use super::*;

    fn transport() -> StreamTransport<Empty, Vec<u8>> {
        StreamTransport::new(empty(), Vec::new(), 100)
    }

    /// What was written when all is flushed.
    fn written(mut transport: StreamTransport<Empty, Vec<u8>>) -> String {
        let mut cx = Context::from_waker(std::task::Waker::noop());
        assert!(matches!(transport.poll_flush(&mut cx), Poll::Ready(Ok(()))));
        assert_eq!(transport.queued(), 0);
        String::from_utf8(transport.writer).unwrap()
    }

    #[test]
    fn a_message_in_parts_is_the_line_that_the_whole_is() {
        for (head, tail) in [
            ("{}", ""),
            ("", "{}"),
            ("{\"result\":", "{\"tools\":[]}}"),
            ("{\n\"result\":", "{}}"),
            ("{\"result\":", "{\r\n}}"),
            ("{\r", "\n}"),
        ] {
            let (mut parts, mut whole) = (transport(), transport());
            parts.queue_parts(head.as_bytes(), tail.as_bytes());
            whole.queue([head, tail].concat().as_bytes());
            assert_eq!(parts.queued(), head.len() + tail.len() + 1);
            let line = written(parts);
            assert_eq!(line, written(whole));
            let without_breaks = [head, tail].concat().replace(['\n', '\r'], " ");
            assert_eq!(line, without_breaks + "\n");
        }
    }

    #[test]
    fn messages_leave_in_the_order_in_which_they_were_queued() {
        let mut transport = transport();
        transport.queue(b"1");
        transport.queue_parts(b"[2,", b"3]");
        transport.queue_parts(b"[4,\n", b"5]");
        assert_eq!(written(transport), "1\n[2,3]\n[4, 5]\n");
    }

    #[test]
    fn what_the_writer_took_already_is_given_back() {
        let mut transport = transport();
        transport.queue(b"12345");
        transport.sent = 5;
        transport.queue_parts(b"6", b"7");
        assert_eq!(transport.queued(), 4);
        assert_eq!(written(transport), "\n67\n");
    }
}
