//! Audit records of what is refused before its message is served.

use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;
use turnbuckle_http::{HttpLimits, HttpServerOptions, HttpTimeouts};
use turnbuckle_it::harness::{Case, Client, ClientOptions};
use turnbuckle_it::web::Web;
use turnbuckle_server::Server;
use turnbuckle_session::handler::{Limits, Rate};
use turnbuckle_types::{AuditOutcome, AuditRecord};
use turnbuckle_wire::revision::Revision;

use crate::servers::echo_builder;
use crate::support::principal;

/// The records of a server.
#[derive(Clone, Default)]
struct Records(Arc<Mutex<Vec<String>>>);

impl Records {
    /// Returns a server whose records these are.
    fn server(&self) -> Server {
        let records = self.clone();
        let audit = move |record: &AuditRecord<'_>| {
            let user = record.principal.map(|user| &*user.subject);
            let sender = (user, record.client_address.map(|it| it.to_string()));
            if record.outcome != AuditOutcome::Completed {
                let text = format!("{sender:?} {:?} {:?}", record.method, record.outcome);
                records.0.lock().unwrap().push(text);
            }
        };
        echo_builder().audit(audit).build().unwrap()
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }

    /// Asserts that one record was made since the last time.
    fn assert_one(&self, sender: &str, method: &str, outcome: &str) {
        assert_eq!(self.take(), [format!("{sender} {method} {outcome}")]);
    }
}

const NOBODY: &str = "(None, None)";

#[tokio::test(start_paused = true)]
async fn a_request_that_is_refused_by_its_head_or_its_body_has_a_record() {
    let records = Records::default();
    let options = HttpServerOptions::new()
        .max_message_bytes(1000)
        .http_limits(HttpLimits::new().max_headers(8))
        .timeouts(HttpTimeouts::new().body_timeout(Duration::from_secs(3)))
        .limits(Limits::new().max_owner_bytes(100_000));
    let (server, address) = (records.server(), IpAddr::from([192, 0, 2, 7]));
    let web = Web::with(&server, options.clone());
    let asked = || web.modern("tools/list", json!({}));
    let limit = |name: &str| format!("Refused {{ limit: \"{name}\" }}");

    let ask = asked().principal(principal("ann")).address(address);
    assert_eq!(ask.header("host", "evil.example").send().await.status, 403);
    let sender = "(Some(\"ann\"), Some(\"192.0.2.7\"))";
    records.assert_one(sender, "None", &limit("HttpServerOptions::allowed_hosts"));

    let ask = asked().header("origin", "http://evil.example");
    assert_eq!(ask.send().await.status, 403);
    records.assert_one(NOBODY, "None", &limit("HttpServerOptions::allowed_origins"));

    let headers = ["x-1", "x-2", "x-3", "x-4", "x-5"];
    let many = headers
        .iter()
        .fold(asked(), |ask, name| ask.header(name, "1"));
    assert_eq!(many.send().await.status, 431);
    records.assert_one(NOBODY, "None", &limit("HttpLimits::max_headers"));

    assert_eq!(web.post("x".repeat(1001)).send().await.status, 413);
    records.assert_one(
        NOBODY,
        "None",
        &limit("HttpServerOptions::max_message_bytes"),
    );

    let large = Web::with(&server, options.max_message_bytes(1 << 20));
    assert_eq!(large.post("x".repeat(200_000)).send().await.status, 429);
    records.assert_one(NOBODY, "None", &limit("Limits::max_owner_bytes"));

    let other = asked().header("content-type", "text/plain");
    assert_eq!(other.send().await.status, 415);
    records.assert_one(NOBODY, "None", "Error { code: -32600 }");
}

