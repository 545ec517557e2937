//! Clients with one fault for each rule: that rule is broken, and no other one is.

mod login;

use std::collections::BTreeSet;

use serde_json::{Value, json};
use turnbuckle_wire::revision::Revision;

use super::all;
use crate::case::{Bind, Case};
use crate::script::conduct::{
    Entry, Head, INVALID_TOOL, REMOTE_PATH, Run, Scenario, UNKNOWN_METHOD,
};

/// Headers of a request of HTTP, by their names.
type Headers = Vec<(&'static str, String)>;

/// The state of a request that needs input.
const STATE: &str = "one=/+ \u{fc}";

fn request(method: &str, path: &str, headers: &Headers, message: Value) -> Entry {
    let mut request = http::Request::builder().method(method).uri(path);
    for (name, value) in headers {
        request = request.header(*name, value);
    }
    Entry::Request {
        head: Box::new(Head::new(&request.body(()).unwrap())),
        message,
    }
}

fn headers(more: &[(&'static str, &str)]) -> Headers {
    let accept = ("accept", "application/json, text/event-stream");
    let all = std::iter::once(&accept).chain(more);
    all.map(|(name, value)| (*name, (*value).to_owned()))
        .collect()
}

fn call(id: i64, method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

fn answer(id: impl Into<Value>, result: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id.into(), "result": result})
}

/// Returns what a right client does in a session over HTTP that the server cuts once.
fn legacy() -> Vec<Entry> {
    let revision = Revision::NEWEST_LEGACY.as_str();
    let params = json!({"protocolVersion": revision, "capabilities": {},
        "clientInfo": {"name": "client", "version": "1"}});
    let session = headers(&[
        ("mcp-session-id", "one"),
        ("mcp-protocol-version", revision),
    ]);
    let post = |message| request("POST", "/mcp", &session, message);
    let resumed = headers(&[("mcp-session-id", "one"), ("last-event-id", "1-1")]);
    vec![
        request("POST", "/mcp", &headers(&[]), call(1, "initialize", params)),
        Entry::Sent(answer(1, json!({"protocolVersion": revision}))),
        post(json!({"jsonrpc": "2.0", "method": "notifications/initialized"})),
        post(call(2, "tools/list", json!({}))),
        Entry::Sent(json!({"jsonrpc": "2.0", "id": "ask-1", "method": "ping"})),
        Entry::Sent(json!({"jsonrpc": "2.0", "id": "ask-2", "method": UNKNOWN_METHOD})),
        post(answer("ask-1", json!({}))),
        post(json!({"jsonrpc": "2.0", "id": "ask-2",
            "error": {"code": -32601, "message": "no such method"}})),
        request("GET", "/mcp", &resumed, Value::Null),
        post(
            json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
            "params": {"requestId": 2}}),
        ),
    ]
}

fn modern_call(id: i64, method: &str, mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": Revision::NEWEST.as_str(),
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "client", "version": "1"},
    });
    call(id, method, params)
}

/// Returns what a right client does with a server of the modern era that asks for a name.
fn modern() -> Vec<Entry> {
    let post = |message| request("POST", "/mcp", &headers(&[]), message);
    let params = json!({"name": "greet", "arguments": {"name": "Ada"}});
    let mut retry = params.clone();
    retry["requestState"] = STATE.into();
    retry["inputResponses"] = json!({"check_name": {"action": "decline"}});
    let asked = json!({"resultType": "input_required", "requestState": STATE,
        "inputRequests": {"check_name": {"method": "elicitation/create"}}});
    vec![
        post(modern_call(1, "tools/list", json!({}))),
        Entry::Sent(answer(1, json!({"resultType": "complete", "tools": []}))),
        post(modern_call(2, "tools/call", params)),
        Entry::Sent(answer(2, asked)),
        post(modern_call(3, "tools/call", retry)),
        Entry::Sent(answer(3, json!({"resultType": "complete", "content": []}))),
    ]
}

/// Returns the rules that a client breaks.
fn broken(revision: Revision, scenario: Scenario, entries: Vec<Entry>) -> BTreeSet<&'static str> {
    let binding = match scenario {
        Scenario::Stderr => Bind::Stream,
        _ => Bind::Http,
    };
    let case = Case { revision, binding };
    let run = Run {
        case,
        scenario,
        entries,
    };
    all()
        .filter(|check| check.exists_in(case))
        .filter(|check| check.judge(&run).is_ok_and(|breaches| !breaches.is_empty()))
        .map(|check| check.id)
        .collect()
}

