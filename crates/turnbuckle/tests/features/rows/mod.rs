//! The rows of the table, one feature each.

mod arguments;
mod asking;
mod changes;
mod content;
mod context;
mod errors;
mod extensions;
mod hosts;
mod limits;
mod prompts;
mod providers;
mod resources;
mod rules;
mod tools;

use serde_json::{Value, json};
use turnbuckle::Client;
use turnbuckle::types::CallToolResult;

/// Calls a tool and returns the result.
async fn result(client: &Client, tool: &str, arguments: Value) -> CallToolResult {
    client.call_tool(tool, &arguments).await.unwrap()
}

/// Calls a tool and returns the text of the result, which must be no error.
async fn call_text(client: &Client, tool: &str, arguments: Value) -> String {
    let result = result(client, tool, arguments).await;
    let text = text(&result);
    assert!(!result.is_error(), "{tool}: {text}");
    text
}

/// Calls a tool and returns the text of the result, which must be an error.
async fn call_error_text(client: &Client, tool: &str, arguments: Value) -> String {
    let result = result(client, tool, arguments).await;
    let text = text(&result);
    assert!(result.is_error(), "{tool}: {text}");
    text
}

fn text(result: &CallToolResult) -> String {
    result.text().into_owned()
}

/// Calls a tool and returns the content of the result as JSON.
async fn content(client: &Client, tool: &str) -> Value {
    let result = result(client, tool, json!({})).await;
    serde_json::to_value(result.content).unwrap()
}

/// Returns the code of the error response to a request.
fn error_code<T: std::fmt::Debug>(answer: Result<T, turnbuckle::client::Error>) -> i64 {
    let error = answer.unwrap_err();
    let refusal = error.error_response();
    refusal.unwrap_or_else(|| panic!("{error}")).code
}

/// Returns the definition of a tool as JSON, if the tool is listed.
async fn find_tool(client: &Client, tool: &str) -> Option<Value> {
    let tools = client.list_tools().fetch_all().await.unwrap();
    let found = tools.into_iter().find(|listed| listed.name == tool);
    found.map(|tool| serde_json::to_value(tool).unwrap())
}
