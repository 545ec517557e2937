//! Streamable HTTP: what holds of every request, and of those of the modern era.

use std::time::Duration;

use http::Method as Verb;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::Instant;
use turnbuckle_http::{HttpServerOptions, HttpTimeouts};
use turnbuckle_it::harness::Case;
use turnbuckle_it::web::{Web, sessions};
use turnbuckle_server::{Args, Failure, HandlerContext, Server, ServerBuilder, Tool};

use turnbuckle_types::{CreateMessageRequestParams, LoggingLevel, Number, SamplingMessage};
use turnbuckle_wire::revision::{Method, Party, Revision};

use crate::refusals::Refusals;
use crate::servers::{echo, echo_builder, full_server, params_of};
use crate::support::{code, principal};

/// Arguments of the tool `count`.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Counting {
    to: u64,
    #[serde(default)]
    seconds: u64,
}

/// Returns a server builder with a tool `count`, which reports and logs each step and then waits
/// `seconds`; one that asks for `roots`; and one whose stream can be resumed later.
pub(crate) fn busy_builder() -> ServerBuilder {
    let count = async |Args(counting): Args<Counting>, context: HandlerContext| {
        for step in 1..=counting.to {
            context
                .progress(step, Some(Number::from(counting.to)))
                .await;
            context.log(LoggingLevel::Error, None, &step).await;
            tokio::time::sleep(Duration::from_secs(counting.seconds)).await;
        }
        format!("counted to {}", counting.to)
    };
    let roots = async |(): (), context: HandlerContext| {
        let Some(peer) = context.peer() else {
            return "there is nobody to ask".to_owned();
        };
        let roots = peer.request::<()>("roots/list", None).await;
        roots.map_or_else(|error| error.to_string(), |roots| roots.to_string())
    };
    let later = async |(): (), context: HandlerContext| {
        context.close_sse_stream();
        tokio::time::sleep(Duration::from_secs(5)).await;
        context.progress(1, None).await;
        "later"
    };
    echo_builder()
        .tool(Tool::builder("count").handler(count))
        .tool(Tool::builder("roots").handler(roots))
        .tool(Tool::builder("later").handler(later))
        .logging()
}

pub(crate) fn busy() -> Server {
    busy_builder().build().unwrap()
}

pub(crate) fn step_of(message: &Value) -> Option<u64> {
    message["params"]["progress"].as_u64()
}

// requirement: 81e3ba44c553 836560555628 924320a8df96
#[tokio::test(start_paused = true)]
async fn a_foreign_origin_is_403() {
    let refusals = Refusals::start();
    let web = Web::new(&echo());
    for foreign in [
        "http://evil.example",
        "null",
        "http://localhost.evil.example",
    ] {
        for verb in [
            Verb::POST,
            Verb::GET,
            Verb::DELETE,
            Verb::OPTIONS,
            Verb::PUT,
        ] {
            let got = web.ask(verb.clone()).header("origin", foreign).send().await;
            assert_eq!(got.status, 403, "{verb} {foreign}");
            assert!(got.header("access-control-allow-origin").is_none());
            let message = got.json().await["error"]["message"].to_string();
            assert!(
                message.contains("HttpServerOptions::allowed_origins"),
                "{message}"
            );
        }
        for asked in [
            web.modern("tools/list", json!({})),
            web.initialize(Revision::NEWEST_LEGACY, json!({})),
        ] {
            assert_eq!(asked.header("origin", foreign).send().await.status, 403);
        }
    }
    let local = web.modern("tools/list", json!({}));
    let local = local.header("host", "localhost:3000");
    let got = local.header("origin", "http://localhost:3000").send().await;
    assert_eq!(got.status, 200);
    let shared = got.header("access-control-allow-origin");
    assert_eq!(shared, Some("http://localhost:3000"));
    assert!(refusals.count("HttpServerOptions::allowed_origins") > 0);
}

#[tokio::test(start_paused = true)]
async fn two_origins_or_hosts_are_none() {
    let web = Web::new(&echo());
    let asked = || web.modern("tools/list", json!({}));
    let twice = asked().header("origin", "http://localhost");
    let got = twice
        .and_header("origin", "http://evil.example")
        .send()
        .await;
    assert_eq!(got.status, 403);
    let got = asked().and_header("host", "evil.example").send().await;
    assert_eq!(got.status, 403);
}

