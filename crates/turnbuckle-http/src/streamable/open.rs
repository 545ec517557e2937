//! Sessions of the legacy era as they are opened, come back to, and ended.
//!
//! Specification: basic/transports, "Session Management" (2025-11-25).

use std::sync::Arc;
use std::time::SystemTime;

use http::{HeaderValue, StatusCode};
use turnbuckle_session::internal::{InboundFrame, MessageOutcome, ReplySink};
#[cfg(feature = "store")]
use turnbuckle_types::base::random;
#[cfg(feature = "store")]
use turnbuckle_wire::era::NamedRevision;
use turnbuckle_wire::era::headers::HeaderValues;

use super::endpoint::{RequestSender, SESSION_ID, StreamableEndpoint, legacy_reply};
use super::legacy::{OneOrBatch, receive, unknown_version_reply};
#[cfg(feature = "store")]
use super::pending_post::OpeningSession;
use super::pending_post::PostOutcome;
use super::sealed::{SealError, SealedIds};
use super::session_mode::SessionMode;
use super::sessions::{HttpSession, OpenSessionError, SessionKind};
#[cfg(feature = "store")]
use super::stored::{FoundStored, session::StoredSession};
#[cfg(feature = "store")]
use crate::reply::store_reply;
use crate::reply::{HttpReply, error_reply, exceeded_reply, memory_reply};
use crate::request::head::RequestHeaders;

/// The characters of the id of a session in the store.
#[cfg(feature = "store")]
const ID_CHARS: usize = 32;

impl StreamableEndpoint {
    /// Opens a session with a posted `initialize`.
    pub(super) fn post_initialize(
        &self,
        body: OneOrBatch<'_>,
        frame: InboundFrame<'_>,
        sender: RequestSender<'_>,
    ) -> PostOutcome<'_> {
        let kind = match &self.mode {
            SessionMode::Unavailable(fault) => {
                return error_reply(StatusCode::INTERNAL_SERVER_ERROR, fault).into();
            }
            SessionMode::Local | SessionMode::Stateless => SessionKind::Local,
            SessionMode::Sealed(_) => SessionKind::Sealed {
                expires_at: SystemTime::now(),
            },
            #[cfg(feature = "store")]
            SessionMode::Stored(_) => match random::id() {
                Ok(id) => SessionKind::Stored(Box::new(StoredSession::new(id.into(), None))),
                Err(_) => return randomness_reply().into(),
            },
        };
        let source = self.session_source(sender, frame.account);
        let open = match self.sessions.create(&self.server, source, kind, None) {
            Ok(open) => open,
            Err(exceeded) => return memory_reply(exceeded).into(),
        };
        let sink: Arc<dyn ReplySink> = open.standalone.clone();
        let MessageOutcome::Response(response) = receive(&open.session, body, frame, &sink) else {
            return error_reply(StatusCode::BAD_REQUEST, "the handshake was not answered").into();
        };
        if response.failure.is_some() {
            return legacy_reply(response).into();
        }
        #[cfg(feature = "store")]
        if matches!(self.mode, SessionMode::Stored(_)) {
            return PostOutcome::Opening(Box::new(OpeningSession { open, response }));
        }
        let opened = match &self.mode {
            SessionMode::Sealed(ids) => seal(ids, &open),
            _ => self.sessions.insert(open).map_err(open_error_reply),
        };
        match opened {
            Ok(id) => with_session_id(legacy_reply(response), &id).into(),
            Err(reply) => reply.into(),
        }
    }

    /// Saves a session that a handshake has opened, and returns the reply to the handshake.
    #[cfg(feature = "store")]
    pub(super) async fn open_stored(&self, opening: OpeningSession) -> HttpReply {
        let OpeningSession { open, response } = opening;
        let (Some(stored), Some(id)) = (&self.stored, open.stored_id().cloned()) else {
            return legacy_reply(response);
        };
        open.session.share(stored.instance());
        stored.pass_on(&open, false);
        if let Some(legacy) = open.session.legacy() {
            legacy.set_change_position(open.session.feed().position());
            legacy.count_change_position();
        }
        if let Err(error) = stored.put_record(&open).await {
            open.end();
            return store_reply(&error);
        }
        match self.sessions.insert_as(&id, open.clone()) {
            Ok(_) => with_session_id(legacy_reply(response), &id),
            Err(error) => {
                // The record of a session that nobody knows ends by itself if it cannot be removed.
                let _ = stored.end(&open).await;
                open_error_reply(error)
            }
        }
    }

    /// Returns the session that a request names, if it is in the store and the request's sender may use
    /// it.
    #[cfg(feature = "store")]
    pub(super) async fn restore_session(
        &self,
        head: &RequestHeaders<'_>,
        sender: RequestSender<'_>,
    ) -> Result<Option<Arc<HttpSession>>, Box<HttpReply>> {
        let (stored, id, known) = match self.find_stored(head, sender) {
            FoundStored::Known(known) => return Ok(known),
            FoundStored::Unsure { stored, id, known } => (stored, id, known),
        };
        let account =
            self.clients
                .connection_account(&self.server, sender.extensions, sender.connection);
        let source = self.session_source(sender, account.as_deref());
        Box::pin(stored.restore(id, known, source)).await
    }

    /// Returns what this instance knows of the session that a request names, without a look at the store.
    #[cfg(feature = "store")]
    pub(super) fn find_stored<'a>(
        &'a self,
        head: &RequestHeaders<'a>,
        sender: RequestSender<'_>,
    ) -> FoundStored<'a> {
        let (Some(stored), HeaderValues::One(id)) = (&self.stored, head.session_id) else {
            return FoundStored::Known(None);
        };
        let (Ok(id), false) = (
            std::str::from_utf8(id),
            matches!(head.mark(), NamedRevision::Modern(_)),
        ) else {
            return FoundStored::Known(None);
        };
        stored.start();
        let known = self.sessions.get(id, sender.principal);
        let is_digit = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        match known {
            Some(known) if stored.is_fresh(&known) => FoundStored::Known(Some(known)),
            None if id.len() != ID_CHARS || !id.as_bytes().iter().all(is_digit) => {
                FoundStored::Known(None)
            }
            known => FoundStored::Unsure { stored, id, known },
        }
    }

    /// Returns the session that a sealed id holds: one that was opened before, or another one.
    pub(super) fn unseal(
        &self,
        ids: &SealedIds,
        id: &str,
        sender: RequestSender<'_>,
    ) -> Result<Option<Arc<HttpSession>>, Box<HttpReply>> {
        let now = SystemTime::now();
        if let Some(known) = self.sessions.get(id, sender.principal) {
            if !known.is_expired(now) {
                return Ok(Some(known));
            }
            self.sessions.forget(id, &known);
            return Ok(None);
        }
        let Some(sealed) = ids.open(id, sender.principal, now) else {
            return Ok(None);
        };
        let account =
            self.clients
                .connection_account(&self.server, sender.extensions, sender.connection);
        let source = self.session_source(sender, account.as_deref());
        let kind = SessionKind::Sealed {
            expires_at: sealed.expires_at,
        };
        let open = self
            .sessions
            .create(&self.server, source, kind, Some(&sealed.record))
            .map_err(|exceeded| Box::new(memory_reply(exceeded)))?;
        match self.sessions.insert_as(id, open) {
            Ok(open) => Ok(Some(open)),
            Err(error) => Err(Box::new(open_error_reply(error))),
        }
    }

    /// Returns the session that a request without a body names.
    pub(super) async fn find_listened(
        &self,
        head: &RequestHeaders<'_>,
        sender: RequestSender<'_>,
    ) -> Result<Arc<HttpSession>, Box<HttpReply>> {
        #[cfg(feature = "store")]
        let restored = self.restore_session(head, sender).await?;
        #[cfg(feature = "store")]
        let sender = RequestSender {
            session: restored.as_ref(),
            ..sender
        };
        self.find_session(head, sender)
    }

    /// Serves a DELETE: ends a session.
    pub(super) async fn delete(
        &self,
        head: &RequestHeaders<'_>,
        sender: RequestSender<'_>,
    ) -> HttpReply {
        if let Some(reply) = unknown_version_reply(head.mark()) {
            return reply;
        }
        let open = match self.find_listened(head, sender).await {
            Ok(open) => open,
            Err(reply) => return *reply,
        };
        #[cfg(feature = "store")]
        if let Some(stored) = &self.stored
            && let Err(error) = stored.end(&open).await
        {
            return store_reply(&error);
        }
        if let HeaderValues::One(id) = head.session_id
            && let Ok(id) = std::str::from_utf8(id)
        {
            self.sessions.forget(id, &open);
        }
        HttpReply::empty(StatusCode::NO_CONTENT)
    }
}

