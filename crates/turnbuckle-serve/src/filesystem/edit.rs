//! Edits of a text file, and the difference that they make.

use std::fmt::Write as _;
use std::ops::Range;

use similar::algorithms::{Capture, Compact, Replace, myers};
use similar::{DiffOp, DiffTag};
use turnbuckle::data;

use super::access::Location;
use super::limits::Budget;
use super::{read, write};
use crate::fault::{Fault, Result};

/// The unchanged lines around each change in a difference.
const CONTEXT_LINES: usize = 4;

/// The edits of one call.
const MAX_EDITS: usize = 1_000;

/// A text that replaces another.
#[data(rename_all = "camelCase")]
pub(super) struct Edit {
    /// The text that is replaced, as it stands in the file
    old_text: String,
    /// The text in its place
    new_text: String,
}

/// Edits a file, and returns the difference as a code block. A dry run changes nothing.
pub(super) fn file(
    location: &Location<'_>,
    edits: &[Edit],
    is_dry_run: bool,
    budget: &mut Budget,
) -> Result<String> {
    if edits.len() > MAX_EDITS {
        return Err(Fault::new(format!("there may be {MAX_EDITS} edits")));
    }
    budget.advice = "a larger file cannot be edited";
    let bytes = read::bytes(location, budget)?;
    let original = String::from_utf8(bytes).map_err(|_| "the file is no text in UTF-8")?;
    let mut edited = Text::parse(&original);
    let before = edited.content.clone();
    for edit in edits {
        budget.check_time()?;
        let (range, new) = find(&edited.content, edit)?;
        edited.replace(range, &new);
        if edited.content.len() > budget.limits.max_read_bytes {
            return Err(budget.too_many_bytes());
        }
    }
    let path = location.path().display().to_string();
    let difference = difference(&before, &edited.content, &path, budget);
    if !is_dry_run {
        write::file(location, &edited.to_text(), Some(&original))?;
    }
    let mut fence = "```".to_owned();
    while difference.contains(&fence) {
        fence.push('`');
    }
    Ok(format!("{fence}diff\n{difference}{fence}\n\n"))
}

/// A text with the ends of its lines apart, so that edits are found whatever the ends are.
struct Text {
    /// The text, in which `\n` alone ends a line.
    content: String,
    /// For each `\n` of the content, true if the file has `\r\n` there.
    has_crlf: Vec<bool>,
}

impl Text {
    fn parse(text: &str) -> Self {
        let ended = text
            .split_inclusive('\n')
            .filter(|line| line.ends_with('\n'));
        Self {
            has_crlf: ended.map(|line| line.ends_with("\r\n")).collect(),
            content: text.replace("\r\n", "\n"),
        }
    }

    /// Replaces a range. Lines that stay keep their ends; a new line has the end of the one in its place, or beside it.
    fn replace(&mut self, range: Range<usize>, new: &str) {
        let old = self.content.get(range.clone()).unwrap_or_default();
        let (old_lines, new_lines) = (lines(old), lines(new));
        let is_ended = |line: &&str| line.ends_with('\n');
        let is_same = |(old, new): &(&&str, &&str)| old == new;
        let pairs = old_lines.iter().zip(&new_lines).take_while(is_same);
        let same_before = pairs.filter(|(line, _)| is_ended(line)).count();
        let (old_rest, new_rest) = (&old_lines[same_before..], &new_lines[same_before..]);
        let pairs = old_rest.iter().rev().zip(new_rest.iter().rev());
        let pairs = pairs.take_while(is_same);
        let same_after = pairs.filter(|(line, _)| is_ended(line)).count();
        let count = |text: &str| text.matches('\n').count();
        let start = count(self.content.get(..range.start).unwrap_or_default());
        let (first, end) = (start + same_before, start + count(old) - same_after);
        let neighbour = if first < end { end - 1 } else { end };
        let neighbour = self.has_crlf.get(neighbour).or(self.has_crlf.last());
        let neighbour = neighbour.copied().unwrap_or_default();
        let mut ends = self.has_crlf[first..end].to_vec();
        ends.resize(count(new) - same_before - same_after, neighbour);
        self.has_crlf.splice(first..end, ends);
        self.content.replace_range(range, new);
    }

    /// Returns the text with the ends of its lines.
    fn to_text(&self) -> String {
        let mut text = String::with_capacity(self.content.len() + self.has_crlf.len());
        let mut has_crlf = self.has_crlf.iter();
        for line in lines(&self.content) {
            match line.strip_suffix('\n') {
                Some(line) if has_crlf.next() == Some(&true) => text.extend([line, "\r\n"]),
                _ => text.push_str(line),
            }
        }
        text
    }
}

