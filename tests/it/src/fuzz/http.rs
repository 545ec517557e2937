//! HTTP: whatever the heads and bodies of some requests are, each is answered as HTTP allows, and
//! the endpoint lives. Every input goes to the endpoint of both eras, to one without sessions, and
//! to those of HTTP+SSE.

use std::future::poll_fn;
use std::pin::pin;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, ALLOW, CONTENT_TYPE, HOST};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode};
use http_body::Body as _;
use http_body_util::Full;
use serde::de::IgnoredAny;
use tokio::time::timeout;
use turnbuckle_http::{HttpServerOptions, HttpSse, ResponseBody, Sessions, StreamableHttp};
use turnbuckle_wire::era::headers::{METHOD, PROTOCOL_VERSION, SESSION_ID};
use turnbuckle_wire::revision::Revision;

use super::converse::{request, runtime};
use super::server::server;
use super::written::{Written, cut};

/// Stands between two requests, on a line of its own.
const BETWEEN: &[u8] = b"--";

/// The most requests of an input.
const MAX_REQUESTS: usize = 8;

/// The session id that stands for the one that is open.
const OURS: &[u8] = b"$";

/// Bytes that a body may have.
const MAX_BODY: usize = 2 << 10;

/// Time limit for an answer, and for reading its body.
const PATIENCE: Duration = Duration::from_secs(5);

/// The most pieces of a body that are read.
const MAX_PIECES: usize = 64;

/// Everything that the endpoint may say to a client.
const STATUSES: [u16; 11] = [200, 202, 204, 400, 403, 404, 405, 406, 413, 415, 431];

/// Runs the target on `input`: requests with `--` between them; see `Written`. The first session is
/// open before them; `$` in place of a session's id, and at the end of a target, is its own. A
/// request without a `Host` gets a good one.
pub fn http(input: &[u8]) {
    for sessions in [Sessions::Local, Sessions::Stateless] {
        runtime().block_on(serve(input, sessions));
    }
    runtime().block_on(serve_sse(input));
}

/// Endpoint that the request is sent to.
enum Service {
    Streamable(StreamableHttp),
    Sse(HttpSse),
}

impl Service {
    async fn answer(&self, request: Request<Full<Bytes>>) -> Response<ResponseBody> {
        match self {
            Self::Streamable(service) => service.answer(request).await,
            Self::Sse(service) => service.answer(request).await,
        }
    }
}

async fn serve(input: &[u8], sessions: Sessions) {
    let options = HttpServerOptions::new()
        .max_message_bytes(MAX_BODY)
        .sessions(sessions);
    let service = Service::Streamable(StreamableHttp::new(server().clone(), options));
    let ours = match sessions {
        Sessions::Stateless => None,
        _ => Some(open(&service).await),
    };
    for written in requests(input) {
        if let Some(request) = read(&written, ours.as_ref()) {
            ask(&service, request).await;
        }
    }
    let status = ask(&service, modern("tools/list")).await.0;
    assert_eq!(status, StatusCode::OK, "the endpoint is dead");
}

async fn serve_sse(input: &[u8]) {
    let options = HttpServerOptions::new().max_message_bytes(MAX_BODY);
    let service = Service::Sse(HttpSse::new(server().clone(), options));
    let (ours, stream) = connect(&service).await;
    let initialize = post_to(&ours, initialize(Revision::NEWEST_LEGACY));
    assert_eq!(ask(&service, initialize).await.0, StatusCode::ACCEPTED);
    for written in requests(input) {
        if let Some(request) = read(&written, Some(&ours)) {
            ask(&service, request).await;
        }
    }
    let text = text_of(stream).await;
    events(&text);
    assert!(text.contains("\"serverInfo\""), "{text:?}");
    drop(connect(&service).await);
}

/// Opens a connection of HTTP+SSE: its id, and the stream after the event that names it.
async fn connect(service: &Service) -> (HeaderValue, ResponseBody) {
    let builder = Request::get("/sse").header(HOST, "localhost");
    let request = builder.header(ACCEPT, "text/event-stream");
    let request = request.body(Full::default()).expect("a request");
    let (parts, mut stream) = service.answer(request).await.into_parts();
    assert_eq!(parts.status, StatusCode::OK, "the endpoint is dead");
    let first = poll_fn(|cx| pin!(&mut stream).poll_frame(cx)).await;
    let first = first.expect("an event").expect("a body does not fail");
    let first = first.into_data().expect("no trailers");
    let id = std::str::from_utf8(&first).expect("an event is text");
    let (_, id) = id.trim_end().split_once("sessionId=").expect("an id");
    (id.try_into().expect("an id is visible"), stream)
}

pub(super) fn requests(input: &[u8]) -> impl Iterator<Item = Written<'_>> {
    let mut rest = input;
    let next = move || {
        let all = rest;
        let mut end = 0;
        while !rest.is_empty() {
            let line;
            (line, rest) = cut(rest, b'\n');
            if line == BETWEEN {
                return Some(&all[..end]);
            }
            end = all.len() - rest.len();
        }
        Some(all).filter(|all| !all.is_empty())
    };
    std::iter::from_fn(next)
        .take(MAX_REQUESTS)
        .map(Written::read)
}

