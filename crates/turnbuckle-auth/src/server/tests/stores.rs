//! DPoP proofs that instances claim in a store that they share.

use std::cell::Cell;
use std::future::{pending, poll_fn, ready};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use serde_json::Value;
use tokio::time::{Instant, advance, timeout};
use turnbuckle_store::{
    AppendAt, Claim, Condition, Keep, LogSlice, MemoryStore, Position, ReadLimit, Store,
    StoreError, StoreErrorKind, StoreFuture, StoreKey, Subscription, Version, Versioned,
};
use turnbuckle_types::Principal;
use turnbuckle_types::base::refusals::set_counter;
use url::Url;

use super::support::{Answer, Fixture, RESOURCE};
use crate::dpop::DpopKey;
use crate::server::{TokenVerifier, VerifiedToken, VerifyFuture};
use crate::test_log::Log;

/// A client that also verifies its tokens: `bearer` is bound to no key, all others to that of the client.
#[derive(Clone)]
struct Client(DpopKey);

impl TokenVerifier for Client {
    fn verify<'a>(&'a self, token: &'a str) -> VerifyFuture<'a> {
        let verified = VerifiedToken::new(Principal::new("https://as", "ann"), [RESOURCE]);
        let verified = match token {
            "bearer" => verified,
            _ => verified.key_thumbprint(self.0.thumbprint()),
        };
        Box::pin(ready(Ok(verified.cache_for(Duration::from_secs(60)))))
    }
}

impl Client {
    fn new() -> Self {
        Self(DpopKey::generate().unwrap())
    }

    fn instance(&self, store: impl Store) -> Fixture {
        Fixture::new(|it| it.verifier(self.clone()).store(store))
    }

    fn proof(&self, time: u64) -> String {
        let url = Url::parse(RESOURCE).unwrap();
        let proof = self.0.proof("POST", &url, Some("bound"), None, time);
        proof.unwrap()
    }

    async fn send(&self, instance: &Fixture, proof: &str) -> Answer {
        let headers = [("authorization", "DPoP bound"), ("dpop", proof)];
        instance.post(&headers).await
    }
}

/// Asserts that a proof is refused because it was used.
fn assert_replayed(answer: &Answer) {
    assert_eq!(answer.status, 401, "{answer:?}");
    assert_eq!(answer.error().as_deref(), Some("invalid_dpop_proof"));
}

#[tokio::test(start_paused = true)]
async fn instances_with_one_store_admit_a_proof_once() {
    let client = Client::new();
    let store = MemoryStore::new();
    let instances = [client.instance(store.clone()), client.instance(store)];
    // The token is verified for the first request of an instance, and known for the others.
    for turn in 0..4 {
        let [first, second] = [&instances[turn % 2], &instances[(turn + 1) % 2]];
        let proof = client.proof(first.now());
        assert_eq!(client.send(first, &proof).await.status, 200);
        for instance in [second, first, second] {
            assert_replayed(&client.send(instance, &proof).await);
        }
    }
    let served = instances.each_ref().map(|it| it.requests().len());
    assert_eq!(served, [2, 2]);
}

#[tokio::test(start_paused = true)]
async fn without_a_store_a_proof_works_once_on_each_instance() {
    let client = Client::new();
    let instance = || Fixture::new(|it| it.verifier(client.clone()));
    let instances = [instance(), instance()];
    let proof = client.proof(instances[0].now());
    for instance in &instances {
        assert_eq!(client.send(instance, &proof).await.status, 200);
        assert_replayed(&client.send(instance, &proof).await);
    }
}

#[tokio::test(start_paused = true)]
async fn a_claim_lasts_while_any_instance_accepts_its_proof_and_no_longer() {
    let client = Client::new();
    let store = MemoryStore::new();
    let [ahead, behind] = [(); 2].map(|()| client.instance(store.clone()));
    ahead.advance(60);
    // The last second of the proof on the instance whose clock is ahead.
    let proof = client.proof(behind.now());
    assert_eq!(client.send(&ahead, &proof).await.status, 200);
    advance(Duration::from_secs(60)).await;
    behind.advance(60);
    assert_replayed(&client.send(&behind, &proof).await);
    advance(Duration::from_secs(1)).await;
    assert!(store.is_empty());
}

/// A store whose `put` is a function, and which has nothing else.
struct Puts<F>(F);

macro_rules! unused {
    ($($name:ident($($type:ty),*) -> $result:ty;)*) => {$(
        fn $name(&self, $(_: $type),*) -> StoreFuture<'_, $result> {
            unreachable!(stringify!($name))
        }
    )*};
}

impl<F> Store for Puts<F>
where
    F: Fn(&StoreKey) -> StoreFuture<'static, Option<Version>> + Send + Sync + 'static,
{
    fn put(
        &self,
        key: &StoreKey,
        _: Bytes,
        _: Condition,
        _: Duration,
    ) -> StoreFuture<'_, Option<Version>> {
        self.0(key)
    }

    unused! {
        get(&StoreKey) -> Option<Versioned>;
        remove(&StoreKey, Condition) -> bool;
        touch(Vec<StoreKey>, Duration) -> ();
        append(&StoreKey, AppendAt, Vec<Bytes>, Keep) -> Option<Position>;
        read(&StoreKey, Position, ReadLimit) -> LogSlice;
        publish(&StoreKey, Bytes) -> ();
        subscribe(&StoreKey) -> Subscription;
        push(&StoreKey, Bytes, Duration) -> ();
        claim(&StoreKey, Duration) -> Option<Claim>;
        extend(&Claim, Duration) -> bool;
        complete(Claim) -> bool;
    }
}