#[tokio::test(start_paused = true)]
async fn a_foreign_host_is_403() {
    let refusals = Refusals::start();
    let web = Web::new(&echo());
    for host in [Some("evil.example"), Some("localhost.evil.example"), None] {
        let ask = web.modern("tools/list", json!({})).without("host");
        let ask = host
            .into_iter()
            .fold(ask, |ask, host| ask.header("host", host));
        let (status, answer) = ask.json().await;
        assert_eq!(status, 403, "{host:?}");
        let text = answer.to_string();
        assert!(text.contains("HttpServerOptions::allowed_hosts"), "{text}");
    }
    let options = HttpServerOptions::new().allowed_hosts(["mcp.example"]);
    let web = Web::with(&echo(), options);
    for (host, status) in [("mcp.example:8443", 200), ("localhost", 403)] {
        let ask = web.modern("tools/list", json!({})).header("host", host);
        assert_eq!(ask.send().await.status, status, "{host}");
    }
    assert_eq!(refusals.count("HttpServerOptions::allowed_hosts"), 4);
}

#[tokio::test(start_paused = true)]
async fn a_preflight_is_for_allowed_origins() {
    let web = Web::new(&echo());
    let ask = web.ask(Verb::OPTIONS).header("origin", "http://localhost");
    let wanted = "mcp-method, authorization";
    let ask = ask.header("access-control-request-headers", wanted);
    let got = ask.send().await;
    assert_eq!(got.status, 204);
    assert_eq!(got.header("access-control-allow-headers"), Some(wanted));
    let origin = got.header("access-control-allow-origin");
    assert_eq!(origin, Some("http://localhost"));
    let methods = got.header("access-control-allow-methods").unwrap();
    assert!(methods.contains("POST") && methods.contains("DELETE"));
    let exposed = got.header("access-control-expose-headers").unwrap();
    for name in ["Mcp-Session-Id", "MCP-Protocol-Version", "WWW-Authenticate"] {
        assert!(exposed.contains(name), "{exposed}");
    }
    assert_eq!(got.header("vary"), Some("Origin"));
}

// requirement: d22fc3bc78b1
#[tokio::test(start_paused = true)]
async fn one_path_serves_post() {
    let web = Web::new(&full_server());
    let mut served = 0;
    for &method in Method::ALL {
        if method.is_notification() || !method.is_received_by(Party::Server, Revision::NEWEST) {
            continue;
        }
        let got = web.modern(method.as_str(), params_of(method)).send().await;
        assert_eq!(got.status, 200, "{}", method.as_str());
        served += 1;
    }
    assert!(served >= 8, "{served}");
}

// requirement: 242e8080f4dd
#[tokio::test(start_paused = true)]
async fn an_unknown_method_is_404() {
    let web = Web::new(&echo());
    for method in ["nobody/knows", "initialize", "ping", "logging/setLevel"] {
        let (status, answer) = web.modern(method, json!({})).json().await;
        assert_eq!((status, code(&answer)), (404, -32601), "{method}");
        assert_eq!(answer["id"], 1);
    }
}

// requirement: 6a6028059f8e
#[tokio::test(start_paused = true)]
async fn an_unserved_version_is_400() {
    let web = Web::new(&echo());
    for version in ["2027-01-01", "2025-11-25", "DRAFT"] {
        let meta = json!({"io.modelcontextprotocol/protocolVersion": version});
        let ask = web.modern("tools/list", json!({"_meta": meta}));
        let ask = ask.header("mcp-protocol-version", version);
        let (status, answer) = ask.json().await;
        assert_eq!((status, code(&answer)), (400, -32022), "{version}");
        let data = &answer["error"]["data"];
        assert_eq!(data["supported"], json!([Revision::NEWEST.as_str()]));
        assert_eq!(data["requested"], version);
    }
}

// requirement: 79ec2020c215
#[tokio::test(start_paused = true)]
async fn a_missing_envelope_field_is_400() {
    let web = Web::new(&echo());
    for field in ["protocolVersion", "clientCapabilities"] {
        let key = format!("io.modelcontextprotocol/{field}");
        let meta = json!({key: null});
        let (status, answer) = web
            .modern("tools/list", json!({"_meta": meta}))
            .json()
            .await;
        assert_eq!((status, code(&answer)), (400, -32602), "{field}");
        assert_eq!(answer["id"], 1);
    }
    // A handler's own complaint about its parameters is an answer like any other.
    let (status, answer) = web.call_tool("nobody", json!({})).json().await;
    assert_eq!((status, code(&answer)), (200, -32602));
}

// requirement: 79ec2020c215
#[tokio::test(start_paused = true)]
async fn a_missing_capability_is_400() {
    let ask = async |(): (), context: HandlerContext| {
        let messages = [SamplingMessage::user("Say hello".to_owned())];
        let said = context.ask("said", CreateMessageRequestParams::new(messages, 20))?;
        Ok::<_, Failure>(format!("{said:?}"))
    };
    let web = Web::new(
        &echo_builder()
            .tool(Tool::builder("ask").handler(ask))
            .build()
            .unwrap(),
    );
    let (status, answer) = web.call_tool("ask", json!({})).json().await;
    assert_eq!((status, code(&answer)), (400, -32021));
    let needed = &answer["error"]["data"]["requiredCapabilities"];
    assert!(needed["sampling"].is_object(), "{answer}");
}

