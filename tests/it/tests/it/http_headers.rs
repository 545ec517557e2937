//! The headers that mirror a request of the modern era.

use http::Method as Verb;
use serde_json::{Value, json};
use turnbuckle_it::harness::modern_meta;
use turnbuckle_it::web::{Ask, Web};
use turnbuckle_server::{HandlerContext, RawArguments, Server, Tool};
use turnbuckle_wire::revision::Revision;

use crate::http::busy;
use crate::servers::echo_builder;
use crate::support::{code, schema};

/// Creates a server with a tool whose arguments are mirrored.
fn mirroring_server() -> Server {
    let input = json!({"type": "object", "properties": {
        "region": {"type": "string", "x-mcp-header": "Region"},
        "size": {"type": "integer", "x-mcp-header": "Size"},
        "dry": {"type": "boolean", "x-mcp-header": "Dry"},
        "deep": {"type": "object", "properties": {
            "down": {"type": "string", "x-mcp-header": "Down"},
        }},
    }});
    let place = async |_: RawArguments, _: HandlerContext| "placed";
    echo_builder()
        .tool(
            Tool::builder("place")
                .handler(place)
                .input_schema(schema(input)),
        )
        .build()
        .unwrap()
}

fn web() -> Web {
    Web::new(&mirroring_server())
}

#[track_caller]
fn is_mismatch((status, answer): &(u16, Value), what: &str) {
    assert_eq!((*status, code(answer)), (400, -32020), "{what}: {answer}");
    assert_eq!(answer["id"], 1, "{what}");
}

async fn passes(ask: Ask, what: &str) {
    let (status, answer) = ask.json().await;
    assert_eq!(status, 200, "{what}: {answer}");
    assert!(answer.get("result").is_some(), "{what}: {answer}");
}

// requirement: 82d925404ac5
#[tokio::test(start_paused = true)]
async fn a_differing_version_is_a_mismatch() {
    let ask = || web().modern("tools/list", json!({}));
    for version in ["2025-11-25", "2027-01-01", ""] {
        let answer = ask().header("mcp-protocol-version", version).json().await;
        is_mismatch(&answer, version);
    }
    let newest = Revision::NEWEST.as_str();
    let twice = ask().and_header("mcp-protocol-version", newest);
    is_mismatch(&twice.json().await, "twice");
}

// requirement: e9b58503fa7b
#[tokio::test(start_paused = true)]
async fn a_missing_header_is_a_mismatch() {
    for name in ["mcp-protocol-version", "mcp-method", "mcp-name"] {
        let ask = web().call_tool("place", json!({}));
        is_mismatch(&ask.without(name).json().await, name);
    }
    // Where nothing has a name, none is needed.
    passes(web().modern("tools/list", json!({})), "no name").await;
}

// requirement: 20ecfbd5081d 3b889f467d6c bf73d8f3fb34 d06efd140c15
#[tokio::test(start_paused = true)]
async fn a_differing_header_is_a_mismatch() {
    for (name, value) in [
        ("mcp-method", "tools/list"),
        ("mcp-method", "Tools/Call"),
        ("mcp-name", "echo"),
        ("mcp-name", "Place"),
        ("mcp-param-region", "eu"),
        ("mcp-param-size", "43"),
        ("mcp-param-dry", "true"),
        ("mcp-param-down", "Deeper"),
    ] {
        let ask = call_of(json!({
            "region": "us", "size": 42, "dry": false, "deep": {"down": "deeper"},
        }));
        is_mismatch(&ask.header(name, value).json().await, name);
    }
    let whole = json!({"region": "us", "size": 42, "dry": false, "deep": {"down": "deeper"}});
    passes(call_of(whole), "all").await;
    let twice = call_of(json!({"region": "us"})).and_header("mcp-param-region", "us");
    is_mismatch(&twice.json().await, "twice");
    let twice = call_of(json!({})).and_header("mcp-method", "tools/call");
    is_mismatch(&twice.json().await, "method twice");
}

/// Returns a call with the headers that its arguments need.
fn call_of(arguments: Value) -> Ask {
    let text = |value: &Value| match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let mirrored = [
        ("mcp-param-region", "/region"),
        ("mcp-param-size", "/size"),
        ("mcp-param-dry", "/dry"),
        ("mcp-param-down", "/deep/down"),
    ];
    let mut headers = Vec::new();
    for (name, place) in mirrored {
        if let Some(value) = arguments.pointer(place).filter(|value| !value.is_null()) {
            headers.push((name, text(value)));
        }
    }
    let ask = web().call_tool("place", arguments);
    headers
        .iter()
        .fold(ask, |ask, (name, value)| ask.header(name, value))
}

// requirement: 068dadbe842e 379ab1229840 3d5c7e8208fa e722e6c475d1
#[tokio::test(start_paused = true)]
async fn a_parameter_header_goes_with_its_value() {
    for (region, header, fits) in [
        (json!({"region": "us"}), Some("us"), true),
        (json!({"region": "us"}), None, false),
        (json!({"region": null}), None, true),
        (json!({"region": null}), Some("null"), false),
        (json!({"region": null}), Some(""), false),
        (json!({}), None, true),
        (json!({}), Some("us"), false),
        (json!({}), Some(""), false),
        (json!({"region": ""}), Some(""), true),
    ] {
        let what = format!("{region} {header:?}");
        let ask = web().call_tool("place", region);
        let ask = header
            .iter()
            .fold(ask, |ask, value| ask.header("mcp-param-region", value));
        if fits {
            passes(ask, &what).await;
        } else {
            is_mismatch(&ask.json().await, &what);
        }
    }
    // Headers of parameters that no tool declares mean nothing.
    let ask = web().call_tool("place", json!({}));
    passes(ask.header("mcp-param-other", "x"), "undeclared").await;
}

