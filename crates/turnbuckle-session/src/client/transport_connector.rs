//! A connector over a transport that is open already: one end of a pair in memory, or any byte
//! stream.

use std::sync::{Arc, Mutex, PoisonError};
use turnbuckle_types::base::debug_fields;

use crate::client::link::{Connector, Inbox, Link, LinkKind, OpenFuture};
use crate::client::link_error::LinkError;
use crate::client::transport_link::TransportLink;
use crate::shared::transport::Transport;

/// A [`Connector`] over a [`Transport`] that is open already. It opens one link; when that link has
/// died there is no other.
pub struct TransportConnector<T> {
    transport: Mutex<Option<T>>,
    max_queue_bytes: usize,
}

impl<T: Transport + 'static> TransportConnector<T> {
    /// Creates a connector over `transport`.
    #[must_use]
    pub fn new(transport: T) -> Self {
        Self {
            transport: Mutex::new(Some(transport)),
            max_queue_bytes: 1 << 20,
        }
    }

    /// Sets how many bytes may be queued for a server that reads slowly. Beyond that, senders wait.
    /// Default 1 MiB.
    #[must_use]
    pub fn max_queue_bytes(mut self, bytes: usize) -> Self {
        self.max_queue_bytes = bytes;
        self
    }
}

impl<T: Transport + 'static> Connector for TransportConnector<T> {
    fn open(&self, inbox: Arc<dyn Inbox>) -> OpenFuture<'_> {
        let transport = self
            .transport
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        let opened: Result<Arc<dyn Link>, LinkError> = match transport {
            Some(transport) => Ok(TransportLink::start(transport, inbox, self.max_queue_bytes)),
            None => Err(LinkError::Unreachable {
                reason: "the connection was handed in and cannot be opened again".into(),
            }),
        };
        Box::pin(std::future::ready(opened))
    }

    fn link_kind(&self) -> LinkKind {
        LinkKind::Duplex
    }

    fn can_reopen(&self) -> bool {
        false
    }

    fn description(&self) -> String {
        "a connection in this process".into()
    }
}

debug_fields!([T] TransportConnector<T> {});

#[cfg(test)]
mod tests {
    use std::io;
    use std::task::{Context, Poll};
    use std::time::Duration;

    use turnbuckle_types::RequestId;

    use super::*;
    use crate::client::outbound_message::{OutboundKind, OutboundMessage};
    use crate::shared::transport::Frame;

    /// A transport that never sends what it queues, and receives nothing.
    #[derive(Default)]
    struct Stuck(usize);

    impl Transport for Stuck {
        fn poll_frame(&mut self, _: &mut Context<'_>) -> Poll<Option<Frame>> {
            Poll::Pending
        }

        fn queue(&mut self, frame: &[u8]) {
            self.0 += frame.len();
        }

        fn queued_bytes(&self) -> usize {
            self.0
        }

        fn poll_flush(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Pending
        }
    }

    struct IgnoringInbox;

    impl Inbox for IgnoringInbox {
        fn receive(&self, _: Frame, _: Option<&RequestId>) {}

        fn is_pending(&self, _: &RequestId) -> bool {
            false
        }

        fn fail(&self, _: LinkError) {}
    }

    /// Returns how many messages of 100 bytes are queued before their sender has to wait.
    async fn queued_messages(max_queue_bytes: usize) -> usize {
        let connector = TransportConnector::new(Stuck::default()).max_queue_bytes(max_queue_bytes);
        let link = connector.open(Arc::new(IgnoringInbox)).await.unwrap();
        let message = || OutboundMessage {
            frame: vec![b'x'; 100],
            kind: OutboundKind::Notification,
            headers: Vec::new(),
        };
        let second = Duration::from_secs(1);
        let mut queued = 0;
        while tokio::time::timeout(second, link.send(message()))
            .await
            .is_ok()
        {
            queued += 1;
        }
        queued
    }

    #[tokio::test(start_paused = true)]
    async fn a_full_queue_makes_senders_wait() {
        // The transport takes messages until one exceeds the limit; then as many are queued behind it.
        assert_eq!(queued_messages(500).await, 5 + 1 + 5);
        assert_eq!(queued_messages(1_000).await, 10 + 1 + 10);
    }
}
