//! Asking the user: by a form, or by sending them to a URL.

use std::future::ready;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use turnbuckle_it::harness::{Case, Client};
use turnbuckle_server::{
    ElicitationNotifier, Failure, HandlerContext, NeedsInput, Prompt, ReadRequest, Resource,
    Server, Tool,
};
use turnbuckle_types::{
    ElicitAction, ElicitRequestFormParams, ElicitRequestUrlParams, ElicitationSchema, FieldValue,
    NumberSchema, ProtocolError, SingleSelectEnumSchema, StringSchema,
};
use turnbuckle_wire::revision::Features;

use crate::asking::{self, form, good_answer, handler_text, requests, url};
use crate::support::{
    Question, able, call, code, connect_able, converse, error_text, message, result, text,
};

/// Returns the cases of revisions with that feature.
fn with(fact: fn(&Features) -> bool) -> Vec<Case> {
    Case::all()
        .into_iter()
        .filter(|case| fact(case.revision.features()))
        .collect()
}

async fn connect(case: Case, server: &Server) -> Client {
    connect_able(case, server, able(case.revision)).await
}

fn good(question: &Question) -> Value {
    good_answer(&question.method, &question.params)
}

// requirement: 6855da91cdba 95e5f05888a1 e37c9bc083a9
#[tokio::test(start_paused = true)]
async fn form_and_url_carry_their_parameters() {
    let server = asking::server();
    for case in with(|it| it.elicitation) {
        for (method, params) in requests("form") {
            let mut client = connect(case, &server).await;
            let (response, asked) = converse(&mut client, method, params, good).await;
            assert!(handler_text(method, &response).contains("Ada"), "{case}");
            let [asked] = &asked[..] else {
                panic!("{case}: {asked:?}")
            };
            assert_eq!(asked.method, "elicitation/create");
            assert_eq!(asked.params["message"], "Who are you?", "{case}");
            let mode = asked.params.get("mode");
            assert!(mode.is_none() || mode == Some(&json!("form")), "{case}");
            let schema = &asked.params["requestedSchema"];
            assert_eq!(schema["type"], "object", "{case}");
            assert_eq!(schema["properties"]["name"]["type"], "string", "{case}");
            assert_eq!(schema["required"], json!(["name"]), "{case}");
        }
    }
    for case in with(|it| it.elicitation_url) {
        for (method, params) in requests("url") {
            let mut client = connect(case, &server).await;
            let (response, asked) = converse(&mut client, method, params, good).await;
            assert!(handler_text(method, &response).contains("accept"), "{case}");
            let [asked] = &asked[..] else {
                panic!("{case}: {asked:?}")
            };
            assert_eq!(asked.params["mode"], "url", "{case}");
            assert_eq!(asked.params["message"], "Please sign in", "{case}");
            assert_eq!(asked.params["url"], url().url, "{case}");
            let id = asked.params["elicitationId"].as_str().unwrap_or_default();
            assert_eq!(
                id.len() >= 20,
                case.revision.features().elicitation_id,
                "{case}"
            );
        }
    }
}

#[tokio::test(start_paused = true)]
async fn minted_ids_differ() {
    let server = asking::server();
    for case in with(|it| it.elicitation_id) {
        let mut client = connect(case, &server).await;
        let mut ids = std::collections::HashSet::new();
        for _ in 0..20 {
            let [(method, params), ..] = requests("url");
            let (_, asked) = converse(&mut client, method, params, good).await;
            assert!(
                ids.insert(asked[0].params["elicitationId"].to_string()),
                "{case}"
            );
        }
    }
}

