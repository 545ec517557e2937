//! Caching of results for as long as their server says.

use std::time::Duration;

use crate::scripted_server::{builder, legacy, modern, scripted_peer, settle};
use serde_json::{Value, json};
use turnbuckle_client::{Client, ClientBuilder};
use turnbuckle_it::peer::{Peer, PeerConnectors};
use turnbuckle_types::PaginatedRequestParams;
use turnbuckle_types::method::ListTools;

/// Connects to a server whose lists are cacheable for a second and public, and whose resources are private.
async fn connect_to_cacheable(builder: ClientBuilder) -> (Client, Peer) {
    modern(builder, |_, message| answer(message)).await
}

fn answer(message: &Value) -> crate::scripted_server::Answer {
    let mut result = json!({"resultType": "complete", "ttlMs": 1000, "cacheScope": "public",
        "tools": [], "prompts": [], "resources": [], "resourceTemplates": [], "contents": []});
    if message["method"] == "resources/read" {
        result["cacheScope"] = json!("private");
    }
    Some(Ok(result))
}

/// Returns the number of requests of each method.
fn count_requests(scripted: &Peer) -> [usize; 5] {
    [
        "tools/list",
        "prompts/list",
        "resources/list",
        "resources/templates/list",
        "resources/read",
    ]
    .map(|method| scripted.messages_of(method).len())
}

async fn ask_everything(client: &Client) {
    client.list_tools().fetch_all().await.unwrap();
    client.list_prompts().fetch_all().await.unwrap();
    client.list_resources().fetch_all().await.unwrap();
    client.list_resource_templates().fetch_all().await.unwrap();
    client.read_resource("a:b").await.unwrap();
}

// requirement: f587a7bd7acb
#[tokio::test(start_paused = true)]
async fn a_cached_result_is_used_until_it_expires() {
    let (client, scripted) = connect_to_cacheable(builder()).await;
    for _ in 0..3 {
        ask_everything(&client).await;
    }
    assert_eq!(count_requests(&scripted), [1; 5]);
    tokio::time::advance(Duration::from_millis(999)).await;
    ask_everything(&client).await;
    assert_eq!(count_requests(&scripted), [1; 5]);
    tokio::time::advance(Duration::from_millis(1)).await;
    ask_everything(&client).await;
    assert_eq!(count_requests(&scripted), [2; 5]);
    client.read_resource("a:b").bypass_cache().await.unwrap();
    assert_eq!(scripted.messages_of("resources/read").len(), 3);
}

// requirement: f6ca89ac035d
#[tokio::test(start_paused = true)]
async fn the_cache_key_ignores_meta_that_does_not_affect_results() {
    let (client, scripted) = connect_to_cacheable(builder()).await;
    client.read_resource("a:b").await.unwrap();
    client.read_resource("a:c").await.unwrap();
    assert_eq!(scripted.messages_of("resources/read").len(), 2);
    for cursor in [None, Some(""), Some("1")] {
        client.list_tools().page(cursor).await.unwrap();
    }
    assert_eq!(scripted.messages_of("tools/list").len(), 3);
    let list = async |meta: Value| {
        let mut params = PaginatedRequestParams::new().cursor("1");
        params.meta = serde_json::from_value(meta).unwrap();
        client.request::<ListTools>(params).await.unwrap();
        scripted.messages_of("tools/list").len()
    };
    let around = json!({"progressToken": 7, "traceparent": "t", "tracestate": "s", "baggage": "b",
        "io.modelcontextprotocol/logLevel": "info"});
    assert_eq!(list(around).await, 3);
    // Any other member may affect the result.
    for (tenant, expected) in [("a", 4), ("b", 5), ("a", 5)] {
        let meta = json!({"com.example/tenant": tenant, "traceparent": expected.to_string()});
        assert_eq!(list(meta).await, expected);
    }
}

