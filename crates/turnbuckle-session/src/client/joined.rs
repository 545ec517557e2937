//! A connector for a transport that is there already: one end of a joined pair, or any byte stream.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use crate::client::link::{Connector, Inbox, Link, LinkError, LinkKind, Opening};
use crate::{Pump, Transport};

/// Connects over a transport that was opened before. It can be used once: when the connection has
/// died there is no other.
pub struct Joined<T> {
    transport: Mutex<Option<T>>,
    max_queue: usize,
}

impl<T: Transport + 'static> Joined<T> {
    /// Connects over `transport`.
    #[must_use]
    pub fn new(transport: T) -> Self {
        Self {
            transport: Mutex::new(Some(transport)),
            max_queue: 1 << 20,
        }
    }

    /// Bytes that may wait for a server that reads slowly; who sends more has to wait. Default 1 MiB.
    #[must_use]
    pub fn max_queue(mut self, bytes: usize) -> Self {
        self.max_queue = bytes;
        self
    }
}

impl<T: Transport + 'static> Connector for Joined<T> {
    fn open(&self, inbox: Arc<dyn Inbox>) -> Opening<'_> {
        let transport = self
            .transport
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        let opened: Result<Arc<dyn Link>, LinkError> = match transport {
            Some(transport) => Ok(Pump::start(transport, inbox, self.max_queue)),
            None => Err(LinkError::Unreachable {
                reason: "the connection was handed in and cannot be opened again".into(),
            }),
        };
        Box::pin(std::future::ready(opened))
    }

    fn binding(&self) -> LinkKind {
        LinkKind::Duplex
    }

    fn reopens(&self) -> bool {
        false
    }

    fn describe(&self) -> String {
        "a connection in this process".into()
    }
}

impl<T> fmt::Debug for Joined<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Joined").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::task::{Context, Poll};
    use std::time::Duration;

    use turnbuckle_types::RequestId;

    use super::*;
    use crate::Frame;
    use crate::client::link::{Parcel, ParcelKind};

    /// Takes everything and sends nothing.
    #[derive(Default)]
    struct Stuck(usize);

    impl Transport for Stuck {
        fn poll_frame(&mut self, _: &mut Context<'_>) -> Poll<Option<Frame>> {
            Poll::Pending
        }

        fn queue(&mut self, frame: &[u8]) {
            self.0 += frame.len();
        }

        fn queued(&self) -> usize {
            self.0
        }

        fn poll_flush(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Pending
        }
    }

    struct Nobody;

    impl Inbox for Nobody {
        fn receive(&self, _: Frame, _: Option<&RequestId>) {}

        fn awaits(&self, _: &RequestId) -> bool {
            false
        }

        fn lost(&self, _: LinkError) {}
    }

    /// How many messages of 100 bytes are taken before their sender has to wait.
    async fn taken(max_queue: usize) -> usize {
        let joined = Joined::new(Stuck::default()).max_queue(max_queue);
        let link = joined.open(Arc::new(Nobody)).await.unwrap();
        let parcel = || Parcel {
            frame: vec![b'x'; 100],
            kind: ParcelKind::Notification,
            headers: Vec::new(),
        };
        let second = Duration::from_secs(1);
        let mut taken = 0;
        while tokio::time::timeout(second, link.carry(parcel()))
            .await
            .is_ok()
        {
            taken += 1;
        }
        taken
    }

    #[tokio::test(start_paused = true)]
    async fn so_many_bytes_wait_for_a_server_that_does_not_read() {
        // Those that the transport was given, the last of them over the line, and those behind it.
        assert_eq!(taken(500).await, 5 + 1 + 5);
        assert_eq!(taken(1_000).await, 10 + 1 + 10);
    }
}
