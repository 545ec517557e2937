use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use turnbuckle_types::{EmptyResult, ErrorKind, Implementation, ServerCapabilities};
use turnbuckle_wire::rpc::Message;

use super::*;
use crate::server::context::REQUEST_BYTES;
use crate::server::dispatch::ServerIdentity;
use crate::server::session::MessageOutcome;
use crate::shared::frame_queue::QueuedFrame;
use crate::shared::incoming::{HandlerOutcome, IncomingRequest};
use crate::shared::transport::{HttpHead, TransportContext};

const SECOND: Duration = Duration::from_secs(1);

/// A server with one handler, which the test makes ready.
struct Puppet {
    identity: ServerIdentity,
    seen: Arc<Seen>,
}

/// The observed state of the handler.
#[derive(Default)]
struct Seen {
    ready: AtomicBool,
    polls_in_place: AtomicUsize,
    polls_in_task: AtomicUsize,
    dropped: AtomicBool,
    context: Mutex<Option<RequestContext>>,
    waker: Mutex<Option<Waker>>,
}

impl Seen {
    /// Returns how often the handler was polled in place, and in a task.
    fn polls(&self) -> (usize, usize) {
        let count = |polls: &AtomicUsize| polls.load(Ordering::Relaxed);
        (count(&self.polls_in_place), count(&self.polls_in_task))
    }

    fn is_cancelled(&self) -> bool {
        let context = self.context.lock().unwrap();
        context.as_ref().is_some_and(RequestContext::is_cancelled)
    }

    fn is_dropped(&self) -> bool {
        self.dropped.load(Ordering::Relaxed)
    }

    /// Makes the handler ready and wakes it.
    fn finish(&self) {
        self.ready.store(true, Ordering::Relaxed);
        self.waker.lock().unwrap().take().unwrap().wake();
    }
}

struct Waiting(Arc<Seen>);

impl Future for Waiting {
    type Output = Reply;

    fn poll(self: std::pin::Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Reply> {
        let polls = match tokio::task::try_id() {
            Some(_) => &self.0.polls_in_task,
            None => &self.0.polls_in_place,
        };
        polls.fetch_add(1, Ordering::Relaxed);
        *self.0.waker.lock().unwrap() = Some(cx.waker().clone());
        match self.0.ready.load(Ordering::Relaxed) {
            true => Poll::Ready(Reply::complete(EmptyResult::new())),
            false => Poll::Pending,
        }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.dropped.store(true, Ordering::Relaxed);
    }
}

impl Dispatch for Puppet {
    fn identity(&self) -> &ServerIdentity {
        &self.identity
    }

    fn call(&self, _: IncomingRequest<'_>, context: RequestContext) -> HandlerOutcome {
        *self.seen.context.lock().unwrap() = Some(context);
        HandlerOutcome::Pending(Box::pin(Waiting(self.seen.clone())))
    }
}

fn puppet(limits: Limits) -> (ServerEndpoint, Arc<Seen>) {
    let seen = Arc::new(Seen::default());
    let identity = ServerIdentity {
        info: Implementation::new("puppet", "1"),
        capabilities: ServerCapabilities::new(),
        instructions: None,
        include_in_results: false,
        ttl_ms: 0,
        public: false,
    };
    let puppet = Puppet {
        identity,
        seen: seen.clone(),
    };
    (ServerEndpoint::new(Arc::new(puppet), limits), seen)
}

fn cx() -> Context<'static> {
    Context::from_waker(Waker::noop())
}

