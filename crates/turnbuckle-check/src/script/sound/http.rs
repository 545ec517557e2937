//! The server over HTTP: which request goes where.

use std::sync::Arc;

use bytes::Bytes;
use http::header::{HOST, HeaderName, HeaderValue, ORIGIN};
use http::request::Parts;
use http::{HeaderMap, Method, Request, Response, StatusCode, Uri};
use serde_json::Value;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use turnbuckle_types::base::random;
use turnbuckle_wire::revision::{EraKind, Revision};

use super::super::lock;
use super::admission::{Work, is_modern};
use super::change::Listener;
use super::mirrored;
use super::outlet::Outlet;
use super::refusal::{Refusal, error_to};
use super::reply::{
    EVENTS, Reply, accepts, event_reply, is_json, json_reply, legacy_status, modern_status, refuse,
    refuse_method, status,
};
use super::server::Sound;
use super::session::Session;
use super::streams::{EventStream, HttpSession, SoundBody};

/// Bytes that a body may have.
const MAX_BODY_BYTES: usize = 4 << 20;

/// Sessions of HTTP that a server has at a time; the others are refused.
const MAX_SESSIONS: usize = 1000;

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");

impl Sound {
    /// Answers a request of HTTP. The endpoint is `/mcp`; that of the first revision `/sse`.
    pub async fn respond(self, mut request: Request<Bytes>) -> Response<SoundBody> {
        self.faults.apply_to_request(&mut request);
        let (parts, body) = request.into_parts();
        let reply = match self.route(&parts, &body).await {
            Ok(reply) => reply,
            Err(reply) => *reply,
        };
        let (mut head, body) = reply.into_parts();
        self.faults.apply_to_head(&parts, &mut head);
        Response::from_parts(head, body)
    }

    async fn route(&self, parts: &Parts, body: &Bytes) -> Result<Reply, Box<Reply>> {
        check_origin(parts)?;
        if body.len() > MAX_BODY_BYTES {
            return Err(refuse(StatusCode::PAYLOAD_TOO_LARGE));
        }
        match (parts.uri.path(), &parts.method) {
            ("/mcp", &Method::POST) => self.post(parts, body).await,
            ("/mcp", &Method::GET) => self.get(parts),
            ("/mcp", &Method::DELETE) => self.delete(parts),
            ("/mcp", _) => Err(refuse_method("POST, GET, DELETE")),
            ("/sse", &Method::GET) => self.open_sse(parts),
            ("/messages", &Method::POST) => self.post_sse(parts, body),
            ("/sse" | "/messages", _) => Err(refuse_method("GET, POST")),
            _ => Err(refuse(StatusCode::NOT_FOUND)),
        }
    }

    async fn post(&self, parts: &Parts, body: &Bytes) -> Result<Reply, Box<Reply>> {
        if !is_json(&parts.headers) {
            return Err(refuse(StatusCode::UNSUPPORTED_MEDIA_TYPE));
        }
        if !accepts(&parts.headers, "application/json") || !accepts(&parts.headers, EVENTS) {
            return Err(refuse(StatusCode::NOT_ACCEPTABLE));
        }
        let message: Value = serde_json::from_slice(body).map_err(|error| {
            let refusal = Refusal::new(-32700, &format!("no JSON: {error}"));
            let http = self.session_of(&parts.headers).unwrap_or_default();
            Box::new(self.refuse_message(&http.session, &Value::Null, refusal))
        })?;
        let method = message["method"].as_str().unwrap_or_default();
        let modern = self.of_era(EraKind::Modern);
        let version = parts.headers.get(VERSION).map(HeaderValue::as_bytes);
        let names_modern = modern
            .iter()
            .any(|it| Some(it.as_str().as_bytes()) == version);
        if names_modern || is_modern(method, &message["params"]) {
            return self.post_modern(parts, message).await;
        }
        if self.of_era(EraKind::Legacy).is_empty() {
            // This server checks the headers of every request.
            mirrored::check(&parts.headers, &message)
                .map_err(|it| Box::new(self.refuse_message(&Session::default(), &message, it)))?;
        }
        self.post_legacy(parts, message).await
    }

    async fn post_modern(&self, parts: &Parts, message: Value) -> Result<Reply, Box<Reply>> {
        if message.get("method").is_none()
            && message.get("error").or(message.get("result")).is_some()
        {
            return Err(refuse(StatusCode::BAD_REQUEST));
        }
        let session = Arc::new(Session::default());
        if message["method"].is_string() && message.get("id").is_some() {
            mirrored::check(&parts.headers, &message)
                .map_err(|it| Box::new(self.refuse_message(&session, &message, it)))?;
        }
        let is_streamed = self.is_streamed(&message);
        let (to, mut sent) = unbounded_channel();
        let outlet = Outlet::new(to, self.faults.clone());
        let work = self.receive(&session, message, &outlet);
        drop(outlet);
        match work {
            Some(work) if is_streamed => {
                let work = tokio::spawn(work).abort_handle();
                let (to, frames) = unbounded_channel();
                let faults = self.faults.clone();
                tokio::spawn(async move {
                    while let Some(message) = sent.recv().await.filter(|it| !it.is_null()) {
                        let _ = to.send(faults.event_of(format!("data: {message}\n\n")));
                    }
                });
                Ok(event_reply(SoundBody::new(frames).ending(work)))
            }
            work => Ok(self.reply_at_once(work, &mut sent, modern_status).await),
        }
    }

