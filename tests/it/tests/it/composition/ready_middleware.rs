//! The middleware that the library brings: timing, the cache of results, redaction.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use turnbuckle_it::harness::{Case, Client, ClientOptions};
use turnbuckle_server::middleware::{self, Cache, redaction, replace_tokens};
use turnbuckle_server::{
    Args, Failure, Group, HandlerContext, Log, Progress, Prompt, Resource, Server, Structured, Tool,
};
use turnbuckle_types::{
    BooleanSchema, ContentBlock, ElicitRequestParams, ElicitationSchema, GetPromptResult,
    LoggingLevel, Principal, PromptMessage, RawObject, ResourceContents, ToolAnnotations,
};

use super::middleware::{Greet, build};
use crate::support::{
    Question, able, call, connect_able, connect_as, converse, error_text, message, principal,
    result, text,
};

#[tokio::test(start_paused = true)]
async fn timing_reports_how_long_a_call_took() {
    let times = Arc::new(Mutex::new(Vec::new()));
    let list = times.clone();
    let timing = middleware::timing(move |call, response, elapsed| {
        let line = (call.name().to_owned(), response.is_error(), elapsed);
        list.lock().unwrap().push(line);
    });
    let slow = Tool::builder("slow").handler(async || {
        tokio::time::sleep(Duration::from_secs(3)).await;
        Err::<(), _>("too late")
    });
    let server = build(Server::new("s", "1").tool(slow.layer(timing)));
    for case in Case::all() {
        let mut client = Client::connect(case, &server).await;
        call(&mut client, "slow", json!({})).await;
        let times: Vec<_> = times.lock().unwrap().drain(..).collect();
        assert_eq!(
            times,
            [("slow".to_owned(), true, Duration::from_secs(3))],
            "{case}"
        );
    }
}

/// Returns a tool that counts its calls.
fn counting(name: &'static str, runs: &Arc<AtomicUsize>, read_only: bool) -> Tool {
    let runs = runs.clone();
    Tool::builder(name)
        .handler(move |Args(greet): Args<Greet>| {
            let run = runs.fetch_add(1, Ordering::Relaxed) + 1;
            let result = format!("{} {run}", greet.name);
            async move {
                match greet.name.as_str() {
                    "fails" => Err(result),
                    _ => Ok(result),
                }
            }
        })
        .annotations(ToolAnnotations::new().read_only_hint(read_only))
}

