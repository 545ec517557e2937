//! Tests of the bounds of tasks, and of handlers that do not end.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use turnbuckle_it::harness::{Bind, Case, Client, ClientOptions};
use turnbuckle_server::{Ask, Failure, RawArguments, Server, TaskSupport, Tasks, Tool};

use super::{able, call_as_task, cancel, get, task_cases};
use crate::support::{code, message, principal};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Go {
    go: bool,
}

/// Returns a server whose handlers hold `held` while they are there.
fn server(held: &Arc<()>, tasks: Tasks) -> Server {
    let task = |name: &'static str| Tool::builder(name).task(TaskSupport::optional());
    let held_by = held.clone();
    let endless = task("endless").handler(move |_: RawArguments| {
        let held = held_by.clone();
        async move {
            std::future::pending::<()>().await;
            drop(held);
        }
    });
    let held_by = held.clone();
    let asks = task("asks").handler(move |ask: Ask| {
        let held = held_by.clone();
        async move {
            let go: Go = ask.form("Go on?").await?;
            drop(held);
            Ok::<_, Failure>(go.go.to_string())
        }
    });
    let builder = Server::new("s", "1")
        .tools([endless, asks])
        .tool(task("quick").handler(async |_: RawArguments| "done"));
    builder.extension(tasks).build().unwrap()
}

async fn connect(case: Case, server: &Server, name: &str) -> Client {
    let options = ClientOptions::new()
        .capabilities(able(case))
        .principal(principal(name));
    Client::connect_with(case, server, options).await
}

/// Tries to start a tool as a task.
async fn try_start(client: &mut Client, tool: &str) -> Value {
    let mut params = json!({"name": tool, "arguments": {}});
    if client.case().is_legacy() {
        params["task"] = json!({});
    }
    client.request("tools/call", params).await
}

#[tokio::test(start_paused = true)]
async fn ten_thousand_creations_by_one_caller_are_refused_by_name() {
    let held = Arc::new(());
    for case in task_cases()
        .into_iter()
        .filter(|case| case.binding == Bind::Pipe)
    {
        let server = server(&held, Tasks::new());
        let mut ada = connect(case, &server, "ada").await;
        let (mut created, mut refused) = (0, 0);
        for _ in 0..10_000 {
            let answer = try_start(&mut ada, "endless").await;
            match answer.get("error") {
                None => created += 1,
                Some(_) => {
                    assert!(
                        message(&answer).contains("Tasks::max_per_principal"),
                        "{case}: {answer}"
                    );
                    refused += 1;
                }
            }
        }
        assert_eq!((created, refused), (64, 10_000 - 64), "{case}");
        let mut bob = connect(case, &server, "bob").await;
        call_as_task(&mut bob, "quick", json!({})).await;
    }
}

