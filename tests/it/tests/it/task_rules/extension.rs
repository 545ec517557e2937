//! The server's side of the extension of 2026-07-28: creation, status, results and cancellation.

use std::time::Duration;

use serde_json::{Value, json};
use turnbuckle_it::harness::Case;
use turnbuckle_server::Tasks;

use super::servers::{builder, server};
use super::{TASKS, arguments_of, connect, create, form_answer, get, id_of, until, update};
use crate::support::{call, code, connect_able, result, retry, text};

// requirement: 21f37f877466 31c3ae1a3e6a 486b2a8bf347 689839b7a82e b891ff58a70e cad19537c14c
#[tokio::test(start_paused = true)]
async fn a_call_is_answered_by_a_task_that_can_be_got_at_once() {
    let server = server();
    for case in Case::modern() {
        let mut client = connect(case, &server).await;
        let task = create(&mut client, "nap", json!({"seconds": 30})).await;
        assert_eq!(task["status"], "working", "{case}");
        assert!(
            task["ttlMs"].is_u64() && task["pollIntervalMs"].is_u64(),
            "{case}"
        );
        for name in [
            "requestState",
            "inputRequests",
            "result",
            "ttl",
            "pollInterval",
        ] {
            assert_eq!(task.get(name), None, "{case}: {name}");
        }

        let id = id_of(&task);
        let got = get(&mut client, &id).await;
        assert_eq!(got["resultType"], "complete", "{case}");
        assert_eq!(got["status"], "working", "{case}");
        for name in ["taskId", "createdAt", "ttlMs", "pollIntervalMs"] {
            assert_eq!(got[name], task[name], "{case}: {name}");
        }

        let done = until(&mut client, &id, "completed").await;
        assert_eq!(done["resultType"], "complete", "{case}");
        assert_eq!(done["createdAt"], task["createdAt"], "{case}");
        let plain = call(&mut client, "plain", json!({})).await;
        assert_eq!(plain["result"]["resultType"], "complete", "{case}");
    }
}

// requirement: 27d827ef41b3 6682c0237dea 9684d731b787 c66abdf7e612
#[tokio::test(start_paused = true)]
async fn a_client_that_does_not_declare_tasks_has_none() {
    let server = server();
    let able = json!({"elicitation": {"form": {}}});
    let core = json!({"tasks": {"requests": {"tools": {"call": {}}}}});
    for case in Case::modern() {
        let mut other = connect(case, &server).await;
        let id = id_of(&create(&mut other, "nap", json!({"seconds": 90})).await);
        for capabilities in [json!({}), able.clone(), core.clone()] {
            let mut client = connect_able(case, &server, capabilities).await;
            let answer = call(&mut client, "nap", json!({"seconds": 3})).await;
            assert_eq!(text(&answer), "slept", "{case}");
            assert_eq!(result(&answer)["resultType"], "complete", "{case}");

            let update = json!({"taskId": id, "inputResponses": {}});
            let refused = [
                call(&mut client, "only", json!({})).await,
                client.request("tasks/get", json!({"taskId": id})).await,
                client.request("tasks/update", update).await,
                client.request("tasks/cancel", json!({"taskId": id})).await,
            ];
            for answer in refused {
                assert_eq!(code(&answer), -32021, "{case}: {answer}");
                let needed = &answer["error"]["data"]["requiredCapabilities"];
                assert_eq!(needed["extensions"][TASKS], json!({}), "{case}: {answer}");
            }
        }
        assert_eq!(get(&mut other, &id).await["status"], "working", "{case}");

        // What was declared on an earlier request of the connection does not count.
        let meta = json!({"io.modelcontextprotocol/clientCapabilities": {}});
        let params = json!({"name": "nap", "arguments": {"seconds": 1}, "_meta": meta});
        let answer = other.request("tools/call", params).await;
        assert_eq!(text(&answer), "slept", "{case}");
    }
}

