//! A process that leads a group.

use std::io;
use std::process::ExitStatus;
use std::sync::{Arc, Mutex, PoisonError};

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::{Child, Command};
use tokio::signal::unix::{self, SignalKind};

/// A running process. Dropping it kills the group.
///
/// The group bears its leader's id, which is nobody else's for as long as the leader has not been
/// waited for. So the group is signalled before that, never after.
pub(super) struct Process {
    pub(super) child: Child,
    group: Group,
    /// Tells that some child of this process has changed.
    changes: unix::Signal,
}

impl Process {
    /// Starts `command` in a group of its own.
    pub(super) fn start(command: &mut Command) -> io::Result<Self> {
        let changes = unix::signal(SignalKind::child())?;
        let child = command.process_group(0).spawn()?;
        let leader = child.id().and_then(|id| Pid::from_raw(id.try_into().ok()?));
        Ok(Self {
            child,
            group: Group(Arc::new(Mutex::new(leader))),
            changes,
        })
    }

    /// What kills it from elsewhere.
    pub(super) fn group(&self) -> Group {
        self.group.clone()
    }

    /// Resolves once the process has ended.
    pub(super) async fn ended(&mut self) {
        while !self.has_ended() {
            if self.changes.recv().await.is_none() {
                // The runtime ends, and this task with it.
                std::future::pending().await
            }
        }
    }

    /// Without waiting for it, which would give its id away.
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
            // Somebody else has waited for it: the id may be anybody's.
            Err(_) => {
                self.group.let_go();
                true
            }
        }
    }

    /// There is no looking without waiting on these systems.
    #[cfg(any(target_os = "openbsd", target_os = "redox", target_os = "cygwin"))]
    fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    /// Asks the group to end; whether that can be asked here.
    pub(super) fn terminate(&mut self) -> bool {
        self.group.signal(Signal::TERM);
        true
    }

    /// Kills the group.
    pub(super) fn kill(&mut self) {
        self.group.kill();
    }

    /// Kills what is left of the group, and waits for the leader if it has ended.
    pub(super) fn reap(&mut self) -> Option<ExitStatus> {
        self.group.kill();
        self.group.let_go();
        self.child.try_wait().ok().flatten()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.group.kill();
        self.group.let_go();
    }
}

/// A process group, until its leader has been waited for.
#[derive(Clone)]
pub(super) struct Group(Arc<Mutex<Option<Pid>>>);

impl Group {
    /// Kills all that is in it.
    pub(super) fn kill(&self) {
        self.signal(Signal::KILL);
    }

    fn signal(&self, signal: Signal) {
        // Held meanwhile, so that the id cannot be given away.
        let leader = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(leader) = *leader {
            // It fails where only the ended leader is left.
            let _ = kill_process_group(leader, signal);
        }
    }

    fn leader(&self) -> Option<Pid> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn let_go(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}
