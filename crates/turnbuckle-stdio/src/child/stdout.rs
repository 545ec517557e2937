//! The standard output of a server, which stays open after the transport that reads it has ended.

use std::convert::Infallible;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncReadExt, ReadBuf};
use tokio::process::ChildStdout;
use tokio::sync::oneshot;

/// The pipe of a server's standard output. Dropping it sends the pipe to the receiver: a server that
/// writes after its input was closed would otherwise get an error for a closed pipe.
pub(super) struct ServerStdout {
    pipe: Option<ChildStdout>,
    successor: Option<oneshot::Sender<ChildStdout>>,
}

impl ServerStdout {
    pub(super) fn new(pipe: ChildStdout) -> (Self, oneshot::Receiver<ChildStdout>) {
        let (heir, inherited) = oneshot::channel();
        let output = Self {
            pipe: Some(pipe),
            successor: Some(heir),
        };
        (output, inherited)
    }
}

impl AsyncRead for ServerStdout {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match &mut self.get_mut().pipe {
            Some(pipe) => Pin::new(pipe).poll_read(cx, buffer),
            None => Poll::Ready(Ok(())),
        }
    }
}

impl Drop for ServerStdout {
    fn drop(&mut self) {
        if let (Some(pipe), Some(heir)) = (self.pipe.take(), self.successor.take()) {
            // The receiver is gone once nobody waits for the process; then the pipe closes.
            let _ = heir.send(pipe);
        }
    }
}

/// Reads and discards output once the transport no longer reads it. Never returns.
pub(super) async fn discard(inherited: &mut oneshot::Receiver<ChildStdout>) -> Infallible {
    if let Ok(mut pipe) = inherited.await {
        let mut chunk = vec![0; 4 << 10];
        while let Ok(1..) = pipe.read(&mut chunk).await {}
    }
    std::future::pending().await
}
