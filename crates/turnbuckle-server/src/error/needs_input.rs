//! The failure of a handler that needs input from its client.
//!
//! Specification: basic/patterns/mrtr (2026-07-28).

use std::fmt;

use serde::Serialize;
use turnbuckle_types::base::debug_fields;
use turnbuckle_types::{ErrorKind, InputRequest, InputRequests, Json, ProtocolError};

/// Questions that the client has to answer before a handler can go on, each under a key of the
/// handler's choice, and state to keep until then.
///
/// Return it as an error (`?`), or let [`HandlerContext::ask`](crate::HandlerContext::ask) create
/// it. The client can neither read nor change the state, but it may send the same state twice until
/// the state expires: guard work yourself that must be done only once.
///
/// Specification: basic/patterns/mrtr (2026-07-28).
#[derive(Clone, Default)]
#[must_use]
pub struct NeedsInput(Box<InputNeeds>);

/// The questions and the state. The source of a [`NeedsInput`], since wrappers that hide the type of
/// an error show its sources.
#[derive(Clone, Default, thiserror::Error)]
#[error("input required")]
pub(crate) struct InputNeeds {
    pub(crate) requests: InputRequests,
    pub(crate) state: Option<Json>,
    /// A key that was used for two questions.
    duplicate_key: Option<String>,
    /// The reason that the client cannot be asked.
    unsupported: Option<Box<(ErrorKind, String)>>,
}

impl NeedsInput {
    /// Creates an empty value, without questions and state.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a question. Each question needs a key of its own; a key that is used twice is an
    /// internal error.
    pub fn ask(mut self, key: &str, question: impl Into<InputRequest>) -> Self {
        if self.0.requests.insert(key, question).is_some() {
            self.0.duplicate_key = Some(key.to_owned());
        }
        self
    }

    /// Keeps state for the next run; see
    /// [`HandlerContext::request_state`](crate::HandlerContext::request_state).
    ///
    /// # Errors
    /// When the state cannot be encoded as JSON.
    pub fn request_state<T: Serialize + ?Sized>(
        mut self,
        state: &T,
    ) -> Result<Self, ProtocolError> {
        let json = Json::encode(state).map_err(|error| {
            ProtocolError::internal(format!("the state has no JSON form: {error}"))
        })?;
        self.0.state = Some(json);
        Ok(self)
    }

    /// Creates a value for a question that the client cannot be asked.
    pub(crate) fn for_unsupported(error: ProtocolError) -> Self {
        Self(Box::new(InputNeeds {
            unsupported: Some(Box::new((error.kind().clone(), error.message().to_owned()))),
            ..InputNeeds::default()
        }))
    }

    /// Creates a value for questions and state that were collected.
    pub(crate) fn for_questions(requests: InputRequests, state: Option<Json>) -> Self {
        Self(Box::new(InputNeeds {
            requests,
            state,
            ..InputNeeds::default()
        }))
    }

    /// Returns a copy of a value that is part of a chain of errors.
    pub(crate) fn from_link(error: &(dyn std::error::Error + 'static)) -> Option<Self> {
        match error.downcast_ref::<Self>() {
            Some(needs) => Some(needs.clone()),
            None => Some(Self(Box::new(error.downcast_ref::<InputNeeds>()?.clone()))),
        }
    }

    /// Returns the questions and the state.
    pub(crate) fn into_needs(self) -> InputNeeds {
        *self.0
    }

    /// Returns the questions.
    pub(crate) fn requests(&self) -> &InputRequests {
        &self.0.requests
    }

    /// Takes the reason that the client cannot be asked.
    pub(crate) fn take_unsupported(&mut self) -> Option<ProtocolError> {
        let (kind, message) = *self.0.unsupported.take()?;
        Some(ProtocolError::new(kind, message))
    }

    /// Checks that something is asked or kept, and that each question has a key of its own.
    pub(crate) fn check(&self) -> Result<(), ProtocolError> {
        if let Some(key) = &self.0.duplicate_key {
            return Err(ProtocolError::internal(format!(
                "the handler asked two questions under the key {key:?}"
            )));
        }
        if self.0.requests.is_empty() && self.0.state.is_none() {
            return Err(ProtocolError::internal(
                "the handler returned a NeedsInput without a question or state",
            ));
        }
        Ok(())
    }
}

// Questions and state may be confidential.
debug_fields!(NeedsInput {
    requests = |needs| {
        let keys = needs.0.requests.iter().map(|(key, _)| key.to_owned());
        keys.collect::<Vec<_>>()
    },
    has_state = |needs| needs.0.state.is_some(),
});
debug_fields!(InputNeeds {});

impl fmt::Display for NeedsInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the request needs input from the client")
    }
}

impl std::error::Error for NeedsInput {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&*self.0)
    }
}
