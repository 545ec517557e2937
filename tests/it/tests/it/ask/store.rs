//! Tests of effects that are claimed in a store.

use std::future::{pending, ready};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tokio::time::Instant;
use turnbuckle_it::harness::{Case, Client};
use turnbuckle_server::{Ask, Failure, KeyRing, SecretKey, Server, Tool};
use turnbuckle_store::{
    AppendAt, Claim, Condition, Keep, LogSlice, MemoryStore, Position, ReadLimit, Store,
    StoreError, StoreErrorKind, StoreFuture, StoreKey, Subscription, Version, Versioned,
};
use turnbuckle_wire::revision::Revision;

use super::{Answer, accept, both, call, connect};
use crate::support::{code, converse, error_text, message, result, retry, text};

const WORKS: u8 = 0;
const FAILS: u8 = 1;
const HANGS: u8 = 2;
const FAILS_TO_WRITE: u8 = 3;

/// A store in memory whose operations fail when a test says so.
#[derive(Clone, Default)]
struct FaultyStore {
    engine: MemoryStore,
    mode: Arc<AtomicU8>,
    /// The keys and values that were written.
    written: Arc<Mutex<Vec<(StoreKey, Bytes)>>>,
}

impl FaultyStore {
    fn set(&self, mode: u8) {
        self.mode.store(mode, Ordering::Relaxed);
    }

    fn run<'a, T: Send + 'a>(&self, operation: StoreFuture<'a, T>) -> StoreFuture<'a, T> {
        let gone = StoreError::new(StoreErrorKind::Unavailable, "the engine is gone");
        match self.mode.load(Ordering::Relaxed) {
            FAILS => Box::pin(ready(Err(gone))),
            HANGS => Box::pin(pending()),
            _ => operation,
        }
    }
}

/// Returns the future of an operation that these tests do not use.
fn refuse<T: Send + 'static>() -> StoreFuture<'static, T> {
    Box::pin(ready(Err(StoreError::new(
        StoreErrorKind::Invalid,
        "not used here",
    ))))
}

impl Store for FaultyStore {
    fn get(&self, key: &StoreKey) -> StoreFuture<'_, Option<Versioned>> {
        self.run(self.engine.get(key))
    }

    fn put(
        &self,
        key: &StoreKey,
        value: Bytes,
        when: Condition,
        ttl: Duration,
    ) -> StoreFuture<'_, Option<Version>> {
        self.written
            .lock()
            .unwrap()
            .push((key.clone(), value.clone()));
        let is_value = matches!(when, Condition::Version(_));
        if is_value && self.mode.load(Ordering::Relaxed) == FAILS_TO_WRITE {
            let full = StoreError::new(StoreErrorKind::Full, "the engine is full");
            return Box::pin(ready(Err(full)));
        }
        self.run(self.engine.put(key, value, when, ttl))
    }

    fn remove(&self, key: &StoreKey, when: Condition) -> StoreFuture<'_, bool> {
        self.run(self.engine.remove(key, when))
    }

    fn touch(&self, _: Vec<StoreKey>, _: Duration) -> StoreFuture<'_, ()> {
        refuse()
    }

    fn append(
        &self,
        _: &StoreKey,
        _: AppendAt,
        _: Vec<Bytes>,
        _: Keep,
    ) -> StoreFuture<'_, Option<Position>> {
        refuse()
    }

    fn read(&self, _: &StoreKey, _: Position, _: ReadLimit) -> StoreFuture<'_, LogSlice> {
        refuse()
    }

    fn publish(&self, _: &StoreKey, _: Bytes) -> StoreFuture<'_, ()> {
        refuse()
    }

    fn subscribe(&self, _: &StoreKey) -> StoreFuture<'_, Subscription> {
        refuse()
    }

    fn push(&self, _: &StoreKey, _: Bytes, _: Duration) -> StoreFuture<'_, ()> {
        refuse()
    }

    fn claim(&self, _: &StoreKey, _: Duration) -> StoreFuture<'_, Option<Claim>> {
        refuse()
    }

    fn extend(&self, _: &Claim, _: Duration) -> StoreFuture<'_, bool> {
        refuse()
    }

    fn complete(&self, _: Claim) -> StoreFuture<'_, bool> {
        refuse()
    }
}

/// A service outside of the server, whose effects must not happen twice.
#[derive(Clone)]
struct Bank {
    charges: Arc<Mutex<u32>>,
    /// The charges that may end.
    open: Arc<Semaphore>,
    fails: Arc<Mutex<bool>>,
}

impl Bank {
    fn new() -> Self {
        Self {
            charges: Arc::default(),
            open: Arc::new(Semaphore::new(Semaphore::MAX_PERMITS)),
            fails: Arc::default(),
        }
    }

    fn count(&self) -> u32 {
        *self.charges.lock().unwrap()
    }

