//! Facts about the client that sent a request, and the client itself where it can be asked.

use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock, Weak};

use serde_json::value::RawValue;
use turnbuckle_types::base::debug_fields;
use turnbuckle_types::{ClientCapabilities, Implementation, Json};
use turnbuckle_wire::era::params::member_of;

use super::{RequestContext, RequestSink};
use crate::server::change_feed::ChangeFeed;
use crate::server::legacy_state::LegacyState;
use crate::server::peer::Peer;
use crate::server::session::state::SessionState;
use crate::shared::frame_range::FrameRange;
use crate::shared::reply_sink::ReplySink;
use crate::shared::transport::Binding;

/// The source of the facts about a client.
pub(crate) enum ClientDetails {
    /// The envelope of a modern request, as ranges of its frame. Decoded when first asked for.
    Envelope {
        capabilities: FrameRange,
        info: Option<FrameRange>,
        decoded: OnceLock<Box<ClientCapabilities>>,
    },
    /// A legacy request without a session: nothing but the revision is known.
    Revision { legacy: Arc<LegacyState> },
    /// The facts that were kept of a client whose request is over.
    Detached {
        capabilities: Box<ClientCapabilities>,
        info: Option<Box<Implementation>>,
    },
    /// The handshake of a legacy session.
    Session {
        session: Arc<SessionState>,
        legacy: Arc<LegacyState>,
    },
}

/// A duplex connection, to tell the requests of one from those of another. Does not keep it open.
#[derive(Clone)]
pub struct DuplexConnection(Weak<dyn ReplySink>);

impl DuplexConnection {
    /// Returns a number that no other connection has while this value exists.
    #[must_use]
    pub fn number(&self) -> usize {
        Weak::as_ptr(&self.0).addr()
    }
}

debug_fields!(DuplexConnection {
    number = |connection| connection.number()
});

impl ClientDetails {
    /// Returns the state of the legacy session, or of the legacy client without one.
    pub(super) fn legacy(&self) -> Option<&Arc<LegacyState>> {
        match self {
            Self::Envelope { .. } | Self::Detached { .. } => None,
            Self::Revision { legacy } | Self::Session { legacy, .. } => Some(legacy),
        }
    }

    fn session(&self) -> Option<&Arc<SessionState>> {
        match self {
            Self::Envelope { .. } | Self::Revision { .. } | Self::Detached { .. } => None,
            Self::Session { session, .. } => Some(session),
        }
    }
}

impl RequestContext {
    /// Returns the capabilities that the client declared.
    #[must_use]
    pub fn client_capabilities(&self) -> &ClientCapabilities {
        match &self.state.client {
            ClientDetails::Revision { legacy } | ClientDetails::Session { legacy, .. } => {
                legacy.capabilities()
            }
            ClientDetails::Detached { capabilities, .. } => capabilities,
            ClientDetails::Envelope {
                capabilities,
                decoded,
                ..
            } => decoded.get_or_init(|| {
                let json = capabilities.of_frame(&self.state.frame);
                serde_json::from_slice(json).unwrap_or_default()
            }),
        }
    }

    /// Returns the capabilities that the client declared in this very request, as JSON.
    #[must_use]
    pub fn raw_client_capabilities(&self) -> Option<&str> {
        match &self.state.client {
            ClientDetails::Envelope { capabilities, .. } => {
                str::from_utf8(capabilities.of_frame(&self.state.frame)).ok()
            }
            _ => None,
        }
    }

    /// Returns the client's description of itself. It may say anything: use it for display and
    /// logs only.
    #[must_use]
    pub fn client_info(&self) -> Option<Implementation> {
        match &self.state.client {
            ClientDetails::Revision { legacy } | ClientDetails::Session { legacy, .. } => {
                legacy.client_info().cloned()
            }
            ClientDetails::Detached { info, .. } => info.as_deref().cloned(),
            ClientDetails::Envelope { info, .. } => {
                serde_json::from_slice((*info)?.of_frame(&self.state.frame)).ok()
            }
        }
    }

    /// Returns the client of a legacy session, to be asked on this request's own stream. `None` for
    /// a modern client: it accepts no requests.
    #[must_use]
    pub fn peer(&self) -> Option<Peer> {
        match (self.state.client.session(), &self.state.sink) {
            (Some(session), RequestSink::Shared(sink)) => {
                self.record_peer_taken();
                Some(Peer::new(
                    session.clone(),
                    sink.clone(),
                    self.state.signal.get().clone(),
                ))
            }
            _ => None,
        }
    }

    fn record_peer_taken(&self) {
        self.state.lazy.peer_taken.store(true, Ordering::Relaxed);
    }

    /// Returns the client of a legacy session, for messages that belong to no request. It outlives
    /// this request.
    #[must_use]
    pub fn session_peer(&self) -> Option<Peer> {
        let session = self.state.client.session()?;
        self.record_peer_taken();
        Some(Peer::of_session(session))
    }

    /// Returns the feed that tells a legacy session of changes. `None` if nothing is kept of the session
    /// between its messages.
    #[must_use]
    pub fn session_change_feed(&self) -> Option<&Arc<ChangeFeed>> {
        match &self.state.client {
            ClientDetails::Session { session, legacy } if legacy.can_be_asked() => {
                Some(&session.feed)
            }
            _ => None,
        }
    }

    /// Returns the duplex connection that the request came on, such as a pipe. `None` for HTTP.
    #[must_use]
    pub fn duplex_connection(&self) -> Option<DuplexConnection> {
        match (&self.state.sink, self.state.binding) {
            (RequestSink::Shared(sink), Binding::Duplex) => {
                Some(DuplexConnection(Arc::downgrade(sink)))
            }
            (RequestSink::Detached(outlet), _) => outlet.request()?.duplex_connection(),
            _ => None,
        }
    }

    /// Returns the state of the legacy session that the request belongs to.
    #[must_use]
    pub fn legacy_state(&self) -> Option<&LegacyState> {
        match &self.state.client {
            ClientDetails::Session { legacy, .. } => Some(legacy),
            ClientDetails::Envelope { .. }
            | ClientDetails::Revision { .. }
            | ClientDetails::Detached { .. } => None,
        }
    }

    /// Returns whether the client declared an extension for this request or in the handshake of its session. The
    /// other capabilities are not decoded for it.
    #[must_use]
    pub fn declares_extension(&self, id: &str) -> bool {
        match &self.state.client {
            ClientDetails::Envelope {
                capabilities,
                decoded,
                ..
            } if decoded.get().is_none() => {
                let json = str::from_utf8(capabilities.of_frame(&self.state.frame));
                let extensions = json.ok().and_then(|json| member_of(json, "extensions"));
                extensions.is_some_and(|it| member_of(it.as_str(), id).is_some())
            }
            _ => self.client_capabilities().extensions.contains_key(id),
        }
    }

    /// Returns the settings of an extension, as raw JSON, if the client declared it for this
    /// request or in the handshake of its session.
    #[must_use]
    pub fn extension(&self, id: &str) -> Option<&RawValue> {
        self.client_capabilities()
            .extensions
            .get(id)
            .map(Json::as_raw)
    }
}