#[tokio::test(start_paused = true)]
async fn a_malformed_message_has_a_record_over_http() {
    let records = Records::default();
    let web = Web::new(&records.server());
    for (body, code) in [
        ("{", -32700),
        ("7", -32600),
        (r#"{"jsonrpc":"2.0"}"#, -32600),
    ] {
        assert_eq!(web.post(body).send().await.status, 400, "{body}");
        records.assert_one(NOBODY, "None", &format!("Error {{ code: {code} }}"));
    }
    // A request whose envelope or headers are invalid has a method.
    let lacking = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": {
        "io.modelcontextprotocol/protocolVersion": Revision::NEWEST.as_str(),
    }}});
    let version = Revision::NEWEST.as_str();
    let ask = web.post(lacking.to_string());
    let ask = ask.header("mcp-protocol-version", version);
    assert_eq!(
        ask.header("mcp-method", "tools/list").send().await.status,
        400
    );
    records.assert_one(NOBODY, "Some(\"tools/list\")", "Error { code: -32602 }");
    let mismatch = web.modern("tools/list", json!({}));
    let mismatch = mismatch.header("mcp-method", "tools/call").send().await;
    assert_eq!(mismatch.status, 400);
    let mismatch = records.take();
    assert!(
        mismatch[0].starts_with("(None, None) Some(\"tools/list\") Error"),
        "{mismatch:?}"
    );
    let unknown = web.post(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#);
    assert_eq!(
        unknown.header("mcp-session-id", "none").send().await.status,
        404
    );
    records.assert_one(NOBODY, "None", "Error { code: -32600 }");
}

#[tokio::test(start_paused = true)]
async fn a_handshake_or_a_stream_beyond_its_limit_has_a_record() {
    let records = Records::default();
    let limits = Limits::new().handshake_rate(Rate::per_second(0));
    let options = HttpServerOptions::new()
        .limits(limits)
        .http_limits(HttpLimits::new().max_listening_streams(0));
    let web = Web::with(&records.server(), options.clone());
    let ask = web.initialize(Revision::NEWEST_LEGACY, json!({}));
    assert_eq!(ask.principal(principal("ann")).send().await.status, 429);
    let sender = "(Some(\"ann\"), None)";
    let limit = "Refused { limit: \"Limits::handshake_rate\" }";
    records.assert_one(sender, "Some(\"initialize\")", limit);
    let listening = web.modern("subscriptions/listen", json!({"notifications": {}}));
    assert_eq!(listening.send().await.status, 503);
    let limit = "Refused { limit: \"HttpLimits::max_listening_streams\" }";
    records.assert_one(NOBODY, "None", limit);
    let web = Web::sse(&records.server(), options);
    let ask = web
        .ask(http::Method::GET)
        .header("accept", "text/event-stream");
    assert_eq!(ask.principal(principal("ann")).send().await.status, 429);
    records.assert_one(
        sender,
        "None",
        "Refused { limit: \"Limits::handshake_rate\" }",
    );
}

#[tokio::test(start_paused = true)]
async fn a_message_that_a_connection_refuses_has_a_record() {
    let records = Records::default();
    for case in Case::duplex(Case::all()) {
        let mut client = Client::connect(case, &records.server()).await;
        client.raw("{").await;
        client.next_raw().await;
        let found = records.take();
        assert_eq!(found.len(), 1, "{case}: {found:?}");
        assert!(
            found[0].ends_with("None Error { code: -32700 }"),
            "{case}: {found:?}"
        );
    }
    let batching = Revision::ALL
        .into_iter()
        .filter(|it| it.features().batching);
    for case in Case::with_revisions(batching) {
        let options = ClientOptions::new().limits(Limits::new().max_batch_messages(1));
        let mut client = Client::connect_with(case, &records.server(), options).await;
        records.take();
        let ping = json!({"jsonrpc": "2.0", "id": 7, "method": "ping"});
        client.send(&json!([ping, ping])).await;
        client.next_raw().await;
        let limit = "Refused { limit: \"Limits::max_batch_messages\" }";
        let found = records.take();
        assert_eq!(found.len(), 1, "{case}: {found:?}");
        assert!(found[0].ends_with(limit), "{case}: {found:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_receiver_of_records_that_panics_fails_no_refusal() {
    let audit = |_: &AuditRecord<'_>| panic!("a bug");
    let server = echo_builder().audit(audit).build().unwrap();
    let web = Web::new(&server);
    assert_eq!(web.post("{").send().await.status, 400);
    let listed = web.modern("tools/list", json!({})).send().await;
    assert_eq!(listed.status, 200);
}