#[tokio::test(start_paused = true)]
async fn one_caller_cannot_have_all_tasks_that_are_kept() {
    let held = Arc::new(());
    for case in task_cases() {
        let tasks = Tasks::new().max_tasks(20).ttl(Duration::from_secs(900));
        let server = server(&held, tasks);
        let mut ada = connect(case, &server, "ada").await;
        // Legacy clients choose the time for which a task is kept: here they do not.
        for _ in 0..10 {
            let answer = try_start(&mut ada, "quick").await;
            assert_eq!(answer.get("error"), None, "{case}: {answer}");
        }
        let refused = try_start(&mut ada, "quick").await;
        assert!(
            message(&refused).contains("Tasks::max_tasks"),
            "{case}: {refused}"
        );
        let mut bob = connect(case, &server, "bob").await;
        for _ in 0..5 {
            let answer = try_start(&mut bob, "quick").await;
            assert_eq!(answer.get("error"), None, "{case}: {answer}");
        }
        ada.wait(Duration::from_secs(901)).await;
        let mut ada = connect(case, &server, "ada").await;
        let answer = try_start(&mut ada, "quick").await;
        assert_eq!(answer.get("error"), None, "{case}: {answer}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_never_ends_ends_with_its_task() {
    for case in task_cases() {
        let held = Arc::new(());
        let tasks = Tasks::new().ttl(Duration::from_secs(60)).max_running(1);
        let server = server(&held, tasks);
        let mut client = connect(case, &server, "ada").await;
        let before = Arc::strong_count(&held);
        // Cancelled.
        let created = call_as_task(&mut client, "endless", json!({})).await;
        let refused = try_start(&mut client, "endless").await;
        assert!(
            message(&refused).contains("Tasks::max_running"),
            "{case}: {refused}"
        );
        let id = created["taskId"].as_str().unwrap().to_owned();
        cancel(&mut client, &id).await;
        assert_eq!(get(&mut client, &id).await["status"], "cancelled", "{case}");
        client.wait(Duration::from_secs(3)).await;
        assert_eq!(Arc::strong_count(&held), before, "{case}");
        // Its time passes.
        let answer = try_start(&mut client, "endless").await;
        assert_eq!(answer.get("error"), None, "{case}: {answer}");
        client.wait(Duration::from_secs(63)).await;
        assert_eq!(Arc::strong_count(&held), before, "{case}");
        let answer = try_start(&mut client, "endless").await;
        assert_eq!(answer.get("error"), None, "{case}: {answer}");
    }
}

#[tokio::test(start_paused = true)]
async fn tasks_end_with_their_server() {
    for case in task_cases() {
        let held = Arc::new(());
        let server = server(&held, Tasks::new());
        let mut client = connect(case, &server, "ada").await;
        for tool in ["endless", "asks", "quick", "endless"] {
            let created = call_as_task(&mut client, tool, json!({})).await;
            if case.is_legacy() && tool != "quick" {
                let params = json!({"taskId": created["taskId"]});
                client.start("tasks/result", params).await;
            }
        }
        client.wait(Duration::from_secs(1)).await;
        assert!(Arc::strong_count(&held) > 2, "{case}");
        drop((client, server));
        tokio::time::sleep(Duration::from_secs(10)).await;
        assert_eq!(Arc::strong_count(&held), 1, "{case}");
    }
}

#[tokio::test(start_paused = true)]
async fn mad_times_to_live_are_bounded_or_refused() {
    let held = Arc::new(());
    for case in task_cases().into_iter().filter(|case| case.is_legacy()) {
        let server = server(&held, Tasks::new());
        let mut client = connect(case, &server, "ada").await;
        let (hour, day) = (3_600_000, 24 * 3_600_000);
        for (ttl, given) in [
            ("null", hour),
            ("0", 1_000),
            ("0.5", 1_000),
            ("1e300", day),
            ("18446744073709551616", day),
        ] {
            let ttl: Value = serde_json::from_str(ttl).unwrap();
            let params = json!({"name": "quick", "arguments": {}, "task": {"ttl": ttl}});
            let answer = client.request("tools/call", params).await;
            assert_eq!(answer["result"]["task"]["ttl"], given, "{case}: {answer}");
        }
        for ttl in ["-1", "-1e300", "true", "[]", "\"1000\""] {
            let ttl: Value = serde_json::from_str(ttl).unwrap();
            let params = json!({"name": "quick", "arguments": {}, "task": {"ttl": ttl}});
            let answer = client.request("tools/call", params).await;
            assert_eq!(code(&answer), -32602, "{case}: {answer}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_result_beyond_the_bound_fails_by_name() {
    let held = Arc::new(());
    for case in task_cases() {
        let server = server(&held, Tasks::new().result_bytes(20));
        let mut client = connect(case, &server, "ada").await;
        let created = call_as_task(&mut client, "quick", json!({})).await;
        let id = created["taskId"].as_str().unwrap();
        client.wait(Duration::from_secs(1)).await;
        let ended = get(&mut client, id).await;
        assert_eq!(ended["status"], "failed", "{case}: {ended}");
        let why = ended["statusMessage"].as_str().unwrap();
        assert!(why.contains("Tasks::result_bytes: 20"), "{case}: {why}");
    }
}
