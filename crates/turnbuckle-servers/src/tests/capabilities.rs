//! The capabilities of a proxy, and its beginning.

use std::sync::Arc;
use std::time::Duration;

use turnbuckle_client::{Client, ServerInfo};
use turnbuckle_server::{Extension, ReadRequest, Resource, Server, ServerBuilder, Tool};
use turnbuckle_session::transport::{Connector, Inbox, LinkKind, OpenFuture};
use turnbuckle_types::{Json, RawObject};

use crate::{InProcess, Servers, ServersBuilder};

fn host() -> ServersBuilder {
    Servers::builder("host", "1")
}

fn tool() -> Tool {
    Tool::builder("tool").handler(|| "done")
}

/// Returns what a client of a proxy in front of these servers reads.
async fn read_declaration(servers: ServersBuilder, server: ServerBuilder) -> ServerInfo {
    let proxy = servers.proxy(server).await.unwrap();
    let gateway = InProcess::new(proxy.server().clone());
    let client = Client::builder("c", "1").connect(gateway).await.unwrap();
    (*client.server_info().unwrap()).clone()
}

fn gateway() -> ServerBuilder {
    Server::new("gateway", "1")
}

#[tokio::test(start_paused = true)]
async fn a_proxy_declares_what_its_servers_declare() {
    let plain = || InProcess::new(Server::new("plain", "1").tool(tool()).build().unwrap());
    let info = read_declaration(host().server("plain", plain()), gateway()).await;
    let capabilities = info.capabilities;
    assert!(capabilities.tools.is_some());
    assert!(capabilities.resources.is_none() && capabilities.prompts.is_none());
    assert!(capabilities.completions.is_none() && capabilities.logging.is_none());
    assert!(capabilities.extensions.is_empty() && info.instructions.is_none());

    let settings = |text: &str| serde_json::from_str::<RawObject>(text).unwrap();
    let rich = |dialect: &str| {
        let server = Server::new("rich", "1")
            .instructions("Read first.")
            .logging()
            .dynamic_unsubscribable_resources()
            .experimental("com.example/lab", r#"{"on":true}"#.parse::<Json>().unwrap())
            .extension(Extension::new("com.example/one").settings(settings("{\"a\":1}")))
            .extension(Extension::new("com.example/two").settings(settings(dialect)));
        InProcess::new(server.build().unwrap())
    };
    let both = host().server("plain", plain()).server("rich", rich("{}"));
    let info = read_declaration(both.server("other", rich("{\"b\":2}")), gateway()).await;
    let capabilities = info.capabilities;
    let resources = capabilities.resources.unwrap();
    assert_eq!(resources.subscribe, None);
    assert!(capabilities.logging.is_some());
    assert!(capabilities.experimental.contains_key("com.example/lab"));
    // The servers disagree about the other one.
    let ids: Vec<&str> = capabilities.extensions.iter().map(|(id, _)| id).collect();
    assert_eq!(ids, ["com.example/one"]);
    let instructions = info.instructions.unwrap();
    assert_eq!(
        instructions,
        "Instructions of the server \"rich\":\nRead first.\n\n\
         Instructions of the server \"other\":\nRead first."
    );
    let own = gateway().instructions("Mine.");
    let info = read_declaration(host().server("rich", rich("{}")), own).await;
    assert_eq!(info.instructions.as_deref(), Some("Mine."));
}

/// A connector to a server that never answers.
struct PendingConnector;

impl Connector for PendingConnector {
    fn open(&self, _: Arc<dyn Inbox>) -> OpenFuture<'_> {
        Box::pin(std::future::pending())
    }

    fn link_kind(&self) -> LinkKind {
        LinkKind::Duplex
    }

    fn description(&self) -> String {
        "a silent server".into()
    }
}

#[tokio::test(start_paused = true)]
async fn a_silent_server_keeps_no_client_waiting() {
    let quick = Server::new("quick", "1").tool(tool()).build().unwrap();
    let servers = host()
        .server("silent", PendingConnector)
        .server("quick", InProcess::new(quick));
    let begun = tokio::time::Instant::now();
    let info = read_declaration(servers, gateway()).await;
    assert!(begun.elapsed() < Duration::from_secs(11));
    // It may have anything.
    assert!(info.capabilities.prompts.is_some() && info.capabilities.resources.is_some());
}

#[tokio::test(start_paused = true)]
async fn a_call_of_a_server_that_is_not_connected_says_so() {
    let quick = Server::new("quick", "1").tool(tool()).build().unwrap();
    let servers = host()
        .server("silent", PendingConnector)
        .server("quick", InProcess::new(quick));
    let proxy = servers.proxy(gateway()).await.unwrap();
    let inside = InProcess::new(proxy.server().clone());
    let client = Client::builder("c", "1").connect(inside).await.unwrap();
    let failed = client.call_tool("silent__tool", &()).await.unwrap();
    let text = failed.text();
    assert!(
        text.contains("\"silent\" is not connected: connecting"),
        "{text}"
    );
    let unknown = client.call_tool("quick__other", &()).await.unwrap_err();
    assert!(unknown.to_string().contains("Unknown tool"), "{unknown}");
}

#[tokio::test(start_paused = true)]
async fn a_resource_that_is_not_listed_can_be_read() {
    let read = |read: ReadRequest| read.uri;
    let page = |name: &'static str| Resource::builder("ui://page", name).handler(read);
    let mut meta = turnbuckle_types::Meta::new();
    let ui = serde_json::json!({"resourceUri": "ui://page"});
    meta.set("ui", &ui).unwrap();
    let app = Tool::builder("app").meta(meta).handler(|| "app");
    let server = Server::new("s", "1").tool(app).resource(page("page"));
    let proxy = host()
        .server("one", InProcess::new(server.build().unwrap()))
        .proxy(gateway())
        .await
        .unwrap();
    let inside = InProcess::new(proxy.server().clone());
    let client = Client::builder("c", "1").connect(inside).await.unwrap();
    let tools = client.list_tools().fetch_all().await.unwrap();
    let ui: serde_json::Value = tools[0].meta.get("ui").unwrap();
    assert_eq!(ui["resourceUri"], "one+ui://page");
    client.read_resource("one+ui://page").await.unwrap();
    // The server itself answers for a resource that no list has.
    let unknown = client.read_resource("one+ui://other").await.unwrap_err();
    assert!(
        unknown.to_string().contains("Resource not found"),
        "{unknown}"
    );
}
