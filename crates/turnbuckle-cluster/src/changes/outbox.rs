//! The changes of this instance that wait to be appended to the log.

use std::collections::BTreeMap;

use super::entry::{ChangeKey, SharedChange};

/// The most changes that wait. With one more they become [`SharedChange::Everything`].
const MAX_WAITING: usize = 4096;

/// The most bytes of changes that wait, likewise.
const MAX_WAITING_BYTES: usize = 1 << 20;

/// The most changes of one append, and their bytes.
const MAX_BATCH: usize = 256;
const MAX_BATCH_BYTES: usize = 512 << 10;

/// A change that waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Waiting {
    pub(super) change: SharedChange,
    /// True if the subscribers of this instance were told of it.
    pub(super) is_told: bool,
}

/// The changes that wait, in order. Of changes of the same thing, the latest waits alone.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    numbers: BTreeMap<ChangeKey, u64>,
    waiting: BTreeMap<u64, Waiting>,
    last_number: u64,
    bytes: usize,
}

impl Outbox {
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Returns the number of the newest change that was added.
    pub(super) fn last_number(&self) -> u64 {
        self.last_number
    }

    /// Adds a change.
    pub(super) fn push(&mut self, new: Waiting) {
        if let Some(waiting) = self
            .numbers
            .get(&new.change.key())
            .and_then(|number| self.waiting.get_mut(number))
        {
            self.bytes = self.bytes + new.change.bytes() - waiting.change.bytes();
            waiting.is_told &= new.is_told;
            waiting.change = new.change;
        } else {
            self.last_number += 1;
            self.insert(self.last_number, new);
        }
        if self.waiting.len() > MAX_WAITING || self.bytes > MAX_WAITING_BYTES {
            tracing::warn!(
                "more than {MAX_WAITING} changes wait for the store: subscribers will be told that \
                 everything may have changed"
            );
            *self = Self {
                last_number: self.last_number + 1,
                ..Self::default()
            };
            let everything = Waiting {
                change: SharedChange::Everything,
                is_told: false,
            };
            self.insert(self.last_number, everything);
        }
    }

    fn insert(&mut self, number: u64, waiting: Waiting) {
        self.bytes += waiting.change.bytes();
        self.numbers.insert(waiting.change.key(), number);
        self.waiting.insert(number, waiting);
    }

    /// Takes the changes of the next append, with their places.
    pub(super) fn take_batch(&mut self) -> Vec<(u64, Waiting)> {
        let mut batch = Vec::new();
        let mut bytes = 0;
        while let Some((number, first)) = self.waiting.first_key_value() {
            bytes += first.change.bytes();
            if batch.len() == MAX_BATCH || (bytes > MAX_BATCH_BYTES && !batch.is_empty()) {
                break;
            }
            let number = *number;
            if let Some(taken) = self.waiting.remove(&number) {
                self.bytes -= taken.change.bytes();
                self.numbers.remove(&taken.change.key());
                batch.push((number, taken));
            }
        }
        batch
    }

    /// Puts back a batch that was not appended. Later changes of the same things stay in its place.
    pub(super) fn put_back(&mut self, batch: Vec<(u64, Waiting)>) {
        for (number, waiting) in batch {
            if !self.numbers.contains_key(&waiting.change.key()) {
                self.insert(number, waiting);
            }
        }
    }

    /// Marks all changes as told, and returns those that were not.
    pub(super) fn mark_told(&mut self) -> Vec<SharedChange> {
        let untold = self.waiting.values_mut().filter(|it| !it.is_told);
        untold
            .map(|waiting| {
                waiting.is_told = true;
                waiting.change.clone()
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    fn resource(number: usize) -> SharedChange {
        SharedChange::Resource(format!("r:{number}").into())
    }

    fn untold(change: SharedChange) -> Waiting {
        Waiting {
            change,
            is_told: false,
        }
    }

    fn take(outbox: &mut Outbox) -> Vec<SharedChange> {
        let batch = outbox.take_batch().into_iter();
        batch.map(|(_, waiting)| waiting.change).collect()
    }

    #[test]
    fn changes_of_one_thing_wait_as_one_with_the_latest_contents() {
        let mut outbox = Outbox::default();
        let topic = |params: &'static [u8]| SharedChange::Topic {
            topic: "t".into(),
            method: "m".into(),
            params: Bytes::from_static(params),
        };
        for change in [topic(b"{}"), resource(1), topic(b"{\"a\":1}"), resource(1)] {
            outbox.push(untold(change));
        }
        assert_eq!(take(&mut outbox), [topic(b"{\"a\":1}"), resource(1)]);
        assert!(outbox.is_empty() && outbox.bytes == 0 && outbox.numbers.is_empty());
    }

    #[test]
    fn a_batch_that_was_not_appended_comes_first_again() {
        let mut outbox = Outbox::default();
        outbox.push(untold(resource(1)));
        outbox.push(untold(resource(2)));
        let batch = outbox.take_batch();
        outbox.push(untold(resource(3)));
        outbox.push(untold(resource(2)));
        outbox.put_back(batch);
        assert_eq!(
            take(&mut outbox),
            [resource(1), resource(3), resource(2)],
            "the later change of 2 stays"
        );
        assert_eq!(outbox.bytes, 0);
    }

    #[test]
    fn subscribers_here_are_told_once_of_what_waits() {
        let mut outbox = Outbox::default();
        outbox.push(untold(resource(1)));
        assert_eq!(outbox.mark_told(), [resource(1)]);
        assert_eq!(outbox.mark_told(), []);
        outbox.push(untold(resource(1)));
        assert_eq!(outbox.mark_told(), [resource(1)], "it changed again");
    }

    #[test]
    fn too_many_changes_become_everything() {
        let mut outbox = Outbox::default();
        (0..MAX_WAITING).for_each(|number| outbox.push(untold(resource(number))));
        assert_eq!(outbox.waiting.len(), MAX_WAITING);
        outbox.push(untold(resource(MAX_WAITING)));
        assert_eq!(take(&mut outbox), [SharedChange::Everything]);
        let large = |number: usize| SharedChange::Topic {
            topic: number.to_string().into(),
            method: "m".into(),
            params: Bytes::from(vec![b' '; MAX_BATCH_BYTES]),
        };
        outbox.push(untold(large(1)));
        assert_eq!(take(&mut outbox).len(), 1, "one is taken however large");
        (0..2).for_each(|number| outbox.push(untold(large(number))));
        assert_eq!(take(&mut outbox), [SharedChange::Everything]);
    }
}
