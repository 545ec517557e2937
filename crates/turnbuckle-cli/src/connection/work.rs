//! The work of a command at a connection: it connects, logs in when the server demands it, and closes
//! the connection, also when a signal interrupts the work.

use std::pin::Pin;
use std::sync::Arc;

use super::connector::{LoginLayer, is_unencrypted_remote};
use super::consent::confirm_target;
use super::{CLOSE_TIMEOUT, ServerConnection, Signals, Target, connect};
use crate::args::CommonArgs;
use crate::authorization::{
    UserStore, challenge_scopes, log_in_after_challenge, may_log_in, render_checklist,
};
use crate::error::{CliError, ExitStatus, is_login_required};
use crate::observe::{KnownSecrets, Trace};
use crate::output::{Console, shell_quote};
use turnbuckle_session::internal::ShutdownSignals;

/// The number of times that one command asks the user to log in: at first, and for more scopes.
const MAX_LOGINS: usize = 2;

/// The outcome of a command, once it is known.
type WorkFuture<'a> = Pin<Box<dyn Future<Output = Result<(), CliError>> + 'a>>;

/// The work of a command at a connection. As `dyn Work`, so that the code around the work exists once and
/// not once for each command.
pub(super) trait Work {
    /// Starts the work.
    fn start<'a>(&'a self, connection: &'a ServerConnection) -> WorkFuture<'a>;
}

impl<W> Work for W
where
    W: AsyncFn(&ServerConnection) -> Result<(), CliError>,
{
    fn start<'a>(&'a self, connection: &'a ServerConnection) -> WorkFuture<'a> {
        Box::pin(self(connection))
    }
}

/// The server of a verb.
pub(crate) enum ServerSource {
    /// A server to connect to.
    Target(Target),
    /// The connection of a shell.
    Connected(Box<ServerConnection>),
}

/// Runs `work` at the connection of a shell, or at one that is opened and closed for it.
pub(crate) async fn with_server<W>(
    common: &CommonArgs,
    server: ServerSource,
    work: W,
) -> Result<(), CliError>
where
    W: AsyncFn(&ServerConnection) -> Result<(), CliError>,
{
    work_at_server(common, server, &work).await
}

async fn work_at_server(
    common: &CommonArgs,
    server: ServerSource,
    work: &dyn Work,
) -> Result<(), CliError> {
    match server {
        ServerSource::Connected(connection) => connection.perform(work).await,
        ServerSource::Target(target) => {
            with_connection(common, target, async |connection| {
                connection.perform(work).await
            })
            .await
        }
    }
}

/// Connects, runs `work` and closes the connection. `work` watches the signals itself.
///
/// If the server demands a login and the user may be asked, the user logs in, and all of it is
/// repeated. A login has no part in the time limits of requests, which is why it does not happen
/// while one waits.
pub(crate) async fn with_connection<W>(
    common: &CommonArgs,
    target: Target,
    work: W,
) -> Result<(), CliError>
where
    W: AsyncFn(&ServerConnection) -> Result<(), CliError>,
{
    let mut command = Command {
        login: TargetLogin::new(common, &target)?,
        trace: None,
    };
    let login = command.login.clone();
    login.confirm_target().await?;
    login.repeat(async || command.run(&work).await).await
}

/// The consent and the login that a command may need at its target.
#[derive(Clone)]
pub(crate) struct TargetLogin<'a> {
    pub(crate) common: &'a CommonArgs,
    pub(crate) target: &'a Target,
    pub(crate) console: Console,
    pub(crate) secrets: KnownSecrets,
    signals: Signals,
}

impl<'a> TargetLogin<'a> {
    pub(crate) fn new(common: &'a CommonArgs, target: &'a Target) -> Result<Self, CliError> {
        Ok(Self {
            common,
            target,
            console: Console::new(&common.output),
            secrets: KnownSecrets::default(),
            signals: catch_signals()?,
        })
    }

    /// Asks the user about a target that comes from a file that was found.
    pub(crate) async fn confirm_target(&self) -> Result<(), CliError> {
        let store = UserStore::new(self.secrets.clone());
        let confirming = confirm_target(self.target, self.common, &store, &self.console);
        self.unless_interrupted(confirming).await
    }

