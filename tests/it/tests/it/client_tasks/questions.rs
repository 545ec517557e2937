//! Questions inside of tasks.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use turnbuckle_client::{ClientBuilder, Error, Form, FormAnswer, QuestionContext};
use turnbuckle_it::coupled::connect_to;
use turnbuckle_it::faults::PeerTransport;
use turnbuckle_it::peer::{Peer, Step};
use turnbuckle_types::{InputResponses, Json, TASKS_EXTENSION};
use turnbuckle_wire::revision::Revision;

use super::{
    complete, connect, created, discovery, nth, result_state, start, state, task_peer, working,
};
use crate::client_support::plain;

fn form(message: &str) -> Value {
    json!({"method": "elicitation/create", "params": {"message": message,
        "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}}}})
}

fn asking(keys: &[&str]) -> Value {
    let requests: serde_json::Map<_, _> = keys
        .iter()
        .map(|key| ((*key).to_owned(), form(key)))
        .collect();
    state("input_required", json!({"inputRequests": requests}))
}

/// Returns a client whose user takes 5 seconds for each form, with the number of forms so far.
fn answering() -> (ClientBuilder, Arc<AtomicUsize>) {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = asked.clone();
    let builder = plain().on_form(move |form: Form, _: QuestionContext| {
        count.fetch_add(1, Ordering::Relaxed);
        async move {
            tokio::time::sleep(Duration::from_secs(5)).await;
            FormAnswer::accept([("name", form.message)])
        }
    });
    (builder, asked)
}

/// Returns the answers that a server got, by request.
fn updates(peer: &Peer) -> Vec<Value> {
    let updates = peer.messages_of("tasks/update").into_iter();
    let updates = updates.inspect(|it| assert_eq!(it.message["params"]["taskId"], super::ID));
    updates
        .map(|it| it.message["params"]["inputResponses"].clone())
        .collect()
}

fn answer(key: &str) -> Value {
    json!({"action": "accept", "content": {"name": key}})
}

// requirement: 042b31342f9e 6f36f6fb7489 a43f1f483fd3 b3df96ace8e5 c2384f5b07ec fc8a6d15be40
#[tokio::test(start_paused = true)]
async fn each_question_of_a_task_is_asked_once_while_its_state_is_watched() {
    for transport in [PeerTransport::Lines, PeerTransport::Web] {
        let states = vec![
            asking(&["a", "b"]),
            asking(&["a", "b"]),
            asking(&["a", "b", "c"]),
            asking(&["c"]),
            asking(&["c"]),
            asking(&["c"]),
            asking(&["c"]),
            working(),
            result_state("done"),
        ];
        let peer = task_peer(nth(states));
        let (builder, asked) = answering();
        let client = transport.connect_by(&peer, builder).await;
        let result = client.call_tool("t", &()).await.unwrap();
        assert_eq!(result.text(), "done");
        assert_eq!(asked.load(Ordering::Relaxed), 3);
        let both = json!({"a": answer("a"), "b": answer("b")});
        assert_eq!(updates(&peer), [both, json!({"c": answer("c")})]);
        // The client asks for the state every 2 seconds, also while the user answers.
        assert_eq!(peer.messages_of("tasks/get").len(), 9);
    }
}

#[tokio::test(start_paused = true)]
async fn a_task_that_ends_takes_its_questions_back() {
    let peer = task_peer(nth(vec![asking(&["a"]), result_state("done")]));
    let (builder, asked) = answering();
    let client = connect_to(&peer, builder).await.unwrap();
    assert_eq!(client.call_tool("t", &()).await.unwrap().text(), "done");
    assert_eq!(asked.load(Ordering::Relaxed), 1);
    assert!(updates(&peer).is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_question_without_a_handler_ends_the_call_and_cancels_the_task() {
    let peer = task_peer(nth(vec![asking(&["a"])]));
    let client = connect(&peer).await;
    let error = client.call_tool("t", &()).await.unwrap_err();
    assert!(matches!(error, Error::InputUnanswered { .. }), "{error}");
    assert_eq!(peer.messages_of("tasks/cancel").len(), 1);
    assert!(updates(&peer).is_empty());

    let error = start(&client).await.await.unwrap_err();
    assert!(matches!(error, Error::InputUnanswered { .. }), "{error}");
    assert_eq!(peer.messages_of("tasks/cancel").len(), 1, "it was started");
}

#[tokio::test(start_paused = true)]
async fn questions_can_be_answered_by_hand() {
    let peer = task_peer(nth(vec![asking(&["a"])]));
    let task = start(&connect(&peer).await).await;
    let state = task.status().await.unwrap();
    assert_eq!(
        state.input_requests.unwrap().keys().collect::<Vec<_>>(),
        ["a"]
    );
    let answers = InputResponses::from([("a", Json::encode(&answer("x")).unwrap())]);
    task.answer(answers).await.unwrap();
    assert_eq!(updates(&peer), [json!({"a": answer("x")})]);
}

/// Creates a server that refuses answers, and whose states go on with `after` then.
fn refusing(after: Value) -> Peer {
    let refused = AtomicUsize::new(0);
    Peer::new(Revision::NEWEST, move |heard| match heard.method() {
        "server/discover" => Some(discovery(heard, &json!({TASKS_EXTENSION: {}}))),
        "tools/call" => Some(created(heard, working())),
        "tasks/update" => {
            refused.store(1, Ordering::Relaxed);
            Some(vec![heard.refuse(-32602, "no such task")])
        }
        "tasks/get" => Some(match refused.load(Ordering::Relaxed) {
            0 => complete(heard, asking(&["a"])),
            _ => complete(heard, after.clone()),
        }),
        _ => None,
    })
}

#[tokio::test(start_paused = true)]
async fn answers_that_the_server_refuses_end_the_call_unless_the_task_has_ended() {
    let connect = |peer: Peer| async move {
        let (builder, _) = answering();
        connect_to(&peer, builder).await.unwrap()
    };
    let client = connect(refusing(asking(&["a"]))).await;
    let error = client.call_tool("t", &()).await.unwrap_err();
    assert_eq!(error.error_response().unwrap().code, -32602, "{error}");
    let client = connect(refusing(result_state("done"))).await;
    assert_eq!(client.call_tool("t", &()).await.unwrap().text(), "done");
}

#[tokio::test(start_paused = true)]
async fn a_call_asks_before_and_inside_of_its_task() {
    let round = AtomicUsize::new(0);
    let got = AtomicUsize::new(0);
    let peer = Peer::new(Revision::NEWEST, move |heard| match heard.method() {
        "server/discover" => Some(discovery(heard, &json!({TASKS_EXTENSION: {}}))),
        "tools/call" => Some(match round.fetch_add(1, Ordering::Relaxed) {
            0 => vec![heard.answer(json!({"resultType": "input_required",
                "inputRequests": {"a": form("before")}, "requestState": "s"}))],
            _ => created(heard, working()),
        }),
        "tasks/get" => Some(match got.fetch_add(1, Ordering::Relaxed) {
            0 => complete(heard, asking(&["a"])),
            1..=3 => vec![
                Step::Wait(Duration::from_millis(1)),
                complete(heard, working()).remove(0),
            ],
            _ => complete(heard, result_state("done")),
        }),
        _ => None,
    });
    let (builder, asked) = answering();
    let client = connect_to(&peer, builder).await.unwrap();
    assert_eq!(client.call_tool("t", &()).await.unwrap().text(), "done");
    assert_eq!(
        asked.load(Ordering::Relaxed),
        2,
        "keys of a task are its own"
    );
    assert_eq!(updates(&peer), [json!({"a": answer("a")})]);
}
