//! Streamable HTTP: every frame is a request of its own.

use std::collections::HashMap;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Request, header};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use turnbuckle_wire::revision::Revision;

use super::ask::{self, ask_request};
use super::messages::is_modern;
use super::{Arrival, Link, ProbeError};
use crate::target::{BoxFuture, Endpoint};

/// Key of `_meta` in which a modern request names its revision.
const VERSION: &str = "io.modelcontextprotocol/protocolVersion";

/// Arrivals that wait to be taken; what comes after them waits in the connections.
const QUEUE: usize = 1 << 16;

/// Time in which a server accepts `notifications/initialized`.
const ACCEPTANCE_LIMIT: Duration = Duration::from_secs(2);

/// Frames to an endpoint, and what its responses carry.
pub struct HttpLink {
    endpoint: Endpoint,
    revision: Revision,
    /// The id of the session; none before the handshake, nor with a server that gives sessions no id.
    session: Arc<Mutex<Option<String>>>,
    /// The handshake was answered: requests name the revision from then on.
    is_open: Arc<AtomicBool>,
    arrived: mpsc::Receiver<Arrival>,
    arrives: mpsc::Sender<Arrival>,
    /// Tasks that read responses, by the text of the request's id.
    exchanges: HashMap<String, JoinHandle<()>>,
    /// Tasks that read the responses to other messages.
    others: Vec<JoinHandle<()>>,
    /// Task that reads the session's own stream.
    general: Option<JoinHandle<()>>,
}

impl HttpLink {
    /// Creates the client's end of an endpoint, for one session of a revision.
    #[must_use]
    pub fn new(endpoint: Endpoint, revision: Revision) -> Self {
        let (arrives, arrived) = mpsc::channel(QUEUE);
        Self {
            endpoint,
            revision,
            session: Arc::default(),
            is_open: Arc::default(),
            arrived,
            arrives,
            exchanges: HashMap::new(),
            others: Vec::new(),
            general: None,
        }
    }

    /// Returns the id of the session, which the server gave in the handshake.
    #[must_use]
    pub fn session(&self) -> Option<String> {
        let session = self.session.lock().unwrap_or_else(PoisonError::into_inner);
        session.clone()
    }

    /// Posts a frame. It is under way when this returns: what is sent next comes after it.
    async fn post(&mut self, frame: &[u8]) {
        let message: Value = serde_json::from_slice(frame).unwrap_or_default();
        let request = self.post_request(frame, &message);
        let (session, is_open) = (Arc::clone(&self.session), Arc::clone(&self.is_open));
        // The answer to a message that is no request is awaited by nobody.
        let asks = message.get("method").is_some() || message.is_array();
        let id = message.get("id").filter(|_| asks).map(Value::to_string);
        let is_handshake = message["method"] == "initialize";
        let reading = self.exchange(request, id.clone(), move |head| {
            let given = head.get("mcp-session-id").filter(|_| is_handshake);
            if let Some(given) = given.and_then(|given| given.to_str().ok()) {
                let mut session = session.lock().unwrap_or_else(PoisonError::into_inner);
                *session = Some(given.to_owned());
            }
            is_open.fetch_or(is_handshake, Ordering::Relaxed);
        });
        let reading = reading.await;
        match id {
            Some(id) => drop(self.exchanges.insert(id, reading)),
            None => self.others.push(reading),
        }
        if message["method"] == "notifications/initialized" {
            // What comes next takes another connection, and would overtake it.
            if let Some(accepting) = self.others.last_mut() {
                let _ = tokio::time::timeout(ACCEPTANCE_LIMIT, accepting).await;
            }
            if self.session().is_some() {
                self.open_general().await;
            }
        }
    }

    fn post_request(&self, frame: &[u8], message: &Value) -> Request<Bytes> {
        let params = &message["params"];
        let own = is_modern(self.revision).then_some(self.revision.as_str());
        let version = params["_meta"][VERSION].as_str().or(own);
        let request = ask_request(&self.endpoint, "POST");
        let request = match version {
            None => self.in_session(request),
            Some(_) => request,
        };
        let mut request = request
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::ACCEPT, "application/json, text/event-stream");
        if let Some(version) = version {
            request = request.header("mcp-protocol-version", version);
            for (name, value) in ask::mirrored_headers(message) {
                request = request.header(name, value);
            }
        }
        ask::with_body(request, Bytes::copy_from_slice(frame))
    }

    /// Adds the headers that a request of a legacy session carries.
    fn in_session(&self, mut request: http::request::Builder) -> http::request::Builder {
        if let Some(session) = self.session() {
            request = request.header("mcp-session-id", session);
        }
        if self.is_open.load(Ordering::Relaxed) && self.revision.features().version_header {
            request = request.header("mcp-protocol-version", self.revision.as_str());
        }
        request
    }

    async fn open_general(&mut self) {
        let request = self
            .in_session(ask_request(&self.endpoint, "GET"))
            .header(header::ACCEPT, "text/event-stream");
        let request = ask::with_body(request, Bytes::new());
        self.general = Some(self.exchange(request, None, |_| ()).await);
    }

    /// Sends a request as far as it goes without waiting, and reads its response in a task.
    async fn exchange(
        &self,
        request: Request<Bytes>,
        id: Option<String>,
        head: impl FnOnce(&HeaderMap) + Send + 'static,
    ) -> JoinHandle<()> {
        let sending = self.endpoint.exchange.send(request);
        let arrives = self.arrives.clone();
        let mut reading: Pin<Box<dyn Future<Output = ()> + Send>> = Box::pin(async move {
            match sending.await {
                Ok(response) => {
                    head(response.headers());
                    ask::pass_on(response, id, &arrives).await;
                }
                Err(error) => {
                    let error = error.into();
                    let _ = arrives.send(Arrival::Failed { id, error }).await;
                }
            }
        });
        let ready = poll_fn(|cx| Poll::Ready(reading.as_mut().poll(cx).is_ready())).await;
        if ready {
            reading = Box::pin(async {});
        }
        tokio::spawn(reading)
    }
}

impl Link for HttpLink {
    fn send<'a>(&'a mut self, frame: &'a [u8]) -> BoxFuture<'a, Result<(), ProbeError>> {
        Box::pin(async move {
            self.post(frame).await;
            Ok(())
        })
    }

    fn next(&mut self) -> BoxFuture<'_, Result<Option<Arrival>, ProbeError>> {
        Box::pin(async { Ok(self.arrived.recv().await) })
    }

    /// Closes the response to a request, where that is how one gives it up.
    fn give_up(&mut self, id: &str) -> bool {
        if !is_modern(self.revision) {
            return false;
        }
        if let Some(reading) = self.exchanges.remove(id) {
            reading.abort();
        }
        true
    }
}

impl Drop for HttpLink {
    fn drop(&mut self) {
        let tasks = self.exchanges.values();
        for reading in tasks.chain(&self.others).chain(&self.general) {
            reading.abort();
        }
    }
}
