//! Opening of repositories. libgit2 follows symlinks, waits at a named pipe for ever, and reads files whole, so all that
//! it opens by itself is checked before: the types and sizes of the files, not what is in them.

use std::ffi::OsStr;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Instant;

use git2::{ConfigLevel, ObjectType, Repository, RepositoryOpenFlags};

use super::index::SUBMODULE_MODE;
use super::limits::Limits;
use super::repository::Repositories;
use crate::fault::{Fault, Result};

/// The entries of folders that one call looks at.
const MAX_ENTRIES: usize = 1_000_000;

/// The bytes of a file in a git directory that libgit2 reads whole, such as `index` and `packed-refs`.
const MAX_FILE_BYTES: u64 = 64 << 20;

/// The bytes of a file with settings: `config`, `.gitmodules`, `.gitignore`, `.gitattributes`.
const MAX_SETTINGS_BYTES: u64 = 1 << 20;

/// The bytes of a file that only leads to folders: `.git`, `commondir`, `objects/info/alternates`.
const MAX_LINK_BYTES: u64 = 64 << 10;

/// The object databases behind each other, as in libgit2.
const MAX_ALTERNATES_DEPTH: usize = 5;

/// The submodules inside of each other.
const MAX_SUBMODULE_DEPTH: usize = 16;

/// The folders of a git directory whose files are read whole. Those of `objects`, `lfs` and others may be large.
const FOLDERS_READ_WHOLE: [&str; 4] = ["info", "logs", "refs", "worktrees"];

/// A socket that git makes in its directory. libgit2 does not open it.
const FSMONITOR_SOCKET: &str = "fsmonitor--daemon.ipc";

/// The parts of a repository that a call uses.
#[derive(Debug, Clone, Copy)]
pub(super) enum Parts {
    /// Commits, branches and the index.
    GitDir,
    /// Also the work tree: its files say which others are ignored and what attributes they have. libgit2 reads these
    /// also when it writes the index.
    WorkTree,
}

/// The checks of one call, which share a bound.
pub(super) struct Scan<'r> {
    repositories: &'r Repositories,
    missing_entries: usize,
    deadline: Instant,
    depth: usize,
}

impl<'r> Scan<'r> {
    /// Begins the checks of a call.
    pub(super) fn new(repositories: &'r Repositories, limits: &Limits) -> Self {
        Self {
            repositories,
            missing_entries: MAX_ENTRIES,
            deadline: Instant::now() + limits.call_timeout,
            depth: 0,
        }
    }

    /// Opens the repository at a folder without symlinks in its path, if there is one.
    ///
    /// All of it must be inside of the directories: its work tree, which its configuration can set, its git directory, to
    /// which a file or a symlink can lead, and its objects.
    pub(super) fn open(&mut self, folder: &Path, parts: Parts) -> Result<Option<Repository>> {
        let Some((git_dir, common_dir)) = self.find(folder)? else {
            return Ok(None);
        };
        for config in [common_dir.join("config"), git_dir.join("config.worktree")] {
            self.check_config(&config)?;
        }
        self.check_alternates(&common_dir.join("objects"), 0)?;
        // Without a search in the directories above, and without environment variables.
        let flags = RepositoryOpenFlags::NO_SEARCH;
        let repository = Repository::open_ext(folder, flags, std::iter::empty::<&Path>())?;
        if self.repositories.check_inside(repository.path())? != git_dir
            || self.repositories.check_inside(repository.commondir())? != common_dir
        {
            return Err("the repository changed while it was opened: try again".into());
        }
        let work_tree = repository.workdir();
        let work_tree = work_tree.map(|work_tree| self.repositories.check_inside(work_tree));
        let work_tree = work_tree.transpose()?;
        self.check_configured_files(&repository)?;
        if let (Parts::WorkTree, Some(work_tree)) = (parts, work_tree) {
            self.check_work_tree(&repository, &work_tree)?;
        }
        Ok(Some(repository))
    }

    /// Finds and checks the git directory, and the one that linked work trees share, where libgit2 looks for them.
    fn find(&mut self, folder: &Path) -> Result<Option<(PathBuf, PathBuf)>> {
        for place in [folder.join(".git"), folder.to_owned()] {
            if place.symlink_metadata().is_err() {
                continue;
            }
            let mut git_dir = self.repositories.check_inside(&place)?;
            if git_dir.is_file() && place.ends_with(".git") {
                let text = read_link_file(&git_dir)?;
                let Some(target) = text.strip_prefix("gitdir:") else {
                    return Err(Fault::new(format!(
                        "{} does not begin with `gitdir:`",
                        place.display()
                    )));
                };
                let parent = place.parent().unwrap_or(folder);
                let target = parent.join(target.trim_start());
                git_dir = self.repositories.check_inside(&target)?;
            }
            let has = |name: &str| git_dir.join(name).symlink_metadata().is_ok();
            // A folder of another name is a git directory by what is in it.
            let has_all = ["HEAD", "objects", "refs"].into_iter().all(has);
            if !place.ends_with(".git") && !has_all {
                continue;
            }
            if !git_dir.is_dir() {
                return Err(special_file_error(&git_dir));
            }
            self.check_git_dir(&git_dir, true)?;
            let mut common_dir = git_dir.clone();
            let link = git_dir.join("commondir");
            if link.is_file() {
                let target = git_dir.join(read_link_file(&link)?);
                common_dir = self.repositories.check_inside(&target)?;
                self.check_git_dir(&common_dir, true)?;
            }
            if git_dir.join("HEAD").is_file()
                && common_dir.join("objects").is_dir()
                && common_dir.join("refs").is_dir()
            {
                return Ok(Some((git_dir, common_dir)));
            }
        }
        Ok(None)
    }

