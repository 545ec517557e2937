//! Messages for HTTP+SSE connections that another instance of the server has.

use std::sync::{Arc, Weak};
use std::time::Duration;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use turnbuckle_cluster::{Cluster, Delivery, MessageKind, Received, Receiver};
use turnbuckle_session::internal::SessionOwner;
use turnbuckle_store::StoreError;
use turnbuckle_types::Principal;

use crate::request::principal::Owner;
use crate::streams::sse_connections::ConnectionTable;

/// The version of the form of a message. Messages of another version are not read.
const VERSION: u8 = 1;

/// The other instances of a server, to which messages for their connections are sent.
pub(super) struct Elsewhere {
    cluster: Arc<Cluster>,
    /// Receives messages of the others, for as long as the endpoints are there.
    _receiver: Arc<SseReceiver>,
}

/// A client's message for a connection.
#[derive(Serialize, Deserialize)]
struct SseMessage {
    connection: String,
    /// The principal that posted the message, and its scopes.
    #[serde(default)]
    owner: Option<SessionOwner>,
    #[serde(default)]
    scopes: Vec<String>,
    message: String,
}

impl Elsewhere {
    pub(super) fn new(
        cluster: Arc<Cluster>,
        connections: Arc<ConnectionTable>,
        push_timeout: Duration,
    ) -> Self {
        let receiver = Arc::new(SseReceiver {
            connections,
            push_timeout,
        });
        let weak = Arc::downgrade(&receiver);
        let weak: Weak<dyn Receiver> = weak;
        cluster.add_receiver(MessageKind::SseMessage, weak);
        cluster.start();
        Self {
            cluster,
            _receiver: receiver,
        }
    }

    /// Returns the other instance that the id of a connection names; `None` if it names this one or none.
    pub(super) fn owner_of<'a>(&self, id: &'a str) -> Option<&'a str> {
        let (instance, _) = id.split_once('.')?;
        let is_name = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        let is_other = instance.len() == self.cluster.instance().len()
            && instance.bytes().all(is_name)
            && *instance != **self.cluster.instance();
        is_other.then_some(instance)
    }

    /// Sends a message of a principal to the instance that has the connection of that id.
    pub(super) async fn send(
        &self,
        id: &str,
        principal: Option<&Principal>,
        frame: &[u8],
    ) -> Result<Delivery, StoreError> {
        self.cluster.start();
        let Some(instance) = self.owner_of(id) else {
            return Ok(Delivery::NotThere);
        };
        let message = SseMessage {
            connection: id.to_owned(),
            owner: Owner::new(principal).into_record(),
            scopes: principal.map_or_else(Vec::new, |principal| principal.scopes.clone()),
            message: String::from_utf8_lossy(frame).into_owned(),
        };
        let mut body = vec![VERSION];
        if serde_json::to_writer(&mut body, &message).is_err() {
            return Ok(Delivery::NotThere);
        }
        self.cluster
            .send(instance, MessageKind::SseMessage, body.into())
            .await
    }
}

/// Receives messages of other instances for the connections of this one.
struct SseReceiver {
    connections: Arc<ConnectionTable>,
    /// The time that a message may wait for room in the queue of its connection.
    push_timeout: Duration,
}

impl Receiver for SseReceiver {
    fn receive(&self, message: &Received) -> bool {
        self.receive_message(&message.body).is_some()
    }
}

impl SseReceiver {
    /// Passes a message to its connection, if the principal that posted it may use that. Waits for room
    /// in a task.
    fn receive_message(&self, body: &[u8]) -> Option<()> {
        let (&VERSION, text) = body.split_first()? else {
            return None;
        };
        let message: SseMessage = serde_json::from_slice(text).ok()?;
        let principal = message.owner.map(|owner| {
            let principal = Principal::new(owner.issuer, owner.subject).scopes(message.scopes);
            match owner.client {
                Some(client) => principal.client(client),
                None => principal,
            }
        });
        let connection = &message.connection;
        let queue = self
            .connections
            .message_queue(connection, principal.as_ref())?;
        // As many messages wait as bodies are received at a time.
        let permit = queue.permit_now()?;
        let memory = queue
            .account()
            .memory()
            .reserve(message.message.len())
            .ok()?;
        let frame: Bytes = memory.attach(message.message);
        let timeout = self.push_timeout;
        tokio::spawn(async move {
            let pushed = tokio::time::timeout(timeout, queue.push(&frame)).await;
            if !matches!(pushed, Ok(Ok(()))) {
                tracing::warn!(
                    "a message of another instance found no room in time (Limits::max_queue_bytes, \
                     HttpTimeouts::body_timeout), or its connection has ended"
                );
            }
            drop(permit);
        });
        Some(())
    }
}
