//! A legacy server on a pipe whose calls a test answers.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio::sync::mpsc;
use turnbuckle_session::transport::{
    Connector, Frame, Inbox, LinkKind, MemoryTransport, OpenFuture, Transport, TransportConnector,
    memory_pair,
};

/// The connector to a scripted server, for one connection.
pub(super) struct ScriptedServer(TransportConnector<MemoryTransport>);

/// The test's end of a scripted server: the calls, notifications and answers that the server receives.
pub(super) struct Script {
    received: mpsc::UnboundedReceiver<Value>,
    sent: mpsc::UnboundedSender<Value>,
}

impl ScriptedServer {
    /// Creates a server with one tool, `work`.
    pub(super) fn new() -> (Self, Script) {
        let (here, there) = memory_pair();
        let (events, received) = mpsc::unbounded_channel();
        let (sent, outgoing) = mpsc::unbounded_channel();
        tokio::spawn(serve(there, events, outgoing));
        (
            Self(TransportConnector::new(here)),
            Script { received, sent },
        )
    }
}

impl Connector for ScriptedServer {
    fn open(&self, inbox: Arc<dyn Inbox>) -> OpenFuture<'_> {
        self.0.open(inbox)
    }

    fn link_kind(&self) -> LinkKind {
        LinkKind::Duplex
    }

    fn description(&self) -> String {
        "a scripted server".into()
    }
}

impl Script {
    /// Returns the next message of this method.
    pub(super) async fn next(&mut self, method: &str) -> Value {
        loop {
            let message = self.received.recv().await.unwrap();
            if message["method"] == method {
                return message;
            }
        }
    }

    /// Sends a form, and returns its answer.
    pub(super) async fn ask(&mut self, id: &str) -> Value {
        let schema = json!({"type": "object", "properties": {}});
        let params = json!({"message": "Your password?", "requestedSchema": schema});
        self.send(json!({"id": id, "method": "elicitation/create", "params": params}));
        loop {
            let message = self.received.recv().await.unwrap();
            if message["id"] == id {
                return message["result"].clone();
            }
        }
    }

    /// Sends a log message.
    pub(super) fn log(&self, text: &str) {
        let params = json!({"level": "error", "data": text});
        self.send(json!({"method": "notifications/message", "params": params}));
    }

    /// Answers a call.
    pub(super) fn answer(&self, call: &Value) {
        let result = json!({"content": [{"type": "text", "text": "done"}]});
        self.send(json!({"id": call["id"], "result": result}));
    }

    pub(super) fn send(&self, mut message: Value) {
        message["jsonrpc"] = "2.0".into();
        self.sent.send(message).unwrap();
    }
}

/// Answers the requests of the connection itself, and passes everything else to the test.
async fn serve(
    transport: MemoryTransport,
    events: mpsc::UnboundedSender<Value>,
    mut outgoing: mpsc::UnboundedReceiver<Value>,
) {
    let transport = Mutex::new(transport);
    let write = async |message: Value| {
        transport
            .lock()
            .unwrap()
            .queue(message.to_string().as_bytes());
        std::future::poll_fn(|cx| transport.lock().unwrap().poll_flush(cx)).await
    };
    loop {
        let frame = std::future::poll_fn(|cx| transport.lock().unwrap().poll_frame(cx));
        let message: Value = tokio::select! {
            frame = frame => match frame {
                Some(Frame::Message(frame)) => serde_json::from_slice(&frame).unwrap(),
                _ => return,
            },
            Some(message) = outgoing.recv() => {
                if write(message).await.is_err() {
                    return;
                }
                continue;
            }
        };
        let id = message["id"].clone();
        let tools = json!([{"name": "work", "inputSchema": {"type": "object"}}]);
        let result = match message["method"].as_str() {
            Some("initialize") => json!({
                "protocolVersion": message["params"]["protocolVersion"],
                "capabilities": {"tools": {}, "logging": {}},
                "serverInfo": {"name": "scripted", "version": "1"},
            }),
            Some("tools/list") => json!({"tools": tools}),
            Some("ping" | "logging/setLevel") => json!({}),
            _ => {
                let _ = events.send(message);
                continue;
            }
        };
        let answer = json!({"jsonrpc": "2.0", "id": id, "result": result});
        if write(answer).await.is_err() {
            return;
        }
    }
}
