//! A table of bounded size, by key: rates and accounts of many owners.

use std::collections::HashMap;
use std::time::Duration;

use tokio::time::Instant;

/// The shortest time between two removals of idle values.
const MIN_SWEEP_INTERVAL: Duration = Duration::from_secs(1);

/// Values by key, at most so many. When the table is full, idle values make room: those that a new
/// value could replace without a difference.
#[derive(Debug)]
pub(crate) struct BoundedTable<V> {
    by_key: HashMap<u64, V>,
    max_keys: usize,
    /// The time at which idle values were last removed.
    last_sweep: Option<Instant>,
}

impl<V> BoundedTable<V> {
    pub(crate) fn new(max_keys: usize) -> Self {
        Self {
            by_key: HashMap::new(),
            max_keys,
            last_sweep: None,
        }
    }

    /// Returns the value of a key, made by `new` if there is none. Returns `None` if the table is full
    /// and no value of it is idle.
    pub(crate) fn get_or_insert(
        &mut self,
        key: u64,
        is_idle: impl Fn(&V, Instant) -> bool,
        new: impl FnOnce() -> V,
    ) -> Option<&V> {
        if self.by_key.len() >= self.max_keys && !self.by_key.contains_key(&key) {
            self.sweep(is_idle);
            if self.by_key.len() >= self.max_keys {
                return None;
            }
        }
        Some(self.by_key.entry(key).or_insert_with(new))
    }

    fn sweep(&mut self, is_idle: impl Fn(&V, Instant) -> bool) {
        let now = Instant::now();
        let is_recent = |sweep: Instant| now.saturating_duration_since(sweep) < MIN_SWEEP_INTERVAL;
        if !self.last_sweep.is_some_and(is_recent) {
            self.last_sweep = Some(now);
            self.by_key.retain(|_, value| !is_idle(value, now));
        }
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.by_key.len()
    }
}
