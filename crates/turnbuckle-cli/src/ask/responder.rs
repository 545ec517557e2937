//! The parts that all handlers of questions share: the terminal, the mode, the script, and the end of
//! the command when a question cannot be answered.

use std::collections::HashSet;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher as _;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;
use tokio::sync::Notify;

use super::answer_mode::AnswerMode;
use super::script::AnswerScript;
use super::terminal::Terminal;
use crate::error::CliError;
use crate::output::sanitize_line;

/// The hint for a question that was not answered.
const ANSWER_HINT: &str = "`--answer` gives the answer (accept, decline, JSON, text or @FILE), \
                           `--answer-command` names a program that does";

/// The most questions that one command refuses; one more ends it.
const MAX_REFUSALS: usize = 4;

/// Answers the questions of a server.
pub(super) struct Responder {
    pub(super) terminal: Arc<Terminal>,
    pub(super) mode: AnswerMode,
    pub(super) script: Option<AnswerScript>,
    pub(super) abort: Abort,
}

impl Responder {
    /// Returns the scripted answer to a question, parsed by `parse`; `None` if no script answers. An
    /// answer that cannot be used ends the command.
    pub(super) async fn script_answer<T>(
        &self,
        question: impl FnOnce() -> Value,
        parse: impl FnOnce(&str) -> Result<T, CliError>,
    ) -> Option<T> {
        let script = self.script.as_ref()?;
        let answer = script.answer(&question()).await;
        match answer.and_then(|text| parse(&text)) {
            Ok(answer) => Some(answer),
            Err(error) => self.abort.end_command(error).await,
        }
    }

    /// Notes that the question `message` is refused because of `reason`. The second time the command
    /// ends: a server that asks again will go on asking.
    pub(super) async fn note_refusal(&self, message: &str, reason: &str) {
        if self.abort.0.record_refusal(message) {
            let text = format!("  not answered: {}", sanitize_line(reason, 200));
            self.terminal.console.print_message(&text);
            return;
        }
        let text =
            format!("the server asks again although its question was not answered: {reason}");
        self.abort
            .end_command(CliError::new(text).hint(ANSWER_HINT))
            .await
    }
}

/// The end of a command for a question that has no answer.
#[derive(Clone, Default)]
pub(crate) struct Abort(Arc<AbortState>);

#[derive(Default)]
struct AbortState {
    error: Mutex<Option<CliError>>,
    is_set: Notify,
    /// Hashes of the questions that were refused.
    refused: Mutex<HashSet<u64>>,
    hasher: RandomState,
}

impl AbortState {
    /// Records a refused question. Returns whether it is new and not one too many.
    fn record_refusal(&self, message: &str) -> bool {
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        refused.len() < MAX_REFUSALS && refused.insert(self.hasher.hash_one(message))
    }
}

impl Abort {
    /// Ends the command with this error. Never returns.
    async fn end_command<T>(&self, error: CliError) -> T {
        *self.0.error.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
        self.0.is_set.notify_one();
        std::future::pending().await
    }

    /// Forgets which questions were refused: another line of the shell begins.
    pub(crate) fn forget_refusals(&self) {
        let mut refused = self
            .0
            .refused
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        refused.clear();
    }

    /// Waits until the command has to end, and returns the error.
    pub(crate) async fn wait(&self) -> CliError {
        loop {
            self.0.is_set.notified().await;
            let mut error = self.0.error.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(error) = error.take() {
                return error;
            }
        }
    }
}
