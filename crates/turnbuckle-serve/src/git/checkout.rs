//! Switching of the work tree to another revision.

use std::fs;

use git2::build::CheckoutBuilder;
use git2::{
    BranchType, CheckoutNotificationType, Commit, Delta, DiffFile, DiffOptions, ErrorCode, Index,
    IndexEntry, IndexTime, Repository, RepositoryState,
};

use super::index::{IndexLock, SUBMODULE_MODE, find_entry, to_path};
use super::limits::Limits;
use super::repository::{check_name, find_commit};
use crate::fault::{Fault, Result};

/// The most files that an error names.
const MAX_NAMED_FILES: usize = 20;

/// Brings the work tree to a branch, or to another revision. Changes that would be lost stop it.
pub(super) fn checkout(repository: &Repository, name: &str, limits: &Limits) -> Result<String> {
    check_name(name)?;
    // A tag may have the name of a branch.
    let (target, reference) = match repository.find_branch(name, BranchType::Local) {
        Ok(branch) => (
            branch.get().peel_to_commit()?,
            Some(format!("refs/heads/{name}")),
        ),
        Err(_) => (find_commit(repository, name, limits)?, None),
    };
    if let Some(reference) = &reference {
        check_other_work_trees(repository, reference)?;
    }
    check_state(repository)?;
    let lock = IndexLock::take(repository)?;
    let mut index = lock.index()?;
    let mut conflicts = Vec::new();
    let mut options = CheckoutBuilder::new();
    // libgit2 cannot write the index, since the lock is taken.
    options
        .safe()
        .update_index(false)
        .notify_on(CheckoutNotificationType::CONFLICT)
        .notify(|_, path, _, _, _| {
            conflicts.extend(path.map(|path| path.display().to_string()));
            true
        });
    let done = repository.checkout_tree(target.as_object(), Some(&mut options));
    drop(options);
    done.map_err(|error| match error.code() {
        ErrorCode::Conflict if !conflicts.is_empty() => conflict_error(&conflicts),
        _ => Fault::from(error),
    })?;
    update_index(repository, &mut index, &target)?;
    let entries: Vec<_> = index.iter().collect();
    lock.write(&entries)?;
    if let Some(reference) = reference {
        set_head(repository, &reference, name)?;
        return Ok(format!("Switched to branch '{name}'"));
    }
    repository.set_head_detached(target.id())?;
    let id = target.id().to_string();
    Ok(format!(
        "HEAD is now detached at {}",
        id.get(..7).unwrap_or_default()
    ))
}

/// Brings the index to a commit that was checked out, for the files in which it differs from the last commit.
fn update_index(repository: &Repository, index: &mut Index, target: &Commit<'_>) -> Result<()> {
    let old = match repository.head() {
        Ok(head) => Some(head.peel_to_tree()?),
        Err(_) => None,
    };
    let mut options = DiffOptions::new();
    options.include_typechange(true);
    let diff =
        repository.diff_tree_to_tree(old.as_ref(), Some(&target.tree()?), Some(&mut options))?;
    let path_of = |file: &DiffFile<'_>| to_path(file.path_bytes().unwrap_or_default());
    let (removed, changed): (Vec<_>, Vec<_>) = diff
        .deltas()
        .partition(|delta| delta.status() == Delta::Deleted);
    for delta in removed {
        index.remove_path(&path_of(&delta.old_file())?)?;
    }
    for delta in changed {
        let file = delta.new_file();
        let path = path_of(&file)?;
        let mode = u32::from(file.mode());
        if mode != SUBMODULE_MODE {
            index.add_path(&path)?;
        }
        // The size and the times are those of the file. The content is that of the commit, also with other line ends.
        let mut entry = find_entry(index, &path, 0).unwrap_or_else(|| new_entry(&file));
        (entry.id, entry.mode) = (file.id(), mode);
        index.add(&entry)?;
    }
    Ok(())
}

/// Returns an entry without the size and the times of a file.
fn new_entry(file: &DiffFile<'_>) -> IndexEntry {
    IndexEntry {
        ctime: IndexTime::new(0, 0),
        mtime: IndexTime::new(0, 0),
        dev: 0,
        ino: 0,
        mode: u32::from(file.mode()),
        uid: 0,
        gid: 0,
        file_size: 0,
        id: file.id(),
        flags: 0,
        flags_extended: 0,
        path: file.path_bytes().unwrap_or_default().to_vec(),
    }
}

/// Fails in the middle of an operation, which would go on after the checkout with another commit.
fn check_state(repository: &Repository) -> Result<()> {
    let operation = match repository.state() {
        RepositoryState::Clean | RepositoryState::Bisect => return Ok(()),
        RepositoryState::Merge => "a merge",
        RepositoryState::Revert | RepositoryState::RevertSequence => "a revert",
        RepositoryState::CherryPick | RepositoryState::CherryPickSequence => "a cherry-pick",
        _ => "a rebase",
    };
    Err(Fault::new(format!(
        "nothing was changed, since {operation} is not finished: finish it with `git_commit`, or end it with git itself"
    )))
}

/// Returns the error for changes that would be lost.
fn conflict_error(files: &[String]) -> Fault {
    let named = files.len().min(MAX_NAMED_FILES);
    let rest = match files.len() - named {
        0 => String::new(),
        rest => format!(" and {rest} more"),
    };
    Fault::new(format!(
        "nothing was changed, since changes in these files would be lost: {}{rest}. Commit them with `git_add` and \
         `git_commit`, or undo them, and try again",
        files[..named].join(", ")
    ))
}

/// Fails if another work tree of the repository is on a branch. libgit2 would open these, wherever they are.
fn check_other_work_trees(repository: &Repository, reference: &str) -> Result<()> {
    let common_dir = repository.commondir();
    let is_bare = repository.config()?.get_bool("core.bare").unwrap_or(false);
    let main = (!is_bare).then(|| common_dir.join("HEAD"));
    let linked = common_dir.join("worktrees").read_dir();
    let linked = linked.into_iter().flatten().flatten();
    let heads = main
        .into_iter()
        .chain(linked.map(|entry| entry.path().join("HEAD")));
    let own = repository.path().join("HEAD");
    for head in heads.filter(|head| *head != own) {
        let target = fs::read_to_string(&head).unwrap_or_default();
        if target.trim_end().strip_prefix("ref: ") == Some(reference) {
            return Err(Fault::new(format!(
                "{reference} is checked out in another work tree of the repository: use that one, or create a branch"
            )));
        }
    }
    Ok(())
}

/// Makes a branch the current one, as [`Repository::set_head`] does, which opens all other work trees.
fn set_head(repository: &Repository, reference: &str, name: &str) -> Result<()> {
    let head = repository.find_reference("HEAD")?;
    let old = match head.symbolic_target_bytes() {
        Some(target) => {
            let target = String::from_utf8_lossy(target).into_owned();
            target
                .strip_prefix("refs/heads/")
                .unwrap_or(&target)
                .to_owned()
        }
        None => head.target().map(|id| id.to_string()).unwrap_or_default(),
    };
    let message = format!("checkout: moving from {old} to {name}");
    repository.reference_symbolic("HEAD", reference, true, &message)?;
    Ok(())
}
