//! Values of attributes of metrics that a program or a peer makes up: a bounded number of each.

use std::collections::BTreeSet;
use std::sync::{PoisonError, RwLock};

/// The value that stands for all values beyond a bound.
pub(super) const OTHER: &str = "_OTHER";

/// The first values of one attribute. Each value of an attribute makes a series of its own, which the
/// process keeps to its end, so later values are all [`OTHER`].
pub(super) struct DistinctValues {
    max: usize,
    values: RwLock<BTreeSet<Box<str>>>,
}

impl DistinctValues {
    pub(super) const fn new(max: usize) -> Self {
        Self {
            max,
            values: RwLock::new(BTreeSet::new()),
        }
    }

    /// Returns the value if it is one of the first ones, and else [`OTHER`].
    pub(super) fn bound<'a>(&self, value: &'a str) -> &'a str {
        let (is_known, is_full) = {
            let values = self.values.read().unwrap_or_else(PoisonError::into_inner);
            (values.contains(value), values.len() >= self.max)
        };
        match is_known || (!is_full && self.insert(value)) {
            true => value,
            false => OTHER,
        }
    }

    /// Adds a value unless there is no room. Returns whether it is there.
    fn insert(&self, value: &str) -> bool {
        let mut values = self.values.write().unwrap_or_else(PoisonError::into_inner);
        // Another thread may have filled the set meanwhile.
        if values.len() < self.max {
            values.insert(value.into());
        }
        values.contains(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_beyond_the_bound_are_one_value() {
        let values = DistinctValues::new(2);
        let bounded = ["a", "b", "c", "a", "d", "b"].map(|value| values.bound(value));
        assert_eq!(bounded, ["a", "b", OTHER, "a", OTHER, "b"]);
    }
}