/// Returns the request, as far as HTTP can express it.
fn read(written: &Written<'_>, ours: Option<&HeaderValue>) -> Option<Request<Full<Bytes>>> {
    let (method, target) = cut(written.line, b' ');
    let mut headers = HeaderMap::new();
    for (name, value) in &written.headers {
        let name = HeaderName::from_bytes(name).ok()?;
        let value = value.trim_ascii();
        let value = match ours {
            Some(ours) if name == SESSION_ID && value == OURS => ours.clone(),
            _ => HeaderValue::from_bytes(value).ok()?,
        };
        headers.append(name, value);
    }
    if !headers.contains_key(HOST) {
        headers.insert(HOST, HeaderValue::from_static("localhost"));
    }
    let mut request = Request::new(Full::new(Bytes::copy_from_slice(written.body)));
    *request.method_mut() = Method::from_bytes(method).ok()?;
    *request.uri_mut() = match (ours, target.strip_suffix(OURS)) {
        (Some(ours), Some(target)) => [target, ours.as_bytes()].concat().as_slice().try_into(),
        _ => target.try_into(),
    }
    .ok()?;
    *request.headers_mut() = headers;
    Some(request)
}

/// Returns a POST of a body with a version.
fn post(body: impl Into<Bytes>, revision: Revision) -> Request<Full<Bytes>> {
    let builder = Request::post("/mcp").header(HOST, "localhost");
    let builder = builder.header(CONTENT_TYPE, "application/json");
    let builder = builder.header(PROTOCOL_VERSION, revision.as_str());
    builder.body(Full::new(body.into())).expect("a request")
}

/// Returns a POST of a body to a connection.
fn post_to(id: &HeaderValue, body: impl Into<Bytes>) -> Request<Full<Bytes>> {
    let mut request = post(body, Revision::NEWEST_LEGACY);
    let id = id.to_str().expect("an id is visible");
    let uri = format!("/messages?sessionId={id}");
    *request.uri_mut() = uri.try_into().expect("a URI");
    request
}

fn modern(method: &'static str) -> Request<Full<Bytes>> {
    let mut request = post(request(0, method, ""), Revision::NEWEST);
    let value = HeaderValue::from_static(method);
    request.headers_mut().insert(METHOD, value);
    request
}

fn initialize(revision: Revision) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":0,"method":"initialize","params":{{
        "protocolVersion":"{revision}","capabilities":{{"elicitation":{{}}}},
        "clientInfo":{{"name":"fuzz","version":"1"}}}}}}"#
    )
}

/// Opens a session.
async fn open(service: &Service) -> HeaderValue {
    let revision = Revision::NEWEST_LEGACY;
    let (status, headers) = ask(service, post(initialize(revision), revision)).await;
    assert_eq!(status, StatusCode::OK);
    let id = headers.get(SESSION_ID).expect("a session's id").clone();
    let initialized = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    let mut initialized = post(initialized, revision);
    initialized.headers_mut().insert(SESSION_ID, id.clone());
    assert_eq!(ask(service, initialized).await.0, StatusCode::ACCEPTED);
    id
}

/// Sends a request, and reads its answer for a while.
async fn ask(service: &Service, request: Request<Full<Bytes>>) -> (StatusCode, HeaderMap) {
    let answer = timeout(PATIENCE, service.answer(request)).await;
    let (parts, body) = answer.expect("an answer in time").into_parts();
    assert!(
        STATUSES.contains(&parts.status.as_u16()),
        "{}",
        parts.status
    );
    if parts.status == StatusCode::METHOD_NOT_ALLOWED {
        assert!(parts.headers.contains_key(ALLOW));
    }
    let text = text_of(body).await;
    match parts.headers.get(CONTENT_TYPE).map(HeaderValue::as_bytes) {
        Some(b"application/json") => {
            serde_json::from_str::<IgnoredAny>(&text).expect("the body is JSON");
        }
        Some(b"text/event-stream") => events(&text),
        other => assert!(other.is_none() && text.is_empty(), "{other:?} {text}"),
    }
    (parts.status, parts.headers)
}

/// Returns the part of a body that arrives in time.
async fn text_of(body: ResponseBody) -> String {
    let mut text = Vec::new();
    let mut body = pin!(body);
    for _ in 0..MAX_PIECES {
        let next = poll_fn(|cx| body.as_mut().poll_frame(cx));
        let Ok(Some(piece)) = timeout(PATIENCE, next).await else {
            break;
        };
        let piece = piece.expect("a body does not fail");
        text.extend_from_slice(&piece.into_data().expect("no trailers"));
    }
    String::from_utf8(text).expect("a body is text")
}

/// Asserts that all events are complete and that the data of each is empty or a message; the first
/// may name an endpoint.
fn events(text: &str) {
    assert!(text.is_empty() || text.ends_with("\n\n"), "{text:?}");
    let endpoint = "event: endpoint\ndata: /messages?sessionId=";
    let text = match text.strip_prefix(endpoint) {
        Some(rest) => rest.split_once('\n').expect("an event has an end").1,
        None => text,
    };
    for line in text.lines().filter(|line| !line.is_empty()) {
        let (field, value) = line.split_once(':').expect("a field");
        match field {
            "" | "event" | "id" | "retry" => {}
            "data" if value.trim().is_empty() => {}
            "data" => {
                serde_json::from_str::<IgnoredAny>(value).expect("data are JSON");
            }
            other => panic!("no field of an event: {other:?}"),
        }
    }
}
