//! tower layers around servers, groups and items.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{self, Poll};
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tower::limit::ConcurrencyLimitLayer;
use tower::timeout::TimeoutLayer;
use tower_layer::Layer;
use tower_service::Service;
use turnbuckle_it::harness::{Case, Client};
use turnbuckle_server::service::{CallKind, CallRequest, CallResponse, CallService};
use turnbuckle_server::{Ask, Failure, Group, HandlerContext, Prompt, Resource, Server, Tool};
use turnbuckle_types::{
    BooleanSchema, ElicitRequestParams, ElicitRequestUrlParams, ElicitationSchema, ProtocolError,
};

use super::policy::Busy;
use crate::support::{
    Question, able, call, code, connect_able, converse, error_text, message, result, text,
};

/// Notes what passes it, in and out, in one list with others.
#[derive(Clone)]
struct Notes {
    name: &'static str,
    list: Arc<Mutex<Vec<String>>>,
}

#[derive(Clone)]
struct Noting(Notes, CallService);

impl Layer<CallService> for Notes {
    type Service = Noting;

    fn layer(&self, inner: CallService) -> Noting {
        Noting(self.clone(), inner)
    }
}

type Answering<E> = Pin<Box<dyn Future<Output = Result<CallResponse, E>> + Send>>;

impl Service<CallRequest> for Noting {
    type Response = CallResponse;
    type Error = Infallible;
    type Future = Answering<Infallible>;

    fn poll_ready(&mut self, cx: &mut task::Context<'_>) -> Poll<Result<(), Infallible>> {
        self.1.poll_ready(cx)
    }

    fn call(&mut self, call: CallRequest) -> Self::Future {
        let Notes { name, list } = self.0.clone();
        list.lock()
            .unwrap()
            .push(format!("{name}: {:?} {}", call.kind(), call.name()));
        let answer = self.1.call(call);
        Box::pin(async move {
            let answer = answer.await?;
            list.lock()
                .unwrap()
                .push(format!("{name}: failed {}", answer.is_error()));
            Ok(answer)
        })
    }
}

#[tokio::test(start_paused = true)]
async fn the_outermost_layer_runs_first_and_later_items_have_the_layers_of_the_server() {
    let list = Arc::default();
    let notes = |name| Notes {
        name,
        list: Arc::clone(&list),
    };
    let group = Group::new()
        .layer(notes("group"))
        .tool(
            Tool::builder("fails")
                .handler(|| Err::<(), _>("no"))
                .layer(notes("first"))
                .layer(notes("second")),
        )
        .prompt(Prompt::builder("p").handler(async || "p"))
        .resource(Resource::builder("r://{x}", "r").handler(async || "r"));
    let server = Server::new("s", "1")
        .layer(notes("server"))
        .group(group)
        .build()
        .unwrap();
    server
        .add_tool(Tool::builder("later").handler(|| "later"))
        .unwrap();
    let passed = || list.lock().unwrap().drain(..).collect::<Vec<String>>();
    for case in Case::all() {
        let mut client = Client::connect(case, &server).await;
        assert_eq!(
            error_text(&call(&mut client, "fails", json!({})).await),
            "no",
            "{case}"
        );
        let names = ["server", "group", "first", "second"];
        let inward = names.iter().map(|name| format!("{name}: Tool fails"));
        let outward = names
            .iter()
            .rev()
            .map(|name| format!("{name}: failed true"));
        assert_eq!(
            passed(),
            inward.chain(outward).collect::<Vec<_>>(),
            "{case}"
        );
        assert_eq!(
            text(&call(&mut client, "later", json!({})).await),
            "later",
            "{case}"
        );
        assert_eq!(
            passed(),
            ["server: Tool later", "server: failed false"],
            "{case}"
        );
        client.request("prompts/get", json!({"name": "p"})).await;
        assert_eq!(
            passed()[..2],
            ["server: Prompt p", "group: Prompt p"],
            "{case}"
        );
        client
            .request("resources/read", json!({"uri": "r://1"}))
            .await;
        assert_eq!(
            passed()[..2],
            ["server: Resource r://1", "group: Resource r://1"],
            "{case}"
        );
        call(&mut client, "unknown", json!({})).await;
        assert_eq!(
            passed(),
            [""; 0],
            "what does not exist is not called, {case}"
        );
    }
}

/// Answers for what is called, or changes how it failed.
#[derive(Clone)]
struct Gate(CallService);

impl Service<CallRequest> for Gate {
    type Response = CallResponse;
    type Error = Failure;
    type Future = Answering<Failure>;

    fn poll_ready(&mut self, _: &mut task::Context<'_>) -> Poll<Result<(), Failure>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, call: CallRequest) -> Self::Future {
        assert_eq!(call.kind(), CallKind::Tool);
        let name = call.name().to_owned();
        let answer = self.0.call(call);
        Box::pin(async move {
            match name.as_str() {
                "cached" => CallResponse::from_tool_output("from the layer"),
                "shut" => Err(Failure::new("the gate is shut")),
                "changed" => match answer.await {
                    Ok(answer) if answer.is_error() => {
                        Ok(CallResponse::from_failure("it failed, softly"))
                    }
                    Ok(answer) => Ok(answer),
                },
                _ => answer.await.map_err(|never| match never {}),
            }
        })
    }
}

