//! A scripted server over a pair in memory, which keeps the bytes of both directions.

use std::future::poll_fn;
use std::sync::{Arc, Mutex};

use serde_json::Value;
use turnbuckle_client::EraPreference;
use turnbuckle_inspector::ClientSettings;
use turnbuckle_inspector::api::TransportKind;
use turnbuckle_session::transport::{
    Frame, MemoryTransport, Transport as _, TransportConnector, memory_pair,
};
use turnbuckle_wire::revision::Revision;

use crate::servers::{Bench, Connect};

/// The messages that a script answers a message with, as they go over the wire; `None` for the usual ones.
type Script = dyn Fn(&Received) -> Option<Vec<String>> + Send + Sync;

/// A message of the client.
pub(crate) struct Received {
    pub(crate) head: Head,
    /// The whole message; null if it has a number that no reader takes.
    pub(crate) value: Value,
}

/// The parts of a message that each reader takes.
#[derive(Default, serde::Deserialize)]
pub(crate) struct Head {
    #[serde(default)]
    method: String,
    #[serde(default)]
    pub(crate) id: Value,
}

impl Received {
    pub(crate) fn method(&self) -> &str {
        &self.head.method
    }

    /// Returns the response with a result, which is JSON text.
    pub(crate) fn result(&self, result: &str) -> String {
        let id = &self.head.id;
        format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)
    }
}

/// The bytes of a connection: those that the client sent, and those that it received.
#[derive(Clone, Default)]
pub(crate) struct Wire(Arc<Mutex<Messages>>);

#[derive(Default)]
struct Messages {
    sent_by_client: Vec<Vec<u8>>,
    sent_by_server: Vec<String>,
}

impl Wire {
    pub(crate) fn sent_by_client(&self) -> Vec<Vec<u8>> {
        self.0.lock().unwrap().sent_by_client.clone()
    }

    pub(crate) fn sent_by_server(&self) -> Vec<String> {
        self.0.lock().unwrap().sent_by_server.clone()
    }
}

/// Returns the settings of a client that speaks one revision.
pub(crate) fn only(revision: Revision) -> ClientSettings {
    ClientSettings {
        era: EraPreference::Only(revision),
        ..ClientSettings::default()
    }
}

/// Connects to a server of 2025-06-18 that has tools, and answers all but the handshake by a script.
pub(crate) fn script_server(
    wire: Wire,
    script: impl Fn(&Received) -> Option<Vec<String>> + Send + Sync + 'static,
) -> Connect {
    let script: Arc<Script> = Arc::new(script);
    Box::new(move |_, stop| {
        let (here, there) = memory_pair();
        let (script, wire) = (script.clone(), wire.clone());
        tokio::spawn(async move {
            tokio::select! {
                () = run(there, &*script, &wire) => {}
                () = stop.cancelled() => {}
            }
        });
        (
            Arc::new(TransportConnector::new(here)),
            TransportKind::Program,
        )
    })
}

async fn run(mut transport: MemoryTransport, script: &Script, wire: &Wire) {
    while let Some(frame) = poll_fn(|cx| transport.poll_frame(cx)).await {
        let Frame::Message(bytes) = frame else {
            continue;
        };
        wire.0.lock().unwrap().sent_by_client.push(bytes.to_vec());
        let received = Received {
            head: serde_json::from_slice(&bytes).unwrap_or_default(),
            value: serde_json::from_slice(&bytes).unwrap_or_default(),
        };
        for answer in answer(&received, script) {
            transport.queue(answer.as_bytes());
            wire.0.lock().unwrap().sent_by_server.push(answer);
            if poll_fn(|cx| transport.poll_flush(cx)).await.is_err() {
                return;
            }
        }
    }
}

fn answer(received: &Received, script: &Script) -> Vec<String> {
    if let Some(scripted) = script(received) {
        return scripted;
    }
    match received.method() {
        "initialize" => vec![received.result(
            r#"{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}"#,
        )],
        "tools/list" => vec![received.result(r#"{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}"#)],
        _ => Vec::new(),
    }
}

/// Opens a session with a scripted server and waits until its lists are there.
pub(crate) async fn connect(
    script: impl Fn(&Received) -> Option<Vec<String>> + Send + Sync + 'static,
) -> (Bench, Wire) {
    let wire = Wire::default();
    let connect = script_server(wire.clone(), script);
    let bench = Bench::connect_with(connect, only(Revision::V2025_06_18)).await;
    (bench, wire)
}
