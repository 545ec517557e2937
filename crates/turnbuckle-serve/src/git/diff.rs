//! Differences between commits, the index and the work tree.

use git2::{Diff, DiffFormat, DiffOptions, Repository};

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
    let diff = match sides {
        Sides::Unstaged => repository.diff_index_to_workdir(None, options)?,
        Sides::Staged => {
            let tree = match repository.head() {
                Ok(head) => Some(head.peel_to_tree()?),
                Err(_) => None,
            };
            repository.diff_tree_to_index(tree.as_ref(), None, options)?
        }
        Sides::Revision(revision) => {
            let tree = find(repository, revision)?.peel_to_tree()?;
            repository.diff_tree_to_workdir_with_index(Some(&tree), options)?
        }
    };
    let mut output = Output::new(limits);
    let is_whole = print(&diff, DiffFormat::Patch, &mut output)?;
    // Without the last line end, as a command's output is shown.
    let text = output.finish(is_whole);
    Ok(text.strip_suffix('\n').unwrap_or(&text).to_owned())
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

/// Prints a difference. Returns false if it was cut.
pub(super) fn print(diff: &Diff<'_>, format: DiffFormat, output: &mut Output) -> Result<bool> {
    let mut is_whole = true;
    let printed = diff.print(format, |_, _, line| {
        let origin = matches!(line.origin(), '+' | '-' | ' ').then(|| line.origin());
        let text = String::from_utf8_lossy(line.content());
        is_whole = match origin {
            Some(origin) => output.push(&format!("{origin}{text}")),
            None => output.push(&text),
        };
        is_whole
    });
    match printed {
        Err(error) if is_whole => Err(Fault::from(error)),
        _ => Ok(is_whole),
    }
}
