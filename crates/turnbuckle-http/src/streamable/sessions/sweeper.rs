//! The task that removes idle sessions.

#[cfg(feature = "store")]
use std::pin::Pin;
use std::sync::Weak;
use std::time::Duration;

use tokio::time::Instant;

use super::SessionTable;

/// The part of an endpoint that keeps sessions elsewhere too, and looks after them.
#[cfg(feature = "store")]
pub(crate) trait Maintain: Send + Sync + std::fmt::Debug {
    /// Looks after the sessions, each time that the table was swept.
    fn maintain(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>>;
}

/// A task that sweeps a table for as long as it has sessions.
pub(super) struct Sweeper(pub(super) Weak<SessionTable>);

impl Sweeper {
    /// Sweeps the table each `interval` until it is empty.
    pub(super) async fn run(mut self, interval: Duration) {
        loop {
            tokio::time::sleep(interval).await;
            let Some(sessions) = self.0.upgrade() else {
                return;
            };
            sessions.sweep(Instant::now());
            #[cfg(feature = "store")]
            if let Some(stored) = sessions.stored.get().and_then(Weak::upgrade) {
                stored.maintain().await;
            }
            let mut state = sessions.state();
            if state.by_id.is_empty() {
                state.has_sweeper = false;
                self.0 = Weak::new();
                return;
            }
        }
    }
}

/// Lets the next session that is opened start another sweeper, if the runtime ended this one.
impl Drop for Sweeper {
    fn drop(&mut self) {
        if let Some(sessions) = self.0.upgrade() {
            sessions.state().has_sweeper = false;
        }
    }
}
