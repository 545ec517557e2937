use turnbuckle_session::handler::{Limits, RequestContext};
use turnbuckle_session::internal::{
    EncodedResponse, HandlerOutcome, IncomingRequest, MemoryPermit, ReplySink, ServerIdentity,
};
use turnbuckle_session::transport::Dispatch;
use turnbuckle_types::{Implementation, ServerCapabilities};

use super::*;
use crate::options::{HttpLimits, ReplayLimits};

struct NoHandlers(ServerIdentity);

impl Dispatch for NoHandlers {
    fn identity(&self) -> &ServerIdentity {
        &self.0
    }

    fn call(&self, _: IncomingRequest<'_>, _: RequestContext) -> HandlerOutcome {
        unreachable!("no request is sent")
    }
}

fn exchange() -> ServerEndpoint {
    exchange_with(Limits::default())
}

fn exchange_with(limits: Limits) -> ServerEndpoint {
    let identity = ServerIdentity {
        info: Implementation::new("nobody", "1"),
        capabilities: ServerCapabilities::new(),
        instructions: None,
        include_in_results: false,
        ttl_ms: 0,
        public: false,
    };
    ServerEndpoint::new(Arc::new(NoHandlers(identity)), limits)
}

/// A client of which nothing is known.
const UNKNOWN: Client = Client {
    owner: None,
    address: None,
};

/// Returns a principal as shares count it.
fn has_stream(open: &HttpSession, stream: &SessionStream) -> bool {
    open.streams().get(stream.name().number).is_some()
}

fn client(principal: &Principal) -> Client {
    Client {
        owner: Some(principal.subject.bytes().map(u64::from).sum()),
        address: None,
    }
}

fn sessions(options: HttpServerOptions) -> (Arc<SessionTable>, ServerEndpoint) {
    (SessionTable::new(Arc::new(options)), exchange())
}

/// Returns the source of a session that this principal opens as this client.
fn source(principal: Option<&Principal>, client: Client) -> SessionSource<'_> {
    SessionSource {
        principal,
        account: None,
        client,
    }
}

fn open(
    sessions: &Arc<SessionTable>,
    exchange: &ServerEndpoint,
) -> Result<Box<str>, OpenSessionError> {
    sessions.insert(
        sessions
            .create(exchange, source(None, UNKNOWN), SessionKind::Local, None)
            .unwrap(),
    )
}

#[tokio::test(start_paused = true)]
async fn a_full_table_has_room_for_another_session_while_one_is_not_in_use() {
    let options = HttpServerOptions::new().http_limits(HttpLimits::new().max_sessions(2));
    let (sessions, exchange) = sessions(options);
    let first = open(&sessions, &exchange).unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    let second = open(&sessions, &exchange).unwrap();
    let evicted = sessions.get(&first, None).unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    // The first session was used last.
    sessions.get(&first, None).unwrap();
    let third = open(&sessions, &exchange).unwrap();
    assert!(sessions.get(&second, None).is_none());
    assert!(sessions.get(&first, None).is_some() && !evicted.is_ended());
    assert!(sessions.get(&third, None).is_some());
    let session = sessions.get(&first, None).unwrap();
    sessions.forget(&first, &session);
    assert!(sessions.get(&first, None).is_none() && session.is_ended());
    // No client has finished its handshake.
    tokio::time::sleep(Duration::from_secs(200)).await;
    assert!(sessions.state().by_id.is_empty());
    assert_eq!(sessions.state().by_id.capacity(), 0);
    assert!(!sessions.state().has_sweeper, "the sweeper has ended");
}

#[tokio::test(start_paused = true)]
async fn an_owner_of_many_sessions_takes_no_place_from_others() {
    let options = HttpServerOptions::new().http_limits(HttpLimits::new().max_sessions(8));
    let (sessions, exchange) = sessions(options);
    let ann = Principal::new("https://issuer.example", "ann");
    let eve = Principal::new("https://issuer.example", "eve");
    let open = |who| {
        sessions
            .insert(
                sessions
                    .create(
                        &exchange,
                        source(Some(who), client(who)),
                        SessionKind::Local,
                        None,
                    )
                    .unwrap(),
            )
            .unwrap()
    };
    let honest = open(&ann);
    for _ in 0..1000 {
        tokio::time::sleep(Duration::from_millis(1)).await;
        open(&eve);
        assert!(sessions.state().by_id.len() <= 8);
    }
    assert!(sessions.get(&honest, Some(&ann)).is_some());
}

