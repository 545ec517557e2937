//! The questions of servers, and how a client of the proxy answers them.

use turnbuckle_client::{Form, FormAnswer, SamplingRejected, UrlAnswer, UrlRequest};
use turnbuckle_server::{Ask, AskError, Result};
use turnbuckle_types::{
    CreateMessageRequestParams, CreateMessageResult, ElicitAction, ElicitRequestFormParams,
    ProtocolError, Root,
};

/// A question of a server.
pub(super) enum Question {
    Form(Form),
    Url(UrlRequest),
    Sampling(Box<CreateMessageRequestParams>),
    Roots,
}

/// The answer to a [`Question`] of the same kind.
pub(super) enum Answer {
    Form(FormAnswer),
    Url(UrlAnswer),
    Sampling(Box<std::result::Result<CreateMessageResult, ProtocolError>>),
    Roots(Vec<Root>),
}

impl Question {
    /// Asks the client, and returns its answer.
    ///
    /// # Errors
    /// Fails if the request has to end for the question.
    pub(super) async fn ask(&self, ask: &Ask) -> Result<Answer> {
        Ok(match self {
            Self::Form(form) => {
                let params =
                    ElicitRequestFormParams::new(form.message.clone(), form.schema.clone());
                Answer::Form(match ask.raw_form(params).await {
                    Ok(result) => match result.action {
                        ElicitAction::Accept => {
                            FormAnswer::Accept(result.content.unwrap_or_default())
                        }
                        ElicitAction::Decline => FormAnswer::Decline,
                        _ => FormAnswer::Cancel,
                    },
                    Err(error) => match has_declined(error)? {
                        true => FormAnswer::Decline,
                        false => FormAnswer::Cancel,
                    },
                })
            }
            Self::Url(request) => {
                let asked = ask.url(request.message.clone(), request.url.clone());
                Answer::Url(match asked.await {
                    Ok(()) => UrlAnswer::Accept,
                    Err(error) => match has_declined(error)? {
                        true => UrlAnswer::Decline,
                        false => UrlAnswer::Cancel,
                    },
                })
            }
            Self::Sampling(params) => {
                let sampled = ask.sample(CreateMessageRequestParams::clone(params)).await;
                Answer::Sampling(Box::new(match sampled {
                    Ok(result) => Ok(result),
                    Err(error) => {
                        has_declined(error)?;
                        Err(SamplingRejected.into())
                    }
                }))
            }
            Self::Roots => Answer::Roots(match ask.roots().await {
                Ok(roots) => roots,
                Err(error) => {
                    has_declined(error)?;
                    Vec::new()
                }
            }),
        })
    }
}

/// Returns whether the user declined (`true`) or gave no answer (`false`); fails for an error that
/// ends the request.
fn has_declined(error: AskError) -> Result<bool> {
    match error {
        AskError::Declined => Ok(true),
        AskError::Cancelled | AskError::Unsupported(_) | AskError::Malformed(_) => Ok(false),
        error => Err(error.into()),
    }
}
