//! The repositories that are opened, and the revisions in them.

use std::fs;
use std::path::{Path, PathBuf};

use git2::{Commit, ErrorCode, Object, ObjectType, Oid, Repository};

use super::index::find_entry;
use super::limits::Limits;
use super::scan::{Parts, Scan};
use crate::Error;
use crate::fault::{Fault, Result};

/// The longest name of a revision, branch or path, in bytes.
const MAX_NAME_BYTES: usize = 4_096;

/// The fewest digits of a hash that libgit2 looks for.
const MIN_HASH_DIGITS: usize = 4;

/// The digits of a whole hash.
const HASH_DIGITS: usize = 40;

/// The tags of tags that lead to an object.
const MAX_TAGS: usize = 16;

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
/// An object that is too large is not loaded.
pub(super) fn find<'r>(
    repository: &'r Repository,
    revision: &str,
    limits: &Limits,
) -> Result<Object<'r>> {
    check_name(revision)?;
    if revision.contains(":/") || revision.contains("^{/") {
        return Err(
            "a revision that is searched in messages is not supported: use `git_log`".into(),
        );
    }
    if let Some(id) = first_object(repository, revision) {
        check_object(repository, id, revision, limits)?;
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

/// Returns the object that libgit2 loads first for a revision, if its name is a hash, a reference, or a path in the index.
fn first_object(repository: &Repository, revision: &str) -> Option<Oid> {
    if let Some(path) = revision.strip_prefix(':') {
        let (stage, path) = match path.split_at_checked(2) {
            Some(("1:", path)) => (1, path),
            Some(("2:", path)) => (2, path),
            Some(("3:", path)) => (3, path),
            Some(("0:", path)) => (0, path),
            _ => (0, path),
        };
        let index = repository.index().ok()?;
        let entry = find_entry(&index, Path::new(path), stage)?;
        return Some(entry.id);
    }
    let name = revision.split(['~', '^', ':']).next()?;
    let hash = Oid::from_str(name).ok();
    if let Some(id) = hash.filter(|_| name.len() == HASH_DIGITS) {
        return Some(id);
    }
    if let Ok(reference) = repository.resolve_reference_from_short_name(name) {
        return reference.resolve().ok()?.target();
    }
    let odb = repository.odb().ok()?;
    odb.exists_prefix(hash?, name.len()).ok()
}

/// Fails if an object, or one to which it leads as a tag, is too large.
pub(super) fn check_object(
    repository: &Repository,
    mut id: Oid,
    name: &str,
    limits: &Limits,
) -> Result<()> {
    let odb = repository.odb()?;
    let max_bytes = limits.max_file_bytes;
    for _ in 0..MAX_TAGS {
        // libgit2 has an error for those that are missing.
        let Ok((bytes, kind)) = odb.read_header(id) else {
            return Ok(());
        };
        if bytes as u64 > max_bytes {
            return Err(Fault::new(format!(
                "{name} has {bytes} bytes, and may have {max_bytes}"
            )));
        }
        if kind != ObjectType::Tag {
            return Ok(());
        }
        id = repository.find_tag(id)?.target_id();
    }
    Err(Fault::new(format!(
        "{name} is a tag of a tag, more than {MAX_TAGS} times"
    )))
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
pub(super) fn find_commit<'r>(
    repository: &'r Repository,
    revision: &str,
    limits: &Limits,
) -> Result<Commit<'r>> {
    let object = find(repository, revision, limits)?.peel(ObjectType::Commit)?;
    object
        .into_commit()
        .map_err(|_| Fault::new(format!("{revision} is no commit")))
}
