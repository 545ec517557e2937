//! Connecting, watching the connection, and the reason why it failed or ended.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use turnbuckle_client::{ChangeFilter, Client, Error, Subscription};
use turnbuckle_session::handler::Change;
use turnbuckle_session::transport::{LinkError, LinkKind};
use turnbuckle_types::ListRootsResult;
use turnbuckle_types::base::error_chain::ErrorChain;

use super::{MAX_SENTENCE_BYTES, Session, describe, facts_of};
use crate::api::{ConnectionState, ItemKind, Step};
use crate::target::{ConnectionObserver, OpenError, OpenedServer};
use crate::values::string::cut;

/// The most errors of a chain, each with its cause.
const MAX_ERRORS: usize = 20;

/// The longest connection that counts as short, and the most short ones in a row.
const SHORT_CONNECTION_DELAY: Duration = Duration::from_secs(30);
const MAX_SHORT_CONNECTIONS: u32 = 5;

/// The wait before a server is connected to again, times the number of short connections.
const RECONNECT_DELAY: Duration = Duration::from_millis(500);

/// The shortest time between two readings of a list that has changed.
const REFRESH_INTERVAL: Duration = Duration::from_millis(500);

impl Session {
    /// Begins a connection in a task of its own. `is_login_wanted` is true if stored credentials are not to
    /// be used.
    pub(super) fn begin_connection(self: &Arc<Self>, is_login_wanted: bool) {
        let shared = &self.shared;
        let (timeline, changes) = (shared.timeline.clone(), shared.changes.clone());
        let opener = shared.opener.clone();
        let items = shared.items.clone();
        let observer = ConnectionObserver::new(&self.id, timeline, changes, items, opener);
        if is_login_wanted {
            observer.want_login();
        }
        let number = {
            let mut state = self.lock();
            state.connections += 1;
            state.observer = Some(observer.clone());
            state.connection = ConnectionState::Connecting {
                step: observer.step(),
                since_us: shared.timeline.elapsed_us(),
            };
            state.connections
        };
        shared.changes.add("sessions");
        let session = self.clone();
        let task = tokio::spawn(async move { session.keep_connection(number, observer).await });
        self.lock().task = Some(task.abort_handle());
    }

    async fn keep_connection(self: Arc<Self>, number: u32, observer: ConnectionObserver) {
        let client = match self.connect(&observer).await {
            Ok(client) => client,
            Err(OpenError { step, errors }) => {
                let errors = errors.into_iter().take(MAX_ERRORS);
                let errors: Vec<_> = errors.map(|it| cut(it, MAX_SENTENCE_BYTES)).collect();
                observer.add_life(&format!("connecting failed: {}", errors.join(": ")));
                let stderr = observer.stderr();
                let failed = ConnectionState::Failed {
                    step,
                    errors,
                    stderr,
                };
                observer.end();
                self.fail_open_requests();
                return self.set_connection(number, failed);
            }
        };
        let is_current = {
            let mut state = self.lock();
            let is_current = state.connections == number;
            if is_current {
                state.client = Some(client.clone());
            }
            is_current
        };
        if !is_current {
            return client.close().await;
        }
        self.update_facts(&client);
        observer.add_life("connected");
        self.set_connection(number, ConnectionState::Ready);
        self.watch(number, &client, &observer).await;
    }

    /// Connects, step by step.
    async fn connect(self: &Arc<Self>, observer: &ConnectionObserver) -> Result<Client, OpenError> {
        let opener = &self.shared.opener;
        let OpenedServer {
            connector,
            name,
            address,
            transport,
            words,
            settings,
        } = opener.open(&self.source, observer.clone()).await?;
        observer.add_life(&format!("connecting to {address}"));
        {
            let mut state = self.lock();
            (state.name, state.address) = (name, address);
            (state.transport, state.words) = (transport, words);
            state.log_level = state.log_level.or(settings.log_level);
            state.timeouts = settings.timeouts;
            if !settings.roots.is_empty() && state.automatic.roots.is_none() {
                let roots = ListRootsResult::new(settings.roots);
                state.automatic.roots = serde_json::to_string(&roots).ok();
            }
        }
        if connector.link_kind() != LinkKind::Duplex && observer.step() == Step::Start {
            observer.begin_step(Step::Connect);
        }
        let mut builder = Client::builder("turnbuckle-inspector", env!("CARGO_PKG_VERSION"))
            .era(settings.era)
            .timeouts(settings.timeouts)
            .limits(settings.limits)
            // The user sees what the server says now.
            .cache(false)
            .message_observer(observer.clone());
        if let Some(timeout) = settings.connect_timeout {
            builder = builder.connect_timeout(timeout);
        }
        let builder = self.install_handlers(builder);
        let connected = Box::pin(builder.connect(connector)).await;
        connected.map_err(|error| OpenError {
            step: failed_step(&error, observer),
            errors: ErrorChain(&error)
                .errors()
                .map(|error| error.to_string())
                .collect(),
        })
    }

