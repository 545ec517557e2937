//! HTTP answers of the test server: JSON, redirects, OAuth errors.

use bytes::Bytes;
use http::header::{
    CACHE_CONTROL, CONTENT_TYPE, HeaderName, LOCATION, PRAGMA, REFERRER_POLICY, WWW_AUTHENTICATE,
    X_CONTENT_TYPE_OPTIONS,
};
use http::{HeaderValue, StatusCode};
use http_body_util::Full;
use serde::Serialize;
use serde_json::json;
use turnbuckle_types::base::random::RandomnessUnavailable;

/// An answer with its whole body.
pub(super) type Answer = http::Response<Full<Bytes>>;

/// A mark on an answer: the connection is closed instead of sending the answer.
#[derive(Clone, Copy)]
pub(super) struct DropConnection;

/// The OAuth error code of an answer, for the list of events.
#[derive(Clone)]
pub(super) struct ErrorCode(pub(super) String);

/// The header in which a DPoP nonce is handed out (RFC 9449).
pub(super) const DPOP_NONCE: HeaderName = HeaderName::from_static("dpop-nonce");

/// Creates an answer of some media type.
pub(super) fn with_body(
    status: StatusCode,
    media_type: &'static str,
    body: impl Into<Bytes>,
) -> Answer {
    let mut answer = Answer::new(Full::new(body.into()));
    *answer.status_mut() = status;
    let headers = answer.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    answer
}

/// Creates an answer without a body.
pub(super) fn empty(status: StatusCode) -> Answer {
    let mut answer = Answer::new(Full::default());
    *answer.status_mut() = status;
    answer
}

/// Creates a JSON answer that caches may keep for a short time.
pub(super) fn json(status: StatusCode, value: &impl Serialize) -> Answer {
    match serde_json::to_vec(value) {
        Ok(body) => with_body(status, "application/json", body),
        Err(_) => empty(StatusCode::INTERNAL_SERVER_ERROR),
    }
}

/// Creates a JSON answer that nobody may store: tokens, secrets and errors.
pub(super) fn private_json(status: StatusCode, value: &impl Serialize) -> Answer {
    let mut answer = json(status, value);
    forbid_storing(&mut answer);
    answer
}

/// Sets the headers that forbid caches to keep the answer.
pub(super) fn forbid_storing(answer: &mut Answer) {
    let headers = answer.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(PRAGMA, HeaderValue::from_static("no-cache"));
}

/// Creates a redirect, with status 302.
pub(super) fn redirect(location: &str) -> Answer {
    let Ok(location) = HeaderValue::try_from(location) else {
        return empty(StatusCode::INTERNAL_SERVER_ERROR);
    };
    let mut answer = empty(StatusCode::FOUND);
    answer.headers_mut().insert(LOCATION, location);
    answer
        .headers_mut()
        .insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    forbid_storing(&mut answer);
    answer
}

/// An OAuth error answer (RFC 6749, section 5.2).
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) status: StatusCode,
    pub(super) error: String,
    pub(super) description: String,
}

impl Refusal {
    /// Creates a refusal with status 400.
    pub(super) fn new(error: &str, description: impl Into<String>) -> Self {
        Self {
            status: StatusCode::BAD_REQUEST,
            error: error.to_owned(),
            description: description.into(),
        }
    }

    /// Creates the refusal of a client that did not authenticate itself.
    pub(super) fn invalid_client(description: impl Into<String>) -> Self {
        Self {
            status: StatusCode::UNAUTHORIZED,
            ..Self::new("invalid_client", description)
        }
    }

    /// Converts the refusal into a JSON answer.
    pub(super) fn into_answer(self) -> Answer {
        let value = json!({ "error": self.error, "error_description": self.description });
        let mut answer = private_json(self.status, &value);
        if self.status == StatusCode::UNAUTHORIZED {
            let challenge = HeaderValue::from_static("Basic realm=\"test authorization server\"");
            answer.headers_mut().insert(WWW_AUTHENTICATE, challenge);
        }
        answer.extensions_mut().insert(ErrorCode(self.error));
        answer
    }
}

impl From<RandomnessUnavailable> for Refusal {
    fn from(error: RandomnessUnavailable) -> Self {
        Self {
            status: StatusCode::INTERNAL_SERVER_ERROR,
            ..Self::new("server_error", error.to_string())
        }
    }
}

/// Refuses a request with status 400 unless a rule holds.
///
/// # Errors
/// If `is_met` is false.
pub(super) fn ensure(is_met: bool, error: &str, description: &str) -> Result<(), Refusal> {
    if is_met {
        Ok(())
    } else {
        Err(Refusal::new(error, description))
    }
}
