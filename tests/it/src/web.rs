//! An endpoint in this process, asked by plain HTTP requests: for tests of statuses, headers and
//! streams. What is the same over every binding is tested with the [`harness`](crate::harness).

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, header};
use http_body_util::BodyExt;
use serde_json::{Value, json};
use tokio::time::timeout;
use turnbuckle_http::{ClientAddress, HttpServerOptions, HttpSse, ResponseBody, StreamableHttp};
use turnbuckle_server::Server;
use turnbuckle_session::handler::Signal;
use turnbuckle_types::{Principal, RequiredScopes};
use turnbuckle_wire::era::headers;
use turnbuckle_wire::revision::{EraKind, Revision};

use crate::harness::modern_meta;
use crate::wires::BodyInPieces;

/// Time limit for every wait, on the paused clock.
const PATIENCE: Duration = Duration::from_secs(3600);

/// The endpoint.
#[derive(Debug, Clone)]
pub struct Web(Service);

#[derive(Debug, Clone)]
enum Service {
    Streamable(StreamableHttp),
    Sse(HttpSse),
}

impl Service {
    async fn answer(&self, request: Request<BodyInPieces>) -> Response<ResponseBody> {
        match self {
            Self::Streamable(service) => service.answer(request).await,
            Self::Sse(service) => service.answer(request).await,
        }
    }
}

impl Web {
    /// Creates an endpoint with default settings.
    #[must_use]
    pub fn new(server: &Server) -> Self {
        Self::with(server, HttpServerOptions::new())
    }

    /// Creates an endpoint with those settings.
    #[must_use]
    pub fn with(server: &Server, options: HttpServerOptions) -> Self {
        Self(Service::Streamable(StreamableHttp::new(
            server.clone(),
            options,
        )))
    }

    /// Creates the endpoints of HTTP+SSE, which serve any path.
    #[must_use]
    pub fn sse(server: &Server, options: HttpServerOptions) -> Self {
        Self(Service::Sse(HttpSse::new(server.clone(), options)))
    }

    /// Creates the endpoints of HTTP+SSE with a signal that shuts them down.
    #[must_use]
    pub fn sse_until(server: &Server, options: HttpServerOptions, shutdown: Signal) -> Self {
        let service = HttpSse::with_shutdown(server.clone(), options, shutdown);
        Self(Service::Sse(service))
    }

    /// Creates an endpoint with a signal that shuts it down.
    #[must_use]
    pub fn until(server: &Server, options: HttpServerOptions, shutdown: Signal) -> Self {
        Self(Service::Streamable(StreamableHttp::with_shutdown(
            server.clone(),
            options,
            shutdown,
        )))
    }

    /// Returns a request without a body, with a good `Host` and any `Accept`.
    #[must_use]
    pub fn ask(&self, method: Method) -> Ask {
        let mut request = Request::new(BodyInPieces::default());
        *request.method_mut() = method;
        *request.uri_mut() = http::Uri::from_static("/mcp");
        let ask = Ask {
            service: self.0.clone(),
            request,
        };
        ask.header("host", "localhost")
    }

    /// Returns a POST of these bytes as JSON.
    #[must_use]
    pub fn post(&self, body: impl Into<Bytes>) -> Ask {
        let mut ask = self
            .ask(Method::POST)
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream");
        *ask.request.body_mut() = BodyInPieces::new(body.into());
        ask
    }

    /// Returns a request of the newest revision, with its envelope and every header that mirrors
    /// it.
    #[must_use]
    pub fn modern(&self, method: &str, mut params: Value) -> Ask {
        let meta = modern_meta(Revision::NEWEST, &json!({}));
        for (key, value) in meta {
            if params["_meta"].get(&key).is_none() {
                params["_meta"][key] = value;
            }
        }
        let name = params["name"].as_str().or(params["uri"].as_str());
        let name = name.map(|name| headers::encode_value(name).into_owned());
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let ask = self
            .post(body.to_string())
            .header("MCP-Protocol-Version", Revision::NEWEST.as_str())
            .header("Mcp-Method", method);
        match name {
            Some(name) => ask.header("Mcp-Name", &name),
            None => ask,
        }
    }

    /// Returns a call of a tool by the newest revision.
    #[must_use]
    pub fn call_tool(&self, tool: &str, arguments: Value) -> Ask {
        self.modern("tools/call", json!({"name": tool, "arguments": arguments}))
    }

    /// Returns the request that opens a session.
    #[must_use]
    pub fn initialize(&self, revision: Revision, capabilities: Value) -> Ask {
        let params = json!({
            "protocolVersion": revision.as_str(),
            "capabilities": capabilities,
            "clientInfo": {"name": "tester", "version": "1"},
        });
        let body = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
        self.post(body.to_string())
    }

    /// Opens a session of a client that can do nothing.
    pub async fn open(&self, revision: Revision) -> Session {
        self.open_able(revision, json!({})).await
    }

