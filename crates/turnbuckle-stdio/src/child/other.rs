//! A process on a system without groups and signals: only the process itself is ended.

use std::io;
use std::process::ExitStatus;

use tokio::process::{Child, Command};

/// A running process. Dropping it kills it.
pub(super) struct Process {
    pub(super) child: Child,
}

impl Process {
    /// Starts `command`.
    pub(super) fn start(command: &mut Command) -> io::Result<Self> {
        #[cfg(windows)]
        command.creation_flags(NO_WINDOW);
        let child = command.spawn()?;
        Ok(Self { child })
    }

    /// What kills it from elsewhere.
    pub(super) fn group(&self) -> Group {
        Group
    }

    /// Resolves once the process has ended.
    pub(super) async fn ended(&mut self) {
        let _ = self.child.wait().await;
    }

    /// Asks the process to end; whether that can be asked here.
    pub(super) fn terminate(&mut self) -> bool {
        false
    }

    /// Kills the process.
    pub(super) fn kill(&mut self) {
        let _ = self.child.start_kill();
    }

    /// How the process ended, if it has.
    pub(super) fn reap(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }
}

/// No console window is opened for a server of a program that has none (`CREATE_NO_WINDOW`).
#[cfg(windows)]
const NO_WINDOW: u32 = 0x0800_0000;

/// Nothing: whoever waits for the process kills it.
pub(super) struct Group;

impl Group {
    pub(super) fn kill(&self) {}
}
