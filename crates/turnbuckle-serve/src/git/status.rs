//! The state of the index and the work tree, in the form of `git status`.

use git2::{Delta, DiffDelta, IndexConflict, Repository, Status, StatusOptions};

use super::index::{find_entry, is_assumed_unchanged, is_intent_to_add, to_path};
use super::limits::{Limits, Output};
use crate::fault::Result;

/// Describes the branch, what is staged, changed and untracked.
pub(super) fn status(repository: &Repository, limits: &Limits) -> Result<String> {
    let mut options = StatusOptions::new();
    options
        .include_untracked(true)
        .renames_head_to_index(true)
        .update_index(false);
    let statuses = repository.statuses(Some(&mut options))?;
    let mut output = Output::new(limits);
    let mut is_whole = output.push(&branch(repository));
    let index = repository.index()?;
    let mut sections = [
        ("Changes to be committed:", Vec::new()),
        ("Unmerged paths:", Vec::new()),
        ("Changes not staged for commit:", Vec::new()),
        ("Untracked files:", Vec::new()),
    ];
    let [staged, unmerged, changed, untracked] = &mut sections;
    for conflict in index.conflicts()? {
        unmerged.1.extend(describe_conflict(&conflict?));
    }
    for entry in statuses.iter() {
        let status = entry.status();
        let path = || String::from_utf8_lossy(entry.path_bytes()).into_owned();
        if status.contains(Status::CONFLICTED) {
            continue;
        }
        let marks = find_entry(&index, &to_path(entry.path_bytes())?, 0);
        if marks.as_ref().is_some_and(is_intent_to_add) {
            changed.1.push(format!("new file:   {}", path()));
            continue;
        }
        if let Some(delta) = entry.head_to_index() {
            staged.1.push(describe(&delta));
        }
        if status.contains(Status::WT_NEW) {
            untracked.1.push(path());
        } else if let Some(delta) = entry.index_to_workdir()
            && !marks.as_ref().is_some_and(is_assumed_unchanged)
        {
            changed.1.push(describe(&delta));
        }
    }
    let [staged, unmerged, changed, untracked] = &sections;
    let summary = match (
        staged.1.is_empty(),
        unmerged.1.is_empty() && changed.1.is_empty(),
        untracked.1.is_empty(),
    ) {
        (false, ..) => "",
        (true, false, _) => "no changes added to commit\n",
        (true, true, false) => "nothing added to commit but untracked files present\n",
        (true, true, true) => "nothing to commit, working tree clean\n",
    };
    for (title, lines) in sections.iter().filter(|(_, lines)| !lines.is_empty()) {
        is_whole = is_whole && output.push(&format!("{title}\n"));
        for line in lines {
            is_whole = is_whole && output.push(&format!("\t{line}\n"));
        }
        is_whole = is_whole && output.push("\n");
    }
    is_whole = is_whole && output.push(summary);
    Ok(output.finish(is_whole))
}

/// Describes a conflict by its sides, as `git status` does.
fn describe_conflict(conflict: &IndexConflict) -> Option<String> {
    let sides = (&conflict.ancestor, &conflict.our, &conflict.their);
    let (kind, entry) = match sides {
        (None, None, None) => return None,
        (Some(entry), None, None) => ("both deleted:   ", entry),
        (None, Some(entry), None) => ("added by us:    ", entry),
        (None, None, Some(entry)) => ("added by them:  ", entry),
        (Some(_), None, Some(entry)) => ("deleted by us:  ", entry),
        (Some(_), Some(entry), None) => ("deleted by them:", entry),
        (None, Some(entry), Some(_)) => ("both added:     ", entry),
        (Some(_), Some(entry), Some(_)) => ("both modified:  ", entry),
    };
    let path = String::from_utf8_lossy(&entry.path);
    Some(format!("{kind} {path}"))
}

/// Returns the name of the branch, also before the first commit.
fn branch(repository: &Repository) -> String {
    let Ok(head) = repository.head() else {
        let head = repository.find_reference("HEAD");
        let target = head.ok().and_then(|head| {
            let target = head.symbolic_target_bytes()?;
            Some(String::from_utf8_lossy(target).into_owned())
        });
        let name = target.unwrap_or_default();
        let name = name.strip_prefix("refs/heads/").unwrap_or(&name).to_owned();
        return format!("On branch {name}\n\nNo commits yet\n\n");
    };
    if head.is_branch() {
        return format!(
            "On branch {}\n",
            String::from_utf8_lossy(head.shorthand_bytes())
        );
    }
    let id = head.target().map(|id| id.to_string()).unwrap_or_default();
    format!("HEAD detached at {}\n", id.get(..7).unwrap_or_default())
}

/// Describes a change of a file, as `git status` does.
fn describe(delta: &DiffDelta<'_>) -> String {
    let path =
        |bytes: Option<&[u8]>| String::from_utf8_lossy(bytes.unwrap_or_default()).into_owned();
    let old = path(delta.old_file().path_bytes());
    let new = path(delta.new_file().path_bytes());
    match delta.status() {
        Delta::Added => format!("new file:   {new}"),
        Delta::Deleted => format!("deleted:    {old}"),
        Delta::Renamed => format!("renamed:    {old} -> {new}"),
        Delta::Typechange => format!("typechange: {new}"),
        _ => format!("modified:   {new}"),
    }
}
