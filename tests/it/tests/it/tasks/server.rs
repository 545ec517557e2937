//! Tests of the tasks of a server, in both forms.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::Semaphore;
use turnbuckle_it::harness::{Case, Client, ClientOptions};
use turnbuckle_server::{
    Ask, Failure, Progress, RawArguments, Server, ServerBuilder, TaskSupport, Tasks, Tool,
};
use turnbuckle_types::Principal;
use turnbuckle_wire::revision::Revision;

use super::{able, answer_task, call_as_task, cancel, get, task_cases};
use crate::support::{call, code, message, principal, result, text};

/// A gate that tools wait at.
#[derive(Clone)]
struct Gate(Arc<Semaphore>);

impl Gate {
    fn new() -> Self {
        Self(Arc::new(Semaphore::new(0)))
    }

    fn open(&self) {
        self.0.add_permits(1);
    }

    async fn pass(&self) {
        self.0.acquire().await.unwrap().forget();
    }
}

fn task(name: &'static str, support: TaskSupport) -> Tool<turnbuckle_server::NoHandler> {
    Tool::builder(name).task(support)
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Keep {
    keep: bool,
}

/// Returns a server with tools of every kind.
fn studio(gate: &Gate) -> ServerBuilder {
    let optional = TaskSupport::optional;
    let passes = gate.clone();
    let slow = task("slow", optional()).handler(move |progress: Progress| {
        let gate = passes.clone();
        async move {
            progress.report_with_message(1, 2, "half of it").await;
            gate.pass().await;
            "done"
        }
    });
    let fails = task("fails", TaskSupport::required())
        .handler(async || Err::<(), _>(Failure::new("it broke")));
    let breaks = task("breaks", optional()).handler(async || {
        let error = turnbuckle_types::ProtocolError::application(-31000, "beyond repair");
        Err::<(), Failure>(error.into())
    });
    let asks = task("asks", optional()).handler(async |ask: Ask| {
        let (first, second): (Keep, Keep) = tokio::try_join!(
            async { ask.form("Keep the first?").key("first").await },
            async { ask.form("Keep the second?").key("second").await },
        )?;
        let third: Keep = ask.form("Keep the third?").await?;
        Ok::<_, Failure>(format!("{} {} {}", first.keep, second.keep, third.keep))
    });
    let passes = gate.clone();
    let after = task("after", optional().after(Duration::from_secs(5))).handler(move |ask: Ask| {
        let gate = passes.clone();
        async move {
            let keep: Keep = ask.form("Keep it?").await?;
            gate.pass().await;
            Ok::<_, Failure>(format!("kept: {}", keep.keep))
        }
    });
    let plain = Tool::builder("plain").handler(async |_: RawArguments| "plain");
    Server::new("studio", "1")
        .tool(slow)
        .tool(fails)
        .tool(breaks)
        .tool(asks)
        .tool(after)
        .tool(plain)
}

fn server(gate: &Gate) -> Server {
    studio(gate).extension(Tasks::new()).build().unwrap()
}

async fn connect(case: Case, server: &Server) -> Client {
    connect_as(case, server, None).await
}

async fn connect_as(case: Case, server: &Server, principal: Option<Principal>) -> Client {
    let mut options = ClientOptions::new().capabilities(able(case));
    if let Some(principal) = principal {
        options = options.principal(principal);
    }
    Client::connect_with(case, server, options).await
}

/// Returns the answer to a form.
fn accept(keep: bool) -> Value {
    json!({"action": "accept", "content": {"keep": keep}})
}

#[tokio::test(start_paused = true)]
async fn a_call_becomes_a_task_whose_result_is_fetched_later() {
    for case in task_cases() {
        let gate = Gate::new();
        let server = server(&gate);
        let mut client = connect(case, &server).await;
        let created = call_as_task(&mut client, "slow", json!({})).await;
        assert_eq!(created["status"], "working", "{case}: {created}");
        let id = created["taskId"].as_str().unwrap().to_owned();
        client.wait(Duration::from_secs(2)).await;
        let working = get(&mut client, &id).await;
        assert_eq!(working["status"], "working", "{case}");
        assert_eq!(working["statusMessage"], "half of it", "{case}");
        gate.open();
        client.wait(Duration::from_millis(10)).await;
        let done = get(&mut client, &id).await;
        assert_eq!(done["status"], "completed", "{case}");
        match case.is_modern() {
            true => {
                assert_eq!(done["resultType"], "complete", "{case}");
                assert_eq!(done["result"]["content"][0]["text"], "done", "{case}");
                assert_eq!(done["result"].get("resultType"), None, "{case}");
            }
            false => {
                let answer = client.request("tasks/result", json!({"taskId": id})).await;
                assert_eq!(text(&answer), "done", "{case}");
                let related = &answer["result"]["_meta"]["io.modelcontextprotocol/related-task"];
                assert_eq!(related["taskId"], *id, "{case}");
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn questions_of_a_task_wait_in_its_record() {
    for case in task_cases().into_iter().filter(|case| case.is_modern()) {
        let server = server(&Gate::new());
        let mut client = connect(case, &server).await;
        let created = call_as_task(&mut client, "asks", json!({})).await;
        let id = created["taskId"].as_str().unwrap().to_owned();
        client.wait(Duration::from_millis(10)).await;
        let waits = get(&mut client, &id).await;
        assert_eq!(waits["status"], "input_required", "{case}: {waits}");
        let keys = |task: &Value| -> Vec<String> {
            let requests = task["inputRequests"].as_object();
            requests
                .into_iter()
                .flatten()
                .map(|it| it.0.clone())
                .collect()
        };
        assert_eq!(keys(&waits), ["first", "second"], "{case}");
        for bad in [json!({"first": 5}), json!({"first": {"action": "maybe?"}})] {
            let answer = answer_task(&mut client, &id, bad).await;
            assert_eq!(code(&answer), -32602, "{case}: {answer}");
        }
        let answers = json!({"second": accept(false), "other": {"action": "cancel"}});
        let answer = answer_task(&mut client, &id, answers).await;
        assert_eq!(result(&answer)["resultType"], "complete", "{case}");
        let waits = get(&mut client, &id).await;
        assert_eq!(waits["status"], "input_required", "{case}");
        assert_eq!(keys(&waits), ["first"], "{case}");
        // An answered question is not asked again.
        answer_task(
            &mut client,
            &id,
            json!({"second": accept(true), "first": accept(true)}),
        )
        .await;
        client.wait(Duration::from_millis(10)).await;
        let waits = get(&mut client, &id).await;
        assert_eq!(keys(&waits), ["form-1"], "{case}: {waits}");
        answer_task(&mut client, &id, json!({"form-1": accept(true)})).await;
        client.wait(Duration::from_millis(10)).await;
        let done = get(&mut client, &id).await;
        assert_eq!(
            done["result"]["content"][0]["text"], "true false true",
            "{case}: {done}"
        );
        let late = answer_task(&mut client, &id, json!({"first": accept(false)})).await;
        assert_eq!(result(&late)["resultType"], "complete", "{case}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_waits_for_the_result_is_asked() {
    for case in task_cases().into_iter().filter(|case| case.is_legacy()) {
        let server = server(&Gate::new());
        let mut client = connect(case, &server).await;
        let created = call_as_task(&mut client, "asks", json!({})).await;
        let id = created["taskId"].as_str().unwrap().to_owned();
        client.wait(Duration::from_millis(10)).await;
        assert_eq!(
            get(&mut client, &id).await["status"],
            "input_required",
            "{case}"
        );
        let waiting = client.start("tasks/result", json!({"taskId": id})).await;
        for (message, keep) in [("first", true), ("second", false), ("third", true)] {
            let question = client.next_of("elicitation/create").await;
            let params = &question["params"];
            assert_eq!(params["message"], format!("Keep the {message}?"), "{case}");
            let related = &params["_meta"]["io.modelcontextprotocol/related-task"];
            assert_eq!(related["taskId"], *id, "{case}");
            client.answer(&question["id"], accept(keep)).await;
        }
        let answer = client.response(waiting).await;
        assert_eq!(text(&answer), "true false true", "{case}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_quick_call_is_answered_and_asks_on_the_call() {
    for case in task_cases().into_iter().filter(|case| case.is_modern()) {
        let gate = Gate::new();
        let server = server(&gate);
        let mut client = connect(case, &server).await;
        let asked = call(&mut client, "after", json!({})).await;
        assert_eq!(
            result(&asked)["resultType"],
            "input_required",
            "{case}: {asked}"
        );
        let retry = json!({
            "name": "after", "arguments": {},
            "requestState": asked["result"]["requestState"],
            "inputResponses": {"form-1": accept(true)},
        });
        gate.open();
        let answer = client.request("tools/call", retry.clone()).await;
        assert_eq!(text(&answer), "kept: true", "{case}");
        // Now it takes long.
        let id = client.start("tools/call", retry).await;
        client.wait(Duration::from_secs(4)).await;
        assert!(!client.is_answered(id).await, "{case}");
        client.wait(Duration::from_secs(2)).await;
        let created = client.response(id).await;
        assert_eq!(result(&created)["resultType"], "task", "{case}: {created}");
        assert_eq!(created["result"].get("requestState"), None, "{case}");
        gate.open();
        client.wait(Duration::from_millis(10)).await;
        let task = created["result"]["taskId"].as_str().unwrap().to_owned();
        let done = get(&mut client, &task).await;
        assert_eq!(
            done["result"]["content"][0]["text"], "kept: true",
            "{case}: {done}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn errors_of_a_task_are_those_of_the_call() {
    for case in task_cases() {
        let server = server(&Gate::new());
        let mut client = connect(case, &server).await;
        for (tool, is_protocol_error) in [("fails", false), ("breaks", true)] {
            let created = call_as_task(&mut client, tool, json!({})).await;
            let id = created["taskId"].as_str().unwrap().to_owned();
            client.wait(Duration::from_millis(10)).await;
            let ended = get(&mut client, &id).await;
            let status = match is_protocol_error || case.is_legacy() {
                true => "failed",
                false => "completed",
            };
            assert_eq!(ended["status"], status, "{case} {tool}: {ended}");
            let answer = match case.is_legacy() {
                true => client.request("tasks/result", json!({"taskId": id})).await,
                false => json!({"result": ended["result"], "error": ended["error"]}),
            };
            match is_protocol_error {
                true => {
                    assert_eq!(answer["error"]["code"], -31000, "{case}: {answer}");
                    assert_eq!(answer["error"]["message"], "beyond repair", "{case}");
                }
                false => {
                    assert_eq!(answer["result"]["isError"], true, "{case}: {answer}");
                    assert_eq!(answer["result"]["content"][0]["text"], "it broke", "{case}");
                }
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_task_stays_cancelled() {
    for case in task_cases() {
        let gate = Gate::new();
        let server = server(&gate);
        let mut client = connect(case, &server).await;
        let created = call_as_task(&mut client, "slow", json!({})).await;
        let id = created["taskId"].as_str().unwrap().to_owned();
        let cancelled = cancel(&mut client, &id).await;
        match case.is_legacy() {
            true => assert_eq!(result(&cancelled)["status"], "cancelled", "{case}"),
            false => assert_eq!(result(&cancelled)["resultType"], "complete", "{case}"),
        }
        client.wait(Duration::from_secs(3)).await;
        gate.open();
        client.wait(Duration::from_millis(10)).await;
        assert_eq!(get(&mut client, &id).await["status"], "cancelled", "{case}");
        let again = cancel(&mut client, &id).await;
        match case.is_legacy() {
            true => assert_eq!(code(&again), -32602, "{case}"),
            false => assert_eq!(result(&again)["resultType"], "complete", "{case}"),
        }
        assert_eq!(gate.0.available_permits(), 1, "{case}: the handler went on");
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_without_tasks_gets_a_plain_call() {
    for case in Case::all() {
        let gate = Gate::new();
        let server = server(&gate);
        let mut client = Client::connect(case, &server).await;
        gate.open();
        let answer = call(&mut client, "slow", json!({})).await;
        assert_eq!(text(&answer), "done", "{case}");
        let refused = call(&mut client, "fails", json!({})).await;
        match case.is_modern() {
            true => {
                assert_eq!(code(&refused), -32021, "{case}: {refused}");
                let needed = &refused["error"]["data"]["requiredCapabilities"]["extensions"];
                assert!(
                    needed["io.modelcontextprotocol/tasks"].is_object(),
                    "{case}"
                );
            }
            false => assert_eq!(code(&refused), -32601, "{case}: {refused}"),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn ids_of_others_are_unknown() {
    for case in task_cases() {
        let server = server(&Gate::new());
        let mut ada = connect_as(case, &server, Some(principal("ada"))).await;
        let created = call_as_task(&mut ada, "slow", json!({})).await;
        let id = created["taskId"].as_str().unwrap().to_owned();
        let mut bob = connect_as(case, &server, Some(principal("bob"))).await;
        let mut nobody = connect(case, &server).await;
        let huge = "x".repeat(2_000);
        for client in [&mut bob, &mut nobody] {
            for id in [&id, "", "0", &huge] {
                for method in ["tasks/get", "tasks/cancel"] {
                    let answer = client.request(method, json!({"taskId": id})).await;
                    assert_eq!(
                        code(&answer),
                        -32602,
                        "{case} {method}: {}",
                        message(&answer)
                    );
                    assert!(message(&answer).len() < 200, "{case}");
                }
            }
        }
        assert_eq!(get(&mut ada, &id).await["status"], "working", "{case}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_tasks_of_one_caller_are_bounded() {
    for case in task_cases() {
        let server = studio(&Gate::new())
            .extension(Tasks::new().max_per_principal(3))
            .build()
            .unwrap();
        let mut ada = connect_as(case, &server, Some(principal("ada"))).await;
        let mut ids = Vec::new();
        for _ in 0..3 {
            let created = call_as_task(&mut ada, "slow", json!({})).await;
            ids.push(created["taskId"].as_str().unwrap().to_owned());
        }
        let mut params = json!({"name": "slow", "arguments": {}});
        if case.is_legacy() {
            params["task"] = json!({});
        }
        let refused = ada.request("tools/call", params).await;
        assert!(
            message(&refused).contains("Tasks::max_per_principal"),
            "{case}: {refused}"
        );
        let mut bob = connect_as(case, &server, Some(principal("bob"))).await;
        call_as_task(&mut bob, "slow", json!({})).await;
        cancel(&mut ada, &ids[0]).await;
        call_as_task(&mut ada, "slow", json!({})).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_task_is_gone_after_its_time() {
    for case in task_cases() {
        let server = studio(&Gate::new())
            .extension(Tasks::new().ttl(Duration::from_secs(60)))
            .build()
            .unwrap();
        let mut client = connect(case, &server).await;
        let created = call_as_task(&mut client, "slow", json!({})).await;
        let id = created["taskId"].as_str().unwrap().to_owned();
        client.wait(Duration::from_secs(700)).await;
        let answer = client.request("tasks/get", json!({"taskId": id})).await;
        assert_eq!(code(&answer), -32602, "{case}: {answer}");
    }
}

#[test]
fn only_revisions_with_tasks_are_cases() {
    assert!(
        task_cases()
            .iter()
            .all(|case| { matches!(case.revision, Revision::V2025_11_25 | Revision::V2026_07_28) })
    );
}
