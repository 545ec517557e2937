//! The recent changes in the log, as this instance has read them: what somebody who comes back is told.

use std::collections::{BTreeMap, VecDeque};

use turnbuckle_types::base::change_position::ChangePosition;

use super::entry::{ChangeKey, SharedChange};

/// The most entries whose positions are known.
pub(super) const MAX_ENTRIES: usize = 10_000;

/// The most bytes of changes that are remembered.
const MAX_BYTES: usize = 1 << 20;

/// The latest position of each change, for as far back as the bounds allow.
#[derive(Debug, Default)]
pub(super) struct RecentChanges {
    /// The number of the newest entry.
    last: u64,
    /// The marks of the newest entries.
    marks: VecDeque<u32>,
    positions: BTreeMap<ChangeKey, u64>,
    /// The changes by their latest positions.
    order: BTreeMap<u64, SharedChange>,
    /// The number up to which changes were forgotten.
    forgotten: u64,
    bytes: usize,
}

impl RecentChanges {
    /// Returns the position of the newest entry.
    pub(super) fn last(&self) -> ChangePosition {
        ChangePosition {
            number: self.last,
            mark: self.marks.back().copied().unwrap_or_default(),
        }
    }

    /// Goes on behind the entry of this number, with nothing before it known.
    pub(super) fn begin_after(&mut self, number: u64) {
        *self = Self {
            last: number,
            forgotten: number,
            ..Self::default()
        };
    }

    /// Adds the entry behind the newest one.
    pub(super) fn push(&mut self, mark: u32, change: Option<&SharedChange>) -> ChangePosition {
        self.last += 1;
        self.marks.push_back(mark);
        if self.marks.len() > MAX_ENTRIES {
            self.marks.pop_front();
        }
        match change {
            // Nobody comes back to a topic.
            None | Some(SharedChange::Topic { .. } | SharedChange::TopicChanged(_)) => {}
            Some(SharedChange::Everything) => {
                self.positions.clear();
                self.order.clear();
                self.bytes = 0;
                self.forgotten = self.last;
            }
            Some(change) => {
                match self.positions.insert(change.key(), self.last) {
                    Some(earlier) => drop(self.order.remove(&earlier)),
                    None => self.bytes += change.bytes(),
                }
                self.order.insert(self.last, change.clone());
            }
        }
        while self.bytes > MAX_BYTES || self.order.len() > MAX_ENTRIES {
            let Some((number, change)) = self.order.pop_first() else {
                break;
            };
            self.positions.remove(&change.key());
            self.bytes -= change.bytes();
            self.forgotten = number;
        }
        self.last()
    }

    /// Returns the changes since a position, each at its latest one. `None` if they are not known: the
    /// position is too old, or none of this log.
    pub(super) fn since(
        &self,
        position: ChangePosition,
    ) -> Option<Vec<(SharedChange, ChangePosition)>> {
        if position.number < self.forgotten || self.mark(position.number)? != position.mark {
            return None;
        }
        let since = self.order.range(position.number.checked_add(1)?..);
        let changes = since.map(|(number, change)| {
            let mark = self.mark(*number).unwrap_or_default();
            let number = *number;
            (change.clone(), ChangePosition { number, mark })
        });
        Some(changes.collect())
    }

    /// Returns the mark of an entry, if it is known.
    fn mark(&self, number: u64) -> Option<u32> {
        let behind = usize::try_from(self.last.checked_sub(number)?).ok()?;
        let index = self.marks.len().checked_sub(behind + 1)?;
        self.marks.get(index).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resource(number: usize) -> SharedChange {
        SharedChange::Resource(format!("r:{number}").into())
    }

    fn position(number: u64) -> ChangePosition {
        let mark = u32::try_from(number).unwrap() * 10;
        ChangePosition { number, mark }
    }

    /// Adds a change whose mark is ten times its number.
    fn push(recent: &mut RecentChanges, change: &SharedChange) {
        let mark = position(recent.last + 1).mark;
        recent.push(mark, Some(change));
    }

    #[test]
    fn who_comes_back_is_told_each_change_once_at_its_latest_position() {
        let mut recent = RecentChanges::default();
        for number in [1, 2, 1, 3, 1] {
            push(&mut recent, &resource(number));
        }
        recent.push(60, None);
        let since = |number| recent.since(position(number)).unwrap();
        let [one, two, three] = [
            (resource(1), position(5)),
            (resource(2), position(2)),
            (resource(3), position(4)),
        ];
        assert_eq!(since(1), [two, three.clone(), one.clone()]);
        assert_eq!(since(3), [three, one.clone()]);
        assert_eq!(since(4), [one]);
        assert_eq!((since(5), since(6)), (vec![], vec![]));
        assert_eq!(recent.last(), position(6));
    }

    #[test]
    fn positions_of_another_log_or_beyond_the_end_are_unknown() {
        let mut recent = RecentChanges::default();
        assert_eq!(recent.since(ChangePosition::default()), None, "empty");
        (0..5).for_each(|number| push(&mut recent, &resource(number)));
        for (number, mark) in [(0, 0), (3, 31), (5, 0), (6, 60), (u64::MAX, 0)] {
            let unknown = ChangePosition { number, mark };
            assert_eq!(recent.since(unknown), None, "{unknown}");
        }
        assert!(recent.since(position(3)).is_some());
    }

    #[test]
    fn what_is_remembered_is_bounded_and_what_is_forgotten_is_known_to_be() {
        let mut recent = RecentChanges::default();
        let long = |number: usize| {
            let uri = format!("{number}{}", "x".repeat(1000));
            SharedChange::Resource(uri.into())
        };
        for number in 0..MAX_ENTRIES + 10 {
            push(&mut recent, &long(number));
        }
        assert!(recent.bytes <= MAX_BYTES && recent.marks.len() == MAX_ENTRIES);
        assert_eq!(recent.positions.len(), recent.order.len());
        let forgotten = recent.forgotten;
        assert_eq!(recent.since(position(forgotten - 1)), None);
        assert_eq!(
            recent.since(position(forgotten)).unwrap().len(),
            recent.order.len()
        );
        push(&mut recent, &SharedChange::Everything);
        assert_eq!(recent.since(position(recent.last - 1)), None);
        assert_eq!(recent.since(recent.last()).unwrap(), []);
        assert_eq!(recent.bytes, 0);
    }
}