type Put = StoreFuture<'static, Option<Version>>;

fn down(_: &StoreKey) -> Put {
    let error = StoreError::new(StoreErrorKind::Unavailable, "the store is down");
    Box::pin(ready(Err(error)))
}

fn stuck(_: &StoreKey) -> Put {
    Box::pin(pending())
}

#[tokio::test(start_paused = true)]
async fn a_known_replay_and_a_bearer_token_ask_no_store() {
    let client = Client::new();
    let keys: Arc<Mutex<Vec<String>>> = Arc::default();
    let seen = Arc::clone(&keys);
    let instance = client.instance(Puts(move |key: &StoreKey| -> Put {
        seen.lock().unwrap().push(key.to_string());
        Box::pin(ready(Ok(Some(Version(1)))))
    }));
    let proof = client.proof(instance.now());
    assert_eq!(client.send(&instance, &proof).await.status, 200);
    assert_replayed(&client.send(&instance, &proof).await);
    instance.assert_admitted("bearer").await;
    assert_eq!(client.send(&instance, "no proof").await.status, 401);
    let keys = keys.lock().unwrap().clone();
    assert_eq!(keys.len(), 1, "{keys:?}");
    // 256 bits, as base64url.
    assert!(
        keys[0].starts_with("dpop/") && keys[0].len() == 48,
        "{keys:?}"
    );
}

thread_local! {
    static REFUSALS: Cell<usize> = const { Cell::new(0) };
}

fn assert_unavailable(answer: &Answer) {
    assert_eq!(answer.status, 503, "{answer:?}");
    assert_eq!(answer.header("retry-after"), Some("5"));
    assert_eq!(answer.header("www-authenticate"), None);
    let body: Value = serde_json::from_str(&answer.body).unwrap();
    assert_eq!(body["error"], "temporarily_unavailable");
    let description = body["error_description"].as_str().unwrap();
    assert!(
        description.contains("ResourceServerBuilder::store"),
        "{description}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_proof_that_the_store_cannot_claim_is_refused_and_counted_and_logged_once_a_minute() {
    let log = Log::start();
    set_counter(|setting| {
        assert_eq!(setting, "ResourceServerBuilder::store");
        REFUSALS.set(REFUSALS.get() + 1);
    });
    let client = Client::new();
    let instance = client.instance(Puts(down));
    for (refusals, (seconds, lines)) in [(0, 1), (1, 1), (58, 1), (1, 2)].into_iter().enumerate() {
        instance.advance(seconds);
        advance(Duration::from_secs(seconds)).await;
        let proof = client.proof(instance.now());
        assert_unavailable(&client.send(&instance, &proof).await);
        assert_eq!(REFUSALS.get(), refusals + 1);
        let text = log.text();
        assert_eq!(text.matches("the store is down").count(), lines, "{text}");
        // It may have been claimed.
        assert_replayed(&client.send(&instance, &proof).await);
    }
    instance.assert_admitted("bearer").await;
    assert_eq!(instance.requests().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_proof_whose_claim_panics_is_refused() {
    let log = Log::start();
    let client = Client::new();
    let panics: [fn(&StoreKey) -> Put; 2] = [
        |_| panic!("no put"),
        |_| Box::pin(async { panic!("no answer") }),
    ];
    for panics in panics {
        let instance = client.instance(Puts(panics));
        let proof = client.proof(instance.now());
        assert_unavailable(&client.send(&instance, &proof).await);
        assert!(instance.requests().is_empty());
    }
    let text = log.text();
    for line in ["ERROR", "no put", "no answer", "the store panicked"] {
        assert!(text.contains(line), "{text}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_waits_a_second_for_the_store() {
    let client = Client::new();
    let instance = client.instance(Puts(stuck));
    for _ in 0..2 {
        let proof = client.proof(instance.now());
        let start = Instant::now();
        let answer = timeout(Duration::from_secs(60), client.send(&instance, &proof)).await;
        assert_unavailable(&answer.unwrap());
        assert_eq!(start.elapsed(), Duration::from_secs(1));
    }
    assert!(instance.requests().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_request_that_is_dropped_while_the_store_is_asked_has_used_its_proof() {
    let client = Client::new();
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let instance = client.instance(Puts(move |_: &StoreKey| -> Put {
        count.fetch_add(1, Ordering::SeqCst);
        Box::pin(pending())
    }));
    let proof = client.proof(instance.now());
    let mut sending = Box::pin(client.send(&instance, &proof));
    poll_fn(|cx| {
        assert!(sending.as_mut().poll(cx).is_pending());
        Poll::Ready(())
    })
    .await;
    drop(sending);
    assert_replayed(&client.send(&instance, &proof).await);
    assert_eq!(asked.load(Ordering::SeqCst), 1);
    assert!(instance.requests().is_empty());
}