// requirement: 3914b88166a5
#[tokio::test(start_paused = true)]
async fn an_undeclared_mode_is_never_asked() {
    let server = asking::server();
    for case in with(|it| it.elicitation) {
        for (declared, form, url) in [
            (json!({}), true, false),
            (json!({"form": {}}), true, false),
            (json!({"url": {}}), false, true),
            (json!({"form": {}, "url": {}}), true, true),
        ] {
            let url = url && case.revision.features().elicitation_url;
            for (kind, may) in [("form", form), ("url", url)] {
                let able = json!({"elicitation": declared});
                let mut client = connect_able(case, &server, able).await;
                for (method, params) in requests(kind) {
                    let (response, asked) = converse(&mut client, method, params, good).await;
                    assert_eq!(asked.len(), usize::from(may), "{case} {declared} {kind}");
                    if may {
                        handler_text(method, &response);
                    }
                }
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_form_that_a_revision_cannot_express_is_never_asked() {
    let server = asking::server();
    for case in Case::all()
        .into_iter()
        .filter(|it| !it.revision.features().elicitation)
    {
        // Whatever a client of that revision says it can do.
        let able = json!({"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {}});
        let mut client = connect_able(case, &server, able).await;
        for kind in ["form", "url"] {
            for (method, params) in requests(kind) {
                let (response, asked) = converse(&mut client, method, params, good).await;
                assert_eq!(asked, [], "{case} {kind}");
                if method == "tools/call" {
                    error_text(&response);
                } else {
                    assert_eq!(code(&response), -32602, "{case} {kind}");
                }
            }
        }
    }
}

/// Creates a server with a form that has a field of several kinds, and returns the answers that
/// reach the handler.
fn filling() -> Server {
    let form = || {
        let schema = ElicitationSchema::new()
            .required("name", StringSchema::new().max_length(5u32))
            .required("size", SingleSelectEnumSchema::untitled(["s", "m"]))
            .optional("age", NumberSchema::integer().minimum(0u32));
        ElicitRequestFormParams::new("Fill in", schema)
    };
    Server::new("filling", "1.0.0")
        .tool(
            Tool::builder("fill").handler(move |(): (), context: HandlerContext| async move {
                let answer = context.ask("form", form())?;
                let name = answer
                    .field("name")
                    .and_then(|it| it.as_str())
                    .unwrap_or("nobody");
                Ok::<_, Failure>(format!("{} {name}", answer.action.as_str()))
            }),
        )
        .build()
        .unwrap()
}

// requirement: 30eacaf58089 557a9929c819
#[tokio::test(start_paused = true)]
async fn an_answer_off_the_form_is_refused() {
    let server = filling();
    let params = json!({"name": "fill"});
    for case in with(|it| it.elicitation) {
        let mut client = connect(case, &server).await;
        for content in [
            json!({"name": 5, "size": "s"}),
            json!({"name": "Ada"}),
            json!({"size": "s"}),
            json!({"name": "Ada", "size": "l"}),
            json!({"name": "Augusta", "size": "s"}),
            json!({"name": "Ada", "size": "s", "age": -1}),
            json!({"name": "Ada", "size": "s", "age": 1.5}),
            json!({"name": "Ada", "size": "s", "age": "1"}),
            json!({"name": ["Ada"], "size": "s"}),
            json!({"name": {"a": 1}, "size": "s"}),
            json!({}),
        ] {
            let answer = |_: &Question| json!({"action": "accept", "content": content});
            let (response, _) = converse(&mut client, "tools/call", params.clone(), answer).await;
            assert_eq!(code(&response), -32602, "{case} {content}");
            // What a user typed is not repeated.
            assert!(!response.to_string().contains("Augusta"), "{response}");
        }
        let bare = |_: &Question| json!({"action": "accept"});
        let (response, _) = converse(&mut client, "tools/call", params.clone(), bare).await;
        assert_eq!(code(&response), -32602, "{case}");
        let right = json!({"name": "Ada", "size": "m", "age": 36});
        let right = |_: &Question| json!({"action": "accept", "content": right});
        let (response, _) = converse(&mut client, "tools/call", params.clone(), right).await;
        assert_eq!(text(&response), "accept Ada", "{case}");
    }
}

// requirement: 43d41cce57a3
#[tokio::test(start_paused = true)]
async fn decline_cancel_and_failure_are_handled() {
    let server = filling();
    let params = json!({"name": "fill"});
    for case in with(|it| it.elicitation) {
        let mut client = connect(case, &server).await;
        for action in ["decline", "reject", "cancel"] {
            let read_as = if action == "reject" {
                "decline"
            } else {
                action
            };
            let answer = |_: &Question| json!({"action": action});
            let (response, _) = converse(&mut client, "tools/call", params.clone(), answer).await;
            // The handler hears of it, and says what comes of it.
            assert_eq!(text(&response), format!("{read_as} nobody"), "{case}");
            let answer = |_: &Question| json!({"action": action, "content": {"name": "Ada"}});
            let (response, _) = converse(&mut client, "tools/call", params.clone(), answer).await;
            assert_eq!(text(&response), format!("{read_as} nobody"), "{case}");
        }
        if case.is_legacy() {
            // A client that fails says so by an error; the modern one does not come back.
            let id = client.start("tools/call", params.clone()).await;
            let asked = client.next().await;
            client.answer_error(&asked["id"], -32603, "no window").await;
            assert!(
                error_text(&client.response(id).await).contains("no window"),
                "{case}"
            );
        }
        assert_eq!(client.messages().await, [Value::Null; 0], "{case}");
    }
    assert_eq!(ElicitAction::Decline.as_str(), "decline");
}

// requirement: 1f9b50267f31
#[tokio::test(start_paused = true)]
async fn an_invalid_url_is_refused() {
    for bad in [
        "",
        " ",
        "/sign-in",
        "example.com/sign-in",
        "https:",
        "https://",
        "https:///a",
        "https://exa mple.com",
        "https://example.com/a b",
        "https://example.com/\u{e9}",
        "https://example.com/%2",
        "//example.com",
    ] {
        let visit = move |context: HandlerContext| async move {
            context
                .ask("url", ElicitRequestUrlParams::new("Go", bad))
                .map(|_| "went".to_owned())
        };
        let needed = move |_: (), _: HandlerContext| async move {
            let urls = [ElicitRequestUrlParams::new("Go", bad)];
            Err::<String, _>(ProtocolError::url_elicitation_required(urls, "first"))
        };
        let server = Server::new("s", "1")
            .tool(
                Tool::builder("visit")
                    .handler(move |(): (), context: HandlerContext| visit(context)),
            )
            .tool(Tool::builder("needed").handler(needed))
            .build()
            .unwrap();
        for case in with(|it| it.elicitation_url) {
            let mut client = connect(case, &server).await;
            for name in ["visit", "needed"] {
                let answer = call(&mut client, name, json!({})).await;
                assert_eq!(code(&answer), -32603, "{case} {bad:?} {name}");
                assert!(message(&answer).contains("URL"), "{answer}");
            }
            assert_eq!(client.messages().await, [Value::Null; 0], "{case} {bad:?}");
        }
    }
}

/// Creates a server all of whose handlers need URLs to be visited first.
fn needing() -> Server {
    let needed = || {
        let urls = [
            ElicitRequestUrlParams::new("Sign in", "https://example.com/1"),
            ElicitRequestUrlParams::new("Pay", "https://example.com/2").elicitation_id("mine"),
        ];
        ProtocolError::url_elicitation_required(urls, "Not before you signed in")
    };
    Server::new("needing", "1.0.0")
        .tool(
            Tool::builder("act")
                .handler(move |(): (), _: HandlerContext| ready(Err::<String, _>(needed()))),
        )
        .tool(
            Tool::builder("pose").handler(async |(): (), _: HandlerContext| {
                Err::<String, _>(ProtocolError::application(-32042, "it only looks so"))
            }),
        )
        .prompt(
            Prompt::builder("act")
                .handler(move |(): (), _: HandlerContext| ready(Err::<String, _>(needed()))),
        )
        .resource(
            Resource::builder("act:1", "act").handler(move |_: ReadRequest, _: HandlerContext| {
                ready(Err::<String, _>(needed()))
            }),
        )
        .build()
        .unwrap()
}

// requirement: 57b9fed8843a 687733bd7544 af17488cda6c d23525363a93
#[tokio::test(start_paused = true)]
async fn a_needed_url_has_its_code() {
    let server = needing();
    let acts = [
        ("tools/call", json!({"name": "act"})),
        ("prompts/get", json!({"name": "act"})),
        ("resources/read", json!({"uri": "act:1"})),
    ];
    for case in Case::all() {
        let features = case.revision.features();
        let mut client = connect(case, &server).await;
        for (method, params) in acts.clone() {
            let answer = client.request(method, params).await;
            if features.url_required_error {
                assert_eq!(code(&answer), -32042, "{case}");
                assert_eq!(message(&answer), "Not before you signed in");
                let urls = answer["error"]["data"]["elicitations"].as_array().unwrap();
                assert_eq!(urls.len(), 2, "{case}");
                for (url, wanted) in urls.iter().zip(["1", "2"]) {
                    assert_eq!(url["mode"], "url", "{case}");
                    assert_eq!(
                        url["url"],
                        format!("https://example.com/{wanted}"),
                        "{case}"
                    );
                    assert!(!url["elicitationId"].as_str().unwrap().is_empty(), "{case}");
                }
                assert_eq!(urls[1]["elicitationId"], "mine");
            } else if case.is_modern() {
                assert_eq!(result(&answer)["resultType"], "input_required", "{case}");
                let asked = result(&answer)["inputRequests"].as_object().unwrap();
                let urls: Vec<_> = asked.values().map(|it| &it["params"]["url"]).collect();
                assert_eq!(
                    urls,
                    ["https://example.com/1", "https://example.com/2"],
                    "{case}"
                );
                assert!(!answer.to_string().contains("elicitationId"), "{case}");
            } else if method == "tools/call" {
                let text = error_text(&answer);
                assert!(text.contains("https://example.com/2"), "{case}: {text}");
            } else {
                assert!(message(&answer).contains("https://example.com/2"), "{case}");
                assert_ne!(code(&answer), -32042, "{case}");
            }
        }
        // The number means that, and nothing else.
        assert_ne!(
            code(&call(&mut client, "pose", json!({})).await),
            -32042,
            "{case}"
        );
        // Who cannot visit a URL is not told to.
        for able in [
            json!({}),
            json!({"elicitation": {}}),
            json!({"elicitation": {"form": {}}}),
        ] {
            let mut client = connect_able(case, &server, able).await;
            for (method, params) in acts.clone() {
                let answer = client.request(method, params).await;
                assert_ne!(answer["error"]["code"], -32042, "{case}");
                assert_ne!(answer["result"]["resultType"], "input_required", "{case}");
            }
        }
    }
}

// requirement: 002fd8c3c440 e2ae53d6eba7
#[tokio::test(start_paused = true)]
async fn completion_is_told_to_the_asked_client_alone() {
    for case in Case::all() {
        let kept: Arc<Mutex<Vec<ElicitationNotifier>>> = Arc::default();
        let keeping = kept.clone();
        let server = Server::new("visiting", "1.0.0")
            .tool(
                Tool::builder("visit").handler(move |(): (), context: HandlerContext| {
                    keeping.lock().unwrap().push(context.elicitation_notifier());
                    async move {
                        let needs = NeedsInput::new();
                        match context.raw_answer("url") {
                            Some(_) => Ok("visited"),
                            None => Err(needs.ask("url", url().elicitation_id("e-1"))),
                        }
                    }
                }),
            )
            .build()
            .unwrap();
        let mut asked = connect(case, &server).await;
        let mut other = connect(case, &server).await;
        let params = json!({"name": "visit"});
        let (answer, questions) = converse(&mut asked, "tools/call", params, good).await;
        let has = case.revision.features().elicitation_id;
        if has {
            assert_eq!(text(&answer), "visited", "{case}");
            assert_eq!(questions[0].params["elicitationId"], "e-1", "{case}");
        }
        // The request is long over when the interaction is.
        let announcer = kept.lock().unwrap().pop().expect("kept");
        announcer.notify_complete("e-1").await;
        let messages = asked.messages().await;
        if has {
            assert_eq!(messages.len(), 1, "{case}: {messages:?}");
            assert_eq!(
                messages[0]["method"], "notifications/elicitation/complete",
                "{case}"
            );
            assert_eq!(
                messages[0]["params"],
                json!({"elicitationId": "e-1"}),
                "{case}"
            );
        } else {
            assert_eq!(messages, [Value::Null; 0], "{case}");
        }
        other.expect_silence().await;
    }
}

// requirement: 302fe6ea0ff6
#[tokio::test(start_paused = true)]
async fn an_answer_from_another_session_is_unknown() {
    let server = filling();
    for case in Case::legacy()
        .into_iter()
        .filter(|it| it.revision.features().elicitation)
    {
        let mut asked = connect(case, &server).await;
        let mut other = connect(case, &server).await;
        let id = asked.start("tools/call", json!({"name": "fill"})).await;
        let question = asked.next().await;
        let eve = json!({"action": "accept", "content": {"name": "Eve", "size": "s"}});
        other.answer(&question["id"], eve.clone()).await;
        other.answer(&json!("unknown"), eve).await;
        other.expect_silence().await;
        assert!(!asked.is_answered(id).await, "{case}");
        let ada = json!({"action": "accept", "content": {"name": "Ada", "size": "s"}});
        asked.answer(&question["id"], ada).await;
        assert_eq!(text(&asked.response(id).await), "accept Ada", "{case}");
        // And an answer counts once.
        let late = json!({"action": "decline"});
        asked.answer(&question["id"], late).await;
        asked.expect_silence().await;
    }
}

#[tokio::test(start_paused = true)]
async fn several_questions_one_after_another() {
    let server = Server::new("s", "1")
        .tool(
            Tool::builder("two").handler(async |(): (), context: HandlerContext| {
                let first = context.ask("first", form())?;
                let second = context.ask("second", form())?;
                let name = |it: &turnbuckle_types::ElicitResult| {
                    let name = it.field("name").and_then(FieldValue::as_str);
                    name.unwrap_or_default().to_owned()
                };
                Ok::<_, Failure>(format!("{} {}", name(&first), name(&second)))
            }),
        )
        .build()
        .unwrap();
    for case in with(|it| it.elicitation) {
        let mut client = connect(case, &server).await;
        let params = json!({"name": "two"});
        let (answer, asked) = converse(&mut client, "tools/call", params, good).await;
        assert_eq!(text(&answer).matches("Ada").count(), 2, "{case}");
        assert_eq!(asked.len(), 2, "{case}");
    }
}