// requirement: 2012895f5a37
#[tokio::test(start_paused = true)]
async fn an_accepted_notification_is_202_and_empty() {
    let web = Web::new(&echo());
    for (method, params) in [
        ("notifications/cancelled", json!({"requestId": 1})),
        ("notifications/anything", json!({})),
    ] {
        let note = json!({"jsonrpc": "2.0", "method": method, "params": params});
        let ask = web.post(note.to_string());
        let ask = ask.header("mcp-protocol-version", Revision::NEWEST.as_str());
        let got = ask.send().await;
        assert_eq!(got.status, 202, "{method}");
        assert!(got.bytes().await.is_empty());
    }
}

// requirement: e401c44e955e
#[tokio::test(start_paused = true)]
async fn a_refused_notification_has_an_error_status() {
    let web = Web::new(&echo());
    for note in [
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":7}"#,
        r#"{"jsonrpc":"2.0","method":7}"#,
        r#"{"jsonrpc":"1.0","method":"notifications/cancelled"}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled""#,
    ] {
        let ask = web.post(note);
        let ask = ask.header("mcp-protocol-version", Revision::NEWEST.as_str());
        let (status, answer) = ask.json().await;
        assert_eq!(status, 400, "{note}");
        assert!(answer.get("id").is_none(), "{answer}");
    }
}

// requirement: 41e2a7e9626a
#[tokio::test(start_paused = true)]
async fn invalid_utf8_is_a_parse_error() {
    let web = Web::new(&echo());
    let mut body =
        br#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":""#.to_vec();
    body.extend_from_slice(b"\xff\"}}");
    for version in [Some(Revision::NEWEST), Some(Revision::NEWEST_LEGACY), None] {
        let ask = web.post(body.clone());
        let ask = version.iter().fold(ask, |ask, version| {
            ask.header("mcp-protocol-version", version.as_str())
        });
        let (status, answer) = ask.json().await;
        assert_eq!((status, code(&answer)), (400, -32700), "{version:?}");
    }
}

// requirement: 379126580a11
#[tokio::test(start_paused = true)]
async fn a_request_is_answered_by_json_or_a_stream() {
    let web = Web::new(&busy());
    let at_once = web.call_tool("echo", json!({"text": "t"})).send().await;
    assert!(!at_once.is_stream());
    assert_eq!(at_once.json().await["result"]["content"][0]["text"], "t");

    let options =
        HttpServerOptions::new().timeouts(HttpTimeouts::new().json_wait(Duration::from_secs(5)));
    let patient = Web::with(&busy(), options);
    for (web, seconds, streams) in [(&web, 2, true), (&patient, 2, false), (&patient, 9, true)] {
        let begin = Instant::now();
        let got = web
            .call_tool("sleep", json!({"seconds": seconds}))
            .send()
            .await;
        assert_eq!((got.status, got.is_stream()), (200, streams), "{seconds}");
        if streams {
            let messages = got.events().messages().await;
            assert_eq!(messages.len(), 1);
            assert_eq!(messages[0]["id"], 1);
        }
        assert_eq!(begin.elapsed().as_secs(), seconds);
    }
}

#[tokio::test(start_paused = true)]
async fn a_notification_before_the_answer_makes_a_stream() {
    let web = Web::new(&busy());
    for seconds in [0, 1] {
        let params = json!({
            "name": "count", "arguments": {"to": 3, "seconds": seconds},
            "_meta": {"progressToken": "p"},
        });
        let messages = web
            .modern("tools/call", params)
            .events()
            .await
            .messages()
            .await;
        let steps: Vec<_> = messages.iter().filter_map(step_of).collect();
        assert_eq!(steps, [1, 2, 3]);
        assert_eq!(messages.len(), 4);
        assert_eq!(messages[3]["result"]["content"][0]["text"], "counted to 3");
    }
}

// requirement: c45fd7df28f9
#[tokio::test(start_paused = true)]
async fn the_response_ends_the_stream() {
    let web = Web::new(&busy());
    let begin = Instant::now();
    let mut events = web.call_tool("sleep", json!({"seconds": 2})).events().await;
    assert_eq!(events.message().await["id"], 1);
    assert_eq!(events.within(Duration::from_secs(60)).await, [None]);
    assert_eq!(begin.elapsed(), Duration::from_secs(2));
}

