//! A connector for a transport that is there already: one end of a joined pair, or any byte stream.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use crate::link::{Connector, Inbox, Link, LinkError, LinkKind, Opening};
use crate::{Pump, Transport};

/// Connects over a transport that was opened before. It can be used once: when the connection has
/// died there is no other.
pub struct Joined<T> {
    transport: Mutex<Option<T>>,
    queue_bytes: usize,
}

impl<T: Transport + 'static> Joined<T> {
    /// Connects over `transport`; up to 1 MiB waits for a server that is slow to read.
    #[must_use]
    pub fn new(transport: T) -> Self {
        Self {
            transport: Mutex::new(Some(transport)),
            queue_bytes: 1 << 20,
        }
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
            Some(transport) => Ok(Pump::start(transport, inbox, self.queue_bytes)),
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