    /// Fills the lists, and again when the server announces changes, until the connection has ended.
    async fn watch(self: &Arc<Self>, number: u32, client: &Client, observer: &ConnectionObserver) {
        let is_duplex = client
            .server_info()
            .is_none_or(|info| info.link_kind == LinkKind::Duplex);
        let mut short_connections = 0;
        loop {
            let began = Instant::now();
            let lists = self.kinds(client);
            let work = async {
                self.restore().await;
                // A change while the lists are read is not missed.
                let (changes, ()) = tokio::join!(
                    client.subscribe(change_filter(&lists)),
                    self.fill_lists(client, &lists)
                );
                if let Ok(changes) = changes {
                    self.follow_changes(client, changes).await;
                }
                std::future::pending::<()>().await;
            };
            tokio::select! {
                () = client.wait_for_disconnect() => {}
                () = work => {}
            }
            short_connections = match began.elapsed() < SHORT_CONNECTION_DELAY {
                true => short_connections + 1,
                false => 0,
            };
            // A program would be started again, which the user has to want. A server at a URL may
            // have been restarted.
            if is_duplex || short_connections > MAX_SHORT_CONNECTIONS {
                break;
            }
            tokio::time::sleep(RECONNECT_DELAY * short_connections).await;
            if client.reconnect().await.is_err() {
                break;
            }
            observer.add_life("connected again");
            self.update_facts(client);
        }
        let reason = observer.take_disconnect();
        let ended = ConnectionState::Ended {
            exit_code: reason.as_ref().and_then(exit_code),
            reason: reason.map_or_else(
                || "the connection has ended".to_owned(),
                |it| cut(it.to_string(), MAX_SENTENCE_BYTES),
            ),
            stderr: observer.stderr(),
        };
        let client = {
            let mut state = self.lock();
            let is_current = state.connections == number;
            is_current.then(|| state.client.take()).flatten()
        };
        observer.end();
        self.fail_open_requests();
        self.set_connection(number, ended);
        if let Some(client) = client {
            client.close().await;
        }
    }

    async fn follow_changes(self: &Arc<Self>, client: &Client, mut changes: Subscription) {
        while let Some(change) = changes.next().await {
            let kinds: &[ItemKind] = match change {
                Change::Tools => &[ItemKind::Tools],
                Change::Prompts => &[ItemKind::Prompts],
                Change::Resources => &[ItemKind::Resources, ItemKind::Templates],
                _ => &[],
            };
            self.fill_lists(client, kinds).await;
            // A server can announce changes without end.
            tokio::time::sleep(REFRESH_INTERVAL).await;
        }
    }

    fn update_facts(&self, client: &Client) {
        if let Some(info) = client.server_info() {
            self.lock().server = Some(facts_of(&info));
        }
        self.shared.changes.add("sessions");
    }

    /// Sets the state of a connection, unless another one has begun.
    fn set_connection(&self, number: u32, connection: ConnectionState) {
        {
            let mut state = self.lock();
            if state.connections != number {
                return;
            }
            state.connection = connection;
        }
        self.shared.changes.add("sessions");
    }
}

fn change_filter(kinds: &[ItemKind]) -> ChangeFilter {
    let mut filter = ChangeFilter::new();
    for kind in kinds {
        filter = match kind {
            ItemKind::Tools => filter.tools(),
            ItemKind::Prompts => filter.prompts(),
            ItemKind::Resources => filter.resources(),
            _ => filter,
        };
    }
    filter
}

/// Returns the step that a failure belongs to.
fn failed_step(error: &Error, observer: &ConnectionObserver) -> Step {
    match error {
        Error::Unreachable { reason, .. } | Error::ConnectionLost { reason, .. } => {
            step_of_link(reason, observer)
        }
        Error::Unauthorized { .. } => Step::Authorization,
        Error::Incompatible { .. } | Error::NeedsHandshake | Error::ErrorResponse(_) => {
            Step::Version
        }
        Error::InvalidResult { .. } => Step::Version,
        _ => observer.step(),
    }
}

fn step_of_link(reason: &LinkError, observer: &ConnectionObserver) -> Step {
    match reason {
        LinkError::HttpStatus { .. } => Step::Http,
        LinkError::Unauthorized { .. } => Step::Authorization,
        LinkError::ProcessExited { .. } if !observer.has_received() => Step::Start,
        // A step that the connector reported is more exact than the first ones.
        LinkError::Unreachable { .. } if observer.step() <= Step::Connect => observer.step(),
        LinkError::Unreachable { reason } => {
            let reason = reason.to_lowercase();
            let has = |words: &[&str]| words.iter().any(|word| reason.contains(word));
            if has(&["resolve", "dns", "lookup", "name or service"]) {
                Step::Resolve
            } else if has(&["tls", "certificate"]) {
                Step::Tls
            } else {
                Step::Connect
            }
        }
        _ => observer.step(),
    }
}

/// Returns the exit status of a program that has ended by itself.
fn exit_code(reason: &LinkError) -> Option<i32> {
    match reason {
        LinkError::ProcessExited { status, .. } => {
            let (_, code) = status.rsplit_once(' ')?;
            code.parse().ok()
        }
        _ => None,
    }
}

impl Session {
    /// Reads the lists again.
    ///
    /// # Errors
    /// Returns a sentence if the session is not connected.
    pub(crate) fn refresh(self: &Arc<Self>) -> Result<(), String> {
        let client = self.client()?;
        let session = self.clone();
        tokio::spawn(async move {
            let kinds = session.kinds(&client);
            session.fill_lists(&client, &kinds).await;
        });
        Ok(())
    }

    /// Returns the sentence of a failure.
    pub(super) fn sentence(error: &Error) -> String {
        describe(error)
    }
}
