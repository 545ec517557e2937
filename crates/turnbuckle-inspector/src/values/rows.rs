//! Lines of a tree: the values that are visible while some objects and arrays are open.

use std::collections::HashMap;

use super::document::{Document, Value, parse_path};
use super::string::excerpt;
use crate::api::{Excerpt, ValueKind, ValueRow, ValueRows};

/// The most lines of one answer.
const MAX_ROWS: usize = 2_000;

/// The most bytes of text in the lines of one answer.
const MAX_ROWS_BYTES: usize = 256 * 1024;

/// The most paths that are opened or closed by name.
const MAX_PATHS: usize = 10_000;

/// The objects and arrays of a tree that are open: those with less than `depth` values around them, but
/// for the paths that are toggled.
#[derive(Debug, Default)]
pub struct OpenPaths {
    depth: u32,
    toggled: PathTree,
}

/// A set of paths, as a tree of their steps.
#[derive(Debug, Default)]
struct PathTree {
    is_member: bool,
    steps: HashMap<u32, PathTree>,
}

impl OpenPaths {
    /// Creates a set from a depth and the paths that are toggled. Of more than 10,000 paths, and of
    /// texts that are no paths, none is read.
    pub fn new<'p>(depth: u32, toggled: impl IntoIterator<Item = &'p str>) -> Self {
        let mut paths = Self {
            depth,
            toggled: PathTree::default(),
        };
        for path in toggled.into_iter().take(MAX_PATHS) {
            let Some(steps) = parse_path(path) else {
                continue;
            };
            let mut tree = &mut paths.toggled;
            for step in steps {
                tree = tree.steps.entry(step).or_default();
            }
            tree.is_member = true;
        }
        paths
    }
}

/// An open object or array on the way through the tree.
struct Level<'d, 'p> {
    value: Value<'d>,
    /// The index of the next child among the values of the document, and among its siblings.
    next: u32,
    ordinal: u32,
    toggled: Option<&'p PathTree>,
}

/// The lines that are asked for, and the number of all lines before the end of the walk.
struct Collector {
    from: usize,
    count: usize,
    /// The value whose line is looked for.
    target: Option<u32>,
    target_index: Option<usize>,
    rows: Vec<ValueRow>,
    bytes: usize,
    total: usize,
}

impl Collector {
    fn new(from: usize, count: usize) -> Self {
        Self {
            from,
            count,
            target: None,
            target_index: None,
            rows: Vec::new(),
            bytes: 0,
            total: 0,
        }
    }

    fn is_full(&self) -> bool {
        let has_enough = self.bytes >= MAX_ROWS_BYTES && !self.rows.is_empty();
        self.rows.len() >= self.count || has_enough
    }

    fn add(&mut self, row: ValueRow) {
        self.bytes += row_bytes(&row);
        self.rows.push(row);
    }

    /// Adds the children of the last level, which are all closed. Those that are not shown are only
    /// counted.
    fn add_closed(&mut self, levels: &[Level<'_, '_>], value: Value<'_>) {
        let skip = self.from.saturating_sub(self.total);
        if let Some(target) = self.target.filter(|target| value.contains(*target)) {
            let index = value.children().position(|child| child.at == target);
            self.target_index = index.map(|index| self.total + index);
        }
        self.total += value.len();
        for (ordinal, child) in value.children_from(skip) {
            if self.is_full() {
                break;
            }
            self.add(make_row(levels, child, ordinal, false));
        }
    }
}

impl Document {
    /// Returns the lines from an index on, at most `count` and about 256 kB of text. A line is never left
    /// out: an answer with fewer lines is continued from its end.
    #[must_use]
    pub fn rows(&self, open: &OpenPaths, from: usize, count: usize) -> ValueRows {
        self.rows_of(self.root(), open, from, count)
    }

    /// Returns the lines of the value at a path, whose own paths begin behind it. An empty path is that of
    /// the whole text.
    #[must_use]
    pub fn rows_at(
        &self,
        path: &str,
        open: &OpenPaths,
        from: usize,
        count: usize,
    ) -> Option<ValueRows> {
        if path.is_empty() {
            return Some(self.rows(open, from, count));
        }
        Some(self.rows_of(Some(self.find(path)?), open, from, count))
    }

