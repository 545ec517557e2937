//! Elicitation by URL (client/elicitation). The tool never opens a URL by itself.

use std::sync::Arc;

use turnbuckle::client::{QuestionContext, UrlAnswer, UrlRequest};

use super::answer_mode::AnswerMode;
use super::terminal::Terminal;
use crate::output::{Style, sanitize};

/// Shows the URL and its host to the user and returns their consent.
pub(super) async fn answer(
    terminal: Arc<Terminal>,
    mode: AnswerMode,
    request: UrlRequest,
    question: QuestionContext,
) -> UrlAnswer {
    match mode {
        AnswerMode::Refuse => UrlAnswer::Cancel,
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
                match terminal.confirm("Will you go there?", false)? {
                    true => Some(UrlAnswer::Accept),
                    false => Some(UrlAnswer::Decline),
                }
            });
            asked.await.unwrap_or(UrlAnswer::Cancel)
        }
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
