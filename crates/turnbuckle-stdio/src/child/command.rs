//! The command that runs a server, and its settings.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use turnbuckle_types::base::setters;
use turnbuckle_types::settings;

use super::stderr::StderrMode;
use super::{command_line, environment};

/// A function that is called with the id of a process.
type StartFunction = Arc<dyn Fn(u32) + Send + Sync>;

/// The command of a server: a connector that runs it and exchanges messages on its standard streams.
///
/// No shell is involved: the program gets the arguments unchanged. By default it inherits few
/// environment variables, runs in the current directory, and the end of its standard error is part
/// of error texts.
///
/// On Unix the program leads a process group of its own, and the whole group is ended with it. On
/// other systems only the program itself is ended, not what it has started.
///
/// Links are opened inside a tokio runtime with I/O and time enabled.
///
/// Specification: basic/transports/stdio (2026-07-28).
///
/// ```
/// use turnbuckle_session::transport::Connector;
/// use turnbuckle_stdio::Command;
///
/// let server = Command::new("node").arg("server.js").env("API_KEY", "secret");
/// assert_eq!(server.description(), "node server.js");
/// ```
#[derive(Clone)]
#[must_use]
pub struct Command {
    pub(super) program: OsString,
    pub(super) args: Vec<OsString>,
    pub(super) env: BTreeMap<OsString, OsString>,
    pub(super) inherit_env: bool,
    pub(super) current_dir: Option<PathBuf>,
    pub(super) stderr: StderrMode,
    pub(super) on_start: Option<StartFunction>,
    pub(super) shutdown_timeouts: ShutdownTimeouts,
    pub(super) ends_with_parent: bool,
    pub(super) max_message_bytes: usize,
    pub(super) max_queue_bytes: usize,
}

impl Command {
    /// Creates a command for `program`: a path, or a name that is looked up in `PATH`.
    pub fn new(program: impl AsRef<OsStr>) -> Self {
        Self {
            program: program.as_ref().to_owned(),
            args: Vec::new(),
            env: BTreeMap::new(),
            inherit_env: false,
            current_dir: None,
            stderr: StderrMode::default(),
            on_start: None,
            shutdown_timeouts: ShutdownTimeouts::default(),
            ends_with_parent: true,
            max_message_bytes: 16 << 20,
            max_queue_bytes: 16 << 20,
        }
    }

    /// Adds an argument.
    pub fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.args.push(arg.as_ref().to_owned());
        self
    }

    /// Adds arguments.
    pub fn args<A: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        let args = args.into_iter().map(|arg| arg.as_ref().to_owned());
        self.args.extend(args);
        self
    }

    /// Sets a variable of the program's environment.
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.env
            .insert(name.as_ref().to_owned(), value.as_ref().to_owned());
        self
    }

    /// Sets variables of the program's environment.
    pub fn envs<N: AsRef<OsStr>, V: AsRef<OsStr>>(
        self,
        variables: impl IntoIterator<Item = (N, V)>,
    ) -> Self {
        variables
            .into_iter()
            .fold(self, |command, (name, value)| command.env(name, value))
    }

    setters! {
        /// Sets whether the program inherits the whole environment of this process. By default it inherits
        /// only variables for paths, the user, the terminal and the language: `HOME`, `LANG`, `LC_*`, `LOGNAME`, `PATH`, `SHELL`, `TERM`, `TMPDIR`, `TEMP`,
        /// `TMP`, `USER`, and on Windows those that programs there need.
        inherit_env(all: bool) { inherit_env = all }

        /// Sets the directory that the program runs in.
        current_dir(directory: impl AsRef<Path>) {
            current_dir = Some(directory.as_ref().to_owned())
        }

        /// Sets the destination of the program's standard error. Default: [`StderrMode::Capture`] of 4 KiB.
        stderr(to: StderrMode) { stderr = to }

        /// Sets a function that is called with the id of each process that was started. It must not block or
        /// panic.
        on_start(function: impl Fn(u32) + Send + Sync + 'static) {
            on_start = Some(Arc::new(function))
        }

        /// Sets the time for each step of the shutdown.
        shutdown(shutdown_timeouts: ShutdownTimeouts) { shutdown_timeouts = shutdown_timeouts }

        /// Sets whether the program and its process group are killed when this process ends without closing
        /// the link, for instance because it was killed itself. A helper process (`/bin/sh`) waits for
        /// that; without a shell nobody does, and neither on other systems than Unix. Default true.
        end_with_parent(ends: bool) { ends_with_parent = ends }

        /// Sets the largest size of one message of the server in bytes, without its newline. A longer one
        /// is skipped and reported. Default 16 MiB.
        max_message_bytes(bytes: usize) { max_message_bytes = bytes }

        /// Sets the bytes that may be queued for a server that reads slowly. Over this bound senders wait.
        /// Default 16 MiB.
        max_queue_bytes(bytes: usize) { max_queue_bytes = bytes }
    }

    /// Returns the program, as it was given.
    #[must_use]
    pub fn program(&self) -> &OsStr {
        &self.program
    }

    /// Returns the arguments.
    pub fn arguments(&self) -> impl Iterator<Item = &OsStr> {
        self.args.iter().map(OsString::as_os_str)
    }

    /// Returns the directory that the program runs in, if one was set.
    #[must_use]
    pub fn directory(&self) -> Option<&Path> {
        self.current_dir.as_deref()
    }

    /// Returns the whole environment that the program gets: what it inherits, and what was set.
    #[must_use]
    pub fn environment(&self) -> BTreeMap<OsString, OsString> {
        let inherited = std::env::vars_os();
        let inherited = inherited.filter(|it| self.inherit_env || environment::is_inherited(it));
        inherited.chain(self.env.clone()).collect()
    }

    /// Returns the command for the operating system, without its streams.
    pub(super) fn to_std(&self) -> std::process::Command {
        let mut command = std::process::Command::new(&self.program);
        command.args(&self.args);
        command.env_clear().envs(self.environment());
        if let Some(directory) = &self.current_dir {
            command.current_dir(directory);
        }
        command
    }
}

/// Prints no values of variables, and no arguments that look like secrets.
impl fmt::Debug for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Command")
            .field("line", &command_line::display(&self.program, &self.args))
            .field("env", &self.env.keys())
            .field("inherit_env", &self.inherit_env)
            .field("current_dir", &self.current_dir)
            .field("stderr", &self.stderr)
            .field("shutdown_timeouts", &self.shutdown_timeouts)
            .field("ends_with_parent", &self.ends_with_parent)
            .field("max_message_bytes", &self.max_message_bytes)
            .field("max_queue_bytes", &self.max_queue_bytes)
            .finish()
    }
}

settings! {
    /// The time to wait for a server at each step of its shutdown.
    ///
    /// The server's input is closed; if it still runs after `close_timeout`, its process group is asked to end
    /// (SIGTERM); if it still runs after `term_timeout`, the group is killed. What is
    /// left of its group is killed as well. Systems without signals skip the second step.
    ///
    /// Specification: basic/transports/stdio (2026-07-28).
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct ShutdownTimeouts {
        /// The time after the end of its input.
        // Beyond: it is asked to end
        // Tests: turnbuckle_stdio::child::a_server_may_write_during_its_shutdown
        //   turnbuckle_stdio::child::a_deaf_server_is_asked_to_end
        close_timeout: Duration = Duration::from_secs(2),
        /// The time after SIGTERM.
        // Beyond: it is killed
        // Tests: turnbuckle_stdio::child::a_stubborn_server_is_killed
        term_timeout: Duration = Duration::from_secs(2),
    }
}
