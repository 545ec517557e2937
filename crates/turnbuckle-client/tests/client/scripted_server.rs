//! Servers whose answers come from a script. A test can also send messages and disconnect.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use turnbuckle_client::{Client, ClientBuilder, EraPreference};
use turnbuckle_server::Server;
use turnbuckle_session::{
    Connector, Dispatch, Frame, Inbox, Limits, Link, LinkError, LinkKind, MemoryTransport,
    OpenFuture, Signal, Transport, TransportConnector, TransportContext, TransportLink,
    memory_pair, serve,
};
use turnbuckle_wire::revision::Revision;

/// The newest revision of each era.
pub(crate) const ERAS: [EraPreference; 2] = [
    EraPreference::Modern,
    EraPreference::Only(Revision::NEWEST_LEGACY),
];

/// Connects a client to one of our own servers.
pub(crate) async fn connect_to(server: &Arc<Server>, builder: ClientBuilder) -> Client {
    let (ours, theirs) = memory_pair();
    tokio::spawn(serve(
        server.clone() as Arc<dyn Dispatch>,
        theirs,
        Limits::default(),
        TransportContext::default(),
        Signal::new(),
    ));
    builder
        .connect(TransportConnector::new(ours))
        .await
        .unwrap()
}

pub(crate) fn builder() -> ClientBuilder {
    Client::builder("c", "1")
}

/// The answer of a script to a request: a result, the code of an error, or none.
pub(crate) type Answer = Option<Result<Value, i64>>;
type Script = Arc<dyn Fn(usize, &Value) -> Answer + Send + Sync>;

/// Connects to a new scripted server each time.
pub(crate) struct ScriptedConnector {
    script: Script,
    scripted: ScriptedServer,
}

/// The messages to the scripted servers, and the way to send messages from them.
#[derive(Clone, Default)]
pub(crate) struct ScriptedServer(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    told: Vec<Value>,
    wires: Vec<UnboundedSender<Option<Value>>>,
}

impl ScriptedConnector {
    pub(crate) fn new(
        script: impl Fn(usize, &Value) -> Answer + Send + Sync + 'static,
    ) -> (Self, ScriptedServer) {
        let scripted = ScriptedServer::default();
        let connector = Self {
            script: Arc::new(script),
            scripted: scripted.clone(),
        };
        (connector, scripted)
    }
}

/// Connects to a scripted modern server with every capability.
pub(crate) async fn modern(
    builder: ClientBuilder,
    script: impl Fn(usize, &Value) -> Answer + Send + Sync + 'static,
) -> (Client, ScriptedServer) {
    let (connector, scripted) = ScriptedConnector::new(move |connection, message| {
        if message["method"] == "server/discover" {
            return Some(Ok(
                json!({"resultType": "complete", "ttlMs": 0, "cacheScope": "private",
                "supportedVersions": ["2026-07-28"], "capabilities": capabilities()}),
            ));
        }
        script(connection, message)
    });
    let client = builder
        .era(EraPreference::Modern)
        .connect(connector)
        .await
        .unwrap();
    (client, scripted)
}

/// Connects to a scripted legacy server with every capability.
pub(crate) async fn legacy(
    builder: ClientBuilder,
    revision: &'static str,
    script: impl Fn(usize, &Value) -> Answer + Send + Sync + 'static,
) -> (Client, ScriptedServer) {
    let (connector, scripted) = ScriptedConnector::new(move |connection, message| {
        if message["method"] == "initialize" {
            return Some(Ok(
                json!({"protocolVersion": revision, "capabilities": capabilities(),
                "serverInfo": {"name": "by hand", "version": "0"}}),
            ));
        }
        script(connection, message)
    });
    let client = builder
        .era(EraPreference::Legacy)
        .connect(connector)
        .await
        .unwrap();
    (client, scripted)
}

fn capabilities() -> Value {
    json!({"tools": {"listChanged": true}, "prompts": {"listChanged": true},
        "resources": {"listChanged": true, "subscribe": true}})
}

impl ScriptedServer {
    /// Returns every message so far, of all connections.
    pub(crate) fn messages(&self) -> Vec<Value> {
        self.0.lock().unwrap().told.clone()
    }

    /// Returns the messages of one method.
    pub(crate) fn messages_of(&self, method: &str) -> Vec<Value> {
        let mut told = self.messages();
        told.retain(|message| message["method"] == method);
        told
    }

    /// Returns the number of connections so far.
    pub(crate) fn connections(&self) -> usize {
        self.0.lock().unwrap().wires.len()
    }

    /// Sends a message on the newest connection.
    pub(crate) fn send(&self, message: Value) {
        self.pass(Some(message));
    }

    pub(crate) fn notify(&self, method: &str, params: Value) {
        self.send(json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    /// Ends the newest connection.
    pub(crate) fn disconnect(&self) {
        self.pass(None);
    }

    fn pass(&self, message: Option<Value>) {
        let state = self.0.lock().unwrap();
        state.wires.last().unwrap().send(message).unwrap();
    }
}

/// Runs all tasks until they wait.
pub(crate) async fn settle() {
    tokio::time::sleep(Duration::from_millis(1)).await;
}

impl Connector for ScriptedConnector {
    fn open(&self, inbox: Arc<dyn Inbox>) -> OpenFuture<'_> {
        let (ours, theirs) = memory_pair();
        let (wire, said) = unbounded_channel();
        let mut state = self.scripted.0.lock().unwrap();
        state.wires.push(wire);
        let connection = state.wires.len();
        drop(state);
        let script = self.script.clone();
        tokio::spawn(act(connection, script, self.scripted.clone(), theirs, said));
        let link: Arc<dyn Link> = TransportLink::start(ours, inbox, 1 << 20);
        Box::pin(std::future::ready(Ok::<_, LinkError>(link)))
    }

    fn link_kind(&self) -> LinkKind {
        LinkKind::Duplex
    }

    fn description(&self) -> String {
        "a server by hand".into()
    }
}

async fn act(
    connection: usize,
    script: Script,
    scripted: ScriptedServer,
    mut wire: MemoryTransport,
    mut said: UnboundedReceiver<Option<Value>>,
) {
    loop {
        let out = tokio::select! {
            biased;
            message = said.recv() => match message.flatten() {
                Some(message) => message,
                None => return,
            },
            frame = std::future::poll_fn(|cx| wire.poll_frame(cx)) => {
                let Some(Frame::Message(bytes)) = frame else { return };
                let message: Value = serde_json::from_slice(&bytes).unwrap();
                scripted.0.lock().unwrap().told.push(message.clone());
                match script(connection, &message) {
                    Some(Ok(result)) => json!({"jsonrpc": "2.0", "id": message["id"],
                        "result": result}),
                    Some(Err(code)) => json!({"jsonrpc": "2.0", "id": message["id"],
                        "error": {"code": code, "message": "no"}}),
                    None => continue,
                }
            }
        };
        wire.queue(out.to_string().as_bytes());
        if std::future::poll_fn(|cx| wire.poll_flush(cx))
            .await
            .is_err()
        {
            return;
        }
    }
}
