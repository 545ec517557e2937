//! Limits of an HTTP endpoint.

use std::time::Duration;

use serde_json::json;
use turnbuckle_http::{HttpLimits, HttpServerOptions, ReplayLimits, Sessions};
use turnbuckle_it::web::{Ask, Web};
use turnbuckle_wire::revision::Revision;

use super::refused_by;
use crate::http::busy;
use crate::servers::echo;

/// A setting, at its line and over it.
struct Row {
    setting: &'static str,
    options: HttpServerOptions,
    at: fn(&Web) -> Ask,
    over: fn(&Web) -> Ask,
    status: u16,
}

const PING: &str = r#"{"jsonrpc":"2.0","id":9,"method":"tools/list"}"#;

/// Returns a call with `count` headers, ten of which are its own.
fn headers(web: &Web, count: usize) -> Ask {
    let call = web.call_tool("echo", json!({"text": "t"}));
    let own = [
        "host",
        "content-type",
        "accept",
        "mcp-protocol-version",
        "mcp-method",
        "mcp-name",
    ];
    (own.len()..count).fold(call, |call, n| call.header(&format!("x-{n}"), "1"))
}

fn padded_ping(web: &Web, size: usize) -> Ask {
    web.post(format!("{PING:size$}"))
}

fn rows() -> Vec<Row> {
    vec![
        Row {
            setting: "(HttpLimits::max_headers)",
            options: HttpServerOptions::new().http_limits(HttpLimits::new().max_headers(20)),
            at: |web| headers(web, 20),
            over: |web| headers(web, 21),
            status: 431,
        },
        Row {
            setting: "(HttpServerOptions::max_message_bytes)",
            options: HttpServerOptions::new()
                .max_message_bytes(1000)
                .sessions(Sessions::Stateless),
            at: |web| padded_ping(web, 1000),
            over: |web| padded_ping(web, 1001),
            status: 413,
        },
    ]
}

#[tokio::test(start_paused = true)]
async fn a_request_at_a_limit_passes_and_one_beyond_is_refused_by_name() {
    for row in rows() {
        let web = Web::with(&echo(), row.options);
        assert_eq!((row.at)(&web).send().await.status, 200, "{}", row.setting);
        let refused = (row.over)(&web).send().await;
        assert_eq!(refused.status, row.status, "{}", row.setting);
        refused_by(&refused.json().await, row.setting);
    }
}

#[tokio::test(start_paused = true)]
async fn the_headers_are_limited_over_http_and_http_sse() {
    let web = Web::sse(
        &echo(),
        HttpServerOptions::new().http_limits(HttpLimits::new().max_headers(3)),
    );
    let open = || {
        web.ask(http::Method::GET)
            .to("/sse")
            .header("accept", "*/*")
    };
    assert_eq!(open().header("x-1", "1").send().await.status, 200);
    let refused = open().header("x-1", "1").header("x-2", "1").send().await;
    assert_eq!(refused.status, 431);
    refused_by(&refused.json().await, "(HttpLimits::max_headers)");
}

#[tokio::test(start_paused = true)]
async fn the_open_sessions_are_limited() {
    let web = Web::with(
        &echo(),
        HttpServerOptions::new().http_limits(HttpLimits::new().max_sessions(2)),
    );
    let mut streams = Vec::new();
    for _ in 0..2 {
        let session = web.open(Revision::NEWEST_LEGACY).await;
        // A session with a stream is in use, and keeps its place.
        streams.push(session.get().send().await);
    }
    let refused = web
        .initialize(Revision::NEWEST_LEGACY, json!({}))
        .send()
        .await;
    assert_eq!(refused.status, 503);
    refused_by(&refused.json().await, "(HttpLimits::max_sessions)");
}

/// Checks that the loss of events is reported with the setting that bounds them.
#[tokio::test(start_paused = true)]
async fn the_replay_logs_of_all_streams_are_limited() {
    for (total, kept) in [(256 << 20, true), (0, false)] {
        let options = HttpServerOptions::new().replay(ReplayLimits::new().max_total_bytes(total));
        let web = Web::with(&busy(), options);
        let session = web.open(Revision::NEWEST_LEGACY).await;
        let mut events = session
            .call_tool(1, "count", &json!({"to": 3, "seconds": 0}))
            .events()
            .await;
        let first = events.next().await.expect("an event");
        while events.next().await.is_some() {}
        let again = session.resume(&first.id.expect("an id")).send().await;
        assert_eq!(again.status == 200, kept, "{total}");
        if !kept {
            refused_by(&again.json().await, "max_total_bytes");
        }
    }
    tokio::time::sleep(Duration::from_millis(1)).await;
}
