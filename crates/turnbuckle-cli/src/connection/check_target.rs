//! The target of a check: the server of a command line, reached below the protocol.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use turnbuckle::auth::AuthError;
use turnbuckle_check::{CheckError, Command, exchange};
use turnbuckle_types::AuthorizationFailure;

use super::connector::{LoginLayer, http_connector, server_command};
use super::target::Target;
use super::work::TargetLogin;
use crate::error::{AuthorizationDetails, CliError, ExitStatus};
use crate::observe::has_secret;
use crate::output::shell_quote;

/// The server of a command line, for a checker.
pub(crate) struct CheckTarget {
    /// The server and the transports that reach it.
    pub(crate) server: turnbuckle_check::Target,
    /// The words that name the server to people.
    pub(crate) name: String,
    failure: LoginFailure,
}

/// The reason why the last request that needed a login got none.
type LoginFailure = Arc<Mutex<Option<AuthError>>>;

impl CheckTarget {
    /// Prepares the target of a command line. Nothing is started or contacted yet. `sse` means that its
    /// URL is that of HTTP+SSE.
    pub(crate) async fn prepare(login: &TargetLogin<'_>, sse: bool) -> Result<Self, CliError> {
        let TargetLogin {
            common,
            console,
            secrets,
            ..
        } = login;
        let failure = LoginFailure::default();
        let (name, server) = match login.target.clone() {
            Target::Url {
                url,
                headers,
                sse: is_sse,
                entry,
            } => {
                let layer = LoginLayer::Stored;
                let entry = entry.as_ref();
                let built = http_connector(&url, headers, entry, layer, common, secrets, None);
                let (connector, _) = built.await?;
                let name = login.target.words(&common.server).unwrap_or_default();
                let uri = connector.uri();
                let last_failure = Arc::clone(&failure);
                // The requests of checks go as those of the tool: with the headers, the certificates
                // and the login of the command line.
                let exchange = exchange(move |request| {
                    let (connector, failure) = (connector.clone(), Arc::clone(&last_failure));
                    async move {
                        let response = connector.send(request).await.map_err(io::Error::other)?;
                        if let Some(found) = response.extensions().get::<AuthorizationFailure>() {
                            let mut last = failure.lock().unwrap_or_else(PoisonError::into_inner);
                            *last = found.downcast_ref().cloned();
                        }
                        Ok(response)
                    }
                });
                let server = turnbuckle_check::Target::new(&name);
                let server = match is_sse || sse {
                    true => server.sse(uri, exchange),
                    false => server.http(uri, exchange),
                };
                (name, server)
            }
            target @ Target::Command { .. } => {
                let command = server_command(target, common, console, secrets)?;
                let words = [command.program()].into_iter().chain(command.arguments());
                let words: Vec<_> = words.map(|word| word.to_string_lossy()).collect();
                let name = shell_quote(words.iter().map(|word| &**word));
                let name = match has_secret(&name) {
                    true => shell_quote([&*words[0], "…"]),
                    false => name,
                };
                let program = Command::new(command.program())
                    .args(command.arguments())
                    .environment(command.environment());
                let program = match command.directory() {
                    Some(directory) => program.folder(directory),
                    None => program,
                };
                let server = turnbuckle_check::Target::new(format!("-- {name}")).command(program);
                (name, server)
            }
        };
        Ok(Self {
            server,
            name,
            failure,
        })
    }

    /// Converts the error of a run into that of the command.
    pub(crate) fn to_cli_error(&self, error: CheckError) -> CliError {
        match error {
            CheckError::LoginRequired { challenge } => {
                let failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
                CliError::new("the server asks for a login (HTTP 401)")
                    .status(ExitStatus::AuthNeeded)
                    .authorization(AuthorizationDetails {
                        status: Some(401),
                        challenge,
                        failure: failure.clone(),
                    })
            }
            error => check_error(&error),
        }
    }
}

/// Converts an error of a run, but a missing login, into that of the command.
pub(crate) fn check_error(error: &CheckError) -> CliError {
    let text = error.to_string();
    match error {
        CheckError::NoSuchCheck { .. } => {
            CliError::usage(text).hint("`turnbuckle check --list` lists all checks")
        }
        _ => CliError::new(text).status(ExitStatus::Unreachable),
    }
}