    /// Checks a git directory, or a folder of objects, whose files may be large: regular files and folders alone.
    fn check_git_dir(&mut self, root: &Path, is_git_dir: bool) -> Result<()> {
        let mut folders = vec![(root.to_owned(), is_git_dir)];
        while let Some((folder, is_read_whole)) = folders.pop() {
            let is_root = folder == root;
            let entries = match folder.read_dir() {
                Ok(entries) => entries,
                // Another process of git removed it.
                Err(error) if error.kind() == ErrorKind::NotFound && !is_root => continue,
                Err(error) => return Err(Fault::new(format!("{error}: {}", folder.display()))),
            };
            for entry in entries {
                self.count()?;
                let entry = entry?;
                let (name, kind) = (entry.file_name(), entry.file_type()?);
                if kind.is_dir() {
                    let is_inner_read_whole = match is_root {
                        true => is_git_dir && FOLDERS_READ_WHOLE.iter().any(|read| name == *read),
                        false => is_read_whole,
                    };
                    folders.push((entry.path(), is_inner_read_whole));
                } else if kind.is_file() {
                    if is_read_whole && let Ok(metadata) = entry.metadata() {
                        check_size(&entry.path(), metadata.len(), MAX_FILE_BYTES)?;
                    }
                } else if kind.is_symlink() {
                    self.check_hook(&entry.path())?;
                } else if !(is_root && name == FSMONITOR_SOCKET) {
                    return Err(special_file_error(&entry.path()));
                }
            }
        }
        Ok(())
    }

    /// Checks a symlink in a git directory: hooks may be some, since they are not run, if they lead nowhere outside.
    fn check_hook(&self, path: &Path) -> Result<()> {
        let is_hook = |path: &Path| path.file_name() == Some(OsStr::new("hooks"));
        if !is_hook(path) && !path.parent().is_some_and(is_hook) {
            return Err(Fault::new(format!(
                "{} is a symlink: replace it with the file or folder to which it leads, since a git directory may \
                 have none",
                path.display()
            )));
        }
        let real = self.repositories.check_inside(path)?;
        match real.is_file() || real.is_dir() {
            true => Ok(()),
            false => Err(special_file_error(&real)),
        }
    }

    /// Checks the object databases that another one names.
    fn check_alternates(&mut self, objects: &Path, depth: usize) -> Result<()> {
        let file = objects.join("info/alternates");
        if file.symlink_metadata().is_err() || depth > MAX_ALTERNATES_DEPTH {
            return Ok(());
        }
        let text = read_link_file(&file)?;
        let lines = text
            .split(['\r', '\n'])
            .filter(|line| !line.is_empty() && !line.starts_with('#'));
        for line in lines {
            self.count()?;
            // libgit2 takes other paths as relative to the current directory of the process.
            if !line.starts_with('.') && !Path::new(line).is_absolute() {
                return Err(Fault::new(format!(
                    "a path in {} begins neither with / nor with a dot: {line}",
                    file.display()
                )));
            }
            let alternate = self.repositories.check_inside(&objects.join(line))?;
            self.check_git_dir(&alternate, false)?;
            self.check_alternates(&alternate, depth + 1)?;
        }
        Ok(())
    }

    /// Checks a file of settings, if it exists: it must not have libgit2 read further files as such.
    fn check_config(&self, path: &Path) -> Result<()> {
        if path.symlink_metadata().is_err() {
            return Ok(());
        }
        self.check_settings(path)?;
        let text = fs::read(path)?.to_ascii_lowercase();
        let include = b"[include";
        if text.windows(include.len()).any(|part| part == include) {
            return Err(Fault::new(format!(
                "{} includes another file, which is not supported: move the settings into it, and remove its \
                 sections `include` and `includeIf`",
                path.display()
            )));
        }
        Ok(())
    }

    /// Checks a file of settings, to which a symlink may lead.
    fn check_settings(&self, path: &Path) -> Result<()> {
        let metadata = fs::metadata(self.repositories.check_inside(path)?)?;
        match metadata.is_file() {
            true => check_size(path, metadata.len(), MAX_SETTINGS_BYTES),
            // libgit2 passes over folders.
            false if metadata.is_dir() => Ok(()),
            false => Err(special_file_error(path)),
        }
    }

