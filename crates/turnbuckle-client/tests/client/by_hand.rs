//! Servers by hand, for tests: a script answers, and the test says the rest.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use turnbuckle_client::{Client, ClientBuilder, Era};
use turnbuckle_server::Server;
use turnbuckle_session::{
    Connector, Dispatch, Frame, Inbox, Joined, Limits, Link, LinkError, LinkKind, MemoryTransport,
    Opening, Pump, Signal, Transport, TransportContext, pair, serve,
};
use turnbuckle_wire::revision::Revision;

/// The newest revision of each era.
pub(crate) const ERAS: [Era; 2] = [Era::Modern, Era::Only(Revision::NEWEST_LEGACY)];

/// A client of one of our own servers.
pub(crate) async fn served(server: &Arc<Server>, builder: ClientBuilder) -> Client {
    let (ours, theirs) = pair();
    tokio::spawn(serve(
        server.clone() as Arc<dyn Dispatch>,
        theirs,
        Limits::default(),
        TransportContext::default(),
        Signal::new(),
    ));
    builder.connect(Joined::new(ours)).await.unwrap()
}

pub(crate) fn builder() -> ClientBuilder {
    Client::builder("c", "1")
}

/// What a script answers to a request on the nth connection: a result, or an error.
pub(crate) type Answer = Option<Result<Value, i64>>;
type Script = Arc<dyn Fn(usize, &Value) -> Answer + Send + Sync>;

/// Connects to scripted servers, a new one each time.
pub(crate) struct ByHand {
    script: Script,
    desk: Desk,
}

/// What the scripted servers were told, and what they say by themselves.
#[derive(Clone, Default)]
pub(crate) struct Desk(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    told: Vec<Value>,
    wires: Vec<UnboundedSender<Option<Value>>>,
}

impl ByHand {
    pub(crate) fn new(
        script: impl Fn(usize, &Value) -> Answer + Send + Sync + 'static,
    ) -> (Self, Desk) {
        let desk = Desk::default();
        let by_hand = Self {
            script: Arc::new(script),
            desk: desk.clone(),
        };
        (by_hand, desk)
    }
}

/// A scripted modern server with every capability.
pub(crate) async fn modern(
    builder: ClientBuilder,
    script: impl Fn(usize, &Value) -> Answer + Send + Sync + 'static,
) -> (Client, Desk) {
    let (by_hand, desk) = ByHand::new(move |connection, message| {
        if message["method"] == "server/discover" {
            return Some(Ok(
                json!({"resultType": "complete", "ttlMs": 0, "cacheScope": "private",
                "supportedVersions": ["2026-07-28"], "capabilities": capabilities()}),
            ));
        }
        script(connection, message)
    });
    let client = builder.era(Era::Modern).connect(by_hand).await.unwrap();
    (client, desk)
}

/// A scripted legacy server with every capability.
pub(crate) async fn legacy(
    builder: ClientBuilder,
    revision: &'static str,
    script: impl Fn(usize, &Value) -> Answer + Send + Sync + 'static,
) -> (Client, Desk) {
    let (by_hand, desk) = ByHand::new(move |connection, message| {
        if message["method"] == "initialize" {
            return Some(Ok(
                json!({"protocolVersion": revision, "capabilities": capabilities(),
                "serverInfo": {"name": "by hand", "version": "0"}}),
            ));
        }
        script(connection, message)
    });
    let client = builder.era(Era::Legacy).connect(by_hand).await.unwrap();
    (client, desk)
}

fn capabilities() -> Value {
    json!({"tools": {"listChanged": true}, "prompts": {"listChanged": true},
        "resources": {"listChanged": true, "subscribe": true}})
}

impl Desk {
    /// Every message so far, whatever the connection.
    pub(crate) fn told(&self) -> Vec<Value> {
        self.0.lock().unwrap().told.clone()
    }

    /// The messages of one method.
    pub(crate) fn told_of(&self, method: &str) -> Vec<Value> {
        let mut told = self.told();
        told.retain(|message| message["method"] == method);
        told
    }

    /// How many connections were opened.
    pub(crate) fn connections(&self) -> usize {
        self.0.lock().unwrap().wires.len()
    }

    /// Says something on the newest connection.
    pub(crate) fn say(&self, message: Value) {
        self.pass(Some(message));
    }

    pub(crate) fn notify(&self, method: &str, params: Value) {
        self.say(json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    /// Ends the newest connection.
    pub(crate) fn hang_up(&self) {
        self.pass(None);
    }

    fn pass(&self, message: Option<Value>) {
        let state = self.0.lock().unwrap();
        state.wires.last().unwrap().send(message).unwrap();
    }
}

/// Lets everything happen that can happen now.
pub(crate) async fn settle() {
    tokio::time::sleep(Duration::from_millis(1)).await;
}

impl Connector for ByHand {
    fn open(&self, inbox: Arc<dyn Inbox>) -> Opening<'_> {
        let (ours, theirs) = pair();
        let (wire, said) = unbounded_channel();
        let mut state = self.desk.0.lock().unwrap();
        state.wires.push(wire);
        let connection = state.wires.len();
        drop(state);
        let script = self.script.clone();
        tokio::spawn(act(connection, script, self.desk.clone(), theirs, said));
        let link: Arc<dyn Link> = Pump::start(ours, inbox, 1 << 20);
        Box::pin(std::future::ready(Ok::<_, LinkError>(link)))
    }

    fn binding(&self) -> LinkKind {
        LinkKind::Duplex
    }

    fn describe(&self) -> String {
        "a server by hand".into()
    }
}

async fn act(
    connection: usize,
    script: Script,
    desk: Desk,
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
                desk.0.lock().unwrap().told.push(message.clone());
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
