//! Opens a connection and finds out the era and the revision of the server.
//!
//! Specification: basic/transports/stdio and basic/transports/streamable-http, "Backward
//! Compatibility" (2026-07-28); basic/lifecycle (2025-11-25).

mod probe;

use std::sync::Arc;
use std::time::Duration;

use turnbuckle_session::internal::{
    ClientHandler, ClientSession, NegotiatedRevision, OutboundRequest, RawResult, RequestError,
};
use turnbuckle_session::transport::{
    ClientLimits, Connector, LinkError, LinkKind, MessageObserver, Timeouts,
};
use turnbuckle_types::DiscoverResult;
use turnbuckle_types::method::{Initialize, Initialized};
use turnbuckle_types::{
    ClientCapabilities, Implementation, InitializeRequestParams, InitializeResult, Notification,
    NotificationParams, Request, describe_decode_error,
};
use turnbuckle_wire::era::{is_modern_error, newest_common_revision};
use turnbuckle_wire::revision::{EraKind, Revision};

use crate::error::Error;
use crate::server_info::{EraPreference, ServerInfo};

/// The options of every connection of one client.
pub(crate) struct ConnectOptions {
    pub(crate) info: Implementation,
    pub(crate) capabilities: ClientCapabilities,
    pub(crate) era: EraPreference,
    pub(crate) limits: ClientLimits,
    /// The time in which a connection has to be ready.
    pub(crate) connect_timeout: Duration,
    /// The time after which a legacy handshake is tried beside an unanswered probe.
    pub(crate) probe_timeout: Duration,
    /// The interval of pings to a legacy server and the timeout of each.
    pub(crate) keep_alive: Option<(Duration, Duration)>,
    pub(crate) observer: Option<Arc<dyn MessageObserver>>,
}

/// A session on which the revision has been agreed.
pub(crate) struct ConnectedSession {
    pub(crate) session: Arc<ClientSession>,
    pub(crate) negotiated_revision: Arc<NegotiatedRevision>,
    pub(crate) server: ServerInfo,
    /// The connector of the older transport, if the server was reached by that one.
    pub(crate) fallback: Option<Arc<dyn Connector>>,
}

/// Opens a connection and agrees on a revision. `known` is the era that the server spoke before.
pub(crate) async fn connect(
    options: &ConnectOptions,
    connector: &dyn Connector,
    host: &Arc<dyn ClientHandler>,
    known: Option<EraKind>,
) -> Result<ConnectedSession, Error> {
    let attempt = ConnectAttempt {
        options,
        connector,
        host,
    };
    let limit = options.connect_timeout;
    // Boxed, because the timeout would hold a large future twice.
    let connecting = Box::pin(attempt.run(known));
    match connector.user_waits().timeout(limit, connecting).await {
        // The requests of the handshake have the same timeout.
        None | Some(Err(Error::TimedOut(_))) => Err(Error::ConnectTimedOut { timeout: limit }),
        Some(outcome) => outcome,
    }
}

/// One attempt to connect.
struct ConnectAttempt<'a> {
    options: &'a ConnectOptions,
    connector: &'a dyn Connector,
    host: &'a Arc<dyn ClientHandler>,
}

