//! Tasks of both forms: members, their order, and what a malformed one is.

use serde_json::{Value, json};
use turnbuckle_types::{
    DetailedTask, InputRequest, LegacyTask, Meta, RawObject, Task, TaskMetadata, TaskStatus,
};

fn task(status: &str, part: Value) -> Value {
    let mut task = json!({"taskId": "t", "status": status, "createdAt": "2026-07-28T10:00:00Z",
        "lastUpdatedAt": "2026-07-28T10:00:01Z", "ttlMs": null});
    for (name, value) in part.as_object().unwrap() {
        task[name] = value.clone();
    }
    task
}

fn decode(value: &Value) -> Result<DetailedTask, String> {
    serde_json::from_str(&value.to_string()).map_err(|error| error.to_string())
}

#[test]
fn a_task_has_the_part_that_its_status_demands() {
    let ask = json!({"inputRequests": {"k": {"method": "roots/list"}}});
    let error = json!({"error": {"code": -32603, "message": "m"}});
    for (status, part, member) in [
        ("working", json!({}), None),
        ("input_required", ask, Some("inputRequests")),
        (
            "completed",
            json!({"result": {"content": [1.50]}}),
            Some("result"),
        ),
        ("failed", error, Some("error")),
        ("cancelled", json!({}), None),
    ] {
        let whole = task(status, part);
        let decoded = decode(&whole).unwrap();
        assert_eq!(serde_json::to_value(&decoded).unwrap(), whole);
        assert_eq!(decoded.task.status.as_str(), status);
        assert_eq!(
            decoded.task.status.is_final(),
            ["completed", "failed", "cancelled"].contains(&status)
        );
        if let Some(member) = member {
            let error = decode(&task(status, json!({}))).unwrap_err();
            assert!(error.contains(member), "{error}");
        }
    }
}

#[test]
fn a_part_of_another_status_is_left_out_and_one_that_stands_twice_is_an_error() {
    let result = task("working", json!({"result": {"content": []}}));
    assert_eq!(decode(&result).unwrap().result, None);
    let twice = task("completed", json!({"result": {}})).to_string();
    let twice = twice.replacen('{', r#"{"result":{"a":1},"#, 1);
    let error = serde_json::from_str::<DetailedTask>(&twice).unwrap_err();
    assert!(error.to_string().contains("duplicate"), "{error}");
    assert!(decode(&task("completed", json!({"result": []}))).is_err());
    assert!(decode(&task("done", json!({}))).is_err());
}

#[test]
fn a_result_keeps_its_text() {
    let result: RawObject = r#"{"content":[],"x":1.50}"#.parse().unwrap();
    let state = Task::new("t", TaskStatus::Completed, "a", "b").ttl_ms(60_000u64);
    let text = serde_json::to_string(&DetailedTask::new(state).result(result)).unwrap();
    assert!(
        text.ends_with(r#""ttlMs":60000,"result":{"content":[],"x":1.50}}"#),
        "{text}"
    );
}

#[test]
fn times_to_live_are_always_written_and_mad_ones_are_cut() {
    let mut legacy = json!({"taskId": "t", "status": "working", "createdAt": "a",
        "lastUpdatedAt": "b", "ttl": null});
    let decoded: LegacyTask = serde_json::from_value(legacy.clone()).unwrap();
    assert_eq!(serde_json::to_value(&decoded).unwrap(), legacy);
    let newer = Task::from(decoded);
    assert_eq!(newer.ttl_ms, None);
    assert_eq!(
        serde_json::to_value(LegacyTask::from(newer)).unwrap(),
        legacy
    );
    for (written, read) in [
        (json!(-1), 0),
        (json!(1e300), u64::MAX),
        (json!(1.5), 1),
        (json!(60_000), 60_000),
    ] {
        legacy["ttl"] = written.clone();
        legacy["pollInterval"] = written.clone();
        let decoded: LegacyTask = serde_json::from_str(&legacy.to_string()).unwrap();
        assert_eq!(
            (decoded.ttl, decoded.poll_interval),
            (Some(read), Some(read))
        );
        let wish = json!({"ttl": written}).to_string();
        let wish: TaskMetadata = serde_json::from_str(&wish).unwrap();
        assert_eq!(wish.ttl, Some(read));
    }
}

#[test]
fn the_related_task_stands_in_the_metadata() {
    let mut meta = Meta::new();
    meta.set_related_task(turnbuckle_types::RelatedTask::new("t"));
    assert_eq!(
        serde_json::to_value(&meta).unwrap(),
        json!({"io.modelcontextprotocol/related-task": {"taskId": "t"}})
    );
    assert_eq!(meta.related_task().unwrap().task_id, "t");
}

#[test]
fn questions_of_a_task_are_input_requests() {
    let state = Task::new("t", TaskStatus::InputRequired, "a", "b");
    let questions = turnbuckle_types::InputRequests::from([("k", InputRequest::list_roots())]);
    let task = DetailedTask::new(state).input_requests(questions);
    let text = serde_json::to_string(&task).unwrap();
    assert_eq!(serde_json::from_str::<DetailedTask>(&text).unwrap(), task);
}
