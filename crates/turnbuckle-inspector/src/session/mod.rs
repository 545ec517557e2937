//! A session with one server: connected step by step, restarted on demand, and used for requests.

mod connect;
mod lists;
mod questions;
mod send;

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::task::AbortHandle;
use turnbuckle_client::{ChangeFilter, Client, EraKind, ServerInfo};
use turnbuckle_types::base::error_chain::ErrorChain;
use turnbuckle_types::{
    CompletionContext, CompletionReference, LoggingLevel, PromptReference,
    ResourceTemplateReference,
};

use crate::api::{
    Completion, CompletionRequest, CompletionTarget, ConnectionState, OpenSource, ServerFacts,
    TransportKind,
};
use crate::change::Changes;
use crate::inbox::Inbox;
use crate::items::Items;
use crate::target::{ConnectionObserver, OpenServer, ServerWords};
use crate::timeline::Timeline;

/// The time limit of ending a connection.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(6);

/// The most subscriptions of a session to resources.
const MAX_SUBSCRIPTIONS: usize = 200;

/// The most bytes of the URI of a subscription.
const MAX_URI_BYTES: usize = 8192;

/// The parts of the Inspector that sessions use.
#[derive(Clone)]
pub(crate) struct Shared {
    pub(crate) opener: Arc<dyn OpenServer>,
    pub(crate) changes: Changes,
    pub(crate) timeline: Timeline,
    pub(crate) items: Items,
    pub(crate) inbox: Inbox,
}

/// A session with one server.
pub(crate) struct Session {
    pub(crate) id: String,
    pub(crate) source: OpenSource,
    shared: Shared,
    /// One lock for each kind of list, held while it is filled.
    filling: [tokio::sync::Mutex<()>; 6],
    state: Mutex<State>,
}

struct State {
    name: String,
    address: String,
    transport: TransportKind,
    words: ServerWords,
    connection: ConnectionState,
    client: Option<Client>,
    observer: Option<ConnectionObserver>,
    server: Option<ServerFacts>,
    subscriptions: BTreeMap<String, AbortHandle>,
    log_level: Option<LoggingLevel>,
    latency_us: Option<u64>,
    /// The number of connections so far; the state of an older one is not set any more.
    connections: u32,
    /// The task that keeps the connection.
    task: Option<AbortHandle>,
    /// The requests that wait for their response, by their number.
    requests: HashMap<u64, AbortHandle>,
}

impl Session {
    /// Creates a session and begins to connect.
    pub(crate) fn start(id: String, source: OpenSource, shared: Shared) -> Arc<Self> {
        let state = State {
            name: String::new(),
            address: String::new(),
            transport: TransportKind::Program,
            words: ServerWords::default(),
            connection: ConnectionState::Closed,
            client: None,
            observer: None,
            server: None,
            subscriptions: BTreeMap::new(),
            log_level: None,
            latency_us: None,
            connections: 0,
            task: None,
            requests: HashMap::new(),
        };
        let session = Arc::new(Self {
            id,
            source,
            shared,
            filling: Default::default(),
            state: Mutex::new(state),
        });
        session.begin_connection(false);
        session
    }

    /// Returns the session as the page shows it.
    pub(crate) fn to_api(&self) -> crate::api::Session {
        let state = self.lock();
        let observer = state.observer.as_ref();
        let mut connection = state.connection.clone();
        if let (ConnectionState::Connecting { step, .. }, Some(observer)) =
            (&mut connection, observer)
        {
            *step = observer.step();
        }
        crate::api::Session {
            id: self.id.clone(),
            source: self.source.clone(),
            name: state.name.clone(),
            address: state.address.clone(),
            transport: state.transport,
            pid: observer.and_then(ConnectionObserver::pid),
            connection,
            server: state.server.clone(),
            lists: self.shared.items.summaries(&self.id),
            subscriptions: state.subscriptions.keys().cloned().collect(),
            log_level: state.log_level.map(|level| level.as_str().to_owned()),
            latency_us: state.latency_us,
            connections: state.connections,
            login_url: observer.and_then(ConnectionObserver::login_url),
        }
    }

    /// Ends the connection and opens another one.
    pub(crate) async fn restart(self: &Arc<Self>) {
        self.end_connection().await;
        self.begin_connection(false);
    }

    /// Ends the connection and opens another one, for which the user logs in again.
    pub(crate) async fn log_in(self: &Arc<Self>) {
        self.end_connection().await;
        self.begin_connection(true);
    }

    /// Returns the words that name the server on a command line.
    pub(crate) fn words(&self) -> ServerWords {
        self.lock().words.clone()
    }

    /// Returns the URL or the command line of the server, without secrets.
    pub(crate) fn address(&self) -> String {
        self.lock().address.clone()
    }

    /// Ends the connection.
    pub(crate) async fn close(&self) {
        self.end_connection().await;
        self.lock().connection = ConnectionState::Closed;
        self.shared.changes.add("sessions");
    }

    /// Returns whether the session has no connection, and makes none.
    pub(crate) fn is_over(&self) -> bool {
        !matches!(
            self.lock().connection,
            ConnectionState::Connecting { .. } | ConnectionState::Ready
        )
    }

