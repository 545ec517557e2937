//! Links to our own server: in this process on a paused clock, and over sockets.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests fail by panicking"
)]

#[cfg(feature = "http2")]
mod http2;
mod listening;
mod proxies;
mod rebinding;
mod secure;
mod server;
mod slow_readers;
mod sockets;

use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::Notify;
use turnbuckle_session::transport::{
    Connector, Frame, Inbox, Link, LinkError, LinkKind, OutboundKind, OutboundMessage,
};
use turnbuckle_types::RequestId;
use turnbuckle_wire::revision::Revision;

/// An inbox that records frames, and which requests are pending.
#[derive(Default)]
struct Memory {
    frames: Mutex<Vec<Value>>,
    waiting: Mutex<HashSet<RequestId>>,
    lost: Mutex<Vec<LinkError>>,
    came: Notify,
}

impl Inbox for Memory {
    fn receive(&self, frame: Frame, _: Option<&RequestId>) {
        let Frame::Message(bytes) = frame else {
            panic!("{frame:?}");
        };
        let message: Value = serde_json::from_slice(&bytes).unwrap();
        if let (Some(id), None) = (message["id"].as_i64(), message.get("method")) {
            self.waiting.lock().unwrap().remove(&RequestId::from(id));
        }
        self.frames.lock().unwrap().push(message);
        self.came.notify_waiters();
    }

    fn is_pending(&self, id: &RequestId) -> bool {
        self.waiting.lock().unwrap().contains(id)
    }

    fn fail(&self, why: LinkError) {
        self.lost.lock().unwrap().push(why);
    }
}

/// A minimal client.
struct Client {
    link: Arc<dyn Link>,
    inbox: Arc<Memory>,
    revision: Revision,
}

impl Client {
    async fn open(connector: &dyn Connector, revision: Revision) -> Result<Self, LinkError> {
        let inbox = Arc::new(Memory::default());
        let link = connector.open(inbox.clone()).await?;
        Ok(Self {
            link,
            inbox,
            revision,
        })
    }

    /// Opens a link and a legacy session on it.
    async fn legacy(connector: &dyn Connector, revision: Revision) -> Self {
        let client = Self::open(connector, revision).await.unwrap();
        let params = json!({
            "protocolVersion": revision.as_str(),
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        });
        let kind = OutboundKind::Initialize(RequestId::from(0));
        let answer = client.ask(kind, 0, "initialize", params).await.unwrap();
        assert_eq!(answer["result"]["protocolVersion"], revision.as_str());
        let message = client.outbound(
            OutboundKind::Notification,
            &json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        );
        client.link.send(message).await.unwrap();
        client.link.complete_handshake(revision.features()).await;
        client
    }

    async fn request(&self, id: i64, method: &str, params: Value) -> Result<Value, LinkError> {
        let kind = OutboundKind::Request(RequestId::from(id));
        self.ask(kind, id, method, params).await
    }

    async fn ask(
        &self,
        kind: OutboundKind,
        id: i64,
        method: &str,
        params: Value,
    ) -> Result<Value, LinkError> {
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.inbox
            .waiting
            .lock()
            .unwrap()
            .insert(RequestId::from(id));
        self.link.send(self.outbound(kind, &message)).await?;
        self.until(|message| message["id"] == id && message.get("method").is_none())
            .await
    }

    /// Waits for the first message that `wanted` accepts, among those received so far and later.
    async fn until(&self, wanted: impl Fn(&Value) -> bool) -> Result<Value, LinkError> {
        let found = async {
            loop {
                let came = self.inbox.came.notified();
                let frames = self.inbox.frames.lock().unwrap().clone();
                if let Some(found) = frames.into_iter().find(&wanted) {
                    return found;
                }
                came.await;
            }
        };
        Ok(tokio::time::timeout(Duration::from_secs(60), found)
            .await
            .unwrap())
    }

    fn outbound(&self, kind: OutboundKind, message: &Value) -> OutboundMessage {
        let mut headers = Vec::new();
        if !matches!(kind, OutboundKind::Initialize(_)) && self.link.kind() == LinkKind::Exchange {
            let version = self.revision.as_str().to_owned();
            headers.push(("mcp-protocol-version".into(), version.into()));
            let method = message["method"].as_str().unwrap_or_default().to_owned();
            headers.push(("mcp-method".into(), method.into()));
            if let Some(name) = message["params"]["name"].as_str() {
                headers.push(("mcp-name".into(), name.to_owned().into()));
            }
        }
        OutboundMessage {
            frame: message.to_string().into(),
            kind,
            headers,
        }
    }

    fn count(&self, method: &str) -> usize {
        let frames = self.inbox.frames.lock().unwrap();
        frames.iter().filter(|it| it["method"] == method).count()
    }
}

/// Adds the envelope of a modern request.
fn modern(mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": Revision::NEWEST.as_str(),
        "io.modelcontextprotocol/clientCapabilities": {},
        "progressToken": 7,
    });
    params
}

/// Returns the params of a legacy tool call with a progress token.
fn params_with_progress(name: &str) -> Value {
    json!({"name": name, "_meta": {"progressToken": 7}})
}
