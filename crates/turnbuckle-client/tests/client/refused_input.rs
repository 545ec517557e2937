//! Input requests that the client refuses: undeclared ones, and ones that no handler should get.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use turnbuckle_client::{
    Client, ClientBuilder, Error, Form, FormAnswer, QuestionContext, Roots, SamplingRejected,
    UrlAnswer, UrlRequest,
};
use turnbuckle_session::transport::{
    Frame, MemoryTransport, Transport, TransportConnector, memory_pair,
};
use turnbuckle_types::{CreateMessageRequestParams, Root};

/// Returns a connector to a server whose answers to each message come from `script`.
fn connect_script(
    mut script: impl FnMut(&Value) -> Vec<Value> + Send + 'static,
) -> TransportConnector<MemoryTransport> {
    let (ours, mut wire) = memory_pair();
    tokio::spawn(async move {
        while let Some(frame) = std::future::poll_fn(|cx| wire.poll_frame(cx)).await {
            let Frame::Message(bytes) = frame else {
                continue;
            };
            for message in script(&serde_json::from_slice(&bytes).unwrap()) {
                wire.queue(message.to_string().as_bytes());
            }
            std::future::poll_fn(|cx| wire.poll_flush(cx))
                .await
                .unwrap();
        }
    });
    TransportConnector::new(ours)
}

fn result(id: &Value, result: Value) -> Vec<Value> {
    vec![json!({"jsonrpc": "2.0", "id": id, "result": result})]
}

/// Sends one question in a legacy session of that revision and returns the answer.
async fn answer_to(builder: ClientBuilder, revision: &'static str, question: Value) -> Value {
    let (sender, receiver) = tokio::sync::oneshot::channel();
    let mut sender = Some(sender);
    let server = connect_script(move |message| match message["method"].as_str() {
        Some("server/discover") => vec![json!({"jsonrpc": "2.0", "id": message["id"],
            "error": {"code": -32601, "message": "no"}})],
        Some("initialize") => result(
            &message["id"],
            json!({"protocolVersion": revision, "capabilities": {"tools": {}, "resources": {}, "prompts": {}},
                "serverInfo": {"name": "by hand", "version": "0"}}),
        ),
        Some("notifications/initialized") => {
            let mut question = question.clone();
            question["jsonrpc"] = "2.0".into();
            question["id"] = "q".into();
            vec![question]
        }
        None if message["id"] == "q" => {
            let _ = sender.take().map(|sender| sender.send(message.clone()));
            Vec::new()
        }
        _ => Vec::new(),
    });
    let client = builder.connect(server).await.unwrap();
    let answer = receiver.await.unwrap();
    client.close().await;
    answer
}

fn forms() -> ClientBuilder {
    Client::builder("c", "1")
        .on_form(async |form: Form, _: QuestionContext| FormAnswer::Accept(form.defaults()))
}

fn urls() -> ClientBuilder {
    Client::builder("c", "1").on_url(async |_: UrlRequest, _: QuestionContext| UrlAnswer::Accept)
}

fn models() -> ClientBuilder {
    let declines =
        async |_: CreateMessageRequestParams, _: QuestionContext| Err(SamplingRejected.into());
    Client::builder("c", "1").on_sampling(declines)
}

fn elicit(params: Value) -> Value {
    json!({"method": "elicitation/create", "params": params})
}

fn sample(with: Value) -> Value {
    let mut params = json!({"maxTokens": 1, "messages": []});
    let members = with.as_object().unwrap().clone();
    params.as_object_mut().unwrap().extend(members);
    json!({"method": "sampling/createMessage", "params": params})
}