#[tokio::test(start_paused = true)]
async fn a_layer_answers_itself_fails_and_changes_failures() {
    let failing = |name: &'static str| Tool::builder(name).handler(async || Err::<(), _>("hard"));
    let server = Server::new("s", "1")
        .group(
            Group::new()
                .layer(tower_layer::layer_fn(Gate))
                .tool(failing("cached"))
                .tool(failing("shut"))
                .tool(failing("changed"))
                .tool(failing("passed")),
        )
        .build()
        .unwrap();
    for case in Case::all() {
        let mut client = Client::connect(case, &server).await;
        let mut answer = async |name| call(&mut client, name, json!({})).await;
        assert_eq!(text(&answer("cached").await), "from the layer", "{case}");
        assert_eq!(
            error_text(&answer("shut").await),
            "the gate is shut",
            "{case}"
        );
        assert_eq!(
            error_text(&answer("changed").await),
            "it failed, softly",
            "{case}"
        );
        assert_eq!(error_text(&answer("passed").await), "hard", "{case}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_timeout_of_towers_is_a_failure() {
    let endless = async || std::future::pending::<String>().await;
    let server = Server::new("s", "1")
        .layer(TimeoutLayer::new(Duration::from_secs(3)))
        .tool(Tool::builder("endless").handler(endless))
        .tool(Tool::builder("quick").handler(|| "quick"))
        .prompt(Prompt::builder("endless").handler(endless))
        .build()
        .unwrap();
    for case in Case::all() {
        let mut client = Client::connect(case, &server).await;
        assert_eq!(
            text(&call(&mut client, "quick", json!({})).await),
            "quick",
            "{case}"
        );
        let late = call(&mut client, "endless", json!({})).await;
        assert_eq!(error_text(&late), "request timed out", "{case}");
        let late = client
            .request("prompts/get", json!({"name": "endless"}))
            .await;
        assert_eq!(message(&late), "request timed out", "{case}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_limit_of_towers_around_a_group_is_one_for_all_in_it() {
    for case in Case::all() {
        let busy = Busy::new();
        let server = Server::new("s", "1")
            .group(
                Group::new()
                    .layer(ConcurrencyLimitLayer::new(2))
                    .tool(busy.tool("one"))
                    .tool(busy.tool("two")),
            )
            .build()
            .unwrap();
        let mut client = Client::connect(case, &server).await;
        let mut ids = Vec::new();
        for name in ["one", "two", "one", "two", "one"] {
            ids.push(
                client
                    .start("tools/call", json!({"name": name, "arguments": {}}))
                    .await,
            );
        }
        for id in ids {
            assert_eq!(text(&client.response(id).await), "done", "{case}");
        }
        assert_eq!(busy.most(), 2, "{case}");
    }
}

#[tokio::test(start_paused = true)]
async fn questions_to_the_client_pass_layers_and_turns() {
    let asks = async |context: HandlerContext| {
        let fields = ElicitationSchema::new().required("go", BooleanSchema::new());
        let answer = context.ask("go", ElicitRequestParams::form("Go?", fields))?;
        Ok::<_, Failure>(format!("{:?}", answer.action))
    };
    let list = Arc::default();
    let server = Server::new("s", "1")
        .max_concurrent(1)
        .layer(Notes {
            name: "layer",
            list: Arc::clone(&list),
        })
        .tool(Tool::builder("asks").handler(asks))
        .build()
        .unwrap();
    for case in Case::all() {
        let able = able(case.revision);
        if able.get("elicitation").is_none() {
            continue;
        }
        let mut client = connect_able(case, &server, able).await;
        let params = json!({"name": "asks", "arguments": {}});
        let accept = |_: &_| json!({"action": "accept", "content": {"go": true}});
        let (answer, asked) = converse(&mut client, "tools/call", params, accept).await;
        assert_eq!((text(&answer), asked.len()), ("Accept", 1), "{case}");
        assert_ne!(result(&answer)["isError"], json!(true), "{case}");
        assert!(!list.lock().unwrap().is_empty());
    }
}

/// A layer made of a function of the call and of what it is passed on to.
#[derive(Clone)]
struct With<F>(F, CallService);

fn with<F: Clone>(function: F) -> impl Layer<CallService, Service = With<F>> {
    tower_layer::layer_fn(move |inner| With(function.clone(), inner))
}

impl<F, Fut> Service<CallRequest> for With<F>
where
    F: Fn(CallRequest, CallService) -> Fut,
    Fut: Future<Output = Result<CallResponse, Failure>> + Send + 'static,
{
    type Response = CallResponse;
    type Error = Failure;
    type Future = Fut;

    fn poll_ready(&mut self, _: &mut task::Context<'_>) -> Poll<Result<(), Failure>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, call: CallRequest) -> Fut {
        self.0(call, self.1.clone())
    }
}

async fn pass(call: CallRequest, mut inner: CallService) -> CallResponse {
    inner
        .call(call)
        .await
        .unwrap_or_else(|never| match never {})
}

#[derive(Deserialize, JsonSchema)]
struct Go {
    go: bool,
}

fn go(_: &Question) -> Value {
    json!({"action": "accept", "content": {"go": true}})
}

#[tokio::test(start_paused = true)]
async fn a_layer_may_repeat_a_call_in_any_round() {
    let runs = Arc::new(AtomicUsize::new(0));
    let counted = runs.clone();
    let asks = move |ask: Ask| {
        let counted = counted.clone();
        async move {
            let once = ask.once("once", async { Ok(5) }).await?;
            for question in ["First?", "Second?"] {
                ask.form::<Go>(question).await?;
            }
            match counted.fetch_add(1, Ordering::Relaxed) {
                0 => Err(Failure::new("busy")),
                _ => Ok(format!("gone {once}")),
            }
        }
    };
    let twice = with(async |call: CallRequest, inner: CallService| {
        let answer = pass(call.clone(), inner.clone()).await;
        Ok(match answer.is_error() {
            true => pass(call, inner).await,
            false => answer,
        })
    });
    let server = Server::new("s", "1")
        .layer(twice)
        .tool(Tool::builder("asks").handler(asks))
        .build()
        .unwrap();
    for case in Case::modern() {
        runs.store(0, Ordering::Relaxed);
        let mut client = connect_able(case, &server, able(case.revision)).await;
        let params = json!({"name": "asks", "arguments": {}});
        let (answer, asked) = converse(&mut client, "tools/call", params, go).await;
        assert_eq!((text(&answer), asked.len()), ("gone 5", 2), "{case}");
        assert_eq!(runs.load(Ordering::Relaxed), 2, "{case}");
    }
}

/// Lets nobody pass who has not visited a URL; where the handler asks, only after its question.
async fn signed_in(call: CallRequest, inner: CallService) -> Result<CallResponse, Failure> {
    let context = call.context();
    let asked = call.name() != "asks" || context.raw_answer("go").is_some();
    if asked && context.raw_answer("url1").is_none() {
        let url = ElicitRequestUrlParams::new("Sign in", "https://example.com/1");
        return Err(ProtocolError::url_elicitation_required([url], "Not yet").into());
    }
    Ok(pass(call, inner).await)
}

#[tokio::test(start_paused = true)]
async fn a_layer_that_needs_urls_is_answered_for_like_a_handler() {
    let asks = async |ask: Ask| {
        ask.form::<Go>("Go?")
            .key("go")
            .await
            .map(|it| it.go.to_string())
    };
    let server = Server::new("s", "1")
        .layer(with(signed_in))
        .tool(Tool::builder("acts").handler(|| "acted"))
        .tool(Tool::builder("asks").handler(asks))
        .prompt(Prompt::builder("acts").handler(async || "acted"))
        .resource(Resource::builder("r://{x}", "r").handler(async || "acted"))
        .build()
        .unwrap();
    let acts = [
        ("tools/call", json!({"name": "acts"})),
        ("prompts/get", json!({"name": "acts"})),
        ("resources/read", json!({"uri": "r://1"})),
    ];
    for case in Case::all() {
        let mut client = connect_able(case, &server, able(case.revision)).await;
        if case.is_modern() {
            for (method, params) in acts.clone() {
                let (answer, asked) = converse(&mut client, method, params, go).await;
                assert!(answer["result"].to_string().contains("acted"), "{answer}");
                assert_eq!(asked[0].params["url"], "https://example.com/1", "{case}");
            }
            // What the handler asked before is not asked again.
            let params = json!({"name": "asks"});
            let (answer, asked) = converse(&mut client, "tools/call", params, go).await;
            let keys: Vec<_> = asked.iter().map(|it| it.key.as_deref()).collect();
            assert_eq!(keys, [Some("go"), Some("url1")], "{case}");
            assert_eq!(text(&answer), "true", "{case}");
            continue;
        }
        for (method, params) in acts.clone() {
            let answer = client.request(method, params).await;
            let text = answer.to_string();
            assert!(text.contains("https://example.com/1"), "{case}: {answer}");
            assert!(text.contains("Not yet"), "{case}: {answer}");
            if case.revision.features().url_required_error {
                assert_eq!(code(&answer), -32042, "{case}");
                let url = &answer["error"]["data"]["elicitations"][0];
                assert!(url["elicitationId"].is_string(), "{case}: {answer}");
            } else {
                let tells = method == "tools/call";
                assert_eq!(answer.get("error").is_none(), tells, "{case}: {answer}");
            }
        }
    }
}
