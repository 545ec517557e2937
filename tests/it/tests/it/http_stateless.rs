//! The legacy era without sessions: each request for itself.

use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::json;
use tokio::time::timeout;
use turnbuckle_http::{HttpServerOptions, Sessions};
use turnbuckle_it::web::{Ask, Web, sessions};
use turnbuckle_wire::revision::Revision;

use crate::http::{busy, step_of};
use crate::http_sessions::holding;

fn web() -> Web {
    Web::with(
        &busy(),
        HttpServerOptions::new().sessions(Sessions::Stateless),
    )
}

fn ask(web: &Web, revision: Revision, method: &str, params: serde_json::Value) -> Ask {
    let body = json!({"jsonrpc": "2.0", "id": 5, "method": method, "params": params});
    let ask = web.post(body.to_string());
    ask.header("mcp-protocol-version", revision.as_str())
}

#[tokio::test(start_paused = true)]
async fn each_request_is_served_for_itself() {
    for revision in sessions() {
        let web = web();
        let opened = web.initialize(revision, json!({})).send().await;
        assert!(opened.header("mcp-session-id").is_none());
        let opened = opened.json().await;
        assert_eq!(opened["result"]["protocolVersion"], revision.as_str());
        let note = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        assert_eq!(web.post(note.to_string()).send().await.status, 202);
        let call = json!({"name": "echo", "arguments": {"text": "t"}});
        let (status, answer) = ask(&web, revision, "tools/call", call).json().await;
        assert_eq!(status, 200);
        assert_eq!(answer["result"]["content"][0]["text"], "t", "{revision}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_notification_before_the_answer_makes_a_stream() {
    for revision in sessions() {
        let call = json!({
            "name": "count", "arguments": {"to": 90}, "_meta": {"progressToken": 1},
        });
        let said = ask(&web(), revision, "tools/call", call).events().await;
        let said = said.messages().await;
        assert_eq!(said.iter().filter_map(step_of).count(), 90, "{revision}");
        assert_eq!(said.last().unwrap()["id"], 5);
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_is_gone_leaves_nothing_behind() {
    let (server, here) = holding();
    let web = Web::with(
        &server,
        HttpServerOptions::new().sessions(Sessions::Stateless),
    );
    for revision in sessions() {
        let call = || ask(&web, revision, "tools/call", json!({"name": "hold"}));
        drop(call().events().await);
        let waiting = timeout(Duration::from_millis(10), call().send()).await;
        assert!(waiting.is_err(), "{revision}");
        assert_eq!(here.load(Ordering::SeqCst), 2, "{revision}");
        tokio::time::sleep(Duration::from_secs(3)).await;
        assert_eq!(here.load(Ordering::SeqCst), 0, "{revision}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_stateless_server_closes_no_stream_early() {
    for revision in sessions() {
        let call = json!({"name": "later", "_meta": {"progressToken": 1}});
        let events = ask(&web(), revision, "tools/call", call).events().await;
        let events = events.rest().await;
        assert!(
            events.iter().all(|event| event.retry.is_none()),
            "{revision}"
        );
        let answer = events.last().unwrap().message().unwrap();
        assert_eq!(answer["result"]["content"][0]["text"], "later");
    }
}

/// The client counts as one that declared nothing, and there is no way back for an answer.
#[tokio::test(start_paused = true)]
async fn a_client_cannot_be_asked() {
    for revision in sessions() {
        let call = json!({"name": "roots"});
        let answer = ask(&web(), revision, "tools/call", call).json().await.1;
        let text = answer["result"]["content"][0]["text"].as_str().unwrap();
        assert_eq!(text, "there is nobody to ask", "{revision}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_modern_era_is_served_as_ever() {
    let (status, answer) = web().call_tool("echo", json!({"text": "t"})).json().await;
    assert_eq!(status, 200);
    assert_eq!(answer["result"]["content"][0]["text"], "t");
}
