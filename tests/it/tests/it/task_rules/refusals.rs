//! Tasks of the extension that a caller does not get: unknown, expired, of others, too many.

use std::time::Duration;

use serde_json::{Value, json};
use turnbuckle_it::harness::{Bind, Case, Client};
use turnbuckle_it::web::Web;
use turnbuckle_server::Tasks;

use super::servers::{builder, server};
use super::{connect, connect_as, create, get, id_of, until, with_tasks};
use crate::support::{call, code, message, result};

/// Sends each request that names a task; returns the answers.
async fn all_requests(client: &mut Client, id: &Value) -> [Value; 3] {
    let update = json!({"taskId": id, "inputResponses": {}});
    [
        client.request("tasks/get", json!({"taskId": id})).await,
        client.request("tasks/update", update).await,
        client.request("tasks/cancel", json!({"taskId": id})).await,
    ]
}

// requirement: 29ad9de2d23f 600e0129ee8f a14776da5a87 c3019145f9e8 d9a4f0a1a5f0
#[tokio::test(start_paused = true)]
async fn an_unknown_task_is_32602() {
    let server = server();
    for case in Case::modern() {
        let mut client = connect(case, &server).await;
        let known = id_of(&create(&mut client, "nap", json!({"seconds": 60})).await);
        let other = known.chars().rev().collect::<String>();
        let short = &known[1..];
        for id in ["", "unknown", "../../etc", "\u{0}", "🦀", &other, short] {
            for answer in all_requests(&mut client, &json!(id)).await {
                assert_eq!(code(&answer), -32602, "{case}: {id:?}: {answer}");
                let shown = message(&answer);
                assert!(shown.contains("no task"), "{case}: {shown}");
            }
        }
        assert_eq!(
            get(&mut client, &known).await["status"],
            "working",
            "{case}"
        );
    }
}

// requirement: d9a4f0a1a5f0
#[tokio::test(start_paused = true)]
async fn a_huge_or_malformed_id_is_32602_and_not_repeated() {
    let server = server();
    // Over HTTP the id is in a header as well, which is bounded before.
    for case in Case::duplex(Case::modern()) {
        let mut client = connect(case, &server).await;
        let huge = "x".repeat(100_000);
        for id in [json!(huge), json!(5), json!(null), json!({}), json!([huge])] {
            for answer in all_requests(&mut client, &id).await {
                assert_eq!(code(&answer), -32602, "{case}");
                assert!(answer.to_string().len() < 1000, "{case}");
            }
        }
        for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
            let answer = client.request(method, json!({})).await;
            assert_eq!(code(&answer), -32602, "{case}");
        }
    }
}

// requirement: 5b4fc2fcec1a
#[tokio::test(start_paused = true)]
async fn a_task_belongs_to_the_principal_that_made_the_call() {
    let server = server();
    for case in Case::modern() {
        let mut ada = connect_as(case, &server, "ada").await;
        let id = id_of(&create(&mut ada, "ask", json!({})).await);
        let before = until(&mut ada, &id, "input_required").await;
        let mut unknown = Vec::new();
        for mut other in [
            connect_as(case, &server, "eve").await,
            connect(case, &server).await,
        ] {
            for answer in all_requests(&mut other, &json!(id)).await {
                assert_eq!(code(&answer), -32602, "{case}: {answer}");
                unknown.push(message(&answer).replace(&id, "ID"));
            }
            // An id that nobody has is refused with the same words.
            for answer in all_requests(&mut other, &json!("f".repeat(id.len()))).await {
                unknown.push(message(&answer).replace(&"f".repeat(id.len()), "ID"));
            }
        }
        unknown.dedup();
        assert_eq!(unknown.len(), 1, "{case}: {unknown:?}");
        assert_eq!(get(&mut ada, &id).await, before, "{case}");
        // The same principal on another connection.
        let mut again = connect_as(case, &server, "ada").await;
        assert_eq!(get(&mut again, &id).await, before, "{case}");
    }
}

