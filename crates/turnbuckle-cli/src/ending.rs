//! What asks a command to end: Ctrl-C, and SIGTERM where there is such a thing.

use std::io;

/// The signals to end by. While it is there, they no longer end the process at once.
#[cfg(unix)]
pub(crate) struct Endings {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Endings {
    /// Catches them from now on.
    pub(crate) fn new() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};

        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    /// Resolves at the next one.
    pub(crate) async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

/// The signal to end by. While it is awaited, it no longer ends the process at once.
#[cfg(not(unix))]
pub(crate) struct Endings;

#[cfg(not(unix))]
impl Endings {
    /// Nothing has to be caught in advance.
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self)
    }

    /// Resolves at the next one; never, where it cannot be awaited.
    pub(crate) async fn next(&mut self) {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending().await
        }
    }
}
