//! Several instances of one server, which share a store or keys: any of them serves any request.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::Semaphore;
use turnbuckle_http::HttpServerOptions;
use turnbuckle_it::faulty_store::FaultyStore;
use turnbuckle_it::web::{Session, Web};
use turnbuckle_server::{HandlerContext, Resource, Server, ServerBuilder, Tool};
use turnbuckle_store::MemoryStore;
use turnbuckle_types::{KeyRing, SecretKey};

use crate::servers::echo_builder;

mod faults;
mod gateways;
mod input;
mod modes;
mod questions;
mod streams;

/// An instance of a server, with a line to the store that can fail.
pub(crate) struct Instance {
    pub(crate) web: Web,
    pub(crate) server: Server,
    pub(crate) line: FaultyStore,
}

/// Returns the keys that all instances have.
pub(crate) fn keys() -> KeyRing {
    KeyRing::new(SecretKey::from_bytes([7; 32]))
}

/// Returns a server with tools that ask (`roots`), that tell what is known of the client (`client`), and that
/// run until `gate` has a permit (`hold`), and with a resource.
pub(crate) fn builder(gate: &Arc<Semaphore>) -> ServerBuilder {
    let roots = async |(): (), context: HandlerContext| {
        let Some(peer) = context.peer() else {
            return "there is nobody to ask".to_owned();
        };
        let roots = peer.request::<()>("roots/list", None).await;
        roots.map_or_else(|error| error.to_string(), |roots| roots.to_string())
    };
    let client = async |(): (), context: HandlerContext| {
        let name = context.client_info().map(|info| info.name);
        let has_roots = context.client_capabilities().roots.is_some();
        format!("{} roots:{has_roots}", name.unwrap_or_default())
    };
    let gate = gate.clone();
    let hold = move |(): (), _: HandlerContext| {
        let gate = gate.clone();
        async move {
            gate.acquire().await.unwrap().forget();
            "held"
        }
    };
    echo_builder()
        .tool(Tool::builder("roots").handler(roots))
        .tool(Tool::builder("client").handler(client))
        .tool(Tool::builder("hold").handler(hold))
        .resource(Resource::builder("test://one", "one").handler(async |_: HandlerContext| "one"))
        .logging()
        .keys(keys())
}

/// Creates an instance on a store, with these options.
pub(crate) async fn instance_with(store: &MemoryStore, options: HttpServerOptions) -> Instance {
    let line = FaultyStore::for_engine(store);
    let gate = Arc::new(Semaphore::new(0));
    let server = builder(&gate).store(line.clone()).build().unwrap();
    let web = Web::with(&server, options);
    // The instance subscribes to its messages.
    tokio::time::sleep(Duration::from_millis(1)).await;
    Instance { web, server, line }
}

/// Creates an instance on a store.
pub(crate) async fn instance(store: &MemoryStore) -> Instance {
    instance_with(store, HttpServerOptions::new()).await
}

/// Creates two instances on one store.
pub(crate) async fn two() -> (Instance, Instance) {
    let store = MemoryStore::new();
    (instance(&store).await, instance(&store).await)
}

/// Calls a tool in a session, and returns the text of its result.
pub(crate) async fn call(session: &Session, tool: &str) -> String {
    let (status, answer) = session
        .request(1, "tools/call", &json!({"name": tool}))
        .json()
        .await;
    assert_eq!(status, 200, "{answer}");
    let text = answer["result"]["content"][0]["text"].as_str();
    text.unwrap_or_else(|| panic!("{answer}")).to_owned()
}

/// Returns the status of a harmless request in a session, and its answer.
pub(crate) async fn ping(session: &Session) -> (u16, Value) {
    let got = session.request(9, "ping", &json!({})).send().await;
    (got.status, got.json().await)
}
