//! Reading the log of changes to its end, whenever it has grown.

use std::sync::Weak;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;
use turnbuckle_store::{AppendAt, Position, ReadLimit, StoreError, StoreErrorKind};
use turnbuckle_types::base::change_position::ChangePosition;
use turnbuckle_types::base::text::Escaped;

use super::entry::{Entry, SharedChange};
use super::recent::RecentChanges;
use super::{BATCH_INTERVAL, Changes, RETRY_DELAYS, log_key};

/// The time after which an instance adds an entry to a quiet log, so that its positions go on.
const ALIVE_INTERVAL: Duration = Duration::from_secs(300);

/// The time after which the log is read without a message that it has grown.
pub(super) const READ_INTERVAL: Duration = Duration::from_secs(3);

/// The time after which the log is read again if it has had entries that cannot be opened twice within this time:
/// somebody with other keys writes, too.
pub(super) const UNREADABLE_DELAY: Duration = Duration::from_secs(30);

impl Changes {
    /// Reads the log to its end.
    pub(super) async fn read_log(&self) -> Result<(), StoreError> {
        let is_first = !*self.is_ready.borrow();
        let mut is_lost = false;
        loop {
            let known = self.state().recent.last();
            // The newest known entry is read again: it shows whether this is still the same log.
            let after = Position(known.number.saturating_sub(1));
            let read = self.store.read(&log_key()?, after, ReadLimit::default());
            let slice = read.await?;
            let mut entries = slice.entries.iter().map(Entry::read);
            if known.number > 0 {
                let first = entries.next().map(|entry| entry.map_or(0, |it| it.mark));
                if slice.start.0 != known.number || first != Some(known.mark) {
                    self.state().recent = RecentChanges::default();
                    is_lost = true;
                    continue;
                }
            } else if slice.start.0 > 1 {
                self.state().recent.begin_after(slice.start.0 - 1);
            }
            if entries.len() > 0 {
                is_lost |= self.receive_entries(entries, is_first || is_lost);
                continue;
            }
            if !self.keep_log_alive(known).await? {
                break;
            }
        }
        let position = self.state().recent.last();
        if let Some(receiver) = self.receiver() {
            match is_lost {
                true => receiver.receive_loss(position),
                false => receiver.receive_position(position),
            }
        }
        self.is_ready.send_replace(true);
        Ok(())
    }

    /// Receives the entries behind the newest known one. With `silently`, nobody is told of a list or a
    /// resource. Returns whether there was one of which nobody was told.
    fn receive_entries(
        &self,
        entries: impl Iterator<Item = Option<Entry>>,
        silently: bool,
    ) -> bool {
        let mut is_untold = false;
        for entry in entries {
            if entry.is_none() {
                tracing::debug!("a change that no instance of this release appends was skipped");
            }
            let change = entry.as_ref().and_then(|entry| entry.change.as_ref());
            let mark = entry.as_ref().map_or(0, |entry| entry.mark);
            let at = {
                let mut state = self.state();
                state.grew_at = Some(Instant::now());
                state.recent.push(mark, change)
            };
            let is_told = |entry: &Entry| entry.is_told && entry.origin == self.instance;
            match change {
                None => {}
                Some(_) if entry.as_ref().is_some_and(is_told) => {}
                // A topic has no position, so that nobody is told of it later.
                Some(change @ (SharedChange::Topic { .. } | SharedChange::TopicChanged(_))) => {
                    self.receive_change(change, Some(at));
                }
                Some(_) if silently => is_untold = true,
                Some(SharedChange::Everything) => {
                    if let Some(receiver) = self.receiver() {
                        receiver.receive_loss(at);
                    }
                }
                Some(change) => self.receive_change(change, Some(at)),
            }
        }
        is_untold
    }

    /// Adds an entry to a log that is empty, or has been quiet for long. Returns whether there is a new
    /// entry now.
    async fn keep_log_alive(&self, last: ChangePosition) -> Result<bool, StoreError> {
        let entry = {
            let mut state = self.state();
            let is_quiet = |at: Instant| at.elapsed() >= ALIVE_INTERVAL;
            if last.number > 0 && !state.grew_at.is_none_or(is_quiet) {
                return Ok(false);
            }
            Entry::without_change(&self.instance, state.next_mark())
        };
        // One instance is enough. If another one was faster, its entry is there.
        let next = AppendAt::Exactly(Position(last.number + 1));
        self.append(next, vec![entry.to_bytes()]).await?;
        Ok(true)
    }

    /// Goes on behind entries that cannot be opened: everything may have changed for the subscribers of this
    /// instance. Other instances can open the entries, or do the same.
    async fn skip_unreadable(&self) -> Result<(), StoreError> {
        let mark = self.state().next_mark();
        let entry = Entry::without_change(&self.instance, mark);
        // Its number tells where the log ends.
        let appended = self.append(AppendAt::End, vec![entry.to_bytes()]).await?;
        if let Some(Position(number)) = appended {
            let position = {
                let mut state = self.state();
                state.recent.begin_after(number.saturating_sub(1));
                state.recent.push(mark, None)
            };
            if let Some(receiver) = self.receiver() {
                receiver.receive_loss(position);
            }
            self.is_ready.send_replace(true);
        }
        Ok(())
    }
}

/// Reads the log whenever it has grown, until `end`.
pub(super) async fn follow_log(
    changes: Weak<Changes>,
    mut end: watch::Receiver<bool>,
    mut interruptions: watch::Receiver<u64>,
) {
    let Some(grew) = changes.upgrade().map(|changes| changes.grew.clone()) else {
        return;
    };
    let mut skipped_at: Option<Instant> = None;
    while let Some(instance) = changes.upgrade() {
        let pause = match instance.read_log().await {
            Ok(()) => BATCH_INTERVAL,
            Err(error) if is_unreadable(&error) => {
                tracing::warn!(
                    error = %Escaped(&error),
                    "changes in the store cannot be read: subscribers are told that everything may \
                     have changed"
                );
                match instance.skip_unreadable().await {
                    Ok(()) => match skipped_at.replace(Instant::now()) {
                        Some(before) if before.elapsed() < UNREADABLE_DELAY => UNREADABLE_DELAY,
                        _ => BATCH_INTERVAL,
                    },
                    Err(_) => RETRY_DELAYS[1],
                }
            }
            Err(error) => {
                tracing::debug!(error = %Escaped(&error), "the log of changes was not read");
                RETRY_DELAYS[0]
            }
        };
        drop(instance);
        let next = async {
            tokio::time::sleep(pause).await;
            tokio::select! {
                () = grew.notified() => {}
                Ok(()) = interruptions.changed() => {}
                () = tokio::time::sleep(READ_INTERVAL) => {}
            }
        };
        tokio::select! {
            _ = end.wait_for(|end| *end) => return,
            () = next => {}
        }
    }
}

/// Returns whether an error is of what the store keeps, and stays however often it is read.
fn is_unreadable(error: &StoreError) -> bool {
    matches!(
        error.kind(),
        StoreErrorKind::Corrupt | StoreErrorKind::UnknownKey
    )
}
