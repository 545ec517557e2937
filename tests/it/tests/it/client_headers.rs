//! The headers with which our client mirrors its modern requests.

use std::future::IntoFuture;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, mpsc};
use std::task::{Context as Polling, Waker};
use std::time::Duration;

use bytes::Bytes;
use serde_json::{Value, json};
use turnbuckle_client::{Client, Error};
use turnbuckle_it::coupled::{Coupled, connect_over_http};
use turnbuckle_it::harness::{Bind, Case};
use turnbuckle_it::peer::{Peer, Step};
use turnbuckle_server::{HandlerContext, Prompt, RawArguments, Server, Tool};
use turnbuckle_wire::revision::Revision;

use crate::client_support::plain;
use crate::support::schema;
use crate::traced::Traced;

const CASE: Case = Case {
    revision: Revision::NEWEST,
    binding: Bind::Http,
};

/// Creates a server with a tool whose arguments are mirrored, under a name that no header can hold.
fn mirroring_server() -> Server {
    let input = json!({"type": "object", "properties": {
        "region": {"type": ["string", "null"], "x-mcp-header": "Region"},
        "size": {"type": "integer", "x-mcp-header": "Size"},
        "dry": {"type": "boolean", "x-mcp-header": "Dry"},
        "deep": {"type": "object", "properties": {
            "down": {"type": "string", "x-mcp-header": "Down"},
        }},
    }});
    let place = async |_: RawArguments, _: HandlerContext| "placed";
    let tool = Tool::builder("place")
        .handler(place)
        .input_schema(schema(input));
    let prompt = Prompt::builder("p").handler(async |(): (), _: HandlerContext| String::new());
    Server::new("s", "1")
        .tool(tool)
        .prompt(prompt)
        .build()
        .unwrap()
}

const PARAMS: [&str; 4] = ["region", "size", "dry", "down"];

// requirement: 068dadbe842e 08489097c168 379ab1229840 56d8a532bac8 6600b22e0cf6 71ccdb8464b7
// requirement: 7b9c2a3acde8 c1bedb77b1ad e722e6c475d1
#[tokio::test(start_paused = true)]
async fn arguments_are_mirrored_where_their_values_are() {
    let client = Coupled::connect(CASE, &mirroring_server(), plain()).await;
    client.list_tools().fetch_all().await.unwrap();
    for (arguments, headers) in [
        (json!({}), [None; 4]),
        (json!({"region": null, "other": "x"}), [None; 4]),
        (
            json!({"region": "eu", "size": 42}),
            [Some("eu"), Some("42"), None, None],
        ),
        (
            json!({"dry": false, "size": -7}),
            [None, Some("-7"), Some("false"), None],
        ),
        (
            json!({"dry": true, "deep": {"down": "d"}}),
            [None, None, Some("true"), Some("d")],
        ),
        // What stands elsewhere under that name is not meant.
        (json!({"down": "x", "deep": {"region": "x"}}), [None; 4]),
    ] {
        // The server holds the headers against the body.
        client.call_tool("place", &arguments).await.unwrap();
        let post = client.posts.with_method("tools/call").pop().unwrap();
        let sent = PARAMS.map(|name| post.header(&format!("mcp-param-{name}")));
        assert_eq!(sent, headers, "{arguments}");
    }
    // An integer that headers cannot say safely is not sent at all.
    let unsafe_size = json!({"size": 9_007_199_254_740_993_i64});
    let error = client.call_tool("place", &unsafe_size).await.unwrap_err();
    assert!(matches!(error, Error::InvalidRequest(_)), "{error}");
}

