//! For how long this process stood still. Its clients were late by as much, through no fault of the
//! server.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::time::{Instant, sleep};

/// The number of times that it is looked.
const LOOK: Duration = Duration::from_millis(50);

/// The longest time so far.
#[derive(Debug, Clone, Default)]
pub(crate) struct Still(Arc<AtomicU64>);

impl Still {
    /// Looks from now on.
    pub(crate) fn watch() -> Self {
        let still = Self::default();
        let longest = still.0.clone();
        tokio::spawn(async move {
            loop {
                let began = Instant::now();
                sleep(LOOK).await;
                let late = began.elapsed().saturating_sub(LOOK).as_millis();
                longest.fetch_max(u64::try_from(late).unwrap_or(u64::MAX), Ordering::Relaxed);
            }
        });
        still
    }
}

impl fmt::Display for Still {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let longest = self.0.load(Ordering::Relaxed);
        write!(f, "their process stood still for {longest} ms at most")
    }
}
