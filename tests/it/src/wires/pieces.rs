//! Streams and bodies that arrive in pieces of sizes given by the tests' seed: one byte, a few, or
//! many. All data arrives and no time passes, so that tests on the paused clock are not affected.

use std::convert::Infallible;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::{Rng, Script, seed};

/// Number of bytes of a stream that arrive in pieces; the rest arrives as it is.
const SHAKEN: usize = 64 << 10;

/// Sizes of pieces.
#[derive(Debug, Clone, Default)]
struct Sizes {
    /// The longest.
    most: usize,
    /// Number of bytes that have arrived.
    came: usize,
}

impl Sizes {
    /// Returns the sizes that a connection at that place has.
    fn at_place(place: &str) -> Self {
        Self {
            most: Script::harmless(seed(), place).piece,
            came: 0,
        }
    }

    /// Returns how many of the `of` available bytes arrive next.
    fn next(&self, of: usize) -> usize {
        match self.came < SHAKEN {
            true => of.min(self.most),
            false => of,
        }
    }

    fn come(&mut self, bytes: usize) {
        self.came = self.came.saturating_add(bytes);
    }
}

/// A stream that is read and written in pieces, with others taking their turns between them.
#[derive(Debug)]
pub struct InPieces<S> {
    stream: S,
    read: Sizes,
    written: Sizes,
    turns: Rng,
}

impl<S> InPieces<S> {
    /// Wraps a stream; each `place` has pieces of its own sizes.
    #[must_use]
    pub fn new(stream: S, place: &str) -> Self {
        Self {
            stream,
            read: Sizes::at_place(&format!("{place}, read")),
            written: Sizes::at_place(&format!("{place}, written")),
            turns: Rng::new(seed(), place),
        }
    }

    /// Lets others take their turns, now and then.
    fn poll_turn(&mut self, sizes: fn(&Self) -> &Sizes, cx: &mut Context<'_>) -> Poll<()> {
        if sizes(self).came < SHAKEN && self.turns.below(4) == 0 {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        Poll::Ready(())
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for InPieces<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        ready!(self.poll_turn(|this| &this.read, cx));
        let size = self.read.next(buffer.remaining());
        let mut piece = ReadBuf::new(buffer.initialize_unfilled_to(size));
        ready!(Pin::new(&mut self.stream).poll_read(cx, &mut piece))?;
        let read = piece.filled().len();
        buffer.advance(read);
        self.read.come(read);
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for InPieces<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_turn(|this| &this.written, cx));
        let (piece, _) = bytes.split_at(self.written.next(bytes.len()));
        let written = ready!(Pin::new(&mut self.stream).poll_write(cx, piece))?;
        self.written.come(written);
        Poll::Ready(Ok(written))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

/// A body that comes in pieces.
#[derive(Debug, Clone, Default)]
pub struct BodyInPieces {
    left: Bytes,
    sizes: Sizes,
}

impl BodyInPieces {
    /// Creates a body of these bytes; each length has pieces of its own sizes.
    #[must_use]
    pub fn new(bytes: impl Into<Bytes>) -> Self {
        let left = bytes.into();
        Self {
            sizes: Sizes::at_place(&format!("a body of {} bytes", left.len())),
            left,
        }
    }

    /// Goes on with these bytes, once all others came.
    pub fn go_on(&mut self, bytes: Bytes) {
        match self.sizes.most {
            0 => *self = Self::new(bytes),
            _ => self.left = bytes,
        }
    }
}

impl Body for BodyInPieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if self.left.is_empty() {
            return Poll::Ready(None);
        }
        let size = self.sizes.next(self.left.len());
        self.sizes.come(size);
        Poll::Ready(Some(Ok(Frame::data(self.left.split_to(size)))))
    }

    fn is_end_stream(&self) -> bool {
        self.left.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left.len() as u64)
    }
}
