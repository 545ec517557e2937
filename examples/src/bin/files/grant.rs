//! Access control: clients can reach only what is below some directories, which are held open.
//!
//! A path is looked up from the directory's handle, which neither `..` nor a symbolic link can
//! leave, however the tree changes meanwhile: cap-std has the kernel resolve it beneath the handle,
//! or does so step by step where it cannot.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cap_fs_ext::OpenOptionsSyncExt;
use cap_std::ambient_authority;
use cap_std::fs::{Dir, File, OpenOptions};
use turnbuckle::prelude::*;

use crate::place;

/// The most roots of a client that are considered.
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
pub(crate) struct Place {
    grant: Grant,
    /// Below the grant's directory, `.` for itself.
    below: PathBuf,
}

impl Tree {
    /// Opens directories.
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

    /// Returns the place that a path or URI of a client names.
    pub(crate) fn find(&self, written: &str) -> io::Result<Place> {
        self.at(&place::path_of(written)?)
    }

    /// Returns the place that a URI names.
    pub(crate) fn find_uri(&self, uri: &str) -> io::Result<Place> {
        self.at(&place::path_of_uri(uri)?)
    }

    /// Returns the granted directories as places.
    pub(crate) fn places(&self) -> Vec<Place> {
        let places = self.0.iter().map(|grant| self.at(&grant.path).ok());
        places.flatten().collect()
    }

    pub(crate) fn at(&self, path: &Path) -> io::Result<Place> {
        let found = self.0.iter().find_map(|grant| {
            let below = path.strip_prefix(&grant.path).ok()?;
            Some((grant.clone(), below))
        });
        let (grant, below) = found.ok_or_else(|| {
            let why = format!("{} is in no directory that is served", path.display());
            io::Error::new(io::ErrorKind::PermissionDenied, why)
        })?;
        let itself = below.as_os_str().is_empty();
        let below = if itself { Path::new(".") } else { below }.to_owned();
        Ok(Place { grant, below })
    }
}

impl Grant {
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Place {
    /// Returns the absolute path.
    pub(crate) fn path(&self) -> PathBuf {
        match self.below.as_os_str() == "." {
            true => self.grant.path.clone(),
            false => self.grant.path.join(&self.below),
        }
    }

    /// Opens the place as a directory.
    pub(crate) fn dir(&self) -> io::Result<Dir> {
        self.grant.dir.open_dir(&self.below)
    }

    pub(crate) fn is_dir(&self) -> io::Result<bool> {
        Ok(self.grant.dir.metadata(&self.below)?.is_dir())
    }

    /// Opens the place as a file for reading.
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

/// Opens a regular file, not a pipe or device.
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
    // What was opened may be another by now.
    is_file(file.metadata()?.is_file())?;
    Ok(file)
}

/// Returns the part of the tree that this client may reach: all of it, or its roots if it has some.
pub(crate) async fn of_client(tree: &Tree, ask: &Ask) -> Result<Tree> {
    let roots = match ask.roots().await {
        Ok(roots) => roots,
        Err(AskError::Unsupported(_)) => return Ok(tree.clone()),
        Err(error) => return Err(error.into()),
    };
    let tree = tree.clone();
    off_thread(move || {
        let path = |root: &turnbuckle::types::Root| {
            let path = place::path_of_uri(&root.uri).ok()?;
            // Ours have no symbolic links in them.
            Some(path.canonicalize().unwrap_or(path))
        };
        let roots: Vec<PathBuf> = roots.iter().take(MAX_ROOTS).filter_map(path).collect();
        Ok(tree.within(&roots))
    })
    .await
}

/// Runs blocking disk access on the blocking pool.
pub(crate) async fn off_thread<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> Result<T> {
    Ok(tokio::task::spawn_blocking(work).await??)
}
