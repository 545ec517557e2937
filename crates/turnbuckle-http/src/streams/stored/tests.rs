//! Two instances over one store: streams of one, read at the other.

use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use tokio::time::Instant;
use turnbuckle_cluster::Cluster;
use turnbuckle_session::handler::{Limits, Signal};
use turnbuckle_session::internal::{EncodedResponse, MemoryPermit, OwnerAccount, ReplySink as _};
use turnbuckle_store::{GuardedStore, MemoryStore};
use turnbuckle_types::RequestId;
use turnbuckle_wire::revision::Revision;

use super::courier::StreamCopies;
use super::follower::FollowedStream;
use super::open_requests::INSTANCE_ENDED;
use super::{Courier, OpenRequests};
use crate::event::{self, EventId, StreamName, StreamPosition};
use crate::options::ReplayLimits;
use crate::streams::replay_log::ReplayBudget;
use crate::streams::session_stream::SessionStream;
use faulty_store::FaultyStore;

mod faulty_store;

const SESSION: &str = "s-1";

/// One instance of a server.
struct Instance {
    cluster: Arc<Cluster>,
    courier: Arc<Courier>,
    copies: StreamCopies,
    /// The store as this instance sees it.
    store: FaultyStore,
}

impl Instance {
    async fn start(store: &MemoryStore) -> Self {
        let store = FaultyStore::new(store.clone());
        let cluster = Cluster::new(Arc::new(GuardedStore::new(store.clone()))).unwrap();
        cluster.start();
        cluster.ready().await;
        // The lease is put beside the subscription.
        tokio::time::sleep(Duration::from_millis(1)).await;
        let courier = Courier::new(cluster.clone(), &ReplayLimits::new());
        let copies = courier.copies_of(SESSION);
        Self {
            cluster,
            courier,
            copies,
            store,
        }
    }

    /// Opens the stream of a request.
    fn open_stream(&self, id: i64) -> Arc<SessionStream> {
        let budget = ReplayBudget::new(&ReplayLimits::new());
        let name = self.courier.next_stream_name();
        let stream = SessionStream::new(name, budget, account());
        stream.start_streaming(true);
        let features = Revision::NEWEST_LEGACY.features();
        let open = OpenRequests::new([RequestId::from(id)], features);
        self.copies.copy(&stream, open);
        stream
    }

    /// Comes back for a stream behind an event.
    async fn follow(&self, stream: &StreamName, sequence: u64) -> Option<FollowedStream> {
        let copies = self.copies.clone();
        follow(&copies, stream, sequence).await
    }

    /// Lets the instance see nothing of the store any more, as one that is paused.
    fn pause(&self) {
        self.store.pause(true);
    }
}

async fn follow(
    copies: &StreamCopies,
    stream: &StreamName,
    sequence: u64,
) -> Option<FollowedStream> {
    let after = EventId {
        changes: None,
        instance: stream.instance.as_deref(),
        stream: stream.number,
        position: StreamPosition {
            sequence,
            connection: None,
        },
    };
    let account = account();
    copies.follow(&after, account, Signal::new()).await.unwrap()
}

fn account() -> turnbuckle_session::internal::MemoryAccount {
    OwnerAccount::new(&Limits::new()).memory().clone()
}

fn notification(number: u64) -> String {
    format!(r#"{{"jsonrpc":"2.0","method":"notifications/message","params":{{"data":{number}}}}}"#)
}

fn response(id: i64) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#)
}

fn send(stream: &SessionStream, number: u64) {
    assert!(stream.send(notification(number).into_bytes()).is_ok());
}

fn finish(stream: &SessionStream, id: i64) {
    stream.finish(Some(EncodedResponse {
        frame: response(id).into_bytes(),
        tail: Bytes::new(),
        failure: None,
        memory: MemoryPermit::default(),
    }));
}

/// Returns the next message with its id; `None` at the end of the stream. Fails after a minute.
async fn next(stream: &mut FollowedStream) -> Option<(String, String)> {
    let next = std::future::poll_fn(|cx| stream.poll_next(cx));
    let next = tokio::time::timeout(Duration::from_secs(60), next).await;
    let event = next.expect("the stream is silent")?;
    let message = event::message_of(&event);
    let id = event.split(|byte| *byte == b'\n').next().unwrap();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    Some((text(&id[4..]), text(&message)))
}

