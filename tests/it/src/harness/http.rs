//! The client's end of an endpoint in this process: every frame is a request of its own.

use std::collections::HashMap;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::Poll;

use bytes::Bytes;
use http::{Request, Response, header};
use http_body_util::BodyExt;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use turnbuckle_http::{HttpServerOptions, ResponseBody, StreamableHttp};
use turnbuckle_server::Server;
use turnbuckle_session::handler::Signal;
use turnbuckle_types::Principal;
use turnbuckle_wire::era::headers;
use turnbuckle_wire::revision::{EraKind, Revision};

use super::ClientOptions;
use crate::wires::BodyInPieces;

/// Key of `_meta` in which a modern request names its revision.
const VERSION: &str = "io.modelcontextprotocol/protocolVersion";

/// Frames to an endpoint, and what its responses carry.
pub(super) struct Http {
    service: StreamableHttp,
    principal: Option<Arc<Principal>>,
    revision: Revision,
    session: Arc<Mutex<Option<String>>>,
    arrived: mpsc::UnboundedReceiver<Vec<u8>>,
    arrives: mpsc::UnboundedSender<Vec<u8>>,
    /// By the text of a request's id: what reads its response.
    exchanges: HashMap<String, JoinHandle<()>>,
    /// Task that reads the session's own stream.
    general: Option<JoinHandle<()>>,
}

impl Http {
    pub(super) fn new(
        server: &Server,
        revision: Revision,
        options: &ClientOptions,
        stop: Signal,
    ) -> Self {
        let http_options = HttpServerOptions::new().limits(options.limits.clone());
        let (arrives, arrived) = mpsc::unbounded_channel();
        Self {
            service: StreamableHttp::with_shutdown(server.clone(), http_options, stop),
            principal: options.principal.clone().map(Arc::new),
            revision,
            session: Arc::default(),
            arrived,
            arrives,
            exchanges: HashMap::new(),
            general: None,
        }
    }

    /// Posts a frame. It is under way when this returns: what is sent next comes after it.
    pub(super) async fn send(&mut self, frame: &[u8]) {
        let message: Value = serde_json::from_slice(frame).unwrap_or_default();
        let request = self.post(frame, &message);
        let session = Arc::clone(&self.session);
        let reading = self.exchange(request, move |response| {
            let id = response.headers().get(headers::SESSION_ID);
            if let Some(id) = id.and_then(|id| id.to_str().ok()) {
                *session.lock().expect("no panic while it is held") = Some(id.to_owned());
            }
        });
        let reading = reading.await;
        if let Some(id) = message.get("id") {
            self.exchanges.insert(id.to_string(), reading);
        }
        if message["method"] == "notifications/initialized" && self.session().is_some() {
            self.open_general().await;
        }
    }

    /// Returns the next message of any response. Never returns the end.
    pub(super) async fn next(&mut self) -> Option<Vec<u8>> {
        self.arrived.recv().await
    }

    /// Closes the response to a request, where that is how one gives it up. `false` where a message
    /// has to say so.
    pub(super) fn give_up(&mut self, id: &str) -> bool {
        if !self.is_modern() {
            return false;
        }
        if let Some(reading) = self.exchanges.remove(id) {
            reading.abort();
        }
        true
    }

    fn is_modern(&self) -> bool {
        self.revision.features().era == EraKind::Modern
    }

    fn session(&self) -> Option<String> {
        self.session
            .lock()
            .expect("no panic while it is held")
            .clone()
    }

