use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use turnbuckle_store::{
    Claim, Condition, LogSlice, MemoryStore, ReadLimit, StoreErrorKind, StoreFuture, Subscription,
    Version, Versioned,
};

use super::reader::{READ_INTERVAL, UNREADABLE_DELAY};
use super::*;
use crate::Cluster;

/// A receiver that keeps what it is told, as text.
#[derive(Default)]
struct Recorder(Mutex<Vec<String>>);

impl Recorder {
    fn push(&self, text: String) {
        self.0.lock().unwrap().push(text);
    }

    /// Takes what was received: the name of each change with its position.
    fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

impl ChangeReceiver for Recorder {
    fn receive_change(&self, change: &SharedChange, at: Option<ChangePosition>) {
        let at = at.map_or("here".to_owned(), |at| at.number.to_string());
        self.push(match change {
            SharedChange::Resource(uri) => format!("{uri} {at}"),
            SharedChange::Topic { topic, params, .. } => format!("{topic} {params:?} {at}"),
            change => format!("{change:?} {at}"),
        });
    }

    fn receive_position(&self, _: ChangePosition) {}

    fn receive_loss(&self, position: ChangePosition) {
        self.push(format!("everything {}", position.number));
    }
}

/// A store in memory that can fail, and whose log can be changed by a test.
#[derive(Default)]
struct TestStore {
    engine: MemoryStore,
    fails: AtomicBool,
    /// The next reads that meet entries which cannot be opened.
    unreadable: AtomicUsize,
}

impl TestStore {
    fn set_failing(&self, fails: bool) {
        self.fails.store(fails, Ordering::Relaxed);
    }
}

/// Writes operations that are those of the engine, unless the store fails.
macro_rules! operations {
    ($($name:ident($($argument:ident: $Argument:ty),*) -> $Result:ty;)+) => {$(
        fn $name(&self, $($argument: $Argument),*) -> StoreFuture<'_, $Result> {
            if self.fails.load(Ordering::Relaxed) {
                let error = StoreError::new(StoreErrorKind::Unavailable, "it fails");
                return Box::pin(std::future::ready(Err(error)));
            }
            self.engine.$name($($argument),*)
        }
    )+};
}

impl Store for TestStore {
    operations! {
        get(key: &StoreKey) -> Option<Versioned>;
        put(key: &StoreKey, value: Bytes, when: Condition, ttl: Duration) -> Option<Version>;
        remove(key: &StoreKey, when: Condition) -> bool;
        touch(keys: Vec<StoreKey>, ttl: Duration) -> ();
        append(log: &StoreKey, at: AppendAt, entries: Vec<Bytes>, keep: Keep) -> Option<Position>;
        publish(topic: &StoreKey, message: Bytes) -> ();
        subscribe(topic: &StoreKey) -> Subscription;
        push(queue: &StoreKey, job: Bytes, ttl: Duration) -> ();
        claim(queue: &StoreKey, hidden_for: Duration) -> Option<Claim>;
        extend(claim: &Claim, hidden_for: Duration) -> bool;
        complete(claim: Claim) -> bool;
    }

    fn read(&self, log: &StoreKey, after: Position, limit: ReadLimit) -> StoreFuture<'_, LogSlice> {
        let one_less = |reads: usize| reads.checked_sub(1);
        let counted = self
            .unreadable
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less);
        let kind = match counted.is_ok() {
            true => StoreErrorKind::UnknownKey,
            false if self.fails.load(Ordering::Relaxed) => StoreErrorKind::Unavailable,
            false => return self.engine.read(log, after, limit),
        };
        Box::pin(std::future::ready(Err(StoreError::new(kind, "it fails"))))
    }
}

/// An instance and the receiver of its changes.
struct Instance {
    cluster: Arc<Cluster>,
    recorder: Arc<Recorder>,
}

impl Instance {
    fn new(store: &Arc<TestStore>) -> Self {
        let cluster = Cluster::new(store.clone()).unwrap();
        let recorder = Arc::new(Recorder::default());
        let weak: Weak<Recorder> = Arc::downgrade(&recorder);
        cluster.changes().set_receiver(weak);
        Self { cluster, recorder }
    }

    async fn start(store: &Arc<TestStore>) -> Self {
        let instance = Self::new(store);
        instance.cluster.start();
        instance.cluster.ready().await;
        instance.cluster.changes().ready().await;
        instance
    }

    fn change(&self, uri: &str) {
        self.cluster
            .changes()
            .publish(SharedChange::Resource(uri.into()));
    }

    fn last(&self) -> ChangePosition {
        self.cluster.changes().state().recent.last()
    }
}

/// Lets all tasks do what they can at once.
async fn settle() {
    tokio::time::sleep(Duration::from_millis(100)).await;
}

async fn entries(store: &TestStore) -> Vec<Entry> {
    let read = store
        .engine
        .read(&log_key().unwrap(), Position(0), ReadLimit::default());
    let slice = read.await.unwrap();
    slice
        .entries
        .iter()
        .map(|it| Entry::read(it).unwrap())
        .collect()
}

