//! Who sent a request: what is known of the client, and the client itself, where it can be asked.

use std::sync::{Arc, OnceLock};

use serde_json::value::RawValue;
use turnbuckle_types::{ClientCapabilities, Implementation, Json};

use super::{RequestContext, RequestSink};
use crate::{ChangeFeed, LegacyState, Peer, Session};

/// What is known of the client.
pub(crate) enum ClientDetails {
    /// What the request's own envelope says, as ranges of its frame, read when asked for.
    Modern {
        capabilities: Span,
        info: Option<Span>,
        read: OnceLock<Box<ClientCapabilities>>,
    },
    /// Nothing but its revision: a legacy request without a session.
    Unknown { state: Arc<LegacyState> },
    /// What the session's handshake left behind.
    Legacy {
        session: Arc<Session>,
        state: Arc<LegacyState>,
    },
}

/// A range of a frame.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Span {
    start: usize,
    end: usize,
}

impl Span {
    /// Where `part` is in `frame`; empty when it is not in it.
    pub(crate) fn of(frame: &[u8], part: &str) -> Self {
        let start = (part.as_ptr() as usize).wrapping_sub(frame.as_ptr() as usize);
        match start.checked_add(part.len()) {
            Some(end) if end <= frame.len() => Self { start, end },
            _ => Self { start: 0, end: 0 },
        }
    }

    pub(crate) fn in_frame(self, frame: &[u8]) -> &[u8] {
        frame.get(self.start..self.end).unwrap_or_default()
    }
}

impl RequestContext {
    /// What the client declared that it can do.
    #[must_use]
    pub fn client_capabilities(&self) -> &ClientCapabilities {
        match &self.state.sender {
            ClientDetails::Legacy { state, .. } | ClientDetails::Unknown { state } => {
                state.capabilities()
            }
            ClientDetails::Modern {
                capabilities, read, ..
            } => read.get_or_init(|| {
                let json = capabilities.in_frame(&self.state.frame);
                serde_json::from_slice(json).unwrap_or_default()
            }),
        }
    }

    /// Who the client says it is. It may say anything: for display and logs only.
    #[must_use]
    pub fn client_info(&self) -> Option<Implementation> {
        match &self.state.sender {
            ClientDetails::Legacy { state, .. } | ClientDetails::Unknown { state } => {
                state.client_info().cloned()
            }
            ClientDetails::Modern { info, .. } => {
                serde_json::from_slice((*info)?.in_frame(&self.state.frame)).ok()
            }
        }
    }

    /// The client of a legacy session, to be asked on this request's own stream; a modern client
    /// takes no requests.
    #[must_use]
    pub fn peer(&self) -> Option<Peer> {
        match (&self.state.sender, &self.state.way) {
            (ClientDetails::Legacy { session, .. }, RequestSink::Shared(route)) => {
                Some(Peer::of_request(
                    session.clone(),
                    route.clone(),
                    self.state.signal.get().clone(),
                ))
            }
            _ => None,
        }
    }

    /// The client of a legacy session, for what belongs to no request; it outlives this one.
    #[doc(hidden)]
    #[must_use]
    pub fn session_peer(&self) -> Option<Peer> {
        match &self.state.sender {
            ClientDetails::Modern { .. } | ClientDetails::Unknown { .. } => None,
            ClientDetails::Legacy { session, .. } => Some(session.peer()),
        }
    }

    /// What tells a legacy session of changes.
    #[doc(hidden)]
    #[must_use]
    pub fn session_change_feed(&self) -> Option<&Arc<ChangeFeed>> {
        match &self.state.sender {
            ClientDetails::Modern { .. } | ClientDetails::Unknown { .. } => None,
            ClientDetails::Legacy { session, .. } => Some(session.feed()),
        }
    }

    /// The state of the legacy session that the request belongs to.
    #[doc(hidden)]
    #[must_use]
    pub fn legacy_state(&self) -> Option<&LegacyState> {
        match &self.state.sender {
            ClientDetails::Modern { .. } | ClientDetails::Unknown { .. } => None,
            ClientDetails::Legacy { state, .. } => Some(state),
        }
    }

    /// The settings of an extension that the client declared for this request, or in the handshake
    /// of its session, as raw JSON.
    #[must_use]
    pub fn extension(&self, id: &str) -> Option<&RawValue> {
        self.client_capabilities()
            .extensions
            .get(id)
            .map(Json::as_raw)
    }
}