    async fn charge(self) -> Result<String, Failure> {
        let number = {
            let mut charges = self.charges.lock().unwrap();
            *charges += 1;
            *charges
        };
        self.open.acquire().await.unwrap().forget();
        match *self.fails.lock().unwrap() {
            true => Err(Failure::new("the bank is closed")),
            false => Ok(format!("receipt {number}")),
        }
    }
}

/// Creates an instance of a server that asks before and after it charges.
fn instance(store: Option<&FaultyStore>, bank: &Bank) -> Server {
    let bank = bank.clone();
    let pay = Tool::builder("it").handler(move |ask: Ask| {
        let bank = bank.clone();
        async move {
            let name: Answer = ask.form("Who pays?").await?;
            let receipt: String = ask.once("charge", bank.charge()).await?;
            let thanks: Answer = ask.form("Thanks?").await?;
            Ok::<_, Failure>(format!("{}: {receipt}, {}", name.said, thanks.said))
        }
    });
    let ping = Tool::builder("ping").handler(|| "pong");
    let keys = KeyRing::new(SecretKey::from_bytes([7; 32]));
    let server = Server::new("bank", "1").tool(pay).tool(ping).keys(keys);
    match store {
        Some(store) => server.store(store.clone()),
        None => server,
    }
    .build()
    .unwrap()
}

fn modern() -> Case {
    Case::pipe(Revision::NEWEST)
}

/// Sends the first round, and returns the parameters of the second.
async fn first_round(client: &mut Client) -> Value {
    let response = client.request("tools/call", call()).await;
    retry(&call(), result(&response), |_| {
        accept(json!({"said": "Ada"}))
    })
}

/// Sends the second round, and waits until the bank has begun to charge. Returns the id of the request.
async fn start_charge(client: &mut Client, second: &Value, bank: &Bank) -> i64 {
    let id = client.start("tools/call", second.clone()).await;
    while bank.count() == 0 {
        tokio::task::yield_now().await;
    }
    id
}

/// Sends the second round, in which the bank charges, and then the third.
async fn finish(client: &mut Client, second: &Value) -> String {
    let response = client.request("tools/call", second.clone()).await;
    let third = retry(&call(), result(&response), |_| {
        accept(json!({"said": "yes"}))
    });
    text(&client.request("tools/call", third).await).to_owned()
}

#[tokio::test(start_paused = true)]
async fn an_older_round_has_no_second_effect() {
    let (store, bank) = (FaultyStore::default(), Bank::new());
    let (here, there) = (instance(Some(&store), &bank), instance(Some(&store), &bank));
    let mut client = connect(modern(), &here).await;
    let second = first_round(&mut client).await;
    let said = finish(&mut client, &second).await;
    assert_eq!(said, "Ada: receipt 1, yes");
    // The same round again, at the same instance and at another one.
    for server in [&here, &there] {
        let mut client = connect(modern(), server).await;
        assert_eq!(finish(&mut client, &second).await, said);
    }
    assert_eq!(bank.count(), 1);

    // A request that is started anew is another one.
    let second = first_round(&mut client).await;
    assert_eq!(finish(&mut client, &second).await, "Ada: receipt 2, yes");

    // The store learns neither the names nor the values.
    let written = store.written.lock().unwrap();
    assert!(!written.is_empty());
    for (key, value) in &*written {
        assert!(key.as_str().starts_with("once/") && !key.as_str().contains("charge"));
        assert!(!String::from_utf8_lossy(value).contains("receipt"));
    }
}

#[tokio::test(start_paused = true)]
async fn without_a_store_an_older_round_has_a_second_effect() {
    let bank = Bank::new();
    let server = instance(None, &bank);
    let mut client = connect(modern(), &server).await;
    let second = first_round(&mut client).await;
    assert_eq!(finish(&mut client, &second).await, "Ada: receipt 1, yes");
    assert_eq!(finish(&mut client, &second).await, "Ada: receipt 2, yes");
}

#[tokio::test(start_paused = true)]
async fn an_effect_that_is_under_way_does_not_begin_again() {
    let (store, mut bank) = (FaultyStore::default(), Bank::new());
    bank.open = Arc::new(Semaphore::new(0));
    let server = instance(Some(&store), &bank);
    let mut client = connect(modern(), &server).await;
    let second = first_round(&mut client).await;
    let id = start_charge(&mut client, &second, &bank).await;
    let mut other = connect(modern(), &server).await;
    let refused = other.request("tools/call", second.clone()).await;
    assert!(
        error_text(&refused).contains("\"charge\" of this request was begun before"),
        "{refused}"
    );

    // As soon as it is known how it ended, the older round goes on with its value.
    bank.open.add_permits(9);
    client.response(id).await;
    assert_eq!(finish(&mut other, &second).await, "Ada: receipt 1, yes");
    assert_eq!(bank.count(), 1);
}

