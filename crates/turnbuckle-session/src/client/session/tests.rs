//! Tests of the session with a link that records what is sent.

use crate::client::session::request_tag::RequestTag;
use std::sync::{Arc, Mutex};
use std::task::{Context, Waker};
use std::time::Duration;

use bytes::Bytes;
use serde_json::{Value, json};
use turnbuckle_types::RequestId;
use turnbuckle_wire::revision::Revision;

use super::client_session::ClientSession;
use super::handler::{ClientHandler, ServerRequest};
use super::limits::ClientLimits;
use super::request::OutboundRequest;
use super::response::{RawResult, RequestError};
use crate::client::link::{Connector, Inbox, Link, LinkFuture, LinkKind, OpenFuture, SendFuture};
use crate::client::link_error::LinkError;
use crate::client::negotiated_revision::NegotiatedRevision;
use crate::client::outbound_message::OutboundMessage;
use crate::client::timeouts::Timeouts;
use crate::shared::incoming::{HandlerOutcome, IncomingNotification, IncomingRequest};
use crate::shared::transport::Frame;

/// A server that sends only what the test tells it to, and records what it receives.
#[derive(Clone)]
struct ScriptedServer(Arc<State>);

struct State {
    kind: LinkKind,
    /// True if requests are answered at once, and their sending fails.
    send_fails: bool,
    sent: Mutex<Vec<Value>>,
    inbox: Mutex<Option<Arc<dyn Inbox>>>,
}

impl ScriptedServer {
    fn new(kind: LinkKind) -> Self {
        Self::with_failing_send(kind, false)
    }

    fn with_failing_send(kind: LinkKind, send_fails: bool) -> Self {
        Self(Arc::new(State {
            kind,
            send_fails,
            sent: Mutex::default(),
            inbox: Mutex::default(),
        }))
    }

    async fn open(&self, limits: ClientLimits) -> Arc<ClientSession> {
        let opened = ClientSession::open(self, Arc::new(IdleHandler), limits, None).await;
        let session = opened.unwrap();
        session.set_revision(Arc::new(revision()));
        session
    }

    fn send_frame(&self, frame: Frame) {
        let inbox = self.0.inbox.lock().unwrap().clone();
        inbox.unwrap().receive(frame, None);
    }

    /// Answers the request of this id.
    fn answer(&self, id: &RequestId) {
        let answer = json!({"jsonrpc": "2.0", "id": id, "result": {"fine": true}});
        self.send_frame(Frame::Message(Bytes::from(answer.to_string())));
    }

    /// Returns the ids of the requests that were cancelled.
    fn cancelled_ids(&self) -> Vec<Value> {
        let sent = self.0.sent.lock().unwrap();
        let cancelled = |it: &&Value| it["method"] == "notifications/cancelled";
        let ids = sent.iter().filter(cancelled);
        ids.map(|it| it["params"]["requestId"].clone()).collect()
    }
}

impl Connector for ScriptedServer {
    fn open(&self, inbox: Arc<dyn Inbox>) -> OpenFuture<'_> {
        *self.0.inbox.lock().unwrap() = Some(inbox);
        let link: Arc<dyn Link> = Arc::new(self.clone());
        Box::pin(std::future::ready(Ok(link)))
    }

    fn link_kind(&self) -> LinkKind {
        self.0.kind
    }

    fn description(&self) -> String {
        "a scripted server".into()
    }
}

impl Link for ScriptedServer {
    fn kind(&self) -> LinkKind {
        self.0.kind
    }

    fn try_send(&self, message: OutboundMessage) -> Result<(), OutboundMessage> {
        Err(message)
    }

    fn send(&self, message: OutboundMessage) -> SendFuture {
        let json = serde_json::from_slice(&message.frame).unwrap();
        self.0.sent.lock().unwrap().push(json);
        if self.0.send_fails {
            let server = self.clone();
            return Box::pin(async move {
                server.answer(message.kind.request_id().unwrap());
                let reason = "the answer came another way".into();
                Err(LinkError::ConnectionLost { reason })
            });
        }
        match self.0.kind {
            LinkKind::Duplex => Box::pin(std::future::ready(Ok(()))),
            LinkKind::Exchange => Box::pin(std::future::pending()),
        }
    }

    fn may_have_sent(&self) -> bool {
        self.0.kind == LinkKind::Exchange
    }

    fn close(&self) -> LinkFuture {
        Box::pin(std::future::ready(()))
    }
}

/// A handler that never answers.
struct IdleHandler;

impl ClientHandler for IdleHandler {
    fn handle_request(&self, _: IncomingRequest<'_>, _: ServerRequest) -> HandlerOutcome {
        HandlerOutcome::Pending(Box::pin(std::future::pending()))
    }