/// Finds the first place of an edit: the exact text, or else lines that differ in space around them. Returns the range that is
/// replaced, and the text in its place.
fn find(content: &str, edit: &Edit) -> Result<(Range<usize>, String)> {
    let old = edit.old_text.replace("\r\n", "\n");
    let new = edit.new_text.replace("\r\n", "\n");
    if let Some(start) = content.find(&old) {
        return Ok((start..start + old.len(), new));
    }
    let old: Vec<_> = old.split('\n').collect();
    let lines: Vec<_> = content.split('\n').collect();
    let is_match = |lines: &[&str]| {
        lines
            .iter()
            .zip(&old)
            .all(|(line, old)| line.trim() == old.trim())
    };
    let start = lines.windows(old.len()).position(is_match).ok_or_else(|| {
        Fault::new(format!(
            "Could not find exact match for edit:\n{}",
            edit.old_text
        ))
    })?;
    let (before, rest) = lines.split_at(start);
    let (replaced, _) = rest.split_at(old.len());
    let indent = replaced.first().map_or("", |line| indent_of(line));
    let new = new.split('\n').enumerate().map(|(index, line)| {
        let old = old.get(index).map_or("", |line| indent_of(line));
        let inner = indent_of(line);
        match index {
            0 => format!("{indent}{}", line.trim_start()),
            _ if !old.is_empty() && !inner.is_empty() => {
                let further = " ".repeat(inner.len().saturating_sub(old.len()));
                format!("{indent}{further}{}", line.trim_start())
            }
            _ => line.to_owned(),
        }
    });
    let new: Vec<String> = new.collect();
    let length = |lines: &[&str]| lines.iter().map(|line| line.len() + 1).sum::<usize>();
    let start = length(before);
    // The end of the last line stays.
    Ok((start..start + length(replaced) - 1, new.join("\n")))
}

fn indent_of(line: &str) -> &str {
    line.strip_suffix(line.trim_start()).unwrap_or_default()
}

/// Returns the unified difference of two texts.
fn difference(old: &str, new: &str, path: &str, budget: &Budget) -> String {
    let line = "=".repeat(67);
    let mut text = format!("Index: {path}\n{line}\n--- {path}\toriginal\n+++ {path}\tmodified\n");
    let (old, new) = (lines(old), lines(new));
    for ops in operations(&old, &new, budget).into_grouped_ops(CONTEXT_LINES) {
        let old_ranges = ops.iter().map(DiffOp::old_range);
        let new_ranges = ops.iter().map(DiffOp::new_range);
        let _ = writeln!(
            text,
            "@@ -{} +{} @@",
            format_range(old_ranges),
            format_range(new_ranges)
        );
        for op in ops {
            let (tag, old_range, new_range) = op.as_tag_tuple();
            let (old, new) = (&old[old_range], &new[new_range]);
            if tag == DiffTag::Equal {
                append(&mut text, ' ', old);
            } else {
                append(&mut text, '-', old);
                append(&mut text, '+', new);
            }
        }
    }
    text
}

/// Returns the lines of a text, with their ends.
fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

/// Returns the operations that make the new lines of the old ones.
///
/// The functions of `similar` that take a name of an algorithm compile all of them in, many times.
fn operations(old: &[&str], new: &[&str], budget: &Budget) -> Capture {
    let mut hook = Compact::new(Replace::new(Capture::new()), old, new);
    let (old_range, new_range) = (0..old.len(), 0..new.len());
    let deadline = Some(budget.deadline);
    let Ok(()) = myers::diff_deadline(&mut hook, old, old_range, new, new_range, deadline);
    hook.into_inner().into_inner()
}

/// Appends lines of a hunk.
fn append(text: &mut String, tag: char, lines: &[&str]) {
    for line in lines {
        text.push(tag);
        text.push_str(line);
        if !line.ends_with('\n') {
            text.push_str("\n\\ No newline at end of file\n");
        }
    }
}

/// Formats the lines of one side of a hunk: the first, counted from 1, and their number.
fn format_range(mut ranges: impl Iterator<Item = Range<usize>>) -> String {
    let first = ranges.next().unwrap_or_default();
    let end = ranges.last().map_or(first.end, |last| last.end);
    let count = end - first.start;
    // Before the first line there is line 0.
    let start = if count == 0 {
        first.start
    } else {
        first.start + 1
    };
    format!("{start},{count}")
}
