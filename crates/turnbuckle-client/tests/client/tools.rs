//! Checks of structured content against output schemas.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::scripted_server::{Answer, builder, connect_to, legacy, modern, settle};
use serde_json::{Value, json};
use turnbuckle_client::{Client, EraPreference, Error};
use turnbuckle_it::peer::Peer;
use turnbuckle_server::{Args, HandlerContext, Server, Structured, Tool};
use turnbuckle_types::CallToolResult;
use turnbuckle_wire::revision::Revision;

fn schema() -> Value {
    json!({"type": "object", "properties": {"celsius": {"type": "number"}},
        "required": ["celsius"]})
}

fn list_with(schema: &Value) -> Answer {
    Some(Ok(
        json!({"tools": [{"name": "t", "inputSchema": {"type": "object"},
        "outputSchema": schema}]}),
    ))
}

/// Returns the arguments of a call as its result.
fn echo_arguments(message: &Value) -> Answer {
    let mut result = message["params"]["arguments"].clone();
    result["content"] = json!([]);
    Some(Ok(result))
}

async fn server(schema: Value) -> (Client, Peer) {
    modern(builder(), move |_, message| {
        match message["method"].as_str() {
            Some("tools/list") => list_with(&schema),
            _ => echo_arguments(message),
        }
    })
    .await
}

async fn call(client: &Client, result: Value) -> Result<CallToolResult, Error> {
    client.call_tool("t", &result).await
}

// requirement: 8395be1295f9 c5f77f44d53a
#[tokio::test(start_paused = true)]
async fn a_structured_result_must_fit_the_tools_output_schema() {
    let (client, _scripted) = server(schema()).await;
    let wrong = json!({"structuredContent": {"celsius": "warm"}});
    // The schema of a tool that was not listed is unknown.
    call(&client, wrong.clone()).await.unwrap();
    client.list_tools().fetch_all().await.unwrap();

    call(&client, json!({"structuredContent": {"celsius": 21.5}}))
        .await
        .unwrap();
    let error = call(&client, wrong).await.unwrap_err();
    let Error::OutputMismatch { tool, reason } = &error else {
        panic!("{error}")
    };
    assert_eq!(tool, "t");
    assert!(reason.starts_with("structuredContent.celsius"), "{reason}");

    let error = call(&client, json!({})).await.unwrap_err();
    assert!(matches!(error, Error::OutputMismatch { .. }), "{error}");
    for failed in [
        json!({"isError": true}),
        json!({"isError": true, "structuredContent": 1}),
    ] {
        let result = call(&client, failed).await.unwrap();
        assert_eq!(result.is_error, Some(true));
    }
}

