//! Notices of tasks of the extension.

use std::time::Duration;

use serde_json::{Value, json};
use turnbuckle_it::harness::{Case, Client, ClientOptions};

use super::servers::server;
use super::{
    TASKS, connect, connect_as, create, form_answer, get, id_of, until, update, with_tasks,
};
use crate::support::{code, connect_able};

async fn listen(client: &mut Client, ids: &[&str]) -> Value {
    let params = json!({"notifications": {"taskIds": ids}});
    client.start("subscriptions/listen", params).await;
    client
        .next_of("notifications/subscriptions/acknowledged")
        .await
}

// requirement: 491b17f861ba 6bfa6a9c6d3b
#[tokio::test(start_paused = true)]
async fn a_client_that_does_not_declare_tasks_cannot_listen_to_them() {
    let server = server();
    for case in Case::modern() {
        let mut other = connect(case, &server).await;
        let id = id_of(&create(&mut other, "nap", json!({"seconds": 30})).await);
        let mut client = connect_able(case, &server, json!({})).await;
        let params = json!({"notifications": {"taskIds": [id], "toolsListChanged": true}});
        let answer = client.request("subscriptions/listen", params).await;
        assert_eq!(code(&answer), -32021, "{case}");
        let needed = &answer["error"]["data"]["requiredCapabilities"];
        assert_eq!(needed["extensions"][TASKS], json!({}), "{case}: {answer}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_subscriber_gets_each_state_as_tasks_get_shows_it() {
    let server = server();
    for case in Case::modern() {
        let mut client = connect(case, &server).await;
        let id = id_of(&create(&mut client, "ask", json!({})).await);
        until(&mut client, &id, "input_required").await;
        let mut listener = connect(case, &server).await;
        let acknowledged = listen(&mut listener, &[&id, "unknown"]).await;
        let accepted = &acknowledged["params"]["notifications"]["taskIds"];
        assert_eq!(*accepted, json!([id]), "{case}");

        update(&mut client, &id, json!({"who": form_answer("Ada")})).await;
        let notice = listener.next_of("notifications/tasks").await;
        assert_eq!(notice["params"]["status"], "working", "{case}");
        assert_eq!(notice["params"]["taskId"], id, "{case}");
        let done = until(&mut client, &id, "completed").await;
        let last = loop {
            let notice = listener.next_of("notifications/tasks").await;
            if notice["params"]["status"] == "completed" {
                break notice;
            }
        };
        for (name, value) in done.as_object().unwrap() {
            if !["_meta", "resultType"].contains(&name.as_str()) {
                assert_eq!(last["params"][name], *value, "{case}: {name}");
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn nobody_listens_to_tasks_of_others() {
    let server = server();
    for case in Case::modern() {
        let mut ada = connect_as(case, &server, "ada").await;
        let id = id_of(&create(&mut ada, "nap", json!({"seconds": 3})).await);
        let mut eve = connect_as(case, &server, "eve").await;
        let acknowledged = listen(&mut eve, &[&id]).await;
        let accepted = &acknowledged["params"]["notifications"]["taskIds"];
        assert!(
            accepted.is_null() || *accepted == json!([]),
            "{case}: {acknowledged}"
        );
        until(&mut ada, &id, "completed").await;
        eve.wait(Duration::from_secs(1)).await;
        let told = eve.received_messages().iter();
        let told = told.filter(|message| message["method"] == "notifications/tasks");
        assert_eq!(told.count(), 0, "{case}");
    }
}

// requirement: 5ffbadd6d07e
#[tokio::test(start_paused = true)]
async fn a_task_sends_no_progress_and_no_log_messages() {
    let server = server();
    for case in Case::modern() {
        let options = ClientOptions::new()
            .capabilities(with_tasks())
            .log_level("debug")
            .progress_tokens();
        let mut client = Client::connect_with(case, &server, options).await;
        let id = id_of(&create(&mut client, "paint", json!({})).await);
        listen(&mut client, &[&id]).await;
        client.wait(Duration::from_millis(1500)).await;
        // The message of the last report is the one of the status.
        let task = get(&mut client, &id).await;
        assert_eq!(task["statusMessage"], "frame 2 is done", "{case}");
        until(&mut client, &id, "completed").await;
        client.wait(Duration::from_secs(1)).await;
        let methods = client.received_messages().iter();
        let mut methods: Vec<_> = methods.filter_map(|it| it["method"].as_str()).collect();
        methods.sort_unstable();
        methods.dedup();
        assert_eq!(
            methods,
            [
                "notifications/subscriptions/acknowledged",
                "notifications/tasks"
            ],
            "{case}"
        );
    }
}
