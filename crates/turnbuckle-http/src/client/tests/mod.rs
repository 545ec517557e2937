//! A scripted server, an inbox that remembers, and what links do with them.

mod bottom;
mod rounds;
mod sse;
mod standalone;
mod statuses;
mod streams;
mod wire;

use std::collections::{HashSet, VecDeque};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response};
use http_body::{Body, Frame as Part};
use tokio::time::{Instant, Sleep};
use tower_service::Service;
use turnbuckle_session::{Connector, Frame, Inbox, Link, LinkError, Parcel, ParcelKind};
use turnbuckle_types::RequestId;
use turnbuckle_wire::era::Params;
use turnbuckle_wire::revision::Revision;
use turnbuckle_wire::rpc::{self, Message};

use super::http::{HttpFailure, RequestBody};
use super::{HttpClientOptions, HttpConnector};

pub(super) const URL: &str = "http://server.example/mcp?key=s3cret";

/// How long anything is waited for, on the paused clock.
const PATIENCE: Duration = Duration::from_secs(24 * 3600);

/// A request that the server saw.
#[derive(Debug, Clone)]
pub(super) struct Seen {
    pub(super) method: Method,
    pub(super) uri: String,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
    pub(super) at: Instant,
}

impl Seen {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }
}

/// A piece of an answer's body.
#[derive(Debug, Clone)]
pub(super) enum Piece {
    Data(Bytes),
    Wait(u64),
    Break,
    Hang,
}

/// An answer of the script.
#[derive(Debug, Clone)]
pub(super) struct Reply {
    status: u16,
    headers: Vec<(&'static str, String)>,
    body: Vec<Piece>,
    failure: Option<HttpFailure>,
    /// How long it takes to come.
    after: Duration,
}

impl Reply {
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

    pub(super) fn fails(failure: HttpFailure) -> Self {
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
        self.body.push(Piece::Data(text.into().into()));
        self
    }

    pub(super) fn then(mut self, piece: Piece) -> Self {
        self.body.push(piece);
        self
    }
}

/// A server that answers by a script, and hangs when there is none.
#[derive(Debug, Clone, Default)]
pub(super) struct Script(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    replies: VecDeque<Reply>,
    seen: Vec<Seen>,
    /// Bodies that are not dropped yet.
    open: Arc<()>,
}

impl Script {
    pub(super) fn new(replies: impl IntoIterator<Item = Reply>) -> Self {
        let script = Self::default();
        script.0.lock().unwrap().replies.extend(replies);
        script
    }

    pub(super) fn seen(&self) -> Vec<Seen> {
        self.0.lock().unwrap().seen.clone()
    }

    pub(super) fn open_bodies(&self) -> usize {
        Arc::strong_count(&self.0.lock().unwrap().open) - 1
    }

    pub(super) fn connector(&self) -> HttpConnector {
        HttpConnector::new(URL).unwrap().http(self.clone())
    }
}

impl Service<Request<RequestBody>> for Script {
    type Response = Response<Pieces>;
    type Error = HttpFailure;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Pieces>, HttpFailure>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), HttpFailure>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<RequestBody>) -> Self::Future {
        let mut state = self.0.lock().unwrap();
        state.seen.push(Seen {
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
        let pieces = Pieces {
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
pub(super) struct Pieces {
    pieces: VecDeque<Piece>,
    wait: Option<Pin<Box<Sleep>>>,
    _open: Arc<()>,
}

impl Body for Pieces {
    type Data = Bytes;
    type Error = HttpFailure;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Part<Bytes>, HttpFailure>>> {
        loop {
            if let Some(wait) = &mut self.wait {
                std::task::ready!(wait.as_mut().poll(cx));
                self.wait = None;
            }
            match self.pieces.pop_front() {
                None => return Poll::Ready(None),
                Some(Piece::Data(data)) => return Poll::Ready(Some(Ok(Part::data(data)))),
                Some(Piece::Break) => {
                    return Poll::Ready(Some(Err(HttpFailure::broken("cut off"))));
                }
                Some(Piece::Hang) => {
                    self.pieces.push_front(Piece::Hang);
                    return Poll::Pending;
                }
                Some(Piece::Wait(millis)) => {
                    let wait = tokio::time::sleep(Duration::from_millis(millis));
                    self.wait = Some(Box::pin(wait));
                }
            }
        }
    }
}

/// Remembers what comes, and which requests are not answered yet.
#[derive(Debug, Default)]
pub(super) struct Memory(Mutex<Remembered>);

#[derive(Debug, Default)]
struct Remembered {
    frames: Vec<(String, Option<RequestId>)>,
    waiting: HashSet<RequestId>,
    lost: Vec<LinkError>,
}

impl Memory {
    pub(super) fn frames(&self) -> Vec<String> {
        let frames = self.0.lock().unwrap().frames.clone();
        frames.into_iter().map(|(text, _)| text).collect()
    }

    pub(super) fn exchanges(&self) -> Vec<Option<RequestId>> {
        let frames = self.0.lock().unwrap().frames.clone();
        frames.into_iter().map(|(_, exchange)| exchange).collect()
    }

    pub(super) fn lost(&self) -> Vec<String> {
        let lost = self.0.lock().unwrap().lost.clone();
        lost.iter().map(ToString::to_string).collect()
    }

    pub(super) fn expect(&self, id: RequestId) {
        self.0.lock().unwrap().waiting.insert(id);
    }
}

impl Inbox for Memory {
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

    fn awaits(&self, id: &RequestId) -> bool {
        self.0.lock().unwrap().waiting.contains(id)
    }

    fn lost(&self, why: LinkError) {
        self.0.lock().unwrap().lost.push(why);
    }
}

/// A link, and whom it tells.
pub(super) struct Joined {
    pub(super) link: Arc<dyn Link>,
    pub(super) inbox: Arc<Memory>,
}

impl Joined {
    pub(super) async fn to(connector: &dyn Connector) -> Self {
        let inbox = Arc::new(Memory::default());
        let link = connector.open(inbox.clone()).await.unwrap();
        Self { link, inbox }
    }

    /// Carries a request of that id.
    pub(super) async fn request(&self, id: i64) -> Result<(), LinkError> {
        self.carry(ParcelKind::Request(RequestId::from(id))).await
    }

    pub(super) async fn initialize(&self) -> Result<(), LinkError> {
        self.carry(ParcelKind::Initialize(RequestId::from(0))).await
    }

    pub(super) async fn notify(&self) -> Result<(), LinkError> {
        self.carry(ParcelKind::Notification).await
    }

    async fn carry(&self, kind: ParcelKind) -> Result<(), LinkError> {
        if let Some(id) = kind.request_id() {
            self.inbox.expect(id.clone());
        }
        let carried = tokio::time::timeout(PATIENCE, self.link.carry(parcel(kind)));
        carried.await.expect("it ends")
    }

    /// The handshake is over. The script has an answer for the server's own stream.
    pub(super) async fn established(&self) {
        let features = Revision::V2025_11_25.features();
        self.link.established(features).await;
    }
}

pub(super) fn parcel(kind: ParcelKind) -> Parcel {
    let id = match &kind {
        ParcelKind::Notification | ParcelKind::Response => String::new(),
        other => format!(r#","id":{:?}"#, other.request_id().unwrap()),
    };
    Parcel {
        frame: format!(r#"{{"jsonrpc":"2.0","method":"m"{id}}}"#).into(),
        kind,
        headers: vec![("mcp-method".into(), "m".into())],
    }
}

/// An answer to the request of that id.
pub(super) fn answer(id: i64) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#)
}
