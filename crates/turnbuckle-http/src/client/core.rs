//! What every part of a link over Streamable HTTP shares.

use std::borrow::Cow;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Response, StatusCode};
use turnbuckle_session::{Inbox, LinkError, ParcelKind, Signal};
use turnbuckle_wire::era::headers::{LAST_EVENT_ID, METHOD, NAME, PROTOCOL_VERSION, SESSION_ID};
use turnbuckle_wire::revision::{EraKind, Features};

use super::answer::{Media, refusal};
use super::http::AnswerBody;
use super::remote::Remote;
use super::target::Target;

pub(crate) const JSON: HeaderValue = HeaderValue::from_static("application/json");
pub(crate) const EVENTS: HeaderValue = HeaderValue::from_static("text/event-stream");
pub(crate) const EITHER: HeaderValue =
    HeaderValue::from_static("application/json, text/event-stream");

const SESSION: HeaderName = HeaderName::from_static(SESSION_ID);
const VERSION: HeaderName = HeaderName::from_static(PROTOCOL_VERSION);
const LAST_EVENT: HeaderName = HeaderName::from_static(LAST_EVENT_ID);

/// Headers that there is room for beside the user's.
const ROOM: usize = 10;

/// One link: the server, whom to tell, and what the handshake left behind.
pub(crate) struct Core {
    pub(crate) remote: Remote,
    pub(crate) target: Target,
    pub(crate) inbox: Arc<dyn Inbox>,
    pub(crate) closing: Signal,
    posting: HeaderMap,
    session: Mutex<Option<HeaderValue>>,
    features: OnceLock<&'static Features>,
}

/// Why there is no stream of events.
#[derive(Debug)]
pub(crate) enum NoStream {
    /// It may be there next time.
    Passing(LinkError),
    /// There will never be one.
    Lasting(LinkError),
}

impl Core {
    pub(crate) fn new(remote: Remote, target: Target, inbox: Arc<dyn Inbox>) -> Self {
        Self {
            posting: posting(&remote),
            remote,
            target,
            inbox,
            closing: Signal::new(),
            session: Mutex::new(None),
            features: OnceLock::new(),
        }
    }

    /// Remembers what the handshake agreed on.
    pub(crate) fn establish(&self, features: &'static Features) {
        let _ = self.features.set(features);
    }

    /// Whether streams can be taken up again.
    pub(crate) fn resumes(&self) -> bool {
        let features = self.features.get();
        features.is_some_and(|features| features.era == EraKind::Legacy)
    }

    pub(crate) fn session(&self) -> Option<HeaderValue> {
        let session = self.session.lock();
        session.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Takes the session's id from the answer to the request that opens it.
    pub(crate) fn open_session(&self, headers: &HeaderMap) -> Result<(), LinkError> {
        let mut values = headers.get_all(SESSION).iter();
        let id = values.next().cloned();
        let visible = |id: &HeaderValue| {
            !id.is_empty() && id.as_bytes().iter().all(|byte| matches!(byte, 0x21..=0x7E))
        };
        if values.next().is_some() || !id.as_ref().is_none_or(visible) {
            return Err(LinkError::Violation {
                reason: "a session id that is not one word of visible ASCII characters".to_owned(),
            });
        }
        self.set_session(id);
        Ok(())
    }

    fn set_session(&self, id: Option<HeaderValue>) -> Option<HeaderValue> {
        let id = id.map(|mut id| {
            id.set_sensitive(true);
            id
        });
        let mut session = self.session.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut session, id)
    }

    /// POSTs a message. The request that opens a session belongs to none.
    pub(crate) async fn post(
        &self,
        frame: Vec<u8>,
        shown: &[Shown],
        session: Option<&HeaderValue>,
    ) -> Result<Response<AnswerBody>, LinkError> {
        let headers = || {
            let mut headers = posted(&self.posting, shown)?;
            if let Some(session) = session {
                headers.insert(SESSION, session.clone());
            }
            Ok(headers)
        };
        let asked = self
            .remote
            .ask(&Method::POST, &self.target, headers, frame.into());
        asked.await.map(|(answer, _)| answer)
    }

    /// GETs a stream of events: the rest of the one that `last` is of, or the session's own.
    pub(crate) async fn stream(&self, last: Option<&HeaderValue>) -> Result<AnswerBody, NoStream> {
        let mut headers = self.of_session();
        headers.insert(ACCEPT, EVENTS);
        if let Some(last) = last {
            headers.insert(LAST_EVENT, last.clone());
        }
        let has_session = headers.contains_key(SESSION);
        let asked = self
            .remote
            .ask(
                &Method::GET,
                &self.target,
                || Ok(headers.clone()),
                Bytes::new(),
            )
            .await;
        let (answer, _) = asked.map_err(|error| match error {
            LinkError::Unreachable { .. } | LinkError::Broken { .. } => NoStream::Passing(error),
            error => NoStream::Lasting(error),
        })?;
        let status = answer.status();
        if !status.is_success() {
            let error = refusal(answer, has_session).await.error();
            return Err(if is_passing(status) {
                NoStream::Passing(error)
            } else {
                NoStream::Lasting(error)
            });
        }
        match Media::of(answer.headers()) {
            Media::Events => Ok(answer.into_body()),
            media => Err(NoStream::Lasting(media.unexpected())),
        }
    }

    /// Ends the session at the server, if there is one. Whether it had one to end, or minds, is of
    /// no consequence.
    pub(crate) async fn delete(&self) {
        let headers = self.of_session();
        if self.set_session(None).is_none() {
            return;
        }
        let remote = &self.remote;
        let headers = || Ok(headers.clone());
        let asked = remote.ask(&Method::DELETE, &self.target, headers, Bytes::new());
        match tokio::time::timeout(remote.options.close_timeout, asked).await {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => tracing::debug!(%error, "the session could not be ended"),
            Err(_) => tracing::debug!("the server took too long to end the session"),
        }
    }

    /// What a request shows that carries no message.
    fn of_session(&self) -> HeaderMap {
        let mut headers = self.remote.headers.clone();
        if let Some(session) = self.session() {
            headers.insert(SESSION, session);
        }
        if let Some(features) = self.features.get() {
            let version = HeaderValue::from_static(features.revision.as_str());
            headers.insert(VERSION, version);
        }
        headers
    }
}

/// What a message shows of itself.
type Shown = (Cow<'static, str>, Cow<'static, str>);

/// The headers of every message that is POSTed to a server: which types go and come.
pub(crate) fn posting(remote: &Remote) -> HeaderMap {
    let mut headers = HeaderMap::with_capacity(remote.headers.len() + ROOM);
    headers.extend(remote.headers.clone());
    headers.insert(CONTENT_TYPE, JSON);
    headers.insert(ACCEPT, EITHER);
    headers
}

/// The same of one message.
pub(crate) fn posted(posting: &HeaderMap, shown: &[Shown]) -> Result<HeaderMap, LinkError> {
    let mut headers = posting.clone();
    for (name, value) in shown {
        let header = match &**name {
            PROTOCOL_VERSION => Ok(VERSION),
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

/// The session that a message belongs to.
pub(crate) fn session_of(core: &Core, kind: &ParcelKind) -> Option<HeaderValue> {
    match kind {
        ParcelKind::Initialize(_) => None,
        _ => core.session(),
    }
}

/// Whether the same request may be answered otherwise a moment later.
fn is_passing(status: StatusCode) -> bool {
    // A server that has not noticed that a stream broke calls the next one a conflict.
    status.is_server_error() || matches!(status.as_u16(), 408 | 409 | 425 | 429)
}
