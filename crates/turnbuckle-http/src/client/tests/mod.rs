//! Tests of links with a scripted server and an inbox that records.

mod answers;
mod cleanup;
mod custom_client;
mod sse;
mod standalone;
mod statuses;
mod streams;

use std::collections::{HashSet, VecDeque};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response};
use http_body::Body;
use tokio::time::{Instant, Sleep};
use tower_service::Service;
use turnbuckle_session::transport::{
    Connector, Frame, Inbox, Link, LinkError, OutboundKind, OutboundMessage,
};
use turnbuckle_types::RequestId;
use turnbuckle_wire::era::Params;
use turnbuckle_wire::revision::Revision;
use turnbuckle_wire::rpc::{self, Message};

use super::{ClientRequestBody, HttpClientError, HttpClientOptions, HttpConnector};

pub(super) const URL: &str = "http://server.example/mcp?key=s3cret";

/// The time after which a test fails, on the paused clock.
const TEST_TIMEOUT: Duration = Duration::from_secs(24 * 3600);

/// A request that the server received.
#[derive(Debug, Clone)]
pub(super) struct ReceivedRequest {
    pub(super) method: Method,
    pub(super) uri: String,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
    pub(super) at: Instant,
}

impl ReceivedRequest {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }
}

/// A part of a response body.
#[derive(Debug, Clone)]
pub(super) enum BodyPart {
    Data(Bytes),
    Wait(u64),
    Break,
    Hang,
}

/// A response of the script.
#[derive(Debug, Clone)]
pub(super) struct ScriptedResponse {
    status: u16,
    headers: Vec<(&'static str, String)>,
    body: Vec<BodyPart>,
    failure: Option<HttpClientError>,
    /// The delay of the response.
    after: Duration,
}

impl ScriptedResponse {
    pub(super) fn new(status: u16) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body: Vec::new(),
            failure: None,
            after: Duration::ZERO,
        }
    }

    pub(super) fn after(mut self, time: Duration) -> Self {
        self.after = time;
        self
    }

    pub(super) fn fails(failure: HttpClientError) -> Self {
        let mut reply = Self::new(500);
        reply.failure = Some(failure);
        reply
    }

    pub(super) fn json(status: u16, text: impl Into<String>) -> Self {
        Self::new(status)
            .header("content-type", "application/json")
            .text(text)
    }

    pub(super) fn events() -> Self {
        Self::new(200).header("content-type", "text/event-stream")
    }

    pub(super) fn header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }

    pub(super) fn text(mut self, text: impl Into<String>) -> Self {
        self.body.push(BodyPart::Data(text.into().into()));
        self
    }

    pub(super) fn then(mut self, piece: BodyPart) -> Self {
        self.body.push(piece);
        self
    }
}

/// A server that answers by a script, and hangs when the script is over.
#[derive(Debug, Clone, Default)]
pub(super) struct ScriptedServer(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    replies: VecDeque<ScriptedResponse>,
    received: Vec<ReceivedRequest>,
    /// Counts bodies that are not dropped yet.
    open: Arc<()>,
}

impl ScriptedServer {
    pub(super) fn new(replies: impl IntoIterator<Item = ScriptedResponse>) -> Self {
        let server = Self::default();
        server.0.lock().unwrap().replies.extend(replies);
        server
    }

    pub(super) fn received_requests(&self) -> Vec<ReceivedRequest> {
        self.0.lock().unwrap().received.clone()
    }

    pub(super) fn open_bodies(&self) -> usize {
        Arc::strong_count(&self.0.lock().unwrap().open) - 1
    }

    pub(super) fn connector(&self) -> HttpConnector {
        HttpConnector::new(URL).unwrap().http_client(self.clone())
    }
}

impl Service<Request<ClientRequestBody>> for ScriptedServer {
    type Response = Response<ScriptedBody>;
    type Error = HttpClientError;
    type Future =
        Pin<Box<dyn Future<Output = Result<Response<ScriptedBody>, HttpClientError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), HttpClientError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<ClientRequestBody>) -> Self::Future {
        let mut state = self.0.lock().unwrap();
        state.received.push(ReceivedRequest {
            method: request.method().clone(),
            uri: request.uri().to_string(),
            headers: request.headers().clone(),
            body: request.body().bytes().clone(),
            at: Instant::now(),
        });
        let Some(reply) = state.replies.pop_front() else {
            return Box::pin(std::future::pending());
        };
        if let Some(failure) = reply.failure {
            return Box::pin(std::future::ready(Err(failure)));
        }
        let mut response = Response::builder().status(reply.status);
        for (name, value) in reply.headers {
            response = response.header(name, value);
        }
        let pieces = ScriptedBody {
            pieces: reply.body.into(),
            wait: None,
            _open: state.open.clone(),
        };
        let response = response.body(pieces).unwrap();
        Box::pin(async move {
            if !reply.after.is_zero() {
                tokio::time::sleep(reply.after).await;
            }
            Ok(response)
        })
    }
}

#[derive(Debug)]
pub(super) struct ScriptedBody {
    pieces: VecDeque<BodyPart>,
    wait: Option<Pin<Box<Sleep>>>,
    _open: Arc<()>,
}

