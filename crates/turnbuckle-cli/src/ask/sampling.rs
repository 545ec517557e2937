//! Questions to a model, which the user answers.

use std::sync::Arc;

use turnbuckle::client::{Declined, Question};
use turnbuckle::types::{
    CreateMessageParams, CreateMessageResult, Error, MessageRole, SamplingContent,
};

use super::Manner;
use super::terminal::Terminal;
use crate::output::{Ink, clean, line};

/// Shows the user what a model is asked, and takes what they type for its answer.
pub(super) async fn answer(
    terminal: Arc<Terminal>,
    manner: Manner,
    params: CreateMessageParams,
    question: Question,
) -> Result<CreateMessageResult, Error> {
    if manner != Manner::Asked {
        return Err(Declined.into());
    }
    let typed = terminal
        .converse(move |terminal| talk(terminal, &params, &question))
        .await;
    let text = typed.ok_or(Declined)?;
    let content = SamplingContent::text(text);
    Ok(
        CreateMessageResult::new(MessageRole::Assistant, content, "a person")
            .stop_reason("endTurn"),
    )
}

fn talk(terminal: &Terminal, params: &CreateMessageParams, question: &Question) -> Option<String> {
    let screen = &terminal.screen;
    terminal.introduce(question);
    screen.say("what a model would answer to this:\n");
    if let Some(system) = &params.system_prompt {
        screen.say(&format!(
            "{} {}",
            screen.err_ink(Ink::Dim, "system:"),
            clean(system)
        ));
    }
    for message in &params.messages {
        let role = screen.err_ink(Ink::Dim, &format!("{}:", message.role.as_str()));
        for content in message.content.iter() {
            let shown = match content.as_text() {
                Some(text) => clean(text),
                None => line(&serde_json::to_string(content).unwrap_or_default(), 200),
            };
            screen.say(&format!("{role} {shown}"));
        }
    }
    let how = "Type the answer; an empty line ends it, Ctrl-D refuses.";
    screen.say(&format!("\n{}", screen.err_ink(Ink::Dim, how)));
    let mut lines: Vec<String> = Vec::new();
    loop {
        let typed = terminal.read("  > ")?;
        if typed.is_empty() && !lines.is_empty() {
            break;
        }
        lines.push(typed);
    }
    let text = lines.join("\n");
    terminal.agrees("Send this?", true)?.then_some(text)
}