#[tokio::test(start_paused = true)]
async fn a_cache_answers_equal_calls_of_read_only_tools_and_keeps_no_errors() {
    for case in Case::all() {
        let runs = Arc::default();
        let cache = Cache::new().ttl(Duration::from_secs(60));
        let group = Group::new()
            .layer(cache.clone())
            .tool(counting("read", &runs, true))
            .tool(counting("other", &runs, true))
            .tool(counting("write", &runs, false));
        let server = build(Server::new("s", "1").group(group));
        let mut client = connect_as(case, &server, "ada").await;
        let mut ask = async |tool, arguments| call(&mut client, tool, arguments).await;
        let named = |name: &str| json!({"name": name, "a": 1});
        let reordered: Value = serde_json::from_str(r#"{"a": 1, "name": "x"}"#).unwrap();
        assert_eq!(text(&ask("read", named("x")).await), "x 1", "{case}");
        assert_eq!(text(&ask("read", reordered).await), "x 1", "{case}");
        assert_eq!(text(&ask("read", named("y")).await), "y 2", "{case}");
        assert_eq!(text(&ask("other", named("x")).await), "x 3", "{case}");
        assert_eq!(text(&ask("write", named("x")).await), "x 4", "{case}");
        assert_eq!(text(&ask("write", named("x")).await), "x 5", "{case}");
        assert_eq!(
            error_text(&ask("read", named("fails")).await),
            "fails 6",
            "{case}"
        );
        assert_eq!(
            error_text(&ask("read", named("fails")).await),
            "fails 7",
            "{case}"
        );
        cache.clear();
        assert_eq!(text(&ask("read", named("x")).await), "x 8", "{case}");
        tokio::time::advance(Duration::from_secs(60)).await;
        assert_eq!(text(&ask("read", named("x")).await), "x 9", "{case}");
        assert_eq!(text(&ask("read", named("x")).await), "x 9", "{case}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_cache_is_separate_for_each_principal_unless_it_is_shared() {
    for (shared, expected) in [(false, ["x 1", "x 2", "x 1"]), (true, ["x 1"; 3])] {
        for case in Case::all() {
            let cache = match shared {
                true => Cache::new().shared_between_principals(),
                false => Cache::new(),
            };
            let runs = Arc::default();
            let server =
                build(Server::new("s", "1").tool(counting("read", &runs, true).layer(cache)));
            for (who, expected) in ["ada", "bo", "ada"].into_iter().zip(expected) {
                let mut client = connect_as(case, &server, who).await;
                let answer = call(&mut client, "read", json!({"name": "x"})).await;
                assert_eq!(text(&answer), expected, "{who}, {case}");
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_cache_is_separate_for_each_part_of_a_principal() {
    let claims = |text: &str| text.parse::<RawObject>().unwrap();
    let others = [
        Principal::new("https://other.example", "ada"),
        principal("ada").client("app"),
        principal("ada").client("other app"),
        principal("ada").scopes(["read"]),
        principal("ada").scopes(["read", "write"]),
        principal("ada").claims(claims(r#"{"tenant": 1}"#)),
        principal("ada").claims(claims(r#"{"tenant": 2}"#)),
    ];
    for case in Case::all() {
        let runs = Arc::default();
        let tool = counting("read", &runs, true).layer(Cache::new());
        let server = build(Server::new("s", "1").tool(tool));
        for (number, principal) in std::iter::once(principal("ada"))
            .chain(others.clone())
            .enumerate()
        {
            for _ in 0..2 {
                let options = ClientOptions::new().principal(principal.clone());
                let mut client = Client::connect_with(case, &server, options).await;
                let answer = call(&mut client, "read", json!({"name": "x"})).await;
                assert_eq!(
                    text(&answer),
                    format!("x {}", number + 1),
                    "{principal:?}, {case}"
                );
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_cache_drops_its_oldest_results_beyond_its_entries_and_bytes() {
    let case = Case::all()[0];
    let bounds = [
        (Cache::new().max_entries(2), true),
        (Cache::new().max_bytes(150), false),
    ];
    for (cache, keeps_long) in bounds {
        let runs = Arc::default();
        let server = build(Server::new("s", "1").tool(counting("read", &runs, true).layer(cache)));
        let mut client = Client::connect(case, &server).await;
        let mut ask = async |name: &str| {
            let answer = call(&mut client, "read", json!({ "name": name })).await;
            text(&answer).to_owned()
        };
        assert_eq!(ask("a").await, "a 1");
        assert_eq!(ask("b").await, "b 2");
        assert_eq!(ask("a").await, "a 1");
        assert_eq!(ask("c").await, "c 3");
        assert_eq!(ask("b").await, "b 2", "the newest two stay");
        assert_eq!(ask("a").await, "a 4", "the oldest was dropped");
        let long = "x".repeat(400);
        let (first, again) = (ask(&long).await, ask(&long).await);
        assert_eq!(first == again, keeps_long, "{first} {again}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_cache_keeps_nothing_of_calls_that_asked_the_client() {
    let fields = || ElicitationSchema::new().required("yes", BooleanSchema::new());
    let rounds = Tool::builder("ask")
        .handler(move |context: HandlerContext| async move {
            let question = ElicitRequestParams::form("Really?", fields());
            let answer = context.ask("really", question)?;
            Ok::<_, Failure>(format!("{:?}", answer.action))
        })
        .annotations(ToolAnnotations::new().read_only_hint(true));
    let server = build(Server::new("s", "1").tool(rounds.layer(Cache::new())));
    for case in Case::all() {
        let able = able(case.revision);
        if able.get("elicitation").is_none() {
            continue;
        }
        let mut client = connect_able(case, &server, able).await;
        for (action, expected) in [("decline", "Decline"), ("cancel", "Cancel")] {
            let answer = |_: &Question| json!({ "action": action });
            let params = json!({"name": "ask", "arguments": {}});
            let (done, _) = converse(&mut client, "tools/call", params, answer).await;
            assert_eq!(text(&done), expected, "{case}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn redaction_replaces_secrets_in_text_structured_content_and_errors() {
    let secret = || "my token is sk-123abc.".to_owned();
    let structured = Tool::builder("structured")
        .handler(move || async move { Structured(json!({"sk-key": [secret(), 1.5]})) });
    let fails = Tool::builder("fails").handler(move || async move { Err::<(), _>(secret()) });
    let server = Server::new("s", "1")
        .layer(redaction(replace_tokens(["sk-"], "***")))
        .tool(Tool::builder("says").handler(move || async move { secret() }))
        .tool(structured)
        .tool(fails)
        .prompt(Prompt::builder("p").handler(move || async move { secret() }))
        .resource(Resource::builder("r://r", "r").handler(move || async move { secret() }))
        .resource(
            Resource::builder("r://f", "f")
                .handler(move || async move { Err::<String, _>(secret()) }),
        );
    let server = build(server);
    for case in Case::all() {
        let mut client = Client::connect(case, &server).await;
        let expected = "my token is ***";
        assert_eq!(
            text(&call(&mut client, "says", json!({})).await),
            expected,
            "{case}"
        );
        assert_eq!(
            error_text(&call(&mut client, "fails", json!({})).await),
            expected,
            "{case}"
        );
        let both = call(&mut client, "structured", json!({})).await;
        assert!(text(&both).contains(expected), "{case}: {both}");
        if case.revision.features().structured_output {
            let structured = &result(&both)["structuredContent"];
            assert_eq!(structured, &json!({"sk-key": [expected, 1.5]}), "{case}");
        }
        let prompt = client.request("prompts/get", json!({"name": "p"})).await;
        assert_eq!(
            result(&prompt)["messages"][0]["content"]["text"],
            expected,
            "{case}"
        );
        let read = client
            .request("resources/read", json!({"uri": "r://r"}))
            .await;
        assert_eq!(result(&read)["contents"][0]["text"], expected, "{case}");
        let failed = client
            .request("resources/read", json!({"uri": "r://f"}))
            .await;
        assert_eq!(message(&failed), expected, "{case}");
    }
}

#[tokio::test(start_paused = true)]
async fn redaction_replaces_secrets_in_embedded_resources() {
    let embedded = || ContentBlock::resource(ResourceContents::text("r://r", "it is sk-1"));
    let server = Server::new("s", "1")
        .layer(redaction(replace_tokens(["sk-"], "***")))
        .tool(Tool::builder("t").handler(move || async move { embedded() }))
        .prompt(Prompt::builder("p").handler(move || async move {
            GetPromptResult::new([PromptMessage::user(embedded())])
        }));
    let server = build(server);
    for case in Case::all() {
        let mut client = Client::connect(case, &server).await;
        let called = call(&mut client, "t", json!({})).await;
        let block = &result(&called)["content"][0];
        assert_eq!(block["resource"]["text"], "it is ***", "{case}");
        let prompt = client.request("prompts/get", json!({"name": "p"})).await;
        let block = &result(&prompt)["messages"][0]["content"];
        assert_eq!(block["resource"]["text"], "it is ***", "{case}");
    }
}

#[tokio::test(start_paused = true)]
async fn redaction_replaces_secrets_in_log_messages_and_progress() {
    let talks = async |context: HandlerContext, log: Log, progress: Progress| {
        let data = json!({"sk-key": ["sk-1", 2], "other": "PIN 1234"});
        context.log(LoggingLevel::Error, Some("part"), &data).await;
        log.error("sk-1").await;
        context.progress_message(1, None, "at sk-1").await;
        progress
            .report_with_message(2, 2, "at sk-2, PIN 1234")
            .await;
        "done"
    };
    let inner = redaction(|text: &str| text.contains("1234").then(|| text.replace("1234", "sk-9")));
    let server = Server::new("s", "1")
        .logging()
        .layer(redaction(replace_tokens(["sk-"], "***")))
        .tool(Tool::builder("talks").handler(talks).layer(inner));
    let server = build(server);
    for case in Case::all() {
        let options = ClientOptions::new().log_level("debug").progress_tokens();
        let mut client = Client::connect_with(case, &server, options).await;
        text(&call(&mut client, "talks", json!({})).await);
        let messages = client.messages().await;
        let of = |method: &str, member: &str| -> Vec<Value> {
            let of_method = messages.iter().filter(|it| it["method"] == method);
            of_method.map(|it| it["params"][member].clone()).collect()
        };
        let data = json!({"sk-key": ["***", 2], "other": "PIN ***"});
        assert_eq!(
            of("notifications/message", "data"),
            [data, json!("***")],
            "{case}"
        );
        if case.revision.features().progress_message {
            let progress = of("notifications/progress", "message");
            assert_eq!(progress.last().unwrap(), "at ***, PIN ***", "{case}");
        }
        let sent = serde_json::to_string(client.received_messages()).unwrap();
        assert!(
            !sent.contains("sk-1") && !sent.contains("1234"),
            "{case}: {sent}"
        );
    }
}
