//! The HTTP+SSE transport of the first revision.

mod bounds;
mod conversation;
mod elsewhere;
mod ending;
mod messages;
mod mounting;
mod opening;
mod serving;

use http::Method as Verb;
use serde_json::{Value, json};
use turnbuckle_http::HttpServerOptions;
use turnbuckle_it::web::{Ask, Events, Web};
use turnbuckle_server::Server;

use turnbuckle_wire::revision::{EraKind, Revision};

/// Returns the revisions that open with a handshake.
fn legacy() -> impl Iterator<Item = Revision> {
    let all = Revision::ALL.into_iter();
    all.filter(|it| it.features().era == EraKind::Legacy)
}

/// An open connection: its stream, and where its messages go.
struct SseConnection {
    web: Web,
    stream: Events,
    messages: String,
}

impl SseConnection {
    /// Connects to a server with default settings and does the handshake of the first revision.
    async fn open(server: &Server) -> Self {
        Self::open_with(server, HttpServerOptions::new(), json!({})).await
    }

    async fn open_with(server: &Server, options: HttpServerOptions, capabilities: Value) -> Self {
        let mut connection = Self::connect(Web::sse(server, options)).await;
        connection.initialize(Revision::ALL[0], capabilities).await;
        connection
    }

    /// Connects without a handshake.
    async fn connect(web: Web) -> Self {
        let stream = web.ask(Verb::GET).to("/sse").events().await;
        Self::from_stream(web, stream).await
    }

    async fn from_stream(web: Web, mut stream: Events) -> Self {
        let first = stream.next().await.unwrap();
        assert_eq!(first.kind.as_deref(), Some("endpoint"), "{first:?}");
        let messages = first.data.unwrap();
        Self {
            web,
            stream,
            messages,
        }
    }

    async fn initialize(&mut self, revision: Revision, capabilities: Value) {
        let params = json!({
            "protocolVersion": revision.as_str(),
            "capabilities": capabilities,
            "clientInfo": {"name": "tester", "version": "1"},
        });
        self.request(0, "initialize", params).await;
        let answer = self.stream.message().await;
        assert_eq!(answer["result"]["protocolVersion"], revision.as_str());
        let note = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        self.post_message(&note).await;
    }

    /// Returns a POST that is not sent yet.
    fn post(&self, body: impl Into<bytes::Bytes>) -> Ask {
        self.web.post(body).to(&self.messages)
    }

    /// Posts a message, which is accepted.
    async fn post_message(&self, message: &Value) {
        let got = self.post(message.to_string()).send().await;
        assert_eq!(got.status, 202, "{message}");
        assert!(got.bytes().await.is_empty());
    }

    async fn request(&self, id: u32, method: &str, params: Value) {
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.post_message(&request).await;
    }

    /// Calls a tool. The progress token is the id.
    async fn call(&self, id: u32, tool: &str, arguments: Value) {
        let meta = json!({"progressToken": id});
        let params = json!({"name": tool, "arguments": arguments, "_meta": meta});
        self.request(id, "tools/call", params).await;
    }
}
