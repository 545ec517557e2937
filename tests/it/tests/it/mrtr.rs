//! Requests that take several rounds: what is asked, what comes back, and what the state between
//! them is worth.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use turnbuckle_it::harness::{Case, Client, ClientOptions};
use turnbuckle_server::{
    Args, Failure, HandlerContext, NeedsInput, Prompt, ReadRequest, Resource, Server,
    ServerBuilder, Tool,
};
use turnbuckle_types::Principal;

use crate::asking::{self, KINDS, form, good_answer, handler_text, requests};
use crate::support::{
    Question, able, code, connect_able, connect_as, converse, message, principal, result, retry,
    text,
};

/// Counts how often its handlers run.
struct Counting {
    server: Server,
    runs: Arc<AtomicUsize>,
}

#[derive(Deserialize, JsonSchema)]
struct Subject {
    subject: String,
}

/// Creates a server whose tools `book` and `other` ask for a name, keep a state, and return both.
fn booking(change: impl FnOnce(ServerBuilder) -> ServerBuilder) -> Counting {
    let runs = Arc::new(AtomicUsize::new(0));
    let book = |runs: &Arc<AtomicUsize>| {
        let runs = runs.clone();
        move |Args(it): Args<Subject>, context: HandlerContext| {
            runs.fetch_add(1, Ordering::Relaxed);
            async move {
                let Some(answer) = context.answer("name", &form())? else {
                    let needs = NeedsInput::new().ask("name", form());
                    return Err(needs
                        .request_state(&format!("state of {}", it.subject))?
                        .into());
                };
                let name = answer
                    .field("name")
                    .and_then(|it| it.as_str())
                    .unwrap_or("nobody");
                let state: Option<String> = context.request_state()?;
                Ok::<_, Failure>(format!("{name}, {}", state.unwrap_or_default()))
            }
        }
    };
    let builder = Server::new("booking", "1.0.0")
        .tool(Tool::builder("book").handler(book(&runs)))
        .tool(Tool::builder("other").handler(book(&runs)))
        .prompt(Prompt::builder("book").handler(book(&runs)));
    Counting {
        server: change(builder).build().unwrap(),
        runs,
    }
}

fn book() -> Value {
    json!({"name": "book", "arguments": {"subject": "Bern"}})
}

async fn connect(case: Case, server: &Server) -> Client {
    connect_able(case, server, able(case.revision)).await
}

/// Does the first round and returns the parameters of the second.
async fn first_round(client: &mut Client) -> Value {
    let answer = client.request("tools/call", book()).await;
    assert_eq!(result(&answer)["resultType"], "input_required", "{answer}");
    retry(&book(), &answer["result"], |it| {
        good_answer(&it.method, &it.params)
    })
}

#[tokio::test(start_paused = true)]
async fn a_handler_is_written_once_for_every_era() {
    let booking = booking(|it| it);
    for case in Case::all()
        .into_iter()
        .filter(|it| it.revision.features().elicitation)
    {
        let mut client = connect(case, &booking.server).await;
        let answers = |question: &Question| good_answer(&question.method, &question.params);
        let (answer, asked) = converse(&mut client, "tools/call", book(), answers).await;
        assert_eq!(text(&answer), "Ada, state of Bern", "{case}");
        assert_eq!(asked.len(), 1, "{case}");
    }
}

// requirement: 04fc86c478df 0bef669f904e 3fbe8c354921 d8f377d978bb
#[tokio::test(start_paused = true)]
async fn nothing_is_asked_outside_a_result() {
    let server = asking::server();
    for case in Case::modern() {
        let mut client = connect(case, &server).await;
        for kind in KINDS {
            for (method, params) in requests(kind) {
                let answer = |it: &Question| good_answer(&it.method, &it.params);
                let (response, asked) = converse(&mut client, method, params, answer).await;
                assert!(handler_text(method, &response).starts_with(kind), "{case}");
                assert_eq!(asked.len(), 1, "{case}");
            }
        }
        client.settle().await;
        let asks = |it: &&Value| it.get("method").is_some();
        assert_eq!(client.received_messages().iter().find(asks), None, "{case}");
    }
}