    async fn end_connection(&self) {
        let (client, task, subscriptions) = {
            let mut state = self.lock();
            (
                state.client.take(),
                state.task.take(),
                std::mem::take(&mut state.subscriptions),
            )
        };
        for subscription in subscriptions.into_values() {
            subscription.abort();
        }
        if let Some(task) = task {
            task.abort();
        }
        if let Some(client) = client {
            // A server that does not end is left to its process group's end.
            let _ = tokio::time::timeout(CLOSE_TIMEOUT, client.close()).await;
        }
    }

    /// Subscribes to the updates of a resource, until [`unsubscribe`](Self::unsubscribe).
    ///
    /// # Errors
    /// Returns a sentence if the server refuses, or too many resources are subscribed to.
    pub(crate) async fn subscribe(self: &Arc<Self>, uri: String) -> Result<(), String> {
        let client = self.client()?;
        if uri.len() > MAX_URI_BYTES || self.lock().subscriptions.len() >= MAX_SUBSCRIPTIONS {
            return Err(format!(
                "a session has at most {MAX_SUBSCRIPTIONS} subscriptions"
            ));
        }
        let filter = ChangeFilter::new().resource(uri.clone());
        let mut subscription = client
            .subscribe(filter)
            .await
            .map_err(|error| describe(&error))?;
        let session = Arc::downgrade(self);
        let name = uri.clone();
        // Updates are messages, which are in the timeline.
        let task = tokio::spawn(async move {
            while subscription.next().await.is_some() {}
            if let Some(session) = session.upgrade() {
                session.lock().subscriptions.remove(&name);
                session.shared.changes.add("sessions");
            }
        });
        let former = self.lock().subscriptions.insert(uri, task.abort_handle());
        if let Some(former) = former {
            former.abort();
        }
        self.shared.changes.add("sessions");
        Ok(())
    }

    /// Ends the subscription to a resource. Returns false if there is none.
    pub(crate) fn unsubscribe(&self, uri: &str) -> bool {
        let subscription = self.lock().subscriptions.remove(uri);
        self.shared.changes.add("sessions");
        subscription
            .map(|subscription| subscription.abort())
            .is_some()
    }

    /// Sets the least severe level of log messages that the server is asked for.
    ///
    /// # Errors
    /// Returns a sentence if there is no such level, or the server refuses.
    pub(crate) async fn set_log_level(&self, level: &str) -> Result<(), String> {
        let level: LoggingLevel = serde_json::from_value(level.into())
            .map_err(|_| format!("there is no log level `{level}`"))?;
        let client = self.client()?;
        let is_legacy = client
            .server_info()
            .is_some_and(|info| info.era() == EraKind::Legacy);
        // In the modern era, each request names the level.
        if is_legacy {
            client
                .set_log_level(level)
                .await
                .map_err(|error| describe(&error))?;
        }
        self.lock().log_level = Some(level);
        self.shared.changes.add("sessions");
        Ok(())
    }

    /// Asks the server for the values that an argument may have.
    ///
    /// # Errors
    /// Returns a sentence if there is no answer.
    pub(crate) async fn complete(&self, request: CompletionRequest) -> Result<Completion, String> {
        let client = self.client()?;
        let reference = match request.target {
            CompletionTarget::Prompt => {
                CompletionReference::Prompt(PromptReference::new(request.name))
            }
            CompletionTarget::Template => {
                CompletionReference::Resource(ResourceTemplateReference::new(request.name))
            }
        };
        let mut builder = client.complete(reference, request.argument, request.value);
        if !request.context.is_empty() {
            let mut context = CompletionContext::new();
            for (name, value) in request.context {
                context.arguments.insert(name, value);
            }
            builder.params_mut().context = Some(context);
        }
        let completion = builder.await.map_err(|error| describe(&error))?.completion;
        Ok(Completion {
            values: completion.values,
            total: completion.total.map(|total| total.to_string()),
            has_more: completion.has_more == Some(true),
        })
    }

    /// Returns the client of the connection.
    fn client(&self) -> Result<Client, String> {
        let state = self.lock();
        let client = state.client.clone();
        client.ok_or_else(|| match &state.connection {
            ConnectionState::Connecting { .. } => "the session is not connected yet".to_owned(),
            _ => "the session is not connected: restart it".to_owned(),
        })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        let tasks = state.task.take().into_iter();
        for task in tasks.chain(std::mem::take(&mut state.requests).into_values()) {
            task.abort();
        }
    }
}

/// Returns an error with its causes in one line.
fn describe(error: &turnbuckle_client::Error) -> String {
    ErrorChain(error).to_string()
}

fn facts_of(info: &ServerInfo) -> ServerFacts {
    let who = info.implementation.as_ref();
    let capabilities = &info.capabilities;
    let resources = capabilities.resources.as_ref();
    ServerFacts {
        name: who.map(|who| who.name.clone()),
        title: who.and_then(|who| who.title.clone()),
        version: who.map(|who| who.version.clone()),
        revision: info.revision.to_string(),
        is_legacy: info.era() == EraKind::Legacy,
        supported_revisions: info.supported_versions.iter().take(32).cloned().collect(),
        capabilities: serde_json::to_string(capabilities).unwrap_or_default(),
        instructions: info.instructions.clone(),
        has_logging: capabilities.logging.is_some(),
        can_subscribe: resources.is_some_and(|resources| resources.subscribe == Some(true)),
        can_complete: capabilities.completions.is_some(),
    }
}
