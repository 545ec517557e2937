//! Search for a text in the names and values of a document.

use super::document::{Document, Value};
use crate::api::{Match, Matches};

/// The most matches of one answer.
const MAX_MATCHES: usize = 200;

/// The longest text that is searched for, in bytes.
const MAX_NEEDLE_BYTES: usize = 1024;

impl Document {
    /// Finds a text in names and in values that have no children, from a byte on. Letters of ASCII match
    /// in either case. The text is searched for as it was sent, and as JSON escapes it.
    #[must_use]
    pub fn search(&self, needle: &str, from: usize) -> Matches {
        let found = self.root().map(|root| self.search_in(root, needle, from));
        found.unwrap_or_default()
    }

    /// Finds a text in the value at a path, as [`search`](Self::search) does. Bytes and paths are counted
    /// from that value on.
    #[must_use]
    pub fn search_at(&self, path: &str, needle: &str, from: usize) -> Option<Matches> {
        if path.is_empty() {
            return Some(self.search(needle, from));
        }
        Some(self.search_in(self.find(path)?, needle, from))
    }

    fn search_in(&self, root: Value<'_>, needle: &str, from: usize) -> Matches {
        let mut found = Matches::default();
        if needle.is_empty() || needle.len() > MAX_NEEDLE_BYTES {
            return found;
        }
        let escaped = serde_json::to_string(needle).unwrap_or_default();
        let needle = escaped.trim_start_matches('"');
        let needle = needle.strip_suffix('"').unwrap_or(needle).as_bytes();
        let mut cursor = PathCursor::new(self, root);
        let range = root.range();
        let text = &self.text()[..range.end];
        let mut at = range.start.saturating_add(from);
        while let Some(start) = find_ignoring_case(text, needle, at) {
            let offset = (start - range.start) as u64;
            if found.matches.len() == MAX_MATCHES {
                found.next = Some(offset);
                break;
            }
            at = start + 1;
            if let Some((value, is_key)) = self.scalar_at(start, start + needle.len()) {
                found.matches.push(Match {
                    path: cursor.path_of(value),
                    at: offset,
                    is_key,
                });
            }
        }
        found
    }

    /// Returns the value, or the value with the name, that has the bytes of a range.
    fn scalar_at(&self, start: usize, end: usize) -> Option<(Value<'_>, bool)> {
        let behind = self
            .nodes()
            .partition_point(|node| node.start as usize <= start);
        let before = behind.checked_sub(1).and_then(|at| self.value(at as u32));
        if let Some(value) =
            before.filter(|value| end <= value.range().end && !value.is_container())
        {
            return Some((value, false));
        }
        let value = self.value(behind as u32)?;
        let key = value.node().key as usize;
        let length = value.raw_key()?.len();
        (key <= start && end <= key + length).then_some((value, true))
    }
}

/// Finds bytes from an offset on.
pub(crate) fn find_ignoring_case(text: &[u8], needle: &[u8], from: usize) -> Option<usize> {
    let first = *needle.first()?;
    let (lower, upper) = (first.to_ascii_lowercase(), first.to_ascii_uppercase());
    let last = text.len().checked_sub(needle.len())?;
    let mut at = from;
    while at <= last {
        at += memchr::memchr2(lower, upper, &text[at..=last])?;
        if text[at..at + needle.len()].eq_ignore_ascii_case(needle) {
            return Some(at);
        }
        at += 1;
    }
    None
}

/// Finds the paths of values in ascending order, in one pass over the document.
struct PathCursor<'d> {
    document: &'d Document,
    /// The value at which paths begin.
    root: u32,
    /// The values around the last one, each with the index of the child on the way and of its place
    /// among its siblings.
    levels: Vec<(u32, u32, u32)>,
}

impl<'d> PathCursor<'d> {
    fn new(document: &'d Document, root: Value<'_>) -> Self {
        Self {
            document,
            root: root.at,
            levels: vec![(root.at, root.at + 1, 0)],
        }
    }

    fn path_of(&mut self, value: Value<'_>) -> String {
        let nodes = self.document.nodes();
        while self.levels.len() > 1 {
            let (container, ..) = self.levels[self.levels.len() - 1];
            if value.at < nodes[container as usize].next {
                break;
            }
            self.levels.pop();
        }
        while let Some((_, child, ordinal)) = self.levels.last_mut() {
            if value.at < *child {
                break;
            }
            while nodes[*child as usize].next <= value.at {
                *child = nodes[*child as usize].next;
                *ordinal += 1;
            }
            let child = *child;
            if child == value.at {
                break;
            }
            self.levels.push((child, child + 1, 0));
        }
        if value.at == self.root {
            return String::new();
        }
        let steps: Vec<_> = self
            .levels
            .iter()
            .map(|level| level.2.to_string())
            .collect();
        steps.join(".")
    }
}
