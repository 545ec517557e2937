//! One of many servers: how it is reached, its state, and its items.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use tokio::sync::{Notify, watch};
use tokio::time::timeout;
use turnbuckle_client::{Client, ClientBuilder, EraKind, ServerInfo};
use turnbuckle_session::transport::{Connector, LinkKind};

use crate::connections::connection::Connection;
use crate::connections::lease::{Lease, Release};
use crate::connections::upstream::UpstreamOptions;
use crate::error::Error;
use crate::member::hidden_names::HiddenNames;
use crate::member::status::{ServerState, ServerStatus};
use crate::view::items::ServerItems;
use crate::view::names::Prefix;

/// The longest time for which a request waits until the server is connected again.
const MAX_CONNECTION_WAIT: Duration = Duration::from_secs(30);

/// The time for which the connection for lists stays open without use if clients have connections of their
/// own.
const SPARE_IDLE_TIMEOUT: Duration = Duration::from_secs(5);

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
    /// The own names of items of clients' connections, where their names do not show them.
    pub(crate) hidden_names: HiddenNames,
    /// True once the first attempt to connect has ended.
    pub(crate) settled: watch::Sender<bool>,
    /// Asks for an attempt to connect at once, or for lists that are read anew.
    pub(crate) refresh: Notify,
    /// Changes whenever the connection does.
    connection_changes: watch::Sender<()>,
}

