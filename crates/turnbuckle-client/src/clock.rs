//! The time that a request may take in all, however often it is made.

use tokio::time::Instant;
use turnbuckle_session::{Late, Patience};

use crate::Error;

/// When a request began, and how long it may take from there.
#[derive(Clone, Copy)]
pub(crate) struct Clock {
    pub(crate) began: Instant,
    pub(crate) patience: Patience,
}

impl Clock {
    /// Of a request that begins now.
    pub(crate) fn start(patience: Patience) -> Self {
        Self {
            began: Instant::now(),
            patience,
        }
    }

    /// Waits for something beside the answer, within what is left of the time in all.
    pub(crate) async fn within<T>(self, work: impl Future<Output = T>) -> Result<T, Error> {
        let Some(total) = self.patience.total else {
            return Ok(work.await);
        };
        match self.began.checked_add(total) {
            Some(over) => tokio::time::timeout_at(over, work)
                .await
                .map_err(|_| Error::TimedOut(Late::InAll(total))),
            // A time that no clock reaches is no deadline.
            None => Ok(work.await),
        }
    }
}
