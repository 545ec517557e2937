//! Tasks on a store that fails, and the traces of tasks in the log.

use std::time::Duration;

use serde_json::json;
use turnbuckle_it::faulty_store::{Fault, FaultyStore};
use turnbuckle_server::{KeyRing, SecretKey, Tasks};
use turnbuckle_store::StoreErrorKind;

use super::servers::builder;
use super::{connect, connect_as, create, get, id_of, task_cases, until};
use crate::support::{code, text};
use crate::traced::Traced;

/// The fault of a store that is gone.
const GONE: Fault = Fault::Error(StoreErrorKind::Unavailable);

// requirement: 079ffc6c3646 3146cd451f80
#[tokio::test(start_paused = true)]
async fn a_store_that_fails_is_32603() {
    for case in task_cases() {
        let store = FaultyStore::default();
        let keys = KeyRing::new(SecretKey::from_bytes([7; 32]));
        let server = builder(Tasks::new()).store(store.clone()).keys(keys);
        let server = server.build().unwrap();
        let mut client = connect(case, &server).await;
        let id = id_of(&create(&mut client, "nap", json!({"seconds": 20})).await);

        store.fail("", GONE);
        for method in ["tasks/get", "tasks/cancel"] {
            let answer = client.request(method, json!({"taskId": id})).await;
            assert_eq!(code(&answer), -32603, "{case}: {method}");
            // What the engine says is for the log.
            assert!(!answer.to_string().contains("engine"), "{case}: {answer}");
        }
        let mut params = json!({"name": "nap", "arguments": {"seconds": 1}});
        if case.is_legacy() {
            params["task"] = json!({});
        }
        let answer = client.request("tools/call", params).await;
        match case.is_legacy() {
            true => assert_eq!(code(&answer), -32603, "{case}: {answer}"),
            // Nobody asked for a task: the call runs in its request.
            false => assert_eq!(text(&answer), "slept", "{case}: {answer}"),
        }

        store.heal();
        // After so many failures the store is left alone for a second.
        client.wait(Duration::from_secs(2)).await;
        until(&mut client, &id, "completed").await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_store_that_comes_back_in_time_keeps_the_result() {
    for case in task_cases() {
        let store = FaultyStore::default();
        let keys = KeyRing::new(SecretKey::from_bytes([7; 32]));
        let server = builder(Tasks::new()).store(store.clone()).keys(keys);
        let server = server.build().unwrap();
        let mut client = connect(case, &server).await;
        let id = id_of(&create(&mut client, "nap", json!({"seconds": 5})).await);
        client.wait(Duration::from_secs(4)).await;
        // The tool ends while the store is gone.
        store.fail("", GONE);
        client.wait(Duration::from_secs(3)).await;
        store.heal();
        client.wait(Duration::from_secs(60)).await;
        assert_eq!(get(&mut client, &id).await["status"], "completed", "{case}");
    }
}

// requirement: a787768d0ce6
#[tokio::test(start_paused = true)]
async fn the_log_tells_of_creations_ends_and_requests() {
    let server = builder(Tasks::new()).build().unwrap();
    for case in task_cases() {
        let traced = Traced::start();
        let mut client = connect_as(case, &server, "ada").await;
        let id = id_of(&create(&mut client, "nap", json!({"seconds": 2})).await);
        until(&mut client, &id, "completed").await;
        assert_eq!(traced.with("a call became a task").len(), 1, "{case}");
        assert_eq!(traced.with("a task has ended").len(), 1, "{case}");
        let requests = traced.spans("request").concat();
        assert!(requests.contains("tasks/get"), "{case}: {requests}");
        // The id may be all that is needed to read the task.
        assert_eq!(traced.with(&id), [""; 0], "{case}");
    }
}
