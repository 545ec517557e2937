//! Questions of servers that wait for a person.

use serde::{Deserialize, Serialize};

use super::form::{Fault, Form};

/// A question of a server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub struct Question {
    /// The id of the question.
    pub id: String,
    /// The id of the session.
    pub session: String,
    /// The microseconds from the start of the Inspector to the question.
    #[cfg_attr(test, ts(type = "number"))]
    pub at_us: u64,
    /// The number of the request that the question is about, if it is known.
    #[cfg_attr(test, ts(type = "number | null"))]
    pub about: Option<u64>,
    /// The state of the question.
    pub state: QuestionState,
    /// True if it was answered without a person.
    pub is_automatic: bool,
    /// The subject of the question.
    pub kind: QuestionKind,
}

/// The subject of a question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(
    tag = "kind",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum QuestionKind {
    /// The server wants a form filled in (`elicitation/create`).
    Form {
        /// The message of the server.
        message: String,
        /// The form to fill in.
        form: Form,
    },
    /// The server wants a page visited (`elicitation/create`, mode `url`).
    Url {
        /// The message of the server.
        message: String,
        /// The address of the page, as the server sent it.
        url: String,
        /// The host that the address leads to, in ASCII.
        host: String,
        /// Warnings about the address, in sentences.
        warnings: Vec<String>,
    },
    /// The server wants a model's answer (`sampling/createMessage`).
    Sampling {
        /// The parameters as the server sent them: JSON text, cut to 64 kB. The timeline has it whole.
        params: String,
        /// The answer that is suggested: JSON text of a result.
        suggested: String,
    },
    /// The server wants the roots (`roots/list`).
    Roots {
        /// The answer that is suggested: JSON text of a result.
        suggested: String,
    },
}

/// The phase of a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub enum QuestionState {
    /// The question waits for an answer.
    Open,
    /// An answer was sent.
    Accepted,
    /// The question was declined.
    Declined,
    /// The question was cancelled by the person.
    Cancelled,
    /// The request was given up before an answer: by a timeout, by the server or with the session.
    Withdrawn,
}

/// An answer of the person to a question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Answer {
    /// The action of the person.
    pub action: AnswerAction,
    /// The content of an accepted question: JSON text. For a form its values, otherwise the result.
    #[serde(default)]
    pub content: Option<String>,
    /// True if content is sent that does not fit the form.
    #[serde(default)]
    pub anyway: bool,
}

/// The action of the person who answers a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub enum AnswerAction {
    /// Sends the content.
    Accept,
    /// Refuses.
    Decline,
    /// Dismisses the question without a choice.
    Cancel,
}

/// The outcome of answering a question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(tag = "outcome", rename_all = "camelCase")]
pub enum AnswerOutcome {
    /// The answer was sent.
    Sent,
    /// The content does not fit, and the question is still open.
    Refused {
        /// The faults of the content.
        faults: Vec<Fault>,
    },
    /// The question waits for no answer any more.
    Gone,
}

/// The questions of a server that are answered without a person. By default there are none.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct AutomaticAnswers {
    /// The answer to forms.
    pub forms: Option<AutomaticForms>,
    /// The answer to URLs.
    pub urls: Option<AutomaticUrls>,
    /// The answer to `sampling/createMessage`: JSON text of a result.
    pub sampling: Option<String>,
    /// The answer to `roots/list`: JSON text of a result.
    pub roots: Option<String>,
}

/// The answer to forms that is given without a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub enum AutomaticForms {
    /// The defaults of the form are sent. A form that needs more waits for a person.
    Defaults,
    /// The form is declined.
    Decline,
}

/// The answer to URLs that is given without a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "camelCase")]
pub enum AutomaticUrls {
    /// The URL is declined.
    Decline,
}