/// Decodes a message and passes it to `receive`.
fn with_decoded<T>(
    text: &'static str,
    receive: impl FnOnce(Message<'_, Params<'_>>, InboundFrame<'_>) -> T,
) -> T {
    let frame = InboundFrame {
        frame: &Bytes::from_static(text.as_bytes()),
        text,
        transport: &TransportContext::default(),
        headers: None,
        account: None,
        foreign: None,
    };
    let message = rpc::decode(frame.text).unwrap();
    receive(message, frame)
}

const REQUEST: &str = r#"{"jsonrpc":"2.0","id":1,"method":"x/wait"}"#;

fn serve(endpoint: &ServerEndpoint) -> ExchangeOutcome {
    with_decoded(REQUEST, |message, frame| {
        let Message::Request(request) = message else {
            panic!("it is a request");
        };
        endpoint.serve(&request, Revision::NEWEST_LEGACY, frame)
    })
}

fn serve_pending(endpoint: &ServerEndpoint) -> ResponseStream {
    match serve(endpoint) {
        ExchangeOutcome::Streaming(stream) => stream,
        ExchangeOutcome::Response(response) => panic!("{response:?}"),
    }
}

fn is_result(next: &Poll<Option<QueuedFrame>>) -> bool {
    let Poll::Ready(Some(QueuedFrame::Response(response))) = next else {
        return false;
    };
    response.failure.is_none()
}

/// Lets tasks that are ready run.
async fn run_ready_tasks() {
    for _ in 0..4 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_is_ready_at_once_needs_no_task() {
    let (endpoint, seen) = puppet(Limits::default());
    seen.ready.store(true, Ordering::Relaxed);
    let ExchangeOutcome::Response(response) = serve(&endpoint) else {
        panic!("the response is ready");
    };
    assert!(response.failure.is_none());
    run_ready_tasks().await;
    assert_eq!(seen.polls(), (1, 0));
    assert!(
        seen.is_cancelled(),
        "its context sends nothing after the response"
    );
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_is_pending_moves_to_a_task() {
    let (endpoint, seen) = puppet(Limits::default());
    let mut stream = serve_pending(&endpoint);
    for _ in 0..3 {
        assert!(stream.poll_next(&mut cx()).is_pending());
    }
    assert_eq!(seen.polls(), (1, 0), "the stream does not poll the handler");
    run_ready_tasks().await;
    assert_eq!(seen.polls(), (1, 1));
    seen.finish();
    assert!(stream.poll_next(&mut cx()).is_pending());
    run_ready_tasks().await;
    let next = stream.poll_next(&mut cx());
    assert!(is_result(&next), "{next:?}");
    assert_eq!(seen.polls(), (1, 2));
    assert!(
        seen.is_cancelled(),
        "its context sends nothing after the response"
    );
    assert!(matches!(stream.poll_next(&mut cx()), Poll::Ready(None)));
}

#[tokio::test(start_paused = true)]
async fn messages_of_a_handler_go_before_its_response() {
    let (endpoint, seen) = puppet(Limits::default());
    let mut stream = serve_pending(&endpoint);
    let context = seen.context.lock().unwrap().clone().unwrap();
    context.send_frame(b"said".to_vec()).await;
    run_ready_tasks().await;
    seen.finish();
    run_ready_tasks().await;
    let next = stream.poll_next(&mut cx());
    assert!(
        matches!(&next, Poll::Ready(Some(QueuedFrame::Message(frame))) if frame == b"said"),
        "{next:?}"
    );
    context.send_frame(b"too late".to_vec()).await;
    assert!(is_result(&stream.poll_next(&mut cx())));
    assert!(matches!(stream.poll_next(&mut cx()), Poll::Ready(None)));
}

#[tokio::test(start_paused = true)]
async fn a_dropped_exchange_cancels_its_handler() {
    // Before its task was polled, and after.
    for polls_in_task in [0, 1] {
        let (endpoint, seen) = puppet(Limits::default().cancel_timeout(SECOND));
        let stream = serve_pending(&endpoint);
        if polls_in_task == 1 {
            run_ready_tasks().await;
        }
        assert_eq!(seen.polls(), (1, polls_in_task));
        assert!(!seen.is_cancelled());
        drop(stream);
        assert!(seen.is_cancelled());
        tokio::time::sleep(SECOND / 2).await;
        assert!(!seen.is_dropped(), "it may still end by itself");
        tokio::time::sleep(SECOND).await;
        assert!(seen.is_dropped());
    }
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_takes_longer_than_its_timeout_is_answered_for() {
    let limits = Limits::default().handler_timeout(10 * SECOND);
    let (endpoint, seen) = puppet(limits.cancel_timeout(Duration::ZERO));
    let mut stream = serve_pending(&endpoint);
    tokio::time::sleep(9 * SECOND).await;
    assert!(stream.poll_next(&mut cx()).is_pending());
    tokio::time::sleep(2 * SECOND).await;
    let next = stream.poll_next(&mut cx());
    let Poll::Ready(Some(QueuedFrame::Response(late))) = next else {
        panic!("{next:?}");
    };
    let text = String::from_utf8(late.frame).unwrap();
    assert!(
        text.contains("took longer than the server allows"),
        "{text}"
    );
    assert!(seen.is_dropped());
}

/// Serves the request in a session. Returns the sink of the request, and the outcome.
fn serve_in_session(endpoint: &ServerEndpoint) -> (Arc<Session>, Arc<FrameQueue>, MessageOutcome) {
    let queue = Arc::new(FrameQueue::with_max_bytes(1 << 20));
    let sink: Arc<dyn ReplySink> = queue.clone();
    let account = endpoint.account(None, None);
    let revision = Some(Revision::NEWEST_LEGACY);
    let session = endpoint.new_stateless_session(revision, sink.clone(), account.into_owned());
    let outcome = with_decoded(REQUEST, |message, frame| {
        session.receive(message, None, frame, &sink)
    });
    (session, queue, outcome)
}

#[tokio::test(start_paused = true)]
async fn a_session_s_handler_responds_to_the_sink_of_its_request() {
    let (endpoint, seen) = puppet(Limits::default());
    let (session, queue, outcome) = serve_in_session(&endpoint);
    assert!(matches!(outcome, MessageOutcome::Pending), "{outcome:?}");
    run_ready_tasks().await;
    assert!(!seen.is_cancelled());
    assert_eq!((seen.polls(), session.in_flight()), ((1, 1), 1));
    seen.finish();
    run_ready_tasks().await;
    assert!(is_result(&queue.poll_next(&mut cx())));
    assert_eq!(session.in_flight(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_request_of_a_session_ends_without_a_response() {
    const CANCEL: &str =
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
    let (endpoint, seen) = puppet(Limits::default().cancel_timeout(SECOND));
    let (session, queue, _) = serve_in_session(&endpoint);
    run_ready_tasks().await;
    let sink: Arc<dyn ReplySink> = queue.clone();
    with_decoded(CANCEL, |message, frame| {
        session.receive(message, None, frame, &sink)
    });
    assert!(seen.is_cancelled());
    run_ready_tasks().await;
    assert!(
        matches!(queue.poll_next(&mut cx()), Poll::Ready(None)),
        "the sink hears of the end at once"
    );
    assert!(!seen.is_dropped(), "it may still end by itself");
    seen.finish();
    run_ready_tasks().await;
    assert!(seen.is_dropped());
    assert!(matches!(queue.poll_next(&mut cx()), Poll::Ready(None)));
}

/// Returns the memory that is in use for requests without a principal.
fn used(endpoint: &ServerEndpoint) -> usize {
    endpoint.account(None, None).memory().used()
}

/// The memory of a pending `REQUEST`: a constant, its frame, and its arguments.
const PENDING_BYTES: usize = REQUEST_BYTES + 2 * REQUEST.len();

#[tokio::test(start_paused = true)]
async fn requests_beyond_the_memory_of_their_owner_are_refused_by_name() {
    let (endpoint, seen) = puppet(Limits::default().max_owner_bytes(2 * PENDING_BYTES - 1));
    let running = serve_pending(&endpoint);
    assert_eq!(used(&endpoint), PENDING_BYTES);
    let ExchangeOutcome::Response(refused) = serve(&endpoint) else {
        panic!("there is room for one");
    };
    assert!(matches!(
        refused.failure,
        Some(ErrorKind::RateLimited {
            retry_after: Some(_)
        })
    ));
    let text = String::from_utf8(refused.into_bytes()).unwrap();
    assert!(text.contains("(Limits::max_owner_bytes)"), "{text}");
    // The request is cancelled, and its handler does not end before its time is over.
    drop(running);
    tokio::time::sleep(3 * SECOND).await;
    *seen.context.lock().unwrap() = None;
    assert_eq!(used(&endpoint), 0);
    drop(serve_pending(&endpoint));
}

#[tokio::test(start_paused = true)]
async fn a_response_counts_until_it_was_read_and_dropped() {
    let (endpoint, seen) = puppet(Limits::default());
    let mut stream = serve_pending(&endpoint);
    run_ready_tasks().await;
    *seen.context.lock().unwrap() = None;
    seen.finish();
    run_ready_tasks().await;
    let Poll::Ready(Some(QueuedFrame::Response(mut response))) = stream.poll_next(&mut cx()) else {
        panic!("the response is ready");
    };
    let bytes = response.byte_count();
    assert_eq!(response.memory.bytes(), bytes);
    drop(stream);
    run_ready_tasks().await;
    assert_eq!(used(&endpoint), bytes, "the request is gone");
    let memory = std::mem::take(&mut response.memory);
    let body = memory.attach(response.into_bytes());
    assert_eq!(used(&endpoint), bytes);
    drop(body);
    assert_eq!(used(&endpoint), 0);
}

#[tokio::test(start_paused = true)]
async fn a_response_beyond_the_limit_becomes_an_error_with_its_name() {
    let (endpoint, seen) = puppet(Limits::default().max_owner_bytes(PENDING_BYTES + 10));
    let mut stream = serve_pending(&endpoint);
    run_ready_tasks().await;
    seen.finish();
    run_ready_tasks().await;
    let Poll::Ready(Some(QueuedFrame::Response(response))) = stream.poll_next(&mut cx()) else {
        panic!("a response is ready");
    };
    assert!(matches!(response.failure, Some(ErrorKind::Internal)));
    let text = String::from_utf8(response.into_bytes()).unwrap();
    assert!(text.contains("the request was served"), "{text}");
    assert!(text.contains("(Limits::max_owner_bytes)"), "{text}");
}

/// The head of an HTTP request that takes much memory.
struct LongHead;

impl HttpHead for LongHead {
    fn method(&self) -> &str {
        "POST"
    }

    fn target(&self) -> &str {
        "/mcp"
    }

    fn header(&self, _: &str) -> Option<&str> {
        None
    }

    fn byte_count(&self) -> usize {
        50_000
    }

    #[cfg(feature = "http")]
    fn extensions(&self) -> &http::Extensions {
        unreachable!("nobody reads extensions")
    }
}

#[tokio::test(start_paused = true)]
async fn the_head_of_a_request_counts_while_the_request_runs() {
    let (endpoint, _) = puppet(Limits::default());
    let serve_with = |http| {
        let transport = TransportContext {
            http,
            ..TransportContext::default()
        };
        with_decoded(REQUEST, |message, frame| {
            let Message::Request(request) = message else {
                panic!("it is a request");
            };
            let frame = InboundFrame {
                transport: &transport,
                ..frame
            };
            endpoint.serve(&request, Revision::NEWEST_LEGACY, frame)
        })
    };
    let without = serve_with(None);
    let bytes = used(&endpoint);
    assert_eq!(bytes, PENDING_BYTES);
    let with = serve_with(Some(Arc::new(LongHead)));
    assert_eq!(used(&endpoint), 2 * bytes + 50_000);
    drop((without, with));
}
