//! The standard input of a server, and whether the server has read any of it.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};

use tokio::io::AsyncWrite;
use tokio::process::ChildStdin;
use tokio::time::{Sleep, sleep};

use super::supervisor::EXIT_GRACE;

/// The pipe of a server's standard input. Dropping it tells [`InputUse`] what the server left unread.
pub(super) struct ServerStdin {
    pipe: ChildStdin,
    written: usize,
    input_use: InputUse,
    /// The error of a write, and the time when it is reported.
    failure: Option<(io::Error, Pin<Box<Sleep>>)>,
}

/// The answer to whether a server may have read from its standard input: final once the pipe is dropped and the
/// process has ended.
#[derive(Clone)]
pub(super) struct InputUse(Arc<AtomicBool>);

impl InputUse {
    /// Returns false if the server is known to have read nothing.
    pub(super) fn may_have_read(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

impl ServerStdin {
    pub(super) fn new(pipe: ChildStdin) -> (Self, InputUse) {
        let input_use = InputUse(Arc::new(AtomicBool::new(true)));
        let input = Self {
            pipe,
            written: 0,
            input_use: input_use.clone(),
            failure: None,
        };
        (input, input_use)
    }
}

impl AsyncWrite for ServerStdin {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let input = self.get_mut();
        if input.failure.is_none() {
            match ready!(Pin::new(&mut input.pipe).poll_write(cx, bytes)) {
                Ok(count) => {
                    input.written = input.written.saturating_add(count);
                    return Poll::Ready(Ok(count));
                }
                Err(error) => input.failure = Some((error, Box::pin(sleep(EXIT_GRACE)))),
            }
        }
        // A server that ends has often written why. Its output is read meanwhile, up to its end.
        if let Some((_, grace)) = &mut input.failure {
            ready!(grace.as_mut().poll(cx));
        }
        let error = input.failure.take().map(|(error, _)| error);
        Poll::Ready(Err(
            error.unwrap_or_else(|| io::ErrorKind::BrokenPipe.into())
        ))
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().pipe).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().pipe).poll_shutdown(cx)
    }
}

impl Drop for ServerStdin {
    fn drop(&mut self) {
        if self.written <= unread_bytes(&self.pipe) {
            self.input_use.0.store(false, Ordering::Release);
        }
    }
}

/// Returns the number of bytes in a pipe that its reader has not read; 0 if it is not known.
#[cfg(unix)]
fn unread_bytes(pipe: &ChildStdin) -> usize {
    // Linux answers at both ends of a pipe, also after the reader has gone. Others count 0 here.
    let unread = rustix::io::ioctl_fionread(pipe).unwrap_or(0);
    usize::try_from(unread).unwrap_or(0)
}

#[cfg(not(unix))]
fn unread_bytes(_: &ChildStdin) -> usize {
    0
}

#[cfg(all(test, unix))]
mod tests {
    use std::process::Stdio;

    use tokio::io::AsyncWriteExt as _;
    use tokio::process::Command;
    use tokio::time::Instant;

    use super::*;

    #[tokio::test]
    async fn a_failed_write_leaves_time_to_read_what_the_server_has_written() {
        let mut command = Command::new("true");
        let mut process = command.stdin(Stdio::piped()).spawn().unwrap();
        let pipe = process.stdin.take().unwrap();
        process.wait().await.unwrap();
        tokio::time::pause();
        let (mut input, _) = ServerStdin::new(pipe);
        let before = Instant::now();
        let error = input.write_all(b"{}\n").await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
        assert!(before.elapsed() >= EXIT_GRACE);
    }
}
