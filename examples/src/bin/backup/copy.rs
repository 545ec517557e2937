//! Copying a file: all of it, or nothing.
//!
//! What is copied goes into `NAME.part`, which takes the file's name and time when it is whole, and
//! is removed when that is given up: because of an error, because the client cancelled, or because
//! the future of the call was dropped.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::fs::{self, File};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::{Instant, sleep_until};
use turnbuckle::Cancellation;

/// Bytes of a step.
const STEP: usize = 256 << 10;

/// The settings of copying.
#[derive(Debug)]
pub(crate) struct Copy {
    /// The shortest time of a step.
    pace: Duration,
}

/// A file that is being copied.
pub(crate) struct Copying<'a> {
    from: &'a Path,
    to: &'a Path,
    cancel: &'a Cancellation,
    pace: Duration,
    open: Option<Open>,
}

struct Open {
    source: File,
    part: File,
    name: Part,
    buffer: Vec<u8>,
}

/// The outcome of a step.
pub(crate) enum Copied {
    /// So many bytes more.
    Some(u64),
    /// The file is there.
    All,
    /// The client cancelled.
    Cancelled,
}

/// Removes the partial file.
struct Part(PathBuf);

impl Drop for Part {
    fn drop(&mut self) {
        // It is gone already if it became a file.
        let _ = std::fs::remove_file(&self.0);
    }
}

impl Copy {
    /// Limits the speed to this many MiB per second.
    pub(crate) fn new(limit: Option<u32>) -> Self {
        let step = Duration::from_secs(1) * STEP as u32 / (1 << 20);
        Self {
            pace: limit.map_or(Duration::ZERO, |limit| step / limit),
        }
    }

    pub(crate) fn begin<'a>(
        &self,
        from: &'a Path,
        to: &'a Path,
        cancel: &'a Cancellation,
    ) -> Copying<'a> {
        Copying {
            from,
            to,
            cancel,
            pace: self.pace,
            open: None,
        }
    }
}

impl Copying<'_> {
    /// Copies a piece.
    pub(crate) async fn step(&mut self) -> io::Result<Copied> {
        if self.cancel.is_cancelled() {
            self.open = None;
            return Ok(Copied::Cancelled);
        }
        let mut open = match self.open.take() {
            Some(open) => open,
            None => self.open().await?,
        };
        let until = Instant::now() + self.pace;
        let read = open.source.read(&mut open.buffer).await?;
        if read == 0 {
            self.finish(open).await?;
            return Ok(Copied::All);
        }
        open.part.write_all(&open.buffer[..read]).await?;
        tokio::select! {
            () = sleep_until(until) => {}
            () = self.cancel.cancelled() => {}
        }
        self.open = Some(open);
        Ok(Copied::Some(read as u64))
    }

    async fn open(&self) -> io::Result<Open> {
        if let Some(directory) = self.to.parent() {
            fs::create_dir_all(directory).await?;
        }
        let mut name = self.to.as_os_str().to_owned();
        name.push(".part");
        let source = File::open(self.from).await?;
        // It is there from here on, and has to go if this is dropped while it is made.
        let name = Part(name.into());
        let part = File::create(&name.0).await?;
        Ok(Open {
            source,
            part,
            name,
            buffer: vec![0; STEP],
        })
    }

    /// Sets the time of the complete file and renames it.
    async fn finish(&self, open: Open) -> io::Result<()> {
        let modified = open.source.metadata().await?.modified()?;
        let permissions = open.source.metadata().await?.permissions();
        open.part.sync_all().await?;
        open.part.set_permissions(permissions).await?;
        let part = open.part.into_std().await;
        tokio::task::spawn_blocking(move || part.set_modified(modified)).await??;
        fs::rename(&open.name.0, self.to).await
    }
}
