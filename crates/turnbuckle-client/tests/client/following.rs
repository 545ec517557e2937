//! Legacy subscriptions to single resources, which belong to the session.

use std::time::Duration;

use crate::by_hand::{Answer, ByHand, Desk, builder, legacy, settle};
use crate::subscriptions::{news, of};
use serde_json::{Value, json};
use turnbuckle_client::{Client, Era, Error, Interest, Subscription};
use turnbuckle_session::Change;

fn legacy_answer(message: &Value) -> Answer {
    message.get("id").map(|_| Ok(json!({})))
}

fn uris(desk: &Desk, method: &str) -> Vec<String> {
    let told = desk.told_of(method);
    let uri = |message: &Value| message["params"]["uri"].as_str().unwrap().to_owned();
    told.iter().map(uri).collect()
}

#[tokio::test(start_paused = true)]
async fn the_first_legacy_subscriber_subscribes_and_the_last_takes_it_back() {
    let (client, desk) = legacy(builder(), "2025-06-18", |_, m| legacy_answer(m)).await;
    let one = Interest::new().resource("a:1").resource("a:2");
    let one = client.subscribe(one).await.unwrap();
    let two = Interest::new().resource("a:2").tools();
    let mut two = client.subscribe(two).await.unwrap();
    assert_eq!(uris(&desk, "resources/subscribe"), ["a:1", "a:2"]);
    drop(one);
    settle().await;
    assert_eq!(uris(&desk, "resources/unsubscribe"), ["a:1"]);
    for uri in ["a:1", "a:2"] {
        desk.notify("notifications/resources/updated", json!({"uri": uri}));
    }
    desk.say(json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}));
    assert_eq!(news(&mut two).await, [Change::Tools, of("a:2")]);
    drop(two);
    let three = client.subscribe(Interest::new().resource("a:2")).await;
    settle().await;
    // Whichever came first: the server ends up with what is wanted.
    let told: Vec<_> = desk
        .told()
        .into_iter()
        .filter(|message| message["params"]["uri"] == "a:2")
        .map(|message| message["method"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(told.last().unwrap(), "resources/subscribe", "{told:?}");
    drop(three);
    settle().await;
    assert_eq!(uris(&desk, "resources/unsubscribe").last().unwrap(), "a:2");
}

/// A client of a server that does not answer who unsubscribes, and a subscription to a hundred.
async fn unheeding() -> (Client, Desk, Subscription) {
    let (client, desk) = legacy(builder(), "2025-11-25", |_, message| {
        match message["method"] == "resources/unsubscribe" {
            true => None,
            false => legacy_answer(message),
        }
    })
    .await;
    let interest = (0..100).fold(Interest::new(), |interest, n| {
        interest.resource(format!("a:{n}"))
    });
    let subscription = client.subscribe(interest).await.unwrap();
    (client, desk, subscription)
}

#[tokio::test(start_paused = true)]
async fn who_is_gone_waits_for_no_unsubscribing() {
    let metrics = tokio::runtime::Handle::current().metrics();
    let before = metrics.num_alive_tasks();
    let (client, desk, subscription) = unheeding().await;
    drop(subscription);
    settle().await;
    assert_eq!(uris(&desk, "resources/unsubscribe"), ["a:0"]);
    drop(client);
    settle().await;
    assert_eq!(metrics.num_alive_tasks(), before);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_heed_unsubscribing_is_left_with_it() {
    let (client, desk, subscription) = unheeding().await;
    drop(subscription);
    settle().await;
    let began = tokio::time::Instant::now();
    let interest = Interest::new().resource("a:50");
    let _subscription = client.subscribe(interest).await.unwrap();
    assert!(began.elapsed() <= Duration::from_secs(10));
    settle().await;
    assert_eq!(uris(&desk, "resources/unsubscribe"), ["a:0"]);
    // What nobody follows any more is subscribed to again. Of the other the server tells anyway.
    let interest = Interest::new().resource("a:60");
    let _other = client.subscribe(interest).await.unwrap();
    let subscribed = uris(&desk, "resources/subscribe");
    assert_eq!(subscribed.get(100..), Some(&["a:60".to_owned()][..]));
}

#[tokio::test(start_paused = true)]
async fn a_new_legacy_session_is_subscribed_in_again() {
    let (client, desk) = legacy(builder(), "2025-11-25", |_, m| legacy_answer(m)).await;
    let interest = Interest::new().prompts().resource("a:1");
    let mut one = client.subscribe(interest).await.unwrap();
    let mut two = client
        .subscribe(Interest::new().resource("a:1"))
        .await
        .unwrap();
    desk.hang_up();
    settle().await;
    assert_eq!(desk.connections(), 2);
    assert_eq!(news(&mut one).await, [Change::Prompts, of("a:1")]);
    assert_eq!(news(&mut two).await, [of("a:1")]);
    assert_eq!(uris(&desk, "resources/subscribe"), ["a:1", "a:1"]);
    drop(one);
    settle().await;
    assert_eq!(uris(&desk, "resources/unsubscribe"), [] as [&str; 0]);
    drop(two);
    settle().await;
    assert_eq!(uris(&desk, "resources/unsubscribe"), ["a:1"]);
}

#[tokio::test(start_paused = true)]
async fn a_legacy_server_that_declares_nothing_is_not_waited_for() {
    let (by_hand, desk) = ByHand::new(|_, message| match message["method"].as_str() {
        Some("initialize") => Some(Ok(json!({"protocolVersion": "2025-06-18",
            "capabilities": {"tools": {"listChanged": true}, "resources": {}},
            "serverInfo": {"name": "by hand", "version": "0"}}))),
        _ => legacy_answer(message),
    });
    let client = builder().era(Era::Legacy).connect(by_hand).await.unwrap();
    let error = client
        .subscribe(Interest::new().resource("a:b").resources())
        .await;
    assert!(matches!(error, Err(Error::Unsupported { .. })));
    let interest = Interest::new().resource("a:b").tools();
    let subscription = client.subscribe(interest).await.unwrap();
    assert_eq!(subscription.honoured(), Interest::new().tools());
    assert_eq!(uris(&desk, "resources/subscribe"), [] as [&str; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_refused_resource_refuses_the_subscription_and_leaves_nothing() {
    let (client, desk) = legacy(builder(), "2025-06-18", |_, message| {
        match message["params"]["uri"] == "a:2" {
            true => Some(Err(-32002)),
            false => legacy_answer(message),
        }
    })
    .await;
    let interest = Interest::new().resource("a:1").resource("a:2");
    let error = client.subscribe(interest).await.unwrap_err();
    assert_eq!(error.refusal().unwrap().code, -32002);
    settle().await;
    assert_eq!(uris(&desk, "resources/unsubscribe"), ["a:1"]);
}
