//! The token requests of this process whose answers are not stored yet.
//!
//! A refresh token that the authorization server has replaced is lost if the process ends before the
//! next one is stored.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::Notify;

static COUNT: AtomicUsize = AtomicUsize::new(0);
static IS_DONE: Notify = Notify::const_new();

/// A token request until its answer is stored. Dropping the value ends it.
pub(super) struct PendingToken(());

impl PendingToken {
    pub(super) fn new() -> Self {
        COUNT.fetch_add(1, Ordering::SeqCst);
        Self(())
    }
}

impl Drop for PendingToken {
    fn drop(&mut self) {
        if COUNT.fetch_sub(1, Ordering::SeqCst) == 1 {
            IS_DONE.notify_waiters();
        }
    }
}

/// Waits until the answers of all token requests of this process are stored, at most `timeout`. Returns
/// whether they are.
///
/// Call it before a program ends early, for instance at Ctrl-C, and let the runtime go on meanwhile: a
/// refresh token that the authorization server has replaced is lost if the next one is not stored.
/// Without a token request it returns at once. A login that waits for its user is none.
pub async fn settle_token_requests(timeout: Duration) -> bool {
    let settled = async {
        loop {
            let mut is_done = std::pin::pin!(IS_DONE.notified());
            is_done.as_mut().enable();
            if COUNT.load(Ordering::SeqCst) == 0 {
                return;
            }
            is_done.await;
        }
    };
    tokio::time::timeout(timeout, settled).await.is_ok()
}