impl Body for ScriptedBody {
    type Data = Bytes;
    type Error = HttpClientError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<http_body::Frame<Bytes>, HttpClientError>>> {
        loop {
            if let Some(wait) = &mut self.wait {
                std::task::ready!(wait.as_mut().poll(cx));
                self.wait = None;
            }
            match self.pieces.pop_front() {
                None => return Poll::Ready(None),
                Some(BodyPart::Data(data)) => {
                    return Poll::Ready(Some(Ok(http_body::Frame::data(data))));
                }
                Some(BodyPart::Break) => {
                    return Poll::Ready(Some(Err(HttpClientError::connection_lost("cut off"))));
                }
                Some(BodyPart::Hang) => {
                    self.pieces.push_front(BodyPart::Hang);
                    return Poll::Pending;
                }
                Some(BodyPart::Wait(millis)) => {
                    let wait = tokio::time::sleep(Duration::from_millis(millis));
                    self.wait = Some(Box::pin(wait));
                }
            }
        }
    }
}

/// An inbox that records frames, and which requests are pending.
#[derive(Debug, Default)]
pub(super) struct RecordingInbox(Mutex<InboxState>);

#[derive(Debug, Default)]
struct InboxState {
    frames: Vec<(String, Option<RequestId>)>,
    waiting: HashSet<RequestId>,
    failures: Vec<LinkError>,
}

impl RecordingInbox {
    pub(super) fn frames(&self) -> Vec<String> {
        let frames = self.0.lock().unwrap().frames.clone();
        frames.into_iter().map(|(text, _)| text).collect()
    }

    pub(super) fn exchanges(&self) -> Vec<Option<RequestId>> {
        let frames = self.0.lock().unwrap().frames.clone();
        frames.into_iter().map(|(_, exchange)| exchange).collect()
    }

    pub(super) fn failures(&self) -> Vec<String> {
        let failures = self.0.lock().unwrap().failures.clone();
        failures.iter().map(ToString::to_string).collect()
    }

    pub(super) fn expect(&self, id: RequestId) {
        self.0.lock().unwrap().waiting.insert(id);
    }
}

impl Inbox for RecordingInbox {
    fn receive(&self, frame: Frame, exchange: Option<&RequestId>) {
        let mut memory = self.0.lock().unwrap();
        let text = match frame {
            Frame::Message(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Frame::TooLong { limit } => format!("(over {limit})"),
        };
        if let Ok(Message::Response(response)) = rpc::decode::<Params<'_>>(&text)
            && let Some(id) = response.id.as_ref().or(exchange)
        {
            memory.waiting.remove(id);
        }
        memory.frames.push((text, exchange.cloned()));
    }

    fn is_pending(&self, id: &RequestId) -> bool {
        self.0.lock().unwrap().waiting.contains(id)
    }

    fn fail(&self, why: LinkError) {
        self.0.lock().unwrap().failures.push(why);
    }
}

/// A link and its inbox.
pub(super) struct OpenedLink {
    pub(super) link: Arc<dyn Link>,
    pub(super) inbox: Arc<RecordingInbox>,
}

impl OpenedLink {
    pub(super) async fn to(connector: &dyn Connector) -> Self {
        let inbox = Arc::new(RecordingInbox::default());
        let link = connector.open(inbox.clone()).await.unwrap();
        Self { link, inbox }
    }

    /// Sends a request of this id.
    pub(super) async fn request(&self, id: i64) -> Result<(), LinkError> {
        self.send(OutboundKind::Request(RequestId::from(id))).await
    }

    pub(super) async fn initialize(&self) -> Result<(), LinkError> {
        self.send(OutboundKind::Initialize(RequestId::from(0)))
            .await
    }

    pub(super) async fn notify(&self) -> Result<(), LinkError> {
        self.send(OutboundKind::Notification).await
    }

    /// Sends the answer to a question of the server.
    pub(super) async fn respond(&self) -> Result<(), LinkError> {
        self.send(OutboundKind::Response).await
    }

    async fn send(&self, kind: OutboundKind) -> Result<(), LinkError> {
        if let Some(id) = kind.request_id() {
            self.inbox.expect(id.clone());
        }
        let sent = tokio::time::timeout(TEST_TIMEOUT, self.link.send(message(kind)));
        sent.await.expect("it ends")
    }

    /// Completes the handshake. The script needs a response for the server's own stream.
    pub(super) async fn complete_handshake(&self) {
        let features = Revision::V2025_11_25.features();
        self.link.complete_handshake(features).await;
    }
}

pub(super) fn message(kind: OutboundKind) -> OutboundMessage {
    let id = match &kind {
        OutboundKind::Notification | OutboundKind::Response => String::new(),
        other => format!(r#","id":{:?}"#, other.request_id().unwrap()),
    };
    OutboundMessage {
        frame: format!(r#"{{"jsonrpc":"2.0","method":"m"{id}}}"#).into(),
        kind,
        headers: vec![("mcp-method".into(), "m".into())],
    }
}

/// Returns a response to the request of this id.
pub(super) fn answer(id: i64) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#)
}
