//! The repositories that are opened, and the revisions in them.

use std::fs;
use std::path::{Path, PathBuf};

use git2::{Commit, Object, ObjectType, Repository, RepositoryOpenFlags};

use crate::Error;
use crate::fault::{Fault, Result};

/// The longest name of a revision, branch or path, in bytes.
const MAX_NAME_BYTES: usize = 4_096;

/// The bytes of the file that names further object databases.
const MAX_ALTERNATES_BYTES: u64 = 64 << 10;

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

    /// Opens the repository at a path. All of it must be inside of the directories: its work tree, which its
    /// configuration can set, its git directory, to which a file or a symlink can lead, and its objects.
    pub(super) fn repository(&self, path: &str) -> Result<Repository> {
        check_name(path)?;
        let real = self.check_inside(Path::new(path))?;
        // Without a search in the directories above, and without environment variables.
        let flags = RepositoryOpenFlags::NO_SEARCH;
        let repository = Repository::open_ext(&real, flags, std::iter::empty::<&Path>())?;
        self.check_inside(repository.path())?;
        self.check_inside(repository.commondir())?;
        if let Some(work_tree) = repository.workdir() {
            self.check_inside(work_tree)?;
        }
        let objects = self.check_inside(&repository.commondir().join("objects"))?;
        self.check_alternates(&objects)?;
        Ok(repository)
    }

    /// Returns a path without symlinks, if it is inside of one of the directories.
    fn check_inside(&self, path: &Path) -> Result<PathBuf> {
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

    /// Checks the object databases that a repository also reads.
    fn check_alternates(&self, objects: &Path) -> Result<()> {
        let file = objects.join("info/alternates");
        let Ok(metadata) = fs::metadata(&file) else {
            return Ok(());
        };
        if !metadata.is_file() || metadata.len() > MAX_ALTERNATES_BYTES {
            return Err("objects/info/alternates is no small file".into());
        }
        let text = fs::read_to_string(file)?;
        let lines = text
            .lines()
            .filter(|line| !line.is_empty() && !line.starts_with('#'));
        for line in lines {
            self.check_inside(&objects.join(line))?;
        }
        Ok(())
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
    Ok(repository.revparse_single(revision)?)
}

/// Finds the commit of a revision.
pub(super) fn find_commit<'r>(repository: &'r Repository, revision: &str) -> Result<Commit<'r>> {
    let object = find(repository, revision)?.peel(ObjectType::Commit)?;
    object
        .into_commit()
        .map_err(|_| Fault::new(format!("{revision} is no commit")))
}
