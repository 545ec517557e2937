//! Hearing of changes, in both eras, from servers that stay and servers that do not.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::by_hand::{Answer, ByHand, Desk, ERAS, builder, modern, served, settle};
use serde_json::{Value, json};
use turnbuckle_client::{Client, ClientBuilder, Era, Error, Interest, Reconnects, Subscription};
use turnbuckle_server::{Args, Context, Reading, Resource, Server, Tool};
use turnbuckle_session::{Change, Patience};

const ID: &str = "io.modelcontextprotocol/subscriptionId";

pub(crate) fn of(uri: &str) -> Change {
    Change::Resource(uri.into())
}

/// What can be read now.
pub(crate) async fn news(subscription: &mut Subscription) -> Vec<Change> {
    settle().await;
    let mut news = Vec::new();
    while let Ok(change) = tokio::time::timeout(Duration::ZERO, subscription.next()).await {
        news.extend(change);
        if subscription.closed_because().is_some() {
            break;
        }
    }
    news
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Nothing {}

#[tokio::test(start_paused = true)]
async fn the_same_subscription_hears_of_changes_in_both_eras() {
    for era in ERAS {
        let server = Server::new("s", "1")
            .dynamic_tools()
            .dynamic_prompts()
            .resource(Resource::builder("a:b", "r").handler(async |_: Reading, _: Context| "text"))
            .dynamic_resources();
        let server = Arc::new(server.build().unwrap());
        let client = served(&server, builder().era(era)).await;
        let interest = Interest::new().tools().resources().resource("a:b");
        let mut subscription = client.subscribe(interest.clone()).await.unwrap();
        assert_eq!(subscription.honoured(), interest);
        assert_eq!(news(&mut subscription).await, []);

        server
            .add_tool(Tool::builder("t").handler(async |Args(_): Args<Nothing>, _: Context| "done"))
            .unwrap();
        server.resource_updated("a:b");
        server.resource_updated("a:other");
        server.prompts_changed();
        assert_eq!(news(&mut subscription).await, [Change::Tools, of("a:b")]);
        // Whatever happens again before it is read counts once.
        for _ in 0..5 {
            server.resources_changed();
            server.resource_updated("a:b");
            settle().await;
        }
        assert_eq!(
            news(&mut subscription).await,
            [Change::Resources, of("a:b")]
        );
        client.close().await;
        assert_eq!(subscription.next().await, None);
        assert!(matches!(subscription.closed_because(), Some(Error::Closed)));
    }
}

/// A modern server that answers nothing by itself.
async fn silent(builder: ClientBuilder) -> (Client, Desk) {
    modern(builder, |_, _| None).await
}

fn listens(desk: &Desk) -> Vec<Value> {
    desk.told_of("subscriptions/listen")
}

/// Honours the newest stream.
fn acknowledge(desk: &Desk, honoured: Value) -> Value {
    let id = listens(desk).last().unwrap()["id"].clone();
    desk.notify(
        "notifications/subscriptions/acknowledged",
        json!({"notifications": honoured, "_meta": {ID: id}}),
    );
    id
}

/// Subscribes to what the scripted server then honours.
async fn subscribe(client: &Client, desk: &Desk, interest: Interest) -> (Subscription, Value) {
    let (client, before) = (client.clone(), listens(desk).len());
    let subscribing = tokio::spawn(async move { client.subscribe(interest).await });
    settle().await;
    assert_eq!(listens(desk).len(), before + 1);
    let wanted = listens(desk)[before]["params"]["notifications"].clone();
    assert!(!subscribing.is_finished(), "it was not acknowledged");
    let id = acknowledge(desk, wanted);
    (subscribing.await.unwrap().unwrap(), id)
}

// requirement: 5d0dfbd353a9 d0e42bb0b1e2
#[tokio::test(start_paused = true)]
async fn streams_are_told_apart_by_their_ids() {
    let (client, desk) = silent(builder()).await;
    let (mut one, first) = subscribe(&client, &desk, Interest::new().tools().prompts()).await;
    let (mut two, second) = subscribe(&client, &desk, Interest::new().tools()).await;
    assert_eq!(
        listens(&desk)[0]["params"]["notifications"],
        json!({"toolsListChanged": true, "promptsListChanged": true})
    );
    desk.notify(
        "notifications/tools/list_changed",
        json!({"_meta": {ID: first}}),
    );
    assert_eq!(news(&mut one).await, [Change::Tools]);
    assert_eq!(news(&mut two).await, []);
    // What a stream did not ask for is not told, and neither is what belongs to none.
    desk.notify(
        "notifications/prompts/list_changed",
        json!({"_meta": {ID: second}}),
    );
    desk.notify(
        "notifications/tools/list_changed",
        json!({"_meta": {ID: "other"}}),
    );
    assert_eq!(news(&mut one).await, []);
    assert_eq!(news(&mut two).await, []);
    // Where a server does not say which stream is meant, all are.
    desk.notify("notifications/tools/list_changed", json!({}));
    assert_eq!(news(&mut one).await, [Change::Tools]);
    assert_eq!(news(&mut two).await, [Change::Tools]);

    drop(one);
    settle().await;
    let cancelled = desk.told_of("notifications/cancelled");
    assert_eq!(cancelled.len(), 1);
    assert_eq!(cancelled[0]["params"]["requestId"], first);
    desk.notify(
        "notifications/tools/list_changed",
        json!({"_meta": {ID: second}}),
    );
    assert_eq!(news(&mut two).await, [Change::Tools]);
}

#[tokio::test(start_paused = true)]
async fn a_change_of_a_part_is_one_of_the_whole() {
    let (client, desk) = silent(builder()).await;
    let interest = Interest::new().resource("file:///a").resource("file:///b");
    let (mut subscription, id) = subscribe(&client, &desk, interest).await;
    for uri in ["file:///a/part", "file:///bc"] {
        desk.notify(
            "notifications/resources/updated",
            json!({"uri": uri, "_meta": {ID: id}}),
        );
    }
    assert_eq!(news(&mut subscription).await, [of("file:///a")]);
}

// requirement: 1a6d46fe774b
#[tokio::test(start_paused = true)]
async fn what_a_server_honours_is_told_and_nothing_at_all_is_an_error() {
    let (client, desk) = silent(builder()).await;
    let ask = |interest: Interest| {
        let client = client.clone();
        tokio::spawn(async move { client.subscribe(interest).await })
    };
    let subscribing = ask(Interest::new().tools().resource("a:b").resource("a:c"));
    settle().await;
    acknowledge(
        &desk,
        json!({"resourceSubscriptions": ["a:c", "a:unasked"]}),
    );
    let subscription = subscribing.await.unwrap().unwrap();
    assert_eq!(subscription.honoured(), Interest::new().resource("a:c"));

    let subscribing = ask(Interest::new().prompts());
    settle().await;
    acknowledge(&desk, json!({"toolsListChanged": true}));
    let error = subscribing.await.unwrap().unwrap_err();
    assert!(matches!(error, Error::Unsupported { .. }), "{error}");
    settle().await;
    assert_eq!(desk.told_of("notifications/cancelled").len(), 1);

    let error = client.subscribe(Interest::new()).await.unwrap_err();
    assert!(matches!(error, Error::Unwritable(_)), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_is_not_acknowledged_or_refused_is_no_subscription() {
    let (short, long) = (Duration::from_secs(3), Duration::from_secs(9));
    for (silence, total, error) in [
        (
            Some(short),
            Some(long),
            "no answer within 3s of silence (Patience::silence)",
        ),
        (
            Some(long),
            Some(short),
            "no answer within 3s (Patience::total)",
        ),
        (None, Some(short), "no answer within 3s (Patience::total)"),
        (
            Some(short),
            None,
            "no answer within 3s of silence (Patience::silence)",
        ),
    ] {
        let patience = Patience::new().silence(silence).total(total);
        let (client, desk) = silent(builder().patience(patience)).await;
        let late = client.subscribe(Interest::new().tools()).await.unwrap_err();
        assert_eq!(late.to_string(), error);
        settle().await;
        assert_eq!(desk.told_of("notifications/cancelled").len(), 1);
    }

    let (client, _desk) = modern(builder(), |_, _| Some(Err(-32601))).await;
    let error = client.subscribe(Interest::new().tools()).await.unwrap_err();
    assert_eq!(error.refusal().unwrap().code, -32601);

    let (client, _desk) = modern(builder(), |_, _| Some(Ok(json!({})))).await;
    let error = client.subscribe(Interest::new().tools()).await.unwrap_err();
    assert!(matches!(error, Error::InvalidResult { .. }), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_the_server_ends_is_opened_again() {
    let (client, desk) = silent(builder()).await;
    let interest = Interest::new().tools().resource("a:b");
    let (mut subscription, id) = subscribe(&client, &desk, interest).await;
    let end = |id: &Value| {
        desk.say(json!({"jsonrpc": "2.0", "id": id,
            "result": {"resultType": "complete", "_meta": {ID: id}}}));
    };
    end(&id);
    settle().await;
    assert_eq!(listens(&desk).len(), 2);
    // Until the server tells again nothing is known; then anything may have been missed.
    assert_eq!(news(&mut subscription).await, []);
    let second = acknowledge(&desk, json!({"toolsListChanged": true}));
    assert_ne!(id, second);
    let missed = [Change::Tools, of("a:b")];
    assert_eq!(news(&mut subscription).await, missed);

    // By a notification, and then the result.
    desk.notify("notifications/cancelled", json!({"requestId": second}));
    tokio::time::sleep(Duration::from_millis(500)).await;
    end(&second);
    tokio::time::sleep(Duration::from_millis(150)).await;
    assert_eq!(listens(&desk).len(), 3);
    assert_eq!(desk.told_of("notifications/cancelled"), [] as [Value; 0]);
    let third = acknowledge(&desk, json!({"toolsListChanged": true}));
    assert_eq!(news(&mut subscription).await, missed);

    // By a notification alone.
    desk.notify("notifications/cancelled", json!({"requestId": third}));
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(listens(&desk).len(), 4);
    assert_eq!(desk.connections(), 1);
}

#[tokio::test(start_paused = true)]
async fn what_was_kept_is_asked_for_anew_once_something_may_have_been_missed() {
    let (client, desk) = modern(builder(), |_, message| match message["method"].as_str() {
        Some("tools/list" | "resources/read") => Some(Ok(json!({"resultType": "complete",
            "ttlMs": 600_000, "cacheScope": "private", "tools": [], "contents": []}))),
        _ => None,
    })
    .await;
    let ask = async || {
        client.list_tools().all().await.unwrap();
        client.read("a:/b/c").await.unwrap();
        ["tools/list", "resources/read"].map(|method| desk.told_of(method).len())
    };
    let interest = Interest::new().tools().resource("a:/b");
    let (mut subscription, id) = subscribe(&client, &desk, interest.clone()).await;
    assert_eq!(ask().await, [1, 1]);
    assert_eq!(ask().await, [1, 1]);
    desk.say(json!({"jsonrpc": "2.0", "id": id, "result": {"resultType": "complete"}}));
    settle().await;
    acknowledge(&desk, listens(&desk)[1]["params"]["notifications"].clone());
    assert_eq!(news(&mut subscription).await, interest.changes());
    assert_eq!(ask().await, [2, 2]);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_keeps_ending_streams_is_given_up() {
    let (client, desk) = silent(builder()).await;
    let (mut subscription, first) = subscribe(&client, &desk, Interest::new().tools()).await;
    let mut id = first;
    for _ in 0..5 {
        desk.say(json!({"jsonrpc": "2.0", "id": id, "result": {}}));
        tokio::time::sleep(Duration::from_secs(2)).await;
        id = acknowledge(&desk, json!({"toolsListChanged": true}));
        assert_eq!(news(&mut subscription).await, [Change::Tools]);
    }
    desk.say(json!({"jsonrpc": "2.0", "id": id, "result": {}}));
    assert_eq!(subscription.next().await, None);
    let error = subscription.closed_because().unwrap();
    assert!(
        matches!(error, Error::GivenUp { attempts: 5, .. }),
        "{error}"
    );
    assert_eq!(listens(&desk).len(), 6);
}

// requirement: 722e352b4a37
#[tokio::test(start_paused = true)]
async fn a_lost_connection_is_subscribed_on_again() {
    let (client, desk) = silent(builder()).await;
    let (mut subscription, _) = subscribe(&client, &desk, Interest::new().tools()).await;
    desk.hang_up();
    settle().await;
    assert_eq!((desk.connections(), listens(&desk).len()), (2, 2));
    assert_eq!(news(&mut subscription).await, []);
    let id = acknowledge(&desk, json!({"toolsListChanged": true}));
    assert_eq!(news(&mut subscription).await, [Change::Tools]);
    desk.notify(
        "notifications/tools/list_changed",
        json!({"_meta": {ID: id}}),
    );
    assert_eq!(news(&mut subscription).await, [Change::Tools]);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_stays_away_ends_the_subscription_with_its_reason() {
    let down = Arc::new(AtomicBool::new(false));
    let is_down = down.clone();
    let builder = builder().reconnects(Reconnects::new().attempts(3));
    let script = move |_: usize, message: &Value| -> Answer {
        match message["method"].as_str() {
            Some("server/discover") if is_down.load(Ordering::Relaxed) => Some(Err(-32000)),
            Some("server/discover") => Some(Ok(json!({"supportedVersions": ["2026-07-28"],
                "capabilities": {}}))),
            _ => None,
        }
    };
    let (by_hand, desk) = ByHand::new(script);
    let client = builder.era(Era::Modern).connect(by_hand).await.unwrap();
    let (mut subscription, _) = subscribe(&client, &desk, Interest::new().tools()).await;
    down.store(true, Ordering::Relaxed);
    desk.hang_up();
    assert_eq!(subscription.next().await, None);
    let error = subscription.closed_because().unwrap();
    assert!(
        matches!(error, Error::Incompatible { .. } | Error::GivenUp { .. }),
        "{error}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_flood_of_notifications_leaves_no_more_than_was_asked_for() {
    let (client, desk) = silent(builder()).await;
    let interest = Interest::new().tools().resource("a:b");
    let (mut subscription, id) = subscribe(&client, &desk, interest).await;
    for n in 0..20_000 {
        let uri = match n % 2 {
            0 => "a:b".to_owned(),
            _ => format!("a:{n}"),
        };
        desk.notify(
            "notifications/resources/updated",
            json!({"uri": uri, "_meta": {ID: id}}),
        );
        desk.notify(
            "notifications/tools/list_changed",
            json!({"_meta": {ID: id}}),
        );
    }
    settle().await;
    let read = news(&mut subscription).await;
    assert_eq!(read, [Change::Tools, of("a:b")]);
}

#[tokio::test(start_paused = true)]
async fn a_thousand_subscriptions_leave_nothing() {
    for era in ERAS {
        let server = Server::new("s", "1")
            .resource(Resource::builder("a:b", "r").handler(async |_: Reading, _: Context| "text"))
            .dynamic_resources();
        let server = Arc::new(server.build().unwrap());
        let client = served(&server, builder().era(era)).await;
        let metrics = tokio::runtime::Handle::current().metrics();
        settle().await;
        let before = metrics.num_alive_tasks();
        for n in 0..1000 {
            let interest = Interest::new().resources().resource("a:b");
            let subscription = client.subscribe(interest).await.unwrap();
            if n % 2 == 0 {
                settle().await;
            }
            drop(subscription);
        }
        settle().await;
        assert_eq!(metrics.num_alive_tasks(), before);
        // And the last of them still hears.
        let mut subscription = client
            .subscribe(Interest::new().resource("a:b"))
            .await
            .unwrap();
        server.resource_updated("a:b");
        assert_eq!(news(&mut subscription).await, [of("a:b")]);
        client.close().await;
    }
}
