//! Questions of a server to our client: answered in the form of their era, and refused with the
//! error code of the specification.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use turnbuckle_client::{
    ClientBuilder, Form, FormAnswer, QuestionContext, Roots, SamplingRejected, UrlAnswer,
    UrlRequest,
};
use turnbuckle_it::coupled::{Coupled, connect_to};
use turnbuckle_it::harness::Case;
use turnbuckle_it::peer::{Peer, ReceivedMessage, Step};

use turnbuckle_types::{
    CreateMessageRequestParams, CreateMessageResult, ProtocolError, Role, Root,
};
use turnbuckle_wire::revision::{EraKind, Revision};

use crate::asking::{self, handler_text};
use crate::client_support::{plain, settle};
use crate::traced::Traced;

fn root(uri: &str) -> Root {
    Root::new(uri).unwrap()
}

/// Returns a client that answers everything.
fn able(roots: &Roots) -> ClientBuilder {
    plain()
        .roots(roots.clone())
        .on_form(async |_: Form, _: QuestionContext| FormAnswer::accept([("name", "Ada")]))
        .on_url(async |_: UrlRequest, _: QuestionContext| UrlAnswer::Accept)
        .on_sampling(
            async |params: CreateMessageRequestParams, _: QuestionContext| {
                let text = format!("up to {:?}", params.max_tokens);
                Ok(CreateMessageResult::new(
                    Role::Assistant,
                    text.as_str(),
                    "m",
                ))
            },
        )
        .sampling_tools()
        .sampling_context()
}

fn home() -> Roots {
    let roots = Roots::new();
    roots.add(root("file:///home/ada")).unwrap();
    roots
}

/// Returns the kinds of questions that a revision has.
fn kinds(revision: Revision) -> Vec<&'static str> {
    let features = revision.features();
    let all = [
        ("form", features.elicitation),
        ("url", features.elicitation_url),
        ("sample", true),
        ("tools", features.sampling_tools),
        ("context", true),
        ("roots", true),
    ];
    all.into_iter().filter(|it| it.1).map(|it| it.0).collect()
}

// requirement: 2a4208f29240 5868e2745716
#[tokio::test(start_paused = true)]
async fn every_question_is_answered_in_the_way_of_its_revision() {
    let server = asking::server();
    for case in Case::all() {
        let client = Coupled::connect(case, &server, able(&home())).await;
        let kinds = kinds(case.revision).join(",");
        let called = client
            .call_tool("ask", &json!({"kinds": kinds}))
            .await
            .unwrap();
        let called = json!({"result": serde_json::to_value(called).unwrap()});
        let filled = client
            .get_prompt("ask", [("kinds", kinds.as_str())])
            .await
            .unwrap();
        let filled = json!({"result": serde_json::to_value(filled).unwrap()});
        let uri = format!("ask:{}", kinds.replace(',', "%2C"));
        let read = client.read_resource(uri).await.unwrap();
        let read = json!({"result": serde_json::to_value(read).unwrap()});
        for (method, answer) in [
            ("tools/call", called),
            ("prompts/get", filled),
            ("resources/read", read),
        ] {
            let text = handler_text(method, &answer);
            assert!(text.contains("file:///home/ada"), "{case} {text}");
            assert!(text.contains("up to "), "{case} {text}");
            let features = case.revision.features();
            assert_eq!(text.contains("Ada"), features.elicitation, "{case} {text}");
        }
        // Nobody is asked to make a task of it.
        for message in client.tap().sent_messages() {
            assert_eq!(message["params"].get("task"), None, "{case}");
            if case.is_modern() {
                assert!(message["method"].is_string(), "{case} {message}");
            }
        }
    }
}

// requirement: 4bde8b77cab8 bf40b4d36a4f
#[tokio::test(start_paused = true)]
async fn a_client_without_handlers_is_asked_for_nothing() {
    let server = asking::server();
    for case in Case::all() {
        let client = Coupled::connect(case, &server, plain()).await;
        let call = client.call_tool("ask", &json!({"kinds": "roots"}));
        let failed = match call.await {
            Ok(result) => result.is_error(),
            Err(error) => error.error_response().is_some(),
        };
        assert!(failed, "{case}");
        let asked = client.tap().received_of("roots/list");
        assert_eq!(asked, [] as [Value; 0], "{case}");
    }
}

