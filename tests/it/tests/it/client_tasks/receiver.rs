//! Our client runs questions of a server of 2025-11-25 as tasks.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use turnbuckle_client::{Client, ClientBuilder, Form, FormAnswer, QuestionContext};
use turnbuckle_it::coupled::connect_to;
use turnbuckle_it::faults::LEGACY;
use turnbuckle_it::peer::Peer;
use turnbuckle_session::transport::ClientLimits;
use turnbuckle_types::{CreateMessageRequestParams, CreateMessageResult, ProtocolError, Role};
use turnbuckle_wire::revision::Revision;

use crate::client_support::{plain, settle};

const RELATED: &str = "io.modelcontextprotocol/related-task";

/// Returns a client whose user takes 10 seconds for each form, and whose model fails.
fn answering() -> (ClientBuilder, Arc<AtomicUsize>) {
    let answered = Arc::new(AtomicUsize::new(0));
    let count = answered.clone();
    let builder = plain()
        .on_form(move |form: Form, _: QuestionContext| {
            let count = count.clone();
            async move {
                tokio::time::sleep(Duration::from_secs(10)).await;
                count.fetch_add(1, Ordering::Relaxed);
                FormAnswer::accept([("name", form.message)])
            }
        })
        .on_sampling(async |_: CreateMessageRequestParams, _: QuestionContext| {
            Err::<CreateMessageResult, _>(ProtocolError::application(-31_000, "no model"))
        });
    (builder, answered)
}

