//! What to run, and how.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::words;
use super::{StderrTo, environment};

/// A server's command: opens a link by running it, and talks to it on its standard streams.
///
/// No shell is involved: arguments reach the program as they are. Unless said otherwise the
/// program sees few variables of this process's environment, runs in its directory, and what it
/// writes to standard error is kept for the text of errors.
///
/// On Unix the program leads a process group of its own, and everything in the group ends with
/// it, however it ends. On other systems only the program itself is ended; what it started is
/// left alone.
///
/// Links are opened inside a tokio runtime that has I/O and time enabled.
///
/// Specification: basic/transports/stdio (2026-07-28).
///
/// ```
/// use turnbuckle_session::Connector;
/// use turnbuckle_stdio::Command;
///
/// let server = Command::new("node").arg("server.js").env("API_KEY", "secret");
/// assert_eq!(server.describe(), "node server.js");
/// ```
#[derive(Clone)]
pub struct Command {
    pub(super) program: OsString,
    pub(super) args: Vec<OsString>,
    pub(super) env: BTreeMap<OsString, OsString>,
    pub(super) inherit_env: bool,
    pub(super) current_dir: Option<PathBuf>,
    pub(super) stderr: StderrTo,
    pub(super) times: ShutdownTimes,
    pub(super) max_line: usize,
    pub(super) max_queue: usize,
}

impl Command {
    /// Runs `program`: a path, or a name to be looked up in `PATH`.
    pub fn new(program: impl AsRef<OsStr>) -> Self {
        Self {
            program: program.as_ref().to_owned(),
            args: Vec::new(),
            env: BTreeMap::new(),
            inherit_env: false,
            current_dir: None,
            stderr: StderrTo::default(),
            times: ShutdownTimes::default(),
            max_line: 16 << 20,
            max_queue: 16 << 20,
        }
    }

    /// Adds an argument.
    #[must_use]
    pub fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.args.push(arg.as_ref().to_owned());
        self
    }

    /// Adds arguments.
    #[must_use]
    pub fn args<A: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        let args = args.into_iter().map(|arg| arg.as_ref().to_owned());
        self.args.extend(args);
        self
    }

    /// Sets a variable of the program's environment.
    #[must_use]
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.env
            .insert(name.as_ref().to_owned(), value.as_ref().to_owned());
        self
    }

    /// Sets variables of the program's environment.
    #[must_use]
    pub fn envs<N: AsRef<OsStr>, V: AsRef<OsStr>>(
        self,
        variables: impl IntoIterator<Item = (N, V)>,
    ) -> Self {
        variables
            .into_iter()
            .fold(self, |command, (name, value)| command.env(name, value))
    }

    /// Whether the program sees all of this process's environment. By default it sees what finds
    /// programs, a home and a place for temporary files, and tells the user, the terminal and the
    /// language: `HOME`, `LANG`, `LC_*`, `LOGNAME`, `PATH`, `SHELL`, `TERM`, `TMPDIR`, `TEMP`,
    /// `TMP`, `USER`, and on Windows what programs there cannot do without.
    #[must_use]
    pub fn inherit_env(mut self, all: bool) -> Self {
        self.inherit_env = all;
        self
    }

    /// Runs the program in `directory`.
    #[must_use]
    pub fn current_dir(mut self, directory: impl AsRef<Path>) -> Self {
        self.current_dir = Some(directory.as_ref().to_owned());
        self
    }

    /// Where the program's standard error goes. Default: [`StderrTo::Capture`] of 4 KiB.
    #[must_use]
    pub fn stderr(mut self, to: StderrTo) -> Self {
        self.stderr = to;
        self
    }

    /// How long each step of the shutdown may take.
    #[must_use]
    pub fn shutdown(mut self, times: ShutdownTimes) -> Self {
        self.times = times;
        self
    }

    /// Bytes that a line of the server may have, without its end. A longer one is skipped and
    /// reported as such. Default 16 MiB.
    #[must_use]
    pub fn max_line(mut self, bytes: usize) -> Self {
        self.max_line = bytes;
        self
    }

    /// Bytes that may wait for a server that reads slowly; who sends more has to wait. Default
    /// 16 MiB.
    #[must_use]
    pub fn max_queue(mut self, bytes: usize) -> Self {
        self.max_queue = bytes;
        self
    }

    /// The command as the operating system is given it, apart from the streams.
    pub(super) fn to_std(&self) -> std::process::Command {
        let mut command = std::process::Command::new(&self.program);
        command.args(&self.args);
        if !self.inherit_env {
            command.env_clear();
            command.envs(std::env::vars_os().filter(environment::is_harmless));
        }
        command.envs(&self.env);
        if let Some(directory) = &self.current_dir {
            command.current_dir(directory);
        }
        command
    }
}

/// Without the values of variables, and without what looks like a secret among the arguments.
impl fmt::Debug for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Command")
            .field("line", &words::line(&self.program, &self.args))
            .field("env", &self.env.keys())
            .field("inherit_env", &self.inherit_env)
            .field("current_dir", &self.current_dir)
            .field("stderr", &self.stderr)
            .field("times", &self.times)
            .field("max_line", &self.max_line)
            .field("max_queue", &self.max_queue)
            .finish()
    }
}

/// How long a server is waited for at each step of its shutdown.
///
/// Its input is closed; if it still runs after `after_close`, its process group is asked to end
/// (SIGTERM); if it still runs after `after_term`, the group is killed. Whatever it leaves behind
/// in its group is killed as well. Systems without signals go from the first step to the last.
///
/// Specification: basic/transports/stdio (2026-07-28).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ShutdownTimes {
    /// From the end of its input on. Default 2 s.
    pub after_close: Duration,
    /// From SIGTERM on. Default 2 s.
    pub after_term: Duration,
}

impl Default for ShutdownTimes {
    fn default() -> Self {
        Self {
            after_close: Duration::from_secs(2),
            after_term: Duration::from_secs(2),
        }
    }
}

impl ShutdownTimes {
    /// The defaults.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets how long the server may run on after the end of its input.
    #[must_use]
    pub fn after_close(mut self, time: Duration) -> Self {
        self.after_close = time;
        self
    }

    /// Sets how long the server may run on after SIGTERM.
    #[must_use]
    pub fn after_term(mut self, time: Duration) -> Self {
        self.after_term = time;
        self
    }
}
