//! A byte stream whose writes fail if the peer reads nothing for a while.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

use crate::shared::trace::count_refusal;

/// The longest timeout, whatever is set.
const MAX_TIMEOUT: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// A byte stream whose writes fail with [`io::ErrorKind::TimedOut`] when the peer has taken no byte
/// for a time. Each byte that the peer takes starts the time anew, so that a slow reader is waited
/// for. A stream that never waits for its peer has no timer.
#[derive(Debug)]
pub struct WriteTimeout<S> {
    stream: S,
    timeout: Duration,
    /// The name of the setting, for the error and for metrics.
    setting: &'static str,
    timer: Option<Pin<Box<Sleep>>>,
    /// True while bytes wait for the peer.
    is_waiting: bool,
    /// True once the peer has taken nothing for too long.
    is_timed_out: bool,
}

impl<S> WriteTimeout<S> {
    /// Wraps a stream. `setting` is the name of the setting of `timeout`, for the error and for metrics.
    pub fn new(stream: S, timeout: Duration, setting: &'static str) -> Self {
        Self {
            stream,
            timeout: timeout.min(MAX_TIMEOUT),
            setting,
            timer: None,
            is_waiting: false,
            is_timed_out: false,
        }
    }

    /// Returns what a write returned, or an error if the peer has taken nothing for too long.
    fn check<T>(
        &mut self,
        written: Poll<io::Result<T>>,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.is_waiting = false;
            return written;
        }
        let new_timer = || Box::pin(tokio::time::sleep(self.timeout));
        let timer = self.timer.get_or_insert_with(new_timer);
        if !std::mem::replace(&mut self.is_waiting, true) {
            timer.as_mut().reset(Instant::now() + self.timeout);
        }
        ready!(timer.as_mut().poll(cx));
        let Self {
            timeout, setting, ..
        } = self;
        let message = format!("the peer read nothing for {timeout:?} ({setting})");
        tracing::debug!("{message}: the connection ends");
        // A stream that has failed is shut down, and fails at that once more.
        if !std::mem::replace(&mut self.is_timed_out, true) {
            count_refusal(setting);
        }
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, message)))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for WriteTimeout<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for WriteTimeout<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.check(written, cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, slices);
        self.check(written, cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(cx);
        self.check(flushed, cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let shut_down = Pin::new(&mut self.stream).poll_shutdown(cx);
        self.check(shut_down, cx)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};

    use super::*;

    const TIMEOUT: Duration = Duration::from_secs(60);

    #[tokio::test(start_paused = true)]
    async fn a_write_fails_when_the_peer_reads_nothing_for_so_long() {
        let (ours, _theirs) = duplex(4);
        let mut stream = WriteTimeout::new(ours, TIMEOUT, "Options::write_timeout");
        let begin = Instant::now();
        let error = stream.write_all(b"more than four").await.unwrap_err();
        assert_eq!(begin.elapsed(), TIMEOUT);
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        let message = "the peer read nothing for 60s (Options::write_timeout)";
        assert_eq!(error.to_string(), message);
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_reader_is_waited_for_however_long_the_whole_takes() {
        let (ours, mut theirs) = duplex(1);
        let mut stream = WriteTimeout::new(ours, TIMEOUT, "Options::write_timeout");
        let reader = tokio::spawn(async move {
            for _ in 0..10 {
                tokio::time::sleep(TIMEOUT - Duration::from_secs(1)).await;
                theirs.read_u8().await.unwrap();
            }
        });
        stream.write_all(b"ten bytes.").await.unwrap();
        // A pause between two writes does not count.
        tokio::time::sleep(3 * TIMEOUT).await;
        reader.await.unwrap();
    }
}
