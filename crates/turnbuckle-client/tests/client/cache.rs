//! Results that are used again for as long as their server says.

use std::time::Duration;

use crate::by_hand::{ByHand, Desk, builder, legacy, modern, settle};
use serde_json::{Value, json};
use turnbuckle_client::{Client, ClientBuilder};
use turnbuckle_types::PaginatedParams;
use turnbuckle_types::method::ListTools;

/// A server whose lists may be used for a second by anybody, and whose resources by one.
async fn caching(builder: ClientBuilder) -> (Client, Desk) {
    modern(builder, |_, message| answer(message)).await
}

fn answer(message: &Value) -> crate::by_hand::Answer {
    let mut result = json!({"resultType": "complete", "ttlMs": 1000, "cacheScope": "public",
        "tools": [], "prompts": [], "resources": [], "resourceTemplates": [], "contents": []});
    if message["method"] == "resources/read" {
        result["cacheScope"] = json!("private");
    }
    Some(Ok(result))
}

/// How often each method was asked for.
fn asked(desk: &Desk) -> [usize; 5] {
    [
        "tools/list",
        "prompts/list",
        "resources/list",
        "resources/templates/list",
        "resources/read",
    ]
    .map(|method| desk.told_of(method).len())
}

async fn ask_everything(client: &Client) {
    client.list_tools().all().await.unwrap();
    client.list_prompts().all().await.unwrap();
    client.list_resources().all().await.unwrap();
    client.list_resource_templates().all().await.unwrap();
    client.read("a:b").await.unwrap();
}

// requirement: f587a7bd7acb
#[tokio::test(start_paused = true)]
async fn a_result_is_used_again_until_it_expires() {
    let (client, desk) = caching(builder()).await;
    for _ in 0..3 {
        ask_everything(&client).await;
    }
    assert_eq!(asked(&desk), [1; 5]);
    tokio::time::advance(Duration::from_millis(999)).await;
    ask_everything(&client).await;
    assert_eq!(asked(&desk), [1; 5]);
    tokio::time::advance(Duration::from_millis(1)).await;
    ask_everything(&client).await;
    assert_eq!(asked(&desk), [2; 5]);
    client.read("a:b").fresh().await.unwrap();
    assert_eq!(desk.told_of("resources/read").len(), 3);
}

// requirement: f6ca89ac035d
#[tokio::test(start_paused = true)]
async fn the_key_is_the_method_and_the_parameters_but_for_what_goes_round_them() {
    let (client, desk) = caching(builder()).await;
    client.read("a:b").await.unwrap();
    client.read("a:c").await.unwrap();
    assert_eq!(desk.told_of("resources/read").len(), 2);
    for cursor in [None, Some(""), Some("1")] {
        client.list_tools().page(cursor).await.unwrap();
    }
    assert_eq!(desk.told_of("tools/list").len(), 3);
    let list = async |meta: Value| {
        let mut params = PaginatedParams::new().cursor("1");
        params.meta = serde_json::from_value(meta).unwrap();
        client.request::<ListTools>(params).await.unwrap();
        desk.told_of("tools/list").len()
    };
    let around = json!({"progressToken": 7, "traceparent": "t", "tracestate": "s", "baggage": "b",
        "io.modelcontextprotocol/logLevel": "info"});
    assert_eq!(list(around).await, 3);
    // Anything else may be what the server looks at.
    for (tenant, expected) in [("a", 4), ("b", 5), ("a", 5)] {
        let meta = json!({"com.example/tenant": tenant, "traceparent": expected.to_string()});
        assert_eq!(list(meta).await, expected);
    }
}

