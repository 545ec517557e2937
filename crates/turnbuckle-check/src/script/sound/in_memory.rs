//! The server as a target of checks, without a socket.

use std::io;
use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response, Uri};
use http_body_util::BodyExt;

use super::server::Sound;
use crate::target::{Body, BoxFuture, Exchange, OpenPipe, Pipe, Target};

/// Bytes that a pipe in memory holds in each direction.
const PIPE_BYTES: usize = 64 << 10;

impl Sound {
    /// Returns the server as a target of checks: over lines, Streamable HTTP and HTTP+SSE, in memory.
    #[must_use]
    pub fn target(&self) -> Target {
        let exchange = Arc::new(self.clone());
        Target::new("sound")
            .pipe(self.clone())
            .http(Uri::from_static("http://127.0.0.1/mcp"), exchange.clone())
            .sse(Uri::from_static("http://127.0.0.1/sse"), exchange)
    }
}

impl OpenPipe for Sound {
    fn open(&self) -> BoxFuture<'_, io::Result<Pipe>> {
        let (ours, theirs) = tokio::io::duplex(PIPE_BYTES);
        tokio::spawn(self.serve_lines(theirs));
        let (reader, writer) = tokio::io::split(ours);
        let pipe = Pipe {
            reader: Box::new(reader),
            writer: Box::new(writer),
            process: None,
        };
        Box::pin(std::future::ready(Ok(pipe)))
    }
}

impl Exchange for Sound {
    fn send(&self, request: Request<Bytes>) -> BoxFuture<'static, io::Result<Response<Body>>> {
        let responding = self.clone().respond(request);
        Box::pin(async move { Ok(responding.await.map(BodyExt::boxed_unsync)) })
    }
}
