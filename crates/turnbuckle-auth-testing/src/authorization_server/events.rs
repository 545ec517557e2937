//! A list of the requests that the test server received, without secrets.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The number of events that are kept. The oldest go first.
const MAX_EVENTS: usize = 10_000;

/// The longest text of an event, in bytes.
const MAX_TEXT_BYTES: usize = 2_000;

/// An endpoint of the test server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Endpoint {
    /// The metadata document of RFC 8414.
    OAuthMetadata,
    /// The metadata document of OpenID Connect Discovery.
    OpenIdMetadata,
    /// The public keys.
    Jwks,
    /// The authorization endpoint, which a browser opens.
    Authorization,
    /// The answer to the consent page.
    Consent,
    /// The token endpoint.
    Token,
    /// Dynamic client registration.
    Registration,
    /// Token introspection.
    Introspection,
    /// Token revocation.
    Revocation,
    /// A path at which there is nothing.
    Unknown,
}

/// A request to the test server and the outcome. Values of secret parameters are not part of it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Event {
    /// The endpoint that was asked.
    pub endpoint: Endpoint,
    /// The HTTP method.
    pub method: String,
    /// The path of the request, without the query.
    pub path: String,
    /// The names of the parameters of the query or form, in their order.
    pub parameter_names: Vec<String>,
    /// The `client_id`: of the parameters, or else of the `Authorization` header.
    pub client_id: Option<String>,
    /// The `grant_type` of a token request.
    pub grant_type: Option<String>,
    /// The `resource` that a token was asked for.
    pub resource: Option<String>,
    /// The `scope` that was asked for.
    pub scope: Option<String>,
    /// The `redirect_uri` of an authorization or a token request.
    pub redirect_uri: Option<String>,
    /// True if the request carried a DPoP proof.
    pub has_dpop_proof: bool,
    /// The HTTP status of the answer.
    pub status: u16,
    /// The OAuth error of the answer.
    pub error: Option<String>,
    /// True if the connection was closed instead of sending the answer.
    pub is_dropped: bool,
}

/// The events so far.
#[derive(Default)]
pub(super) struct EventLog(Mutex<VecDeque<Event>>);

impl EventLog {
    /// Adds an event. The oldest is forgotten when there are too many.
    pub(super) fn record(&self, event: Event) {
        let mut events = self.lock();
        if events.len() >= MAX_EVENTS {
            events.pop_front();
        }
        events.push_back(event);
    }

    /// Returns all events that are kept, oldest first.
    pub(super) fn all(&self) -> Vec<Event> {
        self.lock().iter().cloned().collect()
    }

    /// Forgets all events.
    pub(super) fn clear(&self) {
        self.lock().clear();
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Event>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Cuts a text to the longest that an event holds.
pub(super) fn bounded_text(text: &str) -> String {
    let mut end = text.len().min(MAX_TEXT_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text[..end].to_owned()
}
