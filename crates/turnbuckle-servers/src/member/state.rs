//! One of many servers: how it is reached, its state, and its items.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use tokio::sync::{Notify, watch};
use turnbuckle_client::{Client, ClientBuilder, EraKind, ServerInfo};
use turnbuckle_session::transport::Connector;
use turnbuckle_types::LoggingLevel;
use turnbuckle_types::base::text::Escaped;

use crate::error::Error;
use crate::member::status::{ServerState, ServerStatus};
use crate::upstream::UpstreamOptions;
use crate::view::items::ServerItems;
use crate::view::names::Prefix;

/// The time in which a legacy server answers that it has another log level. The request that follows
/// does not wait longer.
const SET_LEVEL_TIMEOUT: Duration = Duration::from_secs(5);

/// Changes the builder of a server's client.
pub(crate) type ConfigureClient = Arc<dyn Fn(ClientBuilder) -> ClientBuilder + Send + Sync>;

/// One server.
pub(crate) struct Member {
    pub(crate) name: Arc<str>,
    pub(crate) prefix: Prefix,
    pub(crate) options: UpstreamOptions,
    /// The connector, or the reason why there is none.
    pub(crate) connector: Result<Arc<dyn Connector>, String>,
    /// Installs handlers and settings, in this order.
    pub(crate) configure: Vec<ConfigureClient>,
    state: Mutex<MemberState>,
    /// True once the first attempt to connect has ended.
    pub(crate) settled: watch::Sender<bool>,
    /// Asks for an attempt to connect at once, or for lists that are read anew.
    pub(crate) refresh: Notify,
}

/// The part of a [`Member`] that changes.
struct MemberState {
    state: ServerState,
    since: SystemTime,
    attempts: u32,
    last_error: Option<String>,
    problems: Vec<String>,
    info: Option<Arc<ServerInfo>>,
    client: Option<Client>,
    /// The log level of the legacy session, if it was set.
    session_log_level: Option<LoggingLevel>,
    items: Arc<ServerItems>,
}

impl Member {
    pub(crate) fn new(
        name: Arc<str>,
        prefix: Prefix,
        options: UpstreamOptions,
        connector: Result<Arc<dyn Connector>, String>,
        configure: Vec<ConfigureClient>,
    ) -> Self {
        Self {
            name,
            prefix,
            options,
            connector,
            configure,
            state: Mutex::new(MemberState {
                state: ServerState::Connecting,
                since: SystemTime::now(),
                attempts: 0,
                last_error: None,
                problems: Vec::new(),
                info: None,
                client: None,
                session_log_level: None,
                items: Arc::default(),
            }),
            settled: watch::Sender::new(false),
            refresh: Notify::new(),
        }
    }

    fn state(&self) -> MutexGuard<'_, MemberState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the state, without the problems of the merged view.
    pub(crate) fn status(&self) -> ServerStatus {
        let state = self.state();
        ServerStatus {
            server: self.name.clone(),
            state: state.state,
            since: state.since,
            attempts: state.attempts,
            last_error: state.last_error.clone(),
            problems: state.problems.clone(),
            info: state.info.clone(),
        }
    }

    /// Returns the client of the connected server. While the client opens a lost connection anew,
    /// requests wait for that.
    ///
    /// # Errors
    /// Returns [`Error::NotReady`] if the server is not connected.
    pub(crate) fn client(&self) -> Result<Client, Error> {
        let state = self.state();
        match (&state.client, state.state) {
            (Some(client), ServerState::Ready | ServerState::Connecting) => Ok(client.clone()),
            (_, connection) => Err(Error::NotReady {
                server: self.name.clone(),
                reason: match &state.last_error {
                    Some(error) => format!("{connection}: {error}"),
                    None => connection.to_string(),
                },
            }),
        }
    }

    /// Returns the items of the server.
    pub(crate) fn items(&self) -> Arc<ServerItems> {
        self.state().items.clone()
    }

    /// Takes the client, which the server is no longer reached with.
    pub(crate) fn take_client(&self) -> Option<Client> {
        self.state().client.take()
    }

    /// Sets the log level of the session with a legacy server that has one, unless it is set. A server
    /// that refuses is asked once for each level.
    pub(crate) async fn set_session_log_level(&self, level: LoggingLevel) {
        let client = {
            let mut state = self.state();
            if state.session_log_level == Some(level) {
                return;
            }
            let Some(client) = state.client.clone() else {
                return;
            };
            let has_level = client.server_info().is_some_and(|info| {
                info.era() == EraKind::Legacy && info.capabilities.logging.is_some()
            });
            if !has_level {
                return;
            }
            state.session_log_level = Some(level);
            client
        };
        let request = client.set_log_level(level).idle_timeout(SET_LEVEL_TIMEOUT);
        if let Err(error) = request.await {
            tracing::debug!(server = &*self.name, error = %Escaped(&error), "the log level was not set");
        }
    }

    /// Forgets the log level of a session that has ended.
    pub(crate) fn forget_session_log_level(&self) {
        self.state().session_log_level = None;
    }

    /// Counts an attempt to connect, which begins.
    pub(crate) fn begin_attempt(&self) {
        let mut state = self.state();
        state.attempts = state.attempts.saturating_add(1);
        state.enter(ServerState::Connecting);
    }

    /// Sets the client of the connected server, whose items are known.
    pub(crate) fn set_ready(&self, client: Client) {
        let mut state = self.state();
        state.attempts = 0;
        state.last_error = None;
        state.info = client.server_info();
        state.client = Some(client);
        state.enter(ServerState::Ready);
    }

    /// Records the loss of the connection. The items stay until an attempt to connect again fails.
    pub(crate) fn set_lost(&self, error: String) {
        let mut state = self.state();
        state.last_error = Some(error);
        state.enter(ServerState::Connecting);
    }

    /// Records a failed attempt. The server has no items until it is connected again.
    pub(crate) fn set_failed(&self, error: String, next: ServerState) {
        let mut state = self.state();
        state.last_error = Some(error);
        state.problems.clear();
        state.items = Arc::default();
        state.enter(next);
    }

    /// Records that the servers were closed.
    pub(crate) fn set_closed(&self) {
        let mut state = self.state();
        state.items = Arc::default();
        state.enter(ServerState::Closed);
    }

    /// Replaces the items and what is wrong with them. Returns whether something else is wrong than before.
    pub(crate) fn set_items(&self, items: ServerItems, problems: Vec<String>) -> bool {
        let mut state = self.state();
        state.items = Arc::new(items);
        let has_other_problems = state.problems != problems;
        state.problems = problems;
        has_other_problems
    }
}

impl MemberState {
    fn enter(&mut self, state: ServerState) {
        if self.state != state {
            self.since = SystemTime::now();
        }
        self.state = state;
    }
}
