//! Plain requests of HTTP to an endpoint, and what they are answered with.

use std::time::Duration;

use bytes::Bytes;
use http::request::Builder;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, header};
use http_body_util::BodyExt;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::time::timeout;
use turnbuckle_wire::era::headers::encode_value;

use super::{Arrival, Event, EventReader, ProbeError, Transcript};
use crate::target::{Body, Endpoint};

/// Bytes that the body of one response may have.
const MAX_BODY_BYTES: usize = 64 << 20;

/// Bytes of a body that are recorded.
const MAX_RECORDED_BYTES: usize = 16 << 10;

/// Headers whose values are not recorded.
const SECRET_HEADERS: [&str; 4] = ["authorization", "cookie", "set-cookie", "dpop"];

/// A request of HTTP that is being made.
pub struct Ask {
    endpoint: Endpoint,
    method: Method,
    headers: HeaderMap,
    body: Bytes,
    timeout: Duration,
    transcript: Transcript,
}

impl Ask {
    /// Creates a request with the headers that a client of MCP sends with that method of HTTP.
    pub(crate) fn new(
        endpoint: Endpoint,
        method: Method,
        body: Bytes,
        timeout: Duration,
        transcript: Transcript,
    ) -> Self {
        let mut headers = HeaderMap::new();
        let accept = match method {
            Method::POST => "application/json, text/event-stream",
            _ => "text/event-stream",
        };
        headers.insert(header::ACCEPT, HeaderValue::from_static(accept));
        if method == Method::POST {
            let json = HeaderValue::from_static("application/json");
            headers.insert(header::CONTENT_TYPE, json);
        }
        Self {
            endpoint,
            method,
            headers,
            body,
            timeout,
            transcript,
        }
    }

    /// Sets a header. A name or value that HTTP does not allow is left out.
    #[must_use]
    pub fn header(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        let parts = (
            name.parse::<HeaderName>(),
            HeaderValue::from_bytes(value.as_ref()),
        );
        if let (Ok(name), Ok(value)) = parts {
            self.headers.insert(name, value);
        }
        self
    }

    /// Adds one more header of a name.
    #[must_use]
    pub fn and_header(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        let parts = (
            name.parse::<HeaderName>(),
            HeaderValue::from_bytes(value.as_ref()),
        );
        if let (Ok(name), Ok(value)) = parts {
            self.headers.append(name, value);
        }
        self
    }

    /// Leaves a header out.
    #[must_use]
    pub fn without(mut self, name: &str) -> Self {
        self.headers.remove(name);
        self
    }

    /// Sends the request to another path, or with another query: `/path?query`. Another host is never asked.
    #[must_use]
    pub fn to(mut self, path_and_query: &str) -> Self {
        let mut parts = self.endpoint.uri.clone().into_parts();
        if let Ok(path) = path_and_query.parse() {
            parts.path_and_query = Some(path);
        }
        if let Ok(uri) = http::Uri::from_parts(parts) {
            self.endpoint.uri = uri;
        }
        self
    }

    /// Makes the body this long, with white space behind its JSON.
    #[must_use]
    pub fn pad_body(mut self, length: usize) -> Self {
        let length = length.max(self.body.len());
        let mut padded = Vec::with_capacity(length);
        padded.extend_from_slice(&self.body);
        padded.resize(length, b' ');
        self.body = padded.into();
        self
    }

    /// Sets the time limit for the head of the response, and for each wait for a part of its body.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Sends the request and returns the head of the response.
    ///
    /// # Errors
    /// Fails if no response comes in time.
    pub async fn send(self) -> Result<Answer, ProbeError> {
        let mut request = ask_request(&self.endpoint, self.method.as_str());
        let mut text = format!("{} {}", self.method, self.endpoint.uri.path());
        if let Some(headers) = request.headers_mut() {
            // `host` is set already; a check may replace it.
            for (name, value) in &self.headers {
                if name == header::HOST {
                    headers.insert(name, value.clone());
                } else {
                    headers.append(name, value.clone());
                }
            }
        }
        for (name, value) in &self.headers {
            text += &format!("\n{name}: {}", shown_value(name, value));
        }
        if !self.body.is_empty() {
            text += "\n\n";
            let beginning = &self.body[..self.body.len().min(MAX_RECORDED_BYTES)];
            text += &String::from_utf8_lossy(beginning);
        }
        self.transcript.record_sent(&text);
        let sending = self.endpoint.exchange.send(with_body(request, self.body));
        let response = match timeout(self.timeout, sending).await {
            Ok(response) => response?,
            Err(_) => {
                return Err(ProbeError::TimedOut {
                    what: "a response of HTTP".into(),
                    limit: self.timeout,
                });
            }
        };
        let (head, body) = response.into_parts();
        let mut text = format!("HTTP {}", head.status.as_u16());
        for (name, value) in &head.headers {
            text += &format!("\n{name}: {}", shown_value(name, value));
        }
        self.transcript.record_received(&text);
        Ok(Answer {
            status: head.status.as_u16(),
            headers: head.headers,
            body,
            timeout: self.timeout,
            transcript: self.transcript,
        })
    }

