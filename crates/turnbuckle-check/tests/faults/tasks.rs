//! Faults of tasks: of the extension, and of the form of 2025-11-25.

use std::sync::Mutex;

use serde_json::{Value, json};
use turnbuckle_check::Bind;
use turnbuckle_check::script::Sound;
use turnbuckle_wire::revision::Revision;

use crate::harness::{Row, error, remove, row};
use crate::task_server::{BEFORE, TOOLS, question, server, shape};

/// Returns the row of a check of the extension.
fn modern(id: &'static str, fault: impl Fn(&Value, &mut Value) + Send + Sync + 'static) -> Row {
    let revision = Revision::NEWEST;
    let sound = server(revision, fault);
    row(id, sound).alone(revision, Bind::Stream).topic("tasks")
}

/// Returns the row of a check of the extension, with a fault of the lines that the server reads.
fn modern_reading(id: &'static str, fault: fn(&mut Vec<u8>)) -> Row {
    let revision = Revision::NEWEST;
    let sound = server(revision, |_, _| ()).on_read_line(fault);
    row(id, sound).alone(revision, Bind::Stream).topic("tasks")
}

/// Returns the row of a check of the form of 2025-11-25.
fn legacy(id: &'static str, fault: impl Fn(&Value, &mut Value) + Send + Sync + 'static) -> Row {
    let revision = Revision::V2025_11_25;
    let sound = server(revision, fault);
    row(id, sound).alone(revision, Bind::Stream).topic("tasks")
}

/// Returns a fault of the answers to one method.
fn on_method(
    method: &'static str,
    change: impl Fn(&mut Value) + Send + Sync + 'static,
) -> impl Fn(&Value, &mut Value) + Send + Sync + 'static {
    move |message, reply| {
        if message["method"] == method {
            change(reply);
        }
    }
}

/// Returns servers with tasks and without a fault.
pub(crate) fn sound() -> Vec<Row> {
    vec![modern("", |_, _| ()), legacy("", |_, _| ())]
}

/// Returns a fault that gives tasks short ids, and takes them.
fn short_ids() -> impl Fn(&Value, &mut Value) + Send + Sync + 'static {
    let given = Mutex::new(0);
    move |message, reply| {
        let is_call = message["method"] == "tools/call";
        let task = match reply["result"].get("task").is_some() {
            true => &mut reply["result"]["task"],
            false => &mut reply["result"],
        };
        if is_call && task["taskId"].is_string() {
            let mut given = given.lock().unwrap();
            *given += 1;
            task["taskId"] = format!("{given}").into();
        }
    }
}

