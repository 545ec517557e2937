//! Input that a server needs before it can answer: questions to the client inside a result, and the
//! answers inside the retried request.

use serde::de::{Deserializer, Error as _};
use serde::ser::{SerializeMap, Serializer};
use serde::{Deserialize, Serialize};

use crate::method::{CreateMessage, Elicit, ListRoots, Request};
use crate::object::object;
use crate::tagged::variants;
use crate::{
    CreateMessageRequestParams, ElicitRequestFormParams, ElicitRequestParams,
    ElicitRequestUrlParams, Json, Map, Meta, RequestParams,
};

/// Questions, each under a key that the server chose.
pub type InputRequests = Map<InputRequest>;

object! {
    /// A result that asks for input: the client answers and sends its request again.
    ///
    /// At least one of the two must be there; [`InputRequiredResult::is_empty`] says when neither is.
    ///
    /// Specification: basic/patterns/mrtr (2026-07-28).
    pub struct InputRequiredResult {
        /// The questions.
        map input_requests: InputRequests = "inputRequests",
        /// Opaque state that the client gives back with its answers.
        opt request_state: String = "requestState",
        /// Metadata.
        map meta: Meta = "_meta",
    }
}

impl InputRequiredResult {
    /// Adds a question under a key.
    #[must_use]
    pub fn ask(mut self, key: impl Into<Box<str>>, request: impl Into<InputRequest>) -> Self {
        self.input_requests.insert(key, request);
        self
    }

    /// Returns whether there is neither a question nor a state, which no client can act upon.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.input_requests.is_empty() && self.request_state.is_none()
    }
}

/// A question to the client: a request without the frame of one. Only `method` and `params` are kept.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum InputRequest {
    /// Asks the user.
    Elicit(ElicitRequestParams),
    /// Asks the model.
    CreateMessage(Box<CreateMessageRequestParams>),
    /// Asks for the roots; the parameters may be left out.
    ListRoots(Option<RequestParams>),
    /// A method that this vocabulary does not know, with its whole object.
    Unknown {
        /// The method as the peer named it.
        method: String,
        /// The object as it arrived.
        raw: Json,
    },
}

variants! { InputRequest { Elicit, CreateMessage, ListRoots, } Unknown }

impl InputRequest {
    /// Creates a question for the roots.
    #[must_use]
    pub fn list_roots() -> Self {
        Self::ListRoots(None)
    }

    /// Returns the name of the method.
    #[must_use]
    pub fn method(&self) -> &str {
        match self {
            Self::Elicit(_) => Elicit::METHOD,
            Self::CreateMessage(_) => CreateMessage::METHOD,
            Self::ListRoots(_) => ListRoots::METHOD,
            Self::Unknown { method, .. } => method,
        }
    }
}

macro_rules! elicits {
    ($($Params:ty),+) => { $(
        impl From<$Params> for InputRequest {
            fn from(params: $Params) -> Self {
                Self::Elicit(params.into())
            }
        }
    )+ };
}
elicits!(
    ElicitRequestParams,
    ElicitRequestFormParams,
    ElicitRequestUrlParams
);

impl From<CreateMessageRequestParams> for InputRequest {
    fn from(params: CreateMessageRequestParams) -> Self {
        Self::CreateMessage(Box::new(params))
    }
}

impl Serialize for InputRequest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if let Self::Unknown { raw, .. } = self {
            return raw.serialize(serializer);
        }
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("method", self.method())?;
        match self {
            Self::Elicit(params) => map.serialize_entry("params", params)?,
            Self::CreateMessage(params) => map.serialize_entry("params", params)?,
            Self::ListRoots(Some(params)) => map.serialize_entry("params", params)?,
            Self::ListRoots(None) | Self::Unknown { .. } => {}
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for InputRequest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Json::deserialize(deserializer)?;
        let Frame { method, params } = raw.decode().map_err(D::Error::custom)?;
        let needed = || {
            params
                .as_ref()
                .ok_or_else(|| D::Error::missing_field("params"))
        };
        match &*method {
            Elicit::METHOD => needed()?.decode().map(Self::Elicit),
            CreateMessage::METHOD => needed()?.decode().map(Self::CreateMessage),
            ListRoots::METHOD => match &params {
                Some(params) => params.decode().map(Some).map(Self::ListRoots),
                None => Ok(Self::ListRoots(None)),
            },
            _ => return Ok(Self::Unknown { method, raw }),
        }
        .map_err(D::Error::custom)
    }
}

/// The two members of a question.
#[derive(Deserialize)]
struct Frame {
    method: String,
    params: Option<Json>,
}
