//! A proxy over HTTP, whose clients have connections of their own to the server behind it.

use std::time::Duration;

use serde_json::{Value, json};
use turnbuckle_client::EraPreference;
use turnbuckle_it::web::Web;
use turnbuckle_server::{Ask, HandlerContext, Server, Tool};
use turnbuckle_servers::{InProcess, Proxy, Servers, UpstreamMode};
use turnbuckle_types::{LoggingLevel, Principal};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Name {
    name: String,
}

/// Returns a server whose tools log, ask after a second, and sleep for two.
fn origin() -> Server {
    let log = Tool::builder("log").handler(async |context: HandlerContext| {
        context.log(LoggingLevel::Info, None, "hello").await;
        "logged"
    });
    let ask = Tool::builder("ask").handler(async |ask: Ask| {
        tokio::time::sleep(Duration::from_secs(1)).await;
        match ask.form::<Name>("Who?").await {
            Ok(Name { name }) => name,
            Err(error) => error.to_string(),
        }
    });
    let sleep = Tool::builder("sleep").handler(async || {
        tokio::time::sleep(Duration::from_secs(2)).await;
        "slept"
    });
    Server::new("origin", "1")
        .logging()
        .tool(log)
        .tool(ask)
        .tool(sleep)
        .build()
        .unwrap()
}

/// Calls the tool that logs for this user, and returns the data of the log messages.
async fn log_messages(web: &Web, user: Option<&'static str>) -> Vec<Value> {
    let meta = json!({"io.modelcontextprotocol/logLevel": "debug"});
    let call = web.modern("tools/call", json!({"name": "origin__log", "_meta": meta}));
    let mut call = call.address([127, 0, 0, 1].into());
    if let Some(user) = user {
        call = call.principal(Principal::new("https://issuer.example", user));
    }
    let got = call.send().await;
    if !got.is_stream() {
        let result = got.json().await;
        assert_eq!(result["result"]["content"][0]["text"], "logged", "{result}");
        return Vec::new();
    }
    let messages = got.events().messages().await;
    let data = messages
        .iter()
        .map(|message| message["params"]["data"].clone());
    data.filter(|data| !data.is_null()).collect()
}

async fn proxy(mode: UpstreamMode, behind: EraPreference) -> Proxy {
    Servers::builder("gateway", "1")
        .server("origin", InProcess::new(origin()))
        .upstream("origin", |options| options.mode(mode))
        .clients(move |builder| builder.era(behind))
        .proxy(Server::new("gateway", "1"))
        .await
        .unwrap()
}

const BEHIND: [EraPreference; 2] = [EraPreference::Legacy, EraPreference::Modern];

#[tokio::test(start_paused = true)]
async fn a_log_message_on_the_connection_of_a_client_reaches_each_of_its_requests() {
    for behind in BEHIND {
        let proxy = proxy(UpstreamMode::PerSession, behind).await;
        let web = Web::new(proxy.server());
        for _ in 0..3 {
            assert_eq!(log_messages(&web, None).await, ["hello"], "{behind:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_log_message_on_a_shared_connection_reaches_the_user_and_no_other() {
    for behind in BEHIND {
        let proxy = proxy(UpstreamMode::Shared, behind).await;
        let web = Web::new(proxy.server());
        for _ in 0..3 {
            assert_eq!(
                log_messages(&web, Some("ann")).await,
                ["hello"],
                "{behind:?}"
            );
        }
        // It may be about a call of the other one, which came late.
        assert!(
            log_messages(&web, Some("bob")).await.is_empty(),
            "{behind:?}"
        );
        assert!(log_messages(&web, None).await.is_empty(), "{behind:?}");
    }
}

/// Calls a tool as a client that takes forms, at an address, with what the client adds to its parameters.
async fn call_at(web: &Web, tool: &str, more: &Value) -> Value {
    let meta = json!({"io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}}});
    let mut params = json!({"name": format!("origin__{tool}"), "arguments": {}, "_meta": meta});
    for (key, value) in more.as_object().into_iter().flatten() {
        params[key] = value.clone();
    }
    let call = web.modern("tools/call", params);
    let got = call.address([127, 0, 0, 1].into()).send().await;
    match got.is_stream() {
        true => got.events().messages().await.pop().unwrap_or_default(),
        false => got.json().await,
    }
}

#[tokio::test(start_paused = true)]
async fn a_question_that_may_be_about_calls_of_two_clients_of_an_address_reaches_neither() {
    let proxy = proxy(UpstreamMode::PerSession, EraPreference::Legacy).await;
    let web = Web::new(proxy.server());
    let none = json!({});
    let (asked, slept) = tokio::join!(call_at(&web, "ask", &none), async {
        tokio::time::sleep(Duration::from_millis(500)).await;
        call_at(&web, "sleep", &none).await
    });
    assert_eq!(slept["result"]["content"][0]["text"], "slept", "{slept}");
    let text = &asked["result"]["content"][0]["text"];
    assert!(
        text.as_str().unwrap_or_default().contains("closed"),
        "{asked}"
    );
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_does_not_fit_is_refused_and_the_question_stays_open() {
    for behind in BEHIND {
        let proxy = proxy(UpstreamMode::Shared, behind).await;
        let web = Web::new(proxy.server());
        let asked = call_at(&web, "ask", &json!({})).await;
        let result = &asked["result"];
        assert_eq!(result["resultType"], "input_required", "{asked}");
        let questions = result["inputRequests"].as_object().unwrap();
        let key = questions.keys().next().unwrap();
        let answer = |content: Value| {
            let answer = json!({"action": "accept", "content": content});
            json!({"requestState": result["requestState"], "inputResponses": {key.as_str(): answer}})
        };
        for wrong in [json!({"name": 5}), json!({})] {
            let refused = call_at(&web, "ask", &answer(wrong)).await;
            assert_eq!(refused["error"]["code"], -32602, "{behind:?} {refused}");
        }
        let done = call_at(&web, "ask", &answer(json!({"name": "Ann"}))).await;
        let text = &done["result"]["content"][0]["text"];
        assert_eq!(text, "Ann", "{behind:?} {done}");
    }
}
