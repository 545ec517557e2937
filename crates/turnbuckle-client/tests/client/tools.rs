//! What is held against the output schemas of tools, and what is not.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::by_hand::{Answer, Desk, builder, legacy, modern, served, settle};
use serde_json::{Value, json};
use turnbuckle_client::{Client, Era, Error};
use turnbuckle_server::{Args, Context, Server, Structured, Tool};
use turnbuckle_types::CallToolResult;
use turnbuckle_wire::revision::Revision;

fn schema() -> Value {
    json!({"type": "object", "properties": {"celsius": {"type": "number"}},
        "required": ["celsius"]})
}

fn listed(schema: &Value) -> Answer {
    Some(Ok(
        json!({"tools": [{"name": "t", "inputSchema": {"type": "object"},
        "outputSchema": schema}]}),
    ))
}

/// A result of the tool: whatever `arguments` say.
fn echoed(message: &Value) -> Answer {
    let mut result = message["params"]["arguments"].clone();
    result["content"] = json!([]);
    Some(Ok(result))
}

async fn server(schema: Value) -> (Client, Desk) {
    modern(builder(), move |_, message| {
        match message["method"].as_str() {
            Some("tools/list") => listed(&schema),
            _ => echoed(message),
        }
    })
    .await
}

async fn call(client: &Client, result: Value) -> Result<CallToolResult, Error> {
    client.call("t", &result).await
}

// requirement: 8395be1295f9 c5f77f44d53a
#[tokio::test(start_paused = true)]
async fn a_structured_result_has_to_fit_the_schema_of_a_listed_tool() {
    let (client, _desk) = server(schema()).await;
    let wrong = json!({"structuredContent": {"celsius": "warm"}});
    // Nothing is known of a tool that was not listed.
    call(&client, wrong.clone()).await.unwrap();
    client.list_tools().all().await.unwrap();

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
async fn a_schema_that_cannot_be_used_is_never_taken_to_be_fulfilled() {
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
        let (client, _desk) = server(schema.clone()).await;
        client.list_tools().all().await.unwrap();
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
async fn before_output_was_structured_nothing_is_checked() {
    for (revision, checked) in [
        ("2024-11-05", false),
        ("2025-03-26", false),
        ("2025-06-18", true),
        ("2025-11-25", true),
    ] {
        let (client, _desk) = legacy(builder(), revision, |_, message| {
            match message["method"].as_str() {
                Some("tools/list") => listed(&schema()),
                _ => echoed(message),
            }
        })
        .await;
        client.list_tools().all().await.unwrap();
        let outcome = call(&client, json!({})).await;
        assert_eq!(outcome.is_err(), checked, "{revision}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_changed_is_listed_anew_before_its_result_is_refused() {
    let edition = Arc::new(AtomicUsize::new(0));
    let now = edition.clone();
    let (client, desk) = modern(builder(), move |_, message| {
        match message["method"].as_str() {
            Some("tools/list") => listed(&match now.load(Ordering::Relaxed) {
                0 => schema(),
                _ => json!({"required": ["kelvin"]}),
            }),
            _ => echoed(message),
        }
    })
    .await;
    client.list_tools().all().await.unwrap();
    let newer = json!({"structuredContent": {"kelvin": 300}});
    call(&client, newer.clone()).await.unwrap_err();
    assert_eq!(desk.told_of("tools/list").len(), 1);

    edition.store(1, Ordering::Relaxed);
    desk.notify("notifications/tools/list_changed", json!({}));
    settle().await;
    call(&client, newer.clone()).await.unwrap();
    call(&client, newer).await.unwrap();
    let error = call(&client, json!({"structuredContent": {"celsius": 1}}))
        .await
        .unwrap_err();
    assert!(matches!(error, Error::OutputMismatch { .. }));
    assert_eq!(desk.told_of("tools/list").len(), 2);
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Nothing {}

#[tokio::test(start_paused = true)]
async fn a_result_that_is_no_object_arrives_as_it_was_in_every_revision_that_can_say_it() {
    let server = Server::new("s", "1")
        .tool(
            Tool::builder("t")
                .handler(async |Args(_): Args<Nothing>, _: Context| Structured(vec![1, 2])),
        )
        .build();
    let server = Arc::new(server.unwrap());
    for revision in Revision::ALL {
        let client = served(&server, builder().era(Era::Only(revision))).await;
        client.list_tools().all().await.unwrap();
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
    let (client, _desk) = modern(builder(), |_, message| match message["method"].as_str() {
        Some("tools/list") => {
            let tools: Vec<Value> = (0..300)
                .map(|n| {
                    json!({"name": n.to_string(), "inputSchema": {"type": "object"},
                    "outputSchema": {"const": n}})
                })
                .collect();
            Some(Ok(json!({"tools": tools})))
        }
        _ => echoed(message),
    })
    .await;
    client.list_tools().all().await.unwrap();
    for _ in 0..2 {
        for n in 0..300 {
            let right = json!({"structuredContent": n});
            client.call(n.to_string(), &right).await.unwrap();
            let wrong = json!({"structuredContent": n + 1});
            client.call(n.to_string(), &wrong).await.unwrap_err();
        }
    }
}

#[tokio::test(start_paused = true)]
async fn of_so_many_tools_it_is_known_what_they_declare() {
    let (client, _desk) = modern(builder(), |_, message| match message["method"].as_str() {
        Some("tools/list") => {
            let tool = |n: usize| {
                json!({"name": n.to_string(), "inputSchema": {"type": "object"},
                    "outputSchema": {"const": n}})
            };
            Some(Ok(
                json!({"tools": (0..10_001).map(tool).collect::<Vec<_>>()}),
            ))
        }
        _ => echoed(message),
    })
    .await;
    client.list_tools().all().await.unwrap();
    let wrong = json!({"structuredContent": "wrong"});
    let error = client.call("9999", &wrong).await.unwrap_err();
    assert!(matches!(error, Error::OutputMismatch { .. }), "{error}");
    client.call("10000", &wrong).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_schema_that_there_was_no_room_for_is_not_taken_to_be_fulfilled() {
    let (client, _desk) = modern(builder(), |_, message| match message["method"].as_str() {
        Some("tools/list") => {
            let tools: Vec<Value> = (0..5)
                .map(|n| {
                    json!({"name": n.to_string(), "inputSchema": {"type": "object"},
                    "outputSchema": {"description": "x".repeat(8 << 20)}})
                })
                .collect();
            Some(Ok(json!({"tools": tools})))
        }
        _ => echoed(message),
    })
    .await;
    for _ in 0..2 {
        client.list_tools().all().await.unwrap();
    }
    let result = json!({"structuredContent": {}});
    client.call("2", &result).await.unwrap();
    let error = client.call("4", &result).await.unwrap_err();
    assert!(
        matches!(error, Error::UnusableOutputSchema { .. }),
        "{error}"
    );
}

#[tokio::test(start_paused = true)]
async fn who_wants_the_structured_form_is_not_held_up_by_the_content() {
    let (client, _desk) = modern(builder(), |_, message| {
        Some(Ok(message["params"]["arguments"].clone()))
    })
    .await;
    let structured = async |result: Value| client.call("t", &result).structured::<Value>().await;

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

    for wrong in [
        json!({"content": []}),
        json!({"content": [], "structuredContent": {}, "isError": 1}),
        json!({"content": [{"type": 5}], "isError": true}),
    ] {
        let error = structured(wrong).await.unwrap_err();
        assert!(matches!(error, Error::InvalidResult { .. }), "{error}");
    }
}