// requirement: 17d0800d09d4 554ca4d37c4c 6fc43117ba0a a9c9276f7a0b
#[tokio::test(start_paused = true)]
async fn encoded_values_are_decoded() {
    // What no header can carry is encoded by `Web` itself. There is no such resource or tool; that
    // is another error.
    for (method, params) in [
        ("resources/read", json!({"uri": "file:///ä b"})),
        ("tools/call", json!({"name": "plätze\n"})),
        ("prompts/get", json!({"name": "=?base64?plain?="})),
    ] {
        let (_, answer) = web().modern(method, params).json().await;
        assert_ne!(code(&answer), -32020, "{answer}");
    }
    let place = || web().call_tool("place", json!({"region": "Hello, 世界"}));
    let encoded = "=?base64?SGVsbG8sIOS4lueVjA==?=";
    passes(place().header("mcp-param-region", encoded), "a parameter").await;
    // What could stand there plainly may be encoded all the same.
    let name = web().call_tool("place", json!({}));
    passes(name.header("mcp-name", "=?base64?cGxhY2U=?="), "a name").await;
    for bad in [
        "=?base64?SGVsbG8sIOS4lueVjA?=",
        "=?base64?SGVsbG8=?=",
        "=?base64?****?=",
        "=?base64?/w==?=",
    ] {
        let answer = place().header("mcp-param-region", bad).json().await;
        is_mismatch(&answer, bad);
        let answer = web().call_tool("place", json!({})).header("mcp-name", bad);
        is_mismatch(&answer.json().await, bad);
    }
}

// requirement: 5055c9e8d75b
#[tokio::test(start_paused = true)]
async fn the_marks_are_case_sensitive() {
    let literal = "=?BASE64?cGxhY2U=?=";
    let ask = web()
        .call_tool("place", json!({}))
        .header("mcp-name", literal);
    is_mismatch(&ask.json().await, literal);
    let ask = web().call_tool("place", json!({"region": literal}));
    passes(ask.header("mcp-param-region", literal), literal).await;
}

// requirement: 4bb1ff0f3d79
#[tokio::test(start_paused = true)]
async fn invalid_characters_are_a_mismatch() {
    for value in ["us\u{e9}", "ü", "\u{4e16}"] {
        for name in ["mcp-name", "mcp-param-region"] {
            let ask = web().call_tool("place", json!({"region": value}));
            let ask = ask.header("mcp-param-region", "x").without(name);
            is_mismatch(&ask.and_header(name, value).json().await, value);
        }
        let ask = web().call_tool("place", json!({})).without("mcp-method");
        is_mismatch(&ask.and_header("mcp-method", value).json().await, value);
    }
}

// requirement: da631dba239b
#[tokio::test(start_paused = true)]
async fn integers_are_compared_as_numbers() {
    for (body, header, fits) in [
        ("42", "42", true),
        ("42", "42.0", true),
        ("42", "4.2e1", true),
        ("42.0", "42", true),
        ("4.2e1", "42", true),
        ("-7", "-7", true),
        ("42", "43", false),
        ("42", "42.5", false),
        ("42", "", false),
        ("42", "forty-two", false),
        ("9007199254740991", "9007199254740991", true),
        ("9007199254740991", "9007199254740990", false),
    ] {
        let ask = with_size(body);
        let ask = ask.header("mcp-param-size", header);
        let what = format!("{body} {header}");
        if fits {
            passes(ask, &what).await;
        } else {
            is_mismatch(&ask.json().await, &what);
        }
    }
}

/// Returns a call whose argument `size` is spelled as given.
fn with_size(size: &str) -> Ask {
    let meta = Value::from(modern_meta(Revision::NEWEST, &json!({})));
    let params = json!({"name": "place", "arguments": {"size": "?"}, "_meta": meta});
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    web()
        .post(call.to_string().replace("\"?\"", size))
        .header("mcp-protocol-version", Revision::NEWEST.as_str())
        .header("mcp-method", "tools/call")
        .header("mcp-name", "place")
}

// requirement: 56d8a532bac8 c1bedb77b1ad
#[tokio::test(start_paused = true)]
async fn an_unsafe_integer_is_refused() {
    for size in [
        "9007199254740992",
        "-9007199254740992",
        "123456789012345678901234567890",
        "1.5",
    ] {
        let ask = with_size(size);
        let answer = ask.header("mcp-param-size", size).json().await;
        is_mismatch(&answer, size);
    }
    for size in ["9007199254740991", "-9007199254740991"] {
        let ask = with_size(size);
        passes(ask.header("mcp-param-size", size), size).await;
    }
}

/// The map of a request's headers is that of its response, and nothing in it stays.
#[tokio::test(start_paused = true)]
async fn no_header_of_a_request_comes_back() {
    let web = Web::new(&busy());
    let session = web.open(Revision::NEWEST_LEGACY).await;
    let note = json!({"jsonrpc": "2.0", "method": "notifications/x"});
    for ask in [
        web.call_tool("echo", json!({"text": "t"})),
        web.call_tool("sleep", json!({"seconds": 2})),
        web.call_tool("nobody", json!({})),
        web.post("{"),
        web.ask(Verb::PUT),
        web.ask(Verb::OPTIONS),
        session.call_tool(1, "echo", &json!({"text": "t"})),
        session.post(&note),
        session.get(),
        session.delete(),
    ] {
        let ask = ask
            .header("authorization", "Bearer secret")
            .header("cookie", "id=secret")
            .and_header("x-own", "secret");
        let got = ask.send().await;
        let sent = ["authorization", "cookie", "x-own", "accept", "host"];
        assert!(sent.iter().all(|name| got.header(name).is_none()));
    }
}
