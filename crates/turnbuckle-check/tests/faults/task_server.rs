//! Correct servers with tasks: of the extension, and of the form of 2025-11-25.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use turnbuckle_check::script::Sound;
use turnbuckle_wire::revision::Revision;

const EXTENSION: &str = "io.modelcontextprotocol/tasks";

/// The tools of the official conformance suite.
pub(crate) const TOOLS: [&str; 5] = [
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

pub(crate) fn shape(id: &str, kind: &str, status: &str) -> Value {
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

pub(crate) fn question() -> Value {
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
            let answers = answers.filter(|(_, answer)| answer["action"] != "check");
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
    let tool = params["name"].as_str().unwrap_or_default();
    let date = "2026-11-28T10:00:00Z";
    let shape = |id: &str, ended: Option<&str>| {
        let status = ended.unwrap_or("working");
        json!({"taskId": id, "status": status, "ttl": 60000, "pollInterval": 100,
            "createdAt": date, "lastUpdatedAt": date})
    };
    let refused = |code: i64, text: &str| json!({"error": {"code": code, "message": text}});
    Some(match message["method"].as_str()? {
        "tools/call" if tool == TOOLS[0] => {
            json!({"result": {"task": shape(&add(tasks, TOOLS[0]), None)}})
        }
        "tools/call" if tool == TOOLS[1] || tool == TOOLS[2] => match params.get("task") {
            Some(_) => json!({"result": {"task": shape(&add(tasks, tool), None)}}),
            None if tool == TOOLS[1] => refused(-32601, "it must be a task"),
            None => refused(-32603, "broken"),
        },
        "tools/call" if params.get("task").is_some() => refused(-32601, "it cannot be a task"),
        "tasks/list" if params.get("cursor").is_some() => refused(-32602, "no such cursor"),
        "tasks/get" => with_task(tasks, params, |id, task| {
            let mut shape = shape(id, task.ended);
            if task.ended == Some("failed") {
                shape["statusMessage"] = if task.tool == TOOLS[1] {
                    "failed"
                } else {
                    "broken"
                }
                .into();
            }
            json!({"result": shape})
        }),
        "tasks/result" => with_task(tasks, params, |id, task| {
            if task.tool == TOOLS[2] {
                task.ended = Some("failed");
                return refused(-32603, "broken");
            }
            let is_error = task.tool == TOOLS[1];
            task.ended = Some(if is_error { "failed" } else { "completed" });
            json!({"result": {"content": [], "isError": is_error, "_meta":
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
pub(crate) const BEFORE: &str = "before";

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