// requirement: 17d0800d09d4 5055c9e8d75b 861814238ef2 b87d6b1947ab c170766da336 f5e94b192b8c
// requirement: f69c51264a72
#[tokio::test(start_paused = true)]
async fn values_that_no_header_can_hold_are_encoded() {
    let client = Coupled::connect(CASE, &mirroring_server(), plain()).await;
    client.list_tools().fetch_all().await.unwrap();
    for (value, header) in [
        ("plain ascii ~!", "plain ascii ~!"),
        ("é", "=?base64?w6k=?="),
        (" a", "=?base64?IGE=?="),
        ("a ", "=?base64?YSA=?="),
        ("a\r\nx: y", "=?base64?YQ0KeDogeQ==?="),
        ("\u{7f}", "=?base64?fw==?="),
        ("=?base64?YQ==?=", "=?base64?PT9iYXNlNjQ/WVE9PT89?="),
    ] {
        client
            .call_tool("place", &json!({"region": value}))
            .await
            .unwrap();
        let post = client.posts.with_method("tools/call").pop().unwrap();
        assert_eq!(post.header("mcp-param-region"), Some(header), "{value:?}");
    }
    let params = json!({"name": "place", "arguments": {"region": "é"}});
    let params = serde_json::from_value(params).unwrap();
    client
        .request_raw("tools/call", Some(params), None)
        .await
        .unwrap();
    let post = client.posts.with_method("tools/call").pop().unwrap();
    assert_eq!(post.header("mcp-name"), Some("place"), "of a raw request");
    assert_eq!(post.header("mcp-param-region"), Some("=?base64?w6k=?="));
    // The server reads the name, and holds it against the body, before it looks for it.
    let error = client.get_prompt("é", [("a", "b")]).await.unwrap_err();
    assert_eq!(error.error_response().unwrap().code, -32602, "{error}");
    let post = client.posts.with_method("prompts/get").pop().unwrap();
    assert_eq!(post.header("mcp-name"), Some("=?base64?w6k=?="));
}

