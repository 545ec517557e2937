//! A session with one server: connected step by step, restarted on demand, and used for requests.

mod connect;
mod lists;
mod questions;
mod send;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::task::AbortHandle;
use turnbuckle_client::{ChangeFilter, Client, EraKind, ServerInfo};
use turnbuckle_session::transport::Timeouts;
use turnbuckle_types::base::error_chain::ErrorChain;
use turnbuckle_types::{
    CompletionContext, CompletionReference, LoggingLevel, PromptReference,
    ResourceTemplateReference,
};

use crate::api::{
    AutomaticAnswers, Completion, CompletionRequest, CompletionTarget, ConnectionState, OpenSource,
    ServerFacts, TransportKind,
};
use crate::change::Changes;
use crate::inbox::Inbox;
use crate::items::Items;
use crate::target::{ConnectionObserver, OpenServer, ServerWords};
use crate::timeline::Timeline;
use crate::values::string::cut;

/// The time limit of ending a connection.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(6);

/// The most subscriptions of a session to resources.
const MAX_SUBSCRIPTIONS: usize = 200;

/// The most bytes of the URI of a subscription.
const MAX_URI_BYTES: usize = 8192;

/// The most revisions of a server that are shown.
const MAX_REVISIONS: usize = 32;

/// The most bytes of an error, a name or a value of a completion.
const MAX_SENTENCE_BYTES: usize = 4096;

/// The most bytes of the instructions of a server, and of its capabilities.
const MAX_TEXT_BYTES: usize = 64 * 1024;

/// The most values of a completion: the specification allows no more.
const MAX_COMPLETIONS: usize = 100;

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
    /// The resources that the user subscribed to, on any connection.
    wanted_subscriptions: BTreeSet<String>,
    timeouts: Timeouts,
    log_level: Option<LoggingLevel>,
    automatic: AutomaticAnswers,
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
            wanted_subscriptions: BTreeSet::new(),
            timeouts: Timeouts::default(),
            log_level: None,
            automatic: AutomaticAnswers::default(),
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
        match (&mut connection, observer) {
            (ConnectionState::Connecting { step, .. }, Some(observer)) => *step = observer.step(),
            // The last lines of a program may come after its end.
            (
                ConnectionState::Failed { stderr, .. } | ConnectionState::Ended { stderr, .. },
                Some(observer),
            ) => *stderr = observer.stderr(),
            _ => {}
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
            automatic: state.automatic.clone(),
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
        self.fail_open_requests();
    }

    /// Ends what still waits for a response in the timeline: none comes over a connection that is gone.
    fn fail_open_requests(&self) {
        let timeline = &self.shared.timeline;
        timeline.fail_open_requests(&self.id, "the connection has ended");
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
        let former = {
            let mut state = self.lock();
            state.wanted_subscriptions.insert(uri.clone());
            state.subscriptions.insert(uri, task.abort_handle())
        };
        if let Some(former) = former {
            former.abort();
        }
        self.shared.changes.add("sessions");
        Ok(())
    }

    /// Ends the subscription to a resource. Returns false if there is none.
    pub(crate) fn unsubscribe(&self, uri: &str) -> bool {
        let subscription = {
            let mut state = self.lock();
            state.wanted_subscriptions.remove(uri);
            state.subscriptions.remove(uri)
        };
        self.shared.changes.add("sessions");
        subscription
            .map(|subscription| subscription.abort())
            .is_some()
    }

    /// Sets the log level and subscribes to resources again, as on the connection before.
    async fn restore(self: &Arc<Self>) {
        let (level, uris) = {
            let state = self.lock();
            (state.log_level, state.wanted_subscriptions.clone())
        };
        if let Some(level) = level
            && let Err(sentence) = self.set_log_level(level.as_str()).await
        {
            self.add_life(&format!("the log level is not set: {sentence}"));
        }
        for uri in uris {
            if let Err(sentence) = self.subscribe(uri.clone()).await {
                self.lock().wanted_subscriptions.remove(&uri);
                self.add_life(&format!("{uri} is not subscribed to again: {sentence}"));
            }
        }
    }

    fn add_life(&self, sentence: &str) {
        let observer = self.lock().observer.clone();
        if let Some(observer) = observer {
            observer.add_life(sentence);
        }
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

    /// Sets the questions that are answered without a person.
    ///
    /// # Errors
    /// Returns a sentence if an answer does not have the form of one.
    pub(crate) fn set_automatic(&self, answers: AutomaticAnswers) -> Result<(), String> {
        questions::check_automatic(&answers)?;
        self.lock().automatic = answers;
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
        let is_cut = completion.values.len() > MAX_COMPLETIONS;
        let values = completion.values.into_iter().take(MAX_COMPLETIONS);
        Ok(Completion {
            values: values.map(|value| cut(value, MAX_SENTENCE_BYTES)).collect(),
            total: completion.total.map(|total| total.to_string()),
            has_more: is_cut || completion.has_more == Some(true),
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
    cut(ErrorChain(error).to_string(), MAX_SENTENCE_BYTES)
}

fn facts_of(info: &ServerInfo) -> ServerFacts {
    let who = info.implementation.as_ref();
    let capabilities = &info.capabilities;
    let resources = capabilities.resources.as_ref();
    let short = |text: &String| cut(text.clone(), MAX_SENTENCE_BYTES);
    let long = |text: String| cut(text, MAX_TEXT_BYTES);
    let revisions = info.supported_versions.iter().take(MAX_REVISIONS);
    ServerFacts {
        name: who.map(|who| short(&who.name)),
        title: who.and_then(|who| who.title.as_ref()).map(short),
        version: who.map(|who| short(&who.version)),
        revision: info.revision.to_string(),
        is_legacy: info.era() == EraKind::Legacy,
        supported_revisions: revisions.map(short).collect(),
        capabilities: long(serde_json::to_string(capabilities).unwrap_or_default()),
        instructions: info.instructions.clone().map(long),
        has_logging: capabilities.logging.is_some(),
        can_subscribe: resources.is_some_and(|resources| resources.subscribe == Some(true)),
        can_complete: capabilities.completions.is_some(),
    }
}