// requirement: 020972d4260c 0ccdf9ba8303 1e2e1b5ce40b 5e45f843ab33 6207c05204fa b814eacc591c
// requirement: be35efef7f8c dcb3ffcca81e
#[tokio::test(start_paused = true)]
async fn a_task_ends_with_what_its_call_would_have_returned() {
    let server = server();
    for case in Case::modern() {
        let mut client = connect(case, &server).await;
        let mut plain = connect_able(case, &server, json!({})).await;
        for tool in ["fail", "nap", "panics"] {
            let arguments = arguments_of(tool);
            let expected = call(&mut plain, tool, arguments.clone()).await;
            let id = id_of(&create(&mut client, tool, arguments).await);
            let done = until(&mut client, &id, "completed").await;
            assert_eq!(done.get("error"), None, "{case}: {done}");
            let (found, expected) = (&done["result"], result(&expected));
            assert_eq!(found["isError"], expected["isError"], "{case}");
            assert_eq!(
                found["structuredContent"], expected["structuredContent"],
                "{case}"
            );
            if tool == "panics" {
                // The reference to the log differs.
                assert_eq!(found["isError"], true, "{case}");
            } else {
                assert_eq!(found["content"], expected["content"], "{case}");
            }
        }
        let expected = call(&mut plain, "broken", json!({})).await;
        let id = id_of(&create(&mut client, "broken", json!({})).await);
        let failed = until(&mut client, &id, "failed").await;
        assert_eq!(failed["error"], expected["error"], "{case}");
        assert_eq!(failed.get("result"), None, "{case}");
        let message = failed["statusMessage"].as_str().unwrap_or_default();
        assert!(message.contains("no such scene"), "{case}: {failed}");
    }
}

// requirement: 617b560f2d76 b4dcd1e280f3 f3d948a83dd8
#[tokio::test(start_paused = true)]
async fn a_cancelled_task_stops() {
    let server = server();
    for case in Case::modern() {
        let mut client = connect(case, &server).await;
        let cases = [
            ("nap", json!({"seconds": 30}), "working"),
            ("ask", json!({}), "input_required"),
        ];
        for (tool, arguments, status) in cases {
            let id = id_of(&create(&mut client, tool, arguments).await);
            until(&mut client, &id, status).await;
            for _ in 0..2 {
                // Also when it has ended.
                let answer = client.request("tasks/cancel", json!({"taskId": id})).await;
                assert_empty(&answer);
            }
            let cancelled = get(&mut client, &id).await;
            assert_eq!(cancelled["status"], "cancelled", "{case}");
            for name in ["result", "error", "inputRequests"] {
                assert_eq!(cancelled.get(name), None, "{case}: {name}");
            }
            client.wait(Duration::from_secs(60)).await;
            assert_eq!(get(&mut client, &id).await["status"], "cancelled", "{case}");
        }
        let id = id_of(&create(&mut client, "nap", json!({"seconds": 1})).await);
        until(&mut client, &id, "completed").await;
        let answer = client.request("tasks/cancel", json!({"taskId": id})).await;
        assert_empty(&answer);
        assert_eq!(get(&mut client, &id).await["status"], "completed", "{case}");
    }
}

/// Asserts that an answer acknowledges a request and says no more.
#[track_caller]
fn assert_empty(answer: &Value) {
    let result = result(answer).as_object().unwrap();
    assert_eq!(result["resultType"], "complete", "{answer}");
    let others = result
        .keys()
        .filter(|name| !["resultType", "_meta"].contains(&&***name));
    assert_eq!(others.count(), 0, "{answer}");
}

