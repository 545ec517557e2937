//! Elicitation by URL (client/elicitation). The tool never opens a URL by itself.

use std::sync::Arc;

use serde_json::json;
use turnbuckle::client::{QuestionContext, UrlAnswer, UrlRequest};
use turnbuckle::types::method::Elicit;
use turnbuckle::types::{ElicitAction, Request as _};

use super::answer_mode::AnswerMode;
use super::responder::Responder;
use super::script::parse_action;
use super::terminal::Terminal;
use crate::error::CliError;
use crate::output::{Style, sanitize};

/// Returns the scripted consent, or shows the URL and its host to the user and returns theirs.
pub(super) async fn answer(
    responder: Arc<Responder>,
    request: UrlRequest,
    question: QuestionContext,
) -> UrlAnswer {
    let as_json = || {
        json!({"method": Elicit::METHOD, "params": {
            "mode": "url", "message": request.message, "url": request.url}})
    };
    if let Some(answer) = responder.script_answer(as_json, parse_answer).await {
        return answer;
    }
    let terminal = responder.terminal.clone();
    match responder.mode {
        AnswerMode::Refuse => {
            responder
                .note_refusal(&request.url, "there is nobody to visit the URL")
                .await;
            UrlAnswer::Cancel
        }
        AnswerMode::AcceptAll => {
            show_request(&terminal, &request, &question);
            UrlAnswer::Accept
        }
        AnswerMode::Prompt => {
            let asked = terminal.run_dialog(move |terminal| {
                show_request(terminal, &request, &question);
                terminal
                    .console
                    .print_message("Nothing is opened for you: copy the address if you trust it.");
                if terminal.confirm("Will you go there?", false)? {
                    Some(UrlAnswer::Accept)
                } else {
                    Some(UrlAnswer::Decline)
                }
            });
            asked.await.unwrap_or(UrlAnswer::Cancel)
        }
    }
}

/// Parses a scripted answer.
fn parse_answer(text: &str) -> Result<UrlAnswer, CliError> {
    match parse_action(text).map(|result| result.action) {
        Some(ElicitAction::Accept) => Ok(UrlAnswer::Accept),
        Some(ElicitAction::Decline) => Ok(UrlAnswer::Decline),
        Some(_) => Ok(UrlAnswer::Cancel),
        None => Err(CliError::usage(
            "the answer to a URL is accept, decline or cancel",
        )),
    }
}

/// Prints the message, the URL, its host and the library's warnings.
fn show_request(terminal: &Terminal, request: &UrlRequest, question: &QuestionContext) {
    let console = &terminal.console;
    terminal.print_asker(question);
    console.print_message(&sanitize(&request.message));
    let host = console.style_stderr(Style::Strong, &sanitize(&request.host));
    console.print_message(&format!(
        "\n  address  {}\n  host     {host}",
        sanitize(&request.url)
    ));
    for warning in &request.warnings {
        console
            .print_message(&console.style_stderr(Style::Warning, &format!("  warning  {warning}")));
    }
    console.print_message("");
}
