//! Every bound from both sides of its line: what is at it passes, one more is refused by the name of
//! its setting. What is not here has its test beside what it bounds; the table in SECURITY.md names
//! them all.

mod client;
mod endpoint;
mod logs;
mod progress;
mod rates;
mod schemas;
mod session;
mod shares;
mod sockets;

use serde_json::{Value, json};

/// Returns a call of the tool `echo`.
fn echoing() -> Value {
    json!({"name": "echo", "arguments": {"text": "t"}})
}

/// Asserts that an answer is the refusal that names this setting.
#[track_caller]
fn refused_by(answer: &Value, setting: &str) {
    let message = answer["error"]["message"].as_str();
    let message = message.unwrap_or_else(|| panic!("no error: {answer:#}"));
    assert!(message.contains(setting), "{setting}: {message}");
}
