//! Servers in memory that can be stopped and started.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use turnbuckle_client::{ClientBuilder, EraPreference};
use turnbuckle_server::{Server, Tool};
use turnbuckle_session::handler::{Limits, Signal};
use turnbuckle_session::transport::{
    Connector, Inbox, Link, LinkError, LinkKind, OpenFuture, TransportContext, TransportLink,
    memory_pair, serve,
};

use crate::{ServerState, Servers};

/// The newest revision of each era.
pub(super) const ERAS: [EraPreference; 2] = [EraPreference::Modern, EraPreference::Legacy];

/// Returns a change of a client that speaks one era.
pub(super) fn speak(
    era: EraPreference,
) -> impl Fn(ClientBuilder) -> ClientBuilder + Send + Sync + 'static {
    move |builder| builder.era(era)
}

/// Returns a server with a tool of each name, which answers with the name of its server.
pub(super) fn named_server(name: &'static str, tools: &[&'static str]) -> Server {
    let builder = tools.iter().fold(Server::new(name, "1"), |builder, tool| {
        builder.tool(Tool::builder(*tool).handler(move || name))
    });
    builder.dynamic_tools().build().unwrap()
}

/// A connector to a server that can be stopped and started. Clones share the server.
#[derive(Clone)]
pub(super) struct Machine {
    server: Server,
    /// The signal that ends the connection; `None` while the machine is off.
    power: Arc<Mutex<Option<Signal>>>,
    frozen: Arc<Mutex<Signal>>,
    opened: Arc<AtomicUsize>,
}

impl Machine {
    pub(super) fn new(server: Server) -> Self {
        Self {
            server,
            power: Arc::new(Mutex::new(Some(Signal::new()))),
            frozen: Arc::default(),
            opened: Arc::default(),
        }
    }

    /// Ends the connection and refuses others.
    pub(super) fn stop(&self) {
        if let Some(signal) = self.power.lock().unwrap().take() {
            signal.cancel();
        }
    }

    /// Ends the connection; another one can be opened.
    pub(super) fn restart(&self) {
        self.stop();
        self.start();
    }

    /// Keeps the connection open and answers nothing on it; another connection is served.
    pub(super) fn freeze(&self) {
        std::mem::take(&mut *self.frozen.lock().unwrap()).cancel();
    }

    pub(super) fn start(&self) {
        *self.power.lock().unwrap() = Some(Signal::new());
    }

    /// Returns how often somebody tried to open a connection.
    pub(super) fn open_count(&self) -> usize {
        self.opened.load(Ordering::SeqCst)
    }
}

impl Connector for Machine {
    fn open(&self, inbox: Arc<dyn Inbox>) -> OpenFuture<'_> {
        self.opened.fetch_add(1, Ordering::SeqCst);
        let power = self.power.lock().unwrap().clone();
        let link: Result<Arc<dyn Link>, LinkError> = match power {
            Some(signal) => {
                let (here, there) = memory_pair();
                let (server, context) = (self.server.clone(), TransportContext::default());
                let serving = serve(server, there, Limits::default(), context, signal.clone());
                let frozen = self.frozen.lock().unwrap().clone();
                tokio::spawn(async move {
                    let mut serving = std::pin::pin!(serving);
                    tokio::select! {
                        _ = &mut serving => return,
                        () = frozen.cancelled() => {}
                        () = signal.cancelled() => return,
                    }
                    signal.cancelled().await;
                });
                Ok(TransportLink::start(here, inbox, 1 << 20))
            }
            None => Err(LinkError::Unreachable {
                reason: "the machine is off".into(),
            }),
        };
        Box::pin(std::future::ready(link))
    }

    fn link_kind(&self) -> LinkKind {
        LinkKind::Duplex
    }

    fn description(&self) -> String {
        "a machine".into()
    }
}

/// Returns the names of the tools in the merged view.
pub(super) fn tool_names(servers: &Servers) -> Vec<String> {
    let tools = servers.tools();
    tools.iter().map(|tool| tool.item.name.clone()).collect()
}

/// Returns the state of a server.
pub(super) fn state(servers: &Servers, name: &str) -> ServerState {
    let status = servers.status();
    status
        .iter()
        .find(|status| *status.server == *name)
        .unwrap()
        .state
}

/// Waits until a condition holds, and looks again at each change.
pub(super) async fn until(servers: &Servers, condition: impl Fn(&Servers) -> bool) {
    let mut changes = servers.changes();
    while !condition(servers) {
        changes.next().await.unwrap();
    }
}