// requirement: d3a6d7509658
#[tokio::test(start_paused = true)]
async fn a_legacy_server_hears_that_roots_changed_and_a_modern_one_asks() {
    let server = asking::server();
    for case in Case::all() {
        let roots = home();
        let client = Coupled::connect(case, &server, able(&roots)).await;
        roots.add(root("file:///work")).unwrap();
        settle().await;
        let heard = client
            .tap()
            .sent_of("notifications/roots/list_changed")
            .len();
        assert_eq!(heard, usize::from(case.is_legacy()), "{case}");
        let called = client
            .call_tool("ask", &json!({"kinds": "roots"}))
            .await
            .unwrap();
        let text = called.content[0].as_text().unwrap();
        assert!(text.contains("file:///work"), "{case} {text}");
    }
}

/// Returns the client's answer to one request of a legacy server during a call.
async fn answer(revision: Revision, builder: ClientBuilder, method: &str, params: Value) -> Value {
    let question = json!({"jsonrpc": "2.0", "id": "q", "method": method, "params": params});
    let peer = Peer::calls(revision, move |heard| {
        vec![
            Step::Say(question.clone()),
            Step::Wait(Duration::from_secs(1)),
            heard.text("done"),
        ]
    });
    let client = connect_to(&peer, builder).await.unwrap();
    client.call_tool("t", &()).await.unwrap();
    let mut answers = peer.messages_of("");
    assert_eq!(answers.len(), 1, "{revision} {method}");
    answers.remove(0).message
}

fn legacy() -> Vec<Revision> {
    let legacy = |revision: &Revision| revision.features().era == EraKind::Legacy;
    Revision::ALL.into_iter().filter(legacy).collect()
}

fn fields() -> Value {
    json!({"type": "object", "properties": {"name": {"type": "string"}}})
}

// requirement: d408445369e7 ed89034ab006
#[tokio::test(start_paused = true)]
async fn a_question_without_a_mode_is_a_form_and_one_with_a_task_is_answered_at_once() {
    for revision in legacy().into_iter().filter(|it| it.features().elicitation) {
        let mut params = json!({"message": "m", "requestedSchema": fields()});
        let expected = json!({"action": "accept", "content": {"name": "Ada"}});
        let got = answer(
            revision,
            able(&home()),
            "elicitation/create",
            params.clone(),
        )
        .await;
        assert_eq!(got["result"], expected, "{revision}");
        // A client that declared no tasks ignores the wish for one.
        params["task"] = json!({"ttl": 60_000});
        let client = able(&home()).tasks(false);
        let got = answer(revision, client, "elicitation/create", params).await;
        assert_eq!(got["result"], expected, "{revision}");
    }
    // In the modern era the question stands in a result.
    let peer = Peer::calls(Revision::NEWEST, |heard| {
        let params = json!({"message": "m", "requestedSchema": fields()});
        let asks = json!({"resultType": "input_required", "requestState": "s",
            "inputRequests": {"k": {"method": "elicitation/create", "params": params}}});
        let done = json!({"resultType": "complete", "content": []});
        let answered = heard.message["params"].get("requestState").is_some();
        vec![heard.answer(if answered { done } else { asks })]
    });
    let client = connect_to(&peer, able(&home())).await.unwrap();
    client.call_tool("t", &()).await.unwrap();
    let calls = peer.messages_of("tools/call");
    let expected = json!({"k": {"action": "accept", "content": {"name": "Ada"}}});
    assert_eq!(calls[1].message["params"]["inputResponses"], expected);
}

// requirement: 26228a209fab 39a0b34869cb 4ea0f3ad4f8d 6c54bf59b7c8 8f8905afc45a dd5013d0ff0a
// requirement: e17277ff9f72
#[tokio::test(start_paused = true)]
async fn failures_of_sampling_have_their_codes() {
    let user = |content: Value| json!({"role": "user", "content": content});
    let text = json!({"type": "text", "text": "x"});
    let used = json!({"role": "assistant", "content":
        [{"type": "tool_use", "id": "1", "name": "n", "input": {}}]});
    let result = json!({"type": "tool_result", "toolUseId": "1", "content": []});
    let ask = |messages: Value| json!({"maxTokens": 1, "messages": messages});
    let declines = || {
        plain()
            .sampling_tools()
            .on_sampling(async |_, _: QuestionContext| Err(SamplingRejected.into()))
    };
    let method = "sampling/createMessage";
    for revision in legacy() {
        let got = answer(
            revision,
            declines(),
            method,
            ask(json!([user(text.clone())])),
        )
        .await;
        assert_eq!(got["error"]["code"], -1, "{revision}");
        let got = answer(revision, plain(), method, ask(json!([]))).await;
        assert_eq!(got["error"]["code"], -32601, "{revision}");
        if !revision.features().sampling_tools {
            continue;
        }
        for messages in [
            // The result is missing, belongs to another use, or is mixed with other content.
            json!([used]),
            json!([used, user(text.clone())]),
            json!([
                used,
                user(json!([{"type": "tool_result", "toolUseId": "2", "content": []}]))
            ]),
            json!([used, user(json!([result, text]))]),
        ] {
            let got = answer(revision, declines(), method, ask(messages.clone())).await;
            assert_eq!(got["error"]["code"], -32602, "{revision} {messages}");
        }
        // One that is sound comes to the user.
        let sound = ask(json!([used, user(json!([result]))]));
        let got = answer(revision, declines(), method, sound).await;
        assert_eq!(got["error"]["code"], -1, "{revision}");
    }
}