// requirement: 28b42378bef2 f11278e53966
#[tokio::test(start_paused = true)]
async fn undeclared_input_requests_get_the_code_of_the_specification() {
    let nothing = || Client::builder("c", "1");
    let form = elicit(json!({"message": "m",
        "requestedSchema": {"type": "object", "properties": {}}}));
    let url = elicit(json!({"mode": "url", "message": "m", "url": "https://a/",
        "elicitationId": "e"}));
    let evil = elicit(
        json!({"mode": "url", "message": "m", "url": "javascript:alert(1)",
        "elicitationId": "e"}),
    );
    let unpaired = json!({"messages": [{"role": "assistant", "content":
        {"type": "tool_use", "id": "1", "name": "n", "input": {}}}]});
    let (new, old) = ("2025-11-25", "2025-06-18");
    for (builder, revision, question, code) in [
        (nothing(), new, form.clone(), -32601),
        (nothing(), new, sample(json!({})), -32601),
        (nothing(), new, json!({"method": "roots/list"}), -32601),
        (nothing(), new, json!({"method": "made/up"}), -32601),
        (forms(), new, url.clone(), -32602),
        (urls(), new, form.clone(), -32602),
        (urls(), new, evil, -32602),
        // A revision without modes cannot declare URL elicitation alone: nothing is declared there.
        (urls(), old, form.clone(), -32601),
        (forms(), "2025-03-26", form.clone(), -32601),
        (
            forms(),
            new,
            elicit(json!({"mode": "voice", "message": "m"})),
            -32602,
        ),
        (forms(), new, elicit(json!({"message": "m"})), -32602),
        (
            forms(),
            new,
            json!({"method": "elicitation/create"}),
            -32602,
        ),
        (models(), new, sample(json!({"tools": []})), -32602),
        (models(), new, sample(unpaired.clone()), -32602),
        (models().sampling_tools(), new, sample(unpaired), -32602),
        (models(), new, sample(json!({})), -1),
        (models(), "2024-11-05", sample(json!({})), -1),
    ] {
        let answer = answer_to(builder, revision, question.clone()).await;
        assert_eq!(
            answer["error"]["code"], code,
            "{revision} {question} {answer}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn declared_input_requests_are_answered_in_every_legacy_revision() {
    let roots = || {
        let roots = Roots::new();
        roots.add(Root::new("file:///a").unwrap()).unwrap();
        Client::builder("c", "1").roots(roots)
    };
    let asks = json!({"method": "roots/list"});
    for revision in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let answer = answer_to(roots(), revision, asks.clone()).await;
        assert_eq!(answer["result"], json!({"roots": [{"uri": "file:///a"}]}));
    }
    let form = elicit(json!({"message": "m", "requestedSchema": {"type": "object",
        "properties": {"sure": {"type": "boolean", "default": true}}}}));
    for revision in ["2025-06-18", "2025-11-25"] {
        let answer = answer_to(forms(), revision, form.clone()).await;
        let expected = json!({"action": "accept", "content": {"sure": true}});
        assert_eq!(answer["result"], expected, "{revision}");
    }
}

/// Returns a connector to a modern server whose tool asks these questions with that state, and then returns the answers.
fn connect_questions(
    requests: Value,
    messages: Arc<Mutex<Vec<Value>>>,
) -> TransportConnector<MemoryTransport> {
    connect_script(move |message| match message["method"].as_str() {
        Some("server/discover") => result(
            &message["id"],
            json!({"resultType": "complete", "supportedVersions": ["2026-07-28"],
                "capabilities": {"tools": {}}, "ttlMs": 0, "cacheScope": "private"}),
        ),
        Some("tools/call") => {
            messages.lock().unwrap().push(message.clone());
            let first = messages.lock().unwrap().len() == 1;
            let answer = match first {
                true => json!({"resultType": "input_required", "inputRequests": requests,
                    "requestState": "s \u{e9}\\\""}),
                false => json!({"resultType": "complete", "content": []}),
            };
            result(&message["id"], answer)
        }
        _ => Vec::new(),
    })
}

#[tokio::test(start_paused = true)]
async fn answers_carry_their_keys_and_the_unchanged_state() {
    let messages = Arc::default();
    let form = elicit(json!({"message": "m", "requestedSchema": {"type": "object",
        "properties": {"n": {"type": "integer", "default": 7}}}}));
    let url = elicit(json!({"mode": "url", "message": "m", "url": "https://a/"}));
    let roots = json!({"method": "roots/list"});
    let requests = json!({"b": form, "a": url, "c \u{e9}": roots});
    let builder = forms()
        .on_url(async |_: UrlRequest, _: QuestionContext| UrlAnswer::Decline)
        .roots(Roots::new());
    let server = connect_questions(requests, Arc::clone(&messages));
    let client = builder.connect(server).await.unwrap();
    client.call_tool("t", &()).await.unwrap();
    let messages = messages.lock().unwrap();
    let [first, second] = &messages[..] else {
        panic!("asked twice");
    };
    assert_ne!(first["id"], second["id"]);
    assert_eq!(second["params"]["requestState"], "s \u{e9}\\\"");
    assert_eq!(
        second["params"]["inputResponses"],
        json!({"b": {"action": "accept", "content": {"n": 7}}, "a": {"action": "decline"},
            "c \u{e9}": {"roots": []}})
    );
}

#[tokio::test(start_paused = true)]
async fn an_unanswerable_round_ends_the_call() {
    let form = || elicit(json!({"message": "m", "requestedSchema": {"type": "object"}}));
    let many: serde_json::Map<_, _> = (0..33).map(|key| (key.to_string(), form())).collect();
    let url = |url: &str| elicit(json!({"mode": "url", "message": "m", "url": url}));
    for (builder, requests, method) in [
        (forms(), json!(many), "elicitation/create"),
        (forms(), json!({"a": {"method": "made/up"}}), "made/up"),
        (
            forms(),
            json!({"a": form(), "b": sample(json!({}))}),
            "sampling/createMessage",
        ),
        (
            forms(),
            json!({"a": url("https://a/")}),
            "elicitation/create",
        ),
        (
            urls(),
            json!({"a": url("file:///etc/passwd")}),
            "elicitation/create",
        ),
        (
            models(),
            json!({"a": sample(json!({}))}),
            "sampling/createMessage",
        ),
    ] {
        let messages = Arc::default();
        let server = connect_questions(requests.clone(), Arc::clone(&messages));
        let client = builder.connect(server).await.unwrap();
        match client.call_tool("t", &()).await {
            Err(Error::InputUnanswered { method: named, .. }) => assert_eq!(named, method),
            outcome => panic!("{requests}: {outcome:?}"),
        }
        assert_eq!(messages.lock().unwrap().len(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn invalid_url_errors_open_nothing() {
    let visit =
        |url: &str| json!({"mode": "url", "message": "m", "url": url, "elicitationId": "e"});
    let error = |data: Value| json!({"code": -32042, "message": "no", "data": data});
    let refusal = |urls: Vec<Value>| error(json!({"elicitations": urls}));
    for (revision, error) in [
        // The modern era has no such error.
        ("2026-07-28", refusal(vec![visit("https://a/")])),
        ("2025-06-18", refusal(vec![visit("https://a/")])),
        ("2025-11-25", refusal(vec![visit("file:///etc/passwd")])),
        ("2025-11-25", refusal(vec![visit("https://a/"); 33])),
        ("2025-11-25", refusal(Vec::new())),
        ("2025-11-25", error(json!(null))),
        ("2025-11-25", json!({"code": -32042, "message": "no"})),
    ] {
        let asked = Arc::new(AtomicUsize::new(0));
        let counted = asked.clone();
        let builder = Client::builder("c", "1").on_url(move |_: UrlRequest, _: QuestionContext| {
            counted.fetch_add(1, Ordering::Relaxed);
            std::future::ready(UrlAnswer::Accept)
        });
        let server = connect_script(move |message| {
            let id = &message["id"];
            let refuse = |error: &Value| vec![json!({"jsonrpc": "2.0", "id": id, "error": error})];
            match message["method"].as_str() {
                Some("server/discover") if revision == "2026-07-28" => result(
                    id,
                    json!({"resultType": "complete", "supportedVersions": [revision],
                        "capabilities": {"tools": {}}, "ttlMs": 0, "cacheScope": "private"}),
                ),
                Some("server/discover") => refuse(&json!({"code": -32601, "message": "no"})),
                Some("initialize") => result(
                    id,
                    json!({"protocolVersion": revision, "capabilities": {"tools": {}},
                        "serverInfo": {"name": "by hand", "version": "0"}}),
                ),
                Some("tools/call") => refuse(&error),
                _ => Vec::new(),
            }
        });
        let client = builder.connect(server).await.unwrap();
        match client.call_tool("t", &()).await {
            Err(Error::ErrorResponse(refusal)) => assert_eq!(refusal.code, -32042),
            outcome => panic!("{outcome:?}"),
        }
        assert_eq!(asked.load(Ordering::Relaxed), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_question_is_not_answered() {
    let (asked, mut questions) = tokio::sync::mpsc::unbounded_channel();
    let builder = Client::builder("c", "1").on_form(move |_: Form, question: QuestionContext| {
        asked.send(question.clone()).unwrap();
        async move {
            question.cancelled().await;
            FormAnswer::Cancel
        }
    });
    let messages: Arc<Mutex<Vec<Value>>> = Arc::default();
    let log = messages.clone();
    let server = connect_script(move |message| {
        log.lock().unwrap().push(message.clone());
        let form = json!({"message": "m", "requestedSchema": {"type": "object"}});
        match message["method"].as_str() {
            Some("server/discover") => vec![json!({"jsonrpc": "2.0", "id": message["id"],
                "error": {"code": -32601, "message": "no"}})],
            Some("initialize") => result(
                &message["id"],
                json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {}, "resources": {}, "prompts": {}},
                    "serverInfo": {"name": "by hand", "version": "0"}}),
            ),
            Some("notifications/initialized") => vec![
                json!({"jsonrpc": "2.0", "id": 7, "method": "elicitation/create", "params": form}),
            ],
            // The ping below comes when the question is with the handler.
            Some("ping") => {
                let cancelled = json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
                    "params": {"requestId": 7}});
                [vec![cancelled], result(&message["id"], json!({}))].concat()
            }
            _ => Vec::new(),
        }
    });
    let client = builder.connect(server).await.unwrap();
    let question = questions.recv().await.unwrap();
    assert!(!question.is_cancelled());
    client.ping().await.unwrap();
    question.cancelled().await;
    client.ping().await.unwrap();
    let messages = messages.lock().unwrap();
    assert!(
        messages.iter().all(|message| message["id"] != 7),
        "{messages:?}"
    );
}
