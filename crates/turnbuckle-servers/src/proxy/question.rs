//! The questions of servers, and how a client of the proxy answers them.

use serde::{Deserialize, Serialize};
use turnbuckle_client::{Form, UrlRequest};
use turnbuckle_server::{Ask, AskError, Result};
use turnbuckle_types::{
    CreateMessageRequestParams, CreateMessageResult, ElicitAction, ElicitRequestFormParams,
    ElicitResult, Root,
};

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

impl Question {
    /// Asks the client, and returns its answer.
    ///
    /// # Errors
    /// Fails if the request has to end for the question.
    pub(super) async fn ask(&self, ask: &Ask) -> Result<Answer> {
        Ok(match self {
            Self::Form(form) => Answer::Form(match ask.raw_form(form.clone()).await {
                Ok(result) => result,
                Err(error) => ElicitResult::new(action_without_answer(error)?),
            }),
            Self::Url { message, url } => {
                let asked = ask.url(message, url);
                Answer::Url(match asked.await {
                    Ok(()) => ElicitAction::Accept,
                    Err(error) => action_without_answer(error)?,
                })
            }
            Self::Sampling(params) => {
                let sampled = ask.sample(CreateMessageRequestParams::clone(params)).await;
                Answer::Sampling(match sampled {
                    Ok(result) => Some(Box::new(result)),
                    Err(error) => {
                        action_without_answer(error)?;
                        None
                    }
                })
            }
            Self::Roots => Answer::Roots(match ask.roots().await {
                Ok(roots) => roots,
                Err(error) => {
                    action_without_answer(error)?;
                    Vec::new()
                }
            }),
        })
    }
}

/// Returns what the server reads of a user who declined or gave no answer; fails for an error that ends the
/// request.
fn action_without_answer(error: AskError) -> Result<ElicitAction> {
    match error {
        AskError::Declined => Ok(ElicitAction::Decline),
        AskError::Cancelled | AskError::Unsupported(_) | AskError::Malformed(_) => {
            Ok(ElicitAction::Cancel)
        }
        error => Err(error.into()),
    }
}
