//! A child process on Unix, which leads a process group of its own.

use std::io;
use std::process::ExitStatus;
use std::sync::{Arc, Mutex, PoisonError};

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::{Child, Command};
use tokio::signal::unix::{self, SignalKind};

use super::orphan_guard::OrphanGuard;

/// A running process. Dropping it kills the process group.
///
/// The id of the group is that of its leader. The system gives it to another process only after the
/// leader was waited for, so the group is signalled before that, and never after.
pub(super) struct Process {
    pub(super) child: Child,
    group: Group,
    orphan_guard: Option<OrphanGuard>,
    /// SIGCHLD: some child of this process has changed its state.
    changes: unix::Signal,
}

impl Process {
    /// Starts `command` in a group of its own, which is killed when this process is killed if
    /// `ends_with_parent` is true.
    pub(super) fn start(command: &mut Command, ends_with_parent: bool) -> io::Result<Self> {
        let changes = unix::signal(SignalKind::child())?;
        let child = command.process_group(0).spawn()?;
        let leader = child.id().and_then(|id| Pid::from_raw(id.try_into().ok()?));
        Ok(Self {
            child,
            group: Group(Arc::new(Mutex::new(leader))),
            orphan_guard: leader
                .filter(|_| ends_with_parent)
                .and_then(OrphanGuard::start),
            changes,
        })
    }

    /// Returns a handle that can kill the process group from elsewhere.
    pub(super) fn group(&self) -> Group {
        self.group.clone()
    }

    /// Waits for the process to end.
    pub(super) async fn wait_for_end(&mut self) {
        while !self.has_ended() {
            if self.changes.recv().await.is_none() {
                // The runtime is shutting down, and ends this task.
                std::future::pending().await
            }
        }
    }

    /// Returns whether the process has ended, without waiting for it in the sense of `waitpid`, which
    /// would free its id.
    #[cfg(not(any(target_os = "openbsd", target_os = "redox", target_os = "cygwin")))]
    fn has_ended(&mut self) -> bool {
        use rustix::io::retry_on_intr;
        use rustix::process::{WaitId, WaitIdOptions, waitid};

        let Some(leader) = self.group.leader() else {
            return true;
        };
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        match retry_on_intr(|| waitid(WaitId::Pid(leader), look)) {
            Ok(status) => status.is_some(),
            // Other code has waited for the process: its id may be that of another one now.
            Err(_) => {
                self.group.forget();
                true
            }
        }
    }

    /// Returns whether the process has ended. On these systems that means waiting for it.
    #[cfg(any(target_os = "openbsd", target_os = "redox", target_os = "cygwin"))]
    fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    /// Asks the process group to end. Returns whether the system supports that.
    pub(super) fn terminate(&mut self) -> bool {
        self.group.signal(Signal::TERM);
        true
    }

    /// Kills the process group.
    pub(super) fn kill(&mut self) {
        self.group.kill();
    }

    /// Kills what is left of the group, and returns the status of the leader if it has ended.
    pub(super) fn reap(&mut self) -> Option<ExitStatus> {
        self.end_group();
        self.child.try_wait().ok().flatten()
    }

    /// Waits until the helper process has ended, if there is one.
    pub(super) async fn release_helper(&mut self) {
        if let Some(guard) = self.orphan_guard.take() {
            guard.wait_for_end().await;
        }
    }

    /// Kills what is left of the group. From here on its id may become that of another.
    fn end_group(&mut self) {
        self.group.kill();
        if let Some(guard) = &mut self.orphan_guard {
            guard.release();
        }
        self.group.forget();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.end_group();
    }
}

/// A process group; `None` once its leader was waited for.
#[derive(Clone)]
pub(super) struct Group(Arc<Mutex<Option<Pid>>>);

impl Group {
    /// Kills all processes of the group.
    pub(super) fn kill(&self) {
        self.signal(Signal::KILL);
    }

    fn signal(&self, signal: Signal) {
        // The lock is held meanwhile, so that the leader is not waited for.
        let leader = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(leader) = *leader {
            // Fails if only the ended leader is left.
            let _ = kill_process_group(leader, signal);
        }
    }

    fn leader(&self) -> Option<Pid> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn forget(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}
