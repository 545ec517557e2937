//! The connection that a client has right now, and another when it has died.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use tokio::sync::{Mutex, OwnedMutexGuard};
use turnbuckle_session::{Connector, Conversation, Host, LinkError, LinkKind, Signal, Speaks};
use turnbuckle_wire::revision::EraKind;

use crate::Error;
use crate::budget::Budget;
use crate::connect::{Opening, connect};
use crate::router::Router;
use crate::server::{Era, ServerInfo, Verdict};

/// A connection that is ready.
#[derive(Debug)]
pub(crate) struct Live {
    pub(crate) conversation: Arc<Conversation>,
    pub(crate) speaks: Arc<Speaks>,
    pub(crate) server: Arc<ServerInfo>,
    /// Counts the connections of one client, from 1.
    pub(crate) generation: u64,
}

impl Live {
    /// Whether headers mirror what requests say.
    pub(crate) fn mirrors_headers(&self) -> bool {
        self.server.binding == LinkKind::Exchange && self.server.era() == EraKind::Modern
    }
}

/// How often a server that keeps dying is connected to again.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Reconnects {
    /// How many connections may be opened again within [`Reconnects::within`]. Default 5.
    pub attempts: usize,
    /// The time that they are counted over. Default one minute.
    pub within: Duration,
    /// How long the second of them in that time waits; each further one twice as long. Default
    /// 100 ms.
    pub backoff: Duration,
}

impl Default for Reconnects {
    fn default() -> Self {
        Self {
            attempts: 5,
            within: Duration::from_secs(60),
            backoff: Duration::from_millis(100),
        }
    }
}

impl Reconnects {
    /// The defaults.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets how many connections may be opened again.
    #[must_use]
    pub fn attempts(mut self, attempts: usize) -> Self {
        self.attempts = attempts;
        self
    }

    /// Sets the time that they are counted over.
    #[must_use]
    pub fn within(mut self, time: Duration) -> Self {
        self.within = time;
        self
    }

    /// Sets how long the second of them waits.
    #[must_use]
    pub fn backoff(mut self, time: Duration) -> Self {
        self.backoff = time;
        self
    }
}

/// Keeps one connection to a server.
pub(crate) struct Lifeline {
    opening: Opening,
    router: Arc<Router>,
    reconnects: Reconnects,
    current: RwLock<Option<Arc<Live>>>,
    state: Arc<Mutex<State>>,
    closed: Signal,
}

struct State {
    connector: Arc<dyn Connector>,
    verdict: Option<Verdict>,
    generation: u64,
    budget: Budget,
    last_failure: String,
}

impl Lifeline {
    pub(crate) fn new(
        opening: Opening,
        connector: Arc<dyn Connector>,
        router: Arc<Router>,
        reconnects: Reconnects,
    ) -> Self {
        let verdict = match opening.era {
            Era::Known(verdict) => Some(verdict),
            _ => None,
        };
        Self {
            opening,
            router,
            reconnects,
            current: RwLock::new(None),
            state: Arc::new(Mutex::new(State {
                connector,
                verdict,
                generation: 0,
                budget: Budget::new(reconnects),
                last_failure: String::new(),
            })),
            closed: Signal::new(),
        }
    }

    /// The connection there is, dead or alive; none before the first.
    pub(crate) fn current(&self) -> Option<Arc<Live>> {
        self.current
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Tells when the client was closed.
    pub(crate) fn closed(&self) -> &Signal {
        &self.closed
    }

    /// How often a server that keeps dying is connected to again.
    pub(crate) fn reconnects(&self) -> Reconnects {
        self.reconnects
    }

    /// A connection that is alive, opened now if need be.
    pub(crate) async fn live(self: &Arc<Self>) -> Result<Arc<Live>, Error> {
        if let Some(live) = self.alive() {
            return Ok(live);
        }
        let state = self.state.clone().lock_owned().await;
        if let Some(live) = self.alive() {
            return Ok(live);
        }
        // Whoever no longer waits for the connection does not take it away from the next.
        let opening = tokio::spawn(self.clone().reopen(state));
        opening.await.unwrap_or(Err(Error::Closed))
    }

    async fn reopen(
        self: Arc<Self>,
        mut state: OwnedMutexGuard<State>,
    ) -> Result<Arc<Live>, Error> {
        if self.closed.is_cancelled() {
            return Err(Error::Closed);
        }
        let reopened = async {
            self.wait_for_turn(&mut state).await?;
            self.open(&mut state).await
        };
        let opened = tokio::select! {
            opened = reopened => opened,
            () = self.closed.cancelled() => return Err(Error::Closed),
        };
        match opened {
            Ok(live) => {
                state.last_failure.clear();
                *self.current.write().unwrap_or_else(PoisonError::into_inner) = Some(live.clone());
                Ok(live)
            }
            Err(error) => {
                if !matches!(error, Error::GivenUp { .. }) {
                    state.last_failure = error.to_string();
                }
                Err(error)
            }
        }
    }

    /// The connection there is, if it is alive.
    pub(crate) fn alive(&self) -> Option<Arc<Live>> {
        self.current()
            .filter(|live| !live.conversation.is_lost())
            .filter(|_| !self.closed.is_cancelled())
    }

    /// Connections after the first are counted, and wait the longer the more there were.
    async fn wait_for_turn(&self, state: &mut State) -> Result<(), Error> {
        if state.generation == 0 {
            return Ok(());
        }
        let cause = self.current().and_then(|live| live.conversation.cause());
        if !state.connector.reopens() {
            return Err(Error::Lost {
                sent: false,
                reason: cause.unwrap_or(LinkError::Closed),
            });
        }
        let State {
            budget,
            last_failure,
            ..
        } = state;
        // What failed to be opened failed after the connection before it.
        let last = || match cause {
            Some(cause) if last_failure.is_empty() => cause.to_string(),
            _ => last_failure.clone(),
        };
        budget.turn(last).await
    }

    async fn open(&self, state: &mut State) -> Result<Arc<Live>, Error> {
        let known = state.verdict;
        let host: Arc<dyn Host> = self.router.clone();
        let first = connect(&self.opening, &*state.connector, &host, known).await;
        // What was modern before is probed like what is not known.
        let unprobed =
            known == Some(Verdict::Legacy) && matches!(self.opening.era, Era::Auto | Era::Known(_));
        let connected = match first {
            // What the server was before may no longer be so.
            Err(error)
                if unprobed
                    && state.connector.reopens()
                    && !matches!(
                        error,
                        Error::Unauthorized { .. } | Error::Unreachable { .. }
                    ) =>
            {
                state.verdict = None;
                connect(&self.opening, &*state.connector, &host, None).await?
            }
            outcome => outcome?,
        };
        if let Some(older) = connected.older {
            state.connector = older;
        }
        state.verdict = Some(connected.server.verdict());
        state.generation += 1;
        let live = Arc::new(Live {
            conversation: connected.conversation,
            speaks: connected.speaks,
            server: Arc::new(connected.server),
            generation: state.generation,
        });
        self.router.connected(&live, &state.connector.describe());
        Ok(live)
    }

    /// Ends the connection with a goodbye, and opens no other.
    pub(crate) async fn close(&self) {
        self.closed.cancel();
        // Whoever is connecting right now sees the signal and lets go.
        let _connecting = self.state.lock().await;
        if let Some(live) = self.current() {
            live.conversation.close().await;
        }
    }

    /// Ends the connection without a goodbye, and opens no other.
    pub(crate) fn end(&self) {
        self.closed.cancel();
        if let Some(live) = self.current() {
            live.conversation.end(LinkError::Closed);
        }
    }
}
