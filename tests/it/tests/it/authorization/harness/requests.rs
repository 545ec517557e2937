//! Raw HTTP requests, each on a connection of its own.

use bytes::Bytes;
use http::{HeaderMap, Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpStream;

use super::TIMEOUT;

/// A whole HTTP response.
#[derive(Debug, Clone)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Reply {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        let text = String::from_utf8_lossy(&self.body);
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("no JSON: {self:?} {text}"))
    }
}

/// Sends a request on a connection of its own, and returns the response with its unread body.
pub(crate) async fn open(request: Request<Full<Bytes>>) -> Response<Incoming> {
    let authority = request.uri().authority().unwrap().to_string();
    let stream = TcpStream::connect(&authority).await.unwrap();
    let connected = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await;
    let (mut sender, connection) = connected.unwrap();
    tokio::spawn(connection);
    let (mut parts, body) = request.into_parts();
    let target = parts.uri.path_and_query().unwrap().as_str().parse();
    parts.uri = target.unwrap();
    if !parts.headers.contains_key("host") {
        parts.headers.insert("host", authority.parse().unwrap());
    }
    let sending = sender.send_request(Request::from_parts(parts, body));
    let response = tokio::time::timeout(TIMEOUT, sending).await;
    response.expect("a response in time").unwrap()
}

/// Sends a request and reads the whole response.
pub(crate) async fn send(request: Request<Full<Bytes>>) -> Reply {
    let (parts, body) = open(request).await.into_parts();
    let body = tokio::time::timeout(TIMEOUT, body.collect()).await;
    Reply {
        status: parts.status.as_u16(),
        headers: parts.headers,
        body: body.expect("a body in time").unwrap().to_bytes(),
    }
}

pub(crate) async fn get(url: &str) -> Reply {
    send(Request::get(url).body(Full::default()).unwrap()).await
}

/// Returns a POST of a message with a token. Other headers can be added.
pub(crate) fn post(url: &str, token: Option<&str>, message: &Value) -> Request<Full<Bytes>> {
    let mut request = Request::post(url)
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream");
    if let Some(token) = token {
        request = request.header("authorization", format!("Bearer {token}"));
    }
    request.body(Full::from(message.to_string())).unwrap()
}

/// Returns a POST of a request of the newest revision.
pub(crate) fn modern(
    url: &str,
    token: Option<&str>,
    method: &str,
    params: &Value,
) -> Request<Full<Bytes>> {
    let revision = turnbuckle::Revision::NEWEST;
    let mut params = params.clone();
    for (key, value) in turnbuckle_it::harness::modern_meta(revision, &json!({"elicitation": {}})) {
        params["_meta"][key] = value;
    }
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let mut request = post(url, token, &message);
    let headers = request.headers_mut();
    headers.insert("mcp-protocol-version", revision.as_str().parse().unwrap());
    headers.insert("mcp-method", method.parse().unwrap());
    if let Some(name) = params["name"].as_str() {
        headers.insert("mcp-name", name.parse().unwrap());
    }
    request
}
