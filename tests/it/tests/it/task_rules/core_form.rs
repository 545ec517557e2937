//! The server's side of the tasks of 2025-11-25: negotiation, creation, status, results, cancellation.

use std::time::Duration;

use serde_json::{Value, json};
use turnbuckle_it::harness::{Bind, Case, Client, ClientOptions};
use turnbuckle_it::web::Web;
use turnbuckle_server::Tasks;

use super::servers::{builder, server};
use super::{
    arguments_of, connect, connect_as, core_cases, create, get, id_of, revision_of_core_tasks,
    until,
};
use crate::support::{call, code, result, text};

/// The key that names the task of a message.
const RELATED: &str = "io.modelcontextprotocol/related-task";

/// Returns the result of a task's call.
async fn wait_for(client: &mut Client, id: &str) -> Value {
    client.request("tasks/result", json!({"taskId": id})).await
}

// requirement: 0d392cfff5db
#[tokio::test(start_paused = true)]
async fn the_capability_is_declared_where_the_core_has_it() {
    let server = server();
    for case in Case::legacy() {
        let client = connect_as(case, &server, "ada").await;
        let capabilities = &client.handshake().unwrap()["capabilities"];
        let expected = match case.revision.features().core_tasks {
            true => json!({"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}}),
            false => Value::Null,
        };
        assert_eq!(capabilities["tasks"], expected, "{case}");
    }
}

// requirement: 6a9588a089d1 9a98665fa764
#[tokio::test(start_paused = true)]
async fn a_tool_says_whether_its_calls_are_tasks_and_holds_to_it() {
    let server = server();
    for case in Case::all() {
        let mut client = connect(case, &server).await;
        let listed = client.request("tools/list", json!({})).await;
        let tools = result(&listed)["tools"].as_array().unwrap().clone();
        let level = |name: &str| {
            let tool = tools.iter().find(|tool| tool["name"] == name).unwrap();
            tool["execution"]["taskSupport"].clone()
        };
        if case.revision != revision_of_core_tasks() {
            assert!(!listed.to_string().contains("taskSupport"), "{case}");
            continue;
        }
        assert_eq!(level("nap"), "optional", "{case}");
        assert_eq!(level("only"), "required", "{case}");
        assert_eq!(level("plain"), Value::Null, "{case}");

        let params = json!({"name": "plain", "arguments": {}, "task": {}});
        let refused = client.request("tools/call", params).await;
        assert_eq!(code(&refused), -32601, "{case}");
        let refused = call(&mut client, "only", json!({})).await;
        assert_eq!(code(&refused), -32601, "{case}");
        let answer = call(&mut client, "nap", json!({"seconds": 1})).await;
        assert_eq!(text(&answer), "slept", "{case}");
        create(&mut client, "only", json!({})).await;
    }
}

// requirement: 598fd38bab71 5ac9dcf21046 744436225f9b 8d3854212438 a192a905dfaf acfc1f1d550b
// requirement: d1d8d21ccacd f0a109a2c600 fa8f16c4e419 faccd7622e57
#[tokio::test(start_paused = true)]
async fn a_task_call_is_answered_by_its_task_at_once() {
    let server = server();
    for case in core_cases() {
        let mut client = connect(case, &server).await;
        let start = tokio::time::Instant::now();
        let task = create(&mut client, "later", json!({"seconds": 30})).await;
        assert!(start.elapsed() < Duration::from_secs(1), "{case}");
        assert_eq!(task["status"], "working", "{case}");
        assert_eq!(task["ttl"], 600_000, "{case}");
        let id = id_of(&task);
        for expected in [("working", 0), ("completed", 31)] {
            client.wait(Duration::from_secs(expected.1)).await;
            let got = get(&mut client, &id).await;
            assert_eq!(got["status"], expected.0, "{case}");
            for name in ["taskId", "createdAt", "ttl", "pollInterval"] {
                assert_eq!(got[name], task[name], "{case}: {name}");
                assert!(!got[name].is_null(), "{case}: {name}");
            }
            assert!(got["lastUpdatedAt"].is_string(), "{case}");
            assert_eq!(got["_meta"].get(RELATED), None, "{case}: {got}");
            for name in ["ttlMs", "pollIntervalMs", "result", "resultType"] {
                assert_eq!(got.get(name), None, "{case}: {name}");
            }
        }
    }
}

// requirement: ea00c4ad908a ec9bce30f9d1 fc06176f1c12
#[tokio::test(start_paused = true)]
async fn a_task_has_an_id_of_its_own_and_ends_once() {
    let server = server();
    for case in core_cases() {
        let mut client = connect(case, &server).await;
        let mut ids = Vec::new();
        for (tool, end) in [
            ("nap", "completed"),
            ("fail", "failed"),
            ("broken", "failed"),
        ] {
            let id = id_of(&create(&mut client, tool, arguments_of(tool)).await);
            let ended = until(&mut client, &id, end).await;
            assert!(!ids.contains(&id), "{case}");
            client.request("tasks/cancel", json!({"taskId": id})).await;
            client.wait(Duration::from_secs(5)).await;
            assert_eq!(get(&mut client, &id).await, ended, "{case}");
            ids.push(id);
        }
    }
}

// requirement: 188f2dd3cede 26a12d085569 29e353296ce4 7e47fefc6d7a 857d8469c054 a61fedbf4164
// requirement: eab0686e43cb
#[tokio::test(start_paused = true)]
async fn the_result_is_waited_for_and_is_what_the_call_would_have_returned() {
    let server = server();
    for case in core_cases() {
        let mut client = connect(case, &server).await;
        for (tool, status) in [
            ("nap", "completed"),
            ("fail", "failed"),
            ("broken", "failed"),
        ] {
            let arguments = arguments_of(tool);
            let plain = call(&mut client, tool, arguments.clone()).await;
            let id = id_of(&create(&mut client, tool, arguments).await);
            let params = json!({"taskId": id});
            let waiting = client.start("tasks/result", params).await;
            if tool == "nap" {
                client.wait(Duration::from_secs(10)).await;
                assert!(!client.is_answered(waiting).await, "{case}");
            }
            let first = client.response(waiting).await;
            let later = wait_for(&mut client, &id).await;
            for answer in [first, later] {
                assert_eq!(answer["error"], plain["error"], "{case}: {tool}");
                if tool == "broken" {
                    continue;
                }
                assert_eq!(
                    answer["result"]["content"], plain["result"]["content"],
                    "{case}"
                );
                assert_eq!(
                    answer["result"]["isError"], plain["result"]["isError"],
                    "{case}"
                );
                let related = &answer["result"]["_meta"][RELATED];
                assert_eq!(*related, json!({"taskId": id}), "{case}");
            }
            let task = get(&mut client, &id).await;
            assert_eq!(task["status"], status, "{case}: {tool}");
            if status == "failed" {
                assert!(task["statusMessage"].is_string(), "{case}: {task}");
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn several_may_wait_for_one_result() {
    let server = server();
    for case in core_cases() {
        let mut first = connect_as(case, &server, "ada").await;
        let mut second = connect_as(case, &server, "ada").await;
        let id = id_of(&create(&mut first, "nap", json!({"seconds": 200})).await);
        let params = json!({"taskId": id});
        let waiting = first.start("tasks/result", params.clone()).await;
        let others = [
            second.start("tasks/result", params.clone()).await,
            second.start("tasks/result", params).await,
        ];
        // Longer than other requests may take.
        second.wait(Duration::from_secs(100)).await;
        first.wait(Duration::from_secs(105)).await;
        assert_eq!(text(&first.response(waiting).await), "slept", "{case}");
        for id in others {
            assert_eq!(text(&second.response(id).await), "slept", "{case}");
        }
    }
}

// requirement: 1831f08b7d84 a1f472810820
#[tokio::test(start_paused = true)]
async fn the_parameter_says_which_task_and_metadata_does_not() {
    let server = server();
    for case in core_cases() {
        let mut client = connect(case, &server).await;
        let id = id_of(&create(&mut client, "nap", json!({"seconds": 1})).await);
        let other = id_of(&create(&mut client, "nap", json!({"seconds": 500})).await);
        until(&mut client, &id, "completed").await;
        let params = json!({"taskId": id, "_meta": {RELATED: {"taskId": other}}});
        let got = client.request("tasks/get", params.clone()).await;
        assert_eq!(result(&got)["taskId"], id, "{case}");
        let got = client.request("tasks/result", params.clone()).await;
        assert_eq!(text(&got), "slept", "{case}");
        let params = json!({"taskId": other, "_meta": {RELATED: {"taskId": id}}});
        let got = client.request("tasks/cancel", params).await;
        assert_eq!(result(&got)["taskId"], other, "{case}");
        assert_eq!(get(&mut client, &id).await["status"], "completed", "{case}");
    }
}

// requirement: 0428200dfa3e 7f5bd0d7d094 acb2ebaf687a cd13b7c0909d d662f8b407e7
#[tokio::test(start_paused = true)]
async fn a_cancelled_task_stops_and_stays_so() {
    let server = server();
    for case in core_cases() {
        let mut client = connect(case, &server).await;
        let cases = [
            ("nap", json!({"seconds": 30}), "working"),
            ("ask", json!({}), "input_required"),
        ];
        for (tool, arguments, status) in cases {
            let id = id_of(&create(&mut client, tool, arguments).await);
            until(&mut client, &id, status).await;
            let waiting = client.start("tasks/result", json!({"taskId": id})).await;
            client.settle().await;
            let answer = client.request("tasks/cancel", json!({"taskId": id})).await;
            assert_eq!(result(&answer)["status"], "cancelled", "{case}");
            assert_eq!(result(&answer)["taskId"], id, "{case}");
            // Whoever waits is answered, with an error or a result.
            client.response(waiting).await;
            client.wait(Duration::from_secs(60)).await;
            assert_eq!(get(&mut client, &id).await["status"], "cancelled", "{case}");
            let again = client.request("tasks/cancel", json!({"taskId": id})).await;
            assert_eq!(code(&again), -32602, "{case}");
        }
        let id = id_of(&create(&mut client, "nap", json!({"seconds": 1})).await);
        until(&mut client, &id, "completed").await;
        let late = client.request("tasks/cancel", json!({"taskId": id})).await;
        assert_eq!(code(&late), -32602, "{case}");
    }
}

// requirement: 65330c2a8360 69c83e361e27
#[tokio::test(start_paused = true)]
async fn a_client_chooses_the_time_to_live_within_bounds() {
    let tasks = Tasks::new()
        .ttl(Duration::from_secs(20))
        .max_ttl(Duration::from_secs(100));
    let server = builder(tasks).build().unwrap();
    for case in core_cases() {
        let mut client = connect(case, &server).await;
        for (wanted, given) in [
            (json!({}), 20_000),
            (json!({"ttl": 5_000}), 5_000),
            (json!({"ttl": 3_600_000}), 100_000),
            (json!({"ttl": u64::MAX}), 100_000),
        ] {
            let params = json!({"name": "nap", "arguments": {"seconds": 1}, "task": wanted});
            let answer = client.request("tools/call", params).await;
            let task = &result(&answer)["task"];
            assert_eq!(task["ttl"], given, "{case}: {wanted}");
            let id = id_of(task);
            client.wait(Duration::from_millis(given - 1_500)).await;
            assert_eq!(get(&mut client, &id).await["status"], "completed", "{case}");
            client.wait(Duration::from_secs(3)).await;
            let answer = client.request("tasks/get", json!({"taskId": id})).await;
            assert_eq!(code(&answer), -32602, "{case}: {wanted}");
        }
        for wrong in [json!(5), json!({"ttl": "x"}), json!({"ttl": -1})] {
            let params = json!({"name": "nap", "arguments": {"seconds": 1}, "task": wrong});
            let answer = client.request("tools/call", params).await;
            assert_eq!(code(&answer), -32602, "{case}: {wrong}");
        }
    }
}

// requirement: 523358227e71 72fd8b010663
#[tokio::test(start_paused = true)]
async fn a_poll_is_answered_as_json_and_not_by_a_stream() {
    let server = server();
    let web = Web::new(&server);
    let session = web.open(revision_of_core_tasks()).await;
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params":
        {"name": "nap", "arguments": {"seconds": 50}, "task": {}}});
    let created = session.post(&call).send().await.json().await;
    let id = id_of(&created["result"]["task"]);
    for n in 2..5 {
        let poll = json!({"jsonrpc": "2.0", "id": n, "method": "tasks/get",
            "params": {"taskId": id}});
        let polled = session.post(&poll).send().await;
        assert_eq!(polled.header("content-type"), Some("application/json"));
        assert_eq!(polled.json().await["result"]["status"], "working");
    }
}

// requirement: fdaab37252af
#[tokio::test(start_paused = true)]
async fn changes_are_told_on_the_session() {
    let server = server();
    for case in core_cases() {
        if case.binding == Bind::Http {
            // There the session's own stream carries them; the other cases say the same.
            continue;
        }
        let mut client = connect(case, &server).await;
        let id = id_of(&create(&mut client, "nap", json!({"seconds": 5})).await);
        let notice = client.next_of("notifications/tasks/status").await;
        assert_eq!(notice["params"]["taskId"], id, "{case}");
        assert_eq!(notice["params"]["status"], "completed", "{case}");
        assert!(notice["params"]["_meta"].get(RELATED).is_none(), "{case}");
        let got = get(&mut client, &id).await;
        for name in ["createdAt", "lastUpdatedAt", "ttl", "pollInterval"] {
            assert_eq!(notice["params"][name], got[name], "{case}: {name}");
        }
    }
}

// requirement: 361bcd398264 6392d558c2a2 c1fdbdf476c8
#[tokio::test(start_paused = true)]
async fn progress_of_a_task_is_the_message_of_its_status() {
    let server = server();
    for case in core_cases() {
        let options = ClientOptions::new().progress_tokens();
        let mut client = Client::connect_with(case, &server, options).await;
        let id = id_of(&create(&mut client, "paint", json!({})).await);
        client.wait(Duration::from_millis(1500)).await;
        let task = get(&mut client, &id).await;
        assert_eq!(task["statusMessage"], "frame 2 is done", "{case}");
        until(&mut client, &id, "completed").await;
        client.wait(Duration::from_secs(5)).await;
        // So there is no notification with another token, and none after the end.
        let progress = client.received_messages().iter();
        let progress = progress.filter(|it| it["method"] == "notifications/progress");
        assert_eq!(progress.count(), 0, "{case}");
    }
}
