//! Rules for what a client may send: messages alone, no answers that nobody asked for, and tokens of its own.

use std::collections::HashSet;

use serde_json::Value;

use crate::case::Bind;
use crate::check::Check;
use crate::report::Level;
use crate::script::conduct::{Breach, Entry, Outcome, Run, breach, outcome};

pub(super) const CHECKS: &[Check] = &[
    Check::client(
        "client.stdin-is-messages",
        Level::Must,
        "nothing but messages is written to the standard input of a server",
        stdin_is_messages,
    )
    .only_over(&[Bind::Stream])
    .requires(&["7d4b06cb18cb"])
    .fix("write one message per line, and nothing else"),
    Check::client(
        "client.no-responses",
        Level::Must,
        "the client sends no responses: a modern server sends no requests",
        no_responses,
    )
    .modern()
    .requires(&["e6b9bedb33dc", "c300e202aafa"])
    .fix("answer questions of the server in the retry of the request"),
    Check::client(
        "client.tokens-unique",
        Level::Must,
        "no two requests that wait have the same progress token",
        tokens_unique,
    )
    .requires(&["b9b544b85612", "4f333636b760"])
    .fix("take the id of the request as its progress token, or count up"),
];

fn stdin_is_messages(run: &Run) -> Outcome {
    let mut lines = 0;
    let mut has_other = false;
    for entry in &run.entries {
        if let Entry::Line { message, .. } = entry {
            lines += 1;
            has_other |= !(message.is_object() || message.is_array());
        }
    }
    let sentence = "a line that is no JSON object is written to the standard input".to_owned();
    let breaches = has_other.then_some(Breach {
        sentence,
        message: None,
    });
    let breaches = breaches.into_iter().collect();
    outcome(lines > 0, "the client wrote no line", breaches)
}

fn no_responses(run: &Run) -> Outcome {
    let is_response = |it: &&Value| it.get("method").is_none() && it.get("id").is_some();
    let breaches = run
        .client_messages()
        .filter(is_response)
        .map(|message| breach("the client sends a response", message))
        .collect();
    outcome(
        run.client_messages().next().is_some(),
        "the client sent no message",
        breaches,
    )
}

fn tokens_unique(run: &Run) -> Outcome {
    // The connection or session, the token, and the id of the request.
    let mut waiting: HashSet<(String, String, String)> = HashSet::new();
    let mut breaches = Vec::new();
    let mut has_tokens = false;
    for entry in &run.entries {
        let place = match entry {
            Entry::Sent(message) => {
                let id = message.get("id").map(Value::to_string).unwrap_or_default();
                if message.get("method").is_none() {
                    waiting.retain(|(.., request)| *request != id);
                }
                continue;
            }
            Entry::Token(_) => continue,
            Entry::Line { connection, .. } => connection.to_string(),
            Entry::Request { head, .. } => {
                head.header("mcp-session-id").unwrap_or_default().to_owned()
            }
        };
        let Some(message) = entry.client_message() else {
            continue;
        };
        let token = &message["params"]["_meta"]["progressToken"];
        let Some(id) = message.get("id").filter(|_| !token.is_null()) else {
            continue;
        };
        has_tokens = true;
        let token = token.to_string();
        let is_taken = |(at, other, _): &(String, String, String)| *at == place && *other == token;
        if waiting.iter().any(is_taken) {
            let sentence = format!("two requests that wait have the progress token {token}");
            breaches.push(breach(sentence, message));
        }
        waiting.insert((place, token, id.to_string()));
    }
    outcome(has_tokens, "the client sent no progress token", breaches)
}
