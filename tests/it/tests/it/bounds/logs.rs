//! Limits on the log messages that a client is sent.

use std::time::Duration;

use serde_json::{Value, json};
use turnbuckle_http::HttpServerOptions;
use turnbuckle_it::harness::{Case, Client, ClientOptions};
use turnbuckle_it::web::Web;
use turnbuckle_server::{HandlerContext, Server, Tool};
use turnbuckle_session::handler::{Limits, Rate};
use turnbuckle_types::LoggingLevel;

/// Creates a server whose tool logs five messages at once, and another a second later.
fn talkative() -> Server {
    let talk = async |(): (), context: HandlerContext| {
        for n in 1..=5 {
            context.log(LoggingLevel::Error, None, &n).await;
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
        context.log(LoggingLevel::Error, None, "last").await;
        "said"
    };
    let server = Server::new("talkative", "1.0.0").logging();
    let server = server.tool(Tool::builder("talk").handler(talk));
    server.build().unwrap()
}

/// Returns the texts of the log messages among these.
fn log_texts(messages: &[Value]) -> Vec<Value> {
    let logs = messages
        .iter()
        .filter(|message| message["method"] == "notifications/message");
    logs.map(|message| message["params"]["data"].clone())
        .collect()
}

// requirement: d3a04de7942f f89e4f5980ce
#[tokio::test(start_paused = true)]
async fn too_frequent_log_messages_are_left_out_and_counted() {
    let unsaid = "3 log messages were left out (Limits::log_rate)";
    for case in Case::all() {
        let limits = Limits::new().log_rate(Rate::per_second(1).burst(2));
        let options = ClientOptions::new().limits(limits).log_level("debug");
        let mut client = Client::connect_with(case, &talkative(), options).await;
        let params = json!({"name": "talk", "arguments": {}});
        assert_eq!(
            client.request("tools/call", params).await["result"]["content"][0]["text"],
            "said"
        );
        let logged = log_texts(&client.messages().await);
        assert_eq!(
            logged,
            [json!(1), json!(2), json!(unsaid), json!("last")],
            "{case}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn all_are_sent_that_come_slowly_enough() {
    for case in Case::all() {
        let limits = Limits::new().log_rate(Rate::per_second(5));
        let options = ClientOptions::new().limits(limits).log_level("debug");
        let mut client = Client::connect_with(case, &talkative(), options).await;
        let params = json!({"name": "talk", "arguments": {}});
        client.request("tools/call", params).await;
        let logged = log_texts(&client.messages().await);
        assert_eq!(
            logged,
            [
                1.into(),
                2.into(),
                3.into(),
                4.into(),
                5.into(),
                json!("last")
            ],
            "{case}"
        );
    }
}

/// Checks that one client never learns how many messages of another were left out.
#[tokio::test(start_paused = true)]
async fn requests_of_whom_nothing_is_known_are_counted_apart() {
    let limits = Limits::new().log_rate(Rate::per_second(1).burst(2));
    let web = Web::with(&talkative(), HttpServerOptions::new().limits(limits));
    let level = json!({"io.modelcontextprotocol/logLevel": "debug"});
    for _ in 0..2 {
        let params = json!({"name": "talk", "arguments": {}, "_meta": level});
        let mut events = web.modern("tools/call", params).events().await;
        let mut messages = Vec::new();
        while let Some((_, message)) = events.next_message().await {
            messages.push(message);
        }
        assert_eq!(log_texts(&messages)[..2], [json!(1), json!(2)]);
    }
}
