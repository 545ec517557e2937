//! The instance at which the client of a session reads its standalone stream, if it is another one.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::mpsc;
use turnbuckle_session::internal::{MemoryAccount, MemoryPermit};

/// The most messages that wait to be sent to other instances.
pub(crate) const MAX_WAITING: usize = 256;

/// A message for the standalone stream of a session, which another instance sends to the client.
pub(crate) struct StandaloneMessage {
    /// The id of the session.
    pub(crate) session: Arc<str>,
    /// The message. An empty one says that the client reads the stream at this instance.
    pub(crate) frame: Vec<u8>,
    _memory: MemoryPermit,
}

/// The knowledge of one instance about who reads the standalone stream of a session.
#[derive(Debug)]
pub(crate) struct RemoteReader {
    session: Arc<str>,
    is_elsewhere: AtomicBool,
    account: MemoryAccount,
    outbox: mpsc::Sender<StandaloneMessage>,
}

impl RemoteReader {
    /// Creates the knowledge about a session. `is_elsewhere` is true for one that another instance opened.
    pub(crate) fn new(
        session: Arc<str>,
        is_elsewhere: bool,
        account: MemoryAccount,
        outbox: mpsc::Sender<StandaloneMessage>,
    ) -> Self {
        Self {
            session,
            is_elsewhere: AtomicBool::new(is_elsewhere),
            account,
            outbox,
        }
    }

    /// Returns whether the client reads the stream at another instance.
    pub(crate) fn is_elsewhere(&self) -> bool {
        self.is_elsewhere.load(Ordering::Relaxed)
    }

    /// Records that the client reads the stream at another instance.
    pub(crate) fn set_elsewhere(&self) {
        self.is_elsewhere.store(true, Ordering::Relaxed);
    }

    /// Records that the client reads the stream here, and tells the other instances.
    pub(crate) fn set_here(&self) {
        self.is_elsewhere.store(false, Ordering::Relaxed);
        // An instance that is not told keeps its messages, as if it were alone.
        let _ = self.push(Vec::new());
    }

    /// Takes a message that another instance sends to the client. Gives back one that is for this
    /// instance, or for which there is no space.
    pub(super) fn take(&self, frame: Vec<u8>) -> Result<(), Vec<u8>> {
        match self.is_elsewhere() {
            true => self.push(frame),
            false => Err(frame),
        }
    }

    fn push(&self, frame: Vec<u8>) -> Result<(), Vec<u8>> {
        let Ok(memory) = self.account.reserve_free(frame.len()) else {
            return Err(frame);
        };
        let message = StandaloneMessage {
            session: self.session.clone(),
            frame,
            _memory: memory,
        };
        self.outbox.try_send(message).map_err(|error| match error {
            mpsc::error::TrySendError::Full(message)
            | mpsc::error::TrySendError::Closed(message) => message.frame,
        })
    }
}