    async fn post_legacy(&self, parts: &Parts, message: Value) -> Result<Reply, Box<Reply>> {
        let is_handshake = message["method"] == "initialize" && message.get("id").is_some();
        let http = match is_handshake {
            true => Arc::new(HttpSession::default()),
            false => self.session_of(&parts.headers)?,
        };
        let has_request =
            messages_of(&message).any(|it| it.get("method").is_some() && it.get("id").is_some());
        let is_streamed = messages_of(&message).any(|it| self.is_streamed(it));
        let id = message.get("id").cloned();
        let (to, mut sent) = unbounded_channel();
        let outlet = Outlet::new(to, self.faults.clone());
        let work = self.receive(&http.session, message, &outlet);
        drop(outlet);
        match work {
            Some(work) if is_streamed => {
                let work = tokio::spawn(work).abort_handle();
                if let Some(id) = id {
                    http.session.set_abort(&id, work);
                }
                let stream = http.open_stream(self.faults.clone());
                let reply = event_stream_reply(&stream, &http.session);
                tokio::spawn(pump(sent, stream));
                Ok(reply)
            }
            work => {
                let is_opened = work.is_some() && is_handshake;
                let mut reply = self.reply_at_once(work, &mut sent, legacy_status).await;
                if is_opened {
                    let id = self.keep(http)?;
                    reply.headers_mut().insert(SESSION, id);
                } else if !has_request && reply.status() == StatusCode::OK {
                    *reply.status_mut() = StatusCode::ACCEPTED;
                }
                Ok(reply)
            }
        }
    }

    /// Does what is left of the work, and returns the response with what was sent.
    async fn reply_at_once(
        &self,
        work: Option<Work>,
        sent: &mut UnboundedReceiver<Value>,
        status_of: fn(i64, bool) -> StatusCode,
    ) -> Reply {
        let is_refused = work.is_none();
        if let Some(work) = work {
            work.await;
        }
        let mut messages = Vec::new();
        while let Ok(message) = sent.try_recv() {
            messages.extend(Some(message).filter(|it| !it.is_null()));
        }
        match messages.as_slice() {
            [] => status(StatusCode::ACCEPTED),
            [message] => {
                let code = message["error"]["code"].as_i64();
                let status = code.map_or(StatusCode::OK, |code| status_of(code, is_refused));
                json_reply(status, message)
            }
            several => {
                let (to, frames) = unbounded_channel();
                for message in several {
                    let _ = to.send(self.faults.event_of(format!("data: {message}\n\n")));
                }
                event_reply(SoundBody::new(frames))
            }
        }
    }

    /// Returns whether a message is answered with a stream.
    fn is_streamed(&self, message: &Value) -> bool {
        let Some(method) = message["method"].as_str() else {
            return false;
        };
        let has_script = self.before_answer.is_some() && method != "initialize";
        has_script || ["tools/call", "subscriptions/listen"].contains(&method)
    }

    /// Returns the refusal of a message before it is handled.
    fn refuse_message(&self, session: &Session, message: &Value, refusal: Refusal) -> Reply {
        let response = error_to(session, &message["id"], refusal);
        let cause = session.cause(message);
        let response = self.faults.apply_to_reply(&cause, response);
        let response = response.into_iter().next().unwrap_or_default();
        json_reply(StatusCode::BAD_REQUEST, &response)
    }

    fn get(&self, parts: &Parts) -> Result<Reply, Box<Reply>> {
        if self.is_for_modern(&parts.headers) {
            return Err(refuse_method("POST"));
        }
        if !accepts(&parts.headers, EVENTS) {
            return Err(refuse(StatusCode::NOT_ACCEPTABLE));
        }
        let http = self.session_of(&parts.headers)?;
        if let Some(last) = parts.headers.get(LAST_EVENT) {
            let rest = last.to_str().ok().and_then(|last| http.resume(last));
            let rest = rest.ok_or_else(|| refuse(StatusCode::BAD_REQUEST))?;
            return Ok(event_reply(SoundBody::new(rest)));
        }
        let stream = http.open_stream(self.faults.clone());
        let reply = event_stream_reply(&stream, &http.session);
        let (to, sent) = unbounded_channel();
        http.session
            .set_general(Outlet::new(to, self.faults.clone()));
        self.add_listener(Listener::Session(http.session.clone()));
        tokio::spawn(pump(sent, stream));
        Ok(reply)
    }