    fn post(&self, frame: &[u8], message: &Value) -> Request<BodyInPieces> {
        let params = &message["params"];
        let own = self.is_modern().then_some(self.revision.as_str());
        let version = params["_meta"][VERSION].as_str().or(own);
        let request = self.request("POST");
        let request = match version {
            None => self.in_session(request),
            Some(_) => request,
        };
        let mut request = request
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::ACCEPT, "application/json, text/event-stream");
        if let Some(version) = version {
            request = request.header(headers::PROTOCOL_VERSION, version);
            if let Some(method) = message["method"].as_str() {
                request = request.header(headers::METHOD, &*headers::encode_value(method));
            }
            let named = match message["method"].as_str() {
                Some("resources/read") => &params["uri"],
                Some("tasks/get" | "tasks/update" | "tasks/cancel") => &params["taskId"],
                _ => &params["name"],
            };
            if let Some(name) = named.as_str() {
                request = request.header(headers::NAME, &*headers::encode_value(name));
            }
        }
        let body = BodyInPieces::new(Bytes::copy_from_slice(frame));
        request.body(body).expect("a request of our own")
    }

    fn request(&self, method: &str) -> http::request::Builder {
        let mut request = Request::builder()
            .method(method)
            .uri("http://localhost/mcp")
            .header(header::HOST, "localhost");
        if let Some(principal) = &self.principal {
            request = request.extension(Arc::clone(principal));
        }
        request
    }

    /// Adds the headers that a request of a legacy session carries.
    fn in_session(&self, mut request: http::request::Builder) -> http::request::Builder {
        if let Some(session) = self.session() {
            request = request.header(headers::SESSION_ID, session);
            if self.revision.features().version_header {
                request = request.header(headers::PROTOCOL_VERSION, self.revision.as_str());
            }
        }
        request
    }

    async fn open_general(&mut self) {
        let request = self
            .in_session(self.request("GET"))
            .header(header::ACCEPT, "text/event-stream")
            .body(BodyInPieces::default())
            .expect("a request of our own");
        self.general = Some(self.exchange(request, |_| ()).await);
    }

    /// Sends a request as far as it goes without waiting, and reads its response in a task.
    async fn exchange(
        &self,
        request: Request<BodyInPieces>,
        head: impl FnOnce(&Response<ResponseBody>) + Send + 'static,
    ) -> JoinHandle<()> {
        let service = self.service.clone();
        let arrives = self.arrives.clone();
        let mut reading: Pin<Box<dyn Future<Output = ()> + Send>> = Box::pin(async move {
            let response = service.answer(request).await;
            head(&response);
            read(response, &arrives).await;
        });
        let ready = poll_fn(|cx| Poll::Ready(reading.as_mut().poll(cx).is_ready())).await;
        if ready {
            reading = Box::pin(async {});
        }
        tokio::spawn(reading)
    }
}

impl Drop for Http {
    fn drop(&mut self) {
        for reading in self.exchanges.values().chain(&self.general) {
            reading.abort();
        }
    }
}

/// Passes on every message of a response.
pub(super) async fn read(
    response: Response<ResponseBody>,
    arrives: &mpsc::UnboundedSender<Vec<u8>>,
) {
    let kind = response.headers().get(header::CONTENT_TYPE);
    let streams = kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"));
    let mut body = response.into_body();
    let mut unread = Vec::new();
    while let Some(frame) = body.frame().await {
        let data = frame.expect("a body that cannot break").into_data();
        unread.extend_from_slice(&data.expect("no trailers"));
        while let Some(end) = find(&unread, b"\n\n").filter(|_| streams) {
            let event: Vec<u8> = unread.drain(..end + 2).collect();
            if let Some(message) = message_of(&event) {
                let _ = arrives.send(message);
            }
        }
    }
    if !unread.is_empty() {
        let _ = arrives.send(unread);
    }
}

fn find(bytes: &[u8], part: &[u8]) -> Option<usize> {
    bytes.windows(part.len()).position(|window| window == part)
}

/// Returns the data of an event; `None` for comments and for events that only carry an id.
fn message_of(event: &[u8]) -> Option<Vec<u8>> {
    let lines = event.split(|byte| *byte == b'\n');
    let data: Vec<_> = lines
        .filter_map(|line| line.strip_prefix(b"data:"))
        .collect();
    let message = data.join(&b'\n').trim_ascii().to_vec();
    (!message.is_empty()).then_some(message)
}