impl ConnectAttempt<'_> {
    async fn run(&self, known: Option<EraKind>) -> Result<ConnectedSession, Error> {
        let session = self.open(self.connector).await?;
        let newest = self.options.modern_revision(Revision::NEWEST)?;
        let guard = AbortUnlessReady(Some(session.clone()));
        let connected = match self.options.era {
            EraPreference::Legacy => self.connect_legacy(session, Revision::NEWEST_LEGACY).await,
            EraPreference::Only(revision) if revision.features().era == EraKind::Legacy => {
                self.connect_legacy(session, revision).await
            }
            EraPreference::Modern => self.connect_modern(session, newest).await,
            EraPreference::Only(revision) => {
                let negotiated_revision = self.options.modern_revision(revision)?;
                self.connect_modern(session, negotiated_revision).await
            }
            EraPreference::Auto | EraPreference::StartWith(_) => match known {
                Some(EraKind::Legacy) => {
                    self.connect_legacy(session, Revision::NEWEST_LEGACY).await
                }
                Some(EraKind::Modern) | None => self.connect_by_probe(session, newest).await,
            },
        }?;
        guard.disarm();
        if let Some(only) = self.options.only_revision()
            && connected.server.revision != only
        {
            connected.session.close().await;
            return Err(Error::Incompatible {
                server_versions: vec![connected.server.revision.to_string()],
            });
        }
        if let Some((interval, timeout)) = self.options.keep_alive {
            connected.session.start_pinging(interval, timeout);
        }
        Ok(connected)
    }

    async fn open(&self, connector: &dyn Connector) -> Result<Arc<ClientSession>, Error> {
        let (limits, observer) = (self.options.limits.clone(), self.options.observer.clone());
        ClientSession::open(connector, self.host.clone(), limits, observer)
            .await
            .map_err(|error| self.to_error(RequestError::Link { error, sent: false }))
    }

    fn to_error(&self, error: RequestError) -> Error {
        Error::from_request_error(error, &self.connector.description())
    }

    /// Chooses a revision after the response to `server/discover`.
    fn finish_modern(
        &self,
        session: Arc<ClientSession>,
        discovery: DiscoverResult,
        fallback: Option<Arc<dyn Connector>>,
    ) -> Result<ConnectedSession, Error> {
        let wanted = self.options.only_revision();
        let named = |revision: &Revision| {
            discovery
                .supported_versions
                .iter()
                .any(|text| text == revision.as_str())
        };
        let revision = match wanted {
            Some(only) => Some(only).filter(named),
            None => newest_common_revision(&discovery.supported_versions),
        };
        let Some(revision) =
            revision.filter(|discovery| discovery.features().era == EraKind::Modern)
        else {
            return Err(Error::Incompatible {
                server_versions: discovery.supported_versions,
            });
        };
        let negotiated_revision = Arc::new(self.options.modern_revision(revision)?);
        session.set_revision(negotiated_revision.clone());
        let server = ServerInfo {
            implementation: discovery.meta.server_info(),
            capabilities: discovery.capabilities,
            instructions: discovery.instructions,
            revision,
            supported_versions: discovery.supported_versions,
            link_kind: session.link_kind(),
            uses_fallback: false,
        };
        Ok(ConnectedSession {
            session,
            negotiated_revision,
            server,
            fallback,
        })
    }

    /// Sends `initialize`.
    async fn send_initialize(
        &self,
        session: &Arc<ClientSession>,
        revision: Revision,
    ) -> Result<RawResult, RequestError> {
        let negotiated_revision = NegotiatedRevision::legacy(revision);
        let params = InitializeRequestParams::new(
            revision.as_str(),
            self.options.capabilities.clone(),
            self.options.info.clone(),
        );
        let mut request =
            OutboundRequest::new(Initialize::METHOD, Some(&params), &negotiated_revision);
        request.timeouts = Timeouts::uniform(self.options.connect_timeout);
        session.send_request(request).await
    }

    /// Opens a legacy session, and if the server does not understand the handshake, one by the
    /// older transport.
    async fn connect_legacy(
        &self,
        session: Arc<ClientSession>,
        revision: Revision,
    ) -> Result<ConnectedSession, Error> {
        let guard = AbortUnlessReady(Some(session.clone()));
        let refused = match self.send_initialize(&session, revision).await {
            Ok(raw) => {
                let connected = self
                    .finish_legacy(session, decode::<Initialize>(&raw)?)
                    .await?;
                guard.disarm();
                return Ok(connected);
            }
            Err(error) if may_be_http_sse(&session, &error) => error,
            Err(error) => return Err(self.to_error(error)),
        };
        let first = self.to_error(refused);
        let Some(fallback) = self.connector.fallback() else {
            return Err(first);
        };
        drop(guard);
        let session = match self.open(&*fallback).await {
            Ok(session) => session,
            // The server speaks the older transport, to those who are authorized.
            Err(error @ Error::Unauthorized { .. }) => return Err(error),
            // The error of the newer transport says more.
            Err(_) => return Err(first),
        };
        let guard = AbortUnlessReady(Some(session.clone()));
        let raw = self.send_initialize(&session, revision).await;
        let raw = raw.map_err(|error| self.to_error(error))?;
        let connected = self
            .finish_legacy(session, decode::<Initialize>(&raw)?)
            .await?;
        guard.disarm();
        Ok(ConnectedSession {
            fallback: Some(fallback),
            ..connected
        })
    }

    /// Concludes the handshake after the response to `initialize`.
    async fn finish_legacy(
        &self,
        session: Arc<ClientSession>,
        result: InitializeResult,
    ) -> Result<ConnectedSession, Error> {
        let revision = Revision::parse(&result.protocol_version)
            .filter(|revision| revision.features().era == EraKind::Legacy);
        let Some(revision) = revision else {
            session.close().await;
            return Err(Error::Incompatible {
                server_versions: vec![result.protocol_version.chars().take(64).collect()],
            });
        };
        let negotiated_revision = Arc::new(NegotiatedRevision::legacy(revision));
        session.set_revision(negotiated_revision.clone());
        session
            .notify(Initialized::METHOD, &NotificationParams::new())
            .await
            .map_err(|error| self.to_error(error))?;
        session.complete_handshake().await;
        let server = ServerInfo {
            implementation: Some(result.server_info),
            capabilities: result.capabilities,
            instructions: result.instructions,
            revision,
            supported_versions: Vec::new(),
            link_kind: session.link_kind(),
            uses_fallback: false,
        };
        Ok(ConnectedSession {
            session,
            negotiated_revision,
            server,
            fallback: None,
        })
    }
}