/// The part of a [`Member`] that changes.
struct MemberState {
    state: ServerState,
    since: SystemTime,
    attempts: u32,
    last_error: Option<String>,
    problems: Vec<String>,
    info: Option<Arc<ServerInfo>>,
    /// The open connection.
    connection: Option<Arc<Connection>>,
    /// The client of the last connection, from which requests are made also while there is none.
    last_client: Option<Client>,
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
                connection: None,
                last_client: None,
                items: Arc::default(),
            }),
            hidden_names: HiddenNames::default(),
            settled: watch::Sender::new(false),
            refresh: Notify::new(),
            connection_changes: watch::Sender::new(()),
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
        match &state.connection {
            Some(connection) if state.is_reachable() => Ok(connection.client.clone()),
            _ => Err(state.not_ready(&self.name)),
        }
    }

    /// Returns a client that requests are made from. They are sent over a [`connection`](Self::connection).
    ///
    /// # Errors
    /// Returns [`Error::NotReady`] if the server is neither connected nor idle.
    pub(crate) fn request_client(&self) -> Result<Client, Error> {
        let state = self.state();
        match &state.last_client {
            Some(client) if state.is_reachable() || state.state == ServerState::Idle => {
                Ok(client.clone())
            }
            _ => Err(state.not_ready(&self.name)),
        }
    }

    /// Returns whether the connection is open.
    pub(crate) fn is_open(&self) -> bool {
        self.state().connection.is_some()
    }

    /// Returns the right to use the connection, once it is open. That of an idle server is opened.
    /// `release` is dropped at the end of the use.
    ///
    /// # Errors
    /// Returns [`Error::NotReady`] if the server cannot be connected, or not soon.
    pub(crate) async fn lease(&self, mut release: Option<Release>) -> Result<Lease, Error> {
        match self.try_lease(&mut release)? {
            Some(lease) => Ok(lease),
            // Boxed, so that the rare case does not enlarge the future of every request.
            None => Box::pin(self.wait_for_lease(release)).await,
        }
    }

    /// Returns the right to use the connection, if it is open. That of an idle server is opened.
    fn try_lease(&self, release: &mut Option<Release>) -> Result<Option<Lease>, Error> {
        let state = self.state();
        match (&state.connection, state.state) {
            // Under the lock, so that the connection is not closed as an idle one.
            (Some(connection), _) if state.is_reachable() => {
                return Ok(Some(Lease::new(connection.clone(), release.take())));
            }
            (_, ServerState::Idle) => self.refresh.notify_one(),
            (_, ServerState::Connecting) => {}
            _ => return Err(state.not_ready(&self.name)),
        }
        Ok(None)
    }

    async fn wait_for_lease(&self, mut release: Option<Release>) -> Result<Lease, Error> {
        let mut changes = self.connection_changes.subscribe();
        let connected = async {
            loop {
                if let Some(lease) = self.try_lease(&mut release)? {
                    return Ok(lease);
                }
                // The sender lives as long as the member.
                let _ = changes.changed().await;
            }
        };
        match timeout(MAX_CONNECTION_WAIT, connected).await {
            Ok(connected) => connected,
            Err(_) => Err(self.state().not_ready(&self.name)),
        }
    }

    /// Returns the error of a server whose connection cannot be used for this reason.
    pub(crate) fn not_ready(&self, reason: &str) -> Error {
        Error::NotReady {
            server: self.name.clone(),
            reason: reason.to_owned(),
        }
    }

    /// Returns the connector for requests with these settings, which depend on the client.
    ///
    /// # Errors
    /// Returns [`Error::NotReady`] with the reason why there is none.
    pub(crate) fn connector_for(&self, settings: &str) -> Result<Arc<dyn Connector>, Error> {
        let connector = match &self.options.by_client {
            Some(by_client) => by_client.connector(settings),
            None => self.connector.clone(),
        };
        connector.map_err(|reason| self.not_ready(&reason))
    }

    /// Returns the era that the server spoke last.
    pub(crate) fn era(&self) -> Option<EraKind> {
        self.state().info.as_ref().map(|info| info.era())
    }

    /// Returns the items of the server.
    pub(crate) fn items(&self) -> Arc<ServerItems> {
        self.state().items.clone()
    }

    /// Takes the connection, over which the server is no longer reached.
    pub(crate) fn take_connection(&self) -> Option<Arc<Connection>> {
        self.state().connection.take()
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
        state.last_client = Some(client.clone());
        // The session of a connection that was opened anew has another log level.
        match &state.connection {
            Some(connection) => connection.forget_log_level(),
            None => state.connection = Some(Connection::new(self.name.clone(), client)),
        }
        state.enter(ServerState::Ready);
        self.connection_changes.send_replace(());
    }

    /// Waits until nobody has used the connection for the time after which it is closed, and lets nobody use
    /// it any more. The items stay.
    pub(crate) async fn wait_until_idle(&self) {
        let (Some(idle_timeout), Some(connection)) =
            (self.lists_idle_timeout(), self.state().connection.clone())
        else {
            return std::future::pending().await;
        };
        loop {
            connection.wait_until_unused_for(idle_timeout).await;
            let mut state = self.state();
            if connection.is_unused_for(idle_timeout) {
                state.enter(ServerState::Idle);
                return;
            }
        }
    }

    /// Returns the time after which the connection for lists is closed if nobody uses it.
    fn lists_idle_timeout(&self) -> Option<Duration> {
        let idle_timeout = self.options.idle_timeout?;
        let link_kind = self.connector.as_ref().map(|it| it.link_kind());
        // Nobody else uses it then, and the program may hold what those of the clients need.
        let is_spare = self.options.mode.is_private() && link_kind == Ok(LinkKind::Duplex);
        Some(match is_spare {
            true => idle_timeout.min(SPARE_IDLE_TIMEOUT),
            false => idle_timeout,
        })
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
        self.connection_changes.send_replace(());
    }

    /// Records that the servers were closed.
    pub(crate) fn set_closed(&self) {
        let mut state = self.state();
        state.items = Arc::default();
        state.enter(ServerState::Closed);
        self.connection_changes.send_replace(());
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
    /// Returns whether requests can be sent, perhaps once the client has opened a lost connection anew.
    fn is_reachable(&self) -> bool {
        matches!(self.state, ServerState::Ready | ServerState::Connecting)
    }

    fn not_ready(&self, server: &Arc<str>) -> Error {
        let connection = self.state;
        Error::NotReady {
            server: server.clone(),
            reason: match &self.last_error {
                Some(error) => format!("{connection}: {error}"),
                None => connection.to_string(),
            },
        }
    }

    fn enter(&mut self, state: ServerState) {
        if self.state != state {
            self.since = SystemTime::now();
        }
        self.state = state;
    }
}
