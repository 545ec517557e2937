//! Questions inside of a task of the extension: keys, answers and their order.

use std::collections::HashSet;
use std::time::Duration;

use serde_json::{Value, json};
use turnbuckle_it::harness::Case;

use super::servers::server;
use super::{connect, create, form_answer, get, id_of, until, update};
use crate::support::{code, connect_able, error_text, message, result};

/// Returns the keys of the questions that a task has.
fn keys(task: &Value) -> Vec<String> {
    let questions = task["inputRequests"].as_object();
    questions
        .into_iter()
        .flatten()
        .map(|(key, _)| key.clone())
        .collect()
}

// requirement: 7802255df651 c560ef68b1e4
#[tokio::test(start_paused = true)]
async fn a_task_shows_every_question_that_waits() {
    let server = server();
    for case in Case::modern() {
        let mut client = connect(case, &server).await;
        let id = id_of(&create(&mut client, "both", json!({})).await);
        let task = until(&mut client, &id, "input_required").await;
        assert_eq!(keys(&task), ["first", "second"], "{case}");
        for question in task["inputRequests"].as_object().unwrap().values() {
            assert_eq!(question["method"], "elicitation/create", "{case}");
            assert!(question["params"]["requestedSchema"].is_object(), "{case}");
        }
        // Again, as long as they wait.
        assert_eq!(
            get(&mut client, &id).await["inputRequests"],
            task["inputRequests"],
            "{case}"
        );

        update(&mut client, &id, json!({"second": form_answer("Bob")})).await;
        let task = get(&mut client, &id).await;
        assert_eq!(task["status"], "input_required", "{case}");
        assert_eq!(keys(&task), ["first"], "{case}");
        update(&mut client, &id, json!({"first": form_answer("Ada")})).await;
        let done = until(&mut client, &id, "completed").await;
        assert_eq!(
            done["result"]["content"][0]["text"], "Ada and Bob",
            "{case}"
        );
        assert_eq!(done.get("inputRequests"), None, "{case}");
    }
}

// requirement: 0bcb40bca16a 0cd7a2c387c0
#[tokio::test(start_paused = true)]
async fn a_key_belongs_to_one_question() {
    let server = server();
    for case in Case::modern() {
        let mut client = connect(case, &server).await;
        let id = id_of(&create(&mut client, "again", json!({})).await);
        let mut used = HashSet::new();
        for name in ["Ada", "Bob", "Cy"] {
            let task = until(&mut client, &id, "input_required").await;
            let [key] = &keys(&task)[..] else {
                panic!("{case}: {task}");
            };
            assert!(used.insert(key.clone()), "{case}: {key} came twice");
            update(&mut client, &id, json!({key: form_answer(name)})).await;
            client.settle().await;
        }
        let done = until(&mut client, &id, "completed").await;
        assert_eq!(
            done["result"]["content"][0]["text"], "Ada, Bob, Cy",
            "{case}"
        );
    }
}

// requirement: b054eaacff25
#[tokio::test(start_paused = true)]
async fn answers_to_questions_that_do_not_wait_are_ignored() {
    let server = server();
    for case in Case::modern() {
        let mut client = connect(case, &server).await;
        let id = id_of(&create(&mut client, "again", json!({})).await);
        let first = until(&mut client, &id, "input_required").await;
        let first = keys(&first).remove(0);
        let others = json!({"never": form_answer("Eve"), "first": 5, "": null});
        assert_eq!(
            result(&update(&mut client, &id, others).await)["resultType"],
            "complete"
        );
        assert_eq!(
            keys(&get(&mut client, &id).await),
            std::slice::from_ref(&first),
            "{case}"
        );

        update(&mut client, &id, json!({&first: form_answer("Ada")})).await;
        client.settle().await;
        let task = until(&mut client, &id, "input_required").await;
        let second = keys(&task).remove(0);
        // That one is answered; and an answer to nothing comes along with the right one.
        update(&mut client, &id, json!({&first: form_answer("Eve")})).await;
        assert_eq!(
            keys(&get(&mut client, &id).await),
            std::slice::from_ref(&second),
            "{case}"
        );
        update(
            &mut client,
            &id,
            json!({&first: form_answer("Eve"), &second: form_answer("Bob")}),
        )
        .await;
        client.settle().await;
        let task = until(&mut client, &id, "input_required").await;
        let third = keys(&task).remove(0);
        update(&mut client, &id, json!({third: form_answer("Cy")})).await;
        let done = until(&mut client, &id, "completed").await;
        assert_eq!(
            done["result"]["content"][0]["text"], "Ada, Bob, Cy",
            "{case}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_malformed_answer_is_refused_and_the_task_waits_on() {
    let server = server();
    for case in Case::modern() {
        let mut client = connect(case, &server).await;
        let id = id_of(&create(&mut client, "both", json!({})).await);
        let before = until(&mut client, &id, "input_required").await;
        for answer in [
            json!(5),
            json!(null),
            json!({"action": "perhaps"}),
            json!([]),
        ] {
            // Nothing of such an update counts, also not its good answer.
            let answers = json!({"first": form_answer("Ada"), "second": answer});
            let answer = update(&mut client, &id, answers).await;
            assert_eq!(code(&answer), -32602, "{case}");
            assert!(message(&answer).contains("second"), "{case}: {answer}");
            let task = get(&mut client, &id).await;
            assert_eq!(task["inputRequests"], before["inputRequests"], "{case}");
        }
        for params in [
            json!({"taskId": id}),
            json!({"taskId": id, "inputResponses": []}),
        ] {
            let answer = client.request("tasks/update", params).await;
            assert_eq!(code(&answer), -32602, "{case}");
        }
        assert_eq!(
            get(&mut client, &id).await["status"],
            "input_required",
            "{case}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_user_who_declines_ends_the_question_like_on_a_call() {
    let server = server();
    for case in Case::modern() {
        let mut client = connect(case, &server).await;
        let id = id_of(&create(&mut client, "ask", json!({})).await);
        until(&mut client, &id, "input_required").await;
        update(&mut client, &id, json!({"who": {"action": "decline"}})).await;
        let done = until(&mut client, &id, "completed").await;
        assert_eq!(done["result"]["isError"], true, "{case}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_task_that_waits_is_not_asked_what_its_client_cannot_answer() {
    let server = server();
    for case in Case::modern() {
        let capabilities = json!({"extensions": {super::TASKS: {}}});
        let mut client = connect_able(case, &server, capabilities).await;
        let id = id_of(&create(&mut client, "ask", json!({})).await);
        client.wait(Duration::from_secs(1)).await;
        let task = get(&mut client, &id).await;
        assert_ne!(task["status"], "input_required", "{case}");
        let ended = json!({"result": task["result"]});
        match task["status"].as_str() {
            Some("completed") => assert!(!error_text(&ended).is_empty(), "{case}"),
            _ => assert_eq!(task["status"], "failed", "{case}: {task}"),
        }
    }
}