// requirement: 4f182538b1ca
#[tokio::test(start_paused = true)]
async fn all_three_kinds_are_asked_at_once() {
    let server = asking::server();
    for case in Case::modern() {
        let mut client = connect(case, &server).await;
        for (method, params) in requests("form,sample,roots") {
            let response = client.request(method, params.clone()).await;
            let asked = result(&response)["inputRequests"].as_object().unwrap();
            let mut kinds: Vec<_> = asked
                .iter()
                .map(|(key, it)| (key.as_str(), it["method"].as_str().unwrap()))
                .collect();
            kinds.sort_unstable();
            assert_eq!(
                kinds,
                [
                    ("form", "elicitation/create"),
                    ("roots", "roots/list"),
                    ("sample", "sampling/createMessage"),
                ],
                "{case} {method}"
            );
            let again = retry(&params, &response["result"], |it| {
                good_answer(&it.method, &it.params)
            });
            let said = handler_text(method, &client.request(method, again).await);
            for answer in ["Ada", "something", "file:///home/ada"] {
                assert!(said.contains(answer), "{case} {method}: {said}");
            }
        }
    }
}

// requirement: 027fd5898b01 121724366e67 348ddb154e8f
#[tokio::test(start_paused = true)]
async fn tampered_state_is_refused() {
    let booking = booking(|it| it);
    for case in Case::modern() {
        let mut client = connect(case, &booking.server).await;
        let again = first_round(&mut client).await;
        let state = again["requestState"].as_str().unwrap().to_owned();
        // It tells a reader nothing.
        assert!(!state.contains("Bern"), "{state}");
        booking.runs.store(0, Ordering::Relaxed);
        let mut bad: Vec<String> = ["", "x", "garbage", &state[1..], &state[..state.len() - 1]]
            .map(str::to_owned)
            .into();
        bad.push(format!("{state}A"));
        bad.push("A".repeat(200_000));
        for place in 0..state.len() {
            let other = if &state[place..=place] == "A" {
                "B"
            } else {
                "A"
            };
            let mut changed = state.clone();
            changed.replace_range(place..=place, other);
            bad.push(changed);
        }
        for state in bad {
            let mut tampered = again.clone();
            tampered["requestState"] = state.as_str().into();
            let answer = client.request("tools/call", tampered).await;
            assert_eq!(code(&answer), -32602, "{case} {state:.60}");
        }
        for no_string in [json!(5), json!({}), json!([]), json!(true)] {
            let mut tampered = again.clone();
            tampered["requestState"] = no_string;
            assert_eq!(
                code(&client.request("tools/call", tampered).await),
                -32602,
                "{case}"
            );
        }
        assert_eq!(booking.runs.load(Ordering::Relaxed), 0, "{case}");
        let answer = client.request("tools/call", again).await;
        assert_eq!(text(&answer), "Ada, state of Bern", "{case}");
    }
}

// requirement: 07ce33f9b422
#[tokio::test(start_paused = true)]
async fn state_of_another_request_is_refused() {
    let booking = booking(|it| it);
    for case in Case::modern() {
        let mut client = connect(case, &booking.server).await;
        let again = first_round(&mut client).await;
        booking.runs.store(0, Ordering::Relaxed);
        let with = |name: &str, value: Value| {
            let mut other = again.clone();
            other[name] = value;
            other
        };
        for (method, params) in [
            ("tools/call", with("name", "other".into())),
            ("tools/call", with("arguments", json!({"subject": "Basel"}))),
            (
                "tools/call",
                with("arguments", json!({"subject": "Bern", "more": 1})),
            ),
            ("tools/call", with("arguments", json!({}))),
            ("prompts/get", again.clone()),
        ] {
            let answer = client.request(method, params).await;
            assert_eq!(code(&answer), -32602, "{case} {method}");
            assert!(message(&answer).contains("requestState"), "{answer}");
        }
        assert_eq!(booking.runs.load(Ordering::Relaxed), 0, "{case}");
        // Spelled otherwise, and under another `_meta`, it is the same request.
        let mut same = with("arguments", json!({"subject": "Bern"}));
        same["_meta"] = json!({"com.example/trace": 1});
        assert_eq!(
            text(&client.request("tools/call", same).await),
            "Ada, state of Bern"
        );
    }
}

// requirement: 07ce33f9b422
#[tokio::test(start_paused = true)]
async fn state_of_another_resource_is_refused() {
    let handler = async |reading: ReadRequest, context: HandlerContext| {
        let needs = NeedsInput::new()
            .ask("name", form())
            .request_state(&reading.uri)?;
        context.raw_answer("name").ok_or(needs)?;
        Ok::<_, Failure>(context.request_state::<String>()?.unwrap_or_default())
    };
    let resource = Resource::builder("doc:{id}", "doc").handler(handler);
    let server = Server::new("docs", "1").resource(resource).build().unwrap();
    for case in Case::modern() {
        let mut client = connect(case, &server).await;
        // What names a resource is its URI, whatever else is there.
        for name in [json!("same"), json!(5), Value::Null] {
            let params = json!({"uri": "doc:a", "name": name});
            let asked = client.request("resources/read", params.clone()).await;
            let mut again = retry(&params, &asked["result"], |it| {
                good_answer(&it.method, &it.params)
            });
            let answer = client.request("resources/read", again.clone()).await;
            assert_eq!(handler_text("resources/read", &answer), "doc:a", "{case}");
            again["uri"] = "doc:b".into();
            let answer = client.request("resources/read", again).await;
            assert_eq!(code(&answer), -32602, "{case} {name}");
            assert!(message(&answer).contains("requestState"), "{answer}");
        }
    }
}