// requirement: 3672ea9bb2ae 54e0a4a1fcae 64ac131fb73b b7ff0dfcc6cb bc9e73f6913b
#[tokio::test(start_paused = true)]
async fn an_unusable_output_schema_is_an_error() {
    let mut deep = json!({});
    for _ in 0..70 {
        deep = json!({"properties": {"a": deep}});
    }
    for schema in [
        json!({"$ref": "https://example.com/schema.json"}),
        json!({"$schema": "http://json-schema.org/draft-04/schema#", "type": "object"}),
        json!({"type": 5}),
        deep,
    ] {
        let (client, _scripted) = server(schema.clone()).await;
        client.list_tools().fetch_all().await.unwrap();
        let error = call(&client, json!({"structuredContent": {}}))
            .await
            .unwrap_err();
        assert!(
            matches!(&error, Error::UnusableOutputSchema { tool, .. } if tool == "t"),
            "{schema}: {error}"
        );
        call(&client, json!({"isError": true})).await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn revisions_without_structured_output_are_not_checked() {
    for (revision, checked) in [
        ("2024-11-05", false),
        ("2025-03-26", false),
        ("2025-06-18", true),
        ("2025-11-25", true),
    ] {
        let (client, _scripted) = legacy(builder(), revision, |_, message| match message["method"]
            .as_str()
        {
            Some("tools/list") => list_with(&schema()),
            _ => echo_arguments(message),
        })
        .await;
        client.list_tools().fetch_all().await.unwrap();
        let outcome = call(&client, json!({})).await;
        assert_eq!(outcome.is_err(), checked, "{revision}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_changed_is_listed_anew_before_its_result_is_refused() {
    let edition = Arc::new(AtomicUsize::new(0));
    let now = edition.clone();
    let (client, scripted) = modern(builder(), move |_, message| {
        match message["method"].as_str() {
            Some("tools/list") => list_with(&match now.load(Ordering::Relaxed) {
                0 => schema(),
                _ => json!({"required": ["kelvin"]}),
            }),
            _ => echo_arguments(message),
        }
    })
    .await;
    client.list_tools().fetch_all().await.unwrap();
    let newer = json!({"structuredContent": {"kelvin": 300}});
    call(&client, newer.clone()).await.unwrap_err();
    assert_eq!(scripted.messages_of("tools/list").len(), 1);

    edition.store(1, Ordering::Relaxed);
    scripted.notify("notifications/tools/list_changed", json!({}));
    settle().await;
    call(&client, newer.clone()).await.unwrap();
    call(&client, newer).await.unwrap();
    let error = call(&client, json!({"structuredContent": {"celsius": 1}}))
        .await
        .unwrap_err();
    assert!(matches!(error, Error::OutputMismatch { .. }));
    assert_eq!(scripted.messages_of("tools/list").len(), 2);
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Nothing {}

#[tokio::test(start_paused = true)]
async fn structured_content_that_is_not_an_object_arrives_unchanged() {
    let server = Server::new("s", "1")
        .tool(
            Tool::builder("t")
                .handler(async |Args(_): Args<Nothing>, _: HandlerContext| Structured(vec![1, 2])),
        )
        .build();
    let server = Arc::new(server.unwrap());
    for revision in Revision::ALL {
        let client = connect_to(&server, builder().era(EraPreference::Only(revision))).await;
        client.list_tools().fetch_all().await.unwrap();
        let result = call(&client, json!({})).await.unwrap();
        let structured = result
            .structured_content
            .map(|json| json.as_str().to_owned());
        match revision.features().structured_output {
            true => assert_eq!(structured.as_deref(), Some("[1,2]"), "{revision}"),
            false => assert_eq!(structured, None, "{revision}"),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn more_tools_than_are_kept_compiled_are_all_checked() {
    let (client, _scripted) = modern(builder(), |_, message| match message["method"].as_str() {
        Some("tools/list") => {
            let tools: Vec<Value> = (0..300)
                .map(|n| {
                    json!({"name": n.to_string(), "inputSchema": {"type": "object"},
                    "outputSchema": {"const": n}})
                })
                .collect();
            Some(Ok(json!({"tools": tools})))
        }
        _ => echo_arguments(message),
    })
    .await;
    client.list_tools().fetch_all().await.unwrap();
    for _ in 0..2 {
        for n in 0..300 {
            let right = json!({"structuredContent": n});
            client.call_tool(n.to_string(), &right).await.unwrap();
            let wrong = json!({"structuredContent": n + 1});
            client.call_tool(n.to_string(), &wrong).await.unwrap_err();
        }
    }
}

#[tokio::test(start_paused = true)]
async fn recorded_tools_are_limited_in_number() {
    let (client, _scripted) = modern(builder(), |_, message| match message["method"].as_str() {
        Some("tools/list") => {
            let tool = |n: usize| {
                json!({"name": n.to_string(), "inputSchema": {"type": "object"},
                    "outputSchema": {"const": n}})
            };
            Some(Ok(
                json!({"tools": (0..10_001).map(tool).collect::<Vec<_>>()}),
            ))
        }
        _ => echo_arguments(message),
    })
    .await;
    client.list_tools().fetch_all().await.unwrap();
    let wrong = json!({"structuredContent": "wrong"});
    let error = client.call_tool("9999", &wrong).await.unwrap_err();
    assert!(matches!(error, Error::OutputMismatch { .. }), "{error}");
    client.call_tool("10000", &wrong).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_dropped_output_schema_is_an_error() {
    let (client, _scripted) = modern(builder(), |_, message| match message["method"].as_str() {
        Some("tools/list") => {
            let tools: Vec<Value> = (0..5)
                .map(|n| {
                    json!({"name": n.to_string(), "inputSchema": {"type": "object"},
                    "outputSchema": {"description": "x".repeat(8 << 20)}})
                })
                .collect();
            Some(Ok(json!({"tools": tools})))
        }
        _ => echo_arguments(message),
    })
    .await;
    for _ in 0..2 {
        client.list_tools().fetch_all().await.unwrap();
    }
    let result = json!({"structuredContent": {}});
    client.call_tool("2", &result).await.unwrap();
    let error = client.call_tool("4", &result).await.unwrap_err();
    assert!(
        matches!(error, Error::UnusableOutputSchema { .. }),
        "{error}"
    );
}

#[tokio::test(start_paused = true)]
async fn structured_content_is_decoded_beside_malformed_content() {
    let (client, _scripted) = modern(builder(), |_, message| {
        Some(Ok(message["params"]["arguments"].clone()))
    })
    .await;
    let structured = async |result: Value| {
        client
            .call_tool("t", &result)
            .structured_content::<Value>()
            .await
    };

    let odd = json!({"content": [{"type": 5}], "structuredContent": {"a": "\u{1F600}"}});
    assert_eq!(
        structured(odd.clone()).await.unwrap(),
        json!({"a": "\u{1F600}"})
    );
    let error = call(&client, odd).await.unwrap_err();
    assert!(matches!(error, Error::InvalidResult { .. }), "{error}");

    let failed = json!({"content": [{"type": "text", "text": "no"}], "isError": true});
    let Err(Error::ToolFailed(failed)) = structured(failed).await else {
        panic!("it failed")
    };
    assert_eq!(failed.content, ["no".into()]);

    let text = |text: &str| json!({"content": [{"type": "text", "text": text}]});
    assert_eq!(structured(text("[1]")).await.unwrap(), json!([1]));

    let block = text("[1]")["content"][0].take();
    for wrong in [
        json!({"content": [block, block]}),
        text("no JSON"),
        json!({"content": []}),
        json!({"content": [], "structuredContent": {}, "isError": 1}),
        json!({"content": [{"type": 5}], "isError": true}),
    ] {
        let error = structured(wrong).await.unwrap_err();
        assert!(matches!(error, Error::InvalidResult { .. }), "{error}");
    }
}
