//! The probe: finds out the era of a server by a first request in the modern era.
//!
//! Specification: basic/transports/stdio and basic/transports/streamable-http, "Backward
//! Compatibility" (2026-07-28).

use std::sync::Arc;

use turnbuckle_session::internal::{
    ClientSession, NegotiatedRevision, OutboundRequest, RawResult, RequestError,
};
use turnbuckle_session::transport::{LinkError, LinkKind, Timeouts};
use turnbuckle_types::method::{Discover, Initialize};
use turnbuckle_types::{DiscoverResult, InitializeResult, Request};
use turnbuckle_wire::era::{ProbeOutcome, newest_common_revision, probe_outcome};
use turnbuckle_wire::revision::{EraKind, Revision};

use super::{ConnectAttempt, ConnectedSession, decode};
use crate::error::Error;

/// The era of a server, as the probe detected it.
enum DetectedEra {
    Modern(Box<DiscoverResult>),
    Legacy(LegacyConnection),
}

/// The state of the connection after a server turned out to be a legacy one.
enum LegacyConnection {
    /// The connection can be used for the handshake.
    Usable,
    /// The connection is lost: the handshake needs another.
    Lost,
    /// The handshake was sent beside the probe, and this is its result.
    Initialized(Box<InitializeResult>),
}

