//! Tests of the input that a handler may need from its client, and of its limits.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use turnbuckle_it::harness::{Case, Client};
use turnbuckle_server::{
    Args, CompletionRequest, Extension, Extract, Failure, HandlerContext, Invocation, NeedsInput,
    Prompt, Result, Server, Tool,
};
use turnbuckle_types::{
    CompleteRequestParams, CompleteResult, ElicitRequestUrlParams, ExtensionRequest, ProtocolError,
    Request,
};

use crate::asking::{self, form, good_answer, handler_text, requests, url};
use crate::refusals::Refusals;
use crate::support::{
    Question, able, call, code, connect_able, converse, error_text, message, result, text,
};

#[derive(Deserialize, JsonSchema)]
struct Subject {
    #[expect(dead_code, reason = "only its name is of interest")]
    subject: String,
}

async fn connect(case: Case, server: &Server) -> Client {
    connect_able(case, server, able(case.revision)).await
}

#[tokio::test(start_paused = true)]
async fn a_legacy_round_goes_out_together_and_the_first_failure_ends_it() {
    let server = asking::server();
    for case in Case::legacy() {
        let mut client = connect(case, &server).await;
        let [(method, params), ..] = requests("roots,sample");
        let id = client.start(method, params.clone()).await;
        let asked = client.messages().await;
        let of = |method: &str| asked.iter().find(|it| it["method"] == method).unwrap();
        let (roots, sample) = (of("roots/list"), of("sampling/createMessage"));
        assert_eq!(asked.len(), 2, "{case}");
        // In any order.
        client
            .answer(
                &sample["id"],
                good_answer("sampling/createMessage", &Value::Null),
            )
            .await;
        assert!(!client.is_answered(id).await, "{case}");
        client
            .answer(&roots["id"], good_answer("roots/list", &Value::Null))
            .await;
        assert!(
            handler_text(method, &client.response(id).await).contains("something"),
            "{case}"
        );

        let id = client.start(method, params).await;
        let asked = client.messages().await;
        let of = |method: &str| asked.iter().find(|it| it["method"] == method).unwrap();
        client
            .answer_error(&of("sampling/createMessage")["id"], -1, "User rejected")
            .await;
        assert!(
            error_text(&client.response(id).await).contains("User rejected"),
            "{case}"
        );
        let taken_back = client.messages().await;
        assert_eq!(taken_back.len(), 1, "{case}");
        assert_eq!(taken_back[0]["method"], "notifications/cancelled", "{case}");
        assert_eq!(
            taken_back[0]["params"]["requestId"],
            of("roots/list")["id"],
            "{case}"
        );
    }
}

/// Creates a server with a tool that needs the given input.
fn needing(needs: fn() -> Result<NeedsInput>) -> Server {
    Server::new("needing", "1.0.0")
        .tool(
            Tool::builder("need").handler(move |(): (), context: HandlerContext| async move {
                if context.raw_answer("a").is_some() || context.request_state::<u8>()?.is_some() {
                    return Ok::<_, Failure>("went on");
                }
                Err(needs()?.into())
            }),
        )
        .build()
        .unwrap()
}

// requirement: e0ddc6737b70
#[tokio::test(start_paused = true)]
async fn an_empty_round_is_refused() {
    let server = needing(|| Ok(NeedsInput::new()));
    for case in Case::all() {
        let mut client = connect(case, &server).await;
        let answer = call(&mut client, "need", json!({})).await;
        assert_eq!(code(&answer), -32603, "{case}");
        assert_eq!(client.messages().await, [Value::Null; 0], "{case}");
    }
    // A state alone is something to come back with.
    let server = needing(|| Ok(NeedsInput::new().request_state(&5)?));
    for case in Case::all() {
        let mut client = connect(case, &server).await;
        let params = json!({"name": "need"});
        let nobody = |_: &Question| panic!("nothing was asked");
        let (answer, _) = converse(&mut client, "tools/call", params, nobody).await;
        assert_eq!(text(&answer), "went on", "{case}");
    }
}

// requirement: 10658fbe8c6f
#[tokio::test(start_paused = true)]
async fn a_repeated_key_is_refused() {
    let server = needing(|| Ok(NeedsInput::new().ask("a", form()).ask("a", url())));
    for case in Case::all() {
        let mut client = connect(case, &server).await;
        let answer = call(&mut client, "need", json!({})).await;
        assert_eq!(code(&answer), -32603, "{case}");
        assert!(message(&answer).contains("\"a\""), "{case}: {answer}");
        assert_eq!(client.messages().await, [Value::Null; 0], "{case}");
    }
}

struct Probe;

impl Request for Probe {
    const METHOD: &'static str = "example/probe";
    type Params = CompleteRequestParams;
    type Result = CompleteResult;
}

impl ExtensionRequest for Probe {
    const EXTENSION: &'static str = "com.example/probe";
}

