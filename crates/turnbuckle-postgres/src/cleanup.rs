//! The task that removes what has expired.

use std::sync::Arc;
use std::time::Duration;

use turnbuckle_store::StoreErrorKind;

use crate::pool::Pool;

/// The most rows of each table that one clean-up removes.
const MAX_ROWS: i64 = 512;

/// The shortest and the longest time between two clean-ups.
const MIN_INTERVAL: Duration = Duration::from_secs(1);
const MAX_INTERVAL: Duration = Duration::from_secs(60);

/// Removes rows when they have expired, those of other instances too.
pub(crate) async fn remove_expired(pool: Arc<Pool>) {
    let mut most = MAX_ROWS;
    loop {
        let next = match pool.run(|connection| connection.clean_up(most)).await {
            Ok((deleted, _)) if deleted >= most => {
                most = (most * 2).min(MAX_ROWS);
                continue;
            }
            Ok((_, next)) => next.unwrap_or(MAX_INTERVAL).min(MAX_INTERVAL),
            // Fewer rows take less time.
            Err(error) if error.kind() == StoreErrorKind::TimedOut && most > 1 => {
                most = (most / 4).max(1);
                MIN_INTERVAL
            }
            Err(error) => {
                tracing::debug!(target: "turnbuckle", ?error, "what has expired is not removed yet");
                MIN_INTERVAL
            }
        };
        tokio::time::sleep(MIN_INTERVAL).await;
        tokio::select! {
            () = tokio::time::sleep(next.saturating_sub(MIN_INTERVAL)) => {}
            // Something was put that may expire earlier.
            () = pool.used.notified() => {}
        }
    }
}
