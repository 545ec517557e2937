//! Finds out how a server wants to be spoken with, as the pages of the bindings say.
//!
//! Specification: basic/transports/stdio and basic/transports/streamable-http, "Backward
//! Compatibility" (2026-07-28); basic/lifecycle (2025-11-25).

use std::sync::Arc;
use std::time::Duration;

use turnbuckle_session::{
    Ask, AskError, Connector, Conversation, ConversationLimits, EraKind, Host, Judgement, Late,
    LinkError, LinkKind, Patience, RawResult, Revision, Speaks, is_modern_error, judge, select,
};
use turnbuckle_types::DiscoverResult;
use turnbuckle_types::method::{Discover, Initialize, Initialized};
use turnbuckle_types::{
    ClientCapabilities, Implementation, InitializeParams, InitializeResult, Notification,
    NotificationParams, Request, RequestParams,
};

use crate::Error;
use crate::server::{Era, ServerInfo, Verdict};

/// What every connection of one client begins with.
#[derive(Debug, Clone)]
pub(crate) struct Opening {
    pub(crate) info: Implementation,
    pub(crate) capabilities: ClientCapabilities,
    pub(crate) era: Era,
    pub(crate) limits: ConversationLimits,
    /// How long a connection may take to be ready.
    pub(crate) connect_timeout: Duration,
    /// How long a server may be silent about the probe before a handshake is tried beside it.
    pub(crate) probe_timeout: Duration,
    /// How often a legacy server is asked whether it is there, and how long it may take to say so.
    pub(crate) keep_alive: Option<(Duration, Duration)>,
}

/// A connection that is ready.
pub(crate) struct Connected {
    pub(crate) conversation: Arc<Conversation>,
    pub(crate) speaks: Arc<Speaks>,
    pub(crate) server: ServerInfo,
    /// The way by which it was reached, where that is not the one that was tried first.
    pub(crate) older: Option<Arc<dyn Connector>>,
}

/// Opens a connection and finds out how it is to be spoken on. `known` is what the server turned
/// out to be before.
pub(crate) async fn connect(
    opening: &Opening,
    connector: &dyn Connector,
    host: &Arc<dyn Host>,
    known: Option<Verdict>,
) -> Result<Connected, Error> {
    let attempt = Attempt {
        opening,
        connector,
        host,
    };
    match tokio::time::timeout(opening.connect_timeout, attempt.run(known)).await {
        Ok(outcome) => outcome,
        Err(_) => Err(Error::TimedOut(Late::InAll(opening.connect_timeout))),
    }
}

