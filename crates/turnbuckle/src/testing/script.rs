//! Scripted answers to the questions of a server.

use std::any::Any;
use std::fmt;
use std::panic::resume_unwind;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use turnbuckle_client::{ClientBuilder, FormAnswer, SamplingRejected, UrlAnswer};
use turnbuckle_types::{CreateMessageRequestParams, CreateMessageResult, Json, ProtocolError};

/// The most characters of a question that a message shows.
const MAX_SHOWN_CHARS: usize = 200;

/// A scripted answer.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Answer {
    Form(FormAnswer),
    Url(UrlAnswer),
    /// The text of the model; `None` rejects the request.
    Sampling(Option<String>),
}

/// The questions that a server may ask its client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum QuestionKind {
    Form,
    Url,
    Sampling,
}

impl Answer {
    fn kind(&self) -> QuestionKind {
        match self {
            Self::Form(_) => QuestionKind::Form,
            Self::Url(_) => QuestionKind::Url,
            Self::Sampling(_) => QuestionKind::Sampling,
        }
    }
}

impl fmt::Display for QuestionKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Form => "form",
            Self::Url => "URL",
            Self::Sampling => "sampling",
        })
    }
}

/// An answer and the question that it is for.
struct ScriptedAnswer {
    answer: Answer,
    /// A part of the question's text; `None` fits every question of the answer's kind.
    question_part: Option<String>,
    /// The number of the answer in the script, from 1.
    number: usize,
}

/// The remaining answers, and the questions that had none.
#[derive(Default)]
pub(super) struct Script(Mutex<State>);

#[derive(Default)]
struct State {
    answers: Vec<ScriptedAnswer>,
    count: usize,
    unexpected: Vec<String>,
}

impl Script {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds an answer to the end of the script: for questions whose text contains `question_part`, or
    /// for any question of its kind.
    pub(super) fn add(&self, answer: Answer, question_part: Option<String>) {
        let mut state = self.state();
        state.count += 1;
        let place = state.count;
        state.answers.push(ScriptedAnswer {
            answer,
            question_part,
            number: place,
        });
    }

    /// Registers handlers that answer with the script.
    pub(super) fn install_handlers(self: &Arc<Self>, builder: ClientBuilder) -> ClientBuilder {
        let (forms, urls, samples) = (self.clone(), self.clone(), self.clone());
        builder
            .on_form(move |form, _| {
                let answer = forms.take_answer(QuestionKind::Form, &form.message);
                async move {
                    match answer {
                        Ok(Answer::Form(answer)) => answer,
                        Ok(_) => FormAnswer::Cancel,
                        Err(message) => fail_handler(message),
                    }
                }
            })
            .on_url(move |url, _| {
                let answer =
                    urls.take_answer(QuestionKind::Url, &format!("{} ({})", url.message, url.url));
                async move {
                    match answer {
                        Ok(Answer::Url(answer)) => answer,
                        Ok(_) => UrlAnswer::Cancel,
                        Err(message) => fail_handler(message),
                    }
                }
            })
            .on_sampling(move |params, _| {
                let answer = samples.take_answer(QuestionKind::Sampling, &messages_json(&params));
                async move {
                    match answer {
                        Ok(Answer::Sampling(Some(text))) => Ok(model_reply(text)),
                        Ok(_) => Err(SamplingRejected.into()),
                        Err(message) => Err(ProtocolError::internal(message)),
                    }
                }
            })
    }

    /// Takes the first answer for this question, or else the first for any question.
    fn take_answer(&self, kind: QuestionKind, message: &str) -> Result<Answer, String> {
        let mut state = self.state();
        let fits = |line: &ScriptedAnswer| {
            let question_part = line.question_part.as_deref();
            line.answer.kind() == kind && question_part.is_some_and(|text| message.contains(text))
        };
        let any =
            |line: &ScriptedAnswer| line.answer.kind() == kind && line.question_part.is_none();
        let lines = &state.answers;
        let found = lines
            .iter()
            .position(fits)
            .or_else(|| lines.iter().position(any));
        if let Some(found) = found {
            return Ok(state.answers.remove(found).answer);
        }
        let message: String = message.chars().take(MAX_SHOWN_CHARS).collect();
        let message = format!("the server asked by {kind} without a scripted answer: {message:?}");
        state.unexpected.push(message.clone());
        Err(message)
    }

    /// Returns the questions without answers and the answers without questions.
    pub(super) fn mismatches(&self) -> Vec<String> {
        let mut state = self.state();
        let mut faults = std::mem::take(&mut state.unexpected);
        for line in std::mem::take(&mut state.answers) {
            let ScriptedAnswer {
                answer,
                question_part,
                number: place,
            } = line;
            let suffix = question_part.map_or_else(String::new, |text| format!(", for {text:?}"));
            let kind = answer.kind();
            faults.push(format!(
                "the server never asked by {kind} for answer {place} of the script{suffix}"
            ));
        }
        faults
    }
}

/// Fails the handler: an unwinding handler answers with an error and prints nothing.
fn fail_handler(message: String) -> ! {
    let message: Box<dyn Any + Send> = Box::new(message);
    resume_unwind(message)
}

/// Returns the messages of a sampling request as JSON.
fn messages_json(params: &CreateMessageRequestParams) -> String {
    let messages = Json::encode(&params.messages);
    messages.map_or_else(|error| error.to_string(), |json| json.as_str().to_owned())
}

/// Returns the reply of the model.
fn model_reply(text: String) -> CreateMessageResult {
    CreateMessageResult::from_text(text, "test")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(text: &str) -> Answer {
        Answer::Sampling(Some(text.to_owned()))
    }

    #[test]
    fn answers_are_used_in_order_and_for_their_questions() {
        let script = Script::default();
        script.add(sample("1"), None);
        script.add(sample("for b"), Some("b".into()));
        script.add(Answer::Url(UrlAnswer::Accept), None);
        script.add(sample("2"), None);
        let next = |message| script.take_answer(QuestionKind::Sampling, message).unwrap();
        assert_eq!(next("a"), sample("1"));
        assert_eq!(next("abc"), sample("for b"));
        assert_eq!(next("b"), sample("2"));
        assert!(script.take_answer(QuestionKind::Sampling, "a").is_err());
        assert_eq!(
            script.mismatches(),
            [
                "the server asked by sampling without a scripted answer: \"a\"",
                "the server never asked by URL for answer 3 of the script",
            ]
        );
        assert!(
            script.mismatches().is_empty(),
            "mismatches are reported once"
        );
    }
}
