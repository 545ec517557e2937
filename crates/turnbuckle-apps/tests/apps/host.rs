//! A client by hand: it says what its test says, in the words of one revision.

use std::future::poll_fn;
use std::sync::Arc;

use serde_json::{Value, json};
use turnbuckle_server::Server;
use turnbuckle_session::handler::{Limits, Signal};
use turnbuckle_session::transport::{
    Dispatch, Frame, MemoryTransport, Transport, TransportContext, memory_pair, serve,
};

pub(crate) const MODERN: &str = "2026-07-28";
pub(crate) const NEWEST_LEGACY: &str = "2025-11-25";
/// Every revision, the newest first.
pub(crate) const REVISIONS: [&str; 5] = [
    MODERN,
    NEWEST_LEGACY,
    "2025-06-18",
    "2025-03-26",
    "2024-11-05",
];

/// Returns the capabilities of a client that shows pages.
pub(crate) fn page_capabilities() -> Value {
    extension_capabilities(json!({"mimeTypes": ["text/html;profile=mcp-app"]}))
}

/// Returns the capabilities of a client with these settings of the extension.
pub(crate) fn extension_capabilities(settings: Value) -> Value {
    json!({"extensions": {"io.modelcontextprotocol/ui": settings}})
}

pub(crate) struct Host {
    transport: MemoryTransport,
    revision: &'static str,
    capabilities: Value,
    id: u64,
}

impl Host {
    /// Connects a client, and returns it with the capabilities that the server declared.
    pub(crate) async fn connect(
        server: &Server,
        revision: &'static str,
        capabilities: Value,
    ) -> (Self, Value) {
        let (ours, theirs) = memory_pair();
        let server: Arc<dyn Dispatch> = Arc::new(server.clone());
        let context = TransportContext::default();
        tokio::spawn(serve(
            server,
            theirs,
            Limits::default(),
            context,
            Signal::new(),
        ));
        let mut host = Self {
            transport: ours,
            revision,
            capabilities,
            id: 0,
        };
        let declared = if revision == MODERN {
            host.ask("server/discover", json!({})).await
        } else {
            let params = json!({"protocolVersion": revision, "capabilities": host.capabilities,
                "clientInfo": {"name": "host", "version": "1"}});
            let declared = host.ask("initialize", params).await;
            assert_eq!(declared["protocolVersion"], revision);
            host.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))
                .await;
            declared
        };
        (host, declared["capabilities"].clone())
    }

    /// Sends a request and returns its result.
    pub(crate) async fn ask(&mut self, method: &str, mut params: Value) -> Value {
        self.id += 1;
        if self.revision == MODERN {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": self.revision,
                "io.modelcontextprotocol/clientInfo": {"name": "host", "version": "1"},
                "io.modelcontextprotocol/clientCapabilities": self.capabilities,
            });
        }
        let id = self.id;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
            .await;
        let frame = poll_fn(|cx| self.transport.poll_frame(cx)).await;
        let Some(Frame::Message(bytes)) = frame else {
            panic!("{method} was answered with {frame:?}");
        };
        let answer: Value = serde_json::from_slice(&bytes).unwrap();
        assert_eq!(answer["id"], id, "{answer}");
        assert!(answer.get("result").is_some(), "{method}: {answer}");
        answer["result"].clone()
    }

    async fn send(&mut self, message: &Value) {
        self.transport.queue(message.to_string().as_bytes());
        poll_fn(|cx| self.transport.poll_flush(cx)).await.unwrap();
    }

    /// Returns the tool of that name, as the server lists it.
    pub(crate) async fn tool(&mut self, name: &str) -> Value {
        let listed = self.ask("tools/list", json!({})).await;
        let tools = listed["tools"].as_array().unwrap();
        tools
            .iter()
            .find(|tool| tool["name"] == name)
            .unwrap()
            .clone()
    }

    /// Returns the text of a tool's result.
    pub(crate) async fn call(&mut self, name: &str, arguments: Value) -> String {
        let params = json!({"name": name, "arguments": arguments});
        let result = self.ask("tools/call", params).await;
        assert_ne!(result["isError"], true, "{result}");
        result["content"][0]["text"].as_str().unwrap().to_owned()
    }
}