struct Attempt<'a> {
    opening: &'a Opening,
    connector: &'a dyn Connector,
    host: &'a Arc<dyn Host>,
}

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
    async fn run(&self, known: Option<Verdict>) -> Result<Connected, Error> {
        let conversation = self.open(self.connector).await?;
        let newest = self.opening.modern(Revision::NEWEST)?;
        let guard = EndUnlessReady(Some(conversation.clone()));
        let connected = match self.opening.era {
            Era::Legacy => self.handshake(conversation, Revision::NEWEST_LEGACY).await,
            Era::Only(revision) if revision.features().era == EraKind::Legacy => {
                self.handshake(conversation, revision).await
            }
            Era::Modern => self.modern_only(conversation, newest).await,
            Era::Only(revision) => {
                let speaks = self.opening.modern(revision)?;
                self.modern_only(conversation, speaks).await
            }
            Era::Auto | Era::Known(_) => match known {
                Some(Verdict::Legacy) => {
                    self.handshake(conversation, Revision::NEWEST_LEGACY).await
                }
                Some(Verdict::Modern) | None => self.probe(conversation, newest).await,
            },
        }?;
        guard.disarm();
        if let Some(only) = self.opening.only()
            && connected.server.revision != only
        {
            connected.conversation.close().await;
            return Err(Error::Incompatible {
                server: vec![connected.server.revision.to_string()],
            });
        }
        if let Some((every, timeout)) = self.opening.keep_alive {
            connected.conversation.keep_asking(every, timeout);
        }
        Ok(connected)
    }

    async fn open(&self, connector: &dyn Connector) -> Result<Arc<Conversation>, Error> {
        Conversation::open(connector, self.host.clone(), self.opening.limits.clone())
            .await
            .map_err(|error| self.failed(AskError::Link { error, sent: false }))
    }

    fn failed(&self, error: AskError) -> Error {
        Error::of_ask(error, &self.connector.describe())
    }

    async fn modern_only(
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
                _ => return Err(Error::Refused(error)),
            },
            Err(error) => return Err(self.failed(error)),
        };
        self.modern(conversation, found, None)
    }

    async fn probe(
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

    fn modern(
        &self,
        conversation: Arc<Conversation>,
        found: DiscoverResult,
        older: Option<Arc<dyn Connector>>,
    ) -> Result<Connected, Error> {
        let wanted = self.opening.only();
        let named = |revision: &Revision| {
            found
                .supported_versions
                .iter()
                .any(|text| text == revision.as_str())
        };
        let revision = match wanted {
            Some(only) => Some(only).filter(named),
            None => select(&found.supported_versions),
        };
        let Some(revision) = revision.filter(|found| found.features().era == EraKind::Modern)
        else {
            return Err(Error::Incompatible {
                server: found.supported_versions,
            });
        };
        let speaks = Arc::new(self.opening.modern(revision)?);
        conversation.settle(speaks.clone());
        let server = ServerInfo {
            implementation: found.meta.server_info(),
            capabilities: found.capabilities,
            instructions: found.instructions,
            revision,
            supported: found.supported_versions,
            binding: conversation.kind(),
        };
        Ok(Connected {
            conversation,
            speaks,
            server,
            older,
        })
    }

    async fn greet(
        &self,
        conversation: &Arc<Conversation>,
        revision: Revision,
    ) -> Result<RawResult, AskError> {
        let speaks = Speaks::legacy(revision);
        let params = InitializeParams::new(
            revision.as_str(),
            self.opening.capabilities.clone(),
            self.opening.info.clone(),
        );
        let mut ask = Ask::new(Initialize::METHOD, Some(&params), &speaks);
        ask.patience = Patience::at_most(self.opening.connect_timeout);
        conversation.ask(ask).await
    }

    /// Opens a legacy session; where not even that is understood, by the older transport.
    async fn handshake(
        &self,
        conversation: Arc<Conversation>,
        revision: Revision,
    ) -> Result<Connected, Error> {
        let guard = EndUnlessReady(Some(conversation.clone()));
        let refused = match self.greet(&conversation, revision).await {
            Ok(raw) => {
                let connected = self
                    .greeted(conversation, decode::<Initialize>(&raw)?)
                    .await?;
                guard.disarm();
                return Ok(connected);
            }
            Err(error) if may_be_older(&conversation, &error) => error,
            Err(error) => return Err(self.failed(error)),
        };
        let first = self.failed(refused);
        let Some(older) = self.connector.older() else {
            return Err(first);
        };
        drop(guard);
        // Should this fail as well, what the newer transport said tells more.
        let Ok(conversation) = self.open(&*older).await else {
            return Err(first);
        };
        let guard = EndUnlessReady(Some(conversation.clone()));
        let greeted = self.greet(&conversation, revision).await;
        let raw = greeted.map_err(|error| self.failed(error))?;
        let connected = self
            .greeted(conversation, decode::<Initialize>(&raw)?)
            .await?;
        guard.disarm();
        Ok(Connected {
            older: Some(older),
            ..connected
        })
    }

    async fn greeted(
        &self,
        conversation: Arc<Conversation>,
        result: InitializeResult,
    ) -> Result<Connected, Error> {
        let revision = Revision::parse(&result.protocol_version)
            .filter(|revision| revision.features().era == EraKind::Legacy);
        let Some(revision) = revision else {
            conversation.close().await;
            return Err(Error::Incompatible {
                server: vec![result.protocol_version.chars().take(64).collect()],
            });
        };
        let speaks = Arc::new(Speaks::legacy(revision));
        conversation.settle(speaks.clone());
        conversation
            .notify(Initialized::METHOD, &NotificationParams::new())
            .await
            .map_err(|error| self.failed(error))?;
        conversation.established().await;
        let server = ServerInfo {
            implementation: Some(result.server_info),
            capabilities: result.capabilities,
            instructions: result.instructions,
            revision,
            supported: Vec::new(),
            binding: conversation.kind(),
        };
        Ok(Connected {
            conversation,
            speaks,
            server,
            older: None,
        })
    }
}

impl Opening {
    fn modern(&self, revision: Revision) -> Result<Speaks, Error> {
        Speaks::modern(revision, &self.info, &self.capabilities)
            .map_err(|error| Error::Unwritable(error.to_string()))
    }

    /// The one revision that may be spoken, if only one may.
    fn only(&self) -> Option<Revision> {
        match self.era {
            Era::Only(revision) => Some(revision),
            _ => None,
        }
    }
}

fn answered(greeting: InitializeResult) -> Probed {
    Probed::Legacy(Legacy::Answered(Box::new(greeting)))
}

/// Whether a server that refuses the handshake this way may be one of the older transport. What
/// stands at its address may well answer in the protocol's own words that it takes no requests there.
fn may_be_older(conversation: &Conversation, error: &AskError) -> bool {
    match error {
        AskError::Link { error, .. } => matches!(
            error,
            LinkError::Status { .. } | LinkError::Violation { .. } | LinkError::SessionGone
        ),
        AskError::Refused(error) => {
            conversation.kind() == LinkKind::Exchange && !is_modern_error(error)
        }
        _ => false,
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

fn decode<M: Request>(raw: &RawResult) -> Result<M::Result, Error> {
    serde_json::from_str(raw.as_str()).map_err(|error| Error::InvalidResult {
        method: M::METHOD.to_owned(),
        reason: error.to_string(),
    })
}

/// Ends a connection that does not become ready.
struct EndUnlessReady(Option<Arc<Conversation>>);

impl EndUnlessReady {
    fn disarm(mut self) {
        self.0 = None;
    }
}

impl Drop for EndUnlessReady {
    fn drop(&mut self) {
        if let Some(conversation) = self.0.take() {
            conversation.end(LinkError::Closed);
        }
    }
}
