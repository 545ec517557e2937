//! The rows of the table: a feature each.

mod arguments;
mod asking;
mod changes;
mod content;
mod context;
mod extensions;
mod limits;
mod prompts;
mod resources;
mod rules;
mod tools;

use serde_json::{Value, json};
use turnbuckle::Client;
use turnbuckle::types::CallToolResult;

/// What a call of a tool gives, as it is.
async fn result(client: &Client, tool: &str, arguments: Value) -> CallToolResult {
    client.call_tool(tool, &arguments).await.unwrap()
}

/// The text of a tool's result that is no error.
async fn said(client: &Client, tool: &str, arguments: Value) -> String {
    let result = result(client, tool, arguments).await;
    let text = text(&result);
    assert_ne!(result.is_error, Some(true), "{tool}: {text}");
    text
}

/// The text of a tool's result that is an error.
async fn failed(client: &Client, tool: &str, arguments: Value) -> String {
    let result = result(client, tool, arguments).await;
    let text = text(&result);
    assert_eq!(result.is_error, Some(true), "{tool}: {text}");
    text
}

fn text(result: &CallToolResult) -> String {
    let texts = result.content.iter().filter_map(|block| block.as_text());
    texts.collect::<Vec<_>>().join("\n")
}

/// A tool's content as JSON.
async fn content(client: &Client, tool: &str) -> Value {
    let result = result(client, tool, json!({})).await;
    serde_json::to_value(result.content).unwrap()
}

/// The code of the error that a request ends in.
fn refusal<T: std::fmt::Debug>(answer: Result<T, turnbuckle::client::Error>) -> i64 {
    let error = answer.unwrap_err();
    let refusal = error.error_response();
    refusal.unwrap_or_else(|| panic!("{error}")).code
}

/// A tool as it is listed.
async fn listed(client: &Client, tool: &str) -> Option<Value> {
    let tools = client.list_tools().fetch_all().await.unwrap();
    let found = tools.into_iter().find(|listed| listed.name == tool);
    found.map(|tool| serde_json::to_value(tool).unwrap())
}