#[test]
fn another_runtime_sweeps_when_the_first_has_ended() {
    let runtime = || {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        builder.enable_time().start_paused(true).build().unwrap()
    };
    let (sessions, exchange) = sessions(HttpServerOptions::new());
    runtime().block_on(async { open(&sessions, &exchange).unwrap() });
    runtime().block_on(async {
        open(&sessions, &exchange).unwrap();
        tokio::time::sleep(Duration::from_secs(200)).await;
        assert!(sessions.state().by_id.is_empty());
    });
    assert!(!sessions.state().has_sweeper);
}

#[tokio::test(start_paused = true)]
async fn the_end_of_a_session_ends_its_streams() {
    let (sessions, exchange) = sessions(HttpServerOptions::new());
    let id = open(&sessions, &exchange).unwrap();
    let open = sessions.get(&id, None).unwrap();
    let stream = open.new_stream();
    assert!(open.keep(&stream, &sessions.options));
    assert!(has_stream(&open, &stream));
    drop(sessions);
    assert!(open.standalone.ended_at().is_some() && stream.ended_at().is_some());
    assert!(!has_stream(&open, &stream));
    assert!(
        !open.keep(&stream, &HttpServerOptions::new()),
        "the session has ended"
    );
}

#[tokio::test(start_paused = true)]
async fn streams_are_kept_within_their_bounds() {
    let options = HttpServerOptions::new().http_limits(HttpLimits::new().max_streams(3));
    let (sessions, exchange) = sessions(options.clone());
    let id = open(&sessions, &exchange).unwrap();
    let open = sessions.get(&id, None).unwrap();
    let three: Vec<_> = (0..3).map(|_| open.new_stream()).collect();
    assert!(three.iter().all(|stream| open.keep(stream, &options)));
    let fourth = open.new_stream();
    assert!(!open.keep(&fourth, &options), "no stream has ended");
    three[1].finish(None);
    assert!(open.keep(&fourth, &options));
    assert!(!has_stream(&open, &three[1]));
}

