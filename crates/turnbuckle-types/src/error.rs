//! Errors by their kind. The number that a kind has on the wire depends on the revision, and is
//! written elsewhere.

use std::error::Error as StdError;
use std::fmt;
use std::time::Duration;

use serde::Serialize;

use crate::object::object;
use crate::{ClientCapabilities, ElicitRequestUrlParams, Json, RequiredScopes};

/// The kind of a [`ProtocolError`].
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The input is not JSON.
    ParseError,
    /// The input is JSON but not a message, or not one that may stand here.
    InvalidRequest,
    /// The envelope of a request lacks a field or has a wrong one.
    InvalidEnvelope,
    /// A header says something else than the body.
    HeaderMismatch,
    /// The request speaks a revision that is not served.
    UnsupportedProtocolVersion {
        /// The revisions that are.
        supported: Vec<String>,
        /// The one that was asked for.
        requested: String,
    },
    /// The client has not declared what the request needs; these are the capabilities that it lacks.
    MissingRequiredClientCapability(Box<ClientCapabilities>),
    /// The method does not exist here.
    MethodNotFound,
    /// The resource does not exist.
    ResourceNotFound,
    /// The parameters are not what the method takes.
    InvalidParams,
    /// The user must go to these URLs first.
    UrlElicitationRequired(Vec<ElicitRequestUrlParams>),
    /// The caller lacks scopes.
    Forbidden(RequiredScopes),
    /// The caller asks for more at once than it may have, or faster than it may.
    RateLimited {
        /// The time after which another try may succeed, if known.
        retry_after: Option<Duration>,
    },
    /// A failure that the peer cannot prevent.
    Internal,
    /// The application's own error code, or one that no other kind stands for.
    Application(i64),
    /// The code of an error that another peer sent, passed on as it is.
    Forwarded(i64),
}

/// A failure to be reported to the peer. The size of a pointer.
///
/// The message is for people and may change. A source is for this side's log and is never sent.
pub struct ProtocolError(Box<Inner>);

/// The parts of an error, and the first of its sources, which names the kind. Wrappers that hide the
/// type of an error show its sources.
struct Inner {
    kind: ErrorKind,
    message: String,
    data: Option<Json>,
    source: Option<Box<dyn StdError + Send + Sync>>,
    limit: Option<&'static str>,
}

impl ProtocolError {
    /// Creates an error of any kind, with the data that the kind implies.
    #[must_use]
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        let data = match &kind {
            ErrorKind::UnsupportedProtocolVersion {
                supported,
                requested,
            } => Json::encode(&UnsupportedProtocolVersionData::new(
                supported.clone(),
                requested.clone(),
            ))
            .ok(),
            ErrorKind::MissingRequiredClientCapability(needed) => Json::encode(
                &MissingRequiredClientCapabilityData::new((**needed).clone()),
            )
            .ok(),
            ErrorKind::UrlElicitationRequired(urls) => {
                Json::encode(&UrlElicitationRequiredData::new(urls.clone())).ok()
            }
            _ => None,
        };
        Self(Box::new(Inner {
            kind,
            message: message.into(),
            data,
            source: None,
            limit: None,
        }))
    }

    /// Creates the error for input that is not JSON.
    #[must_use]
    pub fn parse_error(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::ParseError, message)
    }

    /// Creates the error for input that is not a message, or not one that is allowed there.
    #[must_use]
    pub fn invalid_request(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::InvalidRequest, message)
    }

    /// Creates the error for a request with a wrong envelope.
    #[must_use]
    pub fn invalid_envelope(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::InvalidEnvelope, message)
    }

    /// Creates the error for a header that differs from the body.
    #[must_use]
    pub fn header_mismatch(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::HeaderMismatch, message)
    }

    /// Creates the error for a client that has not declared the capabilities `needed`.
    #[must_use]
    pub fn missing_required_client_capability(
        needed: ClientCapabilities,
        message: impl Into<String>,
    ) -> Self {
        Self::new(
            ErrorKind::MissingRequiredClientCapability(Box::new(needed)),
            message,
        )
    }

    /// Creates the error for a method that does not exist here.
    #[must_use]
    pub fn method_not_found(method: &str) -> Self {
        Self::new(
            ErrorKind::MethodNotFound,
            format!("Method not found: {method}"),
        )
    }

    /// Creates the error for a resource that does not exist; its URI becomes the data.
    #[must_use]
    pub fn resource_not_found(uri: impl Into<String>) -> Self {
        let data = ResourceNotFoundData::new(uri);
        Self::new(ErrorKind::ResourceNotFound, "Resource not found").with_data(&data)
    }

    /// Creates the error for parameters that the method does not take.
    #[must_use]
    pub fn invalid_params(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::InvalidParams, message)
    }

    /// Creates the error that sends the user to these URLs first.
    #[must_use]
    pub fn url_elicitation_required(
        urls: impl Into<Vec<ElicitRequestUrlParams>>,
        message: impl Into<String>,
    ) -> Self {
        Self::new(ErrorKind::UrlElicitationRequired(urls.into()), message)
    }

    /// Creates the error for a caller without the scopes.
    #[must_use]
    pub fn forbidden(needed: RequiredScopes) -> Self {
        let message = format!("Forbidden: {needed}");
        Self::new(ErrorKind::Forbidden(needed), message)
    }

    /// Creates the error for a caller that asks too fast; another try may succeed after `retry_after`. Its
    /// milliseconds become the data.
    #[must_use]
    pub fn rate_limited(message: impl Into<String>, retry_after: Duration) -> Self {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Data {
            retry_after_ms: u64,
        }
        let millis = retry_after.as_nanos().div_ceil(1_000_000);
        let kind = ErrorKind::RateLimited {
            retry_after: Some(retry_after),
        };
        Self::new(kind, message).with_data(&Data {
            retry_after_ms: u64::try_from(millis).unwrap_or(u64::MAX),
        })
    }

    /// Creates the error for a failure that the peer cannot prevent. The message is sent: no secrets.
    #[must_use]
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Internal, message)
    }

    /// Creates an error with a code of the application.
    #[must_use]
    pub fn application(code: i64, message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Application(code), message)
    }

    /// Sets the data that go with the message. A value that cannot be written as JSON is left out.
    #[must_use]
    pub fn with_data<T: Serialize + ?Sized>(mut self, data: &T) -> Self {
        self.0.data = Json::encode(data).ok();
        self
    }

    /// Sets what caused the error, for this side's log.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.0.source = Some(source.into());
        self
    }

    /// Sets the limit because of which the request was refused: the name of its setting, such as
    /// `Limits::call_rate`, for this side's audit log.
    #[must_use]
    pub fn with_limit(mut self, setting: &'static str) -> Self {
        self.0.limit = Some(setting);
        self
    }

    /// Returns a copy, without the cause, of a protocol error that is part of a chain of errors: as
    /// itself, or as the source that names its kind.
    #[must_use]
    pub fn from_link(error: &(dyn StdError + 'static)) -> Option<Self> {
        let inner = match error.downcast_ref::<Self>() {
            Some(error) => &*error.0,
            None => error.downcast_ref::<Inner>()?,
        };
        Some(Self(Box::new(Inner {
            kind: inner.kind.clone(),
            message: inner.message.clone(),
            data: inner.data.clone(),
            source: None,
            limit: inner.limit,
        })))
    }

    /// Returns what caused the error.
    #[must_use]
    pub fn cause(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.source()
    }

    /// Returns the setting of the limit because of which the request was refused, if it was.
    #[must_use]
    pub fn limit(&self) -> Option<&'static str> {
        self.0.limit
    }

    /// Returns the kind.
    #[must_use]
    pub fn kind(&self) -> &ErrorKind {
        &self.0.kind
    }

    /// Returns the message, for people.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Returns the data, if there are any.
    #[must_use]
    pub fn data(&self) -> Option<&Json> {
        self.0.data.as_ref()
    }
}