// requirement: 2f0a7ce9e323
#[tokio::test(start_paused = true)]
async fn a_stream_carries_messages_of_its_request_only() {
    let web = Web::new(&busy());
    let mut streams = Vec::new();
    for n in 1..=3 {
        let params = json!({
            "name": "count", "arguments": {"to": 5, "seconds": n},
            "_meta": {"progressToken": n, "io.modelcontextprotocol/logLevel": "debug"},
        });
        streams.push((n, web.modern("tools/call", params).events().await));
    }
    let wanted = json!({"notifications": {"toolsListChanged": true}});
    let mut listening = web.modern("subscriptions/listen", wanted).events().await;
    for (n, events) in streams {
        let messages = events.messages().await;
        let tokens = messages
            .iter()
            .filter_map(|it| it["params"]["progressToken"].as_u64());
        assert!(tokens.clone().all(|token| token == n), "{messages:?}");
        assert_eq!(tokens.count(), 5);
        let logs = messages
            .iter()
            .filter(|it| it["method"] == "notifications/message");
        assert_eq!(logs.count(), 5);
        assert_eq!(messages.len(), 11);
    }
    let heard = listening.within(Duration::from_secs(1)).await;
    let heard: Vec<_> = heard
        .iter()
        .flatten()
        .filter_map(|it| it.message())
        .collect();
    assert_eq!(heard.len(), 1, "{heard:?}");
    assert_eq!(
        heard[0]["method"],
        "notifications/subscriptions/acknowledged"
    );
}

// requirement: c3f267944f09
#[tokio::test(start_paused = true)]
async fn a_stream_forbids_buffering() {
    let web = Web::new(&busy());
    let mut streams = vec![
        web.call_tool("sleep", json!({"seconds": 2})).send().await,
        web.modern("subscriptions/listen", json!({"notifications": {}}))
            .send()
            .await,
    ];
    for revision in sessions() {
        let session = web.open(revision).await;
        let call = session.call_tool(1, "count", &json!({"to": 1}));
        streams.push(call.send().await);
        streams.push(session.get().send().await);
    }
    for stream in streams {
        assert!(stream.is_stream());
        assert_eq!(stream.header("x-accel-buffering"), Some("no"));
        assert!(stream.header("cache-control").unwrap().contains("no-cache"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_quiet_stream_says_that_it_is_there() {
    let web = Web::with(
        &busy(),
        HttpServerOptions::new()
            .timeouts(HttpTimeouts::new().keep_alive_interval(Duration::from_secs(20))),
    );
    let begin = Instant::now();
    let events = web
        .call_tool("sleep", json!({"seconds": 70}))
        .events()
        .await
        .rest()
        .await;
    assert_eq!(begin.elapsed().as_secs(), 70);
    let comments = events.iter().filter(|it| it.data.is_none());
    assert_eq!((comments.count(), events.len()), (3, 4));
}

// requirement: 2a86e4bcd0ff dbf6033d3a0c
#[tokio::test(start_paused = true)]
async fn legacy_headers_on_a_modern_request_are_ignored() {
    let web = Web::new(&busy());
    let session = web.open(Revision::NEWEST_LEGACY).await;
    for id in ["nobody", &session.id] {
        let ask = web
            .modern("tools/list", json!({}))
            .header("mcp-session-id", id);
        let got = ask.header("last-event-id", "0-0").send().await;
        assert_eq!(got.status, 200);
        assert!(got.header("mcp-session-id").is_none());
        assert!(got.json().await["result"]["tools"].is_array());
    }
}

#[tokio::test(start_paused = true)]
async fn a_principal_without_the_scope_is_403() {
    let guarded = Tool::builder("guarded")
        .handler(async |(): (), _: HandlerContext| "open")
        .scope("admin");
    let server = echo_builder().tool(guarded).build().unwrap();
    let web = Web::new(&server);
    let ask = web
        .call_tool("guarded", json!({}))
        .principal(principal("ann"));
    let got = ask.send().await;
    assert_eq!(got.status, 403);
    assert!(format!("{:?}", got.scope.as_ref().unwrap()).contains("admin"));
    assert_eq!(got.json().await["id"], 1);
    let session = web.open(Revision::NEWEST_LEGACY).await;
    let ask = session
        .call_tool(1, "guarded", &json!({}))
        .principal(principal("ann"));
    let got = ask.send().await;
    assert_eq!(got.status, 403);
    assert!(got.scope.is_some());
}

#[tokio::test(start_paused = true)]
async fn every_era_is_on_the_same_path() {
    let web = Web::new(&echo());
    for case in Case::all() {
        let ask = if case.is_modern() {
            web.modern("tools/list", json!({}))
        } else {
            let session = web.open(case.revision).await;
            session.request(1, "tools/list", &json!({}))
        };
        let (status, answer) = ask.json().await;
        assert_eq!(status, 200, "{case}");
        assert_eq!(answer["result"]["tools"][0]["name"], "echo", "{case}");
    }
}
