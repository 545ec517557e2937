//! The audit log: one record of each request, refused ones included, and the lines of the log.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use turnbuckle::prelude::*;
use turnbuckle::session::handler::{Limits, Rate};
use turnbuckle::types::{AuditOutcome, AuditRecord};
use turnbuckle::{ServerBuilder, testing};
use turnbuckle_it::web::Web;

/// The records of a server, as text.
#[derive(Clone, Default)]
struct Records(Arc<Mutex<Vec<String>>>);

impl Records {
    fn server(&self) -> ServerBuilder {
        let records = self.clone();
        Server::new("shop", "1.0.0")
            .tools(tools![add, fail, panic_now, wait])
            .group(Group::new().tools(tools![cancel_order]))
            .audit(move |record: &AuditRecord<'_>| records.add(record))
    }

    fn add(&self, record: &AuditRecord<'_>) {
        let user = record.principal.map_or("-", |it| &it.subject);
        let (method, target) = (record.method.unwrap_or("-"), record.target.unwrap_or("-"));
        let outcome = match record.outcome {
            AuditOutcome::MissingScopes(needed) => format!("MissingScopes({:?})", needed.scopes),
            outcome => format!("{outcome:?}"),
        };
        let bytes = record.argument_bytes;
        let text = format!("{user} {method} {target} {bytes} {outcome}");
        self.0.lock().unwrap().push(text);
    }

    /// Returns the records since the last time, of calls of tools and of what is no method.
    fn take(&self) -> Vec<String> {
        let mut records = std::mem::take(&mut *self.0.lock().unwrap());
        records.retain(|record| record.contains("tools/call") || record.contains("Unknown"));
        records
    }
}

/// Add two numbers.
#[tool]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

/// Cancel an order.
#[tool(scope = "orders:write")]
fn cancel_order(id: u32) -> String {
    format!("order {id} is cancelled")
}

/// Fail.
#[tool]
fn fail() -> Result<String> {
    Err(std::io::Error::other("hunter2").into())
}

/// Panic.
#[tool]
fn panic_now() -> String {
    panic!("hunter2")
}

/// Wait for an hour.
#[tool]
async fn wait() -> String {
    tokio::time::sleep(Duration::from_secs(3600)).await;
    String::new()
}

#[tokio::test(start_paused = true)]
async fn each_call_is_recorded_once_with_its_outcome() {
    let records = Records::default();
    let user = Principal::new("https://login.example.com", "ann");
    let client = testing::client(records.server().build().unwrap());
    let client = client.principal(user).connect().await.unwrap();
    for (tool, arguments, expected) in [
        ("add", json!({"a": 1, "b": 2}), "13 Completed"),
        ("add", json!({"a": "x", "b": 2}), "15 InvalidArguments"),
        ("no\u{1b}tool", json!({}), "2 UnknownItem"),
        ("fail", json!({}), "2 ToolError"),
        ("panic_now", json!({}), "2 Panicked"),
        (
            "cancel_order",
            json!({"id": 1}),
            "8 MissingScopes([\"orders:write\"])",
        ),
    ] {
        let _ = client.call_tool(tool, &arguments).await;
        let name = tool.replace('\u{1b}', "\\u{1b}");
        let expected = format!("ann tools/call {name} {expected}");
        assert_eq!(records.take(), [expected]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_call_is_recorded() {
    let records = Records::default();
    let client = testing::connect(records.server().build().unwrap());
    let client = client.await.unwrap();
    let call = client.call_tool("wait", &json!({}));
    let call = tokio::time::timeout(Duration::from_secs(1), call.into_future());
    assert!(call.await.is_err());
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(records.take(), ["- tools/call wait 2 Cancelled"]);
}

/// Returns the records after a request over HTTP.
async fn records_after(limits: Limits, method: &str, params: Value) -> Vec<String> {
    let records = Records::default();
    let options = turnbuckle::http::HttpServerOptions::new().limits(limits);
    let web = Web::with(&records.server().build().unwrap(), options);
    let mut responses = Vec::new();
    for _ in 0..2 {
        responses.push(web.modern(method, params.clone()).send().await);
    }
    // Dropping a response before its end cancels the request.
    tokio::time::sleep(Duration::from_secs(3600)).await;
    drop(responses);
    records.take()
}

#[tokio::test(start_paused = true)]
async fn refusals_before_the_handler_are_recorded() {
    let call = json!({"name": "add", "arguments": {"a": 1, "b": 2}});
    let records = records_after(
        Limits::new().call_rate(Rate::per_second(1)),
        "tools/call",
        call.clone(),
    )
    .await;
    assert_eq!(
        records,
        [
            "- tools/call add 13 Completed",
            "- tools/call add 13 Refused { limit: \"Limits::call_rate\" }"
        ]
    );
    let records = records_after(Limits::new().max_owner_bytes(1), "tools/call", call).await;
    let refused = "- tools/call add 13 Refused { limit: \"Limits::max_owner_bytes\" }";
    assert!(
        records.iter().all(|record| record == refused),
        "{records:?}"
    );
    let limits = Limits::new().handler_timeout(Duration::from_secs(60));
    let records = records_after(limits, "tools/call", json!({"name": "wait"})).await;
    assert_eq!(records, ["- tools/call wait 0 TimedOut"; 2]);
    let records = records_after(Limits::new(), "no/method", json!({})).await;
    assert_eq!(records, ["- no/method - 0 UnknownMethod"; 2]);
}

#[tokio::test]
async fn a_failing_audit_log_fails_no_request() {
    let server = Server::new("s", "1.0.0").tools(tools![add]);
    let server = server.audit(|_: &AuditRecord<'_>| panic!("the disk is full"));
    let client = testing::connect(server).await.unwrap();
    let sum = client.call_tool("add", &json!({"a": 1, "b": 2})).await;
    assert_eq!(sum.unwrap().text(), "3");
}