impl fmt::Display for ProtocolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

/// Leaves the data out: they are the application's, and may hold what a log should not.
impl fmt::Debug for ProtocolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProtocolError")
            .field("kind", &self.0.kind)
            .field("message", &self.0.message)
            .field("source", &self.0.source)
            .finish_non_exhaustive()
    }
}

/// The source names the kind, and has the [`cause`](ProtocolError::cause) as its own source.
impl StdError for ProtocolError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        Some(&*self.0)
    }
}

/// Names the kind.
impl fmt::Display for Inner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match &self.kind {
            ErrorKind::ParseError => "parse error",
            ErrorKind::InvalidRequest | ErrorKind::InvalidEnvelope => "invalid request",
            ErrorKind::HeaderMismatch => "header mismatch",
            ErrorKind::UnsupportedProtocolVersion { .. } => "unsupported protocol version",
            ErrorKind::MissingRequiredClientCapability(_) => "missing client capability",
            ErrorKind::MethodNotFound => "method not found",
            ErrorKind::ResourceNotFound => "resource not found",
            ErrorKind::InvalidParams => "invalid params",
            ErrorKind::UrlElicitationRequired(_) => "URL elicitation required",
            ErrorKind::Forbidden(_) => "forbidden",
            ErrorKind::RateLimited { .. } => "rate limited",
            ErrorKind::Internal => "internal error",
            ErrorKind::Application(code) | ErrorKind::Forwarded(code) => {
                return write!(f, "error {code}");
            }
        })
    }
}

impl fmt::Debug for Inner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl StdError for Inner {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source
            .as_deref()
            .map(|source| source as &(dyn StdError + 'static))
    }
}

object! {
    /// An error on the wire.
    ///
    /// Specification: basic/index, Responses (2026-07-28).
    pub struct ErrorObject {
        /// The error code.
        req code: i64 = "code",
        /// The message, for people.
        req message: String = "message",
        /// Details, as any JSON value.
        raw data: Json = "data",
    }

    /// The data of an error about an unsupported revision.
    pub struct UnsupportedProtocolVersionData {
        /// The revisions that are served.
        req supported: Vec<String> = "supported",
        /// The one that was asked for.
        req requested: String = "requested",
    }

    /// The data of an error about a missing capability.
    pub struct MissingRequiredClientCapabilityData {
        /// The capabilities that the client would have to declare.
        req required_capabilities: ClientCapabilities = "requiredCapabilities",
    }

    /// The data of an error that sends the user to URLs.
    ///
    /// Specification: client/elicitation (2025-11-25).
    pub struct UrlElicitationRequiredData {
        /// The URL to visit.
        req elicitations: Vec<ElicitRequestUrlParams> = "elicitations",
    }

    /// The data of an error about a resource that is not there.
    pub struct ResourceNotFoundData {
        /// The resource's URI.
        req uri: String = "uri" is uri,
    }
}
