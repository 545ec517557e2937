//! Faults of tools.

use serde_json::json;
use turnbuckle_check::script::Sound;

use crate::harness::{Row, call, remove, result, row, tool};

pub(crate) fn rows() -> Vec<Row> {
    let any_tool = Sound::new().on_message(|message| {
        if message["params"]["name"] == "check_no_such_tool" {
            message["params"]["name"] = "test_simple_text".into();
        }
        None
    });
    let property = |schema| {
        tool("greet", move |tool| {
            tool["inputSchema"]["properties"]["more"] = serde_json::from_str(schema).unwrap();
        })
    };
    vec![
        row(
            "tools.schema-dialect",
            tool("add_numbers", |tool| {
                tool["inputSchema"]["$schema"] = "http://json-schema.org/draft-07/schema#".into();
            }),
        ),
        row(
            "tools.names",
            tool("greet", |tool| tool["name"] = "greet somebody".into()).on_message(|message| {
                if message["params"]["name"] == "greet somebody" {
                    message["params"]["name"] = "greet".into();
                }
                None
            }),
        ),
        row(
            "tools.unique",
            result("tools/list", |result| {
                let first = result["tools"][0].clone();
                if let Some(tools) = result["tools"].as_array_mut()
                    && first["name"] == "test_simple_text"
                {
                    tools.push(first);
                }
            }),
        ),
        row(
            "tools.description",
            tool("greet", |tool| remove(tool, "description")),
        ),
        row(
            "tools.input-schema-object",
            tool("test_simple_text", |tool| {
                tool["inputSchema"] = json!({"type": "string"})
            }),
        )
        .also(&["rpc.schema-valid"]),
        row("tools.schema-valid", property(r#"{"type": "nonsense"}"#)),
        row(
            "tools.no-remote-ref",
            property(r#"{"$ref": "https://example.com/schema.json"}"#),
        )
        .also(&["tools.portable"]),
        row(
            "tools.portable",
            tool("greet", |tool| {
                tool["inputSchema"]["anyOf"] = json!([{"required": ["name"]}])
            }),
        ),
        row(
            "tools.tokens",
            tool("greet", |tool| {
                tool["description"] = "x".repeat(50_000).into()
            }),
        ),
        row("tools.unknown-tool", any_tool),
        row(
            "tools.output-matches-schema",
            call("add_numbers", |result| {
                if result.get("structuredContent").is_some() {
                    result["structuredContent"] = json!({"sum": "three"});
                    result["content"][0]["text"] = r#"{"sum":"three"}"#.into();
                }
            }),
        ),
        row(
            "tools.structured-has-text",
            call("add_numbers", |result| {
                result["content"][0]["text"] = "three".into()
            }),
        ),
    ]
}
