//! Access to tasks of 2025-11-25: lists, identities, errors and bounds.

use std::collections::HashSet;
use std::time::Duration;

use serde_json::{Value, json};
use turnbuckle_it::harness::{Client, ClientOptions};
use turnbuckle_server::Tasks;
use turnbuckle_session::handler::{Limits, Rate};

use super::servers::{builder, server};
use super::{connect, connect_as, core_cases, create, get, id_of, task_cases, until};
use crate::support::{call, code, message, result};

/// Lists tasks over all pages; returns their ids and the number of pages.
async fn list(client: &mut Client) -> (Vec<String>, usize) {
    let (mut ids, mut pages, mut params) = (Vec::new(), 0, json!({}));
    loop {
        let answer = client.request("tasks/list", params).await;
        let page = result(&answer);
        ids.extend(page["tasks"].as_array().unwrap().iter().map(id_of));
        pages += 1;
        match page.get("nextCursor") {
            Some(cursor) => params = json!({"cursor": cursor}),
            None => return (ids, pages),
        }
        assert!(pages < 100, "the list has no end");
    }
}

/// Sends each request that names a task; returns the answers.
async fn all_requests(client: &mut Client, id: &Value) -> [Value; 3] {
    let params = json!({"taskId": id});
    [
        client.request("tasks/get", params.clone()).await,
        client.request("tasks/result", params.clone()).await,
        client.request("tasks/cancel", params).await,
    ]
}

// requirement: 13d933dc35c5 24fdee6414fd 42ca60916265 574ecc101a54
#[tokio::test(start_paused = true)]
async fn a_list_has_the_own_tasks_in_pages() {
    let tasks = Tasks::new().list(true).max_per_principal(200);
    let server = builder(tasks).build().unwrap();
    for case in core_cases() {
        let mut ada = connect_as(case, &server, &format!("ada {case}")).await;
        let mut bob = connect_as(case, &server, &format!("bob {case}")).await;
        assert_eq!(list(&mut ada).await, (Vec::new(), 1), "{case}");
        let mut expected = HashSet::new();
        for n in 0..120 {
            let seconds = if n % 2 == 0 { 1 } else { 30 };
            expected.insert(id_of(
                &create(&mut ada, "nap", json!({"seconds": seconds})).await,
            ));
        }
        let own = id_of(&create(&mut bob, "nap", json!({"seconds": 30})).await);
        ada.wait(Duration::from_secs(2)).await;
        let (ids, pages) = list(&mut ada).await;
        assert_eq!(ids.len(), expected.len(), "{case}");
        assert_eq!(
            ids.iter().cloned().collect::<HashSet<_>>(),
            expected,
            "{case}"
        );
        assert!(pages > 1, "{case}");
        assert_eq!(list(&mut bob).await.0, [own], "{case}");
        // What cannot be got any more is not listed.
        ada.wait(Duration::from_secs(601)).await;
        assert_eq!(list(&mut ada).await.0, [""; 0], "{case}");
    }
}

// requirement: 8f67f4302c19
#[tokio::test(start_paused = true)]
async fn a_cursor_that_was_not_given_is_32602() {
    let server = server();
    for case in core_cases() {
        let mut client = connect_as(case, &server, "ada").await;
        for cursor in [json!(""), json!("5"), json!("x".repeat(5_000)), json!(5)] {
            let answer = client
                .request("tasks/list", json!({"cursor": cursor}))
                .await;
            assert_eq!(code(&answer), -32602, "{case}: {cursor}");
        }
    }
}

// requirement: a26f0782311c
#[tokio::test(start_paused = true)]
async fn without_the_setting_no_list_is_offered() {
    let server = builder(Tasks::new()).build().unwrap();
    for case in core_cases() {
        let mut client = connect_as(case, &server, "ada").await;
        let declared = &client.handshake().unwrap()["capabilities"]["tasks"];
        assert_eq!(
            *declared,
            json!({"cancel": {}, "requests": {"tools": {"call": {}}}}),
            "{case}"
        );
        create(&mut client, "nap", json!({"seconds": 1})).await;
        let answer = client.request("tasks/list", json!({})).await;
        assert_eq!(code(&answer), -32601, "{case}");
    }
}

#[tokio::test(start_paused = true)]
async fn nobody_without_a_principal_gets_a_list() {
    let server = server();
    for case in core_cases() {
        let mut client = connect(case, &server).await;
        create(&mut client, "nap", json!({"seconds": 30})).await;
        let answer = client.request("tasks/list", json!({})).await;
        let is_empty = answer["result"]["tasks"] == json!([]);
        assert!(is_empty || answer["error"].is_object(), "{case}: {answer}");
    }
}