fn is_silent(stream: &mut FollowedStream) -> bool {
    let mut cx = Context::from_waker(Waker::noop());
    matches!(stream.poll_next(&mut cx), Poll::Pending)
}

/// Gives the couriers the time to write.
async fn settle() {
    tokio::time::sleep(Duration::from_millis(200)).await;
}

#[tokio::test(start_paused = true)]
async fn a_stream_goes_on_at_another_instance() {
    let store = MemoryStore::new();
    let [a, b] = [Instance::start(&store).await, Instance::start(&store).await];
    let stream = a.open_stream(1);
    let here = stream.attach(None).unwrap();
    (1..=2).for_each(|number| send(&stream, number));
    settle().await;
    let name = stream.name().clone();
    let mut there = b.follow(&name, 1).await.unwrap();
    let second = (format!("{name}-2"), notification(2));
    assert_eq!(next(&mut there).await, Some(second));
    let mut out = Vec::new();
    assert!(
        here.read_available(&mut out),
        "the client has left this one"
    );
    // What follows arrives without waiting for a look.
    let before = Instant::now();
    send(&stream, 3);
    assert_eq!(next(&mut there).await.unwrap().1, notification(3));
    assert!(before.elapsed() < Duration::from_millis(100));
    assert!(is_silent(&mut there));
    finish(&stream, 1);
    assert_eq!(
        next(&mut there).await,
        Some((format!("{name}-4"), response(1)))
    );
    assert_eq!(next(&mut there).await, None);
    settle().await;
    assert_eq!(b.courier.followers.count(), 0, "the follower is forgotten");
    assert_eq!(a.courier.owned_count(), 0, "the stream is written");
    // It can be read again, from any position and by the owner too.
    for (instance, after, left) in [(&b, 0, 4), (&a, 3, 1), (&b, 4, 0), (&b, 9, 0)] {
        let mut again = instance.follow(&name, after).await.unwrap();
        for _ in 0..left {
            assert!(next(&mut again).await.is_some());
        }
        assert_eq!(next(&mut again).await, None, "behind {after}");
    }
}