// requirement: 0b587f15403d
#[tokio::test(start_paused = true)]
async fn ids_of_tasks_cannot_be_guessed() {
    let tasks = Tasks::new().max_per_principal(200);
    let server = builder(tasks).build().unwrap();
    let case = Case::modern()[0];
    let mut client = connect(case, &server).await;
    let mut ids = Vec::new();
    for _ in 0..100 {
        ids.push(id_of(
            &create(&mut client, "nap", json!({"seconds": 1})).await,
        ));
    }
    super::assert_unguessable(&ids);
}

#[tokio::test(start_paused = true)]
async fn a_principal_has_a_bounded_number_of_tasks() {
    let tasks = Tasks::new().max_per_principal(3);
    let server = builder(tasks).build().unwrap();
    for case in Case::modern() {
        let mut ada = connect_as(case, &server, "ada").await;
        let mut ids = Vec::new();
        for _ in 0..3 {
            ids.push(id_of(
                &create(&mut ada, "nap", json!({"seconds": 600})).await,
            ));
        }
        let refused = call(&mut ada, "nap", json!({"seconds": 1})).await;
        assert!(
            refused.to_string().contains("Tasks::max_per_principal"),
            "{case}: {refused}"
        );
        // Others are not affected.
        let mut bob = connect_as(case, &server, "bob").await;
        let other = id_of(&create(&mut bob, "nap", json!({"seconds": 1})).await);
        until(&mut bob, &other, "completed").await;
        // An ended task makes room.
        for id in ids {
            ada.request("tasks/cancel", json!({"taskId": id})).await;
        }
        let id = id_of(&create(&mut ada, "nap", json!({"seconds": 1})).await);
        until(&mut ada, &id, "completed").await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_result_over_the_bound_fails_by_the_name_of_the_setting() {
    let tasks = Tasks::new().result_bytes(40);
    let server = builder(tasks).build().unwrap();
    for case in Case::modern() {
        let mut client = connect(case, &server).await;
        let id = id_of(&create(&mut client, "nap", json!({"seconds": 1})).await);
        let failed = until(&mut client, &id, "failed").await;
        assert_eq!(failed["error"]["code"], -32603, "{case}");
        assert!(
            failed.to_string().contains("Tasks::result_bytes"),
            "{case}: {failed}"
        );
    }
}

// requirement: 17ed6f9f1109
#[tokio::test(start_paused = true)]
async fn giving_up_the_request_does_not_cancel_the_task() {
    let server = server();
    for case in Case::duplex(Case::modern()) {
        let mut client = connect(case, &server).await;
        let params = json!({"name": "nap", "arguments": {"seconds": 5}});
        let request = client.start("tools/call", params).await;
        let id = id_of(result(&client.response(request).await));
        for request in [json!(request), json!(id)] {
            let params = json!({"requestId": request});
            client.notify("notifications/cancelled", params).await;
        }
        until(&mut client, &id, "completed").await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_header_that_names_another_task_is_refused() {
    let server = server();
    let case = Case::modern()
        .into_iter()
        .find(|case| case.binding == Bind::Http);
    let mut client = connect(case.unwrap(), &server).await;
    let id = id_of(&create(&mut client, "nap", json!({"seconds": 30})).await);
    let web = Web::new(&server);
    let meta = json!({"io.modelcontextprotocol/clientCapabilities": with_tasks()});
    for (method, params) in [
        ("tasks/get", json!({"taskId": id})),
        ("tasks/update", json!({"taskId": id, "inputResponses": {}})),
        ("tasks/cancel", json!({"taskId": id})),
    ] {
        let mut params = params;
        params["_meta"] = meta.clone();
        for name in [None, Some("another"), Some("")] {
            let ask = web.modern(method, params.clone());
            let ask = match name {
                None => ask.without("Mcp-Name"),
                Some(name) => ask.without("Mcp-Name").header("Mcp-Name", name),
            };
            let (status, answer) = ask.json().await;
            assert_eq!((status, code(&answer)), (400, -32020), "{method}: {name:?}");
        }
    }
    client.wait(Duration::from_secs(1)).await;
    assert_eq!(get(&mut client, &id).await["status"], "working");
}
