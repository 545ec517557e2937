//! Questions inside of a task of 2025-11-25: requests of the server that name the task.

use std::time::Duration;

use serde_json::{Value, json};
use turnbuckle_it::harness::Client;

use super::servers::server;
use super::{connect, connect_as, core_cases, create, form_answer, get, id_of, until};
use crate::support::{connect_able, text};

/// The key that names the task of a message.
const RELATED: &str = "io.modelcontextprotocol/related-task";

/// Returns the next question that the server asks.
async fn question(client: &mut Client) -> Value {
    client.next_of("elicitation/create").await
}

// requirement: 270a8ed0e672 5c085f053e5c 6347c094e3c7 72d85daca029 a32e01d9e1bf b7313b4a4a93
// requirement: d1991bcce4f6
#[tokio::test(start_paused = true)]
async fn whoever_waits_for_the_result_is_asked_in_the_name_of_the_task() {
    let server = server();
    for case in core_cases() {
        let mut client = connect(case, &server).await;
        let id = id_of(&create(&mut client, "ask", json!({})).await);
        until(&mut client, &id, "input_required").await;
        let waiting = client.start("tasks/result", json!({"taskId": id})).await;
        let asked = question(&mut client).await;
        assert_eq!(
            asked["params"]["_meta"][RELATED],
            json!({"taskId": id}),
            "{case}"
        );
        assert_eq!(
            get(&mut client, &id).await["status"],
            "input_required",
            "{case}"
        );
        client.answer(&asked["id"], form_answer("Ada")).await;
        client.settle().await;
        assert_eq!(get(&mut client, &id).await["status"], "working", "{case}");
        let answer = client.response(waiting).await;
        assert_eq!(text(&answer), "Hello, Ada!", "{case}");
        assert_eq!(
            answer["result"]["_meta"][RELATED],
            json!({"taskId": id}),
            "{case}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn questions_that_follow_each_other_are_asked_on_one_wait() {
    let server = server();
    for case in core_cases() {
        let mut client = connect(case, &server).await;
        let id = id_of(&create(&mut client, "again", json!({})).await);
        let waiting = client.start("tasks/result", json!({"taskId": id})).await;
        for name in ["Ada", "Bob", "Cy"] {
            let asked = question(&mut client).await;
            assert_eq!(
                asked["params"]["_meta"][RELATED],
                json!({"taskId": id}),
                "{case}"
            );
            client.answer(&asked["id"], form_answer(name)).await;
        }
        assert_eq!(
            text(&client.response(waiting).await),
            "Ada, Bob, Cy",
            "{case}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn two_that_wait_are_not_asked_the_same() {
    let server = server();
    for case in core_cases() {
        let mut first = connect_as(case, &server, "ada").await;
        let mut second = connect_as(case, &server, "ada").await;
        let id = id_of(&create(&mut first, "ask", json!({})).await);
        until(&mut first, &id, "input_required").await;
        let params = json!({"taskId": id});
        let waiting = [
            first.start("tasks/result", params.clone()).await,
            second.start("tasks/result", params).await,
        ];
        let asked = question(&mut first).await;
        second.wait(Duration::from_secs(1)).await;
        let others = second.received_messages().iter();
        let others = others.filter(|it| it["method"] == "elicitation/create");
        assert_eq!(others.count(), 0, "{case}");
        first.answer(&asked["id"], form_answer("Ada")).await;
        assert_eq!(
            text(&first.response(waiting[0]).await),
            "Hello, Ada!",
            "{case}"
        );
        assert_eq!(
            text(&second.response(waiting[1]).await),
            "Hello, Ada!",
            "{case}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_question_outlives_the_one_who_was_asked() {
    let server = server();
    for case in core_cases() {
        let mut first = connect_as(case, &server, "ada").await;
        let id = id_of(&create(&mut first, "ask", json!({})).await);
        until(&mut first, &id, "input_required").await;
        first.start("tasks/result", json!({"taskId": id})).await;
        question(&mut first).await;
        drop(first);
        tokio::time::sleep(Duration::from_secs(1)).await;
        let mut second = connect_as(case, &server, "ada").await;
        assert_eq!(
            get(&mut second, &id).await["status"],
            "input_required",
            "{case}"
        );
        let waiting = second.start("tasks/result", json!({"taskId": id})).await;
        let asked = question(&mut second).await;
        second.answer(&asked["id"], form_answer("Bob")).await;
        assert_eq!(
            text(&second.response(waiting).await),
            "Hello, Bob!",
            "{case}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_without_the_capability_is_not_asked() {
    let server = server();
    for case in core_cases() {
        let mut client = connect_able(case, &server, json!({})).await;
        let id = id_of(&create(&mut client, "ask", json!({})).await);
        let answer = client.request("tasks/result", json!({"taskId": id})).await;
        let failed = answer["error"].is_object() || answer["result"]["isError"] == true;
        assert!(failed, "{case}: {answer}");
        assert_eq!(get(&mut client, &id).await["status"], "failed", "{case}");
    }
}