impl ConnectAttempt<'_> {
    /// Connects in the modern era only.
    pub(super) async fn connect_modern(
        &self,
        session: Arc<ClientSession>,
        negotiated_revision: NegotiatedRevision,
    ) -> Result<ConnectedSession, Error> {
        let timeouts = Timeouts::uniform(self.options.connect_timeout);
        let answer = send_discover(&session, &negotiated_revision, timeouts).await;
        let found = match answer {
            Ok(raw) => decode::<Discover>(&raw)?,
            Err(RequestError::ErrorResponse(error)) => match probe_outcome(&error) {
                ProbeOutcome::NoCommonRevision(server_versions) => {
                    return Err(Error::Incompatible { server_versions });
                }
                ProbeOutcome::Supports(revision) if revision.features().era == EraKind::Modern => {
                    let negotiated_revision = self.options.modern_revision(revision)?;
                    let answer = send_discover(&session, &negotiated_revision, timeouts).await;
                    decode::<Discover>(&answer.map_err(|error| self.to_error(error))?)?
                }
                ProbeOutcome::Modern => return Err(Error::ErrorResponse(error)),
                ProbeOutcome::Supports(_) | ProbeOutcome::Legacy => {
                    return Err(Error::NeedsHandshake);
                }
            },
            Err(error) => return Err(self.to_error(error)),
        };
        self.finish_modern(session, found, None)
    }

    /// Connects in the era that a probe detects.
    pub(super) async fn connect_by_probe(
        &self,
        session: Arc<ClientSession>,
        negotiated_revision: NegotiatedRevision,
    ) -> Result<ConnectedSession, Error> {
        let outcome = match session.link_kind() {
            LinkKind::Duplex => self.probe_duplex(&session, &negotiated_revision).await?,
            LinkKind::Exchange => self.probe_exchange(&session, &negotiated_revision).await?,
        };
        match outcome {
            DetectedEra::Modern(found) => self.finish_modern(session, *found, None),
            DetectedEra::Legacy(LegacyConnection::Usable) => {
                let is_duplex = session.link_kind() == LinkKind::Duplex;
                match self.connect_legacy(session, Revision::NEWEST_LEGACY).await {
                    // The probe may be what made the server unusable: a gateway that initializes by
                    // itself at the first message refuses a handshake after it.
                    Err(error) if is_duplex && self.connector.can_reopen() => {
                        let session = self.open(self.connector).await?;
                        let retried = self.connect_legacy(session, Revision::NEWEST_LEGACY).await;
                        retried.map_err(|_| error)
                    }
                    outcome => outcome,
                }
            }
            DetectedEra::Legacy(LegacyConnection::Initialized(result)) => {
                self.finish_legacy(session, *result).await
            }
            DetectedEra::Legacy(LegacyConnection::Lost) => {
                session.close().await;
                let session = self.open(self.connector).await?;
                self.connect_legacy(session, Revision::NEWEST_LEGACY).await
            }
        }
    }

    /// Probes a server on a pipe. If it does not respond for a while, a handshake is sent beside
    /// the probe, and the first response decides. So a server that is only slow to start is not
    /// taken for a legacy one.
    async fn probe_duplex(
        &self,
        session: &Arc<ClientSession>,
        negotiated_revision: &NegotiatedRevision,
    ) -> Result<DetectedEra, Error> {
        let probe = send_discover(session, negotiated_revision, Timeouts::NONE);
        let mut probe = std::pin::pin!(probe);
        let first = tokio::time::timeout(self.options.probe_timeout, &mut probe).await;
        if let Ok(answer) = first {
            return self
                .classify_answer(session, answer, LegacyConnection::Usable)
                .await;
        }
        let handshake = self.send_initialize(session, Revision::NEWEST_LEGACY);
        let mut handshake = std::pin::pin!(handshake);
        tokio::select! {
            answer = &mut probe => match self.classify_answer(session, answer, LegacyConnection::Usable).await? {
                DetectedEra::Legacy(LegacyConnection::Usable) => {
                    let result = handshake.await.map_err(|error| self.to_error(error))?;
                    Ok(from_initialize_result(decode::<Initialize>(&result)?))
                }
                outcome => Ok(outcome),
            },
            initialized = &mut handshake => match initialized {
                Ok(raw) => Ok(from_initialize_result(decode::<Initialize>(&raw)?)),
                // A modern server refuses the handshake: its response to the probe is still to come.
                Err(RequestError::ErrorResponse(refusal)) => {
                    let refused = Err(Error::ErrorResponse(refusal));
                    match tokio::time::timeout(self.options.probe_timeout, probe).await {
                        Ok(answer) => match self.classify_answer(session, answer, LegacyConnection::Usable).await? {
                            DetectedEra::Legacy(LegacyConnection::Usable) => refused,
                            outcome => Ok(outcome),
                        },
                        Err(_) => refused,
                    }
                }
                Err(error) => self.classify_answer(session, Err(error), LegacyConnection::Usable).await,
            },
        }
    }

    /// Probes a server over HTTP.
    async fn probe_exchange(
        &self,
        session: &Arc<ClientSession>,
        negotiated_revision: &NegotiatedRevision,
    ) -> Result<DetectedEra, Error> {
        let timeouts = Timeouts::uniform(self.options.connect_timeout);
        let answer = send_discover(session, negotiated_revision, timeouts).await;
        self.classify_answer(session, answer, LegacyConnection::Usable)
            .await
    }

    /// Derives the era from the response to a probe.
    async fn classify_answer(
        &self,
        session: &Arc<ClientSession>,
        answer: Result<RawResult, RequestError>,
        legacy: LegacyConnection,
    ) -> Result<DetectedEra, Error> {
        let error = match answer {
            Ok(raw) => return self.classify_discovery(&raw, legacy),
            Err(RequestError::ErrorResponse(error)) => error,
            Err(RequestError::Link { error, .. }) if self.may_be_legacy(session, &error) => {
                return Ok(DetectedEra::Legacy(match session.is_closed() {
                    true => LegacyConnection::Lost,
                    false => legacy,
                }));
            }
            Err(error) => return Err(self.to_error(error)),
        };
        match probe_outcome(&error) {
            ProbeOutcome::Legacy => Ok(DetectedEra::Legacy(legacy)),
            ProbeOutcome::NoCommonRevision(server_versions) => {
                Err(Error::Incompatible { server_versions })
            }
            ProbeOutcome::Modern => Err(Error::ErrorResponse(error)),
            ProbeOutcome::Supports(revision) if revision.features().era == EraKind::Legacy => {
                Ok(DetectedEra::Legacy(legacy))
            }
            ProbeOutcome::Supports(revision) => {
                let negotiated_revision = self.options.modern_revision(revision)?;
                let timeouts = Timeouts::uniform(self.options.connect_timeout);
                let answer = send_discover(session, &negotiated_revision, timeouts).await;
                let raw = answer.map_err(|error| self.to_error(error))?;
                Ok(DetectedEra::Modern(Box::new(decode::<Discover>(&raw)?)))
            }
        }
    }

    /// Derives the era from a result. A result without `supportedVersions` is a legacy server's
    /// response to an unknown method.
    fn classify_discovery(
        &self,
        raw: &RawResult,
        legacy: LegacyConnection,
    ) -> Result<DetectedEra, Error> {
        let Ok(found) = decode::<Discover>(raw) else {
            return Ok(DetectedEra::Legacy(legacy));
        };
        match newest_common_revision(&found.supported_versions) {
            Some(revision) if revision.features().era == EraKind::Modern => {
                Ok(DetectedEra::Modern(Box::new(found)))
            }
            Some(_) => Ok(DetectedEra::Legacy(legacy)),
            None => Err(Error::Incompatible {
                server_versions: found.supported_versions,
            }),
        }
    }

    /// Returns whether a server that fails in this way at an unknown first request may still be a
    /// legacy one. A server that asks for authorization says nothing of its era.
    fn may_be_legacy(&self, session: &ClientSession, error: &LinkError) -> bool {
        match (session.link_kind(), error) {
            (_, LinkError::Unauthorized { .. } | LinkError::Unreachable { .. }) => false,
            // The probe is not why the server ended: another start would end in the same way.
            (
                _,
                LinkError::ProcessExited {
                    may_have_read: false,
                    ..
                },
            ) => false,
            (LinkKind::Duplex, _) => !session.is_closed() || self.connector.can_reopen(),
            (LinkKind::Exchange, LinkError::HttpStatus { status, .. }) => {
                !matches!(status, 407 | 429 | 502..=504)
            }
            (
                LinkKind::Exchange,
                LinkError::ProtocolViolation { .. } | LinkError::SessionNotFound,
            ) => true,
            (LinkKind::Exchange, _) => false,
        }
    }
}

fn from_initialize_result(handshake: InitializeResult) -> DetectedEra {
    DetectedEra::Legacy(LegacyConnection::Initialized(Box::new(handshake)))
}

async fn send_discover(
    session: &Arc<ClientSession>,
    negotiated_revision: &NegotiatedRevision,
    timeouts: Timeouts,
) -> Result<RawResult, RequestError> {
    let mut request = OutboundRequest::new(Discover::METHOD, None, negotiated_revision);
    request.timeouts = timeouts;
    session.send_request(request).await
}
