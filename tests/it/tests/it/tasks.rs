//! Tasks are a matter of peers that have them: we ask for none, and promise none.

use serde_json::{Value, json};
use turnbuckle_it::harness::{Case, Client};

use crate::asking::{self, KINDS, good_answer, requests};
use crate::support::{Question, able, call, connect_able, converse, text};

// requirement: d408445369e7
#[tokio::test(start_paused = true)]
async fn task_metadata_is_ignored() {
    let server = crate::servers::echo();
    for case in Case::all() {
        let mut client = Client::connect(case, &server).await;
        let declared = match client.handshake() {
            Some(handshake) => handshake["capabilities"].clone(),
            None => {
                client.request("server/discover", json!({})).await["result"]["capabilities"].take()
            }
        };
        assert_eq!(declared.get("tasks"), None, "{case}");
        let plain = call(&mut client, "echo", json!({"text": "hello"})).await;
        for task in [
            json!({"ttl": 60_000}),
            json!({}),
            json!({"ttl": "x"}),
            json!(5),
        ] {
            let params = json!({"name": "echo", "arguments": {"text": "hello"}, "task": task});
            let answer = client.request("tools/call", params).await;
            assert_eq!(text(&answer), "hello", "{case}");
            assert_eq!(answer["result"], plain["result"], "{case} {task}");
        }
    }
}

// requirement: 2a4208f29240 5868e2745716
#[tokio::test(start_paused = true)]
async fn own_requests_never_ask_for_a_task() {
    let server = asking::server();
    for case in Case::legacy() {
        let mut declared = able(case.revision);
        declared["tasks"] = json!({
            "list": {}, "cancel": {},
            "requests": {"sampling": {"createMessage": {}}, "elicitation": {"create": {}}},
        });
        for declared in [declared, able(case.revision)] {
            let mut client = connect_able(case, &server, declared).await;
            for kind in KINDS {
                for (method, params) in requests(kind) {
                    let answer = |it: &Question| good_answer(&it.method, &it.params);
                    for asked in converse(&mut client, method, params, answer).await.1 {
                        assert_eq!(asked.params.get("task"), None, "{case} {kind}");
                    }
                }
            }
            let tasks = |it: &&Value| {
                it["method"]
                    .as_str()
                    .is_some_and(|method| method.starts_with("tasks/"))
            };
            assert_eq!(
                client.received_messages().iter().find(tasks),
                None,
                "{case}"
            );
        }
    }
}
