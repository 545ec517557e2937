//! Counts of resources at the start, at most, and at the end; and which of them are too many.

use std::collections::BTreeMap;
use std::fmt;

/// Counts by name.
pub(crate) type Counts = BTreeMap<String, usize>;

/// The one that is no count, and may end a tenth above its start.
const RESIDENT: &str = "resident KiB";

/// Kibibytes that a process may grow by beside that: an allocator keeps pages in whole.
const PAGES: usize = 1024;

/// A table of counts.
#[derive(Debug, Clone)]
pub(crate) struct Table {
    start: Counts,
    peak: Counts,
    end: Counts,
    /// True if what is resident is held to its start too.
    holds_memory: bool,
}

impl Table {
    pub(crate) fn new(start: Counts) -> Self {
        Self {
            peak: start.clone(),
            end: start.clone(),
            start,
            holds_memory: true,
        }
    }

    /// Tells what is resident and holds it to nothing: an allocator takes a while to have all the
    /// pages that a load can scatter its blocks over.
    pub(crate) fn counts_only(mut self) -> Self {
        self.holds_memory = false;
        self
    }

    /// Looks once more.
    pub(crate) fn sample(&mut self, now: Counts) {
        for (name, count) in &now {
            let peak = self.peak.entry(name.clone()).or_default();
            *peak = (*peak).max(*count);
        }
        self.end = now;
    }

    /// Kibibytes that are resident now.
    pub(crate) fn resident(&self) -> usize {
        self.end.get(RESIDENT).copied().unwrap_or_default()
    }

    /// Returns what there is more of than there was.
    pub(crate) fn left(&self) -> Vec<String> {
        let grown = self.end.iter().filter_map(|(name, end)| {
            let start = self.start.get(name).copied().unwrap_or_default();
            let allowed = match (name == RESIDENT, self.holds_memory) {
                (true, true) => start + start / 10 + PAGES,
                (true, false) => usize::MAX,
                (false, _) => start,
            };
            (*end > allowed).then(|| format!("{name}: {start} at the start, {end} at the end"))
        });
        grown.collect()
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:<20}{:>12}{:>12}{:>12}", "", "start", "peak", "end")?;
        for (name, peak) in &self.peak {
            let count = |counts: &Counts| counts.get(name).copied().unwrap_or_default();
            let (start, end) = (count(&self.start), count(&self.end));
            writeln!(f, "{name:<20}{start:>12}{peak:>12}{end:>12}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(tasks: usize, resident: usize) -> Counts {
        [("tasks", tasks), (RESIDENT, resident)]
            .map(|(name, count)| (name.to_owned(), count))
            .into()
    }

    #[test]
    fn what_is_back_is_not_left_and_what_is_not_is_named() {
        let mut table = Table::new(counts(3, 100_000));
        table.sample(counts(9, 500_000));
        table.sample(counts(3, 111_000));
        assert_eq!(table.left(), [""; 0]);
        table.sample(counts(4, 112_000));
        assert_eq!(
            table.left(),
            [
                "resident KiB: 100000 at the start, 112000 at the end",
                "tasks: 3 at the start, 4 at the end",
            ]
        );
        assert!(table.to_string().contains("500000"));
        let left = table.counts_only().left();
        assert_eq!(left, ["tasks: 3 at the start, 4 at the end"]);
    }
}