/// Returns a right conversation whose message at that place is another.
fn with(mut entries: Vec<Entry>, at: usize, change: impl Fn(&mut Value)) -> Vec<Entry> {
    match &mut entries[at] {
        Entry::Request { message, .. } | Entry::Line { message, .. } | Entry::Sent(message) => {
            change(message);
        }
        Entry::Token(_) => {}
    }
    entries
}

fn without(mut entries: Vec<Entry>, at: usize) -> Vec<Entry> {
    entries.remove(at);
    entries
}

#[test]
fn a_retry_has_the_state_that_was_sent_or_none() {
    let both = |change: fn(&mut Value)| with(with(modern(), 3, change), 4, change);
    let conversations = [
        both(|it| match it.get("result") {
            Some(_) => it["result"]["requestState"] = "other".into(),
            None => it["params"]["requestState"] = "other".into(),
        }),
        both(|it| {
            let key = if it.get("result").is_some() {
                "result"
            } else {
                "params"
            };
            it[key].as_object_mut().unwrap().remove("requestState");
        }),
    ];
    for entries in conversations {
        let broken = broken(Revision::NEWEST, Scenario::Plain, entries);
        assert_eq!(broken, BTreeSet::new());
    }
}

#[test]
fn the_first_request_is_of_the_revision_that_it_asks_for() {
    let entries = with(legacy(), 0, |it| {
        it["params"]["capabilities"] = json!({"elicitation": {"form": {}, "url": {}}});
    });
    let entries = with(entries, 1, |it| {
        it["result"]["protocolVersion"] = "2025-06-18".into()
    });
    let broken = broken(Revision::NEWEST_LEGACY, Scenario::Older, entries);
    assert!(!broken.contains("client.no-later-names"), "{broken:?}");
}

