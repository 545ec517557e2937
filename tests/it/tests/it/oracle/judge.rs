//! The oracle itself: that it lets pass what is right, and finds what is wrong.

use serde_json::{Value, json};
use turnbuckle_check::oracle::{Oracle, Sender};
use turnbuckle_wire::revision::Revision;

fn judge(
    revision: &str,
    sender: Sender,
    message: Value,
    method: Option<&str>,
) -> Result<(), String> {
    let revision = Revision::parse(revision).expect("a revision");
    Oracle::load()
        .check_message(revision, sender, &message, method)
        .map_err(|faults| faults.join("\n"))
}

fn result(revision: &str, method: &str, result: Value) -> Result<(), String> {
    let message = json!({"jsonrpc": "2.0", "id": 1, "result": result});
    judge(revision, Sender::Server, message, Some(method))
}

fn error(revision: &str, error: Value) -> Result<(), String> {
    judge(
        revision,
        Sender::Server,
        json!({"jsonrpc": "2.0", "id": 1, "error": error}),
        None,
    )
}

#[track_caller]
fn assert_fault(judged: Result<(), String>, expected: &str) {
    let faults = judged.expect_err("a fault");
    assert!(faults.contains(expected), "{faults}");
}

#[test]
fn results_are_judged_by_the_method_of_their_request() {
    let tools = json!({"tools": [{"name": "t", "inputSchema": {"type": "object"}}]});
    assert_eq!(result("2024-11-05", "tools/list", tools.clone()), Ok(()));
    assert_fault(result("2024-11-05", "tools/call", tools.clone()), "content");
    assert_fault(result("2026-07-28", "tools/list", tools), "resultType");
    assert_eq!(result("2025-11-25", "ping", json!({})), Ok(()));
    assert_fault(
        result("2026-07-28", "ping", json!({"resultType": "complete"})),
        "has no ping",
    );
    let ask = json!({"resultType": "input_required", "requestState": "s"});
    assert_eq!(result("2026-07-28", "tools/call", ask.clone()), Ok(()));
    assert_fault(result("2026-07-28", "tools/list", ask), "tools");
    let other = json!({"resultType": "com.example/other", "x": 1});
    assert_eq!(result("2026-07-28", "tools/call", other), Ok(()));
}

#[test]
fn tasks_are_judged_by_the_schema_of_their_extension() {
    const REVISION: &str = "2026-07-28";
    let task = |kind: &str, status: &str| {
        json!({
            "resultType": kind, "taskId": "a", "status": status, "ttlMs": null,
            "createdAt": "2026-11-28T10:00:00Z", "lastUpdatedAt": "2026-11-28T10:00:00Z",
        })
    };
    let created = task("task", "working");
    assert_eq!(result(REVISION, "tools/call", created.clone()), Ok(()));
    assert_fault(
        result(REVISION, "prompts/get", created.clone()),
        "a task as the result of prompts/get",
    );
    let mut wordless = created.clone();
    wordless.as_object_mut().unwrap().remove("ttlMs");
    assert_fault(result(REVISION, "tools/call", wordless), "ttlMs");

    assert_eq!(
        result(REVISION, "tasks/get", task("complete", "working")),
        Ok(())
    );
    assert!(result(REVISION, "tasks/get", created.clone()).is_err());
    // Its result is missing.
    assert!(result(REVISION, "tasks/get", task("complete", "completed")).is_err());
    let done = json!({"resultType": "complete"});
    assert_eq!(result(REVISION, "tasks/update", done.clone()), Ok(()));
    assert_eq!(result(REVISION, "tasks/cancel", done), Ok(()));
    assert!(result(REVISION, "tasks/cancel", json!({})).is_err());

    let notice = |params: Value| json!({"jsonrpc": "2.0", "method": "notifications/tasks", "params": params});
    let params = task("complete", "cancelled");
    assert_eq!(
        judge(REVISION, Sender::Server, notice(params.clone()), None),
        Ok(())
    );
    assert_fault(
        judge(REVISION, Sender::Client, notice(params.clone()), None),
        "of a Client",
    );
    assert_fault(
        judge("2025-11-25", Sender::Server, notice(params), None),
        "has no notifications/tasks",
    );
    let get = json!({"jsonrpc": "2.0", "id": 1, "method": "tasks/get", "params": {"taskId": 1}});
    assert_fault(judge(REVISION, Sender::Client, get, None), "taskId");
}

