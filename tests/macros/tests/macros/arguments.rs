//! Arguments of attributed functions, as handlers receive them.

use serde_json::{Value, json};
use turnbuckle::prelude::Result;
use turnbuckle::{Server, data, resource, resources, testing, tool, tools};

/// Returns the text of a call's result, or of its error.
pub(crate) async fn call_text(
    server: turnbuckle::ServerBuilder,
    tool: &str,
    arguments: Value,
) -> String {
    let text = try_call_text(server, tool, &arguments).await;
    text.unwrap_or_else(|failure| format!("{failure:?}"))
}

async fn try_call_text(
    server: turnbuckle::ServerBuilder,
    tool: &str,
    arguments: &Value,
) -> Result<String> {
    let client = testing::connect(server).await?;
    let result = client.call_tool(tool, arguments).await?;
    let content = serde_json::to_value(&result.content)?;
    let texts = content.as_array().into_iter().flatten();
    Ok(texts.filter_map(|block| block["text"].as_str()).collect())
}

fn server() -> turnbuckle::ServerBuilder {
    Server::new("arguments", "1.0.0")
}

#[data(rename_all = "lowercase")]
enum Unit {
    Metric,
    Imperial,
}

#[tool(rename_all = "camelCase")]
fn forecast(
    city: String,
    next_days: u8,
    unit: Option<Unit>,
    #[schema(default = "sea", rename = "view")] seen_from: String,
    #[schema(default = Unit::Imperial)] other: Unit,
    r#type: Option<i8>,
) -> String {
    let name = |unit: &Unit| match unit {
        Unit::Metric => "metric",
        Unit::Imperial => "imperial",
    };
    let unit = unit.as_ref().map(name);
    format!(
        "{city} {next_days} {unit:?} {seen_from} {} {type:?}",
        name(&other)
    )
}

#[tokio::test]
async fn arguments_are_decoded_by_name_and_may_be_optional() {
    let least = json!({"city": "Lund", "nextDays": 2});
    let text = call_text(server().tools(tools![forecast]), "forecast", least).await;
    assert_eq!(text, "Lund 2 None sea imperial None");
    let all = json!({"city": "Lund", "nextDays": 2, "unit": "metric", "view": "hill",
                     "other": "metric", "type": 1});
    let text = call_text(server().tools(tools![forecast]), "forecast", all).await;
    assert_eq!(text, "Lund 2 Some(\"metric\") hill metric Some(1)");
}

#[tokio::test]
async fn an_invalid_argument_is_named() {
    let text = call_text(
        server().tools(tools![forecast]),
        "forecast",
        json!({"city": "Lund"}),
    )
    .await;
    assert!(text.contains("nextDays"), "{text}");
}

#[tool]
fn choose(
    #[schema(min = 1, max = 3)] count: u8,
    #[schema(max_len = 2)] names: Vec<String>,
) -> String {
    format!("{count} {}", names.len())
}

#[tokio::test]
async fn constraints_are_enforced() {
    let fits = json!({"count": 3, "names": ["a", "b"]});
    assert_eq!(
        call_text(server().tools(tools![choose]), "choose", fits).await,
        "3 2"
    );
    for (argument, wrong) in [
        ("count", json!({"count": 4, "names": []})),
        ("names", json!({"count": 1, "names": ["a", "b", "c"]})),
    ] {
        let text = call_text(server().tools(tools![choose]), "choose", wrong).await;
        assert!(text.contains(argument), "{text}");
    }
}

#[resource("notes://{user}{/path*}{?full}")]
fn note(user: String, path: Vec<String>, full: Option<String>) -> Result<String> {
    Ok(format!("{user} {} {full:?}", path.join("+")))
}

#[tokio::test]
async fn the_variables_of_a_template_are_arguments() {
    let client = testing::connect(server().resources(resources![note]))
        .await
        .unwrap();
    let read = client
        .read_resource("notes://me/a/b?full=yes")
        .await
        .unwrap();
    let read = serde_json::to_value(&read).unwrap();
    assert_eq!(read["contents"][0]["text"], "me a+b Some(\"yes\")");
}