#[tokio::test(start_paused = true)]
async fn an_effect_that_was_interrupted_does_not_begin_again() {
    let (store, mut bank) = (FaultyStore::default(), Bank::new());
    bank.open = Arc::new(Semaphore::new(0));
    let server = instance(Some(&store), &bank);
    let mut client = connect(modern(), &server).await;
    let second = first_round(&mut client).await;
    let id = start_charge(&mut client, &second, &bank).await;
    client.cancel(id).await;
    // The handler is dropped when its grace is over.
    client.wait(Duration::from_secs(60)).await;
    bank.open.add_permits(9);
    let refused = client.request("tools/call", second.clone()).await;
    assert!(
        error_text(&refused).contains("it is not known whether it took place"),
        "{refused}"
    );
    assert_eq!(bank.count(), 1);
}

#[tokio::test(start_paused = true)]
async fn an_effect_that_failed_can_be_tried_again() {
    let (store, bank) = (FaultyStore::default(), Bank::new());
    let server = instance(Some(&store), &bank);
    let mut client = connect(modern(), &server).await;
    let second = first_round(&mut client).await;
    *bank.fails.lock().unwrap() = true;
    let refused = client.request("tools/call", second.clone()).await;
    assert_eq!(error_text(&refused), "the bank is closed");
    *bank.fails.lock().unwrap() = false;
    assert_eq!(finish(&mut client, &second).await, "Ada: receipt 2, yes");
}

#[tokio::test(start_paused = true)]
async fn a_value_that_is_not_recorded_is_not_made_again() {
    let (store, bank) = (FaultyStore::default(), Bank::new());
    let server = instance(Some(&store), &bank);
    let mut client = connect(modern(), &server).await;
    let second = first_round(&mut client).await;
    // The run itself goes on, since it knows the value.
    store.set(FAILS_TO_WRITE);
    assert_eq!(finish(&mut client, &second).await, "Ada: receipt 1, yes");
    let refused = client.request("tools/call", second).await;
    assert!(
        error_text(&refused).contains("find out before starting"),
        "{refused}"
    );
    assert_eq!(bank.count(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_store_that_is_slow_or_gone_stops_nothing_else() {
    for (mode, reason) in [
        (FAILS, "the engine is gone"),
        (HANGS, "did not answer within 1s"),
    ] {
        let (store, bank) = (FaultyStore::default(), Bank::new());
        let server = instance(Some(&store), &bank);
        let mut client = connect(modern(), &server).await;
        store.set(mode);
        let second = first_round(&mut client).await;
        let begun = Instant::now();
        let refused = client.request("tools/call", second.clone()).await;
        assert!(begun.elapsed() <= Duration::from_secs(1));
        assert_eq!(code(&refused), -32603, "{refused}");
        assert!(message(&refused).contains("nothing was done"), "{refused}");
        assert!(message(&refused).contains(reason), "{refused}");
        let pong = client.request("tools/call", json!({"name": "ping"})).await;
        assert_eq!(text(&pong), "pong");
        assert_eq!(bank.count(), 0);
        if mode == FAILS {
            store.set(WORKS);
            assert_eq!(finish(&mut client, &second).await, "Ada: receipt 1, yes");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_record_outlives_each_state_of_its_request() {
    let (store, bank) = (FaultyStore::default(), Bank::new());
    let server = instance(Some(&store), &bank);
    let mut client = connect(modern(), &server).await;
    let second = first_round(&mut client).await;
    finish(&mut client, &second).await;
    // A request ends within a day.
    let (key, _) = store.written.lock().unwrap()[0].clone();
    tokio::time::advance(Duration::from_secs(24 * 3600)).await;
    assert!(store.engine.get(&key).await.unwrap().is_some());
    tokio::time::advance(Duration::from_secs(61)).await;
    assert!(store.engine.get(&key).await.unwrap().is_none());
}

#[tokio::test(start_paused = true)]
async fn a_legacy_client_costs_the_store_nothing() {
    let (store, bank) = (FaultyStore::default(), Bank::new());
    let server = instance(Some(&store), &bank);
    let [_, legacy] = both();
    let mut client = connect(legacy, &server).await;
    let (answer, _) = converse(&mut client, "tools/call", call(), |_| {
        accept(json!({"said": "Ada"}))
    })
    .await;
    assert_eq!(text(&answer), "Ada: receipt 1, Ada");
    assert!(store.written.lock().unwrap().is_empty());
}

#[test]
fn a_store_needs_keys() {
    let built = Server::new("s", "1").store(MemoryStore::new()).build();
    let error = built.unwrap_err().to_string();
    assert!(
        error.contains("a store but no keys") && error.contains("ServerBuilder::keys"),
        "{error}"
    );
}