#[test]
fn names_of_later_revisions_are_found_and_unknown_ones_pass() {
    let tool = |name: &str| json!({"tools": [{"name": "t", "inputSchema": {"type": "object", "$schema": "s"}, name: []}]});
    assert_fault(
        result("2025-06-18", "tools/list", tool("icons")),
        "icons is a name of 2025-11-25",
    );
    assert_eq!(result("2025-06-18", "tools/list", tool("x-icons")), Ok(()));
    let text = json!({"content": [{"type": "text", "text": "", "_meta": {}}]});
    assert_fault(
        result("2025-03-26", "tools/call", text.clone()),
        "_meta is a name of 2025-06-18",
    );
    assert_eq!(result("2025-06-18", "tools/call", text), Ok(()));
    let opened = json!({"protocolVersion": "2025-11-25", "capabilities": {"extensions": {}},
        "serverInfo": {"name": "s", "version": "1"}});
    assert_fault(
        result("2025-11-25", "initialize", opened),
        "extensions is a name of 2026-07-28",
    );
    let meta = json!({"content": [], "_meta": {
        "io.modelcontextprotocol/serverInfo": {"name": "s", "version": "1"}}});
    assert_fault(result("2025-11-25", "tools/call", meta), "serverInfo");
}

#[test]
fn methods_are_judged_by_their_sender() {
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    assert_eq!(
        judge("2025-06-18", Sender::Server, ping.clone(), None),
        Ok(())
    );
    assert_fault(
        judge("2026-07-28", Sender::Client, ping, None),
        "has no ping",
    );
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    assert_eq!(
        judge("2025-06-18", Sender::Client, list.clone(), None),
        Ok(())
    );
    assert_fault(
        judge("2025-06-18", Sender::Server, list.clone(), None),
        "ServerRequest",
    );
    assert_fault(judge("2026-07-28", Sender::Client, list, None), "params");
    let late = json!({"jsonrpc": "2.0", "method": "notifications/progress",
        "params": {"progressToken": 1, "progress": 1, "message": "m"}});
    assert_fault(
        judge("2024-11-05", Sender::Server, late.clone(), None),
        "message is a name",
    );
    assert_eq!(judge("2025-03-26", Sender::Server, late, None), Ok(()));
}

#[test]
fn errors_are_judged_by_their_number() {
    let supported = json!({"supported": ["2026-07-28"], "requested": "x"});
    let unsupported = json!({"code": -32022, "message": "m", "data": supported});
    assert_eq!(error("2026-07-28", unsupported.clone()), Ok(()));
    assert_fault(
        error("2026-07-28", json!({"code": -32022, "message": "m"})),
        "data",
    );
    assert_fault(
        error("2025-11-25", unsupported),
        "UnsupportedProtocolVersionError",
    );
    assert_eq!(
        error("2024-11-05", json!({"code": -32602, "message": "m"})),
        Ok(())
    );
    assert_eq!(
        error("2026-07-28", json!({"code": -32602, "message": "m"})),
        Ok(())
    );
    assert_fault(error("2026-07-28", json!({"code": -32602})), "message");
}

#[test]
fn an_error_without_an_id_is_told_as_its_revision_has_it() {
    let error = json!({"code": -32700, "message": "m"});
    let null = json!({"jsonrpc": "2.0", "id": null, "error": error});
    let none = json!({"jsonrpc": "2.0", "error": error});
    for (revision, has_null) in [
        ("2024-11-05", true),
        ("2025-06-18", true),
        ("2025-11-25", false),
        ("2026-07-28", false),
    ] {
        let (right, wrong) = if has_null {
            (&null, &none)
        } else {
            (&none, &null)
        };
        assert_eq!(
            judge(revision, Sender::Server, right.clone(), None),
            Ok(()),
            "{revision}"
        );
        assert_fault(judge(revision, Sender::Server, wrong.clone(), None), "id");
    }
}

#[test]
fn only_one_revision_has_batches() {
    let ping = json!([{"jsonrpc": "2.0", "id": 1, "method": "ping"}]);
    assert_eq!(
        judge("2025-03-26", Sender::Client, ping.clone(), None),
        Ok(())
    );
    assert_fault(judge("2025-06-18", Sender::Client, ping, None), "batch");
    assert_fault(
        judge("2025-03-26", Sender::Client, json!([]), None),
        "empty",
    );
    assert_fault(
        judge("2025-03-26", Sender::Client, json!([{}]), None),
        "no request",
    );
}
