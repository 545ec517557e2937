//! A model for tests: its answers are the lines of a file.
//!
//! A line is `{"text": "…"}`, or `{"calls": [{"name": "notes__add", "arguments": {"title": "a"}}]}`,
//! or both.

use std::collections::VecDeque;
use std::fs;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use serde::Deserialize;
use serde_json::{Value, json};

/// The answers that are left.
pub(crate) struct Script(Mutex<VecDeque<Value>>);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    text: Option<String>,
    #[serde(default)]
    calls: Vec<Call>,
}

#[derive(Deserialize)]
struct Call {
    name: String,
    arguments: Value,
}

impl Script {
    pub(crate) fn read(file: &Path) -> Result<Self, String> {
        let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", file.display());
        let text = fs::read_to_string(file).map_err(|error| failed(&error))?;
        let lines = text.lines().filter(|line| !line.trim().is_empty());
        let answers = lines.map(|line| serde_json::from_str(line).map(message));
        let answers: Result<VecDeque<Value>, _> = answers.collect();
        Ok(Self(Mutex::new(answers.map_err(|error| failed(&error))?)))
    }

    /// Returns the next answer.
    pub(crate) fn next(&self) -> Result<Value, String> {
        let mut answers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let next = answers.pop_front();
        next.ok_or_else(|| "the script has no more answers".to_owned())
    }
}

/// Returns a line as a message of the endpoint.
fn message(line: Line) -> Value {
    let calls = line.calls.into_iter().enumerate();
    let calls: Vec<Value> = calls
        .map(|(index, call)| {
            let arguments = call.arguments.to_string();
            json!({
                "id": format!("call-{index}"), "type": "function",
                "function": {"name": call.name, "arguments": arguments},
            })
        })
        .collect();
    json!({"role": "assistant", "content": line.text, "tool_calls": calls})
}