#[tokio::test(start_paused = true)]
async fn change_notifications_invalidate_cached_results() {
    let (client, scripted) = connect_to_cacheable(builder()).await;
    ask_everything(&client).await;
    for (notice, params, expected) in [
        ("tools/list_changed", json!({}), [2, 1, 1, 1, 1]),
        ("prompts/list_changed", json!({}), [2, 2, 1, 1, 1]),
        ("resources/list_changed", json!({}), [2, 2, 2, 2, 1]),
        (
            "resources/updated",
            json!({"uri": "a:other"}),
            [2, 2, 2, 2, 1],
        ),
        ("resources/updated", json!({"uri": "a:b"}), [2, 2, 2, 2, 2]),
    ] {
        scripted.notify(&format!("notifications/{notice}"), params);
        settle().await;
        ask_everything(&client).await;
        assert_eq!(count_requests(&scripted), expected, "{notice}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_result_invalidated_while_in_flight_is_not_cached() {
    let (client, scripted) = modern(builder(), |_, message| match message["method"].as_str() {
        Some("tools/list") => None,
        _ => answer(message),
    })
    .await;
    let asking = tokio::spawn({
        let client = client.clone();
        async move { client.list_tools().fetch_all().await }
    });
    settle().await;
    let id = scripted.messages_of("tools/list")[0].id().clone();
    scripted.send(json!({"jsonrpc": "2.0", "id": id, "result": {"tools": [], "ttlMs": 60_000}}));
    scripted.notify("notifications/tools/list_changed", json!({}));
    asking.await.unwrap().unwrap();
    let again = client
        .list_tools()
        .idle_timeout(Duration::from_secs(1))
        .fetch_all()
        .await;
    assert!(again.unwrap_err().is_timeout());
    assert_eq!(scripted.messages_of("tools/list").len(), 2);
}

// requirement: 9f3807218cfa
#[tokio::test(start_paused = true)]
async fn private_results_are_cleared_for_another_user() {
    let (client, scripted) = connect_to_cacheable(builder()).await;
    ask_everything(&client).await;
    client.clear_private_cache();
    ask_everything(&client).await;
    assert_eq!(count_requests(&scripted), [1, 1, 1, 1, 2]);
}

#[tokio::test(start_paused = true)]
async fn nothing_is_cached_if_client_server_or_era_forbid_it() {
    let (client, scripted) = connect_to_cacheable(builder().cache(false)).await;
    ask_everything(&client).await;
    ask_everything(&client).await;
    assert_eq!(count_requests(&scripted), [2; 5]);

    for ttl in [json!(0), json!(-5), Value::Null] {
        let (client, scripted) = modern(builder(), move |_, message| {
            let mut answer = answer(message)?.ok()?;
            answer["ttlMs"] = ttl.clone();
            Some(Ok(answer))
        })
        .await;
        ask_everything(&client).await;
        ask_everything(&client).await;
        assert_eq!(count_requests(&scripted), [2; 5]);
    }

    let (client, scripted) = legacy(builder(), "2025-11-25", |_, message| answer(message)).await;
    ask_everything(&client).await;
    ask_everything(&client).await;
    assert_eq!(count_requests(&scripted), [2; 5]);
}

#[tokio::test(start_paused = true)]
async fn reconnecting_clears_the_cache_only_for_a_legacy_session() {
    let scripted = scripted_peer(|connection, message| {
        match (connection, message["method"].as_str()) {
            (1 | 2, Some("server/discover")) => Some(Ok(
                json!({"capabilities": {"tools": {}, "resources": {}, "prompts": {}},
                "supportedVersions": ["2026-07-28"]}),
            )),
            (_, Some("server/discover" | "prompts/get")) => Some(Err(-32601)),
            (_, Some("initialize")) => Some(Ok(json!({"protocolVersion": "2025-06-18",
                "capabilities": {"tools": {}, "resources": {}, "prompts": {}}, "serverInfo": {"name": "by hand", "version": "0"}}))),
            _ => answer(message),
        }
    });
    let client = builder().connect(scripted.lines()).await.unwrap();
    for (connection, expected) in [(1, 1), (2, 1), (3, 2)] {
        let _ = client.get_prompt("p", [("a", "b")]).await;
        assert_eq!(scripted.connection_count(), connection);
        client.list_tools().fetch_all().await.unwrap();
        assert_eq!(scripted.messages_of("tools/list").len(), expected);
        scripted.disconnect();
        settle().await;
    }
}

// requirement: 1a0779c065d3
#[tokio::test(start_paused = true)]
async fn a_result_of_several_rounds_is_not_cached() {
    let (client, scripted) = modern(builder(), |_, message| {
        match message["params"].get("requestState") {
            None => Some(Ok(
                json!({"resultType": "input_required", "requestState": "s"}),
            )),
            Some(_) => answer(message),
        }
    })
    .await;
    for expected in [2, 4] {
        client.read_resource("a:b").await.unwrap();
        assert_eq!(scripted.messages_of("resources/read").len(), expected);
    }
    // Nor is that of a caller who answers by hand.
    for expected in [5, 6] {
        let mut read = client.read_resource("a:b");
        read.params_mut().request_state = Some("s".into());
        read.await.unwrap();
        assert_eq!(scripted.messages_of("resources/read").len(), expected);
    }
}

#[tokio::test(start_paused = true)]
async fn the_cache_is_bounded() {
    let (client, scripted) = modern(builder(), |_, message| {
        let mut answer = answer(message)?.ok()?;
        answer["ttlMs"] = json!(u64::MAX);
        if message["params"]["uri"] == "a:large" {
            answer["padding"] = json!("x".repeat(9 << 20));
        }
        Some(Ok(answer))
    })
    .await;
    for n in 0..300 {
        client.read_resource(format!("a:{n}")).await.unwrap();
    }
    // The newest entries stay, the oldest were dropped.
    client.read_resource("a:299").await.unwrap();
    client.read_resource("a:44").await.unwrap();
    assert_eq!(scripted.messages_of("resources/read").len(), 300);
    client.read_resource("a:0").await.unwrap();
    assert_eq!(scripted.messages_of("resources/read").len(), 301);

    client.read_resource("a:large").await.unwrap();
    client.read_resource("a:large").await.unwrap();
    assert_eq!(scripted.messages_of("resources/read").len(), 303);
    client.read_resource("a:299").await.unwrap();
    assert_eq!(scripted.messages_of("resources/read").len(), 303);
}
