//! Faults of tasks: of the extension, and of the form of 2025-11-25.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use turnbuckle_check::Bind;
use turnbuckle_check::script::Sound;
use turnbuckle_wire::revision::Revision;

use crate::harness::{Row, error, remove, row};

const EXTENSION: &str = "io.modelcontextprotocol/tasks";

/// The tools of the official conformance suite.
const TOOLS: [&str; 5] = [
    "slow_compute",
    "failing_job",
    "protocol_error_job",
    "multi_input",
    "test_tool_with_task",
];

/// The keys of the questions of `multi_input`.
const QUESTIONS: [&str; 2] = ["confirm", "name"];

/// A task, as the server remembers it.
#[derive(Default)]
struct Task {
    tool: String,
    looks: usize,
    answered: BTreeSet<String>,
    /// The status that it has ended with, in the form of 2025-11-25.
    ended: Option<&'static str>,
}

type Tasks = Arc<Mutex<Vec<Task>>>;

fn add(tasks: &Tasks, tool: &str) -> String {
    let mut tasks = tasks.lock().unwrap();
    tasks.push(Task {
        tool: tool.to_owned(),
        ..Task::default()
    });
    id_of(tasks.len() - 1)
}

/// Returns the id of a task: nobody guesses those of others.
fn id_of(at: usize) -> String {
    let at = u64::try_from(at).unwrap_or_default() + 1;
    format!("task-{:016x}", at.wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

/// Calls a function with the task of a request; refuses unknown ones.
fn with_task(
    tasks: &Tasks,
    params: &Value,
    answer: impl FnOnce(&str, &mut Task) -> Value,
) -> Value {
    let id = params["taskId"].as_str().unwrap_or_default();
    let mut tasks = tasks.lock().unwrap();
    let at = (0..tasks.len()).find(|at| id_of(*at) == id);
    match at.and_then(|at| tasks.get_mut(at)) {
        Some(task) => answer(id, task),
        None => json!({"error": {"code": -32602, "message": "no such task"}}),
    }
}

fn text(text: &str, is_error: bool) -> Value {
    json!({"resultType": "complete", "isError": is_error,
        "content": [{"type": "text", "text": text}]})
}

fn shape(id: &str, kind: &str, status: &str) -> Value {
    let date = "2026-11-28T10:00:00Z";
    json!({"resultType": kind, "taskId": id, "status": status, "ttlMs": 60000,
        "pollIntervalMs": 100, "createdAt": date, "lastUpdatedAt": date})
}

/// Returns a task as `tasks/get` shows it.
fn state(id: &str, task: &mut Task) -> Value {
    task.looks += 1;
    let shape = |status, member: &str, value| {
        let mut shape = shape(id, "complete", status);
        shape[member] = value;
        json!({"result": shape})
    };
    let questions: serde_json::Map<_, _> = QUESTIONS
        .into_iter()
        .filter(|key| !task.answered.contains(*key))
        .map(|key| (key.to_owned(), question()))
        .collect();
    match task.tool.as_str() {
        "failing_job" => shape("completed", "result", text("failed", true)),
        "protocol_error_job" => {
            let error = json!({"code": -32603, "message": "broken"});
            shape("failed", "error", error)
        }
        "multi_input" if !questions.is_empty() => {
            shape("input_required", "inputRequests", questions.into())
        }
        _ if task.looks == 1 => shape("working", "statusMessage", "computing".into()),
        _ => shape("completed", "result", text("computed", false)),
    }
}

fn question() -> Value {
    json!({"method": "elicitation/create", "params": {"mode": "form", "message": "Well?",
        "requestedSchema": {"type": "object", "properties": {"answer": {"type": "string"}}}}})
}

fn missing() -> Value {
    json!({"error": {"code": -32021, "message": "a capability is missing",
        "data": {"requiredCapabilities": {"extensions": {EXTENSION: {}}}}}})
}

/// Returns the answer of a correct server; `None` for what the extension does not concern.
fn answer(tasks: &Tasks, message: &Value) -> Option<Value> {
    let params = &message["params"];
    let declared = &params["_meta"]["io.modelcontextprotocol/clientCapabilities"]["extensions"];
    let is_declared = declared.get(EXTENSION).is_some();
    let method = message["method"].as_str()?;
    let tool = params["name"].as_str().unwrap_or_default();
    Some(match method {
        "tools/call" if !TOOLS.contains(&tool) => return None,
        "tools/call" if !is_declared => json!({"result": text("computed", false)}),
        "tools/call" => json!({"result": shape(&add(tasks, tool), "task", "working")}),
        "tasks/get" | "tasks/update" | "tasks/cancel" if !is_declared => missing(),
        "subscriptions/listen" if !is_declared => match params["notifications"].get("taskIds") {
            Some(_) => missing(),
            None => return None,
        },
        "tasks/get" => with_task(tasks, params, state),
        "tasks/update" => with_task(tasks, params, |_, task| {
            let answers = params["inputResponses"].as_object().into_iter().flatten();
            let keys = answers.map(|(key, _)| key.clone());
            task.answered
                .extend(keys.filter(|key| QUESTIONS.contains(&key.as_str())));
            json!({"result": {"resultType": "complete"}})
        }),
        "tasks/cancel" => with_task(
            tasks,
            params,
            |_, _| json!({"result": {"resultType": "complete"}}),
        ),
        _ => return None,
    })
}

/// Returns the answer of a correct server of 2025-11-25; `None` for what tasks do not concern.
fn legacy_answer(tasks: &Tasks, message: &Value) -> Option<Value> {
    let params = &message["params"];
    let date = "2026-11-28T10:00:00Z";
    let shape = |id: &str, ended: Option<&str>| {
        let status = ended.unwrap_or("working");
        json!({"taskId": id, "status": status, "ttl": 60000, "pollInterval": 100,
            "createdAt": date, "lastUpdatedAt": date})
    };
    let refused = |code: i64, text: &str| json!({"error": {"code": code, "message": text}});
    Some(match message["method"].as_str()? {
        "tools/call" if params["name"] == TOOLS[0] => {
            json!({"result": {"task": shape(&add(tasks, TOOLS[0]), None)}})
        }
        "tools/call" if params["name"] == TOOLS[2] => match params.get("task") {
            Some(_) => json!({"result": {"task": shape(&add(tasks, TOOLS[2]), None)}}),
            None => refused(-32603, "broken"),
        },
        "tools/call" if params["name"] == TOOLS[1] => refused(-32601, "it must be a task"),
        "tools/call" if params.get("task").is_some() => refused(-32601, "it cannot be a task"),
        "tasks/list" if params.get("cursor").is_some() => refused(-32602, "no such cursor"),
        "tasks/get" => with_task(tasks, params, |id, task| {
            let mut shape = shape(id, task.ended);
            if task.ended == Some("failed") {
                shape["statusMessage"] = "broken".into();
            }
            json!({"result": shape})
        }),
        "tasks/result" => with_task(tasks, params, |id, task| {
            if task.tool == TOOLS[2] {
                task.ended = Some("failed");
                return refused(-32603, "broken");
            }
            task.ended = Some("completed");
            json!({"result": {"content": [], "_meta":
                {"io.modelcontextprotocol/related-task": {"taskId": id}}}})
        }),
        "tasks/cancel" => with_task(tasks, params, |id, task| match task.ended {
            Some(_) => refused(-32602, "the task has ended"),
            None => {
                task.ended = Some("cancelled");
                json!({"result": shape(id, task.ended)})
            }
        }),
        "tasks/list" => {
            let tasks = tasks.lock().unwrap();
            let listed = tasks.iter().enumerate();
            let listed = listed.map(|(at, task)| shape(&id_of(at), task.ended));
            json!({"result": {"tasks": listed.collect::<Vec<_>>()}})
        }
        _ => return None,
    })
}

/// Member of a reply in which a fault puts a message that is sent before it.
const BEFORE: &str = "before";

/// Returns a server with tasks, whose answers are changed: the function gets the request and its answer.
pub(crate) fn server(
    revision: Revision,
    fault: impl Fn(&Value, &mut Value) + Send + Sync + 'static,
) -> Sound {
    let tasks = Tasks::default();
    let is_modern = revision == Revision::NEWEST;
    Sound::new()
        .on_message(move |message| {
            let mut reply = match is_modern {
                true => answer(&tasks, message)?,
                false => legacy_answer(&tasks, message)?,
            };
            fault(message, &mut reply);
            let before = reply.as_object_mut().and_then(|reply| reply.remove(BEFORE));
            reply["jsonrpc"] = "2.0".into();
            reply["id"] = message["id"].clone();
            Some(before.into_iter().chain([reply]).collect())
        })
        .on_reply(move |cause, messages| {
            for message in messages.iter_mut().filter(|it| it.get("result").is_some()) {
                let result = &mut message["result"];
                match cause.message["method"].as_str() {
                    Some("server/discover") if is_modern => {
                        result["capabilities"]["extensions"][EXTENSION] = json!({});
                    }
                    Some("initialize") if !is_modern => {
                        result["capabilities"]["tasks"] = json!({"list": {}, "cancel": {},
                            "requests": {"tools": {"call": {}}}});
                    }
                    Some("tools/list") => declare(result, is_modern),
                    _ => {}
                }
            }
        })
}

/// Adds the tools to a page of the list.
fn declare(result: &mut Value, is_modern: bool) {
    let Some(tools) = result["tools"].as_array_mut() else {
        return;
    };
    if tools.iter().any(|tool| tool["name"] == "test_simple_text") {
        for name in TOOLS {
            let mut tool = json!({"name": name, "description": "A tool with tasks",
                "inputSchema": {"type": "object"}});
            if !is_modern {
                let support = if name == TOOLS[1] {
                    "required"
                } else {
                    "optional"
                };
                tool["execution"] = json!({"taskSupport": support});
            }
            tools.push(tool);
        }
    }
}

/// Returns the row of a check of the extension.
fn modern(id: &'static str, fault: impl Fn(&Value, &mut Value) + Send + Sync + 'static) -> Row {
    let revision = Revision::NEWEST;
    let sound = server(revision, fault);
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
            if message["params"]["name"] == TOOLS[1] {
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
