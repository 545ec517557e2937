//! A client that logs in, gets a scope more, and lets its token end.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::sleep;
use turnbuckle::auth::OAuth;
use turnbuckle::auth::client::AuthStatus;
use turnbuckle::auth::client::interaction::PrintUrl;
use turnbuckle::auth::client::store::MemoryStore;
use turnbuckle::client::EraPreference;
use turnbuckle::http::HttpConnector;
use turnbuckle::{Client, types::ContentBlock};

use crate::{Problem, READ, WRITE};

/// Takes all steps, and prints a line `STEP {…}` with what came of each. A line `OPEN …` has a page
/// that the user's browser has to open. Without a step-up all calls need the first scope only.
pub(crate) async fn run(
    url: &str,
    token_seconds: &str,
    era: &str,
    has_step_up: bool,
) -> Result<(), Problem> {
    let era = match era {
        "auto" => EraPreference::Auto,
        "legacy" => EraPreference::Legacy,
        "modern" => EraPreference::Modern,
        _ => return Err(format!("which era is {era:?}?").into()),
    };
    let token_ttl = Duration::from_secs(token_seconds.parse()?);
    let oauth = OAuth::builder(url, MemoryStore::new())
        .client_name("interop-auth")
        .login_ui(PrintUrl::new(|url| println!("OPEN {url}")))
        .build()?;
    let taken = take(url, &oauth, token_ttl, era, has_step_up).await;
    if taken.is_err() {
        eprintln!("{}", oauth.transcript());
    }
    taken
}

async fn take(
    url: &str,
    oauth: &OAuth,
    token_ttl: Duration,
    era: EraPreference,
    has_step_up: bool,
) -> Result<(), Problem> {
    let connector = HttpConnector::new(url)?.layer(oauth.clone());
    let client = Client::builder("interop-auth", env!("CARGO_PKG_VERSION"));
    let client = client.era(era).connect(connector).await?;
    let first = status(oauth).await?;
    step("login", &first, "");
    let told = call(&client, "read_orders").await?;
    step("call", &status(oauth).await?, &told);
    if first.scopes.iter().any(|scope| scope == WRITE) {
        return Err(format!("the first login got more than {READ}: {first:?}").into());
    }
    let mut tool = "read_orders";
    let mut last = first;
    if has_step_up {
        tool = "write_orders";
        let told = call(&client, tool).await?;
        last = status(oauth).await?;
        step("step-up", &last, &told);
        for scope in [READ, WRITE] {
            if !last.scopes.iter().any(|granted| granted == scope) {
                return Err(format!("{scope} is not among the scopes: {last:?}").into());
            }
        }
    }
    let before = oauth.access_token().await.ok_or("no token")?;
    sleep(token_ttl + Duration::from_millis(500)).await;
    let told = call(&client, tool).await?;
    step("refresh", &status(oauth).await?, &told);
    let after = oauth.access_token().await.ok_or("no token")?;
    if before.expose() == after.expose() {
        return Err("the token that ended is still in use".into());
    }
    client.close().await;
    match oauth.log_out().await? {
        true => step("log-out", &last, ""),
        false => return Err("there were no credentials to remove".into()),
    }
    Ok(())
}

async fn call(client: &Client, tool: &str) -> Result<String, Problem> {
    let result = client.call_tool(tool, &json!({})).await?;
    let text = result.content.first().and_then(ContentBlock::as_text);
    let text = text.ok_or("the tool returned no text")?.to_owned();
    match result.is_error {
        Some(true) => Err(text.into()),
        _ => Ok(text),
    }
}

async fn status(oauth: &OAuth) -> Result<AuthStatus, Problem> {
    Ok(oauth.status().await.ok_or("there are no credentials")?)
}

fn step(name: &str, status: &AuthStatus, told: &str) {
    let told: Value = serde_json::from_str(told).unwrap_or_default();
    let step =
        json!({ "step": name, "issuer": status.issuer, "scopes": status.scopes, "told": told });
    println!("STEP {step}");
}
