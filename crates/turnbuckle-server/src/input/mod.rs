//! Questions to the client in the middle of a request: a handler is written once, in the form of
//! the newest revision, and asked again when the answers are there.
//!
//! Specification: basic/patterns/mrtr (2026-07-28).

mod ask;
mod attend;
mod canonical;
mod journal;
mod legacy;
mod rounds;
mod state;

use std::fmt;

use serde::Serialize;
use turnbuckle_types::{
    CreateMessageParams, CreateMessageResult, ElicitFormParams, ElicitParams, ElicitResult,
    ElicitUrlParams, Error, ErrorKind, InputRequest, InputRequests, Json, ListRootsResult,
};

use crate::name::check_url;
use crate::schema::misfit;

pub use ask::{Ask, AskError, Asked, IntoSample};
pub(crate) use attend::attend;
pub(crate) use legacy::{NoAnswer, ask as ask_legacy};
pub(crate) use rounds::{Round, Rounds, Target};
pub(crate) use state::{DEFAULT_LIFETIME, tag};
pub use state::{Key, KeyRing, NoRandomness};

/// What a handler needs from the client before it can go on: questions, each under a key of the
/// handler's choice, and state to find again when it is asked the next time.
///
/// Return it as an error (`?`), or let [`Context::ask`](crate::Context::ask) make it. The client
/// never sees the state's content and cannot change it; but it may send the same state twice, until
/// the state expires: what must happen once has to be guarded by the handler itself.
///
/// Specification: basic/patterns/mrtr (2026-07-28).
#[derive(Clone, Default)]
#[must_use]
pub struct NeedsInput {
    pub(crate) requests: InputRequests,
    pub(crate) state: Option<Json>,
    /// A key under which two questions were asked.
    repeated: Option<String>,
    /// Why the client cannot be asked what is needed.
    unable: Option<Box<(ErrorKind, String)>>,
}

impl NeedsInput {
    /// Needs nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a question. Each needs a key of its own: two under one are an internal error.
    pub fn ask(mut self, key: &str, question: impl Into<InputRequest>) -> Self {
        if self.requests.insert(key, question).is_some() {
            self.repeated = Some(key.to_owned());
        }
        self
    }

    /// Keeps something for the next round; see [`Context::state`](crate::Context::state).
    ///
    /// # Errors
    /// When it has no JSON form.
    pub fn state<T: Serialize + ?Sized>(mut self, state: &T) -> Result<Self, Error> {
        let json = Json::of(state)
            .map_err(|error| Error::internal(format!("the state has no JSON form: {error}")))?;
        self.state = Some(json);
        Ok(self)
    }

    /// Needs what the client cannot be asked for.
    pub(crate) fn unable(error: Error) -> Self {
        Self {
            unable: Some(Box::new((error.kind().clone(), error.message().to_owned()))),
            ..Self::default()
        }
    }

    /// Why the client cannot be asked.
    pub(crate) fn take_unable(&mut self) -> Option<Error> {
        let (kind, message) = *self.unable.take()?;
        Some(Error::new(kind, message))
    }

    /// Whether a client can do something with it, and can tell the answers apart.
    pub(crate) fn check(&self) -> Result<(), Error> {
        if let Some(key) = &self.repeated {
            return Err(Error::internal(format!(
                "the handler asked two questions under the key {key:?}"
            )));
        }
        if self.requests.is_empty() && self.state.is_none() {
            return Err(Error::internal(
                "the handler needs input but asked for nothing",
            ));
        }
        Ok(())
    }
}

/// Says nothing of what is asked and kept.
impl fmt::Debug for NeedsInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let keys: Vec<&str> = self.requests.iter().map(|(key, _)| key).collect();
        f.debug_struct("NeedsInput")
            .field("requests", &keys)
            .field("has_state", &self.state.is_some())
            .finish_non_exhaustive()
    }
}

impl fmt::Display for NeedsInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the request needs input from the client")
    }
}

impl std::error::Error for NeedsInput {}

/// A question with the form of its answer.
///
/// Specification: basic/patterns/mrtr (2026-07-28).
pub trait Question: Into<InputRequest> {
    /// What the client answers.
    type Answer;

    /// Reads an answer.
    ///
    /// # Errors
    /// When it does not have the form that was asked for.
    fn read(&self, answer: &Json) -> Result<Self::Answer, Error>;
}

fn decode<T: serde::de::DeserializeOwned>(answer: &Json) -> Result<T, Error> {
    answer.decode().map_err(|error| {
        let reason = misfit(answer.as_str(), &error);
        Error::invalid_params(format!("an input response is malformed: {reason}"))
    })
}

impl Question for ElicitFormParams {
    type Answer = ElicitResult;

    fn read(&self, answer: &Json) -> Result<ElicitResult, Error> {
        let result: ElicitResult = decode(answer)?;
        result.validate(&self.requested_schema).map_err(|problem| {
            Error::invalid_params(format!("the answer does not fit what was asked: {problem}"))
        })?;
        Ok(result)
    }
}

impl Question for ElicitUrlParams {
    type Answer = ElicitResult;

    fn read(&self, answer: &Json) -> Result<ElicitResult, Error> {
        decode(answer)
    }
}

impl Question for ElicitParams {
    type Answer = ElicitResult;

    fn read(&self, answer: &Json) -> Result<ElicitResult, Error> {
        match self {
            Self::Form(form) => form.read(answer),
            _ => decode(answer),
        }
    }
}

impl Question for CreateMessageParams {
    type Answer = CreateMessageResult;

    fn read(&self, answer: &Json) -> Result<CreateMessageResult, Error> {
        decode(answer)
    }
}

/// Asks the client for its roots.
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

    fn read(&self, answer: &Json) -> Result<ListRootsResult, Error> {
        let result: ListRootsResult = decode(answer)?;
        for root in &result.roots {
            root.check()
                .map_err(|error| Error::invalid_params(error.to_string()))?;
        }
        Ok(result)
    }
}

/// An id that nobody can guess.
pub(crate) fn random_id() -> Result<String, NoRandomness> {
    use base64::Engine as _;
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|_| NoRandomness)?;
    Ok(base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(bytes))
}

/// Gives an id to every URL that has none: by it its end can be announced.
pub(crate) fn name_urls(mut urls: Vec<ElicitUrlParams>) -> Result<Vec<ElicitUrlParams>, Error> {
    for url in &mut urls {
        check_target(url)?;
        if url.elicitation_id.is_none() {
            let id = random_id().map_err(|error| Error::internal(error.to_string()))?;
            url.elicitation_id = Some(id);
        }
    }
    Ok(urls)
}

/// Whether a user can be sent there.
pub(crate) fn check_target(params: &ElicitUrlParams) -> Result<(), Error> {
    check_url(&params.url)
        .map_err(|error| Error::internal(format!("the URL to send the user to: {error}")))
}
