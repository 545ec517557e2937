//! Finds out how a server wants to be spoken with, as the pages of the bindings say.
//!
//! Specification: basic/transports/stdio and basic/transports/streamable-http, "Backward
//! Compatibility" (2026-07-28); basic/lifecycle (2025-11-25).

mod probe;

use std::sync::Arc;
use std::time::Duration;

use turnbuckle_session::{
    Ask, AskError, Connector, Conversation, ConversationLimits, Host, LinkError, LinkKind,
    Patience, RawResult, Speaks,
};
use turnbuckle_types::DiscoverResult;
use turnbuckle_types::method::{Initialize, Initialized};
use turnbuckle_types::{
    ClientCapabilities, Implementation, InitializeParams, InitializeResult, Notification,
    NotificationParams, Request, undecoded,
};
use turnbuckle_wire::era::{is_modern_error, select};
use turnbuckle_wire::revision::{EraKind, Revision};

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
        // What is asked on the way has as long.
        Err(_) | Ok(Err(Error::TimedOut(_))) => Err(Error::NotReady {
            within: opening.connect_timeout,
        }),
        Ok(outcome) => outcome,
    }
}

struct Attempt<'a> {
    opening: &'a Opening,
    connector: &'a dyn Connector,
    host: &'a Arc<dyn Host>,
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

fn decode<M: Request>(raw: &RawResult) -> Result<M::Result, Error> {
    serde_json::from_str(raw.as_str()).map_err(|error| Error::InvalidResult {
        method: M::METHOD.to_owned(),
        reason: undecoded(&error),
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