    fn delete(&self, parts: &Parts) -> Result<Reply, Box<Reply>> {
        if self.is_for_modern(&parts.headers) {
            return Err(refuse_method("POST"));
        }
        self.session_of(&parts.headers)?.close();
        let id = parts.headers.get(SESSION).and_then(|id| id.to_str().ok());
        lock(&self.state.sessions).remove(id.unwrap_or_default());
        Ok(status(StatusCode::OK))
    }

    /// Returns whether a request is not for the sessions of the legacy era.
    fn is_for_modern(&self, headers: &HeaderMap) -> bool {
        let version = headers.get(VERSION).map(HeaderValue::as_bytes);
        let modern = self.of_era(EraKind::Modern);
        self.of_era(EraKind::Legacy).is_empty()
            || modern
                .iter()
                .any(|it| Some(it.as_str().as_bytes()) == version)
    }

    /// Returns the session that a request names.
    fn session_of(&self, headers: &HeaderMap) -> Result<Arc<HttpSession>, Box<Reply>> {
        let id = headers
            .get(SESSION)
            .ok_or_else(|| refuse(StatusCode::BAD_REQUEST))?;
        let found = id
            .to_str()
            .ok()
            .and_then(|id| lock(&self.state.sessions).get(id).cloned());
        let session = found.ok_or_else(|| refuse(StatusCode::NOT_FOUND))?;
        match headers.get(VERSION).map(HeaderValue::to_str) {
            Some(Ok(version))
                if Revision::parse(version).is_some_and(|it| self.revisions.contains(&it)) =>
            {
                Ok(session)
            }
            None => Ok(session),
            Some(_) => Err(refuse(StatusCode::BAD_REQUEST)),
        }
    }

    /// Keeps a session, and returns its id.
    fn keep(&self, session: Arc<HttpSession>) -> Result<HeaderValue, Box<Reply>> {
        let unavailable = || refuse(StatusCode::SERVICE_UNAVAILABLE);
        let id = random::secret().map_err(|_| unavailable())?;
        let mut sessions = lock(&self.state.sessions);
        if sessions.len() == MAX_SESSIONS {
            return Err(unavailable());
        }
        let value = HeaderValue::from_str(&id).map_err(|_| unavailable())?;
        sessions.insert(id, session);
        Ok(value)
    }
}

/// Passes messages on to a stream.
async fn pump(mut sent: UnboundedReceiver<Value>, stream: Arc<EventStream>) {
    while let Some(message) = sent.recv().await {
        match message.is_null() {
            true => stream.cut(),
            false => stream.send(&message),
        }
    }
    stream.end();
}

fn event_stream_reply(stream: &EventStream, session: &Session) -> Reply {
    if session
        .revision()
        .is_some_and(|it| it.features().priming_event)
    {
        stream.prime();
    }
    event_reply(stream.read(0).map_or_else(SoundBody::empty, SoundBody::new))
}

/// Refuses requests for other hosts and from pages of other hosts.
fn check_origin(parts: &Parts) -> Result<(), Box<Reply>> {
    let host = parts.headers.get(HOST).map(HeaderValue::to_str);
    let origin = parts.headers.get(ORIGIN).map(HeaderValue::to_str);
    let is_host_local = match host {
        None => parts.uri.host().is_none_or(is_local),
        Some(host) => host.ok().is_some_and(is_local_host),
    };
    let is_origin_local = match origin {
        None => true,
        Some(origin) => origin
            .ok()
            .and_then(|it| it.parse::<Uri>().ok())
            .is_some_and(|it| it.scheme_str() == Some("http") && it.host().is_some_and(is_local)),
    };
    match is_host_local && is_origin_local {
        true => Ok(()),
        false => Err(refuse(StatusCode::FORBIDDEN)),
    }
}

/// Returns whether the value of a Host header names this machine, and a port of digits if it has one.
fn is_local_host(host: &str) -> bool {
    let port = host.rsplit_once(':').map_or("", |(_, port)| port);
    let has_port = port.bytes().all(|byte| byte.is_ascii_digit()) || port.ends_with(']');
    let host = host.parse::<Uri>().ok();
    has_port && host.is_some_and(|it| it.host().is_some_and(is_local))
}

fn is_local(host: &str) -> bool {
    ["localhost", "127.0.0.1", "[::1]"].contains(&host)
}

/// Returns the messages of a batch, or the message itself.
fn messages_of(message: &Value) -> impl Iterator<Item = &Value> {
    let (batch, alone) = match message {
        Value::Array(messages) => (messages.as_slice(), None),
        message => (&[][..], Some(message)),
    };
    batch.iter().chain(alone)
}
