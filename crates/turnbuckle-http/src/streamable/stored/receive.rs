//! Messages of other instances about sessions.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use turnbuckle_cluster::{MessageKind, Received, Receiver};
use turnbuckle_session::internal::{InboundFrame, ReplySink};
use turnbuckle_session::transport::TransportContext;
use turnbuckle_store::Version;
use turnbuckle_wire::era::Params;
use turnbuckle_wire::revision::Method;
use turnbuckle_wire::rpc::{self, Message};

use super::StoredSessions;
use super::messages::{SessionChanged, SessionEnded, SessionMessage, decode};
use crate::streamable::sessions::HttpSession;

impl Receiver for StoredSessions {
    fn receive(&self, message: &Received) -> bool {
        let taken = match message.kind {
            MessageKind::SessionMessage => self.receive_message(&message.body),
            MessageKind::SessionChanged => self.receive_change(&message.body),
            MessageKind::SessionEnded => self.receive_end(&message.body),
            MessageKind::StandaloneMessage => self.receive_standalone(&message.body),
            _ => None,
        };
        taken.is_some()
    }
}

impl StoredSessions {
    /// Returns a session of the store that this instance knows.
    pub(super) fn find(&self, id: &str) -> Option<Arc<HttpSession>> {
        self.table
            .find(id)
            .filter(|open| open.record_state().is_some())
    }

    /// Receives a client's response to a request of this instance, or a cancellation.
    fn receive_message(&self, body: &[u8]) -> Option<()> {
        let SessionMessage { session, message } = decode(body)?;
        let open = self.find(&session)?;
        let decoded = rpc::decode::<Params<'_>>(&message).ok()?;
        let is_for_session = match &decoded {
            Message::Response(_) => true,
            Message::Notification(notification) => {
                Method::parse(&notification.method) == Some(Method::Cancelled)
            }
            Message::Request(_) => false,
        };
        if !is_for_session {
            return None;
        }
        let frame = Bytes::copy_from_slice(message.as_bytes());
        let inbound = InboundFrame {
            frame: &frame,
            text: &message,
            transport: &TransportContext::default(),
            account: None,
            headers: None,
            foreign: None,
        };
        let sink: Arc<dyn ReplySink> = open.standalone.clone();
        open.session.receive(decoded, None, inbound, &sink);
        Some(())
    }

    /// Learns that another instance saved a record.
    fn receive_change(&self, body: &[u8]) -> Option<()> {
        let SessionChanged {
            session,
            version,
            roots,
        } = decode(body)?;
        let Some(open) = self.find(&session) else {
            self.unknown_changes.fetch_add(1, Ordering::AcqRel);
            return None;
        };
        if roots {
            open.session.clear_roots();
        }
        open.record_state()?.set_changed(Version(version));
        self.refresh(&open);
        Some(())
    }

    /// Learns that a session was ended.
    fn receive_end(&self, body: &[u8]) -> Option<()> {
        let SessionEnded { session } = decode(body)?;
        let open = self.find(&session)?;
        self.table.forget(&session, &open);
        Some(())
    }
}
