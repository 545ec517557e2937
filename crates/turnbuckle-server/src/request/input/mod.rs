//! Input from the client in the middle of a request.
//!
//! A handler is written once, in the way of the newest revision: a request for input ends its run,
//! and it runs again when the answers have come.
//!
//! Specification: basic/patterns/mrtr (2026-07-28).

mod answer_log;
mod ask;
mod bound_request;
mod canonical;
mod declared;
mod leg;
mod legacy;
mod once_claims;
mod request_identity;
mod request_state;
mod rounds;
mod watch;

use turnbuckle_types::base::random;
use turnbuckle_types::base::text::Escaped;
use turnbuckle_types::{
    CreateMessageRequestParams, CreateMessageResult, ElicitRequestFormParams, ElicitRequestParams,
    ElicitRequestUrlParams, ElicitResult, InputRequest, Json, ListRootsResult, ProtocolError,
};

use crate::name_rules::check_url;
use crate::schema::describe_mismatch;

pub use ask::{AnswerFuture, Ask, IntoSamplingRequest};
pub(crate) use bound_request::BoundRequest;
pub(crate) use canonical::canonical_arguments;
#[cfg(feature = "tasks")]
pub(crate) use leg::{Leg, LegQuestions};
pub(crate) use legacy::{LegacyInputError, ask as ask_legacy};
pub(crate) use once_claims::OnceRecords;
#[cfg(feature = "store")]
pub(crate) use once_claims::{ClaimError, ClaimFuture, Claimed, OnceClaims, OpenClaim};
#[cfg(feature = "tasks")]
pub(crate) use request_identity::RequestIdentity;
pub(crate) use request_state::{DEFAULT_STATE_TTL_SECS, StateBinding, StateKeys, mac};
pub(crate) use rounds::{InputRound, InputRounds, SharedIdentity};
pub(crate) use watch::run_until_input_required;

/// A question to the client, which knows the type of its answer.
///
/// Specification: basic/patterns/mrtr (2026-07-28).
pub trait Question: Into<InputRequest> {
    /// The type of the answer.
    type Answer;

    /// Parses an answer.
    ///
    /// # Errors
    /// When the answer does not have the requested form.
    fn parse_answer(&self, answer: &Json) -> Result<Self::Answer, ProtocolError>;
}

fn decode<T: serde::de::DeserializeOwned>(answer: &Json) -> Result<T, ProtocolError> {
    answer.decode().map_err(|error| {
        let reason = describe_mismatch(answer.as_str(), &error);
        ProtocolError::invalid_params(format!("an input response is malformed: {reason}"))
    })
}

impl Question for ElicitRequestFormParams {
    type Answer = ElicitResult;

    fn parse_answer(&self, answer: &Json) -> Result<ElicitResult, ProtocolError> {
        let result: ElicitResult = decode(answer)?;
        result.validate(&self.requested_schema).map_err(|problem| {
            ProtocolError::invalid_params(format!(
                "the answer does not fit what was asked: {problem}"
            ))
        })?;
        Ok(result)
    }
}

impl Question for ElicitRequestUrlParams {
    type Answer = ElicitResult;

    fn parse_answer(&self, answer: &Json) -> Result<ElicitResult, ProtocolError> {
        decode(answer)
    }
}

impl Question for ElicitRequestParams {
    type Answer = ElicitResult;

    fn parse_answer(&self, answer: &Json) -> Result<ElicitResult, ProtocolError> {
        match self {
            Self::Form(form) => form.parse_answer(answer),
            _ => decode(answer),
        }
    }
}

impl Question for CreateMessageRequestParams {
    type Answer = CreateMessageResult;

    fn parse_answer(&self, answer: &Json) -> Result<CreateMessageResult, ProtocolError> {
        decode(answer)
    }
}

/// The question for the client's roots.
///
/// Specification: client/roots (2026-07-28).
#[derive(Debug, Clone, Copy, Default)]
pub struct Roots;

impl From<Roots> for InputRequest {
    fn from(_: Roots) -> Self {
        Self::list_roots()
    }
}

impl Question for Roots {
    type Answer = ListRootsResult;

    fn parse_answer(&self, answer: &Json) -> Result<ListRootsResult, ProtocolError> {
        let mut result: ListRootsResult = decode(answer)?;
        result.roots.retain(|root| {
            let checked = root.check();
            if let Err(error) = &checked {
                tracing::warn!(uri = ?root.uri, error = %Escaped(&error), "a root of the client is left out");
            }
            checked.is_ok()
        });
        Ok(result)
    }
}

/// Checks URL elicitations and gives an id to each without one, by which its completion can be
/// announced.
pub(crate) fn assign_elicitation_ids(
    mut urls: Vec<ElicitRequestUrlParams>,
) -> Result<Vec<ElicitRequestUrlParams>, ProtocolError> {
    for url in &mut urls {
        check_elicitation_url(url)?;
        if url.elicitation_id.is_none() {
            let id = random::id().map_err(|error| ProtocolError::internal(error.to_string()))?;
            url.elicitation_id = Some(id);
        }
    }
    Ok(urls)
}

/// Checks that a user can be sent to the URL of an elicitation.
pub(crate) fn check_elicitation_url(params: &ElicitRequestUrlParams) -> Result<(), ProtocolError> {
    check_url(&params.url)
        .map_err(|error| ProtocolError::internal(format!("the URL to send the user to: {error}")))
}
