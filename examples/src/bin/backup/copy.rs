//! Copying of files: completely or not at all.
//!
//! The bytes are written to `NAME.part`. The complete file gets the original's time and is renamed
//! to `NAME`. After an error, a cancellation, or when the future of the call is dropped, it is
//! removed.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::fs::{self, File};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::{Instant, sleep_until};
use turnbuckle::Cancellation;

/// The number of bytes that a step copies at most.
const STEP_BYTES: usize = 256 << 10;

/// Copies files at a limited speed.
#[derive(Debug)]
pub(crate) struct Copier {
    /// The minimum duration of a step, which limits the speed.
    min_step_time: Duration,
}

/// A file that is being copied.
pub(crate) struct FileCopy<'a> {
    from: &'a Path,
    to: &'a Path,
    cancel: &'a Cancellation,
    min_step_time: Duration,
    open: Option<OpenFiles>,
}

/// The open files of a copy in progress.
struct OpenFiles {
    source: File,
    part: File,
    name: PartialPath,
    buffer: Vec<u8>,
}

/// The outcome of a step.
pub(crate) enum CopyStep {
    /// This many bytes were copied, and the file is not complete yet.
    Bytes(u64),
    /// The file is complete.
    Complete,
    /// The client cancelled the call, and the partial file was removed.
    Cancelled,
}

/// The path of a partial file, which is removed when this is dropped.
struct PartialPath(PathBuf);

impl Drop for PartialPath {
    fn drop(&mut self) {
        // The removal fails if the complete file was renamed.
        let _ = std::fs::remove_file(&self.0);
    }
}

impl Copier {
    /// Returns a copier with a limit in MiB per second, or without one.
    pub(crate) fn new(limit: Option<u32>) -> Self {
        let step = Duration::from_secs(1) * STEP_BYTES as u32 / (1 << 20);
        Self {
            min_step_time: limit.map_or(Duration::ZERO, |limit| step / limit),
        }
    }

    /// Starts a copy of a file. Nothing is done before the first step.
    pub(crate) fn begin<'a>(
        &self,
        from: &'a Path,
        to: &'a Path,
        cancel: &'a Cancellation,
    ) -> FileCopy<'a> {
        FileCopy {
            from,
            to,
            cancel,
            min_step_time: self.min_step_time,
            open: None,
        }
    }
}

impl FileCopy<'_> {
    /// Copies the next bytes.
    pub(crate) async fn step(&mut self) -> io::Result<CopyStep> {
        if self.cancel.is_cancelled() {
            self.open = None;
            return Ok(CopyStep::Cancelled);
        }
        let mut open = match self.open.take() {
            Some(open) => open,
            None => self.open().await?,
        };
        let until = Instant::now() + self.min_step_time;
        let read = open.source.read(&mut open.buffer).await?;
        if read == 0 {
            self.finish(open).await?;
            return Ok(CopyStep::Complete);
        }
        open.part.write_all(&open.buffer[..read]).await?;
        tokio::select! {
            () = sleep_until(until) => {}
            () = self.cancel.cancelled() => {}
        }
        self.open = Some(open);
        Ok(CopyStep::Bytes(read as u64))
    }

    async fn open(&self) -> io::Result<OpenFiles> {
        if let Some(directory) = self.to.parent() {
            fs::create_dir_all(directory).await?;
        }
        let mut name = self.to.as_os_str().to_owned();
        name.push(".part");
        let source = File::open(self.from).await?;
        // Created before the file, so that the file is removed if this future is dropped here.
        let name = PartialPath(name.into());
        let part = File::create(&name.0).await?;
        Ok(OpenFiles {
            source,
            part,
            name,
            buffer: vec![0; STEP_BYTES],
        })
    }

    /// Sets the time of the complete file and renames it.
    async fn finish(&self, open: OpenFiles) -> io::Result<()> {
        let modified = open.source.metadata().await?.modified()?;
        let permissions = open.source.metadata().await?.permissions();
        open.part.sync_all().await?;
        open.part.set_permissions(permissions).await?;
        let part = open.part.into_std().await;
        tokio::task::spawn_blocking(move || part.set_modified(modified)).await??;
        fs::rename(&open.name.0, self.to).await
    }
}
