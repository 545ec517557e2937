//! A child process on a system without process groups and signals.

use std::io;
use std::process::ExitStatus;

use tokio::process::{Child, Command};

/// A running process. Dropping it kills the process, but not what it has started.
pub(super) struct Process {
    pub(super) child: Child,
}

impl Process {
    /// Starts `command`. It outlives this process if that is killed.
    pub(super) fn start(command: &mut Command, _ends_with_parent: bool) -> io::Result<Self> {
        #[cfg(windows)]
        command.creation_flags(NO_WINDOW);
        let child = command.spawn()?;
        Ok(Self { child })
    }

    /// Returns a handle without effect; see [`Group`].
    pub(super) fn group(&self) -> Group {
        Group
    }

    /// Waits for the process to end.
    pub(super) async fn wait_for_end(&mut self) {
        let _ = self.child.wait().await;
    }

    /// Returns `false`: the system cannot ask a process to end.
    pub(super) fn terminate(&mut self) -> bool {
        false
    }

    /// Kills the process.
    pub(super) fn kill(&mut self) {
        let _ = self.child.start_kill();
    }

    /// Does nothing: there is no helper process.
    pub(super) async fn release_helper(&mut self) {}

    /// Returns the status of the process if it has ended.
    pub(super) fn reap(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }
}

/// The flag `CREATE_NO_WINDOW`: a client without a console opens none for its server.
#[cfg(windows)]
const NO_WINDOW: u32 = 0x0800_0000;

/// A handle without effect: the process is killed when its supervisor ends.
pub(super) struct Group;

impl Group {
    pub(super) fn kill(&self) {}
}
