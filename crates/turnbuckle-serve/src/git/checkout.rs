//! Switching of the work tree to another revision.

use std::fs;

use git2::build::CheckoutBuilder;
use git2::{BranchType, CheckoutNotificationType, ErrorCode, ObjectType, Repository};

use super::repository::find;
use crate::fault::{Fault, Result};

/// The most files that an error names.
const MAX_NAMED_FILES: usize = 20;

/// Brings the work tree to a branch, or to another revision. Changes that would be lost stop it.
pub(super) fn checkout(repository: &Repository, name: &str) -> Result<String> {
    let target = find(repository, name)?.peel(ObjectType::Commit)?;
    let branch = repository.find_branch(name, BranchType::Local).ok();
    let reference = branch.map(|_| format!("refs/heads/{name}"));
    if let Some(reference) = &reference {
        check_other_work_trees(repository, reference)?;
    }
    let mut conflicts = Vec::new();
    let mut options = CheckoutBuilder::new();
    options
        .safe()
        .notify_on(CheckoutNotificationType::CONFLICT)
        .notify(|_, path, _, _, _| {
            conflicts.extend(path.map(|path| path.display().to_string()));
            true
        });
    let done = repository.checkout_tree(&target, Some(&mut options));
    drop(options);
    done.map_err(|error| match error.code() {
        ErrorCode::Conflict if !conflicts.is_empty() => conflict_error(&conflicts),
        _ => Fault::from(error),
    })?;
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
