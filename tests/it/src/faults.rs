//! Servers that go wrong about one tool, and how a request ends with them.

use std::time::Duration;

use crate::peer::{Peer, PeerConnectors, ReceivedMessage, Step};
use serde_json::Value;
use tokio::time::Instant;
use turnbuckle_client::{Client, ClientBuilder, EraPreference, Error};
use turnbuckle_session::transport::{LinkError, TimeoutKind};
use turnbuckle_wire::revision::Revision;

/// The legacy revision that faults are tried in.
pub const LEGACY: Revision = Revision::NEWEST_LEGACY;

/// A way to a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PeerTransport {
    /// Lines in memory.
    Lines,
    /// HTTP without sockets.
    Web,
}

/// Every way in every era.
pub const PEER_CASES: [(PeerTransport, Revision); 4] = [
    (PeerTransport::Lines, LEGACY),
    (PeerTransport::Lines, Revision::NEWEST),
    (PeerTransport::Web, LEGACY),
    (PeerTransport::Web, Revision::NEWEST),
];

impl PeerTransport {
    /// Connects a client that is built like this.
    pub async fn connect_by(self, peer: &Peer, builder: ClientBuilder) -> Client {
        let builder = builder.era(EraPreference::Only(peer.revision()));
        let connected = match self {
            Self::Lines => builder.connect(peer.lines()).await,
            Self::Web => builder.connect(peer.web()).await,
        };
        connected.expect("the faults come later")
    }

    /// Connects a client.
    pub async fn connect(self, peer: &Peer) -> Client {
        self.connect_by(peer, Client::builder("c", "1")).await
    }
}

/// The tool whose calls go wrong; calls of others are answered soundly.
pub const FAULTY: &str = "faulty";

/// Creates a server that misbehaves only for calls of one tool.
pub fn faulty(
    revision: Revision,
    script: impl Fn(&ReceivedMessage) -> Vec<Step> + Send + Sync + 'static,
) -> Peer {
    Peer::new(revision, move |heard| {
        let is_faulty = heard.message["params"]["name"] == FAULTY;
        is_faulty.then(|| script(heard))
    })
}

/// Calls a tool, and returns the text of its answer.
pub async fn text_of(client: &Client, tool: &str) -> Result<String, Error> {
    let result = client.call_tool(tool, &()).await?;
    match result.content.as_slice() {
        [] => Ok(String::new()),
        [block, ..] => Ok(serde_json::to_value(block).expect("a block")["text"]
            .as_str()
            .unwrap_or_default()
            .to_owned()),
    }
}

/// Makes the call that goes wrong, holds that the next one does not, and that nothing waits.
pub async fn fault(client: &Client) -> (Error, Duration) {
    let began = Instant::now();
    let error = text_of(client, FAULTY).await.expect_err("a fault");
    let took = began.elapsed();
    assert_eq!(client.in_flight(), Default::default(), "{error}");
    assert_eq!(text_of(client, "other").await.expect("no fault"), "sound");
    assert_eq!(client.in_flight(), Default::default());
    (error, took)
}

/// Returns whether the error is the idle timeout of one minute.
#[must_use]
pub fn is_silence(error: &Error) -> bool {
    let text = error.to_string();
    matches!(error, Error::TimedOut(TimeoutKind::Idle(_)))
        && text.starts_with("no answer within 60s of silence")
}

/// Returns whether the error says that the connection broke, for the reason `what`.
#[must_use]
pub fn is_broken(error: &Error, what: &str) -> bool {
    let Error::ConnectionLost { sent: true, reason } = error else {
        return false;
    };
    let text = error.to_string();
    matches!(reason, LinkError::ConnectionLost { .. })
        && text.contains(what)
        && text.ends_with("the server may have acted upon the request")
}

/// Returns whether the error is the protocol violation `what`.
#[must_use]
pub fn is_violation(error: &Error, what: &str) -> bool {
    matches!(
        error,
        Error::ConnectionLost { reason: LinkError::ProtocolViolation { reason }, .. } if reason.contains(what)
    )
}

/// Returns the id of a message as a JSON string.
#[must_use]
pub fn id_as_text(heard: &ReceivedMessage) -> Value {
    heard.id().to_string().into()
}
