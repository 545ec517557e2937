//! Differences between commits, the index and the work tree.

use std::collections::HashSet;

use git2::{Diff, DiffOptions, Index, Patch, Repository};

use super::index::{STAGE_FLAGS, is_assumed_unchanged, is_intent_to_add, to_path};
use super::limits::{Limits, Output};
use super::repository::find;
use crate::fault::{Fault, Result};

/// The most lines of context that a difference has.
const MAX_CONTEXT_LINES: u32 = 1_000_000;

/// The two sides of a difference.
pub(super) enum Sides<'s> {
    /// The index and the work tree.
    Unstaged,
    /// The last commit and the index.
    Staged,
    /// A revision and the work tree.
    Revision(&'s str),
}

/// Returns a difference as `git diff` prints it.
pub(super) fn diff(
    repository: &Repository,
    sides: &Sides<'_>,
    context_lines: u32,
    limits: &Limits,
) -> Result<String> {
    let mut options = options(limits);
    options.context_lines(context_lines.min(MAX_CONTEXT_LINES));
    let options = Some(&mut options);
    if !matches!(sides, Sides::Staged) && repository.workdir().is_none() {
        return Err("the repository has no work tree".into());
    }
    // Changes of the index in memory, which are not written.
    let mut index = repository.index()?;
    let mut output = Output::new(limits);
    let mut is_whole = true;
    for path in take_ours(&mut index)? {
        let path = String::from_utf8_lossy(&path).into_owned();
        is_whole = is_whole && output.push(&format!("* Unmerged path {path}\n"));
    }
    let mut passed_over = HashSet::new();
    if matches!(sides, Sides::Staged) {
        let marks: Vec<_> = index.iter().filter(is_intent_to_add).collect();
        for mark in marks {
            index.remove(&to_path(&mark.path)?, 0)?;
        }
    } else {
        let entries = index.iter().filter(is_assumed_unchanged);
        passed_over.extend(entries.map(|entry| entry.path));
    }
    let diff = match sides {
        Sides::Unstaged => repository.diff_index_to_workdir(Some(&index), options)?,
        Sides::Staged => {
            let tree = match repository.head() {
                Ok(head) => Some(head.peel_to_tree()?),
                Err(_) => None,
            };
            repository.diff_tree_to_index(tree.as_ref(), Some(&index), options)?
        }
        Sides::Revision(revision) => {
            let tree = find(repository, revision, limits)?.peel_to_tree()?;
            repository.diff_tree_to_workdir_with_index(Some(&tree), options)?
        }
    };
    is_whole = is_whole && print(&diff, &passed_over, &mut output)?;
    // Without the last line end, as a command's output is shown.
    let text = output.finish(is_whole);
    Ok(text.strip_suffix('\n').unwrap_or(&text).to_owned())
}

/// Replaces the stages of conflicts with our side of them. Returns the paths.
fn take_ours(index: &mut Index) -> Result<Vec<Vec<u8>>> {
    let conflicts = index.conflicts()?.collect::<Result<Vec<_>, _>>()?;
    let mut paths = Vec::new();
    for conflict in conflicts {
        let sides = [&conflict.our, &conflict.their, &conflict.ancestor];
        let Some(entry) = sides.into_iter().flatten().next() else {
            continue;
        };
        let path = entry.path.clone();
        index.conflict_remove(&to_path(&path)?)?;
        if let Some(mut entry) = conflict.our {
            entry.flags &= !STAGE_FLAGS;
            index.add(&entry)?;
        }
        paths.push(path);
    }
    Ok(paths)
}

/// Returns the options of every difference.
pub(super) fn options(limits: &Limits) -> DiffOptions {
    let mut options = DiffOptions::new();
    options
        .max_size(i64::try_from(limits.max_file_bytes).unwrap_or(i64::MAX))
        .ignore_submodules(true)
        .indent_heuristic(true);
    options
}

/// Prints a difference, except for some paths. Returns false if it was cut.
fn print(diff: &Diff<'_>, passed_over: &HashSet<Vec<u8>>, output: &mut Output) -> Result<bool> {
    for (number, delta) in diff.deltas().enumerate() {
        let path = delta.old_file().path_bytes();
        if path.is_some_and(|path| passed_over.contains(path)) {
            continue;
        }
        let Some(mut patch) = Patch::from_diff(diff, number)? else {
            continue;
        };
        let mut is_whole = true;
        let printed = patch.print(&mut |_, _, line| {
            let origin = matches!(line.origin(), '+' | '-' | ' ').then(|| line.origin());
            let text = String::from_utf8_lossy(line.content());
            is_whole = match origin {
                Some(origin) => output.push(&format!("{origin}{text}")),
                None => output.push(&text),
            };
            is_whole
        });
        match printed {
            _ if !is_whole => return Ok(false),
            Err(error) => return Err(Fault::from(error)),
            Ok(()) => {}
        }
    }
    Ok(true)
}