// requirement: 00e3a876b7fb 00f895e4bf1a 1d293195c35e 274598ca3606 39a170129d3c 39cf4af3b9f7
// requirement: 47b2e01a6405 4b6c30fec931 7d37ee02caee a49250910a99 b294045a4f37
#[tokio::test(start_paused = true)]
async fn a_tool_whose_annotations_are_invalid_is_left_out_with_a_warning() {
    let traced = Traced::start();
    let annotated = |name: &str, property: Value| {
        let input = json!({"type": "object", "properties": {"a": property}});
        json!({"name": name, "inputSchema": input})
    };
    let peer = Peer::new(Revision::NEWEST, move |heard| {
        let tools = json!([
            annotated("good", json!({"type": "string", "x-mcp-header": "A"})),
            annotated("empty", json!({"type": "string", "x-mcp-header": ""})),
            annotated("token", json!({"type": "string", "x-mcp-header": "a b"})),
            annotated("line", json!({"type": "string", "x-mcp-header": "a\r\nb"})),
            annotated("array", json!({"type": "array", "x-mcp-header": "A"})),
            annotated("items", json!({"type": "array", "items":
                {"type": "string", "x-mcp-header": "A"}})),
            {"name": "twice", "inputSchema": {"type": "object", "properties": {
                "a": {"type": "string", "x-mcp-header": "A"},
                "b": {"type": "string", "x-mcp-header": "a"}}}},
        ]);
        let list = json!({"tools": tools, "resultType": "complete", "ttlMs": 0,
            "cacheScope": "private"});
        (heard.method() == "tools/list").then(|| vec![heard.answer(list)])
    });
    let (client, _) = connect_over_http(&peer, plain()).await.unwrap();
    let listed = client.list_tools().fetch_all().await.unwrap();
    let names: Vec<_> = listed.iter().map(|tool| &*tool.name).collect();
    assert_eq!(names, ["good"]);
    for name in ["empty", "token", "line", "array", "items", "twice"] {
        let warned = traced.with(&format!("name={name}"));
        assert_eq!(warned.len(), 1, "{name} {warned:?}");
        assert!(
            warned[0].starts_with("WARN") && warned[0].contains("reason="),
            "{warned:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn calls_do_not_wait_for_the_handler_of_invalid_tools() {
    let peer = Peer::new(Revision::NEWEST, |heard| {
        let input = json!({"type": "object", "x-mcp-header": "A"});
        let list = json!({"tools": [{"name": "bad", "inputSchema": input}],
            "resultType": "complete", "ttlMs": 0, "cacheScope": "private"});
        (heard.method() == "tools/list").then(|| vec![heard.answer(list)])
    });
    let (client, calls) = (Arc::new(OnceLock::<Client>::new()), AtomicUsize::new(0));
    let (calls, known) = (Arc::new(calls), client.clone());
    let (count, runtime) = (calls.clone(), tokio::runtime::Handle::current());
    let builder = plain().on_invalid_item(move |_| {
        let (known, runtime) = (known.clone(), runtime.clone());
        let (begun, begins) = mpsc::channel();
        std::thread::spawn(move || {
            let _entered = runtime.enter();
            let mut call = known.get().unwrap().call_tool("good", &()).into_future();
            let _ = call.as_mut().poll(&mut Polling::from_waker(Waker::noop()));
            let _ = begun.send(());
        });
        if begins.recv_timeout(Duration::from_secs(10)).is_ok() {
            count.fetch_add(1, Ordering::Relaxed);
        }
    });
    let (connected, _) = connect_over_http(&peer, builder).await.unwrap();
    let client = client.get_or_init(|| connected);
    assert!(client.list_tools().fetch_all().await.unwrap().is_empty());
    assert_eq!(calls.load(Ordering::Relaxed), 1);
}

// requirement: 8e68cb51d310
#[tokio::test(start_paused = true)]
async fn headers_that_do_not_match_are_corrected_by_the_tools_list() {
    let lists = AtomicUsize::new(0);
    let peer = Peer::new(Revision::NEWEST, move |heard| match heard.method() {
        "tools/list" => {
            let mut property = json!({"type": "string"});
            if lists.fetch_add(1, Ordering::Relaxed) > 0 {
                property["x-mcp-header"] = "A".into();
            }
            let tool = json!({"name": "t", "inputSchema": {"type": "object",
                "properties": {"a": property}}});
            Some(vec![
                heard.answer(json!({"tools": [tool], "resultType": "complete",
                "ttlMs": 0, "cacheScope": "private"})),
            ])
        }
        "tools/call" if lists.load(Ordering::Relaxed) < 2 => {
            let error = json!({"jsonrpc": "2.0", "id": heard.id(),
                "error": {"code": -32020, "message": "mcp-param-a is missing"}});
            let json = vec![("content-type", "application/json".into())];
            let body = Step::Write(Bytes::from(error.to_string()));
            Some(vec![Step::Head(400, json), body])
        }
        _ => None,
    });
    let (client, posts) = connect_over_http(&peer, plain()).await.unwrap();
    client.list_tools().fetch_all().await.unwrap();
    client.call_tool("t", &json!({"a": "x"})).await.unwrap();
    let headers: Vec<_> = posts
        .all()
        .iter()
        .map(|post| post.method().to_owned())
        .collect();
    let expected = [
        "server/discover",
        "tools/list",
        "tools/call",
        "tools/list",
        "tools/call",
    ];
    assert_eq!(headers, expected);
    let calls = posts.with_method("tools/call");
    assert_eq!(calls[0].header("mcp-param-a"), None);
    assert_eq!(calls[1].header("mcp-param-a"), Some("x"));
    assert_ne!(calls[0].message["id"], calls[1].message["id"]);

    // Once: a server that is never content is told so.
    let peer = Peer::calls(Revision::NEWEST, |heard| vec![heard.refuse(-32020, "no")]);
    let (client, posts) = connect_over_http(&peer, plain()).await.unwrap();
    let error = client.call_tool("t", &()).await.unwrap_err();
    assert_eq!(error.error_response().unwrap().code, -32020);
    assert_eq!(posts.with_method("tools/call").len(), 2);
}
