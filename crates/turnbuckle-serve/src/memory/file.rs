//! The file that has the graph: a JSON object on each line.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
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
    /// Held by the change of this process that is made: the lock of the file is then for those of others.
    turn: Mutex<()>,
    lock_timeout: Duration,
}

impl GraphFile {
    /// Finds the directory of the file. Symlinks are followed once, so that their target is replaced or created later.
    pub(super) fn open(path: &Path, max_bytes: u64) -> io::Result<Self> {
        let path = follow_links(path)?;
        let directory = path.parent().unwrap_or(&path).canonicalize()?;
        Ok(Self {
            path,
            directory,
            max_bytes,
            turn: Mutex::new(()),
            lock_timeout: LOCK_TIMEOUT,
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
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let _lock = self.lock()?;
        let mut graph = self.read()?;
        let changed = change(&mut graph)?;
        let text = graph.to_text()?;
        self.check_size(text.len() as u64)?;
        let mut file = NamedTempFile::new_in(&self.directory)?;
        file.write_all(text.as_bytes())?;
        if let Ok(old) = fs::metadata(&self.path) {
            #[cfg(unix)]
            {
                use std::os::unix::fs::MetadataExt as _;
                crate::shared::owner::keep_owner(file.as_file(), old.uid(), old.gid());
            }
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
            if start.elapsed() > self.lock_timeout {
                let path = PathBuf::from(path);
                let text = format!(
                    "another process holds {} for more than {:?}",
                    path.display(),
                    self.lock_timeout
                );
                return Err(Fault::new(text));
            }
            sleep(LOCK_INTERVAL);
        }
    }
}

/// Returns the path without symlinks of a file, which need not exist.
fn follow_links(path: &Path) -> io::Result<PathBuf> {
    match path.canonicalize() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        found => return found,
    }
    match fs::read_link(path) {
        // Links in a circle are another error above.
        Ok(target) => follow_links(&path.parent().unwrap_or(path).join(target)),
        Err(_) => std::path::absolute(path),
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

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::thread::scope;

    use super::*;

    #[test]
    fn a_change_waits_for_those_of_its_own_process_without_a_limit() {
        let scratch = tempfile::tempdir().unwrap();
        let mut file = GraphFile::open(&scratch.path().join("graph"), 1_000).unwrap();
        file.lock_timeout = Duration::from_millis(10);
        let file = &file;
        scope(|threads| {
            let (sender, second) = channel();
            let first = file.change(|_| {
                threads.spawn(move || sender.send(file.change(|_| Ok(()))));
                // A change of another process would be refused by this time.
                let waited = second.recv_timeout(10 * file.lock_timeout);
                assert!(waited.is_err(), "{waited:?}");
                Ok(())
            });
            first.unwrap();
            second.recv().unwrap().unwrap();
        });
    }
}
