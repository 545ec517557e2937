//! The lease by which an instance shows that it is there, and the mark by which it notices that the store
//! has lost what it kept.

use std::sync::{Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use bytes::Bytes;
use foldhash::{HashMap, HashMapExt as _};
use tokio::sync::watch;
use tokio::time::Instant;
use turnbuckle_store::{Condition, StoreError, StoreErrorKind, StoreKey};
use turnbuckle_types::base::random;
use turnbuckle_types::base::text::Escaped;

use super::{Cluster, Occurrences};
use crate::message::MessageKind;

/// The time after which an instance that no longer renews its lease counts as ended. With the age of an
/// answer about it and the time between two looks, its open requests end within 10 seconds.
pub const LEASE_TTL: Duration = Duration::from_secs(7);

/// The time between two renewals.
const RENEW_INTERVAL: Duration = Duration::from_secs(2);

/// The time for which an answer about another instance is used again.
const ANSWER_TTL: Duration = Duration::from_secs(1);

/// The most instances about which an answer is kept.
const MAX_ANSWERS: usize = 1024;

/// The time that the mark of the store lives. It is renewed every hour.
const MARK_TTL: Duration = Duration::from_secs(90 * 24 * 3600);
const MARK_INTERVAL: Duration = Duration::from_secs(3600);

/// The time after an emptied store was noticed in which other instances may put back what they know.
const REFILL_TIME: Duration = Duration::from_secs(10);

/// The knowledge of an instance about the leases of others, and of the mark of the store.
#[derive(Debug)]
pub(super) struct Leases {
    answers: Mutex<HashMap<Box<str>, (Instant, bool)>>,
    mark: Mutex<Mark>,
    /// The number of times that the store was found emptied.
    pub(super) losses: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct Mark {
    value: Option<Bytes>,
    /// The time at which an emptied store was last noticed.
    emptied_at: Option<Instant>,
    renewed_at: Option<Instant>,
}

impl Default for Leases {
    fn default() -> Self {
        Self {
            answers: Mutex::new(HashMap::new()),
            mark: Mutex::default(),
            losses: watch::Sender::new(0),
        }
    }
}

impl Leases {
    fn answers(&self) -> MutexGuard<'_, HashMap<Box<str>, (Instant, bool)>> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn mark(&self) -> MutexGuard<'_, Mark> {
        self.mark.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn lease_key(instance: &str) -> Result<StoreKey, StoreError> {
    StoreKey::new(format!("instance/{instance}"))
}

fn mark_key() -> Result<StoreKey, StoreError> {
    StoreKey::new("mark")
}

impl Cluster {
    /// Returns whether an instance is there: it has renewed its lease within 7 seconds, and was not
    /// stopped since. An answer of the last second is used again.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn is_alive(&self, instance: &str) -> Result<bool, StoreError> {
        if *instance == **self.instance() {
            return Ok(true);
        }
        let now = Instant::now();
        if let Some((at, is_alive)) = self.leases.answers().get(instance)
            && now.saturating_duration_since(*at) < ANSWER_TTL
        {
            return Ok(*is_alive);
        }
        let is_alive = self.store().get(&lease_key(instance)?).await?.is_some();
        let mut answers = self.leases.answers();
        if answers.len() >= MAX_ANSWERS {
            answers.clear();
        }
        answers.insert(instance.into(), (now, is_alive));
        Ok(is_alive)
    }

    /// Looks at the mark of the store. Returns whether the store was found emptied less than 10 seconds
    /// ago: other instances may know what it no longer keeps.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn was_emptied(&self) -> Result<bool, StoreError> {
        let key = mark_key()?;
        let found = match self.store().get(&key).await? {
            Some(found) => found.value,
            None => self.put_mark(&key).await?,
        };
        let now = Instant::now();
        let mut mark = self.leases.mark();
        let is_other = mark.value.as_ref().is_some_and(|known| *known != found);
        mark.value = Some(found);
        if is_other {
            mark.emptied_at = Some(now);
        }
        let emptied_at = mark.emptied_at;
        drop(mark);
        if is_other {
            tracing::warn!("the store has lost what it kept; what this instance knows is put back");
            self.leases.losses.send_modify(|count| *count += 1);
        }
        Ok(emptied_at.is_some_and(|at| now.saturating_duration_since(at) < REFILL_TIME))
    }

    /// Puts a new mark into a store without one, and returns the mark that is there then.
    async fn put_mark(&self, key: &StoreKey) -> Result<Bytes, StoreError> {
        let unavailable = |why: String| StoreError::new(StoreErrorKind::Unavailable, why);
        let new = random::id().map_err(|error| unavailable(error.to_string()))?;
        let new = Bytes::from(new);
        let put = self
            .store()
            .put(key, new.clone(), Condition::Absent, MARK_TTL);
        if put.await?.is_some() {
            self.broadcast(MessageKind::StoreMarked, Bytes::new())
                .await?;
            return Ok(new);
        }
        let found = self.store().get(key).await?;
        let found =
            found.ok_or_else(|| unavailable("the mark of the store has vanished".into()))?;
        Ok(found.value)
    }

    /// Returns the number of times that the store was found emptied, to be watched.
    #[must_use]
    pub fn losses(&self) -> Occurrences {
        Occurrences(self.leases.losses.subscribe())
    }

    async fn renew(&self) -> Result<(), StoreError> {
        let lease = lease_key(self.instance())?;
        self.store()
            .put(&lease, Bytes::new(), Condition::Always, LEASE_TTL)
            .await?;
        self.was_emptied().await?;
        let now = Instant::now();
        let renewed_at = self.leases.mark().renewed_at;
        if renewed_at.is_none_or(|at| now.saturating_duration_since(at) >= MARK_INTERVAL) {
            self.store().touch(vec![mark_key()?], MARK_TTL).await?;
            self.leases.mark().renewed_at = Some(now);
        }
        Ok(())
    }

    /// Gives the lease back: other instances see at once that this one has ended.
    pub(super) async fn release_lease(&self) {
        let released = async {
            let lease = lease_key(self.instance())?;
            self.store().remove(&lease, Condition::Always).await
        };
        if let Err(error) = released.await {
            tracing::debug!(error = %Escaped(&error), "the lease of this instance ends by itself");
        }
    }
}

/// Renews the lease of an instance until `end`.
pub(super) async fn keep_lease(cluster: Weak<Cluster>, mut end: watch::Receiver<bool>) {
    let mut fails = false;
    loop {
        let Some(instance) = cluster.upgrade() else {
            return;
        };
        match instance.renew().await {
            Ok(()) => {
                if std::mem::take(&mut fails) {
                    tracing::info!("the store is back: the lease of this instance is renewed");
                }
            }
            Err(error) => {
                if !std::mem::replace(&mut fails, true) {
                    tracing::warn!(
                        error = %Escaped(&error),
                        "the lease of this instance was not renewed; others will take it for ended"
                    );
                }
            }
        }
        drop(instance);
        tokio::select! {
            _ = end.wait_for(|end| *end) => return,
            () = tokio::time::sleep(RENEW_INTERVAL) => {}
        }
    }
}