#[tokio::test(start_paused = true)]
async fn notifications_make_what_they_name_stale() {
    let (client, desk) = caching(builder()).await;
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
        desk.notify(&format!("notifications/{notice}"), params);
        settle().await;
        ask_everything(&client).await;
        assert_eq!(asked(&desk), expected, "{notice}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_became_stale_while_it_was_on_its_way_is_not_kept() {
    let (client, desk) = modern(builder(), |_, message| match message["method"].as_str() {
        Some("tools/list") => None,
        _ => answer(message),
    })
    .await;
    let asking = tokio::spawn({
        let client = client.clone();
        async move { client.list_tools().all().await }
    });
    settle().await;
    let id = desk.told_of("tools/list")[0]["id"].clone();
    desk.say(json!({"jsonrpc": "2.0", "id": id, "result": {"tools": [], "ttlMs": 60_000}}));
    desk.notify("notifications/tools/list_changed", json!({}));
    asking.await.unwrap().unwrap();
    let again = client
        .list_tools()
        .timeout(Duration::from_secs(1))
        .all()
        .await;
    assert!(again.unwrap_err().is_timeout());
    assert_eq!(desk.told_of("tools/list").len(), 2);
}

// requirement: 9f3807218cfa
#[tokio::test(start_paused = true)]
async fn another_authorization_does_not_see_what_was_private() {
    let (client, desk) = caching(builder()).await;
    ask_everything(&client).await;
    client.authorization_changed();
    ask_everything(&client).await;
    assert_eq!(asked(&desk), [1, 1, 1, 1, 2]);
}

#[tokio::test(start_paused = true)]
async fn nothing_is_kept_if_the_client_or_the_server_or_the_era_does_not_want_it() {
    let (client, desk) = caching(builder().cache(false)).await;
    ask_everything(&client).await;
    ask_everything(&client).await;
    assert_eq!(asked(&desk), [2; 5]);

    for ttl in [json!(0), json!(-5), Value::Null] {
        let (client, desk) = modern(builder(), move |_, message| {
            let mut answer = answer(message)?.ok()?;
            answer["ttlMs"] = ttl.clone();
            Some(Ok(answer))
        })
        .await;
        ask_everything(&client).await;
        ask_everything(&client).await;
        assert_eq!(asked(&desk), [2; 5]);
    }

    let (client, desk) = legacy(builder(), "2025-11-25", |_, message| answer(message)).await;
    ask_everything(&client).await;
    ask_everything(&client).await;
    assert_eq!(asked(&desk), [2; 5]);
}

#[tokio::test(start_paused = true)]
async fn a_reconnection_keeps_what_is_kept_unless_it_opens_a_legacy_session() {
    let (by_hand, desk) = ByHand::new(|connection, message| {
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
    let client = builder().connect(by_hand).await.unwrap();
    for (connection, expected) in [(1, 1), (2, 1), (3, 2)] {
        let _ = client.prompt("p", [("a", "b")]).await;
        assert_eq!(desk.connections(), connection);
        client.list_tools().all().await.unwrap();
        assert_eq!(desk.told_of("tools/list").len(), expected);
        desk.hang_up();
        settle().await;
    }
}

// requirement: 1a0779c065d3
#[tokio::test(start_paused = true)]
async fn a_result_that_took_more_than_one_round_is_not_kept() {
    let (client, desk) = modern(builder(), |_, message| {
        match message["params"].get("requestState") {
            None => Some(Ok(
                json!({"resultType": "input_required", "requestState": "s"}),
            )),
            Some(_) => answer(message),
        }
    })
    .await;
    for expected in [2, 4] {
        client.read("a:b").await.unwrap();
        assert_eq!(desk.told_of("resources/read").len(), expected);
    }
    // Nor is that of a caller who answers by hand.
    for expected in [5, 6] {
        let mut read = client.read("a:b");
        read.params_mut().request_state = Some("s".into());
        read.await.unwrap();
        assert_eq!(desk.told_of("resources/read").len(), expected);
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_kept_has_bounds() {
    let (client, desk) = modern(builder(), |_, message| {
        let mut answer = answer(message)?.ok()?;
        answer["ttlMs"] = json!(u64::MAX);
        if message["params"]["uri"] == "a:large" {
            answer["padding"] = json!("x".repeat(9 << 20));
        }
        Some(Ok(answer))
    })
    .await;
    for n in 0..300 {
        client.read(format!("a:{n}")).await.unwrap();
    }
    // The newest are there, the oldest are not.
    client.read("a:299").await.unwrap();
    client.read("a:44").await.unwrap();
    assert_eq!(desk.told_of("resources/read").len(), 300);
    client.read("a:0").await.unwrap();
    assert_eq!(desk.told_of("resources/read").len(), 301);

    client.read("a:large").await.unwrap();
    client.read("a:large").await.unwrap();
    assert_eq!(desk.told_of("resources/read").len(), 303);
    client.read("a:299").await.unwrap();
    assert_eq!(desk.told_of("resources/read").len(), 303);
}