// requirement: 48c3bc054aef
#[tokio::test(start_paused = true)]
async fn only_three_methods_may_need_input() {
    let completer = async |_: CompletionRequest, context: HandlerContext| {
        // There is no way to say it but through an error, which a completer has none of.
        assert!(context.ask("name", form()).is_err());
        Vec::<String>::new()
    };
    let probing = Extension::new("com.example/probe").method::<Probe, _, _>(
        async |params: CompleteRequestParams, context: HandlerContext| {
            if params.argument.value == "visit" {
                let url = ElicitRequestUrlParams::new("Sign in", "https://example.com/sign-in");
                return Err(ProtocolError::url_elicitation_required([url], "Sign in").into());
            }
            context.ask("name", form())?;
            Err(Failure::new("not asked"))
        },
    );
    let server = Server::new("s", "1")
        .prompt(
            Prompt::builder("p")
                .handler(async |Args(_): Args<Subject>, _: HandlerContext| String::new())
                .complete("subject", completer),
        )
        .extension(probing)
        .build()
        .unwrap();
    for case in Case::modern() {
        let mut able = able(case.revision);
        able["extensions"] = json!({"com.example/probe": {}});
        let mut client = connect_able(case, &server, able).await;
        let typed = |value: &str| {
            json!({
                "ref": {"type": "ref/prompt", "name": "p"},
                "argument": {"name": "subject", "value": value},
            })
        };
        let answer = client.request("completion/complete", typed("")).await;
        assert_eq!(result(&answer)["resultType"], "complete", "{case}");
        for value in ["", "visit"] {
            let answer = client.request("example/probe", typed(value)).await;
            assert_eq!(code(&answer), -32603, "{case}");
            assert!(message(&answer).contains("input"), "{case}: {answer}");
        }
    }
}

/// A parameter that asks before its handler begins.
struct Named;

impl Extract for Named {
    async fn extract(incoming: &Invocation<'_>) -> Result<Self> {
        incoming.context().ask("name", form())?;
        Ok(Self)
    }
}

#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only the names are of interest")]
struct Address {
    street: String,
    city: String,
    country: String,
}

// requirement: 48c3bc054aef
#[tokio::test(start_paused = true)]
async fn a_completion_asks_for_nothing() {
    let server = Server::new("s", "1")
        .prompt(
            Prompt::builder("p")
                .handler(async |Args(_): Args<Address>, _: HandlerContext| String::new())
                .complete("street", async |_: CompletionRequest, _: Named| {
                    Vec::<String>::new()
                })
                .complete("city", async |_: CompletionRequest| {
                    Err::<Vec<String>, _>(ProtocolError::url_elicitation_required([url()], "first"))
                })
                .complete(
                    "country",
                    |_: CompletionRequest, context: HandlerContext| -> Result<Vec<String>> {
                        context.ask("name", form())?;
                        Ok(Vec::new())
                    },
                ),
        )
        .build()
        .unwrap();
    for case in Case::all() {
        let mut client = connect(case, &server).await;
        for argument in ["street", "city", "country"] {
            let params = json!({
                "ref": {"type": "ref/prompt", "name": "p"},
                "argument": {"name": argument, "value": ""},
            });
            let answer = client.request("completion/complete", params).await;
            assert_eq!(code(&answer), -32603, "{case} {argument}: {answer}");
            let message = message(&answer);
            assert!(
                message.contains("a completion cannot ask"),
                "{case}: {message}"
            );
        }
        assert_eq!(client.messages().await, [Value::Null; 0], "{case}");
    }
}

#[tokio::test(start_paused = true)]
async fn rounds_are_bounded() {
    let refusals = Refusals::start();
    let asked = Arc::new(AtomicUsize::new(0));
    let counter = asked.clone();
    let server = Server::new("insatiable", "1.0.0")
        .tool(
            Tool::builder("more").handler(move |(): (), context: HandlerContext| {
                let at = counter.fetch_add(1, Ordering::Relaxed);
                async move { context.ask(&format!("q{at}"), form()).map(|_| "never") }
            }),
        )
        .max_input_rounds(3)
        .build()
        .unwrap();
    for case in Case::legacy()
        .into_iter()
        .filter(|it| it.revision.features().elicitation)
    {
        let mut client = connect(case, &server).await;
        let answers = |it: &Question| good_answer(&it.method, &it.params);
        let params = json!({"name": "more"});
        let (answer, asked) = converse(&mut client, "tools/call", params, answers).await;
        assert!(
            error_text(&answer).ends_with("more than 3 times"),
            "{case}: {answer}"
        );
        assert_eq!(asked.len(), 3, "{case}");
    }
    assert!(refusals.count("ServerBuilder::max_input_rounds") > 0);
}

#[tokio::test(start_paused = true)]
async fn an_error_after_the_last_round_is_sent_unchanged() {
    let server = Server::new("s", "1")
        .tool(
            Tool::builder("once").handler(async |(): (), context: HandlerContext| {
                context.ask("name", form())?;
                Err::<String, _>(Failure::new("disk full"))
            }),
        )
        .tool(
            Tool::builder("never").handler(async |(): (), _: HandlerContext| {
                Err::<String, _>(Failure::new("disk full"))
            }),
        )
        .max_input_rounds(1)
        .build()
        .unwrap();
    for case in Case::all()
        .into_iter()
        .filter(|it| it.revision.features().elicitation)
    {
        let mut client = connect(case, &server).await;
        for name in ["once", "never"] {
            let answers = |it: &Question| good_answer(&it.method, &it.params);
            let params = json!({"name": name});
            let (answer, _) = converse(&mut client, "tools/call", params, answers).await;
            assert_eq!(error_text(&answer), "disk full", "{case} {name}");
        }
    }
}
