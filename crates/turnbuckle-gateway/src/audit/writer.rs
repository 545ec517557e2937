//! The thread that writes the lines of the audit log.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread;
use std::time::{Duration, SystemTime};

use turnbuckle_types::base::debug_fields;
use turnbuckle_types::base::text::Escaped;

use super::line::format_lost;
use crate::error::GatewayError;

/// The most lines that wait to be written. Further ones are lost, which the log says.
const MAX_WAITING_LINES: usize = 8_192;

/// The most bytes that are written at once.
const MAX_BATCH_BYTES: usize = 256 * 1024;

/// The place of an audit log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum AuditPlace {
    /// The standard error of the process.
    Stderr,
    /// A file that lines are appended to. If it is moved away, another one is made.
    File(PathBuf),
}

impl AuditPlace {
    /// Reads the value of `audit`: `stderr`, `off` or a file, which starts at `directory`.
    pub(crate) fn parse(text: &str, directory: &Path) -> Option<Self> {
        match text {
            "off" => None,
            "stderr" => Some(Self::Stderr),
            file => Some(Self::File(directory.join(file))),
        }
    }
}

/// Writes lines in a thread of its own, so that no call waits for a disk.
pub(crate) struct AuditWriter {
    lines: SyncSender<Entry>,
    lost: Arc<AtomicU64>,
}

debug_fields!(AuditWriter { lost });

/// An entry of the queue.
enum Entry {
    Line(Vec<u8>),
    /// The sender is dropped once everything before it is written.
    Flush(SyncSender<()>),
}

impl AuditWriter {
    /// Opens the log and starts the thread, which ends when the writer is dropped.
    ///
    /// # Errors
    /// Returns an error if the file cannot be opened.
    pub(crate) fn start(place: AuditPlace, lost: Arc<AtomicU64>) -> Result<Self, GatewayError> {
        let output = Output::open(place)?;
        Self::start_with(output, lost, MAX_WAITING_LINES)
    }

    fn start_with(
        mut output: Output,
        lost: Arc<AtomicU64>,
        max_lines: usize,
    ) -> Result<Self, GatewayError> {
        let (lines, waiting) = sync_channel(max_lines);
        let counted = lost.clone();
        let run = move || write_all(&waiting, &mut output, &counted);
        thread::Builder::new()
            .name("audit".into())
            .spawn(run)
            .map_err(|error| GatewayError::new(format!("the thread of the audit log: {error}")))?;
        Ok(Self { lines, lost })
    }

    /// Puts a line into the queue. If that is full, the line is lost and counted.
    pub(super) fn write(&self, line: Vec<u8>) {
        let sent = self.lines.try_send(Entry::Line(line));
        if let Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) = sent {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Waits until the lines in the queue are written.
    pub(super) fn flush(&self, timeout: Duration) {
        let (written, waiting) = sync_channel(1);
        if self.lines.try_send(Entry::Flush(written)).is_ok() {
            // The sender is dropped when it is reached.
            let _ = waiting.recv_timeout(timeout);
        }
    }
}

/// Writes the lines of the queue until it is closed. Lines that cannot be written count as lost.
fn write_all(waiting: &Receiver<Entry>, output: &mut Output, lost: &AtomicU64) {
    let mut reported = 0;
    while let Ok(first) = waiting.recv() {
        let (mut batch, mut count, mut flushes) = (Vec::new(), 0, Vec::new());
        let mut next = Some(first);
        while let Some(entry) = next {
            match entry {
                Entry::Line(line) => {
                    batch.extend(line);
                    count += 1;
                }
                Entry::Flush(flush) => flushes.push(flush),
            }
            next = match batch.len() < MAX_BATCH_BYTES {
                true => waiting.try_recv().ok(),
                false => None,
            };
        }
        let now_lost = lost.load(Ordering::Relaxed);
        if now_lost > reported {
            batch.extend(format_lost(now_lost - reported, SystemTime::now()));
        }
        match output.append(&batch) {
            Ok(()) => reported = now_lost,
            Err(error) => {
                lost.fetch_add(count, Ordering::Relaxed);
                tracing::error!(error = %Escaped(&error), lines = count, "the audit log cannot be written");
            }
        }
    }
}

/// The open log.
enum Output {
    Stderr,
    File { path: PathBuf, file: File },
}

impl Output {
    fn open(place: AuditPlace) -> Result<Self, GatewayError> {
        match place {
            AuditPlace::Stderr => Ok(Self::Stderr),
            AuditPlace::File(path) => {
                let file = open_file(&path).map_err(|error| {
                    GatewayError::new(format!("the audit log {}: {error}", path.display()))
                })?;
                Ok(Self::File { path, file })
            }
        }
    }