// requirement: 78f0824a713e a2ea1c0f5281
#[tokio::test(start_paused = true)]
async fn a_task_belongs_to_the_principal_that_made_the_call() {
    let server = server();
    for case in core_cases() {
        let mut ada = connect_as(case, &server, "ada").await;
        let id = id_of(&create(&mut ada, "nap", json!({"seconds": 30})).await);
        for mut other in [
            connect_as(case, &server, "eve").await,
            connect(case, &server).await,
        ] {
            for answer in all_requests(&mut other, &json!(id)).await {
                assert_eq!(code(&answer), -32602, "{case}: {answer}");
            }
        }
        assert_eq!(get(&mut ada, &id).await["status"], "working", "{case}");
        let mut again = connect_as(case, &server, "ada").await;
        assert_eq!(get(&mut again, &id).await["status"], "working", "{case}");
    }
}

// requirement: 2d108f08d702 5deed46d384d
#[tokio::test(start_paused = true)]
async fn an_unknown_task_is_32602() {
    let server = server();
    for case in core_cases() {
        let mut client = connect(case, &server).await;
        let known = id_of(&create(&mut client, "nap", json!({"seconds": 30})).await);
        let other: String = known.chars().rev().collect();
        let huge = "x".repeat(100_000);
        for id in [
            json!(other),
            json!("unknown"),
            json!(""),
            json!(huge),
            json!(5),
            json!(null),
        ] {
            for answer in all_requests(&mut client, &id).await {
                assert_eq!(code(&answer), -32602, "{case}");
                assert!(answer.to_string().len() < 1_000, "{case}");
                if id.is_string() {
                    assert!(message(&answer).contains("no task"), "{case}: {answer}");
                }
            }
        }
    }
}

// requirement: 6c69d5f57782
#[tokio::test(start_paused = true)]
async fn ids_of_tasks_cannot_be_guessed() {
    let tasks = Tasks::new().max_per_principal(200);
    let server = builder(tasks).build().unwrap();
    let mut client = connect(core_cases()[0], &server).await;
    let mut ids = Vec::new();
    for _ in 0..100 {
        ids.push(id_of(
            &create(&mut client, "nap", json!({"seconds": 1})).await,
        ));
    }
    super::assert_unguessable(&ids);
}

// requirement: 4c46700e3065
#[tokio::test(start_paused = true)]
async fn a_principal_has_a_bounded_number_of_tasks() {
    let server = builder(Tasks::new().max_per_principal(2)).build().unwrap();
    for case in core_cases() {
        let mut ada = connect_as(case, &server, &format!("ada {case}")).await;
        create(&mut ada, "nap", json!({"seconds": 600})).await;
        let id = id_of(&create(&mut ada, "nap", json!({"seconds": 600})).await);
        let params = json!({"name": "nap", "arguments": {"seconds": 1}, "task": {}});
        let refused = ada.request("tools/call", params).await;
        let shown = refused.to_string();
        assert!(
            shown.contains("Tasks::max_per_principal"),
            "{case}: {shown}"
        );
        // A plain call is none.
        call(&mut ada, "nap", json!({"seconds": 1})).await;
        ada.request("tasks/cancel", json!({"taskId": id})).await;
        let id = id_of(&create(&mut ada, "nap", json!({"seconds": 1})).await);
        until(&mut ada, &id, "completed").await;
    }
}

// requirement: 460e5779fb36
#[tokio::test(start_paused = true)]
async fn requests_about_tasks_count_for_the_rate() {
    let server = server();
    for case in task_cases() {
        let capabilities = match case.is_modern() {
            true => super::with_tasks(),
            false => super::with_questions(),
        };
        let limits = Limits::new().call_rate(Rate::per_second(10).burst(3));
        let options = ClientOptions::new()
            .capabilities(capabilities)
            .limits(limits);
        let mut client = Client::connect_with(case, &server, options).await;
        let id = id_of(&create(&mut client, "nap", json!({"seconds": 60})).await);
        let mut refused = 0;
        for n in 0..5 {
            let method = ["tasks/get", "tasks/cancel"][n % 2];
            let answer = client.request(method, json!({"taskId": id})).await;
            refused += usize::from(answer.to_string().contains("Limits::call_rate"));
        }
        assert_eq!(refused, 3, "{case}");
    }
}
