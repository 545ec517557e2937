//! Answers that are written down before they are asked for.

use std::any::Any;
use std::fmt;
use std::panic::resume_unwind;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use turnbuckle_client::{ClientBuilder, Consent, Declined, FormAnswer};
use turnbuckle_types::{
    CreateMessageParams, CreateMessageResult, Error, Json, MessageRole, SamplingContent,
    TextContent,
};

/// Characters of a server's words that are shown.
const SHOWN: usize = 200;

/// One answer.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Answer {
    Form(FormAnswer),
    Url(Consent),
    /// What the model says; nothing where it may not be asked.
    Sample(Option<String>),
}

/// What can be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Form,
    Url,
    Sample,
}

impl Answer {
    fn kind(&self) -> Kind {
        match self {
            Self::Form(_) => Kind::Form,
            Self::Url(_) => Kind::Url,
            Self::Sample(_) => Kind::Sample,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Form => "form",
            Self::Url => "URL",
            Self::Sample => "sample",
        })
    }
}

/// An answer, and what its question says if not just any will do.
struct Line {
    answer: Answer,
    when: Option<String>,
    /// Its place among all answers, from 1.
    place: usize,
}

/// The answers that are left, and what was asked without one.
#[derive(Default)]
pub(super) struct Script(Mutex<State>);

#[derive(Default)]
struct State {
    lines: Vec<Line>,
    written: usize,
    unexpected: Vec<String>,
}

impl Script {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn add(&self, answer: Answer, when: Option<String>) {
        let mut state = self.state();
        state.written += 1;
        let place = state.written;
        state.lines.push(Line {
            answer,
            when,
            place,
        });
    }

    /// Answers a client's questions from here on.
    pub(super) fn install(self: &Arc<Self>, builder: ClientBuilder) -> ClientBuilder {
        let (forms, urls, samples) = (self.clone(), self.clone(), self.clone());
        builder
            .on_form(move |form, _| {
                let answer = forms.next(Kind::Form, &form.message);
                async move {
                    match answer {
                        Ok(Answer::Form(answer)) => answer,
                        Ok(_) => FormAnswer::Cancel,
                        Err(told) => unanswered(told),
                    }
                }
            })
            .on_url(move |url, _| {
                let answer = urls.next(Kind::Url, &format!("{} ({})", url.message, url.url));
                async move {
                    match answer {
                        Ok(Answer::Url(answer)) => answer,
                        Ok(_) => Consent::Cancel,
                        Err(told) => unanswered(told),
                    }
                }
            })
            .on_sampling(move |params, _| {
                let answer = samples.next(Kind::Sample, &said(&params));
                async move {
                    match answer {
                        Ok(Answer::Sample(Some(text))) => Ok(spoken(text)),
                        Ok(_) => Err(Declined.into()),
                        Err(told) => Err(Error::internal(told)),
                    }
                }
            })
    }

    /// The first answer that waits for this question, or else the first that waits for none.
    fn next(&self, kind: Kind, message: &str) -> Result<Answer, String> {
        let mut state = self.state();
        let fits = |line: &Line| {
            let when = line.when.as_deref();
            line.answer.kind() == kind && when.is_some_and(|text| message.contains(text))
        };
        let any = |line: &Line| line.answer.kind() == kind && line.when.is_none();
        let lines = &state.lines;
        let found = lines
            .iter()
            .position(fits)
            .or_else(|| lines.iter().position(any));
        if let Some(found) = found {
            return Ok(state.lines.remove(found).answer);
        }
        let message: String = message.chars().take(SHOWN).collect();
        let told = format!("the server asked by {kind} what nobody scripted: {message:?}");
        state.unexpected.push(told.clone());
        Err(told)
    }

    /// What was asked in vain, and what was never asked for.
    pub(super) fn faults(&self) -> Vec<String> {
        let mut state = self.state();
        let mut faults = std::mem::take(&mut state.unexpected);
        for line in std::mem::take(&mut state.lines) {
            let Line {
                answer,
                when,
                place,
            } = line;
            let when = when.map_or_else(String::new, |text| format!(", for {text:?}"));
            let kind = answer.kind();
            faults.push(format!(
                "the server never asked by {kind} for answer {place} of the script{when}"
            ));
        }
        faults
    }
}

/// Fails the question: an unwinding handler answers with an error, and nothing is printed of it.
fn unanswered(told: String) -> ! {
    let told: Box<dyn Any + Send> = Box::new(told);
    resume_unwind(told)
}

/// What the model is asked, as JSON.
fn said(params: &CreateMessageParams) -> String {
    let messages = Json::of(&params.messages);
    messages.map_or_else(|error| error.to_string(), |json| json.as_str().to_owned())
}

fn spoken(text: String) -> CreateMessageResult {
    let text = SamplingContent::Text(TextContent::new(text));
    CreateMessageResult::new(MessageRole::Assistant, text, "test")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(text: &str) -> Answer {
        Answer::Sample(Some(text.to_owned()))
    }

    #[test]
    fn answers_come_in_their_order_and_to_their_questions() {
        let script = Script::default();
        script.add(sample("1"), None);
        script.add(sample("for b"), Some("b".into()));
        script.add(Answer::Url(Consent::Accept), None);
        script.add(sample("2"), None);
        let next = |message| script.next(Kind::Sample, message).unwrap();
        assert_eq!(next("a"), sample("1"));
        assert_eq!(next("abc"), sample("for b"));
        assert_eq!(next("b"), sample("2"));
        assert!(script.next(Kind::Sample, "a").is_err());
        assert_eq!(
            script.faults(),
            [
                "the server asked by sample what nobody scripted: \"a\"",
                "the server never asked by URL for answer 3 of the script",
            ]
        );
        assert!(script.faults().is_empty(), "they are told once");
    }
}