    /// Opens a session.
    pub async fn open_able(&self, revision: Revision, capabilities: Value) -> Session {
        let opened = self.initialize(revision, capabilities).send().await;
        let id = opened.header("mcp-session-id").expect("a session's id");
        let session = Session {
            id: id.to_owned(),
            web: self.clone(),
            revision,
        };
        let note = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        assert_eq!(session.post(&note).send().await.status, 202);
        session
    }
}

/// An open session.
#[derive(Debug, Clone)]
pub struct Session {
    web: Web,
    /// Id of the session.
    pub id: String,
    /// Revision of the session.
    pub revision: Revision,
}

impl Session {
    /// Returns the same session at another endpoint.
    #[must_use]
    pub fn with_web(&self, web: &Web) -> Self {
        Self {
            web: web.clone(),
            ..self.clone()
        }
    }

    fn add_headers(&self, ask: Ask) -> Ask {
        let ask = ask.header("mcp-session-id", &self.id);
        if self.revision.features().version_header {
            return ask.header("mcp-protocol-version", self.revision.as_str());
        }
        ask
    }

    /// Returns a POST of a message.
    #[must_use]
    pub fn post(&self, message: &Value) -> Ask {
        self.add_headers(self.web.post(message.to_string()))
    }

    /// Returns a POST of a request.
    #[must_use]
    pub fn request(&self, id: u32, method: &str, params: &Value) -> Ask {
        self.post(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
    }

    /// Returns a POST of a tool call. Its progress token is its id.
    #[must_use]
    pub fn call_tool(&self, id: u32, tool: &str, arguments: &Value) -> Ask {
        let meta = json!({"progressToken": id});
        let params = json!({"name": tool, "arguments": arguments, "_meta": meta});
        self.request(id, "tools/call", &params)
    }

    /// Returns a GET.
    #[must_use]
    pub fn get(&self) -> Ask {
        let ask = self.web.ask(Method::GET);
        self.add_headers(ask).header("accept", "text/event-stream")
    }

    /// Returns a GET that resumes after that event.
    #[must_use]
    pub fn resume(&self, last: &str) -> Ask {
        self.get().header("last-event-id", last)
    }

    /// Returns a DELETE.
    #[must_use]
    pub fn delete(&self) -> Ask {
        self.add_headers(self.web.ask(Method::DELETE))
    }
}

/// A request that was not sent yet.
#[derive(Debug)]
pub struct Ask {
    service: Service,
    request: Request<BodyInPieces>,
}

impl Ask {
    /// Asks for another target.
    ///
    /// # Panics
    /// When it is none.
    #[must_use]
    pub fn to(mut self, target: &str) -> Self {
        *self.request.uri_mut() = target.parse().expect("a target");
        self
    }

    /// Sets a header.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        let (name, value) = pair(name, value.as_bytes());
        self.request.headers_mut().insert(name, value);
        self
    }

    /// Adds a header, once more if it is there.
    #[must_use]
    pub fn and_header(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        let (name, value) = pair(name, value.as_ref());
        self.request.headers_mut().append(name, value);
        self
    }

    /// Takes a header away.
    #[must_use]
    pub fn without(mut self, name: &str) -> Self {
        self.request.headers_mut().remove(name);
        self
    }

    /// Sets the principal that makes the request.
    #[must_use]
    pub fn principal(mut self, principal: Principal) -> Self {
        self.request.extensions_mut().insert(Arc::new(principal));
        self
    }

    /// Sets the address of the client.
    #[must_use]
    pub fn address(mut self, address: IpAddr) -> Self {
        let address = ClientAddress(address);
        self.request.extensions_mut().insert(address);
        self
    }

    /// Sends it. Dropping the future closes the connection.
    pub async fn send(self) -> Got {
        let answer = timeout(PATIENCE, self.service.answer(self.request)).await;
        let (parts, body) = answer.expect("a response in time").into_parts();
        Got {
            status: parts.status.as_u16(),
            scope: parts.extensions.get().cloned(),
            headers: parts.headers,
            body,
        }
    }

    /// Sends it, and the JSON of the response with its status.
    pub async fn json(self) -> (u16, Value) {
        let got = self.send().await;
        (got.status, got.json().await)
    }

    /// Sends it, and the stream that comes back.
    pub async fn events(self) -> Events {
        self.send().await.events()
    }
}

fn pair(name: &str, value: &[u8]) -> (HeaderName, HeaderValue) {
    let name = HeaderName::from_bytes(name.as_bytes()).expect("a header's name");
    (name, HeaderValue::from_bytes(value).expect("a value"))
}

/// A response.
#[derive(Debug)]
pub struct Got {
    /// Status of the response.
    pub status: u16,
    /// Headers of the response.
    pub headers: HeaderMap,
    /// The scopes that were missing, beside the message.
    pub scope: Option<RequiredScopes>,
    body: ResponseBody,
}

