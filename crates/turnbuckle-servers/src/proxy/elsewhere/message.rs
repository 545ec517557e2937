//! The messages about calls that instances of a proxy send each other.

use serde::{Deserialize, Serialize};
use turnbuckle_session::internal::SessionOwner;
use turnbuckle_types::{Json, LoggingMessageNotificationParams, ProgressNotificationParams};

use crate::proxy::call_error::CallError;
use crate::proxy::question::{Answer, Question};

/// A message about a call between the instance that has it and the one that its client has come to.
#[derive(Serialize, Deserialize)]
pub(super) struct Message {
    /// The number of the exchange, given by the instance that the client has come to.
    pub(super) exchange: u64,
    pub(super) content: Content,
}

/// The name of a call that waits at another instance.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct CallName {
    pub(crate) id: String,
    /// The principal that the call must belong to.
    pub(crate) owner: Option<SessionOwner>,
}

/// The content of a [`Message`].
#[derive(Serialize, Deserialize)]
pub(crate) enum Content {
    /// Asks for the questions of a call that waits.
    ListQuestions(CallName),
    /// Answers the last of so many questions of a call that waits.
    Answer {
        call: CallName,
        questions: usize,
        answer: Answer,
    },
    /// Shows that the client still waits for the end of the exchange.
    Waiting,
    /// Cancels the call of the exchange.
    Cancel,
    /// Cancels a call that waits.
    CancelParked(CallName),
    /// The questions of a call.
    Questions(Vec<Question>),
    Progress(ProgressNotificationParams),
    Log(LoggingMessageNotificationParams),
    /// Another question. The call waits again, and the exchange is over.
    Question(Question),
    /// The end of the call and the exchange.
    Ended(Result<Json, CallError>),
}