    /// Sends the request and reads the whole body as JSON; `null` for an empty body.
    ///
    /// # Errors
    /// Fails if no response comes in time, or its body is not JSON.
    pub async fn json(self) -> Result<(u16, Value), ProbeError> {
        let answer = self.send().await?;
        let status = answer.status;
        Ok((status, answer.json().await?))
    }
}

fn shown_value(name: &HeaderName, value: &HeaderValue) -> String {
    if SECRET_HEADERS.contains(&name.as_str()) {
        return "…".into();
    }
    String::from_utf8_lossy(value.as_bytes()).into_owned()
}

/// The head of a response, and its body.
pub struct Answer {
    /// HTTP status.
    pub status: u16,
    /// Headers of the response.
    pub headers: HeaderMap,
    body: Body,
    timeout: Duration,
    transcript: Transcript,
}

impl Answer {
    /// Returns the value of a header, if it is text.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// Returns the media type of the body, without parameters, in lower case.
    #[must_use]
    pub fn media_type(&self) -> String {
        let value = self.header("content-type").unwrap_or_default();
        let media = value.split(';').next().unwrap_or_default();
        media.trim().to_ascii_lowercase()
    }

    /// Returns whether the body is a stream of events.
    #[must_use]
    pub fn is_stream(&self) -> bool {
        self.media_type() == "text/event-stream"
    }

    /// Reads the whole body.
    ///
    /// # Errors
    /// Fails if it is too large or does not end in time.
    pub async fn text(mut self) -> Result<String, ProbeError> {
        let mut bytes = Vec::new();
        let reading = async {
            while let Some(frame) = self.body.frame().await {
                if let Ok(data) = frame?.into_data() {
                    bytes.extend_from_slice(&data);
                }
                if bytes.len() > MAX_BODY_BYTES {
                    return Err(too_large());
                }
            }
            Ok(())
        };
        match timeout(self.timeout, reading).await {
            Ok(done) => done?,
            Err(_) => {
                return Err(ProbeError::TimedOut {
                    what: "the end of a response of HTTP".into(),
                    limit: self.timeout,
                });
            }
        }
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if !text.is_empty() {
            self.transcript.record_received(&text);
        }
        Ok(text)
    }

    /// Reads the body as JSON, or as the first message of a stream; `null` for an empty body.
    ///
    /// # Errors
    /// Fails if it is not JSON, is too large or does not come in time.
    pub async fn json(self) -> Result<Value, ProbeError> {
        let text = if self.is_stream() {
            match self.events().next_message().await? {
                Some((_, message)) => return Ok(message),
                None => return Ok(Value::Null),
            }
        } else {
            self.text().await?
        };
        if text.trim().is_empty() {
            return Ok(Value::Null);
        }
        serde_json::from_str(&text).map_err(|_| ProbeError::NotJson {
            beginning: text.chars().take(200).collect(),
        })
    }

    /// Reads the body as a stream of events.
    #[must_use]
    pub fn events(self) -> Events {
        Events {
            body: self.body,
            reader: EventReader::default(),
            timeout: self.timeout,
            transcript: self.transcript,
        }
    }
}

fn too_large() -> ProbeError {
    ProbeError::TooMuch {
        limit: MAX_BODY_BYTES,
        unit: "bytes in one response",
    }
}

/// A stream of events that is being read. Dropping it closes the response.
pub struct Events {
    body: Body,
    reader: EventReader,
    timeout: Duration,
    transcript: Transcript,
}

impl Events {
    /// Returns the next event; `None` at the end of the stream.
    ///
    /// # Errors
    /// Fails if nothing comes in time, or the stream breaks.
    pub async fn next(&mut self) -> Result<Option<Event>, ProbeError> {
        let limit = self.timeout;
        self.within(limit)
            .await?
            .ok_or_else(|| ProbeError::TimedOut {
                what: "an event, or the end of the stream,".into(),
                limit,
            })
    }

    /// Returns the next event, or `None` within at the end of the stream; `None` when nothing comes in that time.
    ///
    /// # Errors
    /// Fails if the stream breaks.
    pub async fn within(&mut self, limit: Duration) -> Result<Option<Option<Event>>, ProbeError> {
        loop {
            if let Some(event) = self.reader.next_event() {
                self.transcript.record_received(&format!(
                    "event {}: {}",
                    event.id.as_deref().unwrap_or("without an id"),
                    event.data.as_deref().unwrap_or("without data")
                ));
                return Ok(Some(Some(event)));
            }
            match timeout(limit, self.body.frame()).await {
                Ok(None) => return Ok(Some(None)),
                Ok(Some(frame)) => {
                    if let Ok(data) = frame?.into_data() {
                        self.reader.push(&data)?;
                    }
                }
                Err(_) => return Ok(None),
            }
        }
    }

