//! Messages for the standalone streams of sessions whose clients read them at another instance.

use std::any::Any;
use std::sync::{Arc, Weak};

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

impl StoredSessions {
    /// Returns a value that saves, when it is dropped, up to where the client was told of changes.
    pub(in crate::streamable) fn save_position(
        &self,
        open: &Arc<HttpSession>,
    ) -> Box<dyn Any + Send + Sync> {
        Box::new(SavePosition(self.this.clone(), open.clone()))
    }
}

/// Saves the position up to which the client of a session was told of changes, when it leaves its standalone
/// stream: it may come back to another instance, and without an id.
struct SavePosition(Weak<StoredSessions>, Arc<HttpSession>);

impl Drop for SavePosition {
    fn drop(&mut self) {
        let Self(sessions, open) = self;
        let (Some(sessions), Some(legacy)) = (sessions.upgrade(), open.session.legacy()) else {
            return;
        };
        legacy.count_change_position();
        if !StoredSessions::is_changed(open) {
            return;
        }
        // Saved later if there is no runtime any more, or if that fails.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let open = open.clone();
            runtime.spawn(async move {
                let _ = sessions.save(&open).await;
            });
        }
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
