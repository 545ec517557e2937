//! Changes of the index, the branches and the work tree.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fs::{self, Metadata};
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};
use std::time::UNIX_EPOCH;

use git2::{
    AttrCheckFlags, AttrValue, Branch, ErrorCode, Index, IndexEntry, Repository,
    RepositoryOpenFlags, Status, StatusOptions, StatusShow,
};

use super::index::{
    IndexLock, SUBMODULE_MODE, copy_marks, find_entry, is_assumed_unchanged, is_intent_to_add,
    to_path,
};
use super::limits::{Limits, Output};
use super::repository::{check_name, find_commit};
use crate::fault::{Fault, Result};

/// The files of an operation on several commits, which end with a commit or a reset.
const OPERATION_FILES: [&str; 7] = [
    "MERGE_HEAD",
    "MERGE_MODE",
    "MERGE_MSG",
    "AUTO_MERGE",
    "SQUASH_MSG",
    "CHERRY_PICK_HEAD",
    "REVERT_HEAD",
];

/// Adds files to the index: all, or some by their paths below the work tree.
pub(super) fn add(repository: &Repository, files: &[String], limits: &Limits) -> Result<String> {
    let work_tree = repository
        .workdir()
        .ok_or("the repository has no work tree")?
        .canonicalize()?;
    let lock = IndexLock::take(repository)?;
    let mut adding = Adding {
        work_tree,
        repository,
        index: lock.index()?,
        max_file_bytes: limits.max_file_bytes,
        output: Output::new(limits),
    };
    for file in files {
        let path = check_path(&adding.work_tree, file)?;
        adding.add_named(file, &path)?;
    }
    let entries: Vec<_> = adding.index.iter().collect();
    let text = match lock.write(&entries)? {
        true => "Files staged successfully",
        false => {
            "Nothing was staged: these files have no changes. `git_status` shows those that have."
        }
    };
    Ok(text.to_owned())
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
    /// Adds what changed at a path or below it. Files that are not in the index are added unless they are ignored.
    fn add_named(&mut self, file: &str, path: &Path) -> Result<()> {
        self.check_entries(file, path)?;
        let mut options = StatusOptions::new();
        options
            .show(StatusShow::Workdir)
            .include_untracked(true)
            .recurse_untracked_dirs(true)
            .include_ignored(false)
            .no_refresh(true);
        if !path.as_os_str().is_empty() {
            options.disable_pathspec_match(true).pathspec(path);
        }
        let (mut missing, mut changed) = (Vec::new(), Vec::new());
        for entry in self.repository.statuses(Some(&mut options))?.iter() {
            let path = to_path(entry.path_bytes())?;
            let is_missing = entry.status().contains(Status::WT_DELETED)
                || self.work_tree.join(&path).symlink_metadata().is_err();
            let paths = if is_missing {
                &mut missing
            } else {
                &mut changed
            };
            paths.push(path);
        }
        let mut is_known = !missing.is_empty() || !changed.is_empty();
        for entry in self.index.iter() {
            let entry_path = to_path(&entry.path)?;
            if entry_path.starts_with(path) {
                is_known = true;
                // An empty file is no change of such an entry.
                if is_intent_to_add(&entry) && !missing.contains(&entry_path) {
                    changed.push(entry_path);
                }
            }
        }
        if !is_known && self.work_tree.join(path).symlink_metadata().is_err() {
            return Err(Fault::new(format!("there is no file {file}")));
        }
        if !is_known && !path.as_os_str().is_empty() && self.repository.is_path_ignored(path)? {
            return Err(Fault::new(format!(
                "{file} is ignored by a .gitignore file"
            )));
        }
        // A file can be where a directory with entries was, so these are removed first.
        for path in missing {
            if !self.is_assumed_unchanged(&path) {
                self.index.remove_path(&path)?;
            }
        }
        for path in changed {
            self.output.check_time()?;
            if !self.is_assumed_unchanged(&path) {
                self.add(&path)?;
            }
        }
        Ok(())
    }

    /// Fails for a path whose changes are not staged: another repository or in a submodule, or assumed unchanged.
    fn check_entries(&self, file: &str, path: &Path) -> Result<()> {
        for parent in path.ancestors().skip(1) {
            if self.submodule(parent).is_some() {
                return Err(Fault::new(format!(
                    "{file} is in the submodule {}: stage and commit it in that repository, then stage the submodule",
                    parent.display()
                )));
            }
        }
        let folder = self.work_tree.join(path);
        if !path.as_os_str().is_empty()
            && !folder.is_symlink()
            && folder.join(".git").symlink_metadata().is_ok()
            && self.submodule(path).is_none()
        {
            return Err(Fault::new(format!(
                "{file} is another repository: add it as a submodule with git itself"
            )));
        }
        match self.is_assumed_unchanged(path) {
            true => Err(Fault::new(format!(
                "{file} is assumed unchanged, or outside of a sparse checkout, so its changes are not staged: undo \
                 that with `git update-index --no-assume-unchanged --no-skip-worktree`"
            ))),
            false => Ok(()),
        }
    }

    /// Tells whether the work tree does not matter for a path.
    fn is_assumed_unchanged(&self, path: &Path) -> bool {
        let entry = find_entry(&self.index, path, 0);
        entry.is_some_and(|entry| is_assumed_unchanged(&entry))
    }

    /// Returns the entry of a submodule.
    fn submodule(&self, path: &Path) -> Option<IndexEntry> {
        let entry = find_entry(&self.index, path, 0);
        entry.filter(|entry| entry.mode == SUBMODULE_MODE)
    }

    /// Adds a file, a symlink as such, or the commit of a submodule.
    fn add(&mut self, path: &Path) -> Result<()> {
        let metadata = self.work_tree.join(path).symlink_metadata()?;
        if metadata.is_dir() {
            // Another repository that is no submodule is passed over.
            return match self.submodule(path) {
                Some(entry) => self.add_submodule(path, entry),
                None => Ok(()),
            };
        }
        if metadata.is_file()
            && let Some(conversion) = self.conversion(path)?
        {
            if self.is_staged(path, &metadata) {
                return Ok(());
            }
            return Err(Fault::new(format!(
                "{} is not staged: {conversion} of .gitattributes changes its content, which is not done here. Stage \
                 it with git itself",
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

    /// Adds the commit that a submodule has checked out. The scan of the repository checked the submodule, too.
    fn add_submodule(&mut self, path: &Path, mut entry: IndexEntry) -> Result<()> {
        let folder = self.work_tree.join(path);
        // Without it, the submodule is not checked out.
        if folder.join(".git").symlink_metadata().is_err() {
            return Ok(());
        }
        let flags = RepositoryOpenFlags::NO_SEARCH;
        let head = Repository::open_ext(&folder, flags, std::iter::empty::<&Path>())
            .and_then(|submodule| submodule.head()?.peel_to_commit().map(|commit| commit.id()));
        entry.id = head.map_err(|error| {
            Fault::new(format!(
                "the commit of the submodule {} cannot be read: {}",
                path.display(),
                error.message()
            ))
        })?;
        self.index.add(&entry)?;
        Ok(())
    }

    /// Returns the attribute for which git would convert a file to store it: a filter, for instance to encrypt it, or
    /// another encoding. Without that the content would be stored as it is. A filter that is configured nowhere does
    /// nothing in git either.
    fn conversion(&self, path: &Path) -> Result<Option<String>> {
        let flags = AttrCheckFlags::FILE_THEN_INDEX;
        let attribute = |name| self.repository.get_attr_bytes(path, name, flags);
        let encoding = attribute("working-tree-encoding")?;
        let encoding = match AttrValue::from_bytes(encoding) {
            AttrValue::String(encoding) => encoding.into(),
            AttrValue::Bytes(encoding) => String::from_utf8_lossy(encoding),
            _ => Cow::Borrowed("UTF-8"),
        };
        if !encoding.eq_ignore_ascii_case("UTF-8") {
            return Ok(Some(format!("the encoding '{encoding}'")));
        }
        let value = attribute("filter")?;
        let name = match AttrValue::from_bytes(value) {
            AttrValue::String(name) => name,
            // No name of the configuration can be compared with it.
            AttrValue::Bytes(name) => {
                let name = String::from_utf8_lossy(name);
                return Ok(Some(format!("the filter '{name}'")));
            }
            _ => return Ok(None),
        };
        let config = self.repository.config()?;
        let is_configured = ["clean", "process"].iter().any(|program| {
            let entry = config.get_entry(&format!("filter.{name}.{program}"));
            entry.is_ok_and(|entry| entry.has_value() && !entry.value_bytes().is_empty())
        });
        Ok(is_configured.then(|| format!("the filter '{name}'")))
    }

    /// Tells whether a file has the size and the time of its entry in the index.
    fn is_staged(&self, path: &Path, metadata: &Metadata) -> bool {
        let modified = metadata.modified().ok();
        let modified = modified.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        let (Some(entry), Some(modified)) = (find_entry(&self.index, path, 0), modified) else {
            return false;
        };
        // The index has the low bits of the size and the seconds.
        entry.file_size == metadata.len() as u32
            && entry.mtime.seconds() == modified.as_secs() as i32
            && entry.mtime.nanoseconds() == modified.subsec_nanos()
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
    let found = repository.mergehead_foreach(|id| {
        merged.push(*id);
        true
    });
    match found {
        Err(error) if error.code() != ErrorCode::NotFound => return Err(error.into()),
        _ => {}
    }
    let signature = repository.signature().map_err(|_| {
        Fault::new("nobody is the author: set user.name and user.email in the configuration of git")
    })?;
    // A cherry-pick keeps its author.
    let author = match repository.refname_to_id("CHERRY_PICK_HEAD") {
        Ok(id) => repository.find_commit(id)?.author().to_owned(),
        Err(_) => signature.clone(),
    };
    let mut index = repository.index()?;
    if index.has_conflicts() {
        return Err("there are unmerged paths: resolve and add them first".into());
    }
    let marks: Vec<_> = index.iter().filter(is_intent_to_add).collect();
    for mark in marks {
        index.remove(&to_path(&mark.path)?, 0)?;
    }
    let tree = repository.find_tree(index.write_tree()?)?;
    let parent = match repository.head() {
        Ok(head) => Some(head.peel_to_commit()?),
        Err(error) if error.code() == ErrorCode::UnbornBranch => None,
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
    let id = repository.commit(Some("HEAD"), &author, &signature, message, &tree, &parents)?;
    end_operation(repository)?;
    Ok(format!("Changes committed successfully with hash {id}"))
}

/// Ends a merge, a cherry-pick or a revert.
fn end_operation(repository: &Repository) -> Result<()> {
    for name in OPERATION_FILES {
        match fs::remove_file(repository.path().join(name)) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error.into()),
            _ => {}
        }
    }
    Ok(())
}

/// Makes the index what the last commit is.
pub(super) fn reset(repository: &Repository) -> Result<String> {
    if repository.workdir().is_none() {
        return Err("the repository has no work tree".into());
    }
    let lock = IndexLock::take(repository)?;
    let mut index = lock.index()?;
    let marked = index.iter().filter(is_assumed_unchanged);
    let marked: HashMap<_, _> = marked.map(|entry| (entry.path.clone(), entry)).collect();
    match repository.head() {
        Ok(head) => index.read_tree(&head.peel_to_tree()?)?,
        Err(error) if error.code() == ErrorCode::UnbornBranch => index.clear()?,
        Err(error) => return Err(error.into()),
    }
    let mut entries: Vec<_> = index.iter().collect();
    for entry in &mut entries {
        if let Some(marked) = marked.get(&entry.path) {
            copy_marks(marked, entry);
        }
    }
    lock.write(&entries)?;
    end_operation(repository)?;
    Ok("All staged changes reset".to_owned())
}

/// Makes a branch at another, or at the current one.
pub(super) fn create_branch(
    repository: &Repository,
    name: &str,
    base: Option<&str>,
    limits: &Limits,
) -> Result<String> {
    check_name(name)?;
    if !Branch::name_is_valid(name)? {
        return Err(Fault::new(format!("'{name}' is no name of a branch")));
    }
    let (commit, base) = match base {
        Some(base) => (find_commit(repository, base, limits)?, base.to_owned()),
        None => {
            let head = repository.head()?;
            let name = String::from_utf8_lossy(head.shorthand_bytes()).into_owned();
            (head.peel_to_commit()?, name)
        }
    };
    repository.branch(name, &commit, false)?;
    Ok(format!("Created branch '{name}' from '{base}'"))
}
