//! Sampling requests, answered by the user in place of a model (client/sampling).

use std::sync::Arc;

use serde_json::json;
use turnbuckle::client::{QuestionContext, SamplingRejected};
use turnbuckle::types::method::{CreateMessage, Request as _};
use turnbuckle::types::{CreateMessageRequestParams, CreateMessageResult, ProtocolError};

use super::answer_mode::AnswerMode;
use super::responder::Responder;
use super::script::parse_sampling_answer;
use super::terminal::Dialog;
use crate::output::{Style, sanitize, sanitize_line};

/// Returns the scripted message, or shows a sampling request to the user and returns what they type as
/// the model's message.
pub(super) async fn answer(
    responder: Arc<Responder>,
    params: CreateMessageRequestParams,
    question: QuestionContext,
) -> Result<CreateMessageResult, ProtocolError> {
    let as_json = || json!({"method": CreateMessage::METHOD, "params": params});
    let parse = |text: &str| Ok(parse_sampling_answer(text));
    if let Some(answer) = responder.script_answer(as_json, parse).await {
        return answer.ok_or_else(|| SamplingRejected.into());
    }
    if responder.mode != AnswerMode::Prompt {
        let reason = match responder.mode {
            AnswerMode::AcceptAll => "--yes has no default for a request to a model (sampling)",
            _ => "there is nobody to answer in place of a model (sampling)",
        };
        responder.note_refusal("sampling", reason).await;
        return Err(SamplingRejected.into());
    }
    let terminal = responder.terminal.clone();
    let typed = terminal
        .run_dialog(move |terminal| ask_user(terminal, &params, &question))
        .await;
    let text = typed.ok_or(SamplingRejected)?;
    Ok(CreateMessageResult::from_text(text, "a person").stop_reason("endTurn"))
}

/// Prints the request and reads the answer. `None` declines.
fn ask_user(
    terminal: &Dialog,
    params: &CreateMessageRequestParams,
    question: &QuestionContext,
) -> Option<String> {
    let console = &terminal.console;
    terminal.print_asker(question);
    console.print_message("what a model would answer to this:\n");
    if let Some(system) = &params.system_prompt {
        console.print_message(&format!(
            "{} {}",
            console.style_stderr(Style::Dim, "system:"),
            sanitize(system)
        ));
    }
    for message in &params.messages {
        let role = console.style_stderr(Style::Dim, &format!("{}:", message.role.as_str()));
        for content in message.content.iter() {
            let shown = match content.as_text() {
                Some(text) => sanitize(text),
                None => sanitize_line(&serde_json::to_string(content).unwrap_or_default(), 200),
            };
            console.print_message(&format!("{role} {shown}"));
        }
    }
    let how = "Type the answer; an empty line ends it, Ctrl-D refuses.";
    console.print_message(&format!("\n{}", console.style_stderr(Style::Dim, how)));
    let mut lines: Vec<String> = Vec::new();
    loop {
        let typed = terminal.read_line("  > ")?;
        if typed.is_empty() && !lines.is_empty() {
            break;
        }
        lines.push(typed);
    }
    let text = lines.join("\n");
    terminal.confirm("Send this?", true)?.then_some(text)
}
