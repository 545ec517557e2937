//! State of a link over Streamable HTTP, and its three requests: POST, GET of a stream, DELETE.

use std::borrow::Cow;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Response, StatusCode};
use turnbuckle_session::handler::Signal;
use turnbuckle_session::transport::{Inbox, LinkError, OutboundKind};
use turnbuckle_types::base::text::Escaped;
use turnbuckle_wire::era::headers::{LAST_EVENT_ID, METHOD, NAME, PROTOCOL_VERSION, SESSION_ID};
use turnbuckle_wire::revision::{EraKind, Features};

use super::remote_server::RemoteServer;
use super::response::{ContentType, read_error_response};
use super::response_body::ClientResponseBody;
use super::target::Target;

pub(crate) const JSON: HeaderValue = HeaderValue::from_static("application/json");
pub(crate) const EVENT_STREAM: HeaderValue = HeaderValue::from_static("text/event-stream");
pub(crate) const JSON_OR_EVENT_STREAM: HeaderValue =
    HeaderValue::from_static("application/json, text/event-stream");

const SESSION_HEADER: HeaderName = HeaderName::from_static(SESSION_ID);
const VERSION_HEADER: HeaderName = HeaderName::from_static(PROTOCOL_VERSION);
const LAST_EVENT_HEADER: HeaderName = HeaderName::from_static(LAST_EVENT_ID);

/// Headers that a request may have beside the user's without growing its map.
const EXTRA_HEADERS: usize = 10;

/// The state of one link: the server, the inbox, and the session that the handshake opened.
pub(crate) struct LinkState {
    pub(crate) remote: RemoteServer,
    pub(crate) target: Target,
    pub(crate) inbox: Arc<dyn Inbox>,
    pub(crate) closing: Signal,
    post_headers: HeaderMap,
    session_id: Mutex<Option<HeaderValue>>,
    features: OnceLock<&'static Features>,
}

/// The reason why a stream of events could not be opened.
#[derive(Debug)]
pub(crate) enum StreamError {
    /// Trying again may help.
    Transient(LinkError),
    /// Trying again does not help.
    Permanent(LinkError),
}

impl LinkState {
    pub(crate) fn new(remote: RemoteServer, target: Target, inbox: Arc<dyn Inbox>) -> Self {
        Self {
            post_headers: base_post_headers(&remote),
            remote,
            target,
            inbox,
            closing: Signal::new(),
            session_id: Mutex::new(None),
            features: OnceLock::new(),
        }
    }

    /// Sets the features of the negotiated revision.
    pub(crate) fn set_features(&self, features: &'static Features) {
        let _ = self.features.set(features);
    }

    /// Returns whether streams can be resumed: only in the legacy era.
    pub(crate) fn can_resume(&self) -> bool {
        let features = self.features.get();
        features.is_some_and(|features| features.era == EraKind::Legacy)
    }

    pub(crate) fn session_id(&self) -> Option<HeaderValue> {
        let session = self.session_id.lock();
        session.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Stores the session id of the response to `initialize`.
    ///
    /// # Errors
    /// Fails when the id is not one word of visible ASCII characters.
    pub(crate) fn store_session_id(&self, headers: &HeaderMap) -> Result<(), LinkError> {
        let mut values = headers.get_all(SESSION_HEADER).iter();
        let id = values.next().cloned();
        let visible = |id: &HeaderValue| {
            !id.is_empty() && id.as_bytes().iter().all(|byte| matches!(byte, 0x21..=0x7E))
        };
        if values.next().is_some() || !id.as_ref().is_none_or(visible) {
            return Err(LinkError::ProtocolViolation {
                reason: "a session id that is not one word of visible ASCII characters".to_owned(),
            });
        }
        self.replace_session_id(id);
        Ok(())
    }

    /// Stores a session id and returns the one before.
    fn replace_session_id(&self, id: Option<HeaderValue>) -> Option<HeaderValue> {
        let id = id.map(|mut id| {
            id.set_sensitive(true);
            id
        });
        let mut session = self
            .session_id
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut session, id)
    }

    /// POSTs a message.
    pub(crate) async fn post(
        &self,
        frame: Bytes,
        mirrored: &[MirroredHeader],
        session_id: Option<&HeaderValue>,
    ) -> Result<Response<ClientResponseBody>, LinkError> {
        let headers = || {
            let mut headers = message_headers(&self.post_headers, mirrored)?;
            if let Some(session) = session_id {
                headers.insert(SESSION_HEADER, session.clone());
            }
            Ok(headers)
        };
        let response = self
            .remote
            .send(&Method::POST, &self.target, headers, frame);
        response.await.map(|(response, _)| response)
    }

