//! The store of the sessions is slow, gone, or emptied.

use std::time::Duration;

use serde_json::{Value, json};
use turnbuckle_http::{HttpServerOptions, HttpTimeouts};
use turnbuckle_it::faulty_store::Fault;
use turnbuckle_it::web::Session;
use turnbuckle_store::{Condition, MemoryStore, Store, StoreErrorKind, StoreKey};
use turnbuckle_wire::revision::Revision;

use super::{Instance, call, instance, instance_with, ping};

const LEGACY: Revision = Revision::NEWEST_LEGACY;
const SECOND: Duration = Duration::from_secs(1);

fn fail_store(instance: &Instance) {
    let fault = Fault::Error(StoreErrorKind::Unavailable);
    instance.line.fail("", fault);
}

#[track_caller]
fn assert_names_the_store(answer: &(u16, Value)) {
    let message = answer.1["error"]["message"].as_str().unwrap_or_default();
    assert!(
        answer.0 == 503 && message.contains("the store"),
        "{answer:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn known_sessions_are_served_for_a_while_without_the_store() {
    let store = MemoryStore::new();
    let one = instance(&store).await;
    let session = one.web.open(LEGACY).await;
    fail_store(&one);
    for _ in 0..5 {
        tokio::time::sleep(10 * SECOND).await;
        assert_eq!(ping(&session).await.0, 200);
    }
    tokio::time::sleep(15 * SECOND).await;
    assert_names_the_store(&ping(&session).await);
    one.line.heal();
    tokio::time::sleep(2 * SECOND).await;
    assert_eq!(call(&session, "client").await, "tester roots:false");
}

#[tokio::test(start_paused = true)]
async fn unknown_ids_are_503_and_never_404_without_the_store() {
    let store = MemoryStore::new();
    let (one, two) = (instance(&store).await, instance(&store).await);
    let session = one.web.open(LEGACY).await.with_web(&two.web);
    fail_store(&two);
    assert_names_the_store(&ping(&session).await);
    let got = session.get().send().await;
    assert!(got.status == 503 && got.header("retry-after").is_some());
    assert_eq!(session.delete().send().await.status, 503);
    let opened = two.web.initialize(LEGACY, json!({})).json().await;
    assert_names_the_store(&opened);
    assert_eq!(
        two.web
            .call_tool("echo", json!({"text": "t"}))
            .send()
            .await
            .status,
        200
    );
    two.line.heal();
    tokio::time::sleep(2 * SECOND).await;
    assert_eq!(ping(&session).await.0, 200);
}

#[tokio::test(start_paused = true)]
async fn a_slow_store_is_waited_for_and_given_up() {
    let store = MemoryStore::new();
    let (one, two) = (instance(&store).await, instance(&store).await);
    let session = one.web.open(LEGACY).await.with_web(&two.web);
    two.line.fail("get", Fault::Slow(SECOND / 2));
    assert_eq!(ping(&session).await.0, 200);
    let other = one.web.open(LEGACY).await.with_web(&two.web);
    two.line.heal();
    two.line.fail("get", Fault::Slow(30 * SECOND));
    assert_names_the_store(&ping(&other).await);
}

#[tokio::test(start_paused = true)]
async fn a_change_without_the_store_is_saved_when_it_is_back() {
    let store = MemoryStore::new();
    let (one, two) = (instance(&store).await, instance(&store).await);
    let session = one.web.open(LEGACY).await;
    fail_store(&one);
    let subscribe = json!({"uri": "test://one"});
    let subscribed = session.request(3, "resources/subscribe", &subscribe);
    assert_eq!(subscribed.send().await.status, 200);
    one.line.heal();
    tokio::time::sleep(40 * SECOND).await;
    assert_eq!(ping(&session.with_web(&two.web)).await.0, 200);
    assert_eq!(two.server.subscribed_resources(), ["test://one"]);
}

#[tokio::test(start_paused = true)]
async fn changes_of_two_instances_at_once_are_merged() {
    let store = MemoryStore::new();
    let (one, two) = (instance(&store).await, instance(&store).await);
    let session = one.web.open(LEGACY).await;
    let there = session.with_web(&two.web);
    assert_eq!(ping(&there).await.0, 200);
    // Neither hears of the other.
    let fault = Fault::Error(StoreErrorKind::Unavailable);
    one.line.fail("publish", fault);
    two.line.fail("publish", fault);
    let subscribe = json!({"uri": "test://one"});
    let level = json!({"level": "error"});
    assert_eq!(
        session
            .request(2, "resources/subscribe", &subscribe)
            .send()
            .await
            .status,
        200
    );
    assert_eq!(
        there
            .request(2, "logging/setLevel", &level)
            .send()
            .await
            .status,
        200
    );
    assert_eq!(two.server.subscribed_resources(), ["test://one"]);
    let record = read_record(&store, &session).await;
    assert!(record.contains(r#""logLevel":"error""#), "{record}");
    assert!(record.contains("test://one"), "{record}");
}

#[tokio::test(start_paused = true)]
async fn two_requests_at_once_restore_one_session() {
    let store = MemoryStore::new();
    let (one, two) = (instance(&store).await, instance(&store).await);
    let session = one.web.open(LEGACY).await.with_web(&two.web);
    two.line.fail("get", Fault::Slow(SECOND / 10));
    let hold = || session.call_tool(7, "hold", &json!({})).send();
    let both = async {
        tokio::select! { got = hold() => got, got = hold() => got }
    };
    let refused = both.await.json().await;
    let message = refused["error"]["message"].as_str().unwrap();
    assert!(message.contains("still in flight"), "{message}");
}

/// Returns the record of a session, as text.
async fn read_record(store: &MemoryStore, session: &Session) -> String {
    let sealed = turnbuckle_store::SealedStore::new(store.clone(), super::input::seal());
    let key = StoreKey::new(format!("session/{}", session.id)).unwrap();
    let found = sealed.get(&key).await.unwrap().unwrap();
    String::from_utf8(found.value.to_vec()).unwrap()
}

/// Removes everything that the sessions and instances have in the store.
async fn empty(store: &MemoryStore, sessions: &[&Session]) {
    let mut keys = vec![String::from("mark")];
    keys.extend(
        sessions
            .iter()
            .map(|session| format!("session/{}", session.id)),
    );
    for key in keys {
        let sealed = turnbuckle_store::SealedStore::new(store.clone(), super::input::seal());
        let key = StoreKey::new(key).unwrap();
        assert!(sealed.remove(&key, Condition::Always).await.unwrap());
    }
}

#[tokio::test(start_paused = true)]
async fn known_sessions_are_put_back_into_a_store_that_was_emptied() {
    let store = MemoryStore::new();
    let (one, two) = (instance(&store).await, instance(&store).await);
    let session = one.web.open(LEGACY).await;
    let mut unknown = session.clone();
    unknown.id = "0".repeat(32);
    assert_eq!(ping(&unknown).await.0, 404);
    tokio::time::sleep(5 * SECOND).await;
    empty(&store, &[&session]).await;
    // The first look at an id that is unknown finds out.
    assert_eq!(ping(&unknown.with_web(&two.web)).await.0, 503);
    tokio::time::sleep(SECOND / 10).await;
    assert_eq!(
        ping(&session.with_web(&two.web)).await.0,
        200,
        "it was put back"
    );
    tokio::time::sleep(20 * SECOND).await;
    assert_eq!(ping(&unknown.with_web(&two.web)).await.0, 404);
}

#[tokio::test(start_paused = true)]
async fn a_session_that_has_ended_elsewhere_is_noticed_without_a_message() {
    let store = MemoryStore::new();
    let (one, two) = (instance(&store).await, instance(&store).await);
    let session = one.web.open(LEGACY).await;
    let there = session.with_web(&two.web);
    assert_eq!(ping(&there).await.0, 200);
    two.line
        .fail("publish", Fault::Error(StoreErrorKind::Unavailable));
    assert_eq!(there.delete().send().await.status, 204);
    assert_eq!(ping(&session).await.0, 200, "nobody told");
    tokio::time::sleep(31 * SECOND).await;
    assert_eq!(ping(&session).await.0, 404);
}

#[tokio::test(start_paused = true)]
async fn how_long_a_session_goes_on_without_its_store_is_settable() {
    let timeouts = HttpTimeouts::new().stale_session_ttl(Duration::from_secs(32));
    let options = HttpServerOptions::new().timeouts(timeouts);
    let one = instance_with(&MemoryStore::new(), options).await;
    let session = one.web.open(LEGACY).await;
    fail_store(&one);
    tokio::time::sleep(31 * SECOND).await;
    assert_eq!(ping(&session).await.0, 200);
    tokio::time::sleep(2 * SECOND).await;
    assert_eq!(ping(&session).await.0, 503);
}
