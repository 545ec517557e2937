//! Commits: the log, one commit with its changes, and the branches that have one.

use std::fmt::Write as _;
use std::path::Path;

use git2::{
    BranchType, Commit, Delta, Diff, DiffFile, DiffLineType, Object, ObjectType, Patch, Repository,
    Time, Tree,
};
use jiff::Timestamp;
use jiff::tz::{Offset, TimeZone};

use super::limits::{Limits, Output};
use super::repository::{check_object, find, find_commit};
use super::{dates, diff};
use crate::fault::{Fault, Result};

/// Returns the commits from the last one on, inside of a time.
pub(super) fn log(
    repository: &Repository,
    max_count: usize,
    start: Option<&str>,
    end: Option<&str>,
    limits: &Limits,
) -> Result<String> {
    let now = Timestamp::now();
    let start = start.map(|text| dates::parse(text, now)).transpose()?;
    let end = end.map(|text| dates::parse(text, now)).transpose()?;
    let mut walk = repository.revwalk()?;
    walk.push(repository.head()?.peel_to_commit()?.id())?;
    let mut output = Output::new(limits);
    let mut is_whole = output.push("Commit history:\n");
    let mut count = 0;
    for id in walk {
        if count == max_count || !is_whole {
            break;
        }
        output.check_time()?;
        let commit = repository.find_commit(id?)?;
        let seconds = commit.time().seconds();
        if end.is_some_and(|end| seconds > end.as_second()) {
            continue;
        }
        // Commits come from the newest on.
        if start.is_some_and(|start| seconds < start.as_second()) {
            break;
        }
        if count == limits.max_commits {
            let note = format!(
                "\n[cut: a log has at most {count} commits; for older ones set `end_timestamp`]\n"
            );
            is_whole = output.push(&note);
            break;
        }
        let separator = if count > 0 { "\n" } else { "" };
        is_whole = output.push(&format!("{separator}{}", describe(&commit)));
        count += 1;
    }
    Ok(output.finish(is_whole))
}

/// Describes a commit of a log.
fn describe(commit: &Commit<'_>) -> String {
    let author = commit.author();
    format!(
        "Commit: {}\nAuthor: {}\nDate: {}\nMessage: {}\n",
        commit.id(),
        String::from_utf8_lossy(author.name_bytes()),
        format_time(author.when(), "%Y-%m-%d %H:%M:%S%:z"),
        String::from_utf8_lossy(commit.message_bytes())
    )
}

/// Describes a commit as `git show --date=iso` does.
fn describe_alone(commit: &Commit<'_>) -> String {
    let author = commit.author();
    let mut text = format!(
        "commit {}\nAuthor: {} <{}>\nDate:   {}\n\n",
        commit.id(),
        String::from_utf8_lossy(author.name_bytes()),
        String::from_utf8_lossy(author.email_bytes()),
        format_time(author.when(), "%Y-%m-%d %H:%M:%S %z"),
    );
    let message = String::from_utf8_lossy(commit.message_bytes());
    for line in message.trim_end_matches('\n').split('\n') {
        let _ = writeln!(text, "    {line}");
    }
    text
}

/// Formats a time with its offset from UTC.
fn format_time(time: Time, format: &str) -> String {
    let zone = Offset::from_seconds(time.offset_minutes().saturating_mul(60));
    let zone = zone.map_or(TimeZone::UTC, TimeZone::fixed);
    match Timestamp::from_second(time.seconds()) {
        Ok(timestamp) => timestamp.to_zoned(zone).strftime(format).to_string(),
        Err(_) => time.seconds().to_string(),
    }
}

/// Returns a commit with its changes, the text of a file, or the names in a directory.
pub(super) fn show(repository: &Repository, revision: &str, limits: &Limits) -> Result<String> {
    let object = match revision.split_once(':') {
        Some((revision, path)) if !revision.is_empty() => at_path(
            repository,
            &find(repository, revision, limits)?,
            path,
            limits,
        )?,
        _ => find(repository, revision, limits)?,
    };
    let mut output = Output::new(limits);
    if let Some(blob) = object.as_blob() {
        let is_whole = output.push(&String::from_utf8_lossy(blob.content()));
        return Ok(output.finish(is_whole));
    }
    if let Some(tree) = object.as_tree() {
        let is_whole = push_names(tree, &mut output);
        return Ok(output.finish(is_whole));
    }
    let commit = object.peel_to_commit()?;
    show_commit(repository, &commit, limits, output)
}

/// Returns a file or a directory of a revision. A file that is too large is not read.
fn at_path<'r>(
    repository: &'r Repository,
    revision: &Object<'_>,
    path: &str,
    limits: &Limits,
) -> Result<Object<'r>> {
    let tree = revision.peel_to_tree()?;
    let id = match path.is_empty() {
        true => tree.id(),
        false => tree.get_path(Path::new(path))?.id(),
    };
    check_object(repository, id, path, limits)?;
    Ok(repository.find_object(id, None)?)
}