impl Got {
    /// Returns the value of a header.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|it| it.to_str().ok())
    }

    /// Returns whether the body is a stream of events.
    #[must_use]
    pub fn is_stream(&self) -> bool {
        self.header(header::CONTENT_TYPE.as_str()) == Some("text/event-stream")
    }

    /// Reads the whole body.
    pub async fn bytes(self) -> Bytes {
        let body = timeout(PATIENCE, self.body.collect()).await;
        let body = body.expect("the end in time").expect("it cannot break");
        body.to_bytes()
    }

    /// Reads the body, which must be JSON.
    ///
    /// # Panics
    /// When it is none.
    pub async fn json(self) -> Value {
        let kind = self.header(header::CONTENT_TYPE.as_str());
        assert_eq!(kind, Some("application/json"), "{self:?}");
        serde_json::from_slice(&self.bytes().await).expect("JSON")
    }

    /// Returns the body, which must be a stream of events.
    ///
    /// # Panics
    /// When it is none.
    #[must_use]
    pub fn events(self) -> Events {
        assert!(self.is_stream(), "{self:?}");
        assert_eq!(self.status, StatusCode::OK);
        Events {
            body: self.body,
            unread: Vec::new(),
        }
    }
}

/// One event of a stream.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Event {
    /// Type of the event.
    pub kind: Option<String>,
    /// Id of the event.
    pub id: Option<String>,
    /// After how many milliseconds the client is asked to come back.
    pub retry: Option<u64>,
    /// Data of the event; `None` in a comment.
    pub data: Option<String>,
}

impl Event {
    /// Returns the message that the event carries.
    #[must_use]
    pub fn message(&self) -> Option<Value> {
        let data = self.data.as_deref().filter(|data| !data.is_empty())?;
        Some(serde_json::from_str(data).expect("JSON"))
    }
}

/// A stream of events. Dropping it closes the connection.
#[derive(Debug)]
pub struct Events {
    body: ResponseBody,
    unread: Vec<u8>,
}

impl Events {
    /// Returns the next event or comment; `None` at the end.
    pub async fn next(&mut self) -> Option<Event> {
        loop {
            let end = self.unread.windows(2).position(|pair| pair == b"\n\n");
            if let Some(end) = end {
                let event: Vec<u8> = self.unread.drain(..end + 2).collect();
                return Some(event_of(&String::from_utf8(event).expect("UTF-8")));
            }
            let frame = timeout(PATIENCE, self.body.frame()).await;
            let Some(frame) = frame.expect("an event in time") else {
                assert!(self.unread.is_empty(), "the end within an event");
                return None;
            };
            let data = frame.expect("it cannot break").into_data();
            self.unread.extend_from_slice(&data.expect("no trailers"));
        }
    }

    /// Returns the next event with a message.
    pub async fn next_message(&mut self) -> Option<(Event, Value)> {
        while let Some(event) = self.next().await {
            if let Some(message) = event.message() {
                return Some((event, message));
            }
        }
        None
    }

    /// Returns the next message.
    ///
    /// # Panics
    /// When the stream ends instead.
    pub async fn message(&mut self) -> Value {
        let next = self.next_message().await;
        next.expect("a message before the end").1
    }

    /// Returns every event until the end.
    pub async fn rest(mut self) -> Vec<Event> {
        let mut events = Vec::new();
        while let Some(event) = self.next().await {
            events.push(event);
        }
        events
    }

    /// Returns the messages until the end.
    pub async fn messages(self) -> Vec<Value> {
        let events = self.rest().await;
        events.iter().filter_map(Event::message).collect()
    }

    /// Returns the events that arrive within that time, followed by `None` if the stream has ended.
    pub async fn within(&mut self, time: Duration) -> Vec<Option<Event>> {
        let end = tokio::time::Instant::now() + time;
        let mut events = Vec::new();
        while let Ok(event) = tokio::time::timeout_at(end, self.next()).await {
            let is_last = event.is_none();
            events.push(event);
            if is_last {
                break;
            }
        }
        events
    }
}

fn event_of(text: &str) -> Event {
    let mut event = Event::default();
    for line in text.lines() {
        match line.split_once(':') {
            Some(("event", value)) => event.kind = Some(value.trim_start().to_owned()),
            Some(("id", value)) => event.id = Some(value.trim_start().to_owned()),
            Some(("retry", value)) => event.retry = value.trim().parse().ok(),
            Some(("data", value)) => event.data = Some(value.trim_start().to_owned()),
            _ => {}
        }
    }
    event
}

/// Returns the revisions whose sessions travel over this binding.
#[must_use]
pub fn sessions() -> Vec<Revision> {
    let is_legacy = |it: &Revision| it.features().era == EraKind::Legacy;
    let all = Revision::ALL.into_iter().skip(1);
    all.filter(is_legacy).collect()
}
