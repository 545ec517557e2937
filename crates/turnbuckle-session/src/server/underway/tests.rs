use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::Waker;

use bytes::Bytes;
use turnbuckle_types::{EmptyResult, Implementation, Principal, ServerCapabilities};
use turnbuckle_wire::era::{ParamHeader, Params};
use turnbuckle_wire::revision::Revision;
use turnbuckle_wire::rpc::{self, Message};

use super::*;
use crate::{
    Dispatch, ExchangeOutcome, FrameQueue, FrameQueueLimits, HandlerOutcome, InboundFrame,
    IncomingRequest, Limits, MessageOutcome, ReplySink, ServerEndpoint, ServerIdentity,
    TransportContext,
};

const SECOND: Duration = Duration::from_secs(1);

/// A server with one handler, which is ready when it is told to be.
struct Puppet {
    identity: ServerIdentity,
    seen: Arc<Seen>,
}

/// What is seen of its handler.
#[derive(Default)]
struct Seen {
    ready: AtomicBool,
    in_place: AtomicUsize,
    in_task: AtomicUsize,
    dropped: AtomicBool,
    context: Mutex<Option<RequestContext>>,
    waker: Mutex<Option<Waker>>,
}

impl Seen {
    /// How often it was polled in place and in a task.
    fn polls(&self) -> (usize, usize) {
        let of = |polls: &AtomicUsize| polls.load(Ordering::Relaxed);
        (of(&self.in_place), of(&self.in_task))
    }

    fn is_cancelled(&self) -> bool {
        let context = self.context.lock().unwrap();
        context.as_ref().is_some_and(RequestContext::is_cancelled)
    }

    fn is_dropped(&self) -> bool {
        self.dropped.load(Ordering::Relaxed)
    }

    /// Lets it be ready, and has it polled where it waits.
    fn finish(&self) {
        self.ready.store(true, Ordering::Relaxed);
        self.waker.lock().unwrap().take().unwrap().wake();
    }
}

struct Waiting(Arc<Seen>);

impl Future for Waiting {
    type Output = Reply;

