//! Faults of calls of tools, and of the definitions that calls depend on.

use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::json;
use turnbuckle_check::script::Sound;

use crate::harness::{
    Row, call, error, error_result, remove, renaming, row, tool, without_capability,
};

/// Returns a server with one more property of the tool whose argument is mirrored into a header.
fn annotation(property: &'static str) -> Sound {
    tool("test_header_argument", move |tool| {
        tool["inputSchema"]["properties"]["zone"] = serde_json::from_str(property).unwrap();
    })
}

pub(crate) fn rows() -> Vec<Row> {
    let unknown_is_result = Sound::new().on_reply(|cause, messages| {
        if cause.message["params"]["name"] == "check_no_such_tool" {
            messages[0] = error_result(cause);
        }
    });
    let careless = Sound::new().on_message(|message| {
        let params = message.get_mut("params")?;
        if params["name"] == "greet" && !params["arguments"]["name"].is_string() {
            params["arguments"] = json!({"name": "somebody"});
        }
        None
    });
    let silent = Sound::new().on_reply(|cause, messages| {
        if cause.message["params"]["name"] == "greet" && messages[0]["result"]["isError"] == true {
            messages[0] = error(&cause.message, -32602);
        }
    });
    let demanding = Sound::new().on_message(|message| {
        let params = &message["params"];
        let is_bare = params["name"] == "test_simple_text" && params.get("arguments").is_none();
        is_bare.then(|| vec![error(message, -32602)])
    });
    let is_odd = AtomicBool::new(false);
    let shuffled = Sound::new().on_reply(move |cause, messages| {
        let is_first_page = cause.message["params"].get("cursor").is_none();
        if cause.message["method"] == "tools/list"
            && is_first_page
            && is_odd.fetch_xor(true, Ordering::Relaxed)
            && let Some(tools) = messages[0].pointer_mut("/result/tools")
        {
            tools.as_array_mut().unwrap().reverse();
        }
    });
    vec![
        row("tools.unknown-tool-32602", unknown_is_result),
        row("tools.bad-arguments", careless),
        row("tools.bad-arguments-is-result", silent),
        row("tools.arguments-optional", demanding),
        row(
            "tools.case-sensitive",
            renaming("name", "TEST_SIMPLE_TEXT", "test_simple_text"),
        ),
        row(
            "tools.content-shape",
            call("test_image_content", |result| {
                result["content"][0]["data"] = "a picture".into()
            }),
        ),
        row(
            "tools.embedded-resources-declared",
            without_capability("resources"),
        )
        .also(&[
            "capabilities.undeclared-32601",
            "capabilities.served-declared",
        ]),
        row(
            "tools.resource-links-readable",
            call("test_resource_link", |result| {
                result["content"][0]["uri"] = "test://nowhere".into()
            }),
        ),
        row(
            "tools.error-is-result",
            call("test_error_handling", |result| remove(result, "isError")),
        ),
        row("tools.order-stable", shuffled),
        row(
            "meta.keys",
            tool("greet", |tool| tool["_meta"] = json!({"my key": 1})),
        ),
        row(
            "tools.hints-agree",
            tool("greet", |tool| {
                tool["annotations"]["destructiveHint"] = true.into()
            }),
        ),
        row(
            "tools.header-names",
            annotation(r#"{"type": "string", "x-mcp-header": "a b"}"#),
        ),
        row(
            "tools.header-names-unique",
            annotation(r#"{"type": "string", "x-mcp-header": "SUFFIX"}"#),
        ),
        row(
            "tools.header-types",
            annotation(r#"{"type": "number", "x-mcp-header": "Other"}"#),
        ),
        row(
            "tools.header-places",
            annotation(
                r#"{"type": "array", "items": {"type": "string", "x-mcp-header": "Other"}}"#,
            ),
        ),
    ]
}
