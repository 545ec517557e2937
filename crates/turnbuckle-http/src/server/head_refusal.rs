//! The refusal of a request whose head is too large, with a body that names the settings.
//!
//! hyper refuses a head that does not fit its buffer by 431 without a body. The stream below it sends
//! another response instead.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use http::StatusCode;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::connection::refusal;

/// The beginning of the response that is replaced.
const STATUS_LINE: &[u8] = b"HTTP/1.1 431 ";

/// The header that tells hyper's own responses from those of the endpoints.
const NO_BODY: &[u8] = b"content-length: 0\r\n";

/// A connection on which hyper's response to a large head gets a body.
pub(super) struct HeadRefusals<S> {
    stream: S,
    /// The part of a replacement that was not sent yet.
    pending: Vec<u8>,
}

impl<S> HeadRefusals<S> {
    pub(super) fn new(stream: S) -> Self {
        Self {
            stream,
            pending: Vec::new(),
        }
    }

    /// Takes the response that is replaced, if `bytes` are one. Returns whether they are.
    fn replace(&mut self, bytes: &[u8]) -> bool {
        if !bytes.starts_with(STATUS_LINE) {
            return false;
        }
        let is_empty = bytes.windows(NO_BODY.len()).any(|part| part == NO_BODY);
        if is_empty {
            let message = "the head of a request is too large (HttpServerOptions::max_header_bytes, \
                           HttpServerOptions::max_headers)";
            self.pending = refusal(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, message);
        }
        is_empty
    }
}

impl<S: AsyncWrite + Unpin> HeadRefusals<S> {
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
}

impl<S: AsyncRead + Unpin> AsyncRead for HeadRefusals<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for HeadRefusals<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_pending(cx))?;
        match self.replace(bytes) {
            true => Poll::Ready(Ok(bytes.len())),
            false => Pin::new(&mut self.stream).poll_write(cx, bytes),
        }
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_pending(cx))?;
        let head = parts.first().map_or(&[][..], |part| part);
        match self.replace(head) {
            true => Poll::Ready(Ok(parts.iter().map(|part| part.len()).sum())),
            false => Pin::new(&mut self.stream).poll_write_vectored(cx, parts),
        }
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