    /// Checks the files that the repository's own configuration names. Those of the user's configuration are trusted.
    fn check_configured_files(&self, repository: &Repository) -> Result<()> {
        let config = repository.config()?;
        for name in ["core.excludesFile", "core.attributesFile"] {
            let is_own = config.get_entry(name).is_ok_and(|entry| {
                let level = entry.level();
                matches!(level, ConfigLevel::Local | ConfigLevel::Worktree)
            });
            if is_own {
                let checked = self.check_settings(&config.get_path(name)?);
                checked.map_err(|fault| {
                    Fault::new(format!(
                        "{fault}: change {name} in the configuration of the repository"
                    ))
                })?;
            }
        }
        Ok(())
    }

    /// Checks the files of a work tree that libgit2 reads by itself, and the submodules, which it opens.
    fn check_work_tree(&mut self, repository: &Repository, root: &Path) -> Result<()> {
        let modules = root.join(".gitmodules");
        self.check_config(&modules)?;
        let mut folders = vec![root.to_owned()];
        while let Some(folder) = folders.pop() {
            // What the server may not list, libgit2 does not list either.
            let Ok(entries) = folder.read_dir() else {
                continue;
            };
            let is_root = folder == root;
            let (mut inner, mut is_repository) = (Vec::new(), false);
            for entry in entries {
                self.count()?;
                let entry = entry?;
                let name = entry.file_name();
                let is = |other: &str| name.eq_ignore_ascii_case(other);
                if is(".gitignore") || is(".gitattributes") {
                    self.check_settings(&entry.path())?;
                }
                is_repository |= is(".git") || is("HEAD");
                // The git directory was checked. Into another one a symlink of the work tree can lead.
                if !(is_root && name == ".git") && entry.file_type()?.is_dir() {
                    inner.push(entry.path());
                }
            }
            if is_repository
                && !is_root
                && let Ok(path) = folder.strip_prefix(root)
                && (modules.exists() || is_submodule(repository, path)?)
                && self.check_submodule(&folder)?
            {
                continue;
            }
            folders.append(&mut inner);
        }
        Ok(())
    }

    /// Checks a repository in the work tree of another. Returns whether all of the folder was checked.
    fn check_submodule(&mut self, folder: &Path) -> Result<bool> {
        if self.depth == MAX_SUBMODULE_DEPTH {
            return Err(Fault::new(format!(
                "{} is inside of more than {MAX_SUBMODULE_DEPTH} repositories",
                folder.display()
            )));
        }
        self.depth += 1;
        let submodule = self.open(folder, Parts::WorkTree)?;
        self.depth -= 1;
        let work_tree = submodule
            .as_ref()
            .and_then(Repository::workdir)
            .map(Path::canonicalize);
        Ok(matches!(work_tree, Some(Ok(real)) if real == folder))
    }

    /// Counts an entry of a folder. Fails if there are too many, or the time is over.
    fn count(&mut self) -> Result<()> {
        self.missing_entries = self.missing_entries.checked_sub(1).ok_or_else(|| {
            Fault::new(format!(
                "the repository has more than {MAX_ENTRIES} files and folders, which are too many to check"
            ))
        })?;
        // The time is not asked for each.
        match self.missing_entries.is_multiple_of(1_024) && Instant::now() >= self.deadline {
            true => {
                Err("the files of the repository could not be checked in the time of a call".into())
            }
            false => Ok(()),
        }
    }
}

/// Tells whether the index or the last commit has a submodule at a path.
fn is_submodule(repository: &Repository, path: &Path) -> Result<bool> {
    if let Some(entry) = repository.index()?.get_path(path, 0)
        && entry.mode == SUBMODULE_MODE
    {
        return Ok(true);
    }
    let tree = repository.head().and_then(|head| head.peel_to_tree());
    let entry = tree.and_then(|tree| tree.get_path(path));
    Ok(entry.is_ok_and(|entry| entry.kind() == Some(ObjectType::Commit)))
}

/// Reads a small file that leads to folders, without the spaces at its end.
fn read_link_file(path: &Path) -> Result<String> {
    let metadata = path.symlink_metadata()?;
    if !metadata.is_file() {
        return Err(special_file_error(path));
    }
    check_size(path, metadata.len(), MAX_LINK_BYTES)?;
    let mut text = fs::read_to_string(path)?;
    text.truncate(text.trim_end().len());
    Ok(text)
}

/// Checks the size of a file.
fn check_size(path: &Path, bytes: u64, max_bytes: u64) -> Result<()> {
    match bytes <= max_bytes {
        true => Ok(()),
        false => Err(Fault::new(format!(
            "{} has {bytes} bytes, and may have {max_bytes}: make it smaller, or use git itself",
            path.display()
        ))),
    }
}

/// Returns the error for something that is neither a file nor a folder.
fn special_file_error(path: &Path) -> Fault {
    Fault::new(format!(
        "{} is no regular file: remove it, since opening a pipe, a socket or a device may never end",
        path.display()
    ))
}
