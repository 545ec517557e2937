//! Functions around the requests of a server: what they see, change, answer and repeat.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use turnbuckle_it::harness::{Case, Client};
use turnbuckle_server::middleware::{self, Next};
use turnbuckle_server::service::{CallKind, CallRequest, CallResponse};
use turnbuckle_server::{
    Args, Ask, CompletionRequest, Failure, Group, HandlerContext, Prompt, Resource, Server,
    ServerBuilder, Structured, Tool,
};
use turnbuckle_types::{
    BooleanSchema, CallToolResult, CompleteRequestParams, CompleteResult, ElicitRequestParams,
    ElicitationSchema, GetPromptResult, ListToolsResult, ReadResourceResult,
};

use crate::support::{
    Question, able, call, code, connect_able, connect_as, converse, error_text, list_values,
    result, text,
};

#[derive(Deserialize, JsonSchema)]
pub(super) struct Greet {
    pub(super) name: String,
}

#[derive(Deserialize, JsonSchema)]
struct Sure {
    #[allow(dead_code, reason = "the test needs the question, not the answer")]
    yes: bool,
}

fn greet() -> Tool {
    Tool::builder("greet")
        .handler(async |Args(greet): Args<Greet>| format!("Hello, {}!", greet.name))
}

pub(super) fn build(builder: ServerBuilder) -> Server {
    builder.build().unwrap()
}

/// Returns a server with an item of each kind.
fn all_kinds() -> ServerBuilder {
    let prompt = Prompt::builder("p")
        .handler(async |Args(greet): Args<Greet>| greet.name)
        .complete("name", async |typed: CompletionRequest| {
            vec![typed.value + "1"]
        });
    Server::new("s", "1")
        .tool(greet())
        .prompt(prompt)
        .resource(Resource::builder("r://{x}", "r").handler(async || "r"))
}