    /// Returns the index of the line of `path` below the value at `base`. The inner `None` is that of a
    /// line which is not visible.
    #[must_use]
    pub fn row_index(&self, base: &str, open: &OpenPaths, path: &str) -> Option<Option<u64>> {
        let base = self.find(base)?;
        let mut target = base;
        for step in parse_path(path)? {
            target = target.child(step)?;
        }
        let lines = Collector {
            target: Some(target.at),
            ..Collector::new(0, 0)
        };
        let lines = self.walk(Some(base), open, lines);
        Some(lines.target_index.map(|index| index as u64))
    }

    fn rows_of(
        &self,
        root: Option<Value<'_>>,
        open: &OpenPaths,
        from: usize,
        count: usize,
    ) -> ValueRows {
        let lines = self.walk(root, open, Collector::new(from, count.min(MAX_ROWS)));
        ValueRows {
            total: lines.total as u64,
            from: from as u64,
            rows: lines.rows,
            fault: self.fault().cloned(),
        }
    }

    /// Walks over the visible lines of a value.
    fn walk(&self, root: Option<Value<'_>>, open: &OpenPaths, mut lines: Collector) -> Collector {
        let mut levels: Vec<Level<'_, '_>> = Vec::new();
        let mut current = root.map(|root| (root, 0, Some(&open.toggled)));
        while let Some((value, ordinal, toggled)) = current {
            let is_toggled = toggled.is_some_and(|tree| tree.is_member);
            let is_open = value.is_container()
                && !value.is_empty()
                && ((levels.len() as u64) < u64::from(open.depth)) != is_toggled;
            if lines.total >= lines.from && !lines.is_full() {
                lines.add(make_row(&levels, value, ordinal, is_open));
            }
            if lines.target == Some(value.at) {
                lines.target_index = Some(lines.total);
                break;
            }
            lines.total += 1;
            if is_open {
                levels.push(Level {
                    value,
                    next: value.at + 1,
                    ordinal: 0,
                    toggled,
                });
                let is_plain = toggled.is_none_or(|tree| tree.steps.is_empty());
                if is_plain && levels.len() as u64 >= u64::from(open.depth) {
                    lines.add_closed(&levels, value);
                    levels.pop();
                }
            }
            current = self.next_visible(&mut levels);
        }
        lines
    }

    /// Returns the next value with its index among its siblings, and leaves the levels that have ended.
    fn next_visible<'d, 'p>(
        &'d self,
        levels: &mut Vec<Level<'d, 'p>>,
    ) -> Option<(Value<'d>, u32, Option<&'p PathTree>)> {
        loop {
            let level = levels.last_mut()?;
            if level.next < level.value.node().next {
                let value = self.value(level.next)?;
                let ordinal = level.ordinal;
                level.next = value.node().next;
                level.ordinal += 1;
                let toggled = level.toggled.and_then(|tree| tree.steps.get(&ordinal));
                return Some((value, ordinal, toggled));
            }
            levels.pop();
        }
    }
}

fn make_row(levels: &[Level<'_, '_>], value: Value<'_>, ordinal: u32, is_open: bool) -> ValueRow {
    let parent = levels.last().map(|level| level.value);
    let is_member = parent.filter(|parent| parent.kind() == ValueKind::Object);
    ValueRow {
        path: path_of(levels, ordinal),
        depth: levels.len() as u32,
        // The first line is the value itself, whoever has it as a member.
        key: parent.and_then(|_| value.raw_key()).map(|key| {
            let excerpt = excerpt(key);
            Excerpt {
                text: format!(
                    "\"{}{}",
                    excerpt.text,
                    if excerpt.cut.is_none() { "\"" } else { "" }
                ),
                cut: excerpt.cut.map(|cut| cut + 2),
            }
        }),
        is_duplicate: is_member.is_some_and(|parent| parent.duplicates().contains(&value.at)),
        kind: value.kind(),
        text: (!value.is_container()).then(|| excerpt(value.raw())),
        children: value.len() as u64,
        size: value.range().len() as u64,
        is_open,
    }
}

fn path_of(levels: &[Level<'_, '_>], ordinal: u32) -> String {
    // The next child of each level but the last is behind the one that is open.
    let outer = levels.split_last().map_or(&[][..], |(_, outer)| outer);
    let mut path = String::new();
    for level in outer {
        path.push_str(&(level.ordinal - 1).to_string());
        path.push('.');
    }
    if !levels.is_empty() {
        path.push_str(&ordinal.to_string());
    }
    path
}

fn row_bytes(row: &ValueRow) -> usize {
    let excerpt_bytes = |excerpt: &Option<Excerpt>| excerpt.as_ref().map_or(0, |it| it.text.len());
    row.path.len() + excerpt_bytes(&row.key) + excerpt_bytes(&row.text)
}