pub(crate) fn rows() -> Vec<Row> {
    let code = |from: i64, to: i64| {
        move |_: &Value, reply: &mut Value| {
            if reply["error"]["code"] == from {
                reply["error"]["code"] = to.into();
            }
        }
    };
    let mut rows = vec![
        modern("tasks.undeclared-32021", code(-32021, -32603)),
        modern(
            "tasks.undeclared-no-task",
            on_method("tools/call", |reply| {
                if reply["result"]["resultType"] == "complete" {
                    reply["result"] = shape("task-of-nobody", "task", "working");
                }
            }),
        ),
        modern(
            "tasks.unknown-32602",
            on_method("tasks/get", |reply| {
                if reply["error"]["code"] == -32602 {
                    reply["error"]["code"] = (-32603).into();
                }
            }),
        ),
        modern(
            "tasks.unknown-input-32602",
            on_method("tasks/cancel", |reply| {
                if reply["error"]["code"] == -32602 {
                    reply["error"]["code"] = (-32603).into();
                }
            }),
        ),
        modern(
            "tasks.no-progress",
            on_method("tasks/get", |reply| {
                reply[BEFORE] = json!({"jsonrpc": "2.0", "method": "notifications/progress",
                "params": {"progressToken": "check-task", "progress": 1}});
            }),
        ),
        modern("tasks.surplus-answer-ignored", |message, reply| {
            let answers = &message["params"]["inputResponses"];
            if message["method"] == "tasks/update" && answers.get("check-surplus").is_some() {
                *reply = json!({"error": {"code": -32602, "message": "nobody asked"}});
            }
        }),
        modern("tasks.ids-unguessable", short_ids()).topic("tasks.ids-unguessable"),
        modern(
            "tasks.created-before-answer",
            on_method("tasks/get", |reply| {
                if reply["result"]["status"] == "working" {
                    *reply = json!({"error": {"code": -32602, "message": "no such task yet"}});
                }
            }),
        )
        .also(&["tasks.status-fields"]),
        modern(
            "tasks.status-fields",
            on_method("tasks/get", |reply| {
                if reply["result"]["result"]["content"][0]["text"] == "computed" {
                    remove(&mut reply["result"], "result");
                }
            }),
        ),
        modern(
            "tasks.tool-error-completed",
            on_method("tasks/get", |reply| {
                if reply["result"]["result"]["isError"] == true {
                    reply["result"]["status"] = "failed".into();
                }
            }),
        ),
        modern(
            "tasks.protocol-error-failed",
            on_method("tasks/get", |reply| {
                if reply["result"]["status"] == "failed" {
                    reply["result"]["status"] = "completed".into();
                }
            }),
        ),
        modern(
            "tasks.keys-unique",
            on_method("tasks/get", |reply| {
                if reply["result"]["status"] == "input_required" {
                    reply["result"]["inputRequests"]["confirm"] = question();
                }
            }),
        ),
        modern_reading("tasks.malformed-answer", |line| {
            // Whatever comes is an answer.
            let text = String::from_utf8_lossy(line);
            *line = text
                .replace(r#""action":"check""#, r#""action":"decline""#)
                .into_bytes();
        }),
        modern(
            "tasks.cancel-ack",
            on_method("tasks/cancel", |reply| {
                if reply["result"].is_object() {
                    reply["result"]["taskId"] = "task-of-nobody".into();
                }
            }),
        ),
    ];
    rows.extend([
        legacy("tasks.legacy-error-failed", |message, reply| {
            let is_failure = reply["result"]["statusMessage"] == "failed";
            if message["method"] == "tasks/get" && is_failure {
                reply["result"]["status"] = "completed".into();
            }
        }),
        legacy("tasks.legacy-created", on_method("tools/call", |reply| {
            reply["result"]["task"]["status"] = "completed".into();
        })),
        legacy("tasks.legacy-result-waits", on_method("tasks/get", |reply| {
            if reply["result"]["status"] == "completed" {
                reply["result"]["status"] = "working".into();
            }
        })),
        legacy("tasks.legacy-cancel", on_method("tasks/get", |reply| {
            if reply["result"]["status"] == "cancelled" {
                reply["result"]["status"] = "completed".into();
            }
        })),
        legacy("tasks.legacy-parameter-counts", |message, reply| {
            let meta = &message["params"]["_meta"]["io.modelcontextprotocol/related-task"];
            if message["method"] == "tasks/get" && meta["taskId"].is_string() {
                reply["result"]["taskId"] = meta["taskId"].clone();
            }
        }),
        legacy("tasks.legacy-required-32601", |message, reply| {
            let params = &message["params"];
            if params["name"] == TOOLS[1] && params.get("task").is_none() {
                *reply = json!({"result": {"content": []}});
            }
        }),
        legacy("tasks.legacy-forbidden-32601", |message, reply| {
            if message["params"].get("task").is_some() && reply.get("error").is_some() {
                *reply = json!({"result": {"content": []}});
            }
        }),
        row("tasks.legacy-metadata-ignored", Sound::new().on_message(|message| {
            message["params"].get("task").is_some().then(|| vec![error(message, -32602)])
        })),
        legacy("tasks.legacy-ttl-limited", |message, reply| {
            if reply["result"]["task"].is_object() {
                reply["result"]["task"]["ttl"] = message["params"]["task"]["ttl"].clone();
            }
        }),
        legacy("tasks.legacy-error-kept", on_method("tasks/result", |reply| {
            if reply["error"]["code"] == -32603 {
                reply["error"]["code"] = (-32602).into();
            }
        })),
        legacy("tasks.legacy-failure-explained", on_method("tasks/get", |reply| {
            if reply["result"].is_object() {
                remove(&mut reply["result"], "statusMessage");
            }
        })),
        legacy("tasks.legacy-bad-cursor-32602", |message, reply| {
            if message["params"].get("cursor").is_some() {
                *reply = json!({"result": {"tasks": []}});
            }
        }),
        row("tasks.legacy-get-no-stream", server(
            Revision::V2025_11_25,
            on_method("tasks/get", |reply| {
                reply[BEFORE] = json!({"jsonrpc": "2.0", "method": "notifications/message",
                    "params": {"level": "info", "data": "looked"}});
            }),
        ))
        .alone(Revision::V2025_11_25, Bind::Http)
        .topic("tasks"),
        legacy("tasks.legacy-ids-unguessable", short_ids())
            .topic("tasks.legacy-ids-unguessable"),
        legacy("tasks.legacy-unknown-32602", on_method("tasks/get", |reply| {
            if reply["error"]["code"] == -32602 {
                reply["error"]["code"] = (-32603).into();
            }
        })),
        legacy("tasks.legacy-named-once", on_method("tasks/get", |reply| {
            if reply.get("result").is_some() {
                reply["result"]["_meta"] =
                    json!({"io.modelcontextprotocol/related-task": {"taskId": "other"}});
            }
        })),
        legacy("tasks.legacy-list", on_method("tasks/list", |reply| {
            reply["result"]["tasks"] = json!([]);
        })),
        legacy("tasks.legacy-cancel-ended-32602", |message, reply| {
            let is_known = message["params"]["taskId"] != "check-unknown";
            if message["method"] == "tasks/cancel" && is_known {
                *reply = json!({"result": {"taskId": message["params"]["taskId"], "status": "cancelled",
                    "ttl": 60000, "createdAt": "2026-11-28T10:00:00Z",
                    "lastUpdatedAt": "2026-11-28T10:00:00Z"}});
            }
        }),
    ]);
    rows
}

/// Returns the row of a server that demands a task where a plain call will do.
pub(crate) fn further_rows() -> Vec<Row> {
    vec![legacy("tasks.legacy-required-32601", |message, reply| {
        let params = &message["params"];
        if params["name"] == TOOLS[0] && params.get("task").is_none() {
            *reply = json!({"error": {"code": -32601, "message": "only as a task"}});
        }
    })]
}
