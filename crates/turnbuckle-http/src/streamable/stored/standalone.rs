//! Messages for the standalone streams of sessions whose clients read them at another instance.

use std::sync::Weak;

use tokio::sync::mpsc;
use turnbuckle_cluster::{Cluster, MessageKind};
use turnbuckle_session::internal::ReplySink as _;
use turnbuckle_types::base::text::Escaped;

use super::StoredSessions;
use super::messages::{SessionMessage, decode, encode};
use crate::streamable::sessions::HttpSession;
use crate::streams::{RemoteReader, StandaloneMessage};

impl StoredSessions {
    /// Lets the standalone stream of a session pass its messages on while the client reads it at another
    /// instance. `is_elsewhere` is true for a session that another instance opened.
    pub(in crate::streamable) fn pass_on(&self, open: &HttpSession, is_elsewhere: bool) {
        if let Some(id) = open.stored_id() {
            let account = open.standalone.account().clone();
            let outbox = self.standalone_outbox.clone();
            let remote = RemoteReader::new(id.clone(), is_elsewhere, account, outbox);
            open.standalone.set_remote_reader(remote);
        }
    }

    /// Receives a message for the standalone stream of a session, or that its client reads the stream at
    /// another instance.
    pub(super) fn receive_standalone(&self, body: &[u8]) -> Option<()> {
        let SessionMessage { session, message } = decode(body)?;
        let open = self.find(&session)?;
        let remote = open.standalone.remote_reader()?;
        if message.is_empty() {
            remote.set_elsewhere();
            return Some(());
        }
        // The instance at which the client reads the stream is the one that sends it.
        if remote.is_elsewhere() {
            return None;
        }
        open.standalone.send(message.into_bytes()).ok()
    }
}

/// Sends messages for standalone streams to the other instances, in their order.
pub(super) async fn send_standalone(
    cluster: Weak<Cluster>,
    mut messages: mpsc::Receiver<StandaloneMessage>,
) {
    while let Some(StandaloneMessage { session, frame, .. }) = messages.recv().await {
        let (Some(cluster), Ok(message)) = (cluster.upgrade(), String::from_utf8(frame)) else {
            continue;
        };
        let session = session.as_ref().to_owned();
        let body = encode(&SessionMessage { session, message });
        let sent = cluster.broadcast(MessageKind::StandaloneMessage, body);
        if let Err(error) = sent.await {
            tracing::debug!(error = %Escaped(&error), "a message of a session was lost");
        }
    }
}