#[tokio::test(start_paused = true)]
async fn the_bytes_of_ended_streams_are_bounded_together() {
    let event = crate::event::message_with_id(&1.into(), 1, b"{}").len();
    for (bytes, kept) in [(2 * event, 2), (2 * event - 1, 1), (event - 1, 0)] {
        let options = HttpServerOptions::new().replay(ReplayLimits::new().max_session_bytes(bytes));
        let (sessions, exchange) = sessions(options.clone());
        let id = open(&sessions, &exchange).unwrap();
        let open = sessions.get(&id, None).unwrap();
        let ended = [(); 2].map(|()| {
            let stream = open.new_stream();
            assert!(open.keep(&stream, &options));
            stream.start_streaming(true);
            stream
        });
        for stream in &ended {
            stream.finish(Some(EncodedResponse {
                frame: b"{}".to_vec(),
                tail: bytes::Bytes::new(),
                failure: None,
                memory: MemoryPermit::default(),
            }));
            tokio::time::advance(Duration::from_millis(1)).await;
        }
        // A stream that goes on is kept beside them.
        assert!(open.keep(&open.new_stream(), &options));
        let there = ended.map(|stream| has_stream(&open, &stream));
        assert_eq!(there, [kept == 2, kept >= 1], "{bytes}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_owner_over_its_share_ends_its_own_sessions() {
    let options = HttpServerOptions::new().http_limits(HttpLimits::new().max_sessions(4));
    let (sessions, exchange) = sessions(options);
    let ann = Principal::new("https://issuer.example", "ann");
    let eve = Principal::new("https://issuer.example", "eve");
    let open = |who| {
        let session = sessions.create(
            &exchange,
            source(Some(who), client(who)),
            SessionKind::Local,
            None,
        );
        sessions.insert(session.unwrap())
    };
    let honest = open(&ann).unwrap();
    let oldest = open(&eve).unwrap();
    for _ in 0..2 {
        tokio::time::sleep(Duration::from_millis(1)).await;
        open(&eve).unwrap();
    }
    // The table is not full, but half of it is the share of one owner.
    assert_eq!(sessions.state().by_id.len(), 3);
    assert!(sessions.get(&oldest, Some(&eve)).is_none());
    assert!(sessions.get(&honest, Some(&ann)).is_some());
}

/// Keeps an ended stream of `session`, with a response of `bytes` bytes.
fn keep_ended(session: &HttpSession, bytes: usize, options: &HttpServerOptions) -> u64 {
    let stream = session.new_stream();
    assert!(session.keep(&stream, options));
    stream.start_streaming(true);
    stream.finish(Some(EncodedResponse {
        frame: vec![b' '; bytes],
        tail: bytes::Bytes::new(),
        failure: None,
        memory: MemoryPermit::default(),
    }));
    stream.name().number
}

#[tokio::test(start_paused = true)]
async fn ended_streams_and_then_idle_sessions_make_room_before_a_request_is_refused() {
    const TOTAL: usize = 1 << 20;
    let limits = Limits::new()
        .max_total_bytes(TOTAL)
        .max_handshake_bytes(30_000);
    let endpoint = exchange_with(limits.max_owner_bytes(TOTAL));
    let budget = endpoint.memory_budget().clone();
    let options = HttpServerOptions::new();
    let sessions = SessionTable::new(Arc::new(options.clone()));
    sessions.evict_for(&budget);
    let mut found = Vec::new();
    for _ in 0..2 {
        let id = open(&sessions, &endpoint).unwrap();
        found.push(sessions.get(&id, None).unwrap());
        tokio::time::advance(Duration::from_millis(1)).await;
    }
    let [one, two] = [found.remove(0), found.remove(0)];
    let mut ended = Vec::new();
    for session in [&one, &two, &one] {
        ended.push((session, keep_ended(session, 50_000, &options)));
        tokio::time::advance(Duration::from_millis(1)).await;
    }
    let are_kept = || -> Vec<bool> {
        let is_kept =
            |(session, id): &(&Arc<HttpSession>, u64)| session.streams().get(*id).is_some();
        ended.iter().map(is_kept).collect()
    };
    // All that is left is taken by requests that run.
    let running = endpoint.new_account();
    let rest = TOTAL - budget.used();
    let mut held = vec![running.memory().reserve_beyond_limits(rest)];
    let newcomer = endpoint.new_account();
    held.push(newcomer.memory().reserve(5000).unwrap());
    assert_eq!(are_kept(), [false, true, true], "the oldest one goes first");
    held.push(newcomer.memory().reserve(24_000).unwrap());
    assert_eq!(are_kept(), [false, false, true]);
    held.push(newcomer.memory().reserve(30_000).unwrap());
    assert_eq!(are_kept(), [false; 3]);
    assert!(!one.is_ended() && !two.is_ended());
    // The second session has been idle longer.
    *two.last_used() -= Duration::from_secs(1);
    let (one_end, two_end) = (
        one.session.end_signal().clone(),
        two.session.end_signal().clone(),
    );
    drop(ended);
    drop((one, two));
    let free = TOTAL - budget.used();
    assert!(
        newcomer.memory().reserve(free).is_err(),
        "it has more than it leaves"
    );
    assert!(!two_end.is_cancelled(), "and ends no session");
    tokio::time::advance(Duration::from_secs(1)).await;
    let [third, fourth] = [endpoint.new_account(), endpoint.new_account()];
    held.push(running.memory().reserve_beyond_limits(free));
    held.push(third.memory().reserve(10_000).unwrap());
    assert!(two_end.is_cancelled() && !one_end.is_cancelled());
    held.push(
        running
            .memory()
            .reserve_beyond_limits(TOTAL - budget.used()),
    );
    held.push(fourth.memory().reserve(10_000).unwrap());
    assert!(one_end.is_cancelled());
    let refused = fourth.memory().reserve(20_000).unwrap_err();
    assert!(refused.to_string().contains("Limits::max_total_bytes"));
    drop(held);
    assert_eq!(budget.used(), 0);
}
