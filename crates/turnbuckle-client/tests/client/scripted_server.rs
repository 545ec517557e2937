//! Servers to connect to: ours, and scripted ones.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use turnbuckle_client::{Client, ClientBuilder, EraPreference};
use turnbuckle_it::peer::{Peer, PeerConnectors};
use turnbuckle_server::Server;
use turnbuckle_session::handler::{Limits, Signal};
use turnbuckle_session::transport::{
    Dispatch, TransportConnector, TransportContext, memory_pair, serve,
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

/// Returns a server whose answers come from `script`, which takes the number of the connection and
/// a message.
pub(crate) fn scripted_peer(
    script: impl Fn(usize, &Value) -> Answer + Send + Sync + 'static,
) -> Peer {
    Peer::new(Revision::NEWEST, move |heard| {
        let answer = script(heard.connection, &heard.message);
        let step = answer.map(|answer| match answer {
            Ok(result) => heard.answer(result),
            Err(code) => heard.refuse(code, "no"),
        });
        Some(step.into_iter().collect())
    })
}

/// Connects to a scripted modern server with every capability.
pub(crate) async fn modern(
    builder: ClientBuilder,
    script: impl Fn(usize, &Value) -> Answer + Send + Sync + 'static,
) -> (Client, Peer) {
    let scripted = scripted_peer(move |connection, message| {
        if message["method"] == "server/discover" {
            return Some(Ok(
                json!({"resultType": "complete", "ttlMs": 0, "cacheScope": "private",
                "supportedVersions": ["2026-07-28"], "capabilities": capabilities()}),
            ));
        }
        script(connection, message)
    });
    let lines = scripted.lines().max_message_bytes(64 << 20);
    let builder = builder.era(EraPreference::Modern);
    (builder.connect(lines).await.unwrap(), scripted)
}

/// Connects to a scripted legacy server with every capability.
pub(crate) async fn legacy(
    builder: ClientBuilder,
    revision: &'static str,
    script: impl Fn(usize, &Value) -> Answer + Send + Sync + 'static,
) -> (Client, Peer) {
    let scripted = scripted_peer(move |connection, message| {
        if message["method"] == "initialize" {
            return Some(Ok(
                json!({"protocolVersion": revision, "capabilities": capabilities(),
                "serverInfo": {"name": "by hand", "version": "0"}}),
            ));
        }
        script(connection, message)
    });
    let builder = builder.era(EraPreference::Legacy);
    (builder.connect(scripted.lines()).await.unwrap(), scripted)
}

fn capabilities() -> Value {
    json!({"tools": {"listChanged": true}, "prompts": {"listChanged": true},
        "resources": {"listChanged": true, "subscribe": true}})
}

/// Runs all tasks until they wait.
pub(crate) async fn settle() {
    tokio::time::sleep(Duration::from_millis(1)).await;
}
