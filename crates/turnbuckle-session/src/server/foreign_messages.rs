//! Messages of a shared session that came to one instance of the server and are for another one.

use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

/// The messages of one POST that this instance has no use for.
#[derive(Debug, Default)]
pub struct ForeignMessages(Mutex<Vec<ForeignMessage>>);

/// A message that this instance has no use for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ForeignMessage {
    /// The response to a request that another instance sent to the client.
    Response {
        /// The instance that sent the request.
        instance: Box<str>,
        /// The message.
        frame: Bytes,
    },
    /// The cancellation of a request that no handler serves here.
    Cancellation {
        /// The message.
        frame: Bytes,
    },
}

impl ForeignMessages {
    fn lock(&self) -> MutexGuard<'_, Vec<ForeignMessage>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn add(&self, message: ForeignMessage) {
        self.lock().push(message);
    }

    /// Takes the messages.
    #[must_use]
    pub fn take(&self) -> Vec<ForeignMessage> {
        std::mem::take(&mut *self.lock())
    }
}
