//! A client and the server in its memory.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;
use std::thread;

use tokio::task::JoinSet;
use turnbuckle_client::Client;
use turnbuckle_server::Server;
use turnbuckle_session::{
    Closed, Joined, Limits, MemoryTransport, Signal, TransportContext, pair, serve,
};
use turnbuckle_types::Principal;

use super::script::Script;

/// A server that is served in memory, and the way to it.
pub(super) struct Hosted {
    pub(super) connector: Joined<MemoryTransport>,
    pub(super) serving: JoinSet<Closed>,
}

impl Hosted {
    pub(super) fn start(server: Server, principal: Option<Principal>) -> Self {
        let (here, there) = pair();
        let context = TransportContext {
            principal: principal.map(Arc::new),
            ..TransportContext::default()
        };
        let mut serving = JoinSet::new();
        serving.spawn(serve(
            server,
            there,
            Limits::default(),
            context,
            Signal::new(),
        ));
        Self {
            connector: Joined::new(here),
            serving,
        }
    }
}

/// A [`Client`], and in it the server that it is a client of.
///
/// # Panics
/// When it is dropped and its script did not fit: the server asked what nobody scripted, or did not
/// ask what somebody did. The test fails with that text. When it has failed already, the text is
/// printed.
pub struct TestClient {
    client: Client,
    script: Arc<Script>,
    /// Ends the server with the client.
    _serving: JoinSet<Closed>,
}

impl TestClient {
    pub(super) fn new(client: Client, serving: JoinSet<Closed>, script: Arc<Script>) -> Self {
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
        let faults = self.script.faults();
        if faults.is_empty() {
            return;
        }
        let told = format!(
            "the script does not fit the server:\n- {}",
            faults.join("\n- ")
        );
        if thread::panicking() {
            eprintln!("{told}");
            return;
        }
        #[expect(clippy::panic, reason = "this is how a test fails")]
        {
            panic!("{told}");
        }
    }
}

impl fmt::Debug for TestClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TestClient")
            .field("server", &self.client.server())
            .finish_non_exhaustive()
    }
}
