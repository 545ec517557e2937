//! Extensions: only for who declared them.

use std::future::ready;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde::{Deserialize, Serialize};
use serde_json::json;
use turnbuckle_it::harness::{Bind, Case, Client, ClientOptions};
use turnbuckle_server::{Extension, ExtensionResult, HandlerContext, Result, Server, Tool};
use turnbuckle_types::{ExtensionNotification, ExtensionRequest, Notification, Request};

use crate::servers::echo_builder;

pub(crate) const ID: &str = "com.example/clock";

#[derive(Serialize, Deserialize)]
pub(crate) struct Zone {
    pub(crate) zone: String,
}

#[derive(Serialize, Deserialize)]
struct Time {
    time: String,
}

/// The extension's method.
struct Now;

impl Request for Now {
    const METHOD: &'static str = "clock/now";
    type Params = Zone;
    type Result = Time;
}

impl ExtensionRequest for Now {
    const EXTENSION: &'static str = ID;
}

/// Creates a server with an extension: a method, and a result type that a tool uses where it can.
pub(crate) fn clock() -> Server {
    let extension = Extension::new(ID)
        .method::<Now, _, _>(async |asked: Zone, _: HandlerContext| {
            Ok(Time {
                time: format!("noon in {}", asked.zone),
            })
        })
        .result_type("com.example.deferred");
    let later =
        async |(): (), context: HandlerContext| -> Result<turnbuckle_types::CallToolResult> {
            let _ = context;
            Ok(turnbuckle_types::CallToolResult::from_text("now"))
        };
    let defer = async |(): (), _: HandlerContext| ExtensionResult {
        result_type: "com.example.deferred",
        value: json!({"until": "noon"}),
    };
    echo_builder()
        .extension(extension)
        .tool(Tool::builder("later").handler(later))
        .tool(Tool::builder("defer").handler(defer))
        .build()
        .unwrap()
}

pub(crate) fn declaring() -> ClientOptions {
    ClientOptions::new().capabilities(json!({"extensions": {ID: {}}}))
}

fn declared_everywhere() -> Vec<(Case, ClientOptions)> {
    // What an older revision does not know cannot be declared in it.
    let legacy = Case::legacy().into_iter().map(|case| (case, declaring()));
    let undeclared = Case::modern()
        .into_iter()
        .map(|case| (case, ClientOptions::new()));
    legacy.chain(undeclared).collect()
}

// requirement: 9d13bfd04526
#[tokio::test(start_paused = true)]
async fn an_undeclared_extension_falls_back_or_is_refused() {
    for (case, options) in declared_everywhere() {
        let mut client = Client::connect_with(case, &clock(), options).await;
        let answer = client.request("clock/now", json!({"zone": "UTC"})).await;
        assert_eq!(answer["error"]["code"], -32601, "{case}: {answer}");
        let answer = client.request("tools/call", json!({"name": "later"})).await;
        assert_eq!(answer["result"]["content"][0]["text"], "now", "{case}");
    }
    for case in Case::modern() {
        let mut client = Client::connect_with(case, &clock(), declaring()).await;
        let answer = client.request("clock/now", json!({"zone": "UTC"})).await;
        let result = &answer["result"];
        assert_eq!(result["time"], "noon in UTC", "{case}: {answer}");
        assert_eq!(result["resultType"], "complete", "{case}: {answer}");
        let answer = client.request("clock/now", json!({"zone": 5})).await;
        assert_eq!(answer["error"]["code"], -32602, "{case}: {answer}");
    }
}

/// The extension's notification.
struct Tick;

impl Notification for Tick {
    const METHOD: &'static str = "clock/tick";
    type Params = serde_json::Value;
}

impl ExtensionNotification for Tick {
    const EXTENSION: &'static str = ID;
}

#[tokio::test(start_paused = true)]
async fn an_extension_notification_needs_the_declared_extension() {
    let count = Arc::new(AtomicUsize::new(0));
    let counter = count.clone();
    let extension = Extension::new(ID).notification::<Tick, _, _>(move |_, _| {
        counter.fetch_add(1, Ordering::Relaxed);
        ready(())
    });
    let server = echo_builder().extension(extension).build().unwrap();
    for case in Case::all() {
        for (options, declared) in [(declaring(), 1), (ClientOptions::new(), 0)] {
            let mut client = Client::connect_with(case, &server, options).await;
            count.store(0, Ordering::Relaxed);
            let says = case.is_modern() && case.binding != Bind::Http;
            let reaches = !case.is_modern() || says;
            let params = match case.is_modern() {
                true => client.with_envelope(json!({})),
                false => json!({}),
            };
            client.notify("clock/tick", params).await;
            client.settle().await;
            let expected = if reaches { declared } else { 0 };
            assert_eq!(count.load(Ordering::Relaxed), expected, "{case}");
            // Without an envelope nobody knows on a pipe what a modern client declared.
            if says {
                client.notify("clock/tick", json!({})).await;
                client.settle().await;
                assert_eq!(count.load(Ordering::Relaxed), declared + 1, "{case}");
            }
        }
    }
}

// requirement: d93ddf7f637b
#[tokio::test(start_paused = true)]
async fn a_result_type_needs_its_extension() {
    for (case, options) in declared_everywhere() {
        let mut client = Client::connect_with(case, &clock(), options).await;
        let answer = client.request("tools/call", json!({"name": "defer"})).await;
        assert_eq!(answer["error"]["code"], -32603, "{case}: {answer}");
    }
    for case in Case::modern() {
        let mut client = Client::connect_with(case, &clock(), declaring()).await;
        let answer = client.request("tools/call", json!({"name": "defer"})).await;
        let result = &answer["result"];
        assert_eq!(
            result["resultType"], "com.example.deferred",
            "{case}: {answer}"
        );
        assert_eq!(result["until"], "noon", "{case}: {answer}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_extension_is_declared_where_the_revision_can() {
    for case in Case::all() {
        let mut client = Client::connect(case, &clock()).await;
        let capabilities = match client.handshake() {
            Some(opened) => opened["capabilities"].clone(),
            None => {
                client.request("server/discover", json!({})).await["result"]["capabilities"].clone()
            }
        };
        let expected = case.is_modern().then(|| json!({ID: {}}));
        assert_eq!(capabilities.get("extensions"), expected.as_ref(), "{case}");
    }
}

// requirement: b80eb6a14946
#[test]
fn an_id_needs_a_prefix() {
    let build = |id: &str| echo_builder().extension(Extension::new(id)).build();
    for bad in [
        "",
        "clock",
        "/clock",
        "com.example",
        "1com/clock",
        "com./clock",
        "com..example/clock",
        "com.example-/clock",
        "com example/clock",
        "com.example/-clock",
        "com.example/clock_",
        "com.example/a/b",
        "com.exämple/clock",
    ] {
        let error = build(bad).expect_err(bad).to_string();
        assert!(error.contains(&format!("{bad:?}")), "it is named: {error}");
    }
    for good in [
        ID,
        "io.modelcontextprotocol/tasks",
        "c/x",
        "com.example/",
        "a-b.c2/x.y_z-1",
    ] {
        build(good).unwrap_or_else(|error| panic!("{good}: {error}"));
    }
}
