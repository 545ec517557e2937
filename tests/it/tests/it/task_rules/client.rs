//! Our client with our server, in both forms and over every binding.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use tokio::time::Instant;
use turnbuckle_client::{ClientBuilder, FormAnswer, Started};
use turnbuckle_it::coupled::{Coupled, connect_to};
use turnbuckle_it::harness::Bind;
use turnbuckle_it::peer::Peer;
use turnbuckle_types::TaskStatus;

use super::servers::server;
use super::{revision_of_core_tasks, task_cases};
use crate::client_support::plain;

/// Returns a client whose user has a name.
fn with_user() -> ClientBuilder {
    plain().on_form(|_, _| async { FormAnswer::accept([("name", "Ada")]) })
}

// requirement: bdcc8c561855
#[tokio::test(start_paused = true)]
async fn requests_about_a_task_mirror_its_id() {
    for case in task_cases() {
        let client = Coupled::connect(case, &server(), with_user()).await;
        assert_eq!(
            client.call_tool("ask", &()).await.unwrap().text(),
            "Hello, Ada!",
            "{case}"
        );
        let started = client.call_tool("nap", &json!({"seconds": 60})).start();
        let Started::Task(task) = started.await.unwrap() else {
            panic!("{case}: no task");
        };
        let state = task.status().await.unwrap();
        assert_eq!(state.task.status, TaskStatus::Working, "{case}");
        task.cancel().await.unwrap();
        let state = task.status().await.unwrap();
        assert_eq!(state.task.status, TaskStatus::Cancelled, "{case}");
        if case.binding != Bind::Http {
            continue;
        }
        let posts = client.posts.with_verb("POST").into_iter();
        let about = posts.filter(|post| {
            let method = post.message["method"].as_str();
            method.is_some_and(|method| method.starts_with("tasks/"))
        });
        let mut methods = Vec::new();
        for post in about {
            methods.push(post.message["method"].as_str().unwrap().to_owned());
            // The server would refuse another value.
            let expected = post.message["params"]["taskId"].as_str();
            let expected = expected.filter(|_| case.is_modern());
            assert_eq!(post.header("mcp-name"), expected, "{case}");
        }
        for method in ["tasks/get", "tasks/cancel"] {
            assert!(methods.iter().any(|it| it == method), "{case}: {methods:?}");
        }
        let update = methods.iter().any(|method| method == "tasks/update");
        assert_eq!(update, case.is_modern(), "{case}: {methods:?}");
    }
}

// requirement: d4c55318ad20
#[tokio::test(start_paused = true)]
async fn messages_of_a_task_come_on_any_stream() {
    for case in task_cases() {
        if case.is_modern() {
            continue;
        }
        let client = Coupled::connect(case, &server(), with_user()).await;
        client.list_tools().fetch_all().await.unwrap();
        let Started::Task(task) = client.call_tool("again", &()).start().await.unwrap() else {
            panic!("{case}: no task");
        };
        assert_eq!(task.await.unwrap().text(), "Ada, Ada, Ada", "{case}");
        // Questions on the stream of `tasks/result`, and changes on that of the session.
        let received = client.tap().received_messages();
        let count = |method: &str| received.iter().filter(|it| it["method"] == method).count();
        assert_eq!(count("elicitation/create"), 3, "{case}");
        assert!(count("notifications/tasks/status") > 0, "{case}");
    }
}

/// Returns a state of a task with this interval.
fn state(status: &str, interval: u64) -> Value {
    json!({"taskId": "a", "status": status, "createdAt": "2025-11-25T10:00:00Z",
        "lastUpdatedAt": "2025-11-25T10:00:01Z", "ttl": null, "pollInterval": interval})
}

// requirement: 025909d4418b 3d95a8f22513 571874a49938 64a3faf31e08 c77775b21a8c cf45d9a6afe5
// requirement: eec183833bc5
#[tokio::test(start_paused = true)]
async fn a_task_of_the_core_is_polled_in_its_interval_until_it_ends() {
    let revision = revision_of_core_tasks();
    let polls = AtomicUsize::new(0);
    // It never sends a notification.
    let peer = Peer::new(revision, move |heard| match heard.method() {
        "initialize" => Some(vec![heard.answer(json!({
            "protocolVersion": revision.as_str(),
            "capabilities": {"tools": {}, "tasks": {"requests": {"tools": {"call": {}}}}},
            "serverInfo": {"name": "peer", "version": "0"},
        }))]),
        "tools/list" => Some(vec![heard.answer(json!({"tools": [{
            "name": "t", "inputSchema": {"type": "object"},
            "execution": {"taskSupport": "required"},
        }]}))]),
        "tools/call" => Some(vec![heard.answer(json!({"task": state("working", 3_000)}))]),
        "tasks/get" => {
            let (status, interval) = match polls.fetch_add(1, Ordering::Relaxed) {
                0 => ("working", 7_000),
                1 => ("working", 2_000),
                _ => ("completed", 2_000),
            };
            Some(vec![heard.answer(state(status, interval))])
        }
        "tasks/result" => Some(vec![heard.text("done")]),
        _ => None,
    });
    let client = connect_to(&peer, plain()).await.unwrap();
    client.list_tools().fetch_all().await.unwrap();
    let began = Instant::now();
    assert_eq!(client.call_tool("t", &()).await.unwrap().text(), "done");
    assert_eq!(began.elapsed().as_secs(), 3 + 7 + 2);
    assert_eq!(peer.messages_of("tasks/get").len(), 3);
    assert_eq!(peer.messages_of("tasks/result").len(), 1);
}