#[tokio::test(start_paused = true)]
async fn a_function_sees_the_parameters_and_the_result_of_each_kind_of_request() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let list = seen.clone();
    let watch = middleware::from_fn(move |call: CallRequest, next: Next| {
        let list = list.clone();
        async move {
            let arguments = call.raw_arguments().map(|json| json.to_string());
            let line = format!("{:?} {} {:?}", call.kind(), call.method(), call.name());
            let typed = match call.kind() {
                CallKind::Tool | CallKind::Prompt => call.arguments::<Greet>().unwrap().name,
                CallKind::Completion => {
                    let params: CompleteRequestParams = call.params().unwrap();
                    params.argument.value
                }
                _ => String::new(),
            };
            let response = next.run(call.clone()).await;
            let result = match call.kind() {
                CallKind::Tool => {
                    let result: CallToolResult = response.result().unwrap();
                    result.content[0].as_text().unwrap().to_owned()
                }
                CallKind::Prompt => {
                    let result: GetPromptResult = response.result().unwrap();
                    result.messages[0].content.as_text().unwrap().to_owned()
                }
                CallKind::Resource => {
                    let result: ReadResourceResult = response.result().unwrap();
                    result.contents[0].uri().unwrap().to_owned()
                }
                CallKind::Completion => {
                    let result: CompleteResult = response.result().unwrap();
                    result.completion.values.join(" ")
                }
                _ => {
                    let result: ListToolsResult = response.result().unwrap();
                    result.tools[0].name.clone()
                }
            };
            assert!(call.kind() == CallKind::Tool || response.result::<CallToolResult>().is_none());
            list.lock().unwrap().push((line, arguments, typed, result));
            response
        }
    });
    let server = build(all_kinds().layer(watch));
    for case in Case::all() {
        let mut client = Client::connect(case, &server).await;
        call(&mut client, "greet", json!({"name": "Ada"})).await;
        let params = json!({"name": "p", "arguments": {"name": "Bo"}});
        client.request("prompts/get", params).await;
        client
            .request("resources/read", json!({"uri": "r://1"}))
            .await;
        let params = json!({"ref": {"type": "ref/prompt", "name": "p"},
            "argument": {"name": "name", "value": "x"}});
        client.request("completion/complete", params).await;
        client.request("tools/list", json!({})).await;
        let seen: Vec<_> = seen.lock().unwrap().drain(..).collect();
        let expected = [
            (
                r#"Tool tools/call "greet""#,
                Some(r#"{"name":"Ada"}"#),
                "Ada",
                "Hello, Ada!",
            ),
            (
                r#"Prompt prompts/get "p""#,
                Some(r#"{"name":"Bo"}"#),
                "Bo",
                "Bo",
            ),
            (r#"Resource resources/read "r://1""#, None, "", "r://1"),
            (r#"Completion completion/complete "p""#, None, "x", "x1"),
            (r#"List tools/list """#, None, "", "greet"),
        ];
        let expected = expected.map(|(line, arguments, typed, result)| {
            (
                line.to_owned(),
                arguments.map(str::to_owned),
                typed.to_owned(),
                result.to_owned(),
            )
        });
        assert_eq!(seen, expected, "{case}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_function_rewrites_arguments_and_the_handler_checks_them_again() {
    let rewrite = middleware::from_fn(async |mut call: CallRequest, next: Next| {
        let greet: Greet = call.arguments()?;
        match greet.name.as_str() {
            "list" => {
                let refused = call.set_arguments(&["a"]).unwrap_err();
                assert!(refused.message().contains("object"), "{refused}");
            }
            "wrong" => call.set_arguments(&json!({"nam": "x"}))?,
            name => call.set_arguments(&json!({ "name": name.to_uppercase() }))?,
        }
        Ok::<_, Failure>(next.run(call).await)
    });
    let blocking = Tool::builder("blocking")
        .blocking(|Args(greet): Args<Greet>| greet.name)
        .max_concurrent(1);
    let server = build(
        Server::new("s", "1")
            .layer(rewrite)
            .tool(greet())
            .tool(blocking),
    );
    for case in Case::all() {
        let mut client = Client::connect(case, &server).await;
        let mut ask = async |tool, name| call(&mut client, tool, json!({ "name": name })).await;
        assert_eq!(text(&ask("greet", "ada").await), "Hello, ADA!", "{case}");
        assert_eq!(text(&ask("blocking", "ada").await), "ADA", "{case}");
        assert_eq!(text(&ask("greet", "list").await), "Hello, list!", "{case}");
        let wrong = ask("greet", "wrong").await;
        assert!(error_text(&wrong).contains("name"), "{case}: {wrong}");
    }
}

#[tokio::test(start_paused = true)]
async fn rewritten_arguments_stay_when_the_handler_runs_again_with_answers() {
    let rewrite = middleware::from_fn(async |mut call: CallRequest, next: Next| {
        call.set_arguments(&json!({"name": "rewritten"}))?;
        Ok::<_, Failure>(next.run(call).await)
    });
    let question = || {
        let fields = ElicitationSchema::new().required("yes", BooleanSchema::new());
        ElicitRequestParams::form("Really?", fields)
    };
    let rounds = Tool::builder("ask").handler(
        move |Args(greet): Args<Greet>, context: HandlerContext| async move {
            context.ask("really", question())?;
            Ok::<_, Failure>(greet.name)
        },
    );
    let asking = Tool::builder("await").handler(async |Args(greet): Args<Greet>, ask: Ask| {
        ask.form::<Sure>("Really?").await?;
        Ok::<_, Failure>(greet.name)
    });
    let server = build(
        Server::new("s", "1")
            .layer(rewrite)
            .tool(rounds)
            .tool(asking),
    );
    for case in Case::all() {
        let able = able(case.revision);
        if able.get("elicitation").is_none() {
            continue;
        }
        let mut client = connect_able(case, &server, able).await;
        for tool in ["ask", "await"] {
            let answer = |_: &Question| json!({"action": "accept", "content": {"yes": true}});
            let params = json!({"name": tool, "arguments": {"name": "x"}});
            let (done, _) = converse(&mut client, "tools/call", params, answer).await;
            assert_eq!(text(&done), "rewritten", "{tool}, {case}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_function_changes_results_answers_itself_and_fails() {
    let change = middleware::from_fn(async |call: CallRequest, next: Next| {
        let greet: Greet = call.arguments()?;
        match greet.name.as_str() {
            "itself" => Ok(CallResponse::from_result(CallToolResult::from_text("mine"))),
            "fails" => Err(Failure::new("not today")),
            _ => {
                let mut response = next.run(call).await;
                let mut result: CallToolResult = response.result().ok_or("no result")?;
                result.content.push("and goodbye".into());
                response.set_result(result);
                Ok(response)
            }
        }
    });
    let structured =
        Tool::builder("numbers").handler(async |_: Args<Greet>| Structured(vec![1, 2]));
    let server = build(
        Server::new("s", "1")
            .layer(change)
            .tool(greet())
            .tool(structured),
    );
    for case in Case::all() {
        let mut client = Client::connect(case, &server).await;
        let mut ask = async |tool, name| call(&mut client, tool, json!({ "name": name })).await;
        let both = ask("greet", "Ada").await;
        assert_eq!(text(&both), "Hello, Ada!", "{case}");
        assert_eq!(result(&both)["content"][1]["text"], "and goodbye", "{case}");
        assert_eq!(text(&ask("greet", "itself").await), "mine", "{case}");
        assert_eq!(
            error_text(&ask("greet", "fails").await),
            "not today",
            "{case}"
        );
        let numbers = ask("numbers", "Ada").await;
        assert_eq!(text(&numbers), "[1,2]", "{case}");
        let features = case.revision.features();
        let expected = match (features.structured_output, features.structured_any) {
            (false, _) => Value::Null,
            (true, false) => json!({"result": [1, 2]}),
            (true, true) => json!([1, 2]),
        };
        assert_eq!(result(&numbers)["structuredContent"], expected, "{case}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_function_tries_again() {
    let tries = Arc::new(AtomicUsize::new(0));
    let count = tries.clone();
    let flaky = Tool::builder("flaky").handler(move |Args(greet): Args<Greet>| {
        let count = count.clone();
        async move {
            match count.fetch_add(1, Ordering::Relaxed) {
                0 | 1 => Err("busy".to_owned()),
                _ => Ok(greet.name),
            }
        }
    });
    let retry = middleware::from_fn(async |call: CallRequest, next: Next| {
        let mut response = next.run(call.clone()).await;
        for _ in 0..2 {
            if !response.is_error() {
                break;
            }
            response = next.clone().run(call.clone()).await;
        }
        response
    });
    let server = build(Server::new("s", "1").tool(flaky.layer(retry)));
    for case in Case::all() {
        tries.store(0, Ordering::Relaxed);
        let mut client = Client::connect(case, &server).await;
        let answer = call(&mut client, "flaky", json!({"name": "x"})).await;
        assert_eq!(text(&answer), "x", "{case}");
        assert_eq!(tries.load(Ordering::Relaxed), 3, "{case}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_list_is_filtered_for_each_request_and_its_pages_stay() {
    let filter = middleware::from_fn(async |call: CallRequest, next: Next| {
        let is_admin = call
            .principal()
            .is_some_and(|principal| principal.subject == "admin");
        let mut response = next.run(call).await;
        if !is_admin && let Some(mut list) = response.result::<ListToolsResult>() {
            list.tools.retain(|tool| !tool.name.starts_with("admin"));
            response.set_result(list);
        }
        response
    });
    let names = ["a", "admin-b", "c", "d", "admin-e"];
    let tools = names.map(|name| Tool::builder(name).handler(move || name));
    let server = tools
        .into_iter()
        .fold(Server::new("s", "1"), ServerBuilder::tool);
    let server = build(server.layer(filter).page_size(2.try_into().unwrap()));
    for case in Case::all() {
        for (who, expected) in [
            (
                "admin",
                vec![vec!["a", "admin-b"], vec!["c", "d"], vec!["admin-e"]],
            ),
            ("guest", vec![vec!["a"], vec!["c", "d"], vec![]]),
        ] {
            let mut client = connect_as(case, &server, who).await;
            let mut pages = Vec::new();
            let mut params = json!({});
            loop {
                let page = client.request("tools/list", params).await;
                pages.push(list_values(&page, "tools", "name"));
                let cursor = &result(&page)["nextCursor"];
                if cursor.is_null() {
                    break;
                }
                params = json!({ "cursor": cursor });
            }
            assert_eq!(pages, expected, "{who}, {case}");
        }
        let mut client = connect_as(case, &server, "guest").await;
        let wrong = client.request("tools/list", json!({"cursor": "x"})).await;
        assert_eq!(code(&wrong), -32602, "{case}");
        client.request("tools/call", json!({"name": "a"})).await;
    }
}

#[tokio::test(start_paused = true)]
async fn layers_of_a_group_see_completions_of_its_items_and_no_lists() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let list = seen.clone();
    let watch = middleware::timing(move |call, _, _| list.lock().unwrap().push(call.method()));
    let group: Group = all_kinds_group().layer(watch);
    let server = build(Server::new("s", "1").group(group));
    for case in Case::all() {
        let mut client = Client::connect(case, &server).await;
        client.request("prompts/list", json!({})).await;
        let params = json!({"ref": {"type": "ref/prompt", "name": "p"},
            "argument": {"name": "name", "value": "x"}});
        client.request("completion/complete", params).await;
        let seen: Vec<_> = seen.lock().unwrap().drain(..).collect();
        assert_eq!(seen, ["completion/complete"], "{case}");
    }
}

fn all_kinds_group() -> Group {
    let prompt = Prompt::builder("p")
        .handler(async |Args(greet): Args<Greet>| greet.name)
        .complete("name", async |typed: CompletionRequest| vec![typed.value]);
    Group::new().prompt(prompt)
}
