//! Changes of the index, the branches and the work tree.

use std::fs::Metadata;
use std::path::{Component, Path, PathBuf};
use std::time::UNIX_EPOCH;

use git2::{
    AttrCheckFlags, AttrValue, Branch, Index, IndexEntry, Oid, Repository, RepositoryState,
    ResetType,
};

use super::limits::{Limits, Output};
use super::repository::{check_name, find_commit};
use crate::fault::{Fault, Result};

/// The directories inside of each other that are added.
const MAX_DEPTH: usize = 128;

/// Adds files to the index: all, or some by their paths below the work tree.
pub(super) fn add(repository: &Repository, files: &[String], limits: &Limits) -> Result<String> {
    let work_tree = repository
        .workdir()
        .ok_or("the repository has no work tree")?;
    let index = repository.index()?;
    let before: Vec<_> = entries(&index).collect();
    let mut adding = Adding {
        work_tree: work_tree.canonicalize()?,
        repository,
        index,
        max_file_bytes: limits.max_file_bytes,
        output: Output::new(limits),
    };
    for file in files {
        let path = check_path(&adding.work_tree, file)?;
        let is_named = !path.as_os_str().is_empty();
        if is_named && repository.is_path_ignored(&path)? {
            return Err(Fault::new(format!(
                "{file} is ignored by a .gitignore file"
            )));
        }
        let removed = adding.remove_missing(&path)?;
        let is_there = adding.work_tree.join(&path).symlink_metadata().is_ok();
        if !is_there && removed == 0 {
            return Err(Fault::new(format!("there is no file {file}")));
        }
        if is_there {
            adding.add(&path, 0)?;
        }
    }
    if entries(&adding.index).eq(before) {
        return Ok(
            "Nothing was staged: these files have no changes. `git_status` shows those that have."
                .to_owned(),
        );
    }
    adding.index.write()?;
    Ok("Files staged successfully".to_owned())
}

/// Returns what a commit would take from the index, and the stages of conflicts.
fn entries(index: &Index) -> impl Iterator<Item = (Vec<u8>, Oid, u32, u16)> {
    let parts = |entry: IndexEntry| (entry.path, entry.id, entry.mode, entry.flags);
    index.iter().map(parts)
}

/// Files that are added to the index of a repository.
struct Adding<'r> {
    repository: &'r Repository,
    work_tree: PathBuf,
    index: Index,
    max_file_bytes: u64,
    output: Output,
}

impl Adding<'_> {
    /// Removes what is missing in the work tree, at a path or below it. Returns the number of entries.
    fn remove_missing(&mut self, path: &Path) -> Result<usize> {
        let paths = self.index.iter().filter_map(|entry| {
            let entry = PathBuf::from(String::from_utf8(entry.path).ok()?);
            let is_missing = self.work_tree.join(&entry).symlink_metadata().is_err();
            (entry.starts_with(path) && is_missing).then_some(entry)
        });
        let paths: Vec<_> = paths.collect();
        for path in &paths {
            self.index.remove_path(path)?;
        }
        Ok(paths.len())
    }

    /// Adds a file, a symlink as such, or a directory with what is in it.
    fn add(&mut self, path: &Path, depth: usize) -> Result<()> {
        self.output.check_time()?;
        let full = self.work_tree.join(path);
        let metadata = full.symlink_metadata()?;
        if metadata.is_dir() {
            if depth > MAX_DEPTH {
                return Err(Fault::new(format!("{} is too deep", path.display())));
            }
            return self.add_dir(path, depth);
        }
        if metadata.is_file()
            && let Some(filter) = self.filter(path)?
        {
            if self.is_staged(path, &metadata) {
                return Ok(());
            }
            return Err(Fault::new(format!(
                "{} is not staged: the filter '{filter}' of .gitattributes changes its content, and filters are not \
                 run here. Stage it with git itself",
                path.display()
            )));
        }
        if metadata.is_file() && metadata.len() > self.max_file_bytes {
            return Err(Fault::new(format!(
                "{} has {} bytes, and may have {}",
                path.display(),
                metadata.len(),
                self.max_file_bytes
            )));
        }
        if metadata.is_file() || metadata.is_symlink() {
            self.index.add_path(path)?;
        }
        Ok(())
    }

    /// Returns the name of the filter that git would run to store a file, for instance to encrypt it. Without it the
    /// content would be stored as it is. A filter that is configured nowhere does nothing in git either.
    fn filter(&self, path: &Path) -> Result<Option<String>> {
        let flags = AttrCheckFlags::FILE_THEN_INDEX;
        let value = self.repository.get_attr_bytes(path, "filter", flags)?;
        let name = match AttrValue::from_bytes(value) {
            AttrValue::String(name) => name,
            // No name of the configuration can be compared with it.
            AttrValue::Bytes(name) => return Ok(Some(String::from_utf8_lossy(name).into_owned())),
            _ => return Ok(None),
        };
        let config = self.repository.config()?;
        let is_configured = ["clean", "process"].iter().any(|program| {
            let entry = config.get_entry(&format!("filter.{name}.{program}"));
            entry.is_ok_and(|entry| entry.has_value() && !entry.value_bytes().is_empty())
        });
        Ok(is_configured.then(|| name.to_owned()))
    }

    /// Tells whether a file has the size and the time of its entry in the index.
    fn is_staged(&self, path: &Path, metadata: &Metadata) -> bool {
        let modified = metadata.modified().ok();
        let modified = modified.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        let (Some(entry), Some(modified)) = (self.index.get_path(path, 0), modified) else {
            return false;
        };
        // The index has the low bits of the size and the seconds.
        entry.file_size == metadata.len() as u32
            && entry.mtime.seconds() == modified.as_secs() as i32
            && entry.mtime.nanoseconds() == modified.subsec_nanos()
    }

    /// Adds what is in a directory and not ignored. Another repository inside is passed over.
    fn add_dir(&mut self, path: &Path, depth: usize) -> Result<()> {
        for entry in self.work_tree.join(path).read_dir()? {
            let name = entry?.file_name();
            let inner = path.join(&name);
            let is_repository = self
                .work_tree
                .join(&inner)
                .join(".git")
                .symlink_metadata()
                .is_ok();
            if name == ".git" || is_repository || self.repository.is_path_ignored(&inner)? {
                continue;
            }
            self.add(&inner, depth + 1)?;
        }
        Ok(())
    }
}

