//! Versions of everything that the page shows, by topic, and waiting for a change of them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

use crate::api::Versions;

/// The shortest time between two batches of changes.
const BATCH_INTERVAL: Duration = Duration::from_millis(50);

/// The version of each topic. Clones share them.
#[derive(Clone)]
pub struct Changes(Arc<State>);

struct State {
    versions: Mutex<Versions>,
    /// The number of changes of all topics.
    count: watch::Sender<u64>,
}

impl Default for Changes {
    fn default() -> Self {
        Self(Arc::new(State {
            versions: Mutex::default(),
            count: watch::channel(0).0,
        }))
    }
}

impl Changes {
    /// Records a change of a topic.
    pub(crate) fn add(&self, topic: &str) {
        match self.lock() {
            mut versions if versions.contains_key(topic) => {
                if let Some(version) = versions.get_mut(topic) {
                    *version += 1;
                }
            }
            mut versions => {
                versions.insert(topic.to_owned(), 1);
            }
        }
        self.0.count.send_modify(|count| *count += 1);
    }

    /// Removes the topics of a session that is gone.
    pub(crate) fn remove_session(&self, session: &str) {
        let is_of_session = |topic: &str| topic.split('/').nth(1) == Some(session);
        self.lock().retain(|topic, _| !is_of_session(topic));
    }

    /// Returns the version of each topic.
    #[must_use]
    pub fn versions(&self) -> Versions {
        self.lock().clone()
    }

    /// Returns the batches of changes after the versions that a reader knows.
    #[must_use]
    pub fn batches(&self, known: Versions) -> ChangeBatches {
        ChangeBatches {
            changes: self.clone(),
            count: self.0.count.subscribe(),
            known,
            last: None,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Versions> {
        self.0
            .versions
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// Batches of changes for one reader, at least 50 ms apart.
pub struct ChangeBatches {
    changes: Changes,
    count: watch::Receiver<u64>,
    known: Versions,
    /// The time of the last batch.
    last: Option<Instant>,
}

impl ChangeBatches {
    /// Waits for changes and returns the new versions of the topics that have changed.
    pub async fn next(&mut self) -> Versions {
        loop {
            if let Some(last) = self.last {
                tokio::time::sleep_until(last + BATCH_INTERVAL).await;
            }
            self.count.mark_unchanged();
            let versions = self.changes.versions();
            let is_new = |topic: &String, version: &u64| self.known.get(topic) != Some(version);
            let changed = versions
                .iter()
                .filter(|(topic, version)| is_new(topic, version));
            let changed: Versions = changed
                .map(|(topic, version)| (topic.clone(), *version))
                .collect();
            self.known = versions;
            if !changed.is_empty() {
                self.last = Some(Instant::now());
                return changed;
            }
            // The sender lives as long as the changes here.
            let _ = self.count.changed().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn changes_come_in_batches_50_ms_apart() {
        let changes = Changes::default();
        changes.add("inbox");
        let mut batches = changes.batches(changes.versions());
        let start = Instant::now();
        changes.add("timeline");
        changes.add("inbox");
        let expected = |topics: &[(&str, u64)]| -> Versions {
            topics
                .iter()
                .map(|(topic, version)| ((*topic).to_owned(), *version))
                .collect()
        };
        assert_eq!(
            batches.next().await,
            expected(&[("inbox", 2), ("timeline", 1)])
        );
        assert_eq!(start.elapsed(), Duration::ZERO);
        changes.add("timeline");
        assert_eq!(batches.next().await, expected(&[("timeline", 2)]));
        assert_eq!(start.elapsed(), BATCH_INTERVAL);
        let nothing = tokio::time::timeout(Duration::from_secs(9), batches.next());
        assert!(nothing.await.is_err());
    }

    #[test]
    fn the_topics_of_a_session_go_with_it() {
        let changes = Changes::default();
        for topic in ["items/s1/tools", "check/s1", "items/s10/tools", "timeline"] {
            changes.add(topic);
        }
        changes.remove_session("s1");
        let topics: Vec<_> = changes.versions().into_keys().collect();
        assert_eq!(topics, ["items/s10/tools", "timeline"]);
    }
}