fn form(task: Value) -> Value {
    json!({"message": "Ada", "mode": "form", "task": task,
        "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}}})
}

fn sample() -> Value {
    json!({"messages": [{"role": "user", "content": {"type": "text", "text": "?"}}],
        "maxTokens": 9, "task": {}})
}

/// A server in the middle of a session.
struct Asking {
    peer: Peer,
    client: Client,
    asked: AtomicUsize,
}

impl Asking {
    async fn connect(revision: Revision, builder: ClientBuilder) -> Self {
        let peer = Peer::new(revision, |_| None);
        let client = connect_to(&peer, builder).await.unwrap();
        let asked = AtomicUsize::new(0);
        Self {
            peer,
            client,
            asked,
        }
    }

    fn send(&self, method: &str, params: Value) -> Value {
        let id = format!("q{}", self.asked.fetch_add(1, Ordering::Relaxed));
        self.peer
            .send(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id.into()
    }

    fn answer(&self, id: &Value) -> Option<Value> {
        let all = self.peer.messages();
        let answer = all.into_iter().find(|it| it.id() == id)?;
        Some(answer.message)
    }

    /// Sends a request, and returns the response, which has to come at once.
    async fn ask(&self, method: &str, params: Value) -> Value {
        let id = self.send(method, params);
        settle().await;
        self.answer(&id).expect("an answer at once")
    }

    async fn start(&self, method: &str, params: Value) -> String {
        let created = self.ask(method, params).await;
        let task = &created["result"]["task"];
        assert_eq!(task["status"], "working", "{created}");
        task["taskId"].as_str().unwrap().to_owned()
    }

    async fn ask_about(&self, method: &str, id: &str) -> Value {
        self.ask(method, json!({"taskId": id})).await
    }

    async fn status(&self, id: &str) -> Value {
        self.ask_about("tasks/get", id).await["result"]["status"].clone()
    }

    fn notices(&self) -> Vec<(String, String)> {
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let notices = self.peer.messages_of("notifications/tasks/status");
        let params = notices.iter().map(|it| &it.message["params"]);
        params
            .map(|it| (text(&it["taskId"]), text(&it["status"])))
            .collect()
    }
}

// requirement: 2a4208f29240
#[tokio::test(start_paused = true)]
async fn a_question_becomes_a_task_whose_answer_is_fetched_later() {
    let (builder, answered) = answering();
    let server = Asking::connect(LEGACY, builder).await;
    let declared = &server.peer.messages_of("initialize")[0].message["params"]["capabilities"];
    assert_eq!(
        declared["tasks"],
        json!({"list": {}, "cancel": {}, "requests": {
            "sampling": {"createMessage": {}}, "elicitation": {"create": {}}}})
    );
    let created = server
        .ask("elicitation/create", form(json!({"ttl": 60_000})))
        .await;
    let task = &created["result"]["task"];
    assert_eq!(
        (&task["status"], &task["ttl"]),
        (&json!("working"), &json!(60_000))
    );
    assert!(task["createdAt"].as_str().unwrap().ends_with('Z'), "{task}");
    let id = task["taskId"].as_str().unwrap();
    assert_eq!(server.status(id).await, "working");

    let waiting = server.send("tasks/result", json!({"taskId": id}));
    tokio::time::sleep(Duration::from_secs(9)).await;
    assert_eq!(server.answer(&waiting), None, "it waits");
    tokio::time::sleep(Duration::from_secs(1)).await;
    let result = server.answer(&waiting).unwrap()["result"].take();
    assert_eq!(
        result,
        json!({"action": "accept", "content": {"name": "Ada"},
            "_meta": {RELATED: {"taskId": id}}})
    );
    assert_eq!(server.status(id).await, "completed");
    assert_eq!(server.ask_about("tasks/result", id).await["result"], result);
    assert_eq!(server.notices(), [(id.to_owned(), "completed".to_owned())]);
    assert_eq!(answered.load(Ordering::Relaxed), 1);
    assert_eq!(server.client.in_flight(), Default::default());
}

#[tokio::test(start_paused = true)]
async fn a_question_that_fails_is_a_failed_task_with_its_error() {
    let server = Asking::connect(LEGACY, answering().0).await;
    let id = server.start("sampling/createMessage", sample()).await;
    settle().await;
    let state = server.ask_about("tasks/get", &id).await["result"].take();
    assert_eq!(
        (&state["status"], &state["statusMessage"]),
        (&json!("failed"), &json!("no model"))
    );
    let error = server.ask_about("tasks/result", &id).await["error"].take();
    assert_eq!(error["code"], -31_000, "{error}");
    assert_eq!(server.notices(), [(id, "failed".to_owned())]);
}

#[tokio::test(start_paused = true)]
async fn a_task_is_cancelled_once_and_stays_cancelled() {
    let (builder, answered) = answering();
    let server = Asking::connect(LEGACY, builder).await;
    let id = server.start("elicitation/create", form(json!({}))).await;
    let waiting = server.send("tasks/result", json!({"taskId": id}));
    let cancelled = server.ask_about("tasks/cancel", &id).await;
    assert_eq!(cancelled["result"]["status"], "cancelled");
    assert!(server.answer(&waiting).unwrap().get("error").is_some());
    tokio::time::sleep(Duration::from_secs(20)).await;
    assert_eq!(server.status(&id).await, "cancelled");
    assert_eq!(
        answered.load(Ordering::Relaxed),
        0,
        "the handler is dropped"
    );
    let again = server.ask_about("tasks/cancel", &id).await;
    assert_eq!(again["error"]["code"], -32602);

    let id = server.start("elicitation/create", form(json!({}))).await;
    tokio::time::sleep(Duration::from_secs(11)).await;
    let ended = server.ask_about("tasks/cancel", &id).await;
    assert_eq!(ended["error"]["code"], -32602);
    assert_eq!(server.status(&id).await, "completed");
}

#[tokio::test(start_paused = true)]
async fn all_tasks_are_listed_on_one_page() {
    let server = Asking::connect(LEGACY, answering().0).await;
    let mut started = Vec::new();
    for _ in 0..3 {
        started.push(server.start("elicitation/create", form(json!({}))).await);
    }
    let list = server.ask("tasks/list", json!({})).await["result"].take();
    let tasks = list["tasks"].as_array().unwrap().iter();
    let mut listed: Vec<_> = tasks.map(|it| it["taskId"].as_str().unwrap()).collect();
    listed.sort_unstable();
    started.sort_unstable();
    assert_eq!(listed, started);
    assert_eq!(list.get("nextCursor"), None);
    let unknown = server.ask("tasks/list", json!({"cursor": "c"})).await;
    assert_eq!(unknown["error"]["code"], -32602);
}

#[tokio::test(start_paused = true)]
async fn unknown_ids_are_refused() {
    let server = Asking::connect(LEGACY, answering().0).await;
    for id in [String::new(), "t".into(), "x".repeat(1 << 19)] {
        for method in ["tasks/get", "tasks/result", "tasks/cancel"] {
            let refused = server.ask_about(method, &id).await;
            assert_eq!(refused["error"]["code"], -32602, "{method} {id:.20}");
        }
    }
    let malformed = server.ask("tasks/get", json!({"taskId": 1})).await;
    assert_eq!(malformed["error"]["code"], -32602);
}

#[tokio::test(start_paused = true)]
async fn the_tasks_of_a_server_are_bounded() {
    let limits = ClientLimits::default()
        .max_tasks(2)
        .max_task_ttl(Duration::from_secs(100));
    let server = Asking::connect(LEGACY, answering().0.limits(limits)).await;
    let start = |ttl: Value| server.ask("elicitation/create", form(json!({"ttl": ttl})));
    for (wished, real) in [(json!(1e300), 100_000), (json!(50_000), 50_000)] {
        let created = start(wished).await;
        assert_eq!(created["result"]["task"]["ttl"], real, "{created}");
    }
    let refused = start(json!(1)).await;
    let message = refused["error"]["message"].as_str().unwrap();
    assert!(message.contains("ClientLimits::max_tasks"), "{refused}");
    // A task is forgotten when its time has passed, and makes room.
    tokio::time::sleep(Duration::from_secs(51)).await;
    let list = server.ask("tasks/list", json!({})).await;
    assert_eq!(list["result"]["tasks"].as_array().unwrap().len(), 1);
    let created = start(json!(-5)).await;
    assert_eq!(created["result"]["task"]["ttl"], 0, "{created}");
    let forgotten = created["result"]["task"]["taskId"].as_str().unwrap();
    let unknown = server.ask_about("tasks/get", forgotten).await;
    assert_eq!(unknown["error"]["code"], -32602);
}

#[tokio::test(start_paused = true)]
async fn an_answer_of_a_task_takes_as_long_as_any() {
    let never = plain().on_form(async |_: Form, _: QuestionContext| std::future::pending().await);
    let server = Asking::connect(LEGACY, never).await;
    let id = server.start("elicitation/create", form(json!({}))).await;
    let waiting = server.send("tasks/result", json!({"taskId": id}));
    tokio::time::sleep(Duration::from_secs(601)).await;
    let refused = server.answer(&waiting).unwrap();
    let message = refused["error"]["message"].as_str().unwrap();
    assert!(
        message.contains("ClientLimits::handler_timeout"),
        "{refused}"
    );
    assert_eq!(server.status(&id).await, "failed");
}

#[tokio::test(start_paused = true)]
async fn a_wish_for_a_task_is_ignored_where_none_was_declared() {
    let quick = || plain().on_form(async |_: Form, _: QuestionContext| FormAnswer::Decline);
    let older = Revision::V2025_06_18;
    for (revision, builder) in [(older, quick()), (LEGACY, quick().tasks(false))] {
        let server = Asking::connect(revision, builder).await;
        let declared = &server.peer.messages_of("initialize")[0].message["params"]["capabilities"];
        assert_eq!(declared.get("tasks"), None);
        for task in [json!({"ttl": 60_000}), json!({"ttl": "x"}), json!(5)] {
            let answer = server.ask("elicitation/create", form(task.clone())).await;
            assert_eq!(answer["result"]["action"], "decline", "{revision} {task}");
        }
        for method in ["tasks/get", "tasks/result", "tasks/list", "tasks/cancel"] {
            let refused = server.ask_about(method, "t").await;
            assert_eq!(refused["error"]["code"], -32601, "{revision} {method}");
        }
    }
    let server = Asking::connect(LEGACY, quick()).await;
    for task in [json!({"ttl": "x"}), json!(5)] {
        let refused = server.ask("elicitation/create", form(task)).await;
        assert_eq!(refused["error"]["code"], -32602);
    }
    // Nothing was declared for roots and, without a handler, for sampling.
    let refused = server.ask("sampling/createMessage", sample()).await;
    assert_eq!(refused["error"]["code"], -32601);
}

// requirement: 2a4208f29240
#[tokio::test(start_paused = true)]
async fn an_answer_names_the_task_of_its_question() {
    let builder = plain().on_sampling(async |_: CreateMessageRequestParams, _: QuestionContext| {
        Ok(CreateMessageResult::new(Role::Assistant, "hi", "m"))
    });
    let server = Asking::connect(LEGACY, builder).await;
    let mut params = sample();
    params.as_object_mut().unwrap().remove("task");
    let plain = server.ask("sampling/createMessage", params.clone()).await;
    assert_eq!(plain["result"].get("_meta"), None);
    params["_meta"] = json!({RELATED: {"taskId": "t"}});
    let answer = server.ask("sampling/createMessage", params).await;
    assert_eq!(answer["result"]["_meta"], json!({RELATED: {"taskId": "t"}}));
}