/// Adds the names in a directory. Returns false if the text was cut.
fn push_names(tree: &Tree<'_>, output: &mut Output) -> bool {
    tree.iter().enumerate().all(|(index, entry)| {
        let line_end = if index == 0 { "" } else { "\n" };
        let name = String::from_utf8_lossy(entry.name_bytes()).into_owned();
        let is_dir = entry.kind() == Some(ObjectType::Tree);
        output.push(&format!(
            "{line_end}{name}{}",
            if is_dir { "/" } else { "" }
        ))
    })
}

/// Returns a commit and its changes against its first parent.
fn show_commit(
    repository: &Repository,
    commit: &Commit<'_>,
    limits: &Limits,
    mut output: Output,
) -> Result<String> {
    let parent = match commit.parent(0) {
        Ok(parent) => Some(parent.tree()?),
        Err(_) => None,
    };
    let mut options = diff::options(limits);
    let tree = commit.tree()?;
    let diff = repository.diff_tree_to_tree(parent.as_ref(), Some(&tree), Some(&mut options))?;
    let is_whole = output.push(&describe_alone(commit)) && push_changes(&diff, &mut output)?;
    Ok(output.finish(is_whole))
}

/// Adds the hunks of each file. Returns false if the text was cut.
fn push_changes(diff: &Diff<'_>, output: &mut Output) -> Result<bool> {
    for (index, delta) in diff.deltas().enumerate() {
        let side = |prefix: &str, file: DiffFile<'_>, missing: Delta| {
            if delta.status() == missing {
                return "/dev/null".to_owned();
            }
            let path = file.path_bytes().unwrap_or_default();
            format!("{prefix}/{}", String::from_utf8_lossy(path))
        };
        let old = side("a", delta.old_file(), Delta::Added);
        let new = side("b", delta.new_file(), Delta::Deleted);
        if !output.push(&format!("\n--- {old}\n+++ {new}\n")) {
            return Ok(false);
        }
        let Some(mut patch) = Patch::from_diff(diff, index)? else {
            continue;
        };
        let mut is_whole = true;
        let printed = patch.print(&mut |_, _, line| {
            let text = String::from_utf8_lossy(line.content());
            is_whole = match line.origin_value() {
                DiffLineType::FileHeader => true,
                DiffLineType::Addition | DiffLineType::Deletion | DiffLineType::Context => {
                    output.push(&format!("{}{text}", line.origin()))
                }
                _ => output.push(&text),
            };
            is_whole
        });
        match printed {
            Err(error) if is_whole => return Err(Fault::from(error)),
            _ if !is_whole => return Ok(false),
            _ => {}
        }
    }
    Ok(true)
}

/// Lists branches, which have one commit and lack another.
pub(super) fn branches(
    repository: &Repository,
    branch_type: &str,
    contains: Option<&str>,
    not_contains: Option<&str>,
    limits: &Limits,
) -> Result<String> {
    let (filter, remote_prefix) = match branch_type {
        "local" => (Some(BranchType::Local), ""),
        "remote" => (Some(BranchType::Remote), ""),
        "all" => (None, "remotes/"),
        _ => {
            let branch_type: String = branch_type.chars().take(100).collect();
            return Err(Fault::new(format!("Invalid branch type: {branch_type}")));
        }
    };
    let wanted = contains
        .map(|revision| find_commit(repository, revision, limits))
        .transpose()?;
    let unwanted = not_contains
        .map(|revision| find_commit(repository, revision, limits))
        .transpose()?;
    let mut output = Output::new(limits);
    let mut text = String::new();
    if branch_type != "remote" && repository.head_detached()? {
        let id = repository.head()?.peel_to_commit()?.id().to_string();
        let _ = writeln!(
            text,
            "* (HEAD detached at {})",
            id.get(..7).unwrap_or_default()
        );
    }
    let mut is_whole = output.push(&text);
    let mut lines = Vec::new();
    for branch in repository.branches(filter)? {
        output.check_time()?;
        let (branch, kind) = branch?;
        let name = String::from_utf8_lossy(branch.name_bytes()?).into_owned();
        // The branch that a reference such as origin/HEAD names may have been removed.
        let Ok(tip) = branch.get().peel_to_commit() else {
            continue;
        };
        let tip = tip.id();
        let has = |commit: &Commit<'_>| -> Result<bool> {
            Ok(tip == commit.id() || repository.graph_descendant_of(tip, commit.id())?)
        };
        let is_listed =
            wanted.as_ref().map_or(Ok(true), has)? && !unwanted.as_ref().map_or(Ok(false), has)?;
        if is_listed {
            let is_remote = kind == BranchType::Remote;
            let prefix = if is_remote { remote_prefix } else { "" };
            let mark = if !is_remote && branch.is_head() {
                "*"
            } else {
                " "
            };
            lines.push((is_remote, format!("{mark} {prefix}{name}\n")));
        }
    }
    lines.sort_by(|one, other| (one.0, one.1.get(2..)).cmp(&(other.0, other.1.get(2..))));
    for (_, line) in lines {
        is_whole = is_whole && output.push(&line);
    }
    let text = output.finish(is_whole);
    Ok(text.strip_suffix('\n').unwrap_or(&text).to_owned())
}
