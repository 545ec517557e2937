//! Calls, and what comes beside their results.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use serde::Deserialize;
use serde_json::{Map, Value};
use turnbuckle::types::LoggingLevel;

use crate::problem::Problem;
use crate::scene::{Scene, holds, require_success, same, text, until};

#[derive(Deserialize)]
struct Structured {
    tool: String,
    arguments: Value,
    structured: Map<String, Value>,
}

/// Checks a structured result against the members that the tool's listing declares.
pub(super) async fn call_structured(scene: &Scene) -> Result<(), Problem> {
    let entry: Structured = scene.entry("structured")?;
    let tools = scene.client.list_tools().fetch_all().await?;
    let tool = tools.iter().find(|tool| tool.name == entry.tool);
    let schema = tool
        .and_then(|tool| tool.output_schema.as_ref())
        .ok_or("no output schema")?;
    let schema: Value = serde_json::from_str(schema.as_str())?;
    let listed = schema["properties"]
        .as_object()
        .ok_or("an output schema without properties")?;
    let names = |members: &Map<String, Value>| members.keys().cloned().collect::<BTreeSet<_>>();
    same(&names(listed), &names(&entry.structured))?;

    let call = scene.client.call_tool(&entry.tool, &entry.arguments);
    same(
        &call.structured_content::<Map<String, Value>>().await?,
        &entry.structured,
    )
}

#[derive(Deserialize)]
struct Progress {
    tool: String,
    arguments: Value,
    reports: u32,
    /// Progress values that are reported; `None` stands for 1, 2, and so on.
    values: Option<Vec<f64>>,
}

/// Checks that all progress reports arrive before the result.
pub(super) async fn progress(scene: &Scene) -> Result<(), Problem> {
    let entry: Progress = scene.entry("progress")?;
    let came: Arc<Mutex<Vec<f64>>> = Arc::default();
    let reports = came.clone();
    let call = scene
        .client
        .call_tool(&entry.tool, &entry.arguments)
        .on_progress(move |report| {
            let mut reports = reports.lock().unwrap_or_else(PoisonError::into_inner);
            reports.push(report.progress.as_f64());
        });
    require_success(call.await?)?;
    let came = came.lock().unwrap_or_else(PoisonError::into_inner);
    let counted = || (1..=entry.reports).map(f64::from).collect();
    same(&*came, &entry.values.unwrap_or_else(counted))
}

#[derive(Deserialize)]
struct Says {
    tool: String,
    arguments: Value,
    says: String,
}

pub(super) async fn log(scene: &Scene) -> Result<(), Problem> {
    let entry: Says = scene.entry("log")?;
    let mut call = scene.client.call_tool(&entry.tool, &entry.arguments);
    match scene.features.log_by_request {
        true => call = call.log_level(LoggingLevel::Debug),
        false => drop(scene.client.set_log_level(LoggingLevel::Debug).await?),
    }
    require_success(call.await?)?;
    until("the log message", || {
        let messages = scene.messages.all();
        std::future::ready(Ok(messages
            .logs
            .iter()
            .any(|data| data.contains(&entry.says))))
    })
    .await
}

/// Checks that a failure of a tool arrives as a result.
pub(super) async fn error(scene: &Scene) -> Result<(), Problem> {
    let entry: Says = scene.entry("error")?;
    let result = scene
        .client
        .call_tool(&entry.tool, &entry.arguments)
        .await?;
    same(&result.is_error, &Some(true))?;
    holds(&text(&result), &entry.says)
}