    fn handle_notification(&self, _: IncomingNotification<'_>, _: Option<&RequestTag>) {}
}

fn revision() -> NegotiatedRevision {
    NegotiatedRevision::legacy(Revision::NEWEST_LEGACY)
}

type RequestFuture =
    std::pin::Pin<Box<dyn Future<Output = Result<RawResult, RequestError>> + Send>>;

/// Sends a request; returns its future and its id.
fn send(session: &Arc<ClientSession>, method: &'static str) -> (RequestFuture, RequestId) {
    send_with(session, method, Timeouts::default())
}

fn send_with(
    session: &Arc<ClientSession>,
    method: &'static str,
    timeouts: Timeouts,
) -> (RequestFuture, RequestId) {
    let (sender, id) = std::sync::mpsc::channel();
    let session = session.clone();
    let mut future: RequestFuture = Box::pin(async move {
        let revision = revision();
        let on_id = |id: &RequestId| sender.send(id.clone()).unwrap();
        let mut request = OutboundRequest::new(method, None, &revision);
        request.on_id_assigned = Some(&on_id);
        request.timeouts = timeouts;
        session.send_request(request).await
    });
    let mut cx = Context::from_waker(Waker::noop());
    assert!(future.as_mut().poll(&mut cx).is_pending());
    (future, id.recv().unwrap())
}

const OVERSIZED: Frame = Frame::TooLong { limit: 10 };

async fn run_other_tasks() {
    for _ in 0..8 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test(start_paused = true)]
async fn an_oversized_frame_on_a_duplex_link_cancels_the_only_request() {
    let server = ScriptedServer::new(LinkKind::Duplex);
    let session = server.open(ClientLimits::default()).await;
    let (only, id) = send(&session, "tools/list");
    server.send_frame(OVERSIZED);
    let ended = only.await;
    let too_large = |it: &_| {
        matches!(
            it,
            Err(RequestError::Link {
                error: LinkError::MessageTooLarge { limit: 10 },
                sent: true
            })
        )
    };
    assert!(too_large(&ended), "{ended:?}");
    assert_eq!(session.in_flight(), Default::default());
    run_other_tasks().await;
    assert_eq!(server.cancelled_ids(), [json!(id)]);

    // A response that arrives after all replaces the guess.
    let (only, id) = send(&session, "tools/list");
    server.send_frame(OVERSIZED);
    server.answer(&id);
    assert!(only.await.is_ok());
    run_other_tasks().await;
    assert_eq!(server.cancelled_ids().len(), 1);

    // With several requests there is no guess.
    let (one, first) = send(&session, "tools/list");
    let (two, second) = send(&session, "tools/list");
    server.send_frame(OVERSIZED);
    server.answer(&first);
    server.answer(&second);
    assert!(one.await.is_ok() && two.await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn an_oversized_frame_ends_a_request_with_a_deadline_before_one_without() {
    let server = ScriptedServer::new(LinkKind::Duplex);
    let session = server.open(ClientLimits::default()).await;
    let (mut open, _) = send_with(&session, "subscriptions/listen", Timeouts::NONE);
    let (call, _) = send(&session, "tools/call");
    server.send_frame(OVERSIZED);
    assert!(call.await.is_err());
    let mut cx = Context::from_waker(Waker::noop());
    assert!(open.as_mut().poll(&mut cx).is_pending());
    // Alone, the request without a deadline ends too.
    server.send_frame(OVERSIZED);
    assert!(open.await.is_err());
}

#[tokio::test(start_paused = true)]
async fn an_oversized_frame_of_no_exchange_ends_no_request() {
    let server = ScriptedServer::new(LinkKind::Exchange);
    let session = server.open(ClientLimits::default()).await;
    let (mut only, id) = send(&session, "tools/list");
    server.send_frame(OVERSIZED);
    let mut cx = Context::from_waker(Waker::noop());
    assert!(only.as_mut().poll(&mut cx).is_pending());
    server.answer(&id);
    assert!(only.await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_response_counts_even_if_sending_its_request_fails() {
    for kind in [LinkKind::Duplex, LinkKind::Exchange] {
        let server = ScriptedServer::with_failing_send(kind, true);
        let session = server.open(ClientLimits::default()).await;
        let revision = revision();
        let answered = session.send_request(OutboundRequest::new("tools/list", None, &revision));
        assert!(answered.await.is_ok(), "{kind:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn pings_are_sent_however_many_requests_wait() {
    let server = ScriptedServer::new(LinkKind::Duplex);
    let limits = ClientLimits::default().max_outgoing_requests(0);
    let session = server.open(limits).await;
    let second = Duration::from_secs(1);
    session.start_pinging(10 * second, second);
    tokio::time::sleep(10 * second + second / 2).await;
    assert!(!session.is_closed());
    tokio::time::sleep(second).await;
    assert!(session.is_closed(), "it does not answer");
}