impl ConnectOptions {
    /// Returns the envelope of requests in a modern revision.
    fn modern_revision(&self, revision: Revision) -> Result<NegotiatedRevision, Error> {
        NegotiatedRevision::modern(revision, &self.info, &self.capabilities)
            .map_err(|error| Error::InvalidRequest(error.to_string()))
    }

    /// Returns the one revision that may be spoken, if there is only one.
    fn only_revision(&self) -> Option<Revision> {
        match self.era {
            EraPreference::Only(revision) => Some(revision),
            _ => None,
        }
    }
}

/// Returns whether a server that refuses the handshake in this way may speak the HTTP+SSE
/// transport. It may well respond with a JSON-RPC error.
fn may_be_http_sse(session: &ClientSession, error: &RequestError) -> bool {
    match error {
        RequestError::Link { error, .. } => matches!(
            error,
            LinkError::HttpStatus { .. }
                | LinkError::ProtocolViolation { .. }
                | LinkError::SessionNotFound
        ),
        RequestError::ErrorResponse(error) => {
            session.link_kind() == LinkKind::Exchange && !is_modern_error(error)
        }
        _ => false,
    }
}

/// Decodes the result of a request.
fn decode<M: Request>(raw: &RawResult) -> Result<M::Result, Error> {
    serde_json::from_str(raw.as_str()).map_err(|error| Error::InvalidResult {
        method: M::METHOD.to_owned(),
        reason: describe_decode_error(&error),
    })
}

/// A session that is ended unless it becomes ready.
struct AbortUnlessReady(Option<Arc<ClientSession>>);

impl AbortUnlessReady {
    fn disarm(mut self) {
        self.0 = None;
    }
}

impl Drop for AbortUnlessReady {
    fn drop(&mut self) {
        if let Some(session) = self.0.take() {
            session.abort(LinkError::Closed);
        }
    }
}
