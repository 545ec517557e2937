//! The questions of servers, and how a client of the proxy answers them.

use serde::{Deserialize, Serialize};
use turnbuckle_client::{Form, UrlRequest};
use turnbuckle_server::{Ask, AskError, Failure, HandlerContext};
use turnbuckle_types::{
    CreateMessageRequestParams, CreateMessageResult, ElicitAction, ElicitRequestFormParams,
    ElicitResult, ErrorObject, Root,
};

/// The code of the error with which a server reads that an answer is malformed.
const INVALID_PARAMS: i64 = -32602;

/// A question of a server.
#[derive(Clone, Serialize, Deserialize)]
pub(super) enum Question {
    Form(ElicitRequestFormParams),
    Url { message: String, url: String },
    Sampling(Box<CreateMessageRequestParams>),
    Roots,
}

/// The answer to a [`Question`] of the same kind.
#[derive(Serialize, Deserialize)]
pub(super) enum Answer {
    Form(ElicitResult),
    Url(ElicitAction),
    /// `None` if the client's model was not asked.
    Sampling(Option<Box<CreateMessageResult>>),
    Roots(Vec<Root>),
    /// The client does not have such questions.
    Unsupported,
    /// The client answered with an error response.
    Refused(ErrorObject),
}

impl From<Form> for Question {
    fn from(form: Form) -> Self {
        Self::Form(ElicitRequestFormParams::new(form.message, form.schema))
    }
}

impl From<UrlRequest> for Question {
    fn from(request: UrlRequest) -> Self {
        Self::Url {
            message: request.message,
            url: request.url,
        }
    }
}

/// The end of a request whose question has no answer.
pub(super) struct Unanswered {
    pub(super) failure: Failure,
    /// True if the client may send the request again with another answer.
    pub(super) may_be_answered: bool,
}

impl Unanswered {
    /// Creates the end of a request that nobody comes back to.
    pub(super) fn for_ever(failure: Failure) -> Self {
        Self {
            failure,
            may_be_answered: false,
        }
    }
}

impl Question {
    /// Asks the client, and returns its answer.
    ///
    /// # Errors
    /// Fails if the request has to end for the question.
    pub(super) async fn ask(
        &self,
        ask: &Ask,
        context: &HandlerContext,
    ) -> Result<Answer, Unanswered> {
        let answered = match self {
            Self::Form(form) => match ask.raw_form(form.clone()).await {
                Ok(result) => Ok(Answer::Form(result)),
                Err(error) => {
                    action_without_answer(error).map(|it| Answer::Form(ElicitResult::new(it)))
                }
            },
            Self::Url { message, url } => match ask.url(message, url).await {
                Ok(()) => Ok(Answer::Url(ElicitAction::Accept)),
                Err(error) => action_without_answer(error).map(Answer::Url),
            },
            Self::Sampling(params) => {
                let sampled = ask.sample(CreateMessageRequestParams::clone(params)).await;
                match sampled {
                    Ok(result) => Ok(Answer::Sampling(Some(Box::new(result)))),
                    Err(error) => action_without_answer(error).map(|_| Answer::Sampling(None)),
                }
            }
            Self::Roots => match ask.roots().await {
                Ok(roots) => Ok(Answer::Roots(roots)),
                Err(error) => action_without_answer(error).map(|_| Answer::Roots(Vec::new())),
            },
        };
        match answered {
            Err(AskError::Unsupported(_)) => Ok(Answer::Unsupported),
            Err(AskError::Refused(error)) => Ok(Answer::Refused(error)),
            Err(error @ AskError::Malformed(_)) => match context.is_legacy() {
                // The client has answered, and is not asked again.
                true => Ok(Answer::Refused(ErrorObject::new(
                    INVALID_PARAMS,
                    error.to_string(),
                ))),
                false => Err(Unanswered {
                    failure: error.into(),
                    may_be_answered: true,
                }),
            },
            answered => answered.map_err(|error| Unanswered::for_ever(error.into())),
        }
    }
}

/// Returns what the server reads of a user who declined or gave no answer.
///
/// # Errors
/// Returns the error again if it is another one.
fn action_without_answer(error: AskError) -> Result<ElicitAction, AskError> {
    match error {
        AskError::Declined => Ok(ElicitAction::Decline),
        AskError::Cancelled => Ok(ElicitAction::Cancel),
        error => Err(error),
    }
}
