//! Clients that behave: every answer is what was asked for, however the others behave.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::timeout;
use turnbuckle::client::{ChangeFilter, EraPreference, Form, FormAnswer, QuestionContext};
use turnbuckle::http::{HttpConnector, SseConnector};
use turnbuckle::session::transport::Connector;
use turnbuckle::stdio::Command;
use turnbuckle::{Client, ClientBuilder};

use crate::problem::{Problem, to_problem};
use crate::process::itself;
use crate::random::Random;
use crate::raw::SOON;
use crate::server::WATCHED;
use crate::started::Urls;

/// The way from a good client to its server.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Binding {
    Modern,
    Legacy,
    /// HTTP+SSE.
    Older,
    /// A server of its own.
    Pipe,
}

/// Every way.
pub(crate) const BINDINGS: [Binding; 4] = [
    Binding::Modern,
    Binding::Legacy,
    Binding::Older,
    Binding::Pipe,
];

/// The state that the good clients share.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    /// True if it is time to leave.
    pub(crate) over: AtomicBool,
    /// Answers that were as they should be.
    pub(crate) checked: AtomicU64,
}

/// Comes, asks, checks and goes, again and again.
pub(crate) async fn behave(
    way: Binding,
    urls: Urls,
    mut random: Random,
    shared: Arc<Shared>,
) -> Result<(), Problem> {
    while !shared.over.load(Ordering::Relaxed) {
        let client = timeout(2 * SOON, connect(way, &urls)).await;
        let client = client.map_err(|_| "connecting takes for ever".to_owned())??;
        for _ in 0..10 + random.below(200) {
            if shared.over.load(Ordering::Relaxed) {
                break;
            }
            let asked = timeout(2 * SOON, ask(&client, &mut random)).await;
            asked.map_err(|_| "an answer takes for ever".to_owned())??;
            shared.checked.fetch_add(1, Ordering::Relaxed);
        }
        let closed = timeout(2 * SOON, client.close()).await;
        closed.map_err(|_| "closing takes for ever".to_owned())?;
    }
    Ok(())
}

async fn connect(way: Binding, urls: &Urls) -> Result<Client, Problem> {
    let http = |url: &str| HttpConnector::new(url).map_err(to_problem);
    match way {
        Binding::Modern => open(EraPreference::Modern, http(&urls.mcp)?).await,
        Binding::Legacy => open(EraPreference::Legacy, http(&urls.mcp)?).await,
        Binding::Older => open(EraPreference::Legacy, SseConnector::new(http(&urls.sse)?)).await,
        Binding::Pipe => open(EraPreference::Auto, Command::new(itself()?).arg("stdio")).await,
    }
}

async fn open(era: EraPreference, connector: impl Connector) -> Result<Client, Problem> {
    let builder: ClientBuilder = Client::builder("good", "1.0.0").era(era);
    let builder = builder
        .on_form(async |_: Form, _: QuestionContext| FormAnswer::accept([("name", "nobody")]));
    builder.connect(connector).await.map_err(to_problem)
}

/// Asks one thing, and looks at the answer.
async fn ask(client: &Client, random: &mut Random) -> Result<(), Problem> {
    match random.below(12) {
        0 => {
            let tools = client.list_tools().fetch_all().await.map_err(to_problem)?;
            held("tools", tools.len() == 7)
        }
        1 => {
            let id = random.next();
            let read = client
                .read_resource(format!("soak://note/{id}"))
                .await
                .map_err(to_problem)?;
            let read = serde_json::to_value(&read).map_err(to_problem)?;
            held(
                "resource",
                read["contents"][0]["text"] == format!("note {id}"),
            )
        }
        2 => {
            let name = random.next().to_string();
            let prompt = client.get_prompt("greet", [("name", &name)]);
            let prompt =
                serde_json::to_value(prompt.await.map_err(to_problem)?).map_err(to_problem)?;
            let text = &prompt["messages"][0]["content"]["text"];
            held("prompt", *text == format!("Hello, {name}"))
        }
        3 => {
            let ms = random.below(300);
            let text = text(client, "slow", json!({"ms": ms})).await?;
            held(&format!("slow: {text}"), text == format!("{ms} ms"))
        }
        4 => {
            let bytes = random.below(300_000);
            let text = text(client, "big", json!({"bytes": bytes})).await?;
            held("big", text.len() == bytes)
        }
        5 => {
            let text = text(client, "form", json!({})).await?;
            held(&format!("form: {text}"), text == "nobody")
        }
        6 => cancelled(client).await,
        7 => changed(client).await,
        _ => {
            let message = random.next().to_string().repeat(1 + random.below(30));
            let number = random.next() >> 12;
            let arguments = json!({"message": message, "number": number});
            let echo = client
                .call_tool("echo", &arguments)
                .structured_content::<Value>();
            held("echo", echo.await.map_err(to_problem)? == arguments)
        }
    }
}

fn held(what: &str, is_so: bool) -> Result<(), Problem> {
    if is_so {
        Ok(())
    } else {
        Err(format!("a wrong answer: {what}"))
    }
}

async fn text(client: &Client, tool: &str, arguments: Value) -> Result<String, Problem> {
    let result = client.call_tool(tool, &arguments).send().await;
    let result = result.map_err(|error| format!("{tool}: {error}"))?;
    let result = serde_json::to_value(&result).map_err(to_problem)?;
    let text = result["content"][0]["text"].as_str();
    text.map(ToOwned::to_owned)
        .ok_or_else(|| format!("{tool}: no text in {result}"))
}

/// Takes a call back.
async fn cancelled(client: &Client) -> Result<(), Problem> {
    let arguments = json!({"ms": 60_000});
    let call = client.call_tool("slow", &arguments);
    let outcome = timeout(Duration::from_millis(20), call.send()).await;
    held("a slow call", outcome.is_err())
}

/// Subscribes, and hears of a change.
async fn changed(client: &Client) -> Result<(), Problem> {
    let interest = ChangeFilter::new().resource(WATCHED);
    let mut subscription = client.subscribe(interest).await.map_err(to_problem)?;
    text(client, "touch", json!({})).await?;
    let change = timeout(SOON, subscription.next()).await;
    held("a change", matches!(change, Ok(Some(_))))
}
