//! The file that has the graph: a JSON object on each line.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use fs4::{FileExt, TryLockError};
use tempfile::NamedTempFile;

use super::graph::Graph;
use crate::fault::{Fault, Result};

/// The time that a change waits for those of other processes.
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);

/// The interval in which the lock is tried.
const LOCK_INTERVAL: Duration = Duration::from_millis(5);

/// The bytes of a small graph.
const SMALL_BYTES: u64 = 32 << 10;

/// A graph in a file.
pub(super) struct GraphFile {
    path: PathBuf,
    directory: PathBuf,
    max_bytes: u64,
}

impl GraphFile {
    /// Finds the directory of the file. A symlink is followed once, so that its target is replaced later.
    pub(super) fn open(path: &Path, max_bytes: u64) -> io::Result<Self> {
        let path = match path.canonicalize() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => std::path::absolute(path)?,
            path => path?,
        };
        let directory = path.parent().unwrap_or(&path).canonicalize()?;
        Ok(Self {
            path,
            directory,
            max_bytes,
        })
    }

    /// Returns true if the graph is small enough to be read between other requests, without a thread for it.
    pub(super) fn is_small(&self) -> bool {
        match fs::metadata(&self.path) {
            Ok(metadata) => metadata.is_file() && metadata.len() <= SMALL_BYTES,
            Err(error) => error.kind() == io::ErrorKind::NotFound,
        }
    }

    /// Reads the graph. A file that does not exist has an empty one.
    pub(super) fn read(&self) -> Result<Graph> {
        check_is_file(&self.path)?;
        let mut file = match File::open(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Graph::default()),
            file => file?,
        };
        self.check_size(file.metadata()?.len())?;
        let mut text = String::new();
        // The file may grow meanwhile.
        (&mut file)
            .take(self.max_bytes + 1)
            .read_to_string(&mut text)?;
        self.check_size(text.len() as u64)?;
        Graph::parse(&text)
    }

    /// Runs a change of the graph. The new file replaces the old one as a whole, or not at all if the change fails; changes of
    /// other processes wait.
    pub(super) fn change<T>(&self, change: impl FnOnce(&mut Graph) -> Result<T>) -> Result<T> {
        let _lock = self.lock()?;
        let mut graph = self.read()?;
        let changed = change(&mut graph)?;
        let text = graph.to_text()?;
        self.check_size(text.len() as u64)?;
        let mut file = NamedTempFile::new_in(&self.directory)?;
        file.write_all(text.as_bytes())?;
        if let Ok(old) = fs::metadata(&self.path) {
            file.as_file().set_permissions(old.permissions())?;
        }
        file.as_file().sync_all()?;
        file.persist(&self.path).map_err(|error| error.error)?;
        Ok(changed)
    }

    fn check_size(&self, bytes: u64) -> Result<()> {
        if bytes <= self.max_bytes {
            return Ok(());
        }
        Err(Fault::new(format!(
            "the graph has {bytes} bytes, and may have {}: delete what is not needed",
            self.max_bytes
        )))
    }

    /// Locks a file beside the graph, which is itself replaced at each change.
    fn lock(&self) -> Result<File> {
        let mut path = self.path.clone().into_os_string();
        path.push(".lock");
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false);
        check_is_file(Path::new(&path))?;
        let file = options.open(&path)?;
        let start = Instant::now();
        loop {
            match FileExt::try_lock(&file) {
                Ok(()) => return Ok(file),
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(error)) => return Err(error.into()),
            }
            if start.elapsed() > LOCK_TIMEOUT {
                let path = PathBuf::from(path);
                let text = format!(
                    "another process holds {} for more than {LOCK_TIMEOUT:?}",
                    path.display()
                );
                return Err(Fault::new(text));
            }
            sleep(LOCK_INTERVAL);
        }
    }
}

/// Checks that a path names a regular file or nothing: to open a pipe waits until another program opens it.
fn check_is_file(path: &Path) -> Result<()> {
    match fs::metadata(path) {
        Ok(metadata) if !metadata.is_file() => {
            Err(Fault::new(format!("{} is no regular file", path.display())))
        }
        _ => Ok(()),
    }
}