/// Returns the sealed id of a session that was opened for its handshake alone.
fn seal(ids: &SealedIds, open: &HttpSession) -> Result<Box<str>, HttpReply> {
    let record = open
        .session
        .legacy()
        .map(|legacy| legacy.to_record(open.owner().clone().into_record()));
    open.end();
    let sealed = record.map(|record| ids.seal(record, SystemTime::now()));
    match sealed {
        Some(Ok(id)) => Ok(id.into()),
        Some(Err(SealError::RandomnessUnavailable)) => Err(randomness_reply()),
        Some(Err(SealError::TooLong)) | None => Err(error_reply(
            StatusCode::BAD_REQUEST,
            "the handshake is too long for the id of a sealed session (Sessions::Sealed): declare \
             capabilities with fewer settings",
        )),
    }
}

/// Adds the id of a session to the reply to its handshake.
fn with_session_id(mut reply: HttpReply, id: &str) -> HttpReply {
    if let Ok(mut id) = HeaderValue::from_str(id) {
        id.set_sensitive(true);
        reply.headers_mut().insert(SESSION_ID, id);
    }
    reply
}

fn open_error_reply(error: OpenSessionError) -> HttpReply {
    match error {
        OpenSessionError::TooMany(exceeded) => {
            exceeded_reply(exceeded, "sessions", "HttpLimits::max_sessions")
        }
        OpenSessionError::RandomnessUnavailable => randomness_reply(),
    }
}

fn randomness_reply() -> HttpReply {
    error_reply(
        StatusCode::INTERNAL_SERVER_ERROR,
        "there is no randomness for a session id",
    )
}
