//! Lists of a command that starts only with variables of a client.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use tokio::time::{sleep, timeout};
use turnbuckle::middleware::{Next, from_fn};
use turnbuckle::servers::{ServerState, ServerStatus, Servers, WeakServers};
use turnbuckle::service::{CallKind, CallRequest};
use turnbuckle::session::transport::{Connector, Inbox, LinkKind, OpenFuture};
use turnbuckle::stdio::Command;
use turnbuckle::{HandlerContext, Server, ServerBuilder};

use super::header_env::HeaderCommand;

/// The longest time for which a request of lists waits for the command.
const MAX_WAIT: Duration = Duration::from_secs(15);

/// The time between two looks at the items of the bridge.
const LOOK_INTERVAL: Duration = Duration::from_millis(5);

/// The command that the lists are read from. While it has not started, it gets the variables of the client that asks
/// for a list.
#[derive(Clone)]
pub(super) struct FirstClient(Arc<Shared>);

struct Shared {
    header_command: HeaderCommand,
    command: Mutex<Command>,
    servers: OnceLock<WeakServers>,
}

impl FirstClient {
    /// Creates it with the command that has no variables of a client.
    pub(super) fn new(header_command: HeaderCommand, command: Command) -> Self {
        Self(Arc::new(Shared {
            header_command,
            command: Mutex::new(command),
            servers: OnceLock::new(),
        }))
    }

    /// Adds the layer that notices the first client.
    pub(super) fn add_to(&self, server: ServerBuilder) -> ServerBuilder {
        let first = self.clone();
        server.layer(from_fn(move |call: CallRequest, next: Next| {
            let first = first.clone();
            async move {
                if call.kind() == CallKind::List {
                    let _ = timeout(MAX_WAIT, first.start(call.context())).await;
                }
                next.run(call).await
            }
        }))
    }

    /// Sets the servers of the bridge.
    pub(super) fn set_servers(&self, servers: &Servers) {
        self.0.servers.get_or_init(|| servers.downgrade());
    }

    /// Starts the command with the variables of a client, unless its lists are known.
    async fn start(&self, context: &HandlerContext) {
        let shared = &self.0;
        let servers = shared.servers.get().and_then(WeakServers::upgrade);
        let (Some(servers), Some(server)) = (servers, context.server()) else {
            return;
        };
        let Some(before) = status(&servers) else {
            return;
        };
        if is_known(&before) {
            return;
        }
        let values = shared.header_command.values(context);
        let Ok(command) = shared.header_command.command(&values) else {
            return;
        };
        *shared
            .command
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = command;
        let mut changes = servers.changes();
        if servers.refresh(&before.server).is_err() {
            return;
        }
        let mut has_ended = false;
        while !has_ended && changes.next().await.is_some() {
            has_ended = status(&servers).is_none_or(|now| {
                let has_failed =
                    now.attempts > before.attempts && now.state != ServerState::Connecting;
                is_known(&now) || has_failed
            });
        }
        while status(&servers).is_some_and(|now| is_known(&now)) && !has_items(&server, &servers) {
            sleep(LOOK_INTERVAL).await;
        }
    }
}

fn status(servers: &Servers) -> Option<ServerStatus> {
    servers.status().into_iter().next()
}

/// Returns whether the lists of the server are known.
fn is_known(status: &ServerStatus) -> bool {
    matches!(status.state, ServerState::Ready | ServerState::Idle)
}

/// Returns whether the bridge has the items of its server.
fn has_items(server: &Server, servers: &Servers) -> bool {
    let names = server.tool_names();
    let mut tools = servers.tools().into_iter();
    tools.all(|tool| names.contains(&tool.item.name))
}

impl Connector for FirstClient {
    fn open(&self, inbox: Arc<dyn Inbox>) -> OpenFuture<'_> {
        let command = self
            .0
            .command
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        Box::pin(async move { command.open(inbox).await })
    }

    fn link_kind(&self) -> LinkKind {
        LinkKind::Duplex
    }

    fn description(&self) -> String {
        self.0
            .command
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .description()
    }
}
