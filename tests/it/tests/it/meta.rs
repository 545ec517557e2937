//! `_meta`: what an author may set, and what arrives.

use serde_json::{Value, json};
use turnbuckle_it::harness::{Case, Client};
use turnbuckle_server::{HandlerContext, Tool};
use turnbuckle_types::{CallToolResult, Json, Meta, MetaKeyError};

use crate::servers::echo_builder;

// requirement: 5f390c3474ee c392c7f80276 f48e7cf1e8f8
#[test]
fn an_authors_key_follows_the_grammar() {
    let set = |key: &str| Meta::new().set(key, &1).map(drop);
    let prefixes = [
        "1com.example/x",
        "com.1example/x",
        "-com/x",
        "com-/x",
        "com.example-/x",
        "com..example/x",
        ".com/x",
        "com./x",
        "/x",
        "com example/x",
        "com_example/x",
        "cöm/x",
    ];
    for key in prefixes {
        assert_eq!(set(key), Err(MetaKeyError::Prefix), "{key}");
    }
    let names = [
        "-x",
        "x-",
        "_x",
        "x_",
        ".x",
        "x.",
        "x y",
        "x/y/z",
        "ä",
        "com.example/-x",
        "com.example/x.",
        "com.example/x y",
        "com.example/x/y",
        "com.example/x:y",
    ];
    for key in names {
        assert!(set(key).is_err(), "{key}");
    }
    let reserved = [
        "progressToken",
        "io.modelcontextprotocol/x",
        "dev.mcp/x",
        "org.modelcontextprotocol.api/x",
        "com.mcp.tools/x",
        "com.MCP/x",
    ];
    for key in reserved {
        assert_eq!(set(key), Err(MetaKeyError::Reserved), "{key}");
    }
    let good = [
        "x",
        "x1",
        "1",
        "a-b_c.d",
        "com.example/x",
        "c/x",
        "com.example/",
        "com.ex-ample.a1/x",
        "mcp/x",
        "com.example.mcp/x",
        "modelcontextprotocol/x",
    ];
    for key in good {
        assert_eq!(set(key), Ok(()), "{key}");
    }
}

// requirement: ec91ba85c9ed
#[tokio::test(start_paused = true)]
async fn arriving_keys_pass_unjudged() {
    let give_back = async |(): (), context: HandlerContext| {
        let meta = context.meta().unwrap_or_default();
        let meta: std::collections::BTreeMap<&str, &Json> = meta.iter().collect();
        CallToolResult::from_text(serde_json::to_string(&meta).unwrap())
    };
    let server = echo_builder()
        .tool(Tool::builder("meta").handler(give_back))
        .build()
        .unwrap();
    let odd = json!({
        "io.modelcontextprotocol/unheardOf": {"deep": [1, 2]},
        "dev.mcp/x": "reserved",
        "-no key at all-": null,
        "com..example/": 5,
        "": "empty",
        "traceparent": 5,
        "com.example/x": [1.10],
    });
    for case in Case::all() {
        let mut client = Client::connect(case, &server).await;
        let call = json!({"name": "meta", "_meta": odd});
        let answer = client.request("tools/call", call).await;
        let text = answer["result"]["content"][0]["text"].as_str().unwrap();
        let seen: Value = serde_json::from_str(text).unwrap();
        for (key, value) in odd.as_object().unwrap() {
            assert_eq!(&seen[key], value, "{case}: {key}");
        }
        // And they change nothing.
        let call = json!({"name": "echo", "arguments": {"text": "t"}, "_meta": odd});
        let with = client.request("tools/call", call).await;
        let call = json!({"name": "echo", "arguments": {"text": "t"}});
        let without = client.request("tools/call", call).await;
        assert_eq!(with["result"], without["result"], "{case}");
    }
}