/// Returns a right session whose POST at that place has other headers.
fn with_headers(at: usize, more: &[(&'static str, &str)]) -> Vec<Entry> {
    let mut entries = legacy();
    let message = entries[at].client_message().cloned().unwrap_or_default();
    entries[at] = request("POST", "/mcp", &headers(more), message);
    entries
}

#[test]
fn a_right_client_breaks_no_rule() {
    for scenario in [Scenario::Plain, Scenario::Resume, Scenario::Older] {
        let found = broken(Revision::NEWEST_LEGACY, scenario, legacy());
        assert_eq!(found, BTreeSet::new(), "{scenario:?}");
    }
    for scenario in [Scenario::Plain, Scenario::Rounds, Scenario::Traps] {
        let found = broken(Revision::NEWEST, scenario, modern());
        assert_eq!(found, BTreeSet::new(), "{scenario:?}");
    }
}

#[test]
fn each_fault_of_a_client_is_found_by_its_rule_alone() {
    use Scenario::{Cut, Older, Plain, Resume, Rounds, Stderr, Traps};
    let (old, new) = (Revision::NEWEST_LEGACY, Revision::NEWEST);
    let version = old.as_str();
    let schema = |entries: Vec<Entry>| {
        let mut entries = entries;
        entries.push(request("GET", REMOTE_PATH, &headers(&[]), Value::Null));
        entries
    };
    let mut again = modern();
    again.push(again[2].clone());
    let mismatch = json!({"jsonrpc": "2.0", "id": 1,
        "error": {"code": -32020, "message": "mcp-method is missing"}});
    let no_accept = vec![
        ("mcp-session-id", "one".into()),
        ("mcp-protocol-version", version.into()),
    ];
    let mut plain = legacy();
    plain[3] = request("POST", "/mcp", &no_accept, call(2, "tools/list", json!({})));
    let rows = [
        (
            "client.schema-valid",
            old,
            Plain,
            with(legacy(), 3, |it| it["params"]["cursor"] = 7.into()),
        ),
        (
            "client.no-later-names",
            old,
            Plain,
            with(legacy(), 0, |it| {
                it["params"]["capabilities"] = json!({"extensions": {}});
            }),
        ),
        ("client.initialize-first", new, Plain, Vec::new()),
        ("client.initialized-sent", old, Plain, without(legacy(), 2)),
        (
            "client.falls-back-to-older",
            old,
            Older,
            legacy()[..1].to_vec(),
        ),
        ("client.no-id-reuse", old, Plain, {
            let mut entries = legacy();
            entries.push(entries[3].clone());
            entries
        }),
        (
            "client.cancels-own",
            old,
            Plain,
            with(legacy(), 9, |it| it["params"]["requestId"] = 9.into()),
        ),
        ("client.answers-ping", old, Plain, without(legacy(), 6)),
        (
            "client.unknown-request-32601",
            old,
            Plain,
            with(legacy(), 7, |it| it["error"]["code"] = (-32603).into()),
        ),
        (
            "client.envelope-complete",
            new,
            Plain,
            with(modern(), 0, |it| {
                let meta = it["params"]["_meta"].as_object_mut().unwrap();
                meta.remove("io.modelcontextprotocol/clientCapabilities");
            }),
        ),
        ("client.accept-header", old, Plain, plain),
        (
            "client.session-header",
            old,
            Plain,
            with_headers(3, &[("mcp-protocol-version", version)]),
        ),
        (
            "client.version-header",
            old,
            Plain,
            with_headers(3, &[("mcp-session-id", "one")]),
        ),
        (
            "client.mirrored-headers",
            new,
            Plain,
            with(modern(), 1, |it| *it = mismatch.clone()),
        ),
        ("client.resumes-with-id", old, Resume, without(legacy(), 8)),
        (
            "client.invalid-header-tools-dropped",
            new,
            Traps,
            with(modern(), 2, |it| it["params"]["name"] = INVALID_TOOL.into()),
        ),
        ("client.no-remote-ref", new, Plain, schema(modern())),
        (
            "client.state-echoed",
            new,
            Rounds,
            with(modern(), 4, |it| {
                it["params"]["requestState"] = "check-state".into()
            }),
        ),
        (
            "client.retry-new-id",
            new,
            Rounds,
            with(modern(), 4, |it| it["id"] = 2.into()),
        ),
        (
            "client.input-keys-once",
            new,
            Rounds,
            with(modern(), 4, |it| {
                it["params"]["inputResponses"]["more"] = json!({"action": "cancel"})
            }),
        ),
        (
            "client.retry-only-safe",
            new,
            Cut,
            with(again, 6, |it| it["id"] = 4.into()),
        ),
        ("client.drains-stderr", old, Stderr, Vec::new()),
        ("client.stdin-is-messages", old, Stderr, {
            let line = |message| Entry::Line {
                connection: 0,
                message,
            };
            vec![line(call(1, "ping", json!({}))), line(Value::Null)]
        }),
        ("client.no-responses", new, Plain, {
            let mut entries = modern();
            let response = answer("nobody", json!({"resultType": "complete"}));
            entries.push(request("POST", "/mcp", &headers(&[]), response));
            entries
        }),
        ("client.tokens-unique", new, Plain, {
            let mut entries = modern();
            for id in [7, 8] {
                let mut call = modern_call(id, "tools/list", json!({}));
                call["params"]["_meta"]["progressToken"] = "same".into();
                entries.push(request("POST", "/mcp", &headers(&[]), call));
            }
            entries
        }),
    ];
    let of_logins = login::rows().into_iter().map(|row| row.0);
    let ids: BTreeSet<_> = rows.iter().map(|row| row.0).chain(of_logins).collect();
    assert_eq!(ids, all().map(|check| check.id).collect());
    for (id, revision, scenario, entries) in rows {
        // A session that begins without a handshake has nothing else of one either.
        let (revision, entries) = match id {
            "client.initialize-first" => (
                old,
                vec![request(
                    "POST",
                    "/mcp",
                    &headers(&[]),
                    call(1, "tools/list", json!({})),
                )],
            ),
            _ => (revision, entries),
        };
        // A message without the envelope is not what the schema says either.
        let also = match id {
            "client.envelope-complete" => Some("client.schema-valid"),
            "client.session-header" => Some("client.initialize-first"),
            _ => None,
        };
        let mut expected = BTreeSet::from([id]);
        expected.extend(also);
        let found = broken(revision, scenario, entries);
        assert!(found.contains(id), "{id} is not found: {found:?}");
        assert!(found.is_subset(&expected), "{id}: {found:?}");
    }
}
