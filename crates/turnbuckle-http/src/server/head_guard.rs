//! The stream below hyper: counts the memory of heads, and refuses those that are too large by name.
//!
//! hyper keeps the head of a request in its read buffer until all of it has come, and says nothing of
//! the size of that buffer. The stream below it sees how much hyper can read at once. hyper refuses a
//! head that does not fit by 431 without a body; the stream sends another response instead.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use http::StatusCode;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use turnbuckle_session::internal::{MemoryExceeded, MemoryPermit};

use super::connection::refusal;
use crate::reply::memory_status;
use crate::shares::ConnectionInfo;

/// The beginning of the response that is replaced.
const STATUS_LINE: &[u8] = b"HTTP/1.1 431 ";

/// The header that tells hyper's own responses from those of the endpoints.
const NO_BODY: &[u8] = b"content-length: 0\r\n";

/// The bytes of a read buffer that belong to every connection, and are bounded by their number.
const UNCOUNTED_BYTES: usize = 16 << 10;

/// The size of a read buffer that a request may keep as a whole, since it counts for that much.
const SMALL_BUFFER_BYTES: usize = 12 << 10;

/// The largest part of a head that counts. What is read of a long body passes through the buffer and is
/// not told from a head.
const MAX_COUNTED_BYTES: usize = 1 << 20;

/// A connection whose read buffer counts for its owner, and on which hyper's response to a large head
/// gets a body.
pub(super) struct HeadGuard<S> {
    stream: S,
    /// The part of a replacement that was not sent yet.
    pending: Vec<u8>,
    /// The bytes that were read since something was written: `max_head` at most, as hyper keeps no more.
    unanswered: usize,
    max_head: usize,
    /// The memory of the read buffer beyond what every connection has.
    memory: MemoryPermit,
    connection: Arc<ConnectionInfo>,
}

impl<S> HeadGuard<S> {
    /// Guards a stream on which hyper keeps heads of up to `max_head` bytes.
    pub(super) fn new(stream: S, max_head: usize, connection: Arc<ConnectionInfo>) -> Self {
        Self {
            stream,
            pending: Vec::new(),
            unanswered: 0,
            max_head: max_head.min(MAX_COUNTED_BYTES),
            memory: connection.account.memory().reserve_beyond_limits(0),
            connection,
        }
    }

    /// Takes the response that is replaced, if `bytes` are one. Returns whether they are.
    fn replace(&mut self, bytes: &[u8]) -> bool {
        if !bytes.starts_with(STATUS_LINE) {
            return false;
        }
        let is_empty = bytes.windows(NO_BODY.len()).any(|part| part == NO_BODY);
        if is_empty {
            let message = "the head of a request is too large (HttpLimits::max_header_bytes, \
                           HttpLimits::max_headers)";
            self.pending = refusal(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, message, None);
        }
        is_empty
    }

    /// Counts the read buffer.
    #[cold]
    fn count(&mut self, bytes: usize) -> Result<(), MemoryExceeded> {
        self.connection.set_large_buffer(bytes > SMALL_BUFFER_BYTES);
        self.memory.resize(bytes.saturating_sub(UNCOUNTED_BYTES))
    }
}

impl<S: AsyncWrite + Unpin> HeadGuard<S> {
    fn poll_pending(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.pending.is_empty() {
            let written = ready!(Pin::new(&mut self.stream).poll_write(cx, &self.pending))?;
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.pending.drain(..written);
        }
        Poll::Ready(Ok(()))
    }

