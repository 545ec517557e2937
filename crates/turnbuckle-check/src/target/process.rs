//! A program that is checked: a child process with its input and output.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::process::Child;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::target::{BoxFuture, OpenPipe, Pipe};

/// The bytes of a program's standard error that are kept: the last ones.
const KEPT_STDERR_BYTES: usize = 16 << 10;

/// A program and how it is started.
#[derive(Debug, Clone)]
pub struct Command {
    program: OsString,
    arguments: Vec<OsString>,
    environment: Option<Vec<(OsString, OsString)>>,
    folder: Option<PathBuf>,
}

impl Command {
    /// Creates a command with the environment of this process.
    #[must_use]
    pub fn new(program: impl Into<OsString>) -> Self {
        Self {
            program: program.into(),
            arguments: Vec::new(),
            environment: None,
            folder: None,
        }
    }

    /// Adds arguments.
    #[must_use]
    pub fn args(mut self, arguments: impl IntoIterator<Item = impl Into<OsString>>) -> Self {
        self.arguments.extend(arguments.into_iter().map(Into::into));
        self
    }

    /// Sets the whole environment: nothing else is passed on.
    #[must_use]
    pub fn environment(
        mut self,
        variables: impl IntoIterator<Item = (impl Into<OsString>, impl Into<OsString>)>,
    ) -> Self {
        let variables = variables.into_iter();
        self.environment = Some(
            variables
                .map(|(name, value)| (name.into(), value.into()))
                .collect(),
        );
        self
    }

    /// Sets the working directory.
    #[must_use]
    pub fn folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folder = Some(folder.into());
        self
    }

    fn start(&self) -> io::Result<Pipe> {
        let mut command = tokio::process::Command::new(&self.program);
        command.args(&self.arguments);
        if let Some(environment) = &self.environment {
            command.env_clear().envs(environment.iter().cloned());
        }
        if let Some(folder) = &self.folder {
            command.current_dir(folder);
        }
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        // A group of its own: what the program starts is stopped with it.
        #[cfg(unix)]
        command.process_group(0);
        let mut child = command.spawn()?;
        let missing = || io::Error::other("a stream of the child process is missing");
        let writer = child.stdin.take().ok_or_else(missing)?;
        let reader = child.stdout.take().ok_or_else(missing)?;
        let mut stderr = child.stderr.take().ok_or_else(missing)?;
        let kept = Arc::new(Mutex::new(VecDeque::new()));
        let for_process = Arc::clone(&kept);
        // Always drained, so that a program that writes much is never held up.
        let draining = tokio::spawn(async move {
            let mut bytes = vec![0; 4096];
            while let Ok(count @ 1..) = stderr.read(&mut bytes).await {
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                kept.extend(&bytes[..count]);
                let surplus = kept.len().saturating_sub(KEPT_STDERR_BYTES);
                kept.drain(..surplus);
            }
        });
        let process = Process {
            group: child.id(),
            child,
            stderr: for_process,
            draining,
        };
        Ok(Pipe {
            reader: Box::new(reader),
            writer: Box::new(writer),
            process: Some(process),
        })
    }
}

impl OpenPipe for Command {
    fn open(&self) -> BoxFuture<'_, io::Result<Pipe>> {
        Box::pin(std::future::ready(self.start()))
    }

    fn is_process(&self) -> bool {
        true
    }
}

/// A child process. Dropping it kills the process and all that it started in its group.
pub struct Process {
    child: Child,
    group: Option<u32>,
    stderr: Arc<Mutex<VecDeque<u8>>>,
    /// Ends with the standard error.
    draining: JoinHandle<()>,
}

impl Process {
    /// Waits for the end of the process; `None` if it does not end in that time.
    pub async fn wait(&mut self, limit: Duration) -> Option<ExitStatus> {
        timeout(limit, self.child.wait()).await.ok()?.ok()
    }

    /// Asks the process to end, by SIGTERM. Does nothing on other systems than Unix.
    pub fn terminate(&self) {
        #[cfg(unix)]
        if let Some(pid) = self.child.id().and_then(pid) {
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        }
    }

    /// Returns whether a process of the group lives: the child, or what it started.
    #[must_use]
    pub fn is_group_alive(&self) -> bool {
        #[cfg(unix)]
        return self
            .group
            .and_then(pid)
            .is_some_and(|group| rustix::process::test_kill_process_group(group).is_ok());
        #[cfg(not(unix))]
        return self.child.id().is_some();
    }

    /// Waits for the end of the standard error, which what the process has started may keep open, and returns
    /// what is known of it then.
    pub(crate) async fn whole_stderr(&mut self, limit: Duration) -> String {
        if !self.draining.is_finished() {
            let _ = timeout(limit, &mut self.draining).await;
        }
        self.stderr()
    }

    /// Returns the end of what the process wrote to its standard error.
    #[must_use]
    pub fn stderr(&self) -> String {
        let kept = self.stderr.lock().unwrap_or_else(PoisonError::into_inner);
        let (first, second) = kept.as_slices();
        String::from_utf8_lossy(&[first, second].concat()).into_owned()
    }
}

#[cfg(unix)]
fn pid(id: u32) -> Option<rustix::process::Pid> {
    rustix::process::Pid::from_raw(id.try_into().ok()?)
}

impl Drop for Process {
    fn drop(&mut self) {
        #[cfg(unix)]
        if let Some(group) = self.group.and_then(pid) {
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
        let _ = self.child.start_kill();
    }
}
