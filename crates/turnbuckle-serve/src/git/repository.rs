//! The repositories that are opened, and the revisions in them.

use std::fs;
use std::path::{Path, PathBuf};

use git2::{Commit, ErrorCode, Object, ObjectType, Repository};

use super::limits::Limits;
use super::scan::{Parts, Scan};
use crate::Error;
use crate::fault::{Fault, Result};

/// The longest name of a revision, branch or path, in bytes.
const MAX_NAME_BYTES: usize = 4_096;

/// The fewest digits of a hash that libgit2 looks for.
const MIN_HASH_DIGITS: usize = 4;

/// The directories in which repositories are opened, without symlinks.
pub(super) struct Repositories(Vec<PathBuf>);

impl Repositories {
    /// Finds directories.
    pub(super) fn open(paths: &[PathBuf]) -> Result<Self, Error> {
        let find = |path: &PathBuf| {
            let found = path
                .canonicalize()
                .and_then(|real| fs::read_dir(&real).map(|_| real));
            found.map_err(|error| {
                let text = format!("cannot open the directory {}: {error}", path.display());
                Error::new(text).with_source(error)
            })
        };
        Ok(Self(paths.iter().map(find).collect::<Result<_, _>>()?))
    }

    /// Returns the path of a repository without symlinks, if it is inside of one of the directories.
    pub(super) fn locate(&self, path: &str) -> Result<PathBuf> {
        check_name(path)?;
        self.check_inside(Path::new(path))
    }

    /// Opens the repository at a located path, after the checks of what libgit2 opens by itself.
    pub(super) fn repository(
        &self,
        path: &Path,
        parts: Parts,
        limits: &Limits,
    ) -> Result<Repository> {
        let repository = Scan::new(self, limits).open(path, parts)?;
        repository
            .ok_or_else(|| Fault::new(format!("could not find repository at '{}'", path.display())))
    }

    /// Returns a path without symlinks, if it is inside of one of the directories.
    pub(super) fn check_inside(&self, path: &Path) -> Result<PathBuf> {
        let real = path
            .canonicalize()
            .map_err(|error| Fault::new(format!("{error}: {}", path.display())))?;
        if self.0.iter().any(|directory| real.starts_with(directory)) {
            return Ok(real);
        }
        let directories = self
            .0
            .iter()
            .map(|directory| directory.display().to_string());
        let directories: Vec<_> = directories.collect();
        Err(Fault::new(format!(
            "Repository path '{}' is outside the allowed repository '{}'",
            path.display(),
            directories.join("', '")
        )))
    }
}

/// Checks the length of a name, and that it does not begin like an option.
pub(super) fn check_name(name: &str) -> Result<()> {
    if name.starts_with('-') {
        let name: String = name.chars().take(100).collect();
        return Err(Fault::new(format!(
            "Invalid name: '{name}' - cannot start with '-'"
        )));
    }
    if name.is_empty() || name.len() > MAX_NAME_BYTES || name.contains('\0') {
        return Err(Fault::new(format!(
            "a name has 1 to {MAX_NAME_BYTES} bytes and no NUL"
        )));
    }
    Ok(())
}

/// Finds a revision: a branch, a tag, a hash, or an expression such as `HEAD~3`, but no search in messages.
pub(super) fn find<'r>(repository: &'r Repository, revision: &str) -> Result<Object<'r>> {
    check_name(revision)?;
    if revision.contains(":/") || revision.contains("^{/") {
        return Err(
            "a revision that is searched in messages is not supported: use `git_log`".into(),
        );
    }
    repository
        .revparse_single(revision)
        .map_err(|error| match error.code() {
            ErrorCode::NotFound if has_no_commit(repository) => no_commit_error(),
            // libgit2 says so also of a name that is no hash.
            ErrorCode::Ambiguous if revision.len() < MIN_HASH_DIGITS => Fault::new(format!(
                "there is no branch, tag or commit '{revision}': `git_branch` lists the branches"
            )),
            ErrorCode::Ambiguous => Fault::new(format!(
                "several hashes begin with '{revision}': give more of its digits"
            )),
            _ => Fault::from(error),
        })
}

/// Tells whether the current branch has no commit.
fn has_no_commit(repository: &Repository) -> bool {
    let head = repository.head();
    head.is_err_and(|error| error.code() == ErrorCode::UnbornBranch)
}

/// Returns the error for a branch without a commit.
pub(super) fn no_commit_error() -> Fault {
    Fault::new(
        "the current branch has no commit yet: stage files with `git_add`, then use `git_commit`",
    )
}

/// Finds the commit of a revision.
pub(super) fn find_commit<'r>(repository: &'r Repository, revision: &str) -> Result<Commit<'r>> {
    let object = find(repository, revision)?.peel(ObjectType::Commit)?;
    object
        .into_commit()
        .map_err(|_| Fault::new(format!("{revision} is no commit")))
}
