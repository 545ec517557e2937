//! The lines in which a changed text differs from the former one.

use std::fmt;

/// A line that was removed or added.
pub(super) struct ChangedLine<'a> {
    /// The number of the line, in the old text if it was removed, else in the new one.
    number: usize,
    pub(super) is_added: bool,
    text: &'a str,
}

impl fmt::Display for ChangedLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.is_added { '+' } else { '-' };
        write!(f, "{:>5} {sign} {}", self.number, self.text)
    }
}

/// Returns the lines that were removed and then those that were added. A change stands in one place, so that all
/// lines between the first and the last difference count as changed.
pub(super) fn changed_lines<'a>(old: &'a str, new: &'a str) -> Vec<ChangedLine<'a>> {
    let old: Vec<&str> = old.lines().collect();
    let new: Vec<&str> = new.lines().collect();
    let (before, after) = common_lines(&old, &new);
    let numbered = |lines: &[&'a str], is_added| {
        let changed = lines[before..lines.len() - after].iter().zip(before + 1..);
        let changed = changed.map(|(text, number)| ChangedLine {
            number,
            is_added,
            text,
        });
        changed.collect::<Vec<_>>()
    };
    let mut changed = numbered(&old, false);
    changed.extend(numbered(&new, true));
    changed
}

/// Returns how many lines two texts have in common at their beginning, and at their end after those.
pub(super) fn common_lines<T: PartialEq>(old: &[T], new: &[T]) -> (usize, usize) {
    let is_same = |(old, new): &(&T, &T)| old == new;
    let before = old.iter().zip(new).take_while(is_same).count();
    let after = old[before..].iter().rev().zip(new[before..].iter().rev());
    (before, after.take_while(is_same).count())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_differ_are_numbered() {
        let changed = |old, new| {
            let lines = changed_lines(old, new);
            lines.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(
            changed("a\nb\nc\n", "a\nx\ny\nc\n"),
            ["    2 - b", "    2 + x", "    3 + y"]
        );
        assert_eq!(changed("", "a\n"), ["    1 + a"]);
        assert_eq!(changed("a\na\n", "a\na\na\n"), ["    3 + a"]);
        assert!(changed("a\n", "a\n").is_empty());
    }
}