#[tokio::test(start_paused = true)]
async fn every_instance_is_told_of_a_change_once_with_its_position() {
    let store = Arc::new(TestStore::default());
    let [one, two] = [Instance::start(&store).await, Instance::start(&store).await];
    one.change("a");
    one.change("a");
    two.change("b");
    settle().await;
    let told = one.recorder.take();
    assert_eq!(told, two.recorder.take());
    // The first entry begins the log.
    let mut sorted = told;
    sorted.sort();
    assert!(
        [["a 2", "b 3"], ["a 3", "b 2"]].contains(&[&*sorted[0], &*sorted[1]]),
        "{sorted:?}"
    );
    assert_eq!(sorted.len(), 2);
    settle().await;
    assert_eq!(one.recorder.take(), [""; 0]);
    let since = two.cluster.changes().since(ChangePosition {
        number: 3,
        ..two.last()
    });
    assert_eq!(since, Some(vec![]));
}

#[tokio::test(start_paused = true)]
async fn topics_reach_every_instance() {
    let store = Arc::new(TestStore::default());
    let [one, two] = [Instance::start(&store).await, Instance::start(&store).await];
    let topic = |params: &'static str| SharedChange::Topic {
        topic: "t".into(),
        method: "m".into(),
        params: params.into(),
    };
    one.cluster.changes().publish(topic("{}"));
    settle().await;
    for instance in [&one, &two] {
        assert_eq!(instance.recorder.take(), ["t b\"{}\" 2"]);
    }
    // One that is too large for the log is told of here.
    let large = SharedChange::Topic {
        topic: "t".into(),
        method: "m".into(),
        params: Bytes::from(vec![b' '; MAX_CHANGE_BYTES]),
    };
    one.cluster.changes().publish(large);
    settle().await;
    assert_eq!(one.recorder.take().len(), 1);
    assert_eq!(two.recorder.take(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn nothing_is_lost_while_the_store_fails() {
    let store = Arc::new(TestStore::default());
    let [one, two] = [Instance::start(&store).await, Instance::start(&store).await];
    store.set_failing(true);
    one.change("a");
    settle().await;
    assert_eq!(one.recorder.take(), ["a here"], "told at once");
    one.change("b");
    one.change("a");
    assert_eq!(one.recorder.take(), ["b here", "a here"]);
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(two.recorder.take(), [""; 0]);
    store.set_failing(false);
    tokio::time::sleep(RETRY_DELAYS[1] + READ_INTERVAL).await;
    assert_eq!(two.recorder.take(), ["a 2", "b 3"]);
    assert_eq!(one.recorder.take(), [""; 0], "it was told before");
    one.change("c");
    settle().await;
    assert_eq!(one.recorder.take(), ["c 4"]);
    assert_eq!(two.recorder.take(), ["c 4"]);
}

#[tokio::test(start_paused = true)]
async fn an_instance_that_was_not_started_tells_itself_and_the_others() {
    let store = Arc::new(TestStore::default());
    let started = Instance::start(&store).await;
    let pipe = Instance::new(&store);
    pipe.change("a");
    assert_eq!(pipe.recorder.take(), ["a here"]);
    settle().await;
    assert_eq!(started.recorder.take(), ["a 2"]);
    assert_eq!(pipe.recorder.take(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn an_emptied_log_is_noticed_and_everything_may_have_changed() {
    let store = Arc::new(TestStore::default());
    let instance = Instance::start(&store).await;
    for uri in ["a", "b", "c"] {
        instance.change(uri);
        settle().await;
    }
    instance.recorder.take();
    let before = instance.last();
    // A store that was emptied has another log, here one that has as many entries.
    let emptied = MemoryStore::new();
    let entry = |uri: &str| Entry {
        origin: "zzzzzzzz".into(),
        mark: 1,
        is_told: false,
        change: Some(SharedChange::Resource(uri.into())),
    };
    let new: Vec<_> = ["w", "x", "y", "z"]
        .into_iter()
        .map(|uri| entry(uri).to_bytes())
        .collect();
    let log = log_key().unwrap();
    let append = emptied.append(&log, AppendAt::End, new, KEEP);
    append.await.unwrap();
    let cluster = Cluster::new(Arc::new(emptied)).unwrap();
    cluster.changes().state().recent =
        std::mem::take(&mut instance.cluster.changes().state().recent);
    cluster.changes().is_ready.send_replace(true);
    let weak: Weak<Recorder> = Arc::downgrade(&instance.recorder);
    cluster.changes().set_receiver(weak);
    cluster.changes().read_log().await.unwrap();
    assert_eq!(instance.recorder.take(), ["everything 4"]);
    assert_eq!(cluster.changes().since(before), None);
    let second = ChangePosition { number: 2, mark: 1 };
    assert_eq!(cluster.changes().since(second).unwrap().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn an_instance_that_is_far_behind_tells_that_everything_may_have_changed() {
    let store = Arc::new(TestStore::default());
    let slow = Instance::start(&store).await;
    let entry = |number: usize| Entry {
        origin: "zzzzzzzz".into(),
        mark: 5,
        is_told: false,
        change: Some(SharedChange::Resource(format!("r:{number}").into())),
    };
    for chunk in (0..=MAX_ENTRIES).collect::<Vec<_>>().chunks(1000) {
        let chunk = chunk.iter().map(|number| entry(*number).to_bytes());
        let append = store
            .engine
            .append(&log_key().unwrap(), AppendAt::End, chunk.collect(), KEEP);
        append.await.unwrap();
    }
    settle().await;
    tokio::time::sleep(READ_INTERVAL).await;
    assert_eq!(
        slow.recorder.take(),
        [format!("everything {}", MAX_ENTRIES + 2)]
    );
    // One that starts later tells nobody of what was before, and knows it.
    let late = Instance::start(&store).await;
    assert_eq!(late.last(), slow.last());
    let recent = |number: usize| ChangePosition {
        number: number as u64,
        mark: 5,
    };
    assert_eq!(
        late.cluster.changes().since(recent(2)),
        None,
        "it was dropped"
    );
    let since = late.cluster.changes().since(recent(MAX_ENTRIES));
    assert_eq!(since.unwrap().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn the_positions_of_a_quiet_log_go_on() {
    let store = Arc::new(TestStore::default());
    let [one, two] = [Instance::start(&store).await, Instance::start(&store).await];
    one.change("a");
    tokio::time::sleep(10 * LOG_TTL).await;
    assert_eq!(one.recorder.take(), ["a 2"]);
    let quiet = entries(&store).await;
    assert!((20..30).contains(&quiet.len()), "{}", quiet.len());
    two.change("b");
    settle().await;
    assert_eq!(one.recorder.take(), [format!("b {}", quiet.len() + 1)]);
}

#[tokio::test(start_paused = true)]
async fn entries_that_cannot_be_opened_are_skipped() {
    let store = Arc::new(TestStore::default());
    let instance = Instance::start(&store).await;
    store.unreadable.store(1, Ordering::Relaxed);
    instance.change("a");
    settle().await;
    assert_eq!(instance.recorder.take(), ["everything 3"]);
    instance.change("b");
    settle().await;
    assert_eq!(instance.recorder.take(), ["b 4"]);
    // Somebody with other keys writes again and again.
    store.unreadable.store(1, Ordering::Relaxed);
    instance.change("c");
    settle().await;
    assert_eq!(instance.recorder.take(), ["everything 6"]);
    instance.change("d");
    tokio::time::sleep(READ_INTERVAL).await;
    assert_eq!(instance.recorder.take(), [""; 0]);
    tokio::time::sleep(UNREADABLE_DELAY).await;
    assert_eq!(instance.recorder.take(), ["d 7"]);
}

#[tokio::test(start_paused = true)]
async fn entries_that_a_new_instance_cannot_open_are_news_to_nobody_else() {
    let store = Arc::new(TestStore::default());
    let one = Instance::start(&store).await;
    one.change("a");
    settle().await;
    assert_eq!(one.recorder.take(), ["a 2"]);
    store.unreadable.store(1, Ordering::Relaxed);
    let two = Instance::start(&store).await;
    two.change("b");
    settle().await;
    assert_eq!(one.recorder.take(), ["b 4"]);
    assert_eq!(two.recorder.take(), ["everything 3", "b 4"]);
}

#[tokio::test(start_paused = true)]
async fn entries_of_others_are_skipped_one_by_one() {
    let store = Arc::new(TestStore::default());
    let instance = Instance::start(&store).await;
    let garbage = vec![Bytes::from_static(b"garbage"), Bytes::new()];
    let log = log_key().unwrap();
    let append = store.engine.append(&log, AppendAt::End, garbage, KEEP);
    append.await.unwrap();
    instance.change("a");
    tokio::time::sleep(READ_INTERVAL).await;
    assert_eq!(instance.recorder.take(), ["a 4"]);
}

#[tokio::test(start_paused = true)]
async fn the_last_changes_of_an_instance_that_stops_reach_the_others() {
    let store = Arc::new(TestStore::default());
    let [one, two] = [Instance::start(&store).await, Instance::start(&store).await];
    one.change("a");
    one.cluster.stop().await;
    settle().await;
    assert_eq!(two.recorder.take(), ["a 2"]);
}

#[tokio::test(start_paused = true)]
async fn changes_that_were_flushed_survive_their_instance() {
    let store = Arc::new(TestStore::default());
    let [one, two] = [Instance::start(&store).await, Instance::start(&store).await];
    assert!(one.cluster.changes().flush().await, "nothing waits");
    for uri in ["a", "b"] {
        one.change(uri);
        assert!(one.cluster.changes().flush().await);
    }
    assert_eq!(entries(&store).await.len(), 3, "without a pause");
    settle().await;
    assert_eq!(two.recorder.take(), ["a 2", "b 3"]);
    store.set_failing(true);
    one.change("c");
    assert!(!one.cluster.changes().flush().await);
    store.set_failing(false);
    tokio::time::sleep(RETRY_DELAYS[1]).await;
    assert!(one.cluster.changes().flush().await);
    assert_eq!(entries(&store).await.len(), 4);
}
