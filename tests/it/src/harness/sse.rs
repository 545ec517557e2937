//! The client's end of an HTTP+SSE connection in this process: one stream, and a POST per frame.

use std::sync::Arc;

use bytes::Bytes;
use http::{Request, header};
use http_body_util::BodyExt;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use turnbuckle_http::{HttpServerOptions, HttpSse};
use turnbuckle_server::Server;
use turnbuckle_session::handler::Signal;
use turnbuckle_types::Principal;

use super::ClientOptions;
use super::http::read;
use crate::wires::BodyInPieces;

/// A connection, opened when it is first used.
pub(super) struct Sse {
    service: HttpSse,
    principal: Option<Arc<Principal>>,
    stream: Option<Stream>,
}

struct Stream {
    /// URL to which frames are posted.
    messages: String,
    arrived: mpsc::UnboundedReceiver<Vec<u8>>,
    /// For what is said in the response to a POST.
    arrives: mpsc::WeakUnboundedSender<Vec<u8>>,
    reading: JoinHandle<()>,
}

impl Sse {
    pub(super) fn new(server: &Server, options: &ClientOptions, stop: Signal) -> Self {
        let http_options = HttpServerOptions::new().limits(options.limits.clone());
        Self {
            service: HttpSse::with_shutdown(server.clone(), http_options, stop),
            principal: options.principal.clone().map(Arc::new),
            stream: None,
        }
    }

    /// Posts a frame. It is taken when this returns.
    pub(super) async fn send(&mut self, frame: &[u8]) {
        let messages = self.stream().await.messages.clone();
        let request = self
            .request("POST", &messages)
            .header(header::CONTENT_TYPE, "application/json")
            .body(BodyInPieces::new(Bytes::copy_from_slice(frame)))
            .expect("a request of our own");
        let response = self.service.answer(request).await;
        let refused = response.status() != http::StatusCode::ACCEPTED;
        if let Some(arrives) = self.stream().await.arrives.upgrade()
            && refused
        {
            read(response, &arrives).await;
        }
    }

    /// Returns the next message on the stream; `None` at its end.
    pub(super) async fn next(&mut self) -> Option<Vec<u8>> {
        self.stream().await.arrived.recv().await
    }

    /// Returns the stream, opening it if necessary. Opening takes no time.
    async fn stream(&mut self) -> &mut Stream {
        if self.stream.is_none() {
            self.stream = Some(self.open().await);
        }
        self.stream.as_mut().expect("it was opened")
    }

    async fn open(&self) -> Stream {
        let request = self
            .request("GET", "/sse")
            .header(header::ACCEPT, "text/event-stream")
            .body(BodyInPieces::default())
            .expect("a request of our own");
        let mut response = self.service.answer(request).await;
        let first = response.body_mut().frame().await.expect("a first event");
        let first = first.expect("a body that cannot break").into_data();
        let first = first.expect("no trailers");
        let messages = std::str::from_utf8(&first)
            .ok()
            .and_then(|text| text.strip_prefix("event: endpoint\ndata: "))
            .expect("the first event says where to post");
        let (arrives, arrived) = mpsc::unbounded_channel();
        Stream {
            messages: messages.trim_end().to_owned(),
            arrived,
            arrives: arrives.downgrade(),
            reading: tokio::spawn(async move { read(response, &arrives).await }),
        }
    }

    fn request(&self, method: &str, target: &str) -> http::request::Builder {
        let mut request = Request::builder()
            .method(method)
            .uri(target)
            .header(header::HOST, "localhost");
        if let Some(principal) = &self.principal {
            request = request.extension(Arc::clone(principal));
        }
        request
    }
}

impl Drop for Sse {
    fn drop(&mut self) {
        if let Some(stream) = &self.stream {
            stream.reading.abort();
        }
    }
}
