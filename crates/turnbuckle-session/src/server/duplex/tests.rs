use std::sync::{Mutex, OnceLock};

use serde::{Serialize, Serializer};
use turnbuckle_types::{Implementation, ServerCapabilities};
use turnbuckle_wire::era::{Project, Reply};
use turnbuckle_wire::revision::Features;

use super::*;
use crate::server::context::RequestContext;
use crate::server::dispatch::ServerIdentity;
use crate::shared::incoming::{HandlerOutcome, IncomingRequest};
use crate::shared::memory::{MemoryTransport, memory_pair};
use crate::shared::rate::Rate;

type Serving = Pin<Box<dyn Future<Output = CloseReason> + Send>>;

/// A server whose handlers wait for `go`; while one of their answers is encoded, its connection is
/// looked after.
struct Server {
    identity: ServerIdentity,
    go: Signal,
    serving: Arc<OnceLock<Mutex<Serving>>>,
}

/// An answer that is encoded so slowly that its connection is polled meanwhile.
#[derive(Clone)]
struct Slow(Arc<OnceLock<Mutex<Serving>>>);

impl Serialize for Slow {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeMap;
        assert!(poll(&self.0).is_pending(), "an answer is owed");
        to.serialize_map(Some(0))?.end()
    }
}

impl Project for Slow {
    fn fits(&self, _: &Features) -> bool {
        true
    }

    fn project(&mut self, _: &Features) {}
}

impl Dispatch for Server {
    fn identity(&self) -> &ServerIdentity {
        &self.identity
    }

    fn call(&self, call: IncomingRequest<'_>, context: RequestContext) -> HandlerOutcome {
        let (go, serving) = (self.go.clone(), self.serving.clone());
        let is_stubborn = call.name == "x/stubborn";
        HandlerOutcome::Pending(Box::pin(async move {
            if is_stubborn {
                std::future::pending::<()>().await;
            }
            go.cancelled().await;
            context.progress(1, None).await;
            Reply::complete(Slow(serving))
        }))
    }
}

fn poll(serving: &OnceLock<Mutex<Serving>>) -> Poll<CloseReason> {
    let mut serving = serving.get().unwrap().lock().unwrap();
    let mut cx = task::Context::from_waker(Waker::noop());
    serving.as_mut().poll(&mut cx)
}

/// Creates a server, and a client that sends these messages and no more.
fn after(frames: &[String], limits: Limits) -> (Arc<Server>, MemoryTransport) {
    let server = Arc::new(Server {
        identity: ServerIdentity {
            info: Implementation::new("slow", "1"),
            capabilities: ServerCapabilities::new(),
            instructions: None,
            include_in_results: false,
            ttl_ms: 0,
            public: false,
        },
        go: Signal::new(),
        serving: Arc::default(),
    });
    let (mut client, theirs) = memory_pair();
    for frame in frames {
        client.queue(frame.as_bytes());
    }
    let mut cx = task::Context::from_waker(Waker::noop());
    assert!(client.poll_flush(&mut cx).is_ready());
    client.close_sending();
    let dispatch: Arc<dyn Dispatch> = server.clone();
    let context = TransportContext::default();
    let serving = serve(dispatch, theirs, limits, context, Signal::new());
    let serving: Serving = Box::pin(serving);
    assert!(server.serving.set(Mutex::new(serving)).is_ok());
    (server, client)
}

fn receive_all(client: &mut MemoryTransport) -> Vec<String> {
    let mut cx = task::Context::from_waker(Waker::noop());
    let mut received = Vec::new();
    while let Poll::Ready(Some(Frame::Message(frame))) = client.poll_frame(&mut cx) {
        received.push(String::from_utf8(frame.to_vec()).unwrap());
    }
    received
}

fn initialize(revision: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":0,"method":"initialize","params":{{"protocolVersion":"{revision}","capabilities":{{}},"clientInfo":{{"name":"c","version":"1"}}}}}}"#
    )
}

fn call(id: u32, method: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{"_meta":{{"progressToken":{id}}}}}}}"#
    )
}

async fn rest() {
    for _ in 0..8 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_being_encoded_at_the_end_of_the_input_is_sent() {
    let batch = format!("[{},{}]", call(1, "x/slow"), call(2, "x/slow"));
    for (revision, asked) in [
        (Revision::NEWEST_LEGACY, call(1, "x/slow")),
        (Revision::V2025_03_26, batch),
    ] {
        let frames = [initialize(revision.as_str()), asked];
        let (server, mut client) = after(&frames, Limits::default());
        assert!(poll(&server.serving).is_pending());
        receive_all(&mut client);
        server.go.cancel();
        rest().await;
        let closed = poll(&server.serving);
        assert!(
            matches!(closed, Poll::Ready(CloseReason::ByPeer)),
            "{closed:?}"
        );
        let received = receive_all(&mut client);
        let answered = |it: &String| it.contains(r#""id":1"#) && it.contains("result");
        assert!(received.last().is_some_and(answered), "{received:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn handshakes_that_come_too_fast_are_refused_by_name() {
    let limits = Limits::new().handshake_rate(Rate::per_second(0).burst(1));
    let (server, mut client) = after(&[initialize("x"), initialize("x")], limits);
    rest().await;
    let _ = poll(&server.serving);
    let received = receive_all(&mut client);
    assert_eq!(received.len(), 2, "{received:?}");
    assert!(received[0].contains("serverInfo"), "{received:?}");
    assert!(
        received[1].contains("Limits::handshake_rate"),
        "{received:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn the_end_of_the_input_does_not_wait_for_cancelled_requests() {
    let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
    let frames = [
        initialize(Revision::NEWEST_LEGACY.as_str()),
        call(1, "x/stubborn"),
        cancel.to_owned(),
    ];
    let (server, mut client) = after(&frames, Limits::default());
    assert!(poll(&server.serving).is_pending());
    rest().await;
    let closed = poll(&server.serving);
    assert!(
        matches!(closed, Poll::Ready(CloseReason::ByPeer)),
        "{closed:?}"
    );
    assert_eq!(receive_all(&mut client).len(), 1, "the handshake's answer");
}

#[tokio::test(start_paused = true)]
async fn a_cancellation_needs_no_complete_envelope() {
    for meta in [
        r#""io.modelcontextprotocol/protocolVersion":"2026-07-28""#,
        r#""io.modelcontextprotocol/protocolVersion":"unknown""#,
        r#""io.modelcontextprotocol/clientCapabilities":{}"#,
    ] {
        let cancel = format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":1,"_meta":{{{meta}}}}}}}"#
        );
        let frames = [
            initialize(Revision::NEWEST_LEGACY.as_str()),
            call(1, "x/stubborn"),
            cancel,
        ];
        let (server, _client) = after(&frames, Limits::default());
        assert!(poll(&server.serving).is_pending());
        rest().await;
        let closed = poll(&server.serving);
        assert!(matches!(closed, Poll::Ready(CloseReason::ByPeer)), "{meta}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_drain_timeout_of_the_largest_value_never_ends() {
    let frames = [
        initialize(Revision::NEWEST_LEGACY.as_str()),
        call(1, "x/slow"),
    ];
    let (server, mut client) = after(&frames, Limits::default().drain_timeout(Duration::MAX));
    assert!(poll(&server.serving).is_pending());
    tokio::time::sleep(Duration::from_secs(3600)).await;
    server.go.cancel();
    rest().await;
    assert!(poll(&server.serving).is_ready());
    assert_eq!(receive_all(&mut client).len(), 3);
}
