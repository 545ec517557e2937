//! A client connected to a server in memory.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;
use std::thread;

use tokio::task::JoinSet;
use turnbuckle_client::Client;
use turnbuckle_server::Server;
use turnbuckle_session::handler::{Limits, Signal};
use turnbuckle_session::transport::{
    CloseReason, MemoryTransport, TransportConnector, TransportContext, memory_pair, serve,
};
use turnbuckle_types::Principal;

use super::script::Script;

/// A server that runs in memory, and the connector to it.
pub(super) struct MemoryServer {
    pub(super) connector: TransportConnector<MemoryTransport>,
    pub(super) task: JoinSet<CloseReason>,
}

impl MemoryServer {
    pub(super) fn start(server: Server, principal: Option<Principal>) -> Self {
        let (here, there) = memory_pair();
        let context = TransportContext {
            principal: principal.map(Arc::new),
            ..TransportContext::default()
        };
        let mut task = JoinSet::new();
        task.spawn(serve(
            server,
            there,
            Limits::default(),
            context,
            Signal::new(),
        ));
        Self {
            connector: TransportConnector::new(here),
            task,
        }
    }
}

/// A [`Client`] that is connected to a server in memory.
///
/// # Panics
/// When dropped, if the script did not match: the server asked something without a scripted answer,
/// or did not ask for a scripted answer. This fails the test; if it is already panicking, the
/// message is printed.
pub struct TestClient {
    client: Client,
    script: Arc<Script>,
    /// The task of the server, which ends with the client.
    _serving: JoinSet<CloseReason>,
}

impl TestClient {
    pub(super) fn new(client: Client, serving: JoinSet<CloseReason>, script: Arc<Script>) -> Self {
        Self {
            client,
            script,
            _serving: serving,
        }
    }
}

impl Deref for TestClient {
    type Target = Client;

    fn deref(&self) -> &Client {
        &self.client
    }
}

impl Drop for TestClient {
    fn drop(&mut self) {
        let mismatches = self.script.mismatches();
        if mismatches.is_empty() {
            return;
        }
        let message = format!(
            "the script does not match the server:\n- {}",
            mismatches.join("\n- ")
        );
        if thread::panicking() {
            eprintln!("{message}");
            return;
        }
        #[expect(clippy::panic, reason = "this is how a test fails")]
        {
            panic!("{message}");
        }
    }
}

impl fmt::Debug for TestClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TestClient")
            .field("server", &self.client.server_info())
            .finish_non_exhaustive()
    }
}
