//! The probe: what a first request in the modern era learns of a server.
//!
//! Specification: basic/transports/stdio and basic/transports/streamable-http, "Backward
//! Compatibility" (2026-07-28).

use std::sync::Arc;

use turnbuckle_session::{
    Ask, AskError, Conversation, LinkError, LinkKind, Patience, RawResult, Speaks,
};
use turnbuckle_types::method::{Discover, Initialize};
use turnbuckle_types::{DiscoverResult, InitializeResult, Request, RequestParams};
use turnbuckle_wire::era::{Judgement, judge, select};
use turnbuckle_wire::revision::{EraKind, Revision};

use super::{Attempt, Connected, decode};
use crate::Error;

/// What a probe learned.
enum Probed {
    Modern(Box<DiscoverResult>),
    Legacy(Legacy),
}

/// What is left after a server turned out to be legacy.
enum Legacy {
    /// The connection may be gone on with.
    Here,
    /// It died: the handshake needs another.
    Elsewhere,
    /// The handshake was answered already.
    Answered(Box<InitializeResult>),
}

impl Attempt<'_> {
    pub(super) async fn modern_only(
        &self,
        conversation: Arc<Conversation>,
        speaks: Speaks,
    ) -> Result<Connected, Error> {
        let patience = Patience::at_most(self.opening.connect_timeout);
        let answer = discover(&conversation, &speaks, patience).await;
        let found = match answer {
            Ok(raw) => decode::<Discover>(&raw)?,
            Err(AskError::Refused(error)) => match judge(&error) {
                Judgement::NothingInCommon(server) => return Err(Error::Incompatible { server }),
                Judgement::Speaks(revision) if revision.features().era == EraKind::Modern => {
                    let speaks = self.opening.modern(revision)?;
                    let again = discover(&conversation, &speaks, patience).await;
                    decode::<Discover>(&again.map_err(|error| self.failed(error))?)?
                }
                Judgement::Modern => return Err(Error::Refused(error)),
                Judgement::Speaks(_) | Judgement::Legacy => return Err(by_handshake_only()),
            },
            Err(error) => return Err(self.failed(error)),
        };
        self.modern(conversation, found, None)
    }

    pub(super) async fn probe(
        &self,
        conversation: Arc<Conversation>,
        speaks: Speaks,
    ) -> Result<Connected, Error> {
        let probed = match conversation.kind() {
            LinkKind::Duplex => self.probe_duplex(&conversation, &speaks).await?,
            LinkKind::Exchange => self.probe_exchange(&conversation, &speaks).await?,
        };
        match probed {
            Probed::Modern(found) => self.modern(conversation, *found, None),
            Probed::Legacy(Legacy::Here) => {
                self.handshake(conversation, Revision::NEWEST_LEGACY).await
            }
            Probed::Legacy(Legacy::Answered(result)) => self.greeted(conversation, *result).await,
            Probed::Legacy(Legacy::Elsewhere) => {
                conversation.close().await;
                let conversation = self.open(self.connector).await?;
                self.handshake(conversation, Revision::NEWEST_LEGACY).await
            }
        }
    }

    /// A server that is silent about the probe is greeted beside it: whichever it answers first
    /// tells. One that is merely slow to start is not mistaken for a legacy one.
    async fn probe_duplex(
        &self,
        conversation: &Arc<Conversation>,
        speaks: &Speaks,
    ) -> Result<Probed, Error> {
        let probe = discover(conversation, speaks, Patience::FOREVER);
        let mut probe = std::pin::pin!(probe);
        let first = tokio::time::timeout(self.opening.probe_timeout, &mut probe).await;
        if let Ok(answer) = first {
            return self.judged(conversation, answer, Legacy::Here).await;
        }
        let greeting = self.greet(conversation, Revision::NEWEST_LEGACY);
        let mut greeting = std::pin::pin!(greeting);
        tokio::select! {
            answer = &mut probe => match self.judged(conversation, answer, Legacy::Here).await? {
                Probed::Legacy(Legacy::Here) => {
                    let result = greeting.await.map_err(|error| self.failed(error))?;
                    Ok(answered(decode::<Initialize>(&result)?))
                }
                probed => Ok(probed),
            },
            greeted = &mut greeting => match greeted {
                Ok(raw) => Ok(answered(decode::<Initialize>(&raw)?)),
                // A modern server refuses to be greeted: the probe is still to be answered.
                Err(AskError::Refused(refusal)) => {
                    let refused = Err(Error::Refused(refusal));
                    match tokio::time::timeout(self.opening.probe_timeout, probe).await {
                        Ok(answer) => match self.judged(conversation, answer, Legacy::Here).await? {
                            Probed::Legacy(Legacy::Here) => refused,
                            probed => Ok(probed),
                        },
                        Err(_) => refused,
                    }
                }
                Err(error) => self.judged(conversation, Err(error), Legacy::Here).await,
            },
        }
    }

    async fn probe_exchange(
        &self,
        conversation: &Arc<Conversation>,
        speaks: &Speaks,
    ) -> Result<Probed, Error> {
        let patience = Patience::at_most(self.opening.connect_timeout);
        let answer = discover(conversation, speaks, patience).await;
        self.judged(conversation, answer, Legacy::Here).await
    }

    /// Judges what answered a probe.
    async fn judged(
        &self,
        conversation: &Arc<Conversation>,
        answer: Result<RawResult, AskError>,
        legacy: Legacy,
    ) -> Result<Probed, Error> {
        let error = match answer {
            Ok(raw) => return self.discovered(&raw, legacy),
            Err(AskError::Refused(error)) => error,
            Err(AskError::Link { error, .. }) if self.may_be_legacy(conversation, &error) => {
                return Ok(Probed::Legacy(match conversation.is_lost() {
                    true => Legacy::Elsewhere,
                    false => legacy,
                }));
            }
            Err(error) => return Err(self.failed(error)),
        };
        match judge(&error) {
            Judgement::Legacy => Ok(Probed::Legacy(legacy)),
            Judgement::NothingInCommon(server) => Err(Error::Incompatible { server }),
            Judgement::Modern => Err(Error::Refused(error)),
            Judgement::Speaks(revision) if revision.features().era == EraKind::Legacy => {
                Ok(Probed::Legacy(legacy))
            }
            Judgement::Speaks(revision) => {
                let speaks = self.opening.modern(revision)?;
                let patience = Patience::at_most(self.opening.connect_timeout);
                let again = discover(conversation, &speaks, patience).await;
                let raw = again.map_err(|error| self.failed(error))?;
                Ok(Probed::Modern(Box::new(decode::<Discover>(&raw)?)))
            }
        }
    }

    /// A result without what discovery has to say is a legacy server's answer to something else.
    fn discovered(&self, raw: &RawResult, legacy: Legacy) -> Result<Probed, Error> {
        let Ok(found) = decode::<Discover>(raw) else {
            return Ok(Probed::Legacy(legacy));
        };
        match select(&found.supported_versions) {
            Some(revision) if revision.features().era == EraKind::Modern => {
                Ok(Probed::Modern(Box::new(found)))
            }
            Some(_) => Ok(Probed::Legacy(legacy)),
            None => Err(Error::Incompatible {
                server: found.supported_versions,
            }),
        }
    }

    /// Whether a server that fails this way at an unknown first request may still be a legacy one.
    /// What asks for authorization says nothing of an era.
    fn may_be_legacy(&self, conversation: &Conversation, error: &LinkError) -> bool {
        match (conversation.kind(), error) {
            (_, LinkError::Unauthorized { .. } | LinkError::Unreachable { .. }) => false,
            (LinkKind::Duplex, _) => !conversation.is_lost() || self.connector.reopens(),
            (LinkKind::Exchange, LinkError::Status { status, .. }) => {
                !matches!(status, 407 | 429 | 502..=504)
            }
            (LinkKind::Exchange, LinkError::Violation { .. } | LinkError::SessionGone) => true,
            (LinkKind::Exchange, _) => false,
        }
    }
}

fn answered(greeting: InitializeResult) -> Probed {
    Probed::Legacy(Legacy::Answered(Box::new(greeting)))
}

/// What a client of the modern era alone says of a server that knows nothing of it.
fn by_handshake_only() -> Error {
    Error::Incompatible {
        server: vec!["handshakes only: try Era::Auto".into()],
    }
}

async fn discover(
    conversation: &Arc<Conversation>,
    speaks: &Speaks,
    patience: Patience,
) -> Result<RawResult, AskError> {
    let nothing: Option<&RequestParams> = None;
    let mut ask = Ask::new(Discover::METHOD, nothing, speaks);
    ask.patience = patience;
    conversation.ask(ask).await
}