// requirement: 302fe6ea0ff6 67a1e62c629d 901626f074fe
#[tokio::test(start_paused = true)]
async fn state_of_another_principal_is_refused() {
    let booking = booking(|it| it);
    for case in Case::modern() {
        let able = able(case.revision);
        let connect = |who: Option<Principal>| {
            let options = ClientOptions::new().capabilities(able.clone());
            let options = match who {
                Some(who) => options.principal(who),
                None => options,
            };
            Client::connect_with(case, &booking.server, options)
        };
        let mut ada = connect(Some(principal("ada"))).await;
        let again = first_round(&mut ada).await;
        booking.runs.store(0, Ordering::Relaxed);
        let elsewhere = Principal::new("https://other.example", "ada");
        for other in [
            None,
            Some(principal("bob")),
            Some(elsewhere),
            Some(principal("ada").client("another client")),
        ] {
            let mut other = connect(other).await;
            let answer = other.request("tools/call", again.clone()).await;
            assert_eq!(code(&answer), -32602, "{case}");
        }
        assert_eq!(booking.runs.load(Ordering::Relaxed), 0, "{case}");
        // What a principal may do is not who it is.
        let mut same = connect(Some(principal("ada").scopes(["more"]))).await;
        assert_eq!(
            text(&same.request("tools/call", again).await),
            "Ada, state of Bern"
        );
    }
}

// requirement: e7131f1f0c8e
#[tokio::test(start_paused = true)]
async fn expired_state_is_refused() {
    let booking = booking(|it| it.request_state_ttl(Duration::ZERO));
    for case in Case::modern() {
        let mut client = connect(case, &booking.server).await;
        let again = first_round(&mut client).await;
        let answer = client.request("tools/call", again).await;
        assert_eq!(code(&answer), -32602, "{case}");
        assert!(message(&answer).contains("expired"), "{case}: {answer}");
    }
}

// requirement: 2e3e18011b49 8e89aa4ca509
#[tokio::test(start_paused = true)]
async fn malformed_inputs_are_32602() {
    let booking = booking(|it| it);
    for case in Case::modern() {
        let mut client = connect(case, &booking.server).await;
        let again = first_round(&mut client).await;
        let too_many: serde_json::Map<_, _> =
            (0..1025).map(|n| (n.to_string(), json!({}))).collect();
        for responses in [
            json!([]),
            json!("accept"),
            json!(5),
            json!({"name": 5}),
            json!({"name": "accept"}),
            json!({"name": []}),
            json!({"name": null}),
            json!({"name": {}}),
            json!({"name": {"action": "perhaps"}}),
            json!({"name": {"action": 5}}),
            json!({"name": {"action": "accept", "content": "Ada"}}),
            json!({"name": {"action": "accept", "content": {}}}),
            json!({"name": {"action": "accept", "content": {"name": "Ada"}}, "other": 5}),
            too_many.into(),
        ] {
            let mut malformed = again.clone();
            malformed["inputResponses"] = responses.clone();
            let answer = client.request("tools/call", malformed).await;
            assert_eq!(code(&answer), -32602, "{case} {responses}");
        }
        let long = json!({"name": {"action": "x".repeat(100_000)}});
        let mut malformed = again.clone();
        malformed["inputResponses"] = long;
        let answer = client.request("tools/call", malformed).await;
        assert!(message(&answer).len() < 300, "{case}");
        assert_eq!(
            text(&client.request("tools/call", again).await),
            "Ada, state of Bern"
        );
    }
}

