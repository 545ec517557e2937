//! Subscriptions to single resources of a legacy session.

use std::time::Duration;

use crate::scripted_server::{Answer, builder, legacy, scripted_peer, settle};
use crate::subscriptions::{news, update_of};
use serde_json::{Value, json};
use turnbuckle_client::{ChangeFilter, Client, EraPreference, Error, Subscription};
use turnbuckle_it::peer::{Peer, PeerConnectors, ReceivedMessage};
use turnbuckle_session::handler::Change;

fn legacy_answer(message: &Value) -> Answer {
    message.get("id").map(|_| Ok(json!({})))
}

fn uris(scripted: &Peer, method: &str) -> Vec<String> {
    let requests = scripted.messages_of(method);
    let uri = |heard: &ReceivedMessage| heard.message["params"]["uri"].as_str().unwrap().to_owned();
    requests.iter().map(uri).collect()
}

#[tokio::test(start_paused = true)]
async fn the_first_legacy_subscription_subscribes_and_the_last_unsubscribes() {
    let (client, scripted) = legacy(builder(), "2025-06-18", |_, m| legacy_answer(m)).await;
    let one = ChangeFilter::new().resource("a:1").resource("a:2");
    let one = client.subscribe(one).await.unwrap();
    let two = ChangeFilter::new().resource("a:2").tools();
    let mut two = client.subscribe(two).await.unwrap();
    assert_eq!(uris(&scripted, "resources/subscribe"), ["a:1", "a:2"]);
    drop(one);
    settle().await;
    assert_eq!(uris(&scripted, "resources/unsubscribe"), ["a:1"]);
    for uri in ["a:1", "a:2"] {
        scripted.notify("notifications/resources/updated", json!({"uri": uri}));
    }
    scripted.send(json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}));
    assert_eq!(news(&mut two).await, [Change::Tools, update_of("a:2")]);
    drop(two);
    let three = client.subscribe(ChangeFilter::new().resource("a:2")).await;
    settle().await;
    // In either order, the server ends with the subscriptions that are needed.
    let methods: Vec<_> = scripted
        .messages()
        .into_iter()
        .filter(|heard| heard.message["params"]["uri"] == "a:2")
        .map(|heard| heard.method().to_owned())
        .collect();
    assert_eq!(
        methods.last().unwrap(),
        "resources/subscribe",
        "{methods:?}"
    );
    drop(three);
    settle().await;
    assert_eq!(
        uris(&scripted, "resources/unsubscribe").last().unwrap(),
        "a:2"
    );
}

/// Subscribes to a hundred resources of a server that does not answer `resources/unsubscribe`.
async fn unheeding() -> (Client, Peer, Subscription) {
    let (client, scripted) = legacy(builder(), "2025-11-25", |_, message| {
        match message["method"] == "resources/unsubscribe" {
            true => None,
            false => legacy_answer(message),
        }
    })
    .await;
    let interest = (0..100).fold(ChangeFilter::new(), |interest, n| {
        interest.resource(format!("a:{n}"))
    });
    let subscription = client.subscribe(interest).await.unwrap();
    (client, scripted, subscription)
}

#[tokio::test(start_paused = true)]
async fn dropping_a_subscription_does_not_wait_to_unsubscribe() {
    let metrics = tokio::runtime::Handle::current().metrics();
    let before = metrics.num_alive_tasks();
    let (client, scripted, subscription) = unheeding().await;
    drop(subscription);
    settle().await;
    assert_eq!(uris(&scripted, "resources/unsubscribe"), ["a:0"]);
    drop(client);
    settle().await;
    assert_eq!(metrics.num_alive_tasks(), before);
}

#[tokio::test(start_paused = true)]
async fn an_unanswered_unsubscribe_times_out() {
    let (client, scripted, subscription) = unheeding().await;
    drop(subscription);
    settle().await;
    let began = tokio::time::Instant::now();
    let interest = ChangeFilter::new().resource("a:50");
    let _subscription = client.subscribe(interest).await.unwrap();
    assert!(began.elapsed() <= Duration::from_secs(10));
    settle().await;
    assert_eq!(uris(&scripted, "resources/unsubscribe"), ["a:0"]);
    // A resource without subscriptions is subscribed to again. The other still is.
    let interest = ChangeFilter::new().resource("a:60");
    let _other = client.subscribe(interest).await.unwrap();
    let subscribed = uris(&scripted, "resources/subscribe");
    assert_eq!(subscribed.get(100..), Some(&["a:60".to_owned()][..]));
}

#[tokio::test(start_paused = true)]
async fn a_new_legacy_session_gets_the_subscriptions_again() {
    let (client, scripted) = legacy(builder(), "2025-11-25", |_, m| legacy_answer(m)).await;
    let interest = ChangeFilter::new().prompts().resource("a:1");
    let mut one = client.subscribe(interest).await.unwrap();
    let mut two = client
        .subscribe(ChangeFilter::new().resource("a:1"))
        .await
        .unwrap();
    scripted.disconnect();
    settle().await;
    assert_eq!(scripted.connection_count(), 2);
    assert_eq!(news(&mut one).await, [Change::Prompts, update_of("a:1")]);
    assert_eq!(news(&mut two).await, [update_of("a:1")]);
    assert_eq!(uris(&scripted, "resources/subscribe"), ["a:1", "a:1"]);
    drop(one);
    settle().await;
    assert_eq!(uris(&scripted, "resources/unsubscribe"), [] as [&str; 0]);
    drop(two);
    settle().await;
    assert_eq!(uris(&scripted, "resources/unsubscribe"), ["a:1"]);
}

#[tokio::test(start_paused = true)]
async fn a_legacy_server_without_change_notifications_is_refused_at_once() {
    let scripted = scripted_peer(|_, message| match message["method"].as_str() {
        Some("initialize") => Some(Ok(json!({"protocolVersion": "2025-06-18",
            "capabilities": {"tools": {"listChanged": true}, "resources": {}},
            "serverInfo": {"name": "by hand", "version": "0"}}))),
        _ => legacy_answer(message),
    });
    let client = builder()
        .era(EraPreference::Legacy)
        .connect(scripted.lines())
        .await
        .unwrap();
    let error = client
        .subscribe(ChangeFilter::new().resource("a:b").resources())
        .await;
    assert!(matches!(error, Err(Error::Unsupported { .. })));
    let interest = ChangeFilter::new().resource("a:b").tools();
    let subscription = client.subscribe(interest).await.unwrap();
    assert_eq!(
        subscription.acknowledged_filter(),
        ChangeFilter::new().tools()
    );
    assert_eq!(uris(&scripted, "resources/subscribe"), [] as [&str; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_refused_resource_refuses_the_subscription_and_leaves_nothing() {
    let (client, scripted) = legacy(builder(), "2025-06-18", |_, message| {
        match message["params"]["uri"] == "a:2" {
            true => Some(Err(-32002)),
            false => legacy_answer(message),
        }
    })
    .await;
    let interest = ChangeFilter::new().resource("a:1").resource("a:2");
    let error = client.subscribe(interest).await.unwrap_err();
    assert_eq!(error.error_response().unwrap().code, -32002);
    settle().await;
    assert_eq!(uris(&scripted, "resources/unsubscribe"), ["a:1"]);
}
