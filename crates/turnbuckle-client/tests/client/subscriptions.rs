//! Subscriptions to changes in both eras, with reconnects.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::scripted_server::{Answer, ERAS, builder, connect_to, modern, scripted_peer, settle};
use serde_json::{Value, json};
use turnbuckle_client::{
    ChangeFilter, Client, ClientBuilder, EraPreference, Error, ReconnectPolicy, Subscription,
};
use turnbuckle_it::peer::{Peer, PeerConnectors, ReceivedMessage};
use turnbuckle_server::{Args, HandlerContext, ReadRequest, Resource, Server, Tool};
use turnbuckle_session::handler::Change;
use turnbuckle_session::transport::Timeouts;

const ID: &str = "io.modelcontextprotocol/subscriptionId";

pub(crate) fn update_of(uri: &str) -> Change {
    Change::Resource(uri.into())
}

/// Returns the changes that can be read now.
pub(crate) async fn news(subscription: &mut Subscription) -> Vec<Change> {
    settle().await;
    let mut news = Vec::new();
    while let Ok(change) = tokio::time::timeout(Duration::ZERO, subscription.next()).await {
        news.extend(change);
        if subscription.close_reason().is_some() {
            break;
        }
    }
    news
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Nothing {}

#[tokio::test(start_paused = true)]
async fn a_subscription_reports_changes_in_both_eras() {
    for era in ERAS {
        let server = Server::new("s", "1")
            .dynamic_tools()
            .dynamic_prompts()
            .resource(
                Resource::builder("a:b", "r")
                    .handler(async |_: ReadRequest, _: HandlerContext| "text"),
            )
            .dynamic_resources();
        let server = Arc::new(server.build().unwrap());
        let client = connect_to(&server, builder().era(era)).await;
        let interest = ChangeFilter::new().tools().resources().resource("a:b");
        let mut subscription = client.subscribe(interest.clone()).await.unwrap();
        assert_eq!(subscription.acknowledged_filter(), interest);
        assert_eq!(news(&mut subscription).await, []);

        server
            .add_tool(
                Tool::builder("t")
                    .handler(async |Args(_): Args<Nothing>, _: HandlerContext| "done"),
            )
            .unwrap();
        server.notify_resource_updated("a:b");
        server.notify_resource_updated("a:other");
        server.notify_prompts_changed();
        assert_eq!(
            news(&mut subscription).await,
            [Change::Tools, update_of("a:b")]
        );
        // Equal changes before the next read count once.
        for _ in 0..5 {
            server.notify_resources_changed();
            server.notify_resource_updated("a:b");
            settle().await;
        }
        assert_eq!(
            news(&mut subscription).await,
            [Change::Resources, update_of("a:b")]
        );
        client.close().await;
        assert_eq!(subscription.next().await, None);
        assert!(matches!(subscription.close_reason(), Some(Error::Closed)));
    }
}

/// Connects to a scripted modern server that answers nothing by itself.
async fn silent(builder: ClientBuilder) -> (Client, Peer) {
    modern(builder, |_, _| None).await
}

fn listens(scripted: &Peer) -> Vec<ReceivedMessage> {
    scripted.messages_of("subscriptions/listen")
}

/// Acknowledges the newest stream.
fn acknowledge(scripted: &Peer, honoured: Value) -> Value {
    let id = listens(scripted).last().unwrap().id().clone();
    scripted.notify(
        "notifications/subscriptions/acknowledged",
        json!({"notifications": honoured, "_meta": {ID: id}}),
    );
    id
}

/// Subscribes to changes that the scripted server then acknowledges.
async fn subscribe(
    client: &Client,
    scripted: &Peer,
    interest: ChangeFilter,
) -> (Subscription, Value) {
    let (client, before) = (client.clone(), listens(scripted).len());
    let subscribing = tokio::spawn(async move { client.subscribe(interest).await });
    settle().await;
    assert_eq!(listens(scripted).len(), before + 1);
    let wanted = listens(scripted)[before].message["params"]["notifications"].clone();
    assert!(!subscribing.is_finished(), "it was not acknowledged");
    let id = acknowledge(scripted, wanted);
    (subscribing.await.unwrap().unwrap(), id)
}

// requirement: 5d0dfbd353a9 d0e42bb0b1e2
#[tokio::test(start_paused = true)]
async fn streams_are_told_apart_by_their_ids() {
    let (client, scripted) = silent(builder()).await;
    let (mut one, first) =
        subscribe(&client, &scripted, ChangeFilter::new().tools().prompts()).await;
    let (mut two, second) = subscribe(&client, &scripted, ChangeFilter::new().tools()).await;
    assert_eq!(
        listens(&scripted)[0].message["params"]["notifications"],
        json!({"toolsListChanged": true, "promptsListChanged": true})
    );
    scripted.notify(
        "notifications/tools/list_changed",
        json!({"_meta": {ID: first}}),
    );
    assert_eq!(news(&mut one).await, [Change::Tools]);
    assert_eq!(news(&mut two).await, []);
    // Changes outside the filter, and of unknown streams, are not reported.
    scripted.notify(
        "notifications/prompts/list_changed",
        json!({"_meta": {ID: second}}),
    );
    scripted.notify(
        "notifications/tools/list_changed",
        json!({"_meta": {ID: "other"}}),
    );
    assert_eq!(news(&mut one).await, []);
    assert_eq!(news(&mut two).await, []);
    // A change without a stream id is reported to all.
    scripted.notify("notifications/tools/list_changed", json!({}));
    assert_eq!(news(&mut one).await, [Change::Tools]);
    assert_eq!(news(&mut two).await, [Change::Tools]);

    drop(one);
    settle().await;
    let cancelled = scripted.messages_of("notifications/cancelled");
    assert_eq!(cancelled.len(), 1);
    assert_eq!(cancelled[0].message["params"]["requestId"], first);
    scripted.notify(
        "notifications/tools/list_changed",
        json!({"_meta": {ID: second}}),
    );
    assert_eq!(news(&mut two).await, [Change::Tools]);
}

#[tokio::test(start_paused = true)]
async fn an_update_of_a_part_is_reported_for_the_subscribed_resource() {
    let (client, scripted) = silent(builder()).await;
    let interest = ChangeFilter::new()
        .resource("file:///a")
        .resource("file:///b");
    let (mut subscription, id) = subscribe(&client, &scripted, interest).await;
    for uri in ["file:///a/part", "file:///bc"] {
        scripted.notify(
            "notifications/resources/updated",
            json!({"uri": uri, "_meta": {ID: id}}),
        );
    }
    assert_eq!(news(&mut subscription).await, [update_of("file:///a")]);
}

// requirement: 1a6d46fe774b
#[tokio::test(start_paused = true)]
async fn the_acknowledged_filter_is_reported_and_an_empty_one_is_an_error() {
    let (client, scripted) = silent(builder()).await;
    let ask = |interest: ChangeFilter| {
        let client = client.clone();
        tokio::spawn(async move { client.subscribe(interest).await })
    };
    let subscribing = ask(ChangeFilter::new().tools().resource("a:b").resource("a:c"));
    settle().await;
    acknowledge(
        &scripted,
        json!({"resourceSubscriptions": ["a:c", "a:unasked"]}),
    );
    let subscription = subscribing.await.unwrap().unwrap();
    assert_eq!(
        subscription.acknowledged_filter(),
        ChangeFilter::new().resource("a:c")
    );

    let subscribing = ask(ChangeFilter::new().prompts());
    settle().await;
    acknowledge(&scripted, json!({"toolsListChanged": true}));
    let error = subscribing.await.unwrap().unwrap_err();
    assert!(matches!(error, Error::Unsupported { .. }), "{error}");
    settle().await;
    assert_eq!(scripted.messages_of("notifications/cancelled").len(), 1);

    let error = client.subscribe(ChangeFilter::new()).await.unwrap_err();
    assert!(matches!(error, Error::InvalidRequest(_)), "{error}");
}

#[tokio::test(start_paused = true)]
async fn an_unacknowledged_stream_fails_the_subscription() {
    let (short, long) = (Duration::from_secs(3), Duration::from_secs(9));
    for (silence, total, error) in [
        (
            Some(short),
            Some(long),
            "no answer within 3s of silence (Timeouts::idle_timeout)",
        ),
        (
            Some(long),
            Some(short),
            "no answer within 3s (Timeouts::total_timeout)",
        ),
        (
            None,
            Some(short),
            "no answer within 3s (Timeouts::total_timeout)",
        ),
        (
            Some(short),
            None,
            "no answer within 3s of silence (Timeouts::idle_timeout)",
        ),
    ] {
        let patience = Timeouts::new().idle_timeout(silence).total_timeout(total);
        let (client, scripted) = silent(builder().timeouts(patience)).await;
        let late = client
            .subscribe(ChangeFilter::new().tools())
            .await
            .unwrap_err();
        assert_eq!(late.to_string(), error);
        settle().await;
        assert_eq!(scripted.messages_of("notifications/cancelled").len(), 1);
    }

    let (client, _scripted) = modern(builder(), |_, _| Some(Err(-32601))).await;
    let error = client
        .subscribe(ChangeFilter::new().tools())
        .await
        .unwrap_err();
    assert_eq!(error.error_response().unwrap().code, -32601);

    let (client, _scripted) = modern(builder(), |_, _| Some(Ok(json!({})))).await;
    let error = client
        .subscribe(ChangeFilter::new().tools())
        .await
        .unwrap_err();
    assert!(matches!(error, Error::InvalidResult { .. }), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_the_server_ends_is_opened_again() {
    let (client, scripted) = silent(builder()).await;
    let interest = ChangeFilter::new().tools().resource("a:b");
    let (mut subscription, id) = subscribe(&client, &scripted, interest).await;
    let end = |id: &Value| {
        scripted.send(json!({"jsonrpc": "2.0", "id": id,
            "result": {"resultType": "complete", "_meta": {ID: id}}}));
    };
    end(&id);
    settle().await;
    assert_eq!(listens(&scripted).len(), 2);
    // Once the server reports changes again, any of them may have been missed.
    assert_eq!(news(&mut subscription).await, []);
    let second = acknowledge(&scripted, json!({"toolsListChanged": true}));
    assert_ne!(id, second);
    let missed = [Change::Tools, update_of("a:b")];
    assert_eq!(news(&mut subscription).await, missed);

    // By a notification, and then the result.
    scripted.notify("notifications/cancelled", json!({"requestId": second}));
    tokio::time::sleep(Duration::from_millis(500)).await;
    end(&second);
    tokio::time::sleep(Duration::from_millis(150)).await;
    assert_eq!(listens(&scripted).len(), 3);
    assert!(scripted.messages_of("notifications/cancelled").is_empty());
    let third = acknowledge(&scripted, json!({"toolsListChanged": true}));
    assert_eq!(news(&mut subscription).await, missed);

    // By a notification alone.
    scripted.notify("notifications/cancelled", json!({"requestId": third}));
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(listens(&scripted).len(), 4);
    assert_eq!(scripted.connection_count(), 1);
}

#[tokio::test(start_paused = true)]
async fn the_cache_is_invalidated_when_changes_may_have_been_missed() {
    let (client, scripted) = modern(builder(), |_, message| match message["method"].as_str() {
        Some("tools/list" | "resources/read") => Some(Ok(json!({"resultType": "complete",
            "ttlMs": 600_000, "cacheScope": "private", "tools": [], "contents": []}))),
        _ => None,
    })
    .await;
    let ask = async || {
        client.list_tools().fetch_all().await.unwrap();
        client.read_resource("a:/b/c").await.unwrap();
        ["tools/list", "resources/read"].map(|method| scripted.messages_of(method).len())
    };
    let interest = ChangeFilter::new().tools().resource("a:/b");
    let (mut subscription, id) = subscribe(&client, &scripted, interest.clone()).await;
    assert_eq!(ask().await, [1, 1]);
    assert_eq!(ask().await, [1, 1]);
    scripted.send(json!({"jsonrpc": "2.0", "id": id, "result": {"resultType": "complete"}}));
    settle().await;
    acknowledge(
        &scripted,
        listens(&scripted)[1].message["params"]["notifications"].clone(),
    );
    assert_eq!(news(&mut subscription).await, interest.changes());
    assert_eq!(ask().await, [2, 2]);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_keeps_ending_streams_exhausts_the_reconnects() {
    let (client, scripted) = silent(builder()).await;
    let (mut subscription, first) =
        subscribe(&client, &scripted, ChangeFilter::new().tools()).await;
    let mut id = first;
    for _ in 0..5 {
        scripted.send(json!({"jsonrpc": "2.0", "id": id, "result": {}}));
        tokio::time::sleep(Duration::from_secs(2)).await;
        id = acknowledge(&scripted, json!({"toolsListChanged": true}));
        assert_eq!(news(&mut subscription).await, [Change::Tools]);
    }
    scripted.send(json!({"jsonrpc": "2.0", "id": id, "result": {}}));
    assert_eq!(subscription.next().await, None);
    let error = subscription.close_reason().unwrap();
    assert!(
        matches!(error, Error::ReconnectsExhausted { attempts: 5, .. }),
        "{error}"
    );
    assert_eq!(listens(&scripted).len(), 6);
}

// requirement: 722e352b4a37
#[tokio::test(start_paused = true)]
async fn a_lost_connection_is_replaced_and_subscribed_again() {
    let (client, scripted) = silent(builder()).await;
    let (mut subscription, _) = subscribe(&client, &scripted, ChangeFilter::new().tools()).await;
    scripted.disconnect();
    settle().await;
    assert_eq!(
        (scripted.connection_count(), listens(&scripted).len()),
        (2, 2)
    );
    assert_eq!(news(&mut subscription).await, []);
    let id = acknowledge(&scripted, json!({"toolsListChanged": true}));
    assert_eq!(news(&mut subscription).await, [Change::Tools]);
    scripted.notify(
        "notifications/tools/list_changed",
        json!({"_meta": {ID: id}}),
    );
    assert_eq!(news(&mut subscription).await, [Change::Tools]);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_stays_away_ends_the_subscription_with_its_reason() {
    let down = Arc::new(AtomicBool::new(false));
    let is_down = down.clone();
    let builder = builder().reconnect_policy(ReconnectPolicy::new().max_attempts(3));
    let script = move |_: usize, message: &Value| -> Answer {
        match message["method"].as_str() {
            Some("server/discover") if is_down.load(Ordering::Relaxed) => Some(Err(-32000)),
            Some("server/discover") => Some(Ok(json!({"supportedVersions": ["2026-07-28"],
                "capabilities": {}}))),
            _ => None,
        }
    };
    let scripted = scripted_peer(script);
    let client = builder
        .era(EraPreference::Modern)
        .connect(scripted.lines())
        .await
        .unwrap();
    let (mut subscription, _) = subscribe(&client, &scripted, ChangeFilter::new().tools()).await;
    down.store(true, Ordering::Relaxed);
    scripted.disconnect();
    assert_eq!(subscription.next().await, None);
    let error = subscription.close_reason().unwrap();
    assert!(
        matches!(
            error,
            Error::NeedsHandshake | Error::ReconnectsExhausted { .. }
        ),
        "{error}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_flood_of_notifications_is_coalesced() {
    let (client, scripted) = silent(builder()).await;
    let interest = ChangeFilter::new().tools().resource("a:b");
    let (mut subscription, id) = subscribe(&client, &scripted, interest).await;
    for n in 0..20_000 {
        let uri = match n % 2 {
            0 => "a:b".to_owned(),
            _ => format!("a:{n}"),
        };
        scripted.notify(
            "notifications/resources/updated",
            json!({"uri": uri, "_meta": {ID: id}}),
        );
        scripted.notify(
            "notifications/tools/list_changed",
            json!({"_meta": {ID: id}}),
        );
    }
    settle().await;
    let read = news(&mut subscription).await;
    assert_eq!(read, [Change::Tools, update_of("a:b")]);
}

#[tokio::test(start_paused = true)]
async fn a_thousand_subscriptions_leave_nothing() {
    for era in ERAS {
        let server = Server::new("s", "1")
            .resource(
                Resource::builder("a:b", "r")
                    .handler(async |_: ReadRequest, _: HandlerContext| "text"),
            )
            .dynamic_resources();
        let server = Arc::new(server.build().unwrap());
        let client = connect_to(&server, builder().era(era)).await;
        let metrics = tokio::runtime::Handle::current().metrics();
        settle().await;
        let before = metrics.num_alive_tasks();
        for n in 0..1000 {
            let interest = ChangeFilter::new().resources().resource("a:b");
            let subscription = client.subscribe(interest).await.unwrap();
            if n % 2 == 0 {
                settle().await;
            }
            drop(subscription);
        }
        settle().await;
        assert_eq!(metrics.num_alive_tasks(), before);
        // The last subscription still gets changes.
        let mut subscription = client
            .subscribe(ChangeFilter::new().resource("a:b"))
            .await
            .unwrap();
        server.notify_resource_updated("a:b");
        assert_eq!(news(&mut subscription).await, [update_of("a:b")]);
        client.close().await;
    }
}
