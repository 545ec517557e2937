//! Access control: clients reach only files below the granted directories, which are kept open.
//!
//! Paths are resolved relative to the handle of a directory. Neither `..` nor a symbolic link leads
//! out of the directory, even if the tree changes meanwhile: cap-std lets the kernel resolve the
//! path beneath the handle, or resolves it step by step where the kernel cannot.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cap_fs_ext::OpenOptionsSyncExt;
use cap_std::ambient_authority;
use cap_std::fs::{Dir, File, OpenOptions};
use turnbuckle::prelude::*;

use crate::client_path;

/// The maximum number of roots of a client that are used; the others are ignored.
const MAX_ROOTS: usize = 64;

/// A directory and everything below it.
#[derive(Debug, Clone)]
pub(crate) struct Grant {
    path: PathBuf,
    dir: Arc<Dir>,
}

/// The granted directories. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Tree(Arc<[Grant]>);

/// A path within a grant.
pub(crate) struct Location {
    grant: Grant,
    /// The path relative to the directory of the grant; `.` for the directory itself.
    below: PathBuf,
}

impl Tree {
    /// Opens the directories to grant.
    pub(crate) fn open(roots: &[PathBuf]) -> Result<Self> {
        let open = |root: &PathBuf| {
            let path = root.canonicalize()?;
            let dir = Arc::new(Dir::open_ambient_dir(&path, ambient_authority())?);
            Ok(Grant { path, dir })
        };
        let opened = roots.iter().map(|root| {
            open(root).map_err(|error: io::Error| format!("{}: {error}", root.display()))
        });
        Ok(Self(opened.collect::<Result<_, _>>()?))
    }

    pub(crate) fn grants(&self) -> &[Grant] {
        &self.0
    }

    /// Returns the intersection of this tree and these directories.
    fn within(&self, roots: &[PathBuf]) -> Self {
        let both = |grant: &Grant, root: &PathBuf| {
            if grant.path.starts_with(root) {
                return Some(grant.clone());
            }
            let below = root.strip_prefix(&grant.path).ok()?;
            let dir = Arc::new(grant.dir.open_dir(below).ok()?);
            let path = root.clone();
            Some(Grant { path, dir })
        };
        let grants = self.0.iter();
        Self(
            grants
                .flat_map(|grant| roots.iter().filter_map(|root| both(grant, root)))
                .collect(),
        )
    }

    /// Resolves a path or URI of a client.
    pub(crate) fn resolve(&self, text: &str) -> io::Result<Location> {
        self.resolve_path(&client_path::parse_path(text)?)
    }

    /// Resolves a URI of a client.
    pub(crate) fn resolve_uri(&self, uri: &str) -> io::Result<Location> {
        self.resolve_path(&client_path::parse_uri(uri)?)
    }

    /// Returns the locations of the granted directories.
    pub(crate) fn locations(&self) -> Vec<Location> {
        let places = self
            .0
            .iter()
            .map(|grant| self.resolve_path(&grant.path).ok());
        places.flatten().collect()
    }

    /// Resolves an absolute path.
    ///
    /// # Errors
    /// If the path is in none of the granted directories.
    pub(crate) fn resolve_path(&self, path: &Path) -> io::Result<Location> {
        let found = self.0.iter().find_map(|grant| {
            let below = path.strip_prefix(&grant.path).ok()?;
            Some((grant.clone(), below))
        });
        let (grant, below) = found.ok_or_else(|| {
            let why = format!("{} is not in a served directory", path.display());
            io::Error::new(io::ErrorKind::PermissionDenied, why)
        })?;
        let itself = below.as_os_str().is_empty();
        let below = if itself { Path::new(".") } else { below }.to_owned();
        Ok(Location { grant, below })
    }
}

impl Grant {
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Location {
    /// Returns the absolute path.
    pub(crate) fn path(&self) -> PathBuf {
        match self.below.as_os_str() == "." {
            true => self.grant.path.clone(),
            false => self.grant.path.join(&self.below),
        }
    }

    /// Opens the directory at this location.
    pub(crate) fn dir(&self) -> io::Result<Dir> {
        self.grant.dir.open_dir(&self.below)
    }

    /// Returns whether this is the location of a directory.
    pub(crate) fn is_dir(&self) -> io::Result<bool> {
        Ok(self.grant.dir.metadata(&self.below)?.is_dir())
    }

    /// Opens the file at this location for reading.
    pub(crate) fn file(&self) -> io::Result<File> {
        open_file(&self.grant.dir, &self.below)
    }

    /// Opens the parent directory and returns it with the file name.
    pub(crate) fn parent(&self) -> io::Result<(Dir, &Path)> {
        let no_file = || io::Error::new(io::ErrorKind::InvalidInput, "it is not a file");
        let name = self.below.file_name().ok_or_else(no_file)?;
        let above = match self.below.parent() {
            Some(above) if !above.as_os_str().is_empty() => above,
            _ => Path::new("."),
        };
        Ok((self.grant.dir.open_dir(above)?, Path::new(name)))
    }
}

/// Opens a regular file. A pipe or a device is an error.
pub(crate) fn open_file(dir: &Dir, name: &Path) -> io::Result<File> {
    let is_file = |is_file: bool| match is_file {
        true => Ok(()),
        false => Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "it is not a file",
        )),
    };
    is_file(dir.metadata(name)?.is_file())?;
    let file = dir.open_with(name, OpenOptions::new().read(true).nonblock(true))?;
    // The file may have been replaced since the first check.
    is_file(file.metadata()?.is_file())?;
    Ok(file)
}

/// Returns the part of the tree that this client may reach: all of it, or its roots if it has some.
pub(crate) async fn tree_for_client(tree: &Tree, ask: &Ask) -> Result<Tree> {
    let roots = match ask.roots().await {
        Ok(roots) => roots,
        Err(AskError::Unsupported(_)) => return Ok(tree.clone()),
        Err(error) => return Err(error.into()),
    };
    let tree = tree.clone();
    run_blocking(move || {
        let path = |root: &turnbuckle::types::Root| {
            let path = client_path::parse_uri(&root.uri).ok()?;
            // The paths of the grants are canonical, so the roots must be, too.
            Some(path.canonicalize().unwrap_or(path))
        };
        let roots: Vec<PathBuf> = roots.iter().take(MAX_ROOTS).filter_map(path).collect();
        Ok(tree.within(&roots))
    })
    .await
}

/// Runs blocking disk access on the blocking pool.
pub(crate) async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> Result<T> {
    Ok(tokio::task::spawn_blocking(work).await??)
}
