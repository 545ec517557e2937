//! Lines of a changed text: those that stay keep their ends, and comments of a removed entry their place.

use super::super::diff::common_lines;

/// Returns the changed text with the ends of lines that the old text has. The ends of new lines are those of its first line.
pub(super) fn keep_ends(old: &str, changed: &str) -> String {
    // The last line stays without an end if it had none.
    let is_open = !old.is_empty() && !old.ends_with('\n');
    let open = changed.strip_suffix('\n').filter(|_| is_open);
    let (old_lines, changed_lines) = (split(old), split(open.unwrap_or(changed)));
    let (before, after) = common_lines(&old_lines, &changed_lines);
    let old_parts: Vec<&str> = old.split_inclusive('\n').collect();
    let has_crlf = old_parts.first().is_some_and(|line| line.ends_with("\r\n"));
    let end = if has_crlf { "\r\n" } else { "\n" };
    let mut text = old_parts[..before].concat();
    for (line, is_ended) in &changed_lines[before..changed_lines.len() - after] {
        text.extend([*line, if *is_ended { end } else { "" }]);
    }
    text.push_str(&old_parts[old_parts.len() - after..].concat());
    text
}

/// Returns the changed text with comments at the place where the old one had them, apart from what is around them.
pub(super) fn insert_comments(old: &str, changed: &str, comments: &str) -> String {
    let mut lines = split(changed);
    let (before, _) = common_lines(&split(old), &lines);
    let is_filled =
        |line: Option<&(&str, bool)>| line.is_some_and(|(line, _)| !line.trim().is_empty());
    let blank = ("", true);
    let blank_before = is_filled(lines[..before].last()).then_some(blank);
    let blank_after = is_filled(lines.get(before)).then_some(blank);
    let comments = comments.trim().lines().map(|line| (line, true));
    let inserted: Vec<_> = blank_before
        .into_iter()
        .chain(comments)
        .chain(blank_after)
        .collect();
    lines.splice(before..before, inserted);
    let lines = lines
        .iter()
        .map(|(line, is_ended)| [*line, if *is_ended { "\n" } else { "" }]);
    lines.flatten().collect()
}

/// Returns the lines of a text without their ends, and whether each has one.
fn split(text: &str) -> Vec<(&str, bool)> {
    let lines = text.split_inclusive('\n').map(|line| {
        let ended = line.strip_suffix('\n');
        let without = ended.map_or(line, |line| line.strip_suffix('\r').unwrap_or(line));
        (without, ended.is_some())
    });
    lines.collect()
}