    /// Returns the next event with a message, and the message; `None` at the end of the stream.
    ///
    /// # Errors
    /// Fails if nothing comes in time, the stream breaks, or the data is not JSON.
    pub async fn next_message(&mut self) -> Result<Option<(Event, Value)>, ProbeError> {
        while let Some(event) = self.next().await? {
            if let Some(text) = event.message() {
                let message = serde_json::from_str(text).map_err(|_| ProbeError::NotJson {
                    beginning: text.chars().take(200).collect(),
                })?;
                return Ok(Some((event, message)));
            }
        }
        Ok(None)
    }

    /// Returns all further messages, up to the end of the stream.
    ///
    /// # Errors
    /// Fails as [`next_message`](Self::next_message) does, and for more than 10,000 messages.
    pub async fn messages(mut self) -> Result<Vec<Value>, ProbeError> {
        let mut messages = Vec::new();
        while let Some((_, message)) = self.next_message().await? {
            messages.push(message);
            if messages.len() > 10_000 {
                return Err(ProbeError::TooMuch {
                    limit: 10_000,
                    unit: "messages in one stream",
                });
            }
        }
        Ok(messages)
    }
}

/// Begins a request to an endpoint.
pub(super) fn ask_request(endpoint: &Endpoint, method: &str) -> Builder {
    let mut request = Request::builder().method(method).uri(endpoint.uri.clone());
    if let Some(authority) = endpoint.uri.authority() {
        let host = authority.as_str();
        let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
        request = request.header(header::HOST, host);
    }
    request
}

/// Ends a request. One that HTTP does not allow becomes a plain GET, which no endpoint takes for a message.
pub(super) fn with_body(request: Builder, body: Bytes) -> Request<Bytes> {
    request.body(body).unwrap_or_default()
}

/// Returns the headers that repeat parts of a modern message.
///
/// Specification: basic/transports/streamable-http, "Standard Request Headers" (2026-07-28).
pub(crate) fn mirrored_headers(message: &Value) -> Vec<(&'static str, String)> {
    let Some(method) = message["method"].as_str() else {
        return Vec::new();
    };
    let params = &message["params"];
    let mut headers = vec![("mcp-method", encode_value(method).into_owned())];
    let named = match method {
        "resources/read" => &params["uri"],
        "tasks/get" | "tasks/update" | "tasks/cancel" => &params["taskId"],
        _ => &params["name"],
    };
    if let Some(name) = named.as_str() {
        headers.push(("mcp-name", encode_value(name).into_owned()));
    }
    headers
}

/// Passes on every message of a response. A response to a request that carries none is a failure.
pub(super) async fn pass_on(
    response: Response<Body>,
    id: Option<String>,
    arrives: &mpsc::Sender<Arrival>,
) {
    let (head, mut body) = response.into_parts();
    let kind = head.headers.get(header::CONTENT_TYPE);
    let streams = kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"));
    let mut reader = EventReader::default();
    let mut plain = Vec::new();
    let mut has_message = false;
    let failure = loop {
        let data = match body.frame().await {
            None => break None,
            Some(Err(error)) => break Some(error.into()),
            Some(Ok(frame)) => match frame.into_data() {
                Ok(data) => data,
                Err(_) => continue,
            },
        };
        if !streams {
            plain.extend_from_slice(&data);
            if plain.len() > MAX_BODY_BYTES {
                break Some(too_large());
            }
            continue;
        }
        if let Err(error) = reader.push(&data) {
            break Some(error);
        }
        while let Some(event) = reader.next_event() {
            if let Some(message) = event.message() {
                has_message = true;
                let frame = Arrival::Frame(message.as_bytes().to_vec());
                let _ = arrives.send(frame).await;
            }
        }
    };
    // A refusal may carry JSON that is no message, such as an error of OAuth.
    let body = serde_json::from_slice::<Value>(&plain).unwrap_or_default();
    let is_message = body.is_array() || body.get("jsonrpc").is_some();
    let mut is_told = false;
    if is_message || (!plain.is_empty() && head.status.is_success()) {
        // An error without an id refuses the request, though it is not its answer.
        has_message = body.get("error").is_none() || !body["id"].is_null();
        is_told = true;
        let arrival = match id.is_none() && !has_message && !head.status.is_success() {
            true => Arrival::Refusal,
            false => Arrival::Frame,
        };
        let _ = arrives.send(arrival(plain.clone())).await;
    }
    let error = match failure {
        Some(error) => error,
        None if has_message || (id.is_none() && (is_told || head.status.is_success())) => return,
        // The stream of a session that a server does not offer.
        None if id.is_none() && matches!(head.status.as_u16(), 405) => return,
        None => ProbeError::Status {
            status: head.status.as_u16(),
            beginning: String::from_utf8_lossy(&plain).chars().take(200).collect(),
            challenge: head
                .headers
                .get(header::WWW_AUTHENTICATE)
                .and_then(|value| value.to_str().ok())
                .map(str::to_owned),
        },
    };
    let _ = arrives.send(Arrival::Failed { id, error }).await;
}
