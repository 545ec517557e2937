//! Log messages: who gets them, and from which level on.

use serde_json::{Value, json};
use turnbuckle_it::harness::{Case, Client, ClientOptions};
use turnbuckle_server::{HandlerContext, Server, ServerBuilder, Tool};
use turnbuckle_types::LoggingLevel;

use crate::support::{call, code, result, text};

/// The levels, in order.
const LEVELS: [&str; 8] = [
    "debug",
    "info",
    "notice",
    "warning",
    "error",
    "critical",
    "alert",
    "emergency",
];

/// Returns a server builder with a tool that logs once at every level.
fn builder() -> ServerBuilder {
    Server::new("logging", "1.0.0").tool(Tool::builder("log").handler(
        async |(): (), context: HandlerContext| {
            for level in LEVELS {
                let parsed: LoggingLevel = serde_json::from_value(level.into()).unwrap();
                context.log(parsed, Some("test"), level).await;
            }
            "done"
        },
    ))
}

/// Returns the levels of the log messages among these.
fn levels(messages: &[Value]) -> Vec<&str> {
    let logged = messages
        .iter()
        .filter(|it| it["method"] == "notifications/message");
    logged
        .map(|it| it["params"]["level"].as_str().unwrap())
        .collect()
}

// requirement: 6bc1b1824a63
#[tokio::test(start_paused = true)]
async fn nothing_is_sent_unless_asked() {
    let server = builder().logging().build().unwrap();
    for case in Case::modern() {
        let mut client = Client::connect(case, &server).await;
        text(&call(&mut client, "log", json!({})).await);
        assert_eq!(client.messages().await, [Value::Null; 0], "{case}");
        for (at, level) in LEVELS.into_iter().enumerate() {
            let options = ClientOptions::new().log_level(level);
            let mut client = Client::connect_with(case, &server, options).await;
            text(&call(&mut client, "log", json!({})).await);
            assert_eq!(
                levels(&client.messages().await),
                LEVELS[at..],
                "{case} {level}"
            );
            // All of them came before the answer.
            assert!(
                client
                    .received_messages()
                    .last()
                    .unwrap()
                    .get("result")
                    .is_some()
            );
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_session_has_one_level() {
    let server = builder().logging().build().unwrap();
    for case in Case::legacy() {
        let mut client = Client::connect(case, &server).await;
        for (at, level) in LEVELS.into_iter().enumerate().rev() {
            let answer = client
                .request("logging/setLevel", json!({"level": level}))
                .await;
            assert_eq!(result(&answer), &json!({}), "{case}");
            for _ in 0..2 {
                text(&call(&mut client, "log", json!({})).await);
                let messages = client.messages().await;
                assert_eq!(levels(&messages), LEVELS[at..], "{case} {level}");
                assert_eq!(messages[0]["params"]["logger"], "test");
                assert_eq!(messages[0]["params"]["data"], LEVELS[at]);
            }
        }
    }
}

// requirement: e94c0d3ef0ee
#[tokio::test(start_paused = true)]
async fn a_logging_server_declares_it() {
    let quiet = builder().build().unwrap();
    let logging = builder().logging().build().unwrap();
    for case in Case::all() {
        for (server, logs) in [(&quiet, false), (&logging, true)] {
            let mut client = Client::connect(case, server).await;
            let declared = match client.handshake() {
                Some(handshake) => handshake["capabilities"]["logging"].clone(),
                None => {
                    let discovery = client.request("server/discover", json!({})).await;
                    result(&discovery)["capabilities"]["logging"].clone()
                }
            };
            assert_eq!(declared.is_object(), logs, "{case}");
            let meta = json!({"_meta": {"io.modelcontextprotocol/logLevel": "debug"}});
            let mut params = if case.is_modern() { meta } else { json!({}) };
            params["name"] = "log".into();
            text(&client.request("tools/call", params).await);
            assert_eq!(levels(&client.messages().await).is_empty(), !logs, "{case}");
        }
    }
}

// requirement: 6c0ee044314c d3d5b32fbdf9
#[tokio::test(start_paused = true)]
async fn an_unknown_level_is_32602() {
    let server = builder().logging().build().unwrap();
    let long = "x".repeat(100_000);
    for case in Case::all() {
        let mut client = Client::connect(case, &server).await;
        for level in [
            json!("loud"),
            json!("INFO"),
            json!(""),
            json!(3),
            json!([]),
            json!(long),
        ] {
            let answer = if case.is_modern() {
                let meta = json!({"io.modelcontextprotocol/logLevel": level});
                client
                    .request("tools/call", json!({"name": "log", "_meta": meta}))
                    .await
            } else {
                client
                    .request("logging/setLevel", json!({"level": level}))
                    .await
            };
            assert_eq!(code(&answer), -32602, "{case}");
            assert!(answer.to_string().len() < 500, "{case}");
        }
        if case.is_legacy() {
            let answer = client.request("logging/setLevel", json!({})).await;
            assert_eq!(code(&answer), -32602, "{case}");
        }
        assert_eq!(client.messages().await, [Value::Null; 0], "{case}");
    }
}

// requirement: 78e4a9b007f2
#[tokio::test(start_paused = true)]
async fn messages_stay_on_their_request() {
    let server = builder().logging().build().unwrap();
    for case in Case::modern() {
        let mut client = Client::connect(case, &server).await;
        let filter = json!({"notifications": {"toolsListChanged": true}});
        let listen = client.start("subscriptions/listen", filter).await;
        client
            .next_of("notifications/subscriptions/acknowledged")
            .await;
        let level = |level: &str| json!({"io.modelcontextprotocol/logLevel": level});
        let loud = json!({"name": "log", "_meta": level("alert")});
        let (loud, quiet) = (
            client.start("tools/call", loud).await,
            client.start("tools/call", json!({"name": "log"})).await,
        );
        client.response(loud).await;
        client.response(quiet).await;
        let messages = client.messages().await;
        assert_eq!(levels(&messages), ["alert", "emergency"], "{case}");
        for message in messages {
            // A listen's own messages name it; these belong to a request alone.
            let meta = &message["params"]["_meta"];
            assert_eq!(
                meta.get("io.modelcontextprotocol/subscriptionId"),
                None,
                "{message}"
            );
        }
        let of = |id: i64| {
            client
                .received_messages()
                .iter()
                .position(|it| it["id"] == id)
                .unwrap()
        };
        let last = client
            .received_messages()
            .iter()
            .rposition(|it| it["method"] == "notifications/message");
        assert!(last.unwrap() < of(loud), "{case}");
        assert!(!client.is_answered(listen).await);
    }
}