    /// Makes an attempt, and makes it again after a login if the server demands one and the user may
    /// be asked.
    pub(crate) async fn repeat(
        &self,
        mut attempt: impl AsyncFnMut() -> Result<(), CliError>,
    ) -> Result<(), CliError> {
        let mut logins = 0;
        loop {
            match attempt().await {
                Err(error)
                    if error.needs_login() && logins < MAX_LOGINS && may_log_in(self.common) =>
                {
                    logins += 1;
                    self.log_in(&error).await?;
                }
                Err(error) => return Err(self.explain(error)),
                Ok(()) => return Ok(()),
            }
        }
    }

    /// Does `work` unless a signal arrives before its end.
    pub(crate) async fn unless_interrupted<T>(
        &self,
        work: impl Future<Output = Result<T, CliError>>,
    ) -> Result<T, CliError> {
        unless_interrupted(&mut *self.signals.lock().await, work).await
    }

    /// Logs the user in, as the server demanded with `error`.
    async fn log_in(&self, error: &CliError) -> Result<(), CliError> {
        let Target::Url { url, .. } = self.target else {
            return Err(CliError::new("only servers over HTTP ask for a login"));
        };
        let store = UserStore::new(self.secrets.clone());
        let challenge = error.challenge();
        let login = log_in_after_challenge(url, store, self.common, challenge, &self.console);
        let done = self.unless_interrupted(login).await;
        done.map_err(|error| self.explain(error))
    }

    fn explain(&self, error: CliError) -> CliError {
        explain(error, self.target, self.common, &self.console)
    }
}

/// Starts to catch the signals that interrupt a command.
pub(super) fn catch_signals() -> Result<Signals, CliError> {
    let signals = ShutdownSignals::new()
        .map_err(|error| CliError::new(format!("cannot catch signals: {error}")))?;
    Ok(Arc::new(tokio::sync::Mutex::new(signals)))
}

/// A command at a server.
struct Command<'a> {
    login: TargetLogin<'a>,
    trace: Option<Arc<Trace>>,
}

impl Command<'_> {
    /// Connects, runs `work` and closes the connection.
    async fn run(&mut self, work: &dyn Work) -> Result<(), CliError> {
        let login = &self.login;
        let connecting = connect(
            login.common,
            login.target.clone(),
            LoginLayer::Stored,
            &login.console,
            &login.secrets,
            &mut self.trace,
            &login.signals,
        );
        let signals = login.signals.clone();
        let connection = unless_interrupted(&mut *signals.lock().await, connecting).await?;
        let done = work.start(&connection).await;
        let mut signals = signals.lock().await;
        tokio::select! {
            _ = tokio::time::timeout(CLOSE_TIMEOUT, connection.client.close()) => {}
            () = signals.recv() => {}
        }
        // The standard error of a command can come after the answer.
        login.console.report_omitted();
        done
    }
}

/// Does `work` unless a signal arrives before its end.
pub(crate) async fn unless_interrupted<T>(
    signals: &mut ShutdownSignals,
    work: impl Future<Output = Result<T, CliError>>,
) -> Result<T, CliError> {
    tokio::select! {
        done = work => done,
        () = signals.recv() => Err(interruption()),
    }
}

/// Returns the error for a command that a signal ended.
pub(crate) fn interruption() -> CliError {
    CliError::new("interrupted").status(ExitStatus::Interrupted)
}

/// Adds to an error of the authorization how to log in at the target. With `--verbose`, the steps
/// before it are printed, or become part of the JSON error.
pub(crate) fn explain(
    error: CliError,
    target: &Target,
    common: &CommonArgs,
    console: &Console,
) -> CliError {
    let Target::Url { url, .. } = target else {
        return error;
    };
    let Some(failure) = error.auth_error() else {
        return if error.is_unauthorized() && is_unencrypted_remote(url) {
            error.hint(
                "logins need https; `--bearer-env VAR --insecure-http` sends the token in the \
                 variable VAR without encryption",
            )
        } else {
            error
        };
    };
    if common.output.verbose && console.is_text() {
        let style = |style, text: &str| console.style_stderr(style, text);
        console.print_message(&render_checklist(failure.transcript(), style));
    }
    let words = target.words(&common.server).unwrap_or_default();
    if !is_login_required(failure) {
        let error = error.steps(common.output.verbose);
        return error.hint(format!(
            "`turnbuckle auth debug {words}` shows each step, and how to mend it"
        ));
    }
    let mut hint = format!("`turnbuckle auth login {words}");
    if error.is_forbidden() {
        for scope in challenge_scopes(error.challenge()) {
            hint += &format!(" --scope {}", shell_quote([&*scope]));
        }
    }
    error.steps(common.output.verbose).hint(hint + "`")
}