// requirement: e740ea205891
#[tokio::test(start_paused = true)]
async fn missing_inputs_are_asked_again() {
    let server = asking::server();
    for case in Case::modern() {
        let mut client = connect(case, &server).await;
        for (method, params) in requests("form,sample,roots") {
            let first = client.request(method, params.clone()).await;
            let whole = retry(&params, &first["result"], |it| {
                good_answer(&it.method, &it.params)
            });
            let mut part = whole.clone();
            let responses = part["inputResponses"].as_object_mut().unwrap();
            responses.remove("sample");
            responses.remove("roots");
            let second = client.request(method, part).await;
            assert_eq!(result(&second)["resultType"], "input_required", "{case}");
            let asked = result(&second)["inputRequests"].as_object().unwrap();
            let mut keys: Vec<_> = asked.keys().map(String::as_str).collect();
            keys.sort_unstable();
            assert_eq!(keys, ["roots", "sample"], "{case}");
            // What was answered is not asked for again, although the client sends it no more.
            let rest = retry(&params, &second["result"], |it| {
                good_answer(&it.method, &it.params)
            });
            let said = handler_text(method, &client.request(method, rest).await);
            assert!(
                said.contains("Ada") && said.contains("something"),
                "{case}: {said}"
            );
        }
        // Nothing at all is answered: everything is asked again.
        let [(method, mut params), ..] = requests("form");
        params["inputResponses"] = json!({});
        let again = client.request(method, params).await;
        let asked = result(&again)["inputRequests"].as_object().unwrap();
        assert_eq!(asked.len(), 1, "{case}");
    }
}

// requirement: 22d3c1584a3b
#[tokio::test(start_paused = true)]
async fn surplus_inputs_are_ignored() {
    let booking = booking(|it| it);
    for case in Case::modern() {
        let mut client = connect(case, &booking.server).await;
        let mut again = first_round(&mut client).await;
        for key in ["", "names", "Name", "constructor", "__proto__"] {
            again["inputResponses"][key] = json!({"action": "accept", "content": {"name": "Eve"}});
        }
        again["inputResponses"]["name"]["com.example/more"] = json!([1, {"a": null}]);
        assert_eq!(
            text(&client.request("tools/call", again).await),
            "Ada, state of Bern"
        );
        // Neither do they matter to who never asks.
        let [_, (method, mut params), _] = requests("");
        params["inputResponses"] = json!({"name": {"action": "accept"}});
        params["name"] = "nothing".into();
        assert_eq!(
            code(&client.request(method, params).await),
            -32602,
            "{case}"
        );
    }
}

// requirement: 4d7c1880ff7f c257186b73e7
#[tokio::test(start_paused = true)]
async fn an_undeclared_input_is_never_asked() {
    let server = asking::server();
    for case in Case::modern() {
        for (kind, kinds_left) in [
            ("elicitation", ["sample", "roots"]),
            ("sampling", ["form", "roots"]),
            ("roots", ["form", "sample"]),
        ] {
            let mut capabilities = able(case.revision);
            capabilities.as_object_mut().unwrap().remove(kind);
            let mut client = connect_able(case, &server, capabilities).await;
            for (method, params) in requests("form,sample,roots") {
                let answer = client.request(method, params).await;
                assert_eq!(code(&answer), -32021, "{case} {kind}");
                let required = answer["error"]["data"]["requiredCapabilities"]
                    .as_object()
                    .unwrap();
                assert_eq!(required.keys().collect::<Vec<_>>(), [kind], "{case}");
            }
            for (method, params) in requests(&kinds_left.join(",")) {
                let answer = client.request(method, params).await;
                assert_eq!(
                    result(&answer)["resultType"],
                    "input_required",
                    "{case} {kind}"
                );
            }
        }
    }
}

// requirement: 12b24ae984fb
#[tokio::test(start_paused = true)]
async fn an_abandoned_round_holds_nothing() {
    let booking = booking(|it| it);
    for case in Case::modern() {
        let mut client = connect(case, &booking.server).await;
        let first = first_round(&mut client).await;
        for _ in 0..300 {
            first_round(&mut client).await;
        }
        // Whatever a handler holds while it runs is gone: nothing waits for the client.
        assert_eq!(Arc::strong_count(&booking.runs), 4, "{case}");
        let answer = client.request("tools/call", first).await;
        assert_eq!(text(&answer), "Ada, state of Bern");
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_may_not_see_a_tool_cannot_resume_its_call() {
    let server = Server::new("s", "1")
        .tool(
            Tool::builder("book")
                .handler(async |Args(_): Args<Subject>, context: HandlerContext| {
                    context.ask("name", form()).map(|_| "went on")
                })
                .visible_to(|who| who.is_some_and(|who| who.subject == "ada")),
        )
        .build()
        .unwrap();
    for case in Case::modern() {
        let mut bob = connect_as(case, &server, "bob").await;
        let mut again = book();
        again["inputResponses"] = json!({"name": {"action": "decline"}});
        let answer = bob.request("tools/call", again).await;
        assert_eq!(code(&answer), -32602, "{case}");
    }
}