    /// Appends lines. A file that was moved away, for instance by logrotate, is opened anew before.
    fn append(&mut self, lines: &[u8]) -> io::Result<()> {
        match self {
            Self::Stderr => io::stderr().lock().write_all(lines),
            Self::File { path, file } => {
                if !is_at(file, path) {
                    *file = open_file(path)?;
                }
                file.write_all(lines)
            }
        }
    }
}

/// Opens a file to append to it. A new one is readable by its owner alone.
fn open_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Returns whether an open file is still the one at its path.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let id = |it: std::fs::Metadata| (it.dev(), it.ino());
    let open = file.metadata().map(id).ok();
    open.is_some() && open == path.metadata().map(id).ok()
}

/// Returns whether an open file is still the one at its path: an open file cannot be moved here.
#[cfg(not(unix))]
fn is_at(_: &File, _: &Path) -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(path: &Path) -> String {
        std::fs::read_to_string(path).unwrap()
    }

    fn start(path: &Path) -> (AuditWriter, Arc<AtomicU64>) {
        let lost = Arc::new(AtomicU64::new(0));
        let place = AuditPlace::File(path.to_owned());
        (AuditWriter::start(place, lost.clone()).unwrap(), lost)
    }

    #[test]
    fn lines_are_appended_and_a_file_that_was_moved_is_made_anew() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.jsonl");
        std::fs::write(&path, "before\n").unwrap();
        let (writer, lost) = start(&path);
        writer.write(b"one\n".to_vec());
        writer.flush(Duration::from_secs(10));
        assert_eq!(text(&path), "before\none\n");
        let moved = folder.path().join("audit.1");
        std::fs::rename(&path, &moved).unwrap();
        writer.write(b"two\n".to_vec());
        writer.flush(Duration::from_secs(10));
        assert_eq!((&*text(&moved), &*text(&path)), ("before\none\n", "two\n"));
        assert_eq!(lost.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn lines_that_are_lost_are_counted_and_said() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.jsonl");
        let (writer, lost) = start(&path);
        // The folder is gone: no file can be made in it.
        std::fs::remove_dir_all(folder.path()).unwrap();
        writer.write(b"one\n".to_vec());
        writer.flush(Duration::from_secs(10));
        assert_eq!(lost.load(Ordering::Relaxed), 1);
        std::fs::create_dir(folder.path()).unwrap();
        writer.write(b"two\n".to_vec());
        writer.flush(Duration::from_secs(10));
        let text = text(&path);
        assert!(text.starts_with("two\n{\"time\":\""), "{text}");
        assert!(text.ends_with("\"lost\":1}\n"), "{text}");
    }

    #[test]
    fn a_full_queue_loses_lines_and_keeps_no_call_waiting() {
        let lost = Arc::new(AtomicU64::new(0));
        let (lines, waiting) = sync_channel(2);
        let writer = AuditWriter {
            lines,
            lost: lost.clone(),
        };
        for _ in 0..5 {
            writer.write(b"line\n".to_vec());
        }
        assert_eq!(lost.load(Ordering::Relaxed), 3);
        assert_eq!(waiting.try_iter().count(), 2);
    }

    #[cfg(unix)]
    #[test]
    fn a_new_log_is_readable_by_its_owner_alone() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.jsonl");
        let _writer = start(&path);
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn a_log_that_cannot_be_opened_is_an_error_at_the_start() {
        let folder = tempfile::tempdir().unwrap();
        let place = AuditPlace::File(folder.path().to_owned());
        let error = AuditWriter::start(place, Arc::default()).unwrap_err();
        assert!(error.to_string().contains("the audit log"), "{error}");
    }
}
