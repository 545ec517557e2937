//! A server's standard output, which outlives the transport that reads it.

use std::convert::Infallible;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncReadExt, ReadBuf};
use tokio::process::ChildStdout;
use tokio::sync::oneshot;

/// The pipe. When it is dropped, the pipe goes to whoever holds the receiver: a server that says
/// a last word after its input was closed would be struck by a closed pipe.
pub(super) struct Output {
    pipe: Option<ChildStdout>,
    heir: Option<oneshot::Sender<ChildStdout>>,
}

impl Output {
    pub(super) fn new(pipe: ChildStdout) -> (Self, oneshot::Receiver<ChildStdout>) {
        let (heir, inherited) = oneshot::channel();
        let output = Self {
            pipe: Some(pipe),
            heir: Some(heir),
        };
        (output, inherited)
    }
}

impl AsyncRead for Output {
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

impl Drop for Output {
    fn drop(&mut self) {
        if let (Some(pipe), Some(heir)) = (self.pipe.take(), self.heir.take()) {
            // Nobody waits for the process any more: the pipe closes.
            let _ = heir.send(pipe);
        }
    }
}

/// Reads on once the transport has stopped, to nobody.
pub(super) async fn discard(inherited: &mut oneshot::Receiver<ChildStdout>) -> Infallible {
    if let Ok(mut pipe) = inherited.await {
        let mut chunk = vec![0; 4 << 10];
        while let Ok(1..) = pipe.read(&mut chunk).await {}
    }
    std::future::pending().await
}