// requirement: 617b560f2d76 6f4bc6494af7
#[tokio::test(start_paused = true)]
async fn an_update_is_acknowledged_and_says_no_more() {
    let server = server();
    for case in Case::modern() {
        let mut client = connect(case, &server).await;
        let id = id_of(&create(&mut client, "ask", json!({})).await);
        until(&mut client, &id, "input_required").await;
        for answers in [
            json!({}),
            json!({"who": form_answer("Ada")}),
            json!({"who": form_answer("Bob")}),
        ] {
            assert_empty(&update(&mut client, &id, answers).await);
        }
        let done = until(&mut client, &id, "completed").await;
        assert_eq!(
            done["result"]["content"][0]["text"], "Hello, Ada!",
            "{case}"
        );
        // To a task that has ended.
        assert_empty(&update(&mut client, &id, json!({"who": form_answer("Bob")})).await);
        assert_eq!(get(&mut client, &id).await, done, "{case}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_core_s_ways_to_tasks_do_not_exist() {
    let server = server();
    for case in Case::modern() {
        let mut client = connect(case, &server).await;
        let discovered = client.request("server/discover", json!({})).await;
        let capabilities = &result(&discovered)["capabilities"];
        assert_eq!(capabilities["extensions"][TASKS], json!({}), "{case}");
        assert_eq!(capabilities.get("tasks"), None, "{case}");

        let id = id_of(&create(&mut client, "nap", json!({"seconds": 30})).await);
        for method in ["tasks/result", "tasks/list"] {
            let answer = client.request(method, json!({"taskId": id})).await;
            assert_eq!(code(&answer), -32601, "{case}: {method}");
        }
        let params = json!({"name": "plain", "arguments": {}, "task": {"ttl": 60_000}});
        let answer = client.request("tools/call", params.clone()).await;
        assert_eq!(text(&answer), "done", "{case}");
        let mut without = connect_able(case, &server, json!({})).await;
        let mut params = params;
        params["name"] = "nap".into();
        params["arguments"] = json!({"seconds": 1});
        let answer = without.request("tools/call", params).await;
        assert_eq!(text(&answer), "slept", "{case}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_quick_call_is_answered_and_a_slow_one_becomes_a_task() {
    let server = server();
    for case in Case::modern() {
        let mut client = connect(case, &server).await;
        let answer = call(&mut client, "later", json!({"seconds": 4})).await;
        assert_eq!(text(&answer), "slept", "{case}");
        let start = tokio::time::Instant::now();
        let id = id_of(&create(&mut client, "later", json!({"seconds": 20})).await);
        let waited = start.elapsed().as_secs_f64();
        assert!((4.9..5.5).contains(&waited), "{case}: {waited}");
        // The call goes on where it is; it does not begin again.
        client.wait(Duration::from_secs(16)).await;
        let done = get(&mut client, &id).await;
        assert_eq!(done["status"], "completed", "{case}");
    }
}

// requirement: f6a2cfe24574
#[tokio::test(start_paused = true)]
async fn questions_come_on_the_call_before_it_becomes_a_task() {
    let server = server();
    for case in Case::modern() {
        let mut client = connect(case, &server).await;
        let params = json!({"name": "choose", "arguments": {}});
        let required = client.request("tools/call", params.clone()).await;
        assert_eq!(result(&required)["resultType"], "input_required", "{case}");
        assert_eq!(required["result"].get("taskId"), None, "{case}");
        let again = retry(&params, &required["result"], |_| form_answer("Ada"));
        let answer = client.request("tools/call", again).await;
        let task = result(&answer);
        assert_eq!(task["resultType"], "task", "{case}");
        for name in ["requestState", "inputRequests"] {
            assert_eq!(task.get(name), None, "{case}: {name}");
        }
        let id = id_of(task);
        let done = until(&mut client, &id, "completed").await;
        assert_eq!(
            done["result"]["content"][0]["text"], "Hello, Ada!",
            "{case}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_task_is_forgotten_when_its_time_is_over() {
    let tasks = Tasks::new().ttl(Duration::from_secs(10));
    let server = builder(tasks).build().unwrap();
    for case in Case::modern() {
        let mut client = connect(case, &server).await;
        let done = create(&mut client, "nap", json!({"seconds": 1})).await;
        assert_eq!(done["ttlMs"], 10_000, "{case}");
        let done = id_of(&done);
        let running = id_of(&create(&mut client, "nap", json!({"seconds": 600})).await);
        client.wait(Duration::from_secs(8)).await;
        assert_eq!(
            get(&mut client, &done).await["status"],
            "completed",
            "{case}"
        );
        assert_eq!(
            get(&mut client, &running).await["status"],
            "working",
            "{case}"
        );
        client.wait(Duration::from_secs(4)).await;
        for id in [done, running] {
            let answer = client.request("tasks/get", json!({"taskId": id})).await;
            assert_eq!(code(&answer), -32602, "{case}");
        }
    }
}
