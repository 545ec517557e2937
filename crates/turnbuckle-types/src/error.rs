//! Errors by their kind. The number that a kind has on the wire depends on the revision, and is
//! written elsewhere.

use std::error::Error as StdError;
use std::fmt;
use std::time::Duration;

use serde::Serialize;

use crate::object::object;
use crate::{ClientCapabilities, ElicitUrlParams, Json, ScopeNeeded};

/// What kind of failure an [`Error`] is.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The input is not JSON.
    Malformed,
    /// The input is JSON but not a message, or not one that may stand here.
    NotAMessage,
    /// The envelope of a request lacks a field or has a wrong one.
    Envelope,
    /// A header says something else than the body.
    HeaderMismatch,
    /// The request speaks a revision that is not served.
    UnsupportedVersion {
        /// The revisions that are.
        supported: Vec<String>,
        /// The one that was asked for.
        requested: String,
    },
    /// The client has not declared what the request needs; these are the capabilities that it lacks.
    MissingCapability(Box<ClientCapabilities>),
    /// There is no such method.
    UnknownMethod,
    /// There is no such resource.
    ResourceNotFound,
    /// The parameters are not what the method takes.
    InvalidParams,
    /// The user must go to these URLs first.
    UrlElicitationRequired(Vec<ElicitUrlParams>),
    /// The caller lacks scopes.
    Forbidden(ScopeNeeded),
    /// The caller asks for more at once than it may have, or faster than it may.
    TooMany {
        /// When it is worth another try, where that is known.
        retry_after: Option<Duration>,
    },
    /// Something failed that the peer can do nothing about.
    Internal,
    /// The application's own error code, or one that no other kind stands for.
    Application(i64),
}

/// A failure to be reported to the peer. The size of a pointer.
///
/// The message is for people and may change. A source is for this side's log and is never sent.
pub struct Error(Box<Inner>);

struct Inner {
    kind: ErrorKind,
    message: String,
    data: Option<Json>,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

impl Error {
    /// An error of any kind. The data that a kind implies are filled in.
    #[must_use]
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        let data = match &kind {
            ErrorKind::UnsupportedVersion {
                supported,
                requested,
            } => Json::of(&UnsupportedVersionData::new(
                supported.clone(),
                requested.clone(),
            ))
            .ok(),
            ErrorKind::MissingCapability(needed) => {
                Json::of(&MissingCapabilityData::new((**needed).clone())).ok()
            }
            ErrorKind::UrlElicitationRequired(urls) => {
                Json::of(&UrlElicitationData::new(urls.clone())).ok()
            }
            _ => None,
        };
        Self(Box::new(Inner {
            kind,
            message: message.into(),
            data,
            source: None,
        }))
    }

    /// The input is not JSON.
    #[must_use]
    pub fn malformed(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Malformed, message)
    }

    /// The input is not a message, or not one that may stand here.
    #[must_use]
    pub fn not_a_message(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::NotAMessage, message)
    }

    /// The envelope of a request is not as it must be.
    #[must_use]
    pub fn envelope(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Envelope, message)
    }

    /// A header says something else than the body.
    #[must_use]
    pub fn header_mismatch(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::HeaderMismatch, message)
    }

    /// The client has not declared the capabilities `needed`.
    #[must_use]
    pub fn missing_capability(needed: ClientCapabilities, message: impl Into<String>) -> Self {
        Self::new(ErrorKind::MissingCapability(Box::new(needed)), message)
    }

    /// There is no such method.
    #[must_use]
    pub fn unknown_method(method: &str) -> Self {
        Self::new(
            ErrorKind::UnknownMethod,
            format!("Method not found: {method}"),
        )
    }

    /// There is no resource with this URI, which becomes the data.
    #[must_use]
    pub fn resource_not_found(uri: impl Into<String>) -> Self {
        let data = ResourceNotFoundData::new(uri);
        Self::new(ErrorKind::ResourceNotFound, "Resource not found").with_data(&data)
    }

    /// The parameters are not what the method takes.
    #[must_use]
    pub fn invalid_params(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::InvalidParams, message)
    }

    /// The user must go to these URLs first.
    #[must_use]
    pub fn url_elicitation_required(
        urls: impl Into<Vec<ElicitUrlParams>>,
        message: impl Into<String>,
    ) -> Self {
        Self::new(ErrorKind::UrlElicitationRequired(urls.into()), message)
    }

    /// The caller lacks scopes.
    #[must_use]
    pub fn forbidden(needed: ScopeNeeded) -> Self {
        let message = format!("Forbidden: {needed}");
        Self::new(ErrorKind::Forbidden(needed), message)
    }

    /// The caller asks faster than it may; `retry_after` is when it is worth another try. Its
    /// milliseconds become the data.
    #[must_use]
    pub fn too_many(message: impl Into<String>, retry_after: Duration) -> Self {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Data {
            retry_after_ms: u64,
        }
        let millis = retry_after.as_nanos().div_ceil(1_000_000);
        let kind = ErrorKind::TooMany {
            retry_after: Some(retry_after),
        };
        Self::new(kind, message).with_data(&Data {
            retry_after_ms: u64::try_from(millis).unwrap_or(u64::MAX),
        })
    }

    /// Something failed that the peer can do nothing about. The message is sent: no secrets.
    #[must_use]
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Internal, message)
    }

    /// The application's own error code.
    #[must_use]
    pub fn application(code: i64, message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Application(code), message)
    }

    /// Sets the data that go with the message. A value that cannot be written as JSON is left out.
    #[must_use]
    pub fn with_data<T: Serialize + ?Sized>(mut self, data: &T) -> Self {
        self.0.data = Json::of(data).ok();
        self
    }

    /// Sets what caused the error, for this side's log.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.0.source = Some(source.into());
        self
    }

    /// The kind.
    #[must_use]
    pub fn kind(&self) -> &ErrorKind {
        &self.0.kind
    }

    /// The message, for people.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The data, if there are any.
    #[must_use]
    pub fn data(&self) -> Option<&Json> {
        self.0.data.as_ref()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

/// Leaves the data out: they are the application's, and may hold what a log should not.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Error")
            .field("kind", &self.0.kind)
            .field("message", &self.0.message)
            .field("source", &self.0.source)
            .finish_non_exhaustive()
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0
            .source
            .as_deref()
            .map(|source| source as &(dyn StdError + 'static))
    }
}

object! {
    /// An error on the wire.
    ///
    /// Specification: basic/index, Responses (2026-07-28).
    pub struct ErrorObject {
        /// What kind of error it is.
        req code: i64 = "code",
        /// What happened, for people.
        req message: String = "message",
        /// More about it: any JSON value.
        raw data: Json = "data",
    }
}

object! {
    /// The data of an error about an unsupported revision.
    pub struct UnsupportedVersionData {
        /// The revisions that are served.
        req supported: Vec<String> = "supported",
        /// The one that was asked for.
        req requested: String = "requested",
    }
}

object! {
    /// The data of an error about a missing capability.
    pub struct MissingCapabilityData {
        /// What the client would have to declare.
        req required_capabilities: ClientCapabilities = "requiredCapabilities",
    }
}

object! {
    /// The data of an error that sends the user to URLs.
    ///
    /// Specification: client/elicitation (2025-11-25).
    pub struct UrlElicitationData {
        /// Where to go.
        req elicitations: Vec<ElicitUrlParams> = "elicitations",
    }
}

object! {
    /// The data of an error about a resource that is not there.
    pub struct ResourceNotFoundData {
        /// The resource's URI.
        req uri: String = "uri",
    }
}