    /// Sends as much of a refusal as the connection takes at once.
    #[cold]
    fn refuse(&mut self, exceeded: MemoryExceeded, cx: &mut Context<'_>) -> io::Error {
        exceeded.count_refusal();
        let (code, delay) = (memory_status(&exceeded), exceeded.retry_after());
        let refusal = refusal(code, &exceeded.to_string(), Some(delay));
        let _ = Pin::new(&mut self.stream).poll_write(cx, &refusal);
        io::Error::other(exceeded.to_string())
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for HeadGuard<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let buffered = this.unanswered + buffer.remaining();
        if (buffered > SMALL_BUFFER_BYTES || this.connection.has_large_buffer())
            && let Err(exceeded) = this.count(buffered)
        {
            return Poll::Ready(Err(this.refuse(exceeded, cx)));
        }
        let before = buffer.filled().len();
        let read = Pin::new(&mut this.stream).poll_read(cx, buffer);
        this.unanswered += buffer.filled().len() - before;
        this.unanswered = this.unanswered.min(this.max_head);
        read
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for HeadGuard<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_pending(cx))?;
        self.unanswered = 0;
        if self.replace(bytes) {
            return Poll::Ready(Ok(bytes.len()));
        }
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_pending(cx))?;
        self.unanswered = 0;
        let head = parts.first().map_or(&[][..], |part| part);
        if self.replace(head) {
            return Poll::Ready(Ok(parts.iter().map(|part| part.len()).sum()));
        }
        Pin::new(&mut self.stream).poll_write_vectored(cx, parts)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_pending(cx))?;
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_pending(cx))?;
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncWriteExt as _;
    use turnbuckle_session::handler::Limits;
    use turnbuckle_session::internal::OwnerAccount;

    use super::*;

    const HEAD: usize = 64 << 10;

    #[test]
    fn the_buffer_of_a_head_that_is_being_read_counts_for_its_owner() {
        let owner = OwnerAccount::new(&Limits::new().max_owner_bytes(HEAD));
        let memory = owner.memory();
        let mut cx = Context::from_waker(std::task::Waker::noop());
        let begin = || {
            let (client, server) = tokio::io::duplex(2 * HEAD);
            let connection = ConnectionInfo::new(owner.clone(), None);
            (client, HeadGuard::new(server, HEAD, connection))
        };
        let read = |guard: &mut HeadGuard<_>, cx: &mut Context<'_>, room: usize| {
            let mut space = vec![0; room];
            Pin::new(guard).poll_read(cx, &mut ReadBuf::new(&mut space))
        };
        let send = |client: &mut tokio::io::DuplexStream, bytes: usize, cx: &mut Context<'_>| {
            let content = vec![b'a'; bytes];
            assert!(
                std::pin::pin!(client.write_all(&content))
                    .poll(cx)
                    .is_ready()
            );
        };
        let (mut client, mut guard) = begin();
        assert!(read(&mut guard, &mut cx, 8 << 10).is_pending());
        assert_eq!(memory.used(), 0, "every connection has a small buffer");
        assert!(!guard.connection.has_large_buffer());
        send(&mut client, 40 << 10, &mut cx);
        for _ in 0..5 {
            assert!(read(&mut guard, &mut cx, 8 << 10).is_ready());
        }
        assert_eq!(
            memory.used(),
            24 << 10,
            "the last read, and those before it"
        );
        assert!(guard.connection.has_large_buffer());
        let (mut other, mut second) = begin();
        send(&mut other, HEAD, &mut cx);
        let refused = loop {
            match read(&mut second, &mut cx, 16 << 10) {
                Poll::Ready(Ok(())) => {}
                Poll::Ready(Err(refused)) => break refused,
                Poll::Pending => panic!("there is room for one of both"),
            }
        };
        assert!(refused.to_string().contains("Limits::max_owner_bytes"));
        let mut answer = vec![0; 1000];
        let mut answer = ReadBuf::new(&mut answer);
        assert!(
            Pin::new(&mut other)
                .poll_read(&mut cx, &mut answer)
                .is_ready()
        );
        let answer = String::from_utf8(answer.filled().to_vec()).unwrap();
        assert!(answer.starts_with("HTTP/1.1 429"), "{answer}");
        assert!(answer.contains("retry-after"), "{answer}");
        // A response ends the head.
        assert!(
            Pin::new(&mut guard)
                .poll_write(&mut cx, b"HTTP/1.1 200")
                .is_ready()
        );
        assert!(read(&mut guard, &mut cx, 8 << 10).is_pending());
        drop(second);
        assert_eq!(memory.used(), 0);
        assert!(!guard.connection.has_large_buffer());
    }
}
