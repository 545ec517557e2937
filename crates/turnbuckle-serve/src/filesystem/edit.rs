//! Edits of a text file, and the difference that they make.

use std::fmt::Write as _;

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
    let bytes = read::bytes(location, budget)?;
    let original = String::from_utf8(bytes).map_err(|_| "the file is no text in UTF-8")?;
    // Edits are found whatever the line ends are; the file keeps those that all of its lines have.
    let has_crlf = original.contains("\r\n") && !original.replace("\r\n", "").contains('\n');
    let original = original.replace("\r\n", "\n");
    let mut edited = original.clone();
    for edit in edits {
        budget.check_time()?;
        edited = apply(&edited, edit)?;
        if edited.len() > budget.limits.max_read_bytes {
            return Err(budget.too_many_bytes());
        }
    }
    let difference = difference(
        &original,
        &edited,
        &location.path().display().to_string(),
        budget,
    );
    if !is_dry_run {
        let edited = if has_crlf {
            edited.replace('\n', "\r\n")
        } else {
            edited
        };
        write::file(location, &edited)?;
    }
    let mut fence = "```".to_owned();
    while difference.contains(&fence) {
        fence.push('`');
    }
    Ok(format!("{fence}diff\n{difference}{fence}\n\n"))
}

/// Replaces the first place of a text: the exact text, or else lines that differ in space around them.
fn apply(content: &str, edit: &Edit) -> Result<String> {
    let old = edit.old_text.replace("\r\n", "\n");
    let new = edit.new_text.replace("\r\n", "\n");
    if content.contains(&old) {
        return Ok(content.replacen(&old, &new, 1));
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
    let (replaced, after) = rest.split_at(old.len());
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
    let unchanged = |lines: &[&str]| {
        lines
            .iter()
            .map(|line| (*line).to_owned())
            .collect::<Vec<_>>()
    };
    let lines: Vec<String> = unchanged(before)
        .into_iter()
        .chain(new)
        .chain(unchanged(after))
        .collect();
    Ok(lines.join("\n"))
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
fn format_range(mut ranges: impl Iterator<Item = std::ops::Range<usize>>) -> String {
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
