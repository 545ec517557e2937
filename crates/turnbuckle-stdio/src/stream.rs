//! A transport over a byte stream.

use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};
use turnbuckle_session::internal::WriteTimeout;
use turnbuckle_session::transport::{
    CloseReason, Dispatch, Frame, Transport, TransportContext, serve,
};
use turnbuckle_types::base::debug_fields;
use turnbuckle_types::base::text::Escaped;

use crate::framing::LineDecoder;
use crate::options::StdioOptions;
use crate::search::has_line_break;

/// The capacity in bytes that the write buffer keeps when everything was sent.
const MAX_IDLE_BUFFER_BYTES: usize = 64 << 10;

/// The reads without a complete message after which the task yields. Empty lines, or a line without
/// end, can arrive faster than they are skipped.
const MAX_READS_PER_POLL: usize = 16;

/// A transport with one message per line over a reader and a writer, such as the halves of a socket
/// or the pipes of a child process.
///
/// Queued messages are sent in as few writes as the writer allows.
///
/// Specification: basic/transports/stdio (2026-07-28).
pub struct StreamTransport<R, W> {
    reader: R,
    lines: LineDecoder,
    writer: W,
    unsent: Vec<u8>,
    /// The bytes at the start of `unsent` that were written already.
    sent: usize,
    /// Set while written bytes were not flushed yet.
    unflushed: bool,
}

impl<R, W> StreamTransport<R, W> {
    /// Creates a transport that reads lines of up to `max_message_bytes` bytes from `reader`, and
    /// writes to `writer`.
    pub fn new(reader: R, writer: W, max_message_bytes: usize) -> Self {
        Self {
            reader,
            lines: LineDecoder::new(max_message_bytes),
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
        for _ in 0..MAX_READS_PER_POLL {
            if let Some(frame) = self.lines.next_frame() {
                return Poll::Ready(Some(frame));
            }
            if self.lines.is_ended() {
                return Poll::Ready(None);
            }
            // The future has no state of its own, so it may be dropped after every poll.
            let read = pin!(self.reader.read_buf(self.lines.read_buffer()));
            match ready!(read.poll(cx)) {
                Ok(0) => self.lines.end(),
                Ok(_) => {}
                Err(error) => {
                    tracing::debug!(error = %Escaped(&error), "the input ended with an error");
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
            if has_line_break(part) {
                join_lines(self.unsent.get_mut(start..).unwrap_or_default());
            }
        }
        self.unsent.push(b'\n');
    }

    fn queued_bytes(&self) -> usize {
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
        self.unsent.shrink_to(MAX_IDLE_BUFFER_BYTES);
        self.sent = 0;
        if self.unflushed {
            ready!(Pin::new(&mut self.writer).poll_flush(cx))?;
            self.unflushed = false;
        }
        Poll::Ready(Ok(()))
    }
}

// The content of messages is not shown.
debug_fields!([R, W] StreamTransport<R, W> {
    lines,
    unsent = |transport| transport.unsent.len() - transport.sent,
});

/// Replaces line breaks by spaces. In JSON text a line break can only be white space.
#[cold]
fn join_lines(json: &mut [u8]) {
    for byte in json {
        if matches!(byte, b'\n' | b'\r') {
            *byte = b' ';
        }
    }
}

/// Serves the client at the other end of a byte stream until either side ends it.
///
/// The client may use any revision, and change between eras.
/// After the end of the input, requests that were read are still answered for
/// [`Limits::drain_timeout`](turnbuckle_session::handler::Limits::drain_timeout). Dropping the future, or
/// cancelling the options' `stop`, cancels all requests. A client that reads nothing for
/// [`StdioOptions::write_timeout`] is cut off, with [`CloseReason::Broken`].
///
/// Specification: basic/transports/stdio (2026-07-28).
pub async fn serve_stream<R, W>(
    dispatch: impl Into<Arc<dyn Dispatch>>,
    reader: R,
    writer: W,
    options: StdioOptions,
) -> CloseReason
where
    R: AsyncRead + Unpin + Send,
    W: AsyncWrite + Unpin + Send,
{
    let writer = WriteTimeout::new(writer, options.write_timeout, "StdioOptions::write_timeout");
    let transport = StreamTransport::new(reader, writer, options.max_message_bytes);
    let context = TransportContext {
        principal: None,
        shutdown: Some(options.stop.clone()),
        ..TransportContext::default()
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

    /// Flushes the transport and returns everything that was written.
    fn written(mut transport: StreamTransport<Empty, Vec<u8>>) -> String {
        let mut cx = Context::from_waker(std::task::Waker::noop());
        assert!(matches!(transport.poll_flush(&mut cx), Poll::Ready(Ok(()))));
        assert_eq!(transport.queued_bytes(), 0);
        String::from_utf8(transport.writer).unwrap()
    }

    #[test]
    fn a_message_in_two_parts_is_one_line() {
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
            assert_eq!(parts.queued_bytes(), head.len() + tail.len() + 1);
            let line = written(parts);
            assert_eq!(line, written(whole));
            let without_breaks = [head, tail].concat().replace(['\n', '\r'], " ");
            assert_eq!(line, without_breaks + "\n");
        }
    }

    #[test]
    fn messages_are_sent_in_the_order_of_queuing() {
        let mut transport = transport();
        transport.queue(b"1");
        transport.queue_parts(b"[2,", b"3]");
        transport.queue_parts(b"[4,\n", b"5]");
        assert_eq!(written(transport), "1\n[2,3]\n[4, 5]\n");
    }

    #[test]
    fn sent_bytes_are_removed_from_the_buffer() {
        let mut transport = transport();
        transport.queue(b"12345");
        transport.sent = 5;
        transport.queue_parts(b"6", b"7");
        assert_eq!(transport.queued_bytes(), 4);
        assert_eq!(written(transport), "\n67\n");
    }
}