/// Returns a path relative to the work tree, if it leads to something inside without a symlink on its way.
fn check_path(work_tree: &Path, file: &str) -> Result<PathBuf> {
    check_name(file.trim_start_matches('-'))?;
    let outside = || {
        let work_tree = work_tree.display();
        Fault::new(format!(
            "Path '{file}' is outside the repository '{work_tree}'"
        ))
    };
    let path = Path::new(file);
    let path = path.strip_prefix(work_tree).unwrap_or(path);
    let is_plain = |component| matches!(component, Component::Normal(_) | Component::CurDir);
    if !path.components().all(is_plain) {
        return Err(outside());
    }
    let path: PathBuf = path
        .components()
        .filter(|component| *component != Component::CurDir)
        .collect();
    if path.iter().any(|name| name.eq_ignore_ascii_case(".git")) {
        return Err(Fault::new(format!(
            "{file} is in a git directory: only files of the work tree are staged"
        )));
    }
    let parent = path.parent().unwrap_or(Path::new(""));
    if let Ok(real) = work_tree.join(parent).canonicalize()
        && real != work_tree.join(parent)
    {
        return Err(outside());
    }
    Ok(path)
}

/// Commits what is in the index, on top of the current branch and of what is merged into it.
pub(super) fn commit(repository: &mut Repository, message: &str) -> Result<String> {
    let mut merged = Vec::new();
    if repository.state() == RepositoryState::Merge {
        repository.mergehead_foreach(|id| {
            merged.push(*id);
            true
        })?;
    }
    let signature = repository.signature().map_err(|_| {
        Fault::new("nobody is the author: set user.name and user.email in the configuration of git")
    })?;
    let mut index = repository.index()?;
    if index.has_conflicts() {
        return Err("there are unmerged paths: resolve and add them first".into());
    }
    let tree = repository.find_tree(index.write_tree()?)?;
    let parent = match repository.head() {
        Ok(head) => Some(head.peel_to_commit()?),
        Err(error) if error.code() == git2::ErrorCode::UnbornBranch => None,
        Err(error) => return Err(error.into()),
    };
    let is_same = match &parent {
        Some(parent) => parent.tree_id() == tree.id(),
        None => index.is_empty(),
    };
    if is_same && merged.is_empty() {
        return Err("nothing is staged: stage files with `git_add` first".into());
    }
    let merged = merged.into_iter().map(|id| repository.find_commit(id));
    let merged = merged.collect::<Result<Vec<_>, _>>()?;
    let parents: Vec<_> = parent.iter().chain(&merged).collect();
    let id = repository.commit(
        Some("HEAD"),
        &signature,
        &signature,
        message,
        &tree,
        &parents,
    )?;
    if !merged.is_empty() {
        repository.cleanup_state()?;
    }
    Ok(format!("Changes committed successfully with hash {id}"))
}

/// Makes the index what the last commit is.
pub(super) fn reset(repository: &Repository) -> Result<String> {
    match repository.head() {
        Ok(head) => {
            let commit = head.peel(git2::ObjectType::Commit)?;
            repository.reset(&commit, ResetType::Mixed, None)?;
        }
        Err(error) if error.code() == git2::ErrorCode::UnbornBranch => {
            let mut index = repository.index()?;
            index.clear()?;
            index.write()?;
        }
        Err(error) => return Err(error.into()),
    }
    Ok("All staged changes reset".to_owned())
}

/// Makes a branch at another, or at the current one.
pub(super) fn create_branch(
    repository: &Repository,
    name: &str,
    base: Option<&str>,
) -> Result<String> {
    check_name(name)?;
    if !Branch::name_is_valid(name)? {
        return Err(Fault::new(format!("'{name}' is no name of a branch")));
    }
    let (commit, base) = match base {
        Some(base) => (find_commit(repository, base)?, base.to_owned()),
        None => {
            let head = repository.head()?;
            let name = String::from_utf8_lossy(head.shorthand_bytes()).into_owned();
            (head.peel_to_commit()?, name)
        }
    };
    repository.branch(name, &commit, false)?;
    Ok(format!("Created branch '{name}' from '{base}'"))
}
