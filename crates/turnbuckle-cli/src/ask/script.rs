//! Answers to the questions of a server from `--answer` and `--answer-command`.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::{Mutex, PoisonError};

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::Command;
use turnbuckle::client::{Form, FormAnswer};
use turnbuckle::types::{CreateMessageResult, ElicitAction, ElicitResult, FieldValue, Map};

use crate::args::ProtocolArgs;
use crate::error::CliError;
use crate::input::read_text_file;

/// The longest answer of a program, in bytes.
const MAX_ANSWER_BYTES: u64 = 16 << 20;

/// The source of answers that need no user.
pub(super) enum AnswerScript {
    /// The values of `--answer` that are not used yet.
    Values(Mutex<VecDeque<String>>),
    /// The program of `--answer-command`.
    Program(PathBuf),
}

impl AnswerScript {
    /// Returns the script that the options name, if they name one.
    pub(super) fn new(protocol: &ProtocolArgs) -> Option<Self> {
        match &protocol.answer_command {
            Some(program) => Some(Self::Program(program.clone())),
            None if protocol.answers.is_empty() => None,
            None => Some(Self::Values(Mutex::new(
                protocol.answers.iter().cloned().collect(),
            ))),
        }
    }

    /// Returns the answer to a question: the next value, or what the program prints.
    pub(super) async fn answer(&self, question: &Value) -> Result<String, CliError> {
        match self {
            Self::Values(values) => {
                let mut values = values.lock().unwrap_or_else(PoisonError::into_inner);
                let value = values.pop_front().ok_or_else(|| {
                    CliError::usage("the server asks more questions than `--answer` has answers")
                        .hint("repeat `--answer`, or answer with `--answer-command PROGRAM`")
                })?;
                match value.strip_prefix('@') {
                    Some(file) => read_text_file(file),
                    None => Ok(value),
                }
            }
            Self::Program(program) => run_program(program, question).await,
        }
    }
}

fn to_text(bytes: Vec<u8>) -> Result<String, CliError> {
    String::from_utf8(bytes).map_err(|_| CliError::usage("an answer is not UTF-8"))
}

/// Runs the program with the question as its input and returns its output.
async fn run_program(program: &PathBuf, question: &Value) -> Result<String, CliError> {
    let failed = |why: String| {
        CliError::usage(format!(
            "the program {} of --answer-command {why}",
            program.display()
        ))
    };
    let io_failed = |error: std::io::Error| failed(format!("cannot be run: {error}"));
    let mut child = Command::new(program)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .map_err(io_failed)?;
    let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
    let write = async {
        if let Some(mut stdin) = stdin {
            // A program that needs no question may end without reading it.
            let _ = stdin.write_all(format!("{question}\n").as_bytes()).await;
        }
    };
    let read = async {
        let mut output = Vec::new();
        if let Some(stdout) = stdout {
            stdout
                .take(MAX_ANSWER_BYTES + 1)
                .read_to_end(&mut output)
                .await?;
        }
        Ok::<_, std::io::Error>(output)
    };
    let ((), output) = tokio::join!(write, read);
    let output = output.map_err(io_failed)?;
    if output.len() as u64 > MAX_ANSWER_BYTES {
        return Err(failed(format!(
            "printed more than {MAX_ANSWER_BYTES} bytes"
        )));
    }
    let status = child.wait().await.map_err(io_failed)?;
    if status.success() {
        to_text(output)
    } else {
        Err(failed(format!("failed ({status})")))
    }
}

/// Parses `accept`, `decline`, `cancel`, or a whole result of `elicitation/create`.
pub(super) fn parse_action(text: &str) -> Option<ElicitResult> {
    let action = |word: &str| serde_json::from_value::<ElicitAction>(word.into()).ok();
    let is_known = |action: &ElicitAction| {
        matches!(
            action,
            ElicitAction::Accept | ElicitAction::Decline | ElicitAction::Cancel
        )
    };
    let text = text.trim();
    if let Some(action) = action(text).filter(is_known) {
        return Some(ElicitResult::new(action));
    }
    let members: serde_json::Map<String, Value> = serde_json::from_str(text).ok()?;
    if !members
        .keys()
        .all(|name| matches!(&**name, "action" | "content"))
    {
        return None;
    }
    let result: ElicitResult = serde_json::from_str(text).ok()?;
    is_known(&result.action).then_some(result)
}

/// Parses the answer to a form: an action, a whole result, or the content as a JSON object.
pub(super) fn parse_form_answer(form: &Form, text: &str) -> Result<FormAnswer, CliError> {
    let parsed = parse_action(text);
    let content = match parsed {
        Some(ElicitResult {
            action: ElicitAction::Accept,
            content,
            ..
        }) => content.unwrap_or_else(|| form.defaults()),
        Some(ElicitResult {
            action: ElicitAction::Decline,
            ..
        }) => return Ok(FormAnswer::Decline),
        Some(_) => return Ok(FormAnswer::Cancel),
        None => serde_json::from_str::<Map<FieldValue>>(text).map_err(|error| {
            CliError::usage(format!("the answer is no form: {error}")).hint(
                "a form is answered by accept, decline, cancel, or an object such as \
                 '{\"name\":\"Ada\"}'",
            )
        })?,
    };
    if let Some(unknown) = content
        .keys()
        .find(|name| form.schema.properties.get(name).is_none())
    {
        let fields: Vec<&str> = form.schema.properties.keys().collect();
        return Err(
            CliError::usage(format!("the form has no field {unknown:?}"))
                .hint(format!("the fields are {}", fields.join(", "))),
        );
    }
    match form.validate(&content) {
        Ok(()) => Ok(FormAnswer::Accept(content)),
        Err(error) => Err(CliError::usage(format!(
            "the answer does not fit the form: {error}"
        ))),
    }
}

/// Parses the answer to a sampling request: a whole result, or the text of the model. `None` declines.
pub(super) fn parse_sampling_answer(text: &str) -> Option<CreateMessageResult> {
    let text = text.strip_suffix('\n').unwrap_or(text);
    if let Ok(result) = serde_json::from_str::<CreateMessageResult>(text) {
        return Some(result);
    }
    if let Some(result) = parse_action(text)
        && result.action != ElicitAction::Accept
    {
        return None;
    }
    Some(CreateMessageResult::from_text(text, "a script").stop_reason("endTurn"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_action_is_a_word_or_a_result() {
        let action = |text| parse_action(text).map(|result| result.action);
        assert_eq!(action(" accept\n"), Some(ElicitAction::Accept));
        assert_eq!(action("reject"), Some(ElicitAction::Decline));
        assert_eq!(action(r#"{"action":"cancel"}"#), Some(ElicitAction::Cancel));
        for none in [
            "",
            "yes",
            "{}",
            r#"{"action":"later"}"#,
            r#"{"action":"accept","b":1}"#,
        ] {
            assert_eq!(action(none), None, "{none}");
        }
    }
}
