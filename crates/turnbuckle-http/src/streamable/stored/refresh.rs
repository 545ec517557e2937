//! Looks at the records of sessions in use: what runs, and who reads a stream, may wait for what another
//! instance has changed. The records of others are read at their next use. Saves records again if that failed.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;

use turnbuckle_cluster::Occurrences;

use super::StoredSessions;
use super::session::StoredSession;
use crate::streamable::sessions::HttpSession;

/// The time after which a store that fails is asked again.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);

impl StoredSessions {
    /// Looks at the record of a session in use, unless that was done a moment ago, in a task of its own.
    pub(in crate::streamable) fn refresh(&self, open: &Arc<HttpSession>) {
        if self.is_fresh(open) || !open.is_in_use() {
            return;
        }
        let is_refreshing = |open: &HttpSession| {
            let stored = open.record_state();
            stored.is_none_or(|stored| stored.is_refreshing.swap(true, Ordering::AcqRel))
        };
        if !is_refreshing(open) {
            tokio::spawn(refresh(self.this.clone(), open.clone()));
        }
    }

    /// Saves the record of a session until that succeeds, in a task of its own.
    pub(super) fn save_later(&self, open: &Arc<HttpSession>, stored: &StoredSession) {
        if !stored.is_saving_later.swap(true, Ordering::AcqRel) {
            tokio::spawn(save_later(self.this.clone(), open.clone()));
        }
    }
}

/// Saves the record of a session until that succeeds, or the session has ended.
async fn save_later(sessions: Weak<StoredSessions>, open: Arc<HttpSession>) {
    loop {
        tokio::time::sleep(RETRY_INTERVAL).await;
        let (Some(sessions), Some(stored)) = (sessions.upgrade(), open.record_state()) else {
            return;
        };
        if open.is_ended() || sessions.try_save(&open).await.is_ok() {
            return stored.is_saving_later.store(false, Ordering::Release);
        }
    }
}

/// Looks at the record of a session until that was done, for as long as the session is in use.
async fn refresh(sessions: Weak<StoredSessions>, open: Arc<HttpSession>) {
    loop {
        let (Some(sessions), Some(stored)) = (sessions.upgrade(), open.record_state()) else {
            return;
        };
        // What changes from now on is looked at by the next task.
        stored.is_refreshing.store(false, Ordering::Release);
        // A store that fails is asked again.
        let _ = sessions.check(&open).await;
        let is_done = sessions.is_fresh(&open) || open.is_ended() || !open.is_in_use();
        if is_done || stored.is_refreshing.swap(true, Ordering::AcqRel) {
            return;
        }
        drop(sessions);
        tokio::time::sleep(RETRY_INTERVAL).await;
    }
}

/// Looks at the records of all sessions in use each time that messages may have been lost.
pub(super) async fn look_again(sessions: Weak<StoredSessions>, mut interruptions: Occurrences) {
    while interruptions.next().await {
        let Some(sessions) = sessions.upgrade() else {
            return;
        };
        for open in sessions.table.all() {
            if sessions.is_fresh(&open) || !open.is_in_use() {
                continue;
            }
            // One after the other, so that the store is not asked for all at once. A record that cannot be read
            // keeps only its own session waiting.
            let _ = sessions.check(&open).await;
            sessions.refresh(&open);
        }
    }
}
