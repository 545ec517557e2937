use turnbuckle_session::{Answer, Call, Context, Dispatch, Handling, Identity, Limits, Route};
use turnbuckle_types::{Implementation, ServerCapabilities};
use turnbuckle_wire::era::ParamHeader;

use super::*;

struct Nobody(Identity);

impl Dispatch for Nobody {
    fn identity(&self) -> &Identity {
        &self.0
    }

    fn call(&self, _: Call<'_>, _: Context) -> Handling {
        unreachable!("nothing is asked here")
    }

    fn mirrored(&self, _: &str, _: Option<&Principal>) -> Arc<[ParamHeader]> {
        Arc::default()
    }
}

fn exchange() -> Exchange {
    let identity = Identity {
        info: Implementation::new("nobody", "1"),
        capabilities: ServerCapabilities::new(),
        instructions: None,
        in_every_result: false,
        ttl_ms: 0,
        public: false,
    };
    Exchange::new(Arc::new(Nobody(identity)), Limits::default())
}

fn sessions(config: Config) -> (Arc<Sessions>, Exchange) {
    (Sessions::new(Arc::new(config)), exchange())
}

fn open(sessions: &Arc<Sessions>, exchange: &Exchange) -> Result<Box<str>, NoSession> {
    sessions.admit(sessions.prepare(exchange, None))
}

#[tokio::test(start_paused = true)]
async fn a_full_table_has_room_again_when_somebody_is_gone() {
    let config = Config::new().max_sessions(2);
    let (sessions, exchange) = sessions(config);
    let first = open(&sessions, &exchange).unwrap();
    open(&sessions, &exchange).unwrap();
    for _ in 0..3 {
        let refused = open(&sessions, &exchange);
        assert!(matches!(refused, Err(NoSession::Full)));
    }
    assert!(sessions.end(&first, None));
    assert!(!sessions.end(&first, None));
    open(&sessions, &exchange).unwrap();
    // Nobody ever said that its handshake is over.
    tokio::time::sleep(Duration::from_secs(200)).await;
    assert!(sessions.table().by_id.is_empty());
    assert_eq!(sessions.table().by_id.capacity(), 0);
    assert!(!sessions.table().swept, "nobody looks any more");
}

#[test]
fn another_runtime_looks_for_idle_sessions_when_the_first_has_ended() {
    let runtime = || {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        builder.enable_time().start_paused(true).build().unwrap()
    };
    let (sessions, exchange) = sessions(Config::new());
    runtime().block_on(async { open(&sessions, &exchange).unwrap() });
    runtime().block_on(async {
        open(&sessions, &exchange).unwrap();
        tokio::time::sleep(Duration::from_secs(200)).await;
        assert!(sessions.table().by_id.is_empty());
    });
    assert!(!sessions.table().swept);
}

#[tokio::test(start_paused = true)]
async fn the_end_of_a_session_ends_its_streams() {
    let (sessions, exchange) = sessions(Config::new());
    let id = open(&sessions, &exchange).unwrap();
    let open = sessions.get(&id, None).unwrap();
    let stream = open.new_stream(&sessions.replay);
    assert!(open.keep(&stream, &sessions.config));
    assert!(open.stream(stream.id).is_some());
    drop(sessions);
    assert!(open.general.ended().is_some() && stream.ended().is_some());
    assert!(open.stream(stream.id).is_none());
    assert!(!open.keep(&stream, &Config::new()), "it is over");
}

#[tokio::test(start_paused = true)]
async fn streams_are_kept_within_their_bounds() {
    let config = Config::new().max_streams(3);
    let (sessions, exchange) = sessions(config.clone());
    let id = open(&sessions, &exchange).unwrap();
    let open = sessions.get(&id, None).unwrap();
    let three: Vec<_> = (0..3).map(|_| open.new_stream(&sessions.replay)).collect();
    assert!(three.iter().all(|stream| open.keep(stream, &config)));
    let fourth = open.new_stream(&sessions.replay);
    assert!(!open.keep(&fourth, &config), "none has ended");
    three[1].done(None);
    assert!(open.keep(&fourth, &config));
    assert!(open.stream(three[1].id).is_none());
}

#[tokio::test(start_paused = true)]
async fn streams_that_have_ended_keep_so_many_bytes_together() {
    let event = crate::event::numbered(1, 1, b"{}").len();
    for (bytes, kept) in [(2 * event, 2), (2 * event - 1, 1), (event - 1, 0)] {
        let config = Config::new().replay_session_bytes(bytes);
        let (sessions, exchange) = sessions(config.clone());
        let id = open(&sessions, &exchange).unwrap();
        let open = sessions.get(&id, None).unwrap();
        let ended = [(); 2].map(|()| {
            let stream = open.new_stream(&sessions.replay);
            assert!(open.keep(&stream, &config));
            stream.open(true);
            stream
        });
        for stream in &ended {
            stream.done(Some(Answer {
                frame: b"{}".to_vec(),
                tail: bytes::Bytes::new(),
                failure: None,
            }));
            tokio::time::advance(Duration::from_millis(1)).await;
        }
        // One that goes on is beside them.
        assert!(open.keep(&open.new_stream(&sessions.replay), &config));
        let there = ended.map(|stream| open.stream(stream.id).is_some());
        assert_eq!(there, [kept == 2, kept >= 1], "{bytes}");
    }
}