#[tokio::test(start_paused = true)]
async fn requests_of_an_instance_that_has_died_end_with_an_error() {
    let store = MemoryStore::new();
    let [a, b] = [Instance::start(&store).await, Instance::start(&store).await];
    let stream = a.open_stream(7);
    send(&stream, 1);
    settle().await;
    let name = stream.name().clone();
    let mut there = b.follow(&name, 0).await.unwrap();
    assert_eq!(next(&mut there).await.unwrap().1, notification(1));
    let before = Instant::now();
    a.pause();
    let (_, error) = next(&mut there).await.unwrap();
    assert!(
        before.elapsed() <= Duration::from_secs(10),
        "{:?}",
        before.elapsed()
    );
    assert!(
        error.contains(r#""id":7,"#) && error.contains(INSTANCE_ENDED),
        "{error}"
    );
    assert!(error.contains("-32603"), "{error}");
    assert_eq!(next(&mut there).await, None);
    // Another client finds the same, and nobody who has the error gets it again.
    let mut again = b.follow(&name, 1).await.unwrap();
    let (id, same) = next(&mut again).await.unwrap();
    assert_eq!(same, error);
    assert_eq!(next(&mut again).await, None);
    let sequence = id.rsplit_once('-').unwrap().1.parse().unwrap();
    let mut last = b.follow(&name, sequence).await.unwrap();
    assert_eq!(next(&mut last).await, None);
}

#[tokio::test(start_paused = true)]
async fn an_instance_that_was_taken_for_dead_ends_its_stream_when_it_wakes() {
    let store = MemoryStore::new();
    let [a, b] = [Instance::start(&store).await, Instance::start(&store).await];
    let stream = a.open_stream(1);
    send(&stream, 1);
    settle().await;
    a.pause();
    let name = stream.name().clone();
    let mut there = b.follow(&name, 1).await.unwrap();
    let (_, error) = next(&mut there).await.unwrap();
    assert!(error.contains(INSTANCE_ENDED));
    // What it sends meanwhile reaches nobody.
    send(&stream, 2);
    a.store.pause(false);
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert!(stream.ended_at().is_some(), "it has noticed");
    finish(&stream, 1);
    assert_eq!(next(&mut there).await, None);
    let mut again = b.follow(&name, 1).await.unwrap();
    assert_eq!(next(&mut again).await.unwrap().1, error);
    assert_eq!(next(&mut again).await, None);
}

#[tokio::test(start_paused = true)]
async fn nothing_is_lost_while_the_store_fails() {
    let store = MemoryStore::new();
    let [a, b] = [Instance::start(&store).await, Instance::start(&store).await];
    let stream = a.open_stream(1);
    let name = stream.name().clone();
    send(&stream, 1);
    settle().await;
    let mut there = b.follow(&name, 0).await.unwrap();
    assert_eq!(next(&mut there).await.unwrap().1, notification(1));
    for (store, number) in [(&a.store, 2), (&b.store, 3)] {
        // The answers are lost, too: an append that failed may have had its effect.
        store.fail(true);
        send(&stream, number);
        tokio::time::sleep(Duration::from_secs(4)).await;
        store.fail(false);
        assert_eq!(next(&mut there).await.unwrap().1, notification(number));
    }
    finish(&stream, 1);
    assert_eq!(next(&mut there).await.unwrap().1, response(1));
    assert_eq!(next(&mut there).await, None);
    b.store.fail(true);
    let after = EventId {
        changes: None,
        instance: name.instance.as_deref(),
        stream: name.number,
        position: StreamPosition {
            sequence: 0,
            connection: None,
        },
    };
    let failed = b.copies.follow(&after, account(), Signal::new()).await;
    assert!(failed.is_err(), "never taken for an unknown event");
}

#[tokio::test(start_paused = true)]
async fn events_that_no_instance_knows_are_unknown() {
    let store = MemoryStore::new();
    let [a, b] = [Instance::start(&store).await, Instance::start(&store).await];
    let stream = a.open_stream(1);
    send(&stream, 1);
    settle().await;
    let name = stream.name().clone();
    let other = |instance: Option<&str>, number| StreamName {
        changes: None,
        instance: instance.map(Into::into),
        number,
    };
    for unknown in [
        other(Some("zzzzzzzz"), name.number),
        other(name.instance.as_deref(), name.number + 1_000_000),
        other(Some(b.cluster.instance()), name.number),
        other(None, name.number),
    ] {
        assert!(b.follow(&unknown, 0).await.is_none(), "{unknown}");
    }
    let of_another_session = b.courier.copies_of("s-2");
    assert!(follow(&of_another_session, &name, 0).await.is_none());
    assert!(b.follow(&name, 0).await.is_some());
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_nothing_is_known_of_yet_is_waited_for() {
    let store = MemoryStore::new();
    let [a, b] = [Instance::start(&store).await, Instance::start(&store).await];
    let stream = a.open_stream(1);
    let mut there = b.follow(&stream.name().clone(), 0).await.unwrap();
    send(&stream, 1);
    assert_eq!(next(&mut there).await.unwrap().1, notification(1));
    // The client has received more than the store has: that is not sent again.
    let mut ahead = b.follow(&stream.name().clone(), 2).await.unwrap();
    assert_eq!(next(&mut there).await, None, "the newest connection reads");
    send(&stream, 2);
    send(&stream, 3);
    assert_eq!(next(&mut ahead).await.unwrap().1, notification(3));
}

#[tokio::test(start_paused = true)]
async fn a_client_that_comes_back_to_the_owner_is_served_there() {
    let store = MemoryStore::new();
    let [a, b] = [Instance::start(&store).await, Instance::start(&store).await];
    let stream = a.open_stream(1);
    let mut there = b.follow(&stream.name().clone(), 0).await.unwrap();
    stream.end_follower();
    assert_eq!(next(&mut there).await, None);
    let third = Instance::start(&store).await;
    let mut second = b.follow(&stream.name().clone(), 0).await.unwrap();
    let _newest = third.follow(&stream.name().clone(), 0).await.unwrap();
    assert_eq!(next(&mut second).await, None, "one instance at a time");
}

#[tokio::test(start_paused = true)]
async fn an_instance_that_stops_writes_the_ends_of_its_streams() {
    let store = MemoryStore::new();
    let [a, b] = [Instance::start(&store).await, Instance::start(&store).await];
    let [cut, done] = [a.open_stream(1), a.open_stream(2)];
    send(&cut, 1);
    finish(&done, 2);
    a.courier.stop().await;
    a.cluster.stop().await;
    let mut there = b.follow(&cut.name().clone(), 1).await.unwrap();
    let before = Instant::now();
    assert!(next(&mut there).await.unwrap().1.contains(INSTANCE_ENDED));
    assert_eq!(next(&mut there).await, None);
    assert!(before.elapsed() < Duration::from_secs(1));
    let mut there = b.follow(&done.name().clone(), 0).await.unwrap();
    assert_eq!(next(&mut there).await.unwrap().1, response(2));
    assert_eq!(next(&mut there).await, None);
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_its_session_ends_has_no_error() {
    let store = MemoryStore::new();
    let [a, b] = [Instance::start(&store).await, Instance::start(&store).await];
    let stream = a.open_stream(1);
    let mut there = b.follow(&stream.name().clone(), 0).await.unwrap();
    stream.end();
    assert_eq!(next(&mut there).await, None);
    // The same holds for one that is dropped.
    let stream = a.open_stream(2);
    let mut there = b.follow(&stream.name().clone(), 0).await.unwrap();
    drop(stream);
    assert_eq!(next(&mut there).await, None);
}

#[tokio::test(start_paused = true)]
async fn a_large_message_is_written_in_pieces_and_a_dropped_one_is_noticed() {
    let store = MemoryStore::new();
    let [a, b] = [Instance::start(&store).await, Instance::start(&store).await];
    let stream = a.open_stream(1);
    let name = stream.name().clone();
    let large = format!(
        r#"{{"jsonrpc":"2.0","method":"x","params":{{"a":"{}"}}}}"#,
        "y".repeat(2 << 20)
    );
    let mut there = b.follow(&name, 0).await.unwrap();
    assert!(stream.send(large.clone().into_bytes()).is_ok());
    let (_, received) = next(&mut there).await.unwrap();
    assert!(
        received == large,
        "{} of {} bytes",
        received.len(),
        large.len()
    );
    drop(there);
    // The store is away for too long.
    a.store.fail(true);
    for _ in 0..9 {
        assert!(stream.send(large.clone().into_bytes()).is_ok());
    }
    send(&stream, 1);
    assert!(
        a.courier.waiting_bytes() <= 20 << 20,
        "{}",
        a.courier.waiting_bytes()
    );
    tokio::time::sleep(Duration::from_secs(5)).await;
    a.store.fail(false);
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert!(
        b.follow(&name, 1).await.is_none(),
        "events between are lost"
    );
    let mut there = b.follow(&name, 10).await.unwrap();
    assert_eq!(next(&mut there).await.unwrap().1, notification(1));
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_is_open_for_long_stays_in_the_store() {
    let store = MemoryStore::new();
    let [a, b] = [Instance::start(&store).await, Instance::start(&store).await];
    let stream = a.open_stream(1);
    send(&stream, 1);
    tokio::time::sleep(Duration::from_secs(3600)).await;
    let mut there = b.follow(&stream.name().clone(), 0).await.unwrap();
    assert_eq!(next(&mut there).await.unwrap().1, notification(1));
    finish(&stream, 1);
    settle().await;
    drop((a, b, stream, there));
    tokio::time::sleep(Duration::from_secs(1200)).await;
    assert!(
        store.len() <= 2,
        "no more than the marks of the store are left"
    );
}

#[tokio::test(start_paused = true)]
async fn what_is_no_log_of_ours_ends_nothing_but_the_read() {
    use turnbuckle_store::{AppendAt, Keep, Store as _};
    let store = MemoryStore::new();
    let b = Instance::start(&store).await;
    let name = StreamName {
        changes: None,
        instance: Some("zzzzzzzz".into()),
        number: 1,
    };
    let key = Courier::key(SESSION, &name).unwrap();
    let keep = Keep {
        entries: 10,
        ttl: Duration::from_secs(60),
    };
    let garbage = vec![Bytes::from_static(b"\x09garbage")];
    store
        .append(&key, AppendAt::End, garbage, keep)
        .await
        .unwrap();
    assert!(b.follow(&name, 0).await.is_none());
}