// requirement: 28b42378bef2
#[tokio::test(start_paused = true)]
async fn a_handler_that_fails_is_an_internal_error() {
    for revision in legacy() {
        for panics in [false, true] {
            let builder = plain().on_sampling(
                move |_: CreateMessageRequestParams, _: QuestionContext| async move {
                    assert!(!panics, "on purpose");
                    Err::<CreateMessageResult, _>(ProtocolError::internal("no model"))
                },
            );
            let params = json!({"maxTokens": 1, "messages": []});
            let got = answer(revision, builder, "sampling/createMessage", params).await;
            assert_eq!(got["error"]["code"], -32603, "{revision} {got}");
        }
        let got = answer(revision, plain(), "roots/list", json!({})).await;
        assert_eq!(got["error"]["code"], -32601, "{revision}");
    }
}

// requirement: 0c1fe62d016d
#[tokio::test(start_paused = true)]
async fn announcements_of_unknown_or_finished_visits_are_ignored() {
    let revision = Revision::NEWEST_LEGACY;
    let complete = |id: &str| {
        Step::Say(
            json!({"jsonrpc": "2.0", "method": "notifications/elicitation/complete",
            "params": {"elicitationId": id}}),
        )
    };
    let peer = Peer::calls(revision, move |heard: &ReceivedMessage| {
        let visit = json!({"jsonrpc": "2.0", "id": "q", "method": "elicitation/create",
            "params": {"mode": "url", "message": "m", "url": "https://a.example/",
                "elicitationId": "mine"}});
        let wait = || Step::Wait(Duration::from_secs(1));
        vec![
            complete("mine"),
            Step::Say(visit),
            wait(),
            complete("another's"),
            Step::Say(json!({"jsonrpc": "2.0", "method": "notifications/elicitation/complete"})),
            wait(),
            wait(),
            complete("mine"),
            complete("mine"),
            wait(),
            heard.text("done"),
        ]
    });
    let took: Arc<Mutex<Option<Duration>>> = Arc::default();
    let takes = took.clone();
    let builder = plain().on_url(move |url: UrlRequest, _: QuestionContext| {
        let takes = takes.clone();
        async move {
            let began = tokio::time::Instant::now();
            assert!(url.wait_for_completion().await);
            *takes.lock().unwrap() = Some(began.elapsed());
            UrlAnswer::Accept
        }
    });
    let client = connect_to(&peer, builder).await.unwrap();
    let result = client.call_tool("t", &()).await.unwrap();
    assert_eq!(result.content[0].as_text(), Some("done"));
    assert_eq!(took.lock().unwrap().unwrap().as_secs(), 3);
}

// requirement: b6fd44e773c0 db33922935d3 e04f1edf4bf5 e56ffa706260
#[tokio::test(start_paused = true)]
async fn a_question_that_is_taken_back_is_dropped_unanswered_and_its_reason_logged() {
    let traced = Traced::start();
    for revision in legacy().into_iter().filter(|it| it.features().elicitation) {
        let peer = Peer::calls(revision, |heard| {
            let question = json!({"jsonrpc": "2.0", "id": "q", "method": "elicitation/create",
                "params": {"message": "m", "requestedSchema": fields()}});
            let back = json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
                "params": {"requestId": "q", "reason": "we know it now"}});
            let wait = || Step::Wait(Duration::from_secs(1));
            vec![
                Step::Say(question),
                wait(),
                Step::Say(back),
                wait(),
                heard.text("done"),
            ]
        });
        let kept: Arc<Mutex<Option<QuestionContext>>> = Arc::default();
        let keeps = kept.clone();
        let builder = plain().on_form(move |_: Form, question: QuestionContext| {
            *keeps.lock().unwrap() = Some(question);
            std::future::pending()
        });
        let client = connect_to(&peer, builder).await.unwrap();
        client.call_tool("t", &()).await.unwrap();
        assert!(
            kept.lock().unwrap().take().unwrap().is_cancelled(),
            "{revision}"
        );
        assert_eq!(peer.messages_of("").len(), 0, "{revision}");
        assert_eq!(client.in_flight(), Default::default(), "{revision}");
    }
    assert!(!traced.with("we know it now").is_empty());
}