    fn poll(self: std::pin::Pin<&mut Self>, cx: &mut Task<'_>) -> Poll<Reply> {
        let polls = match tokio::task::try_id() {
            Some(_) => &self.0.in_task,
            None => &self.0.in_place,
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

    fn param_headers(&self, _: &str, _: Option<&Principal>) -> Arc<[ParamHeader]> {
        Arc::default()
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

fn cx() -> Task<'static> {
    Task::from_waker(Waker::noop())
}

/// Hands a message to `take`.
fn delivered<T>(
    text: &'static str,
    take: impl FnOnce(Message<'_, Params<'_>>, InboundFrame<'_>) -> T,
) -> T {
    let delivery = InboundFrame {
        frame: &Bytes::from_static(text.as_bytes()),
        text,
        transport: &TransportContext::default(),
        account: None,
    };
    let message = rpc::decode(delivery.text).unwrap();
    take(message, delivery)
}

const REQUEST: &str = r#"{"jsonrpc":"2.0","id":1,"method":"x/wait"}"#;

fn open(exchange: &ServerEndpoint) -> ResponseStream {
    let opened = delivered(REQUEST, |message, delivery| {
        let Message::Request(request) = message else {
            panic!("it is a request");
        };
        exchange.open(request, Revision::NEWEST_LEGACY, delivery, &mut cx())
    });
    match opened {
        ExchangeOutcome::Streaming(going) => going,
        ExchangeOutcome::Response(answer) => panic!("{answer:?}"),
    }
}

fn is_answer(next: Poll<Option<Result<Vec<u8>, EncodedResponse>>>) -> bool {
    matches!(next, Poll::Ready(Some(Err(answer))) if answer.failure.is_none())
}

/// Lets what is ready run.
async fn rest() {
    for _ in 0..4 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_handler_is_polled_in_place_where_its_request_was_taken_up() {
    let (exchange, seen) = puppet(Limits::default());
    let mut going = open(&exchange);
    assert!(going.poll_sent(&mut cx()).is_pending());
    assert_eq!(seen.polls(), (1, 0), "not again before it has woken us");
    seen.finish();
    assert!(is_answer(going.poll_next(&mut cx())));
    assert_eq!(seen.polls(), (2, 0));
    assert!(seen.is_cancelled(), "what it kept can do nothing any more");
    assert!(matches!(going.poll_next(&mut cx()), Poll::Ready(None)));
}

#[tokio::test(start_paused = true)]
async fn one_that_is_polled_often_moves_to_a_task() {
    let (exchange, seen) = puppet(Limits::default());
    let mut going = open(&exchange);
    for _ in 0..10 {
        assert!(going.poll_next(&mut cx()).is_pending());
    }
    let in_place = usize::from(POLLS);
    assert_eq!(seen.polls(), (in_place, 0));
    rest().await;
    assert_eq!(seen.polls(), (in_place, 1));
    seen.finish();
    assert!(
        going.poll_next(&mut cx()).is_pending(),
        "its task has to run"
    );
    rest().await;
    assert!(is_answer(going.poll_next(&mut cx())));
    assert_eq!(seen.polls(), (in_place, 2));
}

#[tokio::test(start_paused = true)]
async fn an_exchange_that_is_dropped_cancels_its_handler_in_place() {
    let (exchange, seen) = puppet(Limits::default().cancel_timeout(SECOND));
    let mut going = open(&exchange);
    assert!(going.poll_next(&mut cx()).is_pending());
    assert!(!seen.is_cancelled());
    drop(going);
    assert!(seen.is_cancelled());
    tokio::time::sleep(SECOND / 2).await;
    assert!(!seen.is_dropped(), "it has its grace");
    tokio::time::sleep(SECOND).await;
    assert!(seen.is_dropped());
}

#[tokio::test(start_paused = true)]
async fn an_exchange_that_is_dropped_cancels_its_handler_in_its_task() {
    let (exchange, seen) = puppet(Limits::default().cancel_timeout(SECOND));
    let mut going = open(&exchange);
    going.detach();
    rest().await;
    assert_eq!(seen.polls(), (1, 1));
    drop(going);
    assert!(seen.is_cancelled());
    tokio::time::sleep(SECOND / 2).await;
    assert!(!seen.is_dropped(), "it has its grace");
    tokio::time::sleep(SECOND).await;
    assert!(seen.is_dropped());
}

#[tokio::test(start_paused = true)]
async fn a_deadline_counts_from_when_the_handler_began_to_wait() {
    let limits = Limits::default().handler_timeout(10 * SECOND);
    let (exchange, seen) = puppet(limits.cancel_timeout(Duration::ZERO));
    let mut going = open(&exchange);
    going.waits_since(tokio::time::Instant::now().into_std());
    tokio::time::sleep(4 * SECOND).await;
    going.detach();
    tokio::time::sleep(5 * SECOND).await;
    assert!(going.poll_next(&mut cx()).is_pending());
    tokio::time::sleep(2 * SECOND).await;
    let Poll::Ready(Some(Err(late))) = going.poll_next(&mut cx()) else {
        panic!("its time is over");
    };
    let told = String::from_utf8(late.frame).unwrap();
    assert!(told.contains("Limits::handler_timeout"), "{told}");
    assert!(seen.is_dropped());
}

/// The way back of a session's request, and what it came to.
fn in_session(exchange: &ServerEndpoint) -> (Arc<Session>, Arc<FrameQueue>, MessageOutcome) {
    let outbox = Arc::new(FrameQueue::new(FrameQueueLimits::default()));
    let route: Arc<dyn ReplySink> = outbox.clone();
    let account = exchange.account(None, None);
    let revision = Some(Revision::NEWEST_LEGACY);
    let session = exchange.stateless_session(revision, route.clone(), account);
    let received = delivered(REQUEST, |message, delivery| {
        session.receive(message, None, delivery, &route, &mut cx())
    });
    (session, outbox, received)
}

#[tokio::test(start_paused = true)]
async fn an_answer_in_place_wakes_nobody() {
    struct Woken(AtomicUsize);
    impl std::task::Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    let (exchange, seen) = puppet(Limits::default());
    let mut going = open(&exchange);
    let woken = Arc::new(Woken(AtomicUsize::new(0)));
    let waker = woken.clone().into();
    let mut cx = Task::from_waker(&waker);
    assert!(going.poll_next(&mut cx).is_pending());
    seen.finish();
    assert!(is_answer(going.poll_next(&mut cx)));
    assert_eq!(woken.0.load(Ordering::Relaxed), 1, "by its handler alone");
}

#[tokio::test(start_paused = true)]
async fn a_session_s_handler_that_is_held_gives_its_answer_to_the_holder() {
    let (exchange, seen) = puppet(Limits::default());
    let (session, outbox, received) = in_session(&exchange);
    let MessageOutcome::Held(mut underway) = received else {
        panic!("{received:?}");
    };
    assert!(underway.poll(&mut cx()).is_pending());
    seen.finish();
    assert!(matches!(underway.poll(&mut cx()), Poll::Ready(Some(_))));
    assert_eq!(session.in_flight(), 0);
    assert!(outbox.poll_next(&mut cx()).is_pending(), "not by its route");
}

#[tokio::test(start_paused = true)]
async fn a_session_s_handler_goes_on_when_nobody_holds_it() {
    let (exchange, seen) = puppet(Limits::default());
    let (session, outbox, received) = in_session(&exchange);
    let MessageOutcome::Held(underway) = received else {
        panic!("{received:?}");
    };
    drop(underway);
    rest().await;
    assert!(!seen.is_cancelled());
    assert_eq!((seen.polls(), session.in_flight()), ((1, 1), 1));
    seen.finish();
    rest().await;
    assert!(is_answer(outbox.poll_next(&mut cx())));
    assert_eq!(session.in_flight(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_message_cancels_a_handler_that_is_held() {
    const CANCEL: &str =
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
    let (exchange, seen) = puppet(Limits::default().cancel_timeout(SECOND));
    let (session, outbox, received) = in_session(&exchange);
    let MessageOutcome::Held(mut underway) = received else {
        panic!("{received:?}");
    };
    assert!(underway.poll(&mut cx()).is_pending());
    let route: Arc<dyn ReplySink> = outbox.clone();
    delivered(CANCEL, |message, delivery| {
        session.receive(message, None, delivery, &route, &mut cx())
    });
    assert!(seen.is_cancelled());
    seen.finish();
    assert!(underway.poll(&mut cx()).is_pending());
    assert_eq!(seen.polls(), (2, 0), "it has its grace in a task");
    rest().await;
    assert!(seen.is_dropped());
    assert!(
        matches!(outbox.poll_next(&mut cx()), Poll::Ready(None)),
        "it ends without an answer"
    );
}
