//! Holds the current connection of a client and opens another one when it is lost.

use std::sync::{Arc, PoisonError, RwLock};

use tokio::sync::{Mutex, OwnedMutexGuard};
use turnbuckle_session::handler::Signal;
use turnbuckle_session::internal::ClientHandler;
use turnbuckle_session::transport::{Connector, LinkError};
use turnbuckle_wire::revision::EraKind;

use crate::connection::Connection;
use crate::connection::attempts::ReconnectAttempts;
use crate::connection::connect::{ConnectOptions, connect};
use crate::connection::policy::ReconnectPolicy;
use crate::error::Error;
use crate::incoming::router::IncomingRouter;
use crate::server_info::EraPreference;

/// The current connection of a client and everything that opening another one needs.
pub(crate) struct Reconnector {
    options: ConnectOptions,
    router: Arc<IncomingRouter>,
    reconnect_policy: ReconnectPolicy,
    current: RwLock<Option<Arc<Connection>>>,
    state: Arc<Mutex<ReconnectState>>,
    closed: Signal,
}

/// The state that one attempt to connect changes.
struct ReconnectState {
    connector: Arc<dyn Connector>,
    /// True if `connector` is the older transport.
    uses_fallback: bool,
    known_era: Option<EraKind>,
    generation: u64,
    attempts: ReconnectAttempts,
    last_failure: String,
}

impl Reconnector {
    pub(crate) fn new(
        options: ConnectOptions,
        connector: Arc<dyn Connector>,
        router: Arc<IncomingRouter>,
        reconnect_policy: ReconnectPolicy,
    ) -> Self {
        let known_era = match options.era {
            EraPreference::StartWith(era) => Some(era),
            _ => None,
        };
        Self {
            options,
            router,
            reconnect_policy,
            current: RwLock::new(None),
            state: Arc::new(Mutex::new(ReconnectState {
                connector,
                uses_fallback: false,
                known_era,
                generation: 0,
                attempts: ReconnectAttempts::new(reconnect_policy),
                last_failure: String::new(),
            })),
            closed: Signal::new(),
        }
    }

    /// Returns the last connection, open or lost; `None` before the first.
    pub(crate) fn last_connection(&self) -> Option<Arc<Connection>> {
        self.current
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Returns the signal that fires when the client is closed.
    pub(crate) fn closed(&self) -> &Signal {
        &self.closed
    }

    /// Returns the limits of reconnecting.
    pub(crate) fn reconnect_policy(&self) -> ReconnectPolicy {
        self.reconnect_policy
    }

    /// Returns the open connection, or opens another one.
    pub(crate) async fn connection(self: &Arc<Self>) -> Result<Arc<Connection>, Error> {
        if let Some(connection) = self.open_connection() {
            return Ok(connection);
        }
        let state = self.state.clone().lock_owned().await;
        if let Some(connection) = self.open_connection() {
            return Ok(connection);
        }
        // A task of its own: a caller that gives up must not cancel the connection for others.
        let options = tokio::spawn(self.clone().reconnect(state));
        options.await.unwrap_or(Err(Error::Closed))
    }

    /// Opens a connection, unless the client is closed meanwhile.
    async fn reconnect(
        self: Arc<Self>,
        mut state: OwnedMutexGuard<ReconnectState>,
    ) -> Result<Arc<Connection>, Error> {
        if self.closed.is_cancelled() {
            return Err(Error::Closed);
        }
        let reopened = async {
            self.wait_before_reconnect(&mut state).await?;
            Box::pin(self.connect(&mut state)).await
        };
        let opened = tokio::select! {
            opened = reopened => opened,
            () = self.closed.cancelled() => return Err(Error::Closed),
        };
        match opened {
            Ok(connection) => {
                state.last_failure.clear();
                *self.current.write().unwrap_or_else(PoisonError::into_inner) =
                    Some(connection.clone());
                Ok(connection)
            }
            Err(error) => {
                if !matches!(error, Error::ReconnectsExhausted { .. }) {
                    state.last_failure = error.to_string();
                }
                Err(error)
            }
        }
    }

    /// Returns the connection, if it is open.
    pub(crate) fn open_connection(&self) -> Option<Arc<Connection>> {
        self.last_connection()
            .filter(|connection| !connection.session.is_closed())
            .filter(|_| !self.closed.is_cancelled())
    }

    /// Delays a connection after the first, the longer the more there were.
    async fn wait_before_reconnect(&self, state: &mut ReconnectState) -> Result<(), Error> {
        if state.generation == 0 {
            return Ok(());
        }
        let cause = self
            .last_connection()
            .and_then(|connection| connection.session.close_reason());
        if !state.connector.can_reopen() {
            return Err(Error::ConnectionLost {
                sent: false,
                reason: cause.unwrap_or(LinkError::Closed),
            });
        }
        let ReconnectState {
            attempts,
            last_failure,
            ..
        } = state;
        // A failed attempt is more recent than the loss of the last connection.
        let last = || match cause {
            Some(cause) if last_failure.is_empty() => cause.to_string(),
            _ => last_failure.clone(),
        };
        attempts.wait_for_next(last).await
    }

    /// Opens a connection, with the era that the server spoke before.
    async fn connect(&self, state: &mut ReconnectState) -> Result<Arc<Connection>, Error> {
        let known = state.known_era;
        let host: Arc<dyn ClientHandler> = self.router.clone();
        let first = connect(&self.options, &*state.connector, &host, known).await;
        // A server that was modern before is probed like an unknown one.
        let unprobed = known == Some(EraKind::Legacy)
            && matches!(
                self.options.era,
                EraPreference::Auto | EraPreference::StartWith(_)
            );
        let connected = match first {
            // The server may have changed its era.
            Err(error)
                if unprobed
                    && state.connector.can_reopen()
                    && !matches!(
                        error,
                        Error::Unauthorized { .. } | Error::Unreachable { .. }
                    ) =>
            {
                state.known_era = None;
                connect(&self.options, &*state.connector, &host, None).await?
            }
            outcome => outcome?,
        };
        if let Some(fallback) = connected.fallback {
            state.connector = fallback;
            state.uses_fallback = true;
        }
        let mut server = connected.server;
        server.uses_fallback = state.uses_fallback;
        state.known_era = Some(server.era());
        state.generation += 1;
        let connection = Arc::new(Connection {
            session: connected.session,
            negotiated_revision: connected.negotiated_revision,
            server: Arc::new(server),
            generation: state.generation,
        });
        self.router
            .on_connected(&connection, &state.connector.description());
        Ok(connection)
    }

    /// Closes the connection properly. No other one is opened.
    pub(crate) async fn close(&self) {
        self.closed.cancel();
        // An attempt to connect that holds the lock sees the signal and ends.
        let _connecting = self.state.lock().await;
        if let Some(connection) = self.last_connection() {
            connection.session.close().await;
        }
    }

    /// Drops the connection at once. No other one is opened.
    pub(crate) fn abort(&self) {
        self.closed.cancel();
        if let Some(connection) = self.last_connection() {
            connection.session.abort(LinkError::Closed);
        }
    }
}