    /// GETs a stream of events: the rest of a stream after the event `last_event_id`, or the
    /// session's own stream.
    pub(crate) async fn open_stream(
        &self,
        last_event_id: Option<&HeaderValue>,
    ) -> Result<ClientResponseBody, StreamError> {
        let mut headers = self.session_headers();
        headers.insert(ACCEPT, EVENT_STREAM);
        if let Some(id) = last_event_id {
            headers.insert(LAST_EVENT_HEADER, id.clone());
        }
        let has_session = headers.contains_key(SESSION_HEADER);
        let response = self
            .remote
            .send(
                &Method::GET,
                &self.target,
                || Ok(headers.clone()),
                Bytes::new(),
            )
            .await;
        let (response, _) = response.map_err(|error| match error {
            LinkError::Unreachable { .. } | LinkError::ConnectionLost { .. } => {
                StreamError::Transient(error)
            }
            error => StreamError::Permanent(error),
        })?;
        let status = response.status();
        if !status.is_success() {
            let error = read_error_response(response, has_session)
                .await
                .into_link_error();
            return Err(if is_transient(status) {
                StreamError::Transient(error)
            } else {
                StreamError::Permanent(error)
            });
        }
        match ContentType::from_headers(response.headers()) {
            ContentType::EventStream => Ok(response.into_body()),
            other => Err(StreamError::Permanent(other.to_unexpected_error())),
        }
    }

    /// Ends the session at the server with a DELETE, if there is one. Failures are only logged.
    pub(crate) async fn delete_session(&self) {
        let headers = self.session_headers();
        if self.replace_session_id(None).is_none() {
            return;
        }
        let remote = &self.remote;
        let headers = || Ok(headers.clone());
        let deleting = remote.send(&Method::DELETE, &self.target, headers, Bytes::new());
        match tokio::time::timeout(remote.options.close_timeout, deleting).await {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => {
                tracing::debug!(error = %Escaped(&error), "the session could not be ended")
            }
            Err(_) => tracing::debug!("the server took too long to end the session"),
        }
    }

    /// Returns the headers of a request without a message: GET and DELETE.
    fn session_headers(&self) -> HeaderMap {
        let mut headers = self.remote.headers.clone();
        if let Some(session) = self.session_id() {
            headers.insert(SESSION_HEADER, session);
        }
        if let Some(features) = self.features.get() {
            let version = HeaderValue::from_static(features.revision.as_str());
            headers.insert(VERSION_HEADER, version);
        }
        headers
    }
}

/// A header that mirrors a field of a message.
pub(crate) type MirroredHeader = (Cow<'static, str>, Cow<'static, str>);

/// Returns the headers that all POSTs to a server have in common.
pub(crate) fn base_post_headers(remote: &RemoteServer) -> HeaderMap {
    let mut headers = HeaderMap::with_capacity(remote.headers.len() + EXTRA_HEADERS);
    headers.extend(remote.headers.clone());
    headers.insert(CONTENT_TYPE, JSON);
    headers.insert(ACCEPT, JSON_OR_EVENT_STREAM);
    headers
}

/// Adds the headers of one message to those of all POSTs.
///
/// # Errors
/// Fails when a header has no form that can be sent.
pub(crate) fn message_headers(
    post_headers: &HeaderMap,
    mirrored: &[MirroredHeader],
) -> Result<HeaderMap, LinkError> {
    let mut headers = post_headers.clone();
    for (name, value) in mirrored {
        let header = match &**name {
            PROTOCOL_VERSION => Ok(VERSION_HEADER),
            METHOD => Ok(const { HeaderName::from_static(METHOD) }),
            NAME => Ok(const { HeaderName::from_static(NAME) }),
            name => HeaderName::from_bytes(name.as_bytes()),
        };
        let value = match value {
            Cow::Borrowed(value) => {
                HeaderValue::from_maybe_shared(Bytes::from_static(value.as_bytes()))
            }
            Cow::Owned(value) => HeaderValue::from_str(value),
        };
        let pair = header.ok().zip(value.ok());
        let (header, value) = pair.ok_or_else(|| LinkError::Unreachable {
            reason: format!("the header {name} cannot be sent"),
        })?;
        headers.insert(header, value);
    }
    Ok(headers)
}

/// Returns the id of the session that a message belongs to. `initialize` belongs to none.
pub(crate) fn session_id_for(state: &LinkState, kind: &OutboundKind) -> Option<HeaderValue> {
    match kind {
        OutboundKind::Initialize(_) => None,
        _ => state.session_id(),
    }
}

/// Returns whether the same request may get another response a moment later.
pub(crate) fn is_transient(status: StatusCode) -> bool {
    // 409: the server has not noticed yet that the last stream broke.
    status.is_server_error() || matches!(status.as_u16(), 408 | 409 | 425 | 429)
}
