//! The servers that the page can open: that of the command line, those of the configuration, and URLs
//! that the user types.

use std::ffi::{OsStr, OsString};
use std::sync::Arc;

use turnbuckle::http::SseConnector;
use turnbuckle::session::transport::{Connector, Timeouts};
use turnbuckle::stdio::StderrMode;
use turnbuckle_inspector::api::{OpenSource, ServerEntry, Step, TransportKind};
use turnbuckle_inspector::{
    BoxFuture, ClientSettings, ConnectionObserver, OpenError, OpenServer, OpenedServer, ServerWords,
};
use turnbuckle_types::base::secrets::url_without_query;

use crate::args::CommonArgs;
use crate::authorization::UserStore;
use crate::connection::{
    CheckTarget, LoginLayer, PositionalArgs, Target, TargetLogin, http_connector, is_trusted,
    server_command,
};
use crate::error::CliError;
use crate::observe::{KnownSecrets, has_secret};
use crate::output::{Console, shell_quote};

/// The opener of the servers of one command line.
pub(super) struct Opener {
    pub(super) common: CommonArgs,
    /// The server of the command line, which the user has agreed to.
    pub(super) given: Option<Target>,
    pub(super) console: Console,
    pub(super) secrets: KnownSecrets,
}

impl Opener {
    /// Resolves the server of a source.
    async fn target(&self, source: &OpenSource) -> Result<Target, CliError> {
        let words = match source {
            OpenSource::Given => {
                let none = || CliError::usage("the command line names no server");
                return self.given.clone().ok_or_else(none);
            }
            OpenSource::Url { url } => {
                if !url.starts_with("http://") && !url.starts_with("https://") {
                    return Err(CliError::usage("the URL has neither http:// nor https://"));
                }
                url
            }
            OpenSource::Named { name } => name,
        };
        let mut server = self.common.server.clone();
        server.server = None;
        let mut words = PositionalArgs::new(vec![words.clone()]);
        let target = Target::resolve(&server, &[], &mut words)?;
        if matches!(source, OpenSource::Named { .. }) {
            let store = UserStore::new(self.secrets.clone());
            let is_agreed = self.common.protocol.yes || server.config.is_some();
            if !is_agreed && !is_trusted(&target, &store).await {
                return Err(CliError::usage(
                    "you have not agreed to use this server yet",
                ));
            }
        }
        Ok(target)
    }

    /// Returns the words that name a server on a command line, without secrets.
    fn words(&self, target: &Target) -> ServerWords {
        let mut words = ServerWords::default();
        match target {
            Target::Url {
                url, entry: None, ..
            } => words.target.push(url.clone()),
            Target::Url {
                entry: Some(entry), ..
            }
            | Target::Command {
                entry: Some(entry), ..
            } => {
                if let Some(file) = &self.common.server.config {
                    let file = file.to_string_lossy().into_owned();
                    words.target.extend(["--config".to_owned(), file]);
                }
                words.target.push(entry.name.clone());
            }
            Target::Command { program, args, .. } => words.command = command_words(program, args),
        }
        words
    }

    /// Returns the settings of the client that the options of the command name.
    fn settings(&self) -> ClientSettings {
        let protocol = &self.common.protocol;
        let mut settings = ClientSettings {
            era: protocol.era(),
            connect_timeout: Some(protocol.connect_timeout),
            log_level: protocol.log,
            ..ClientSettings::default()
        };
        if let Some(timeout) = protocol.timeout {
            settings.timeouts = Timeouts::uniform(timeout);
        }
        settings
    }

    async fn prepare(
        &self,
        source: &OpenSource,
        observer: ConnectionObserver,
    ) -> Result<OpenedServer, CliError> {
        let target = self.target(source).await?;
        let (name, address) = (short_name(&target), address_of(&target));
        let words = self.words(&target);
        let (connector, transport): (Arc<dyn Connector>, _) = match target {
            Target::Url {
                url,
                headers,
                sse,
                entry,
            } => {
                let layer = LoginLayer::Stored;
                let (common, secrets) = (&self.common, &self.secrets);
                let built = http_connector(&url, headers, entry.as_ref(), layer, common, secrets);
                let (connector, _) = built.await?;
                match sse {
                    true => (Arc::new(SseConnector::new(connector)), TransportKind::Sse),
                    false => (Arc::new(connector), TransportKind::Http),
                }
            }
            target @ Target::Command { .. } => {
                let command = server_command(target, &self.common, &self.console, &self.secrets)?;
                let stderr = StderrMode::lines(move |line| observer.add_stderr(line.as_bytes()));
                (Arc::new(command.stderr(stderr)), TransportKind::Program)
            }
        };
        Ok(OpenedServer {
            connector,
            name,
            address,
            transport,
            words,
            settings: self.settings(),
        })
    }
}

impl OpenServer for Opener {
    fn servers(&self) -> Vec<ServerEntry> {
        let given = self.given.as_ref().map(|target| ServerEntry {
            source: OpenSource::Given,
            name: short_name(target),
            address: address_of(target),
            transport: transport_of(target),
            origin: None,
            fault: None,
        });
        given.into_iter().collect()
    }

    fn open<'a>(
        &'a self,
        source: &'a OpenSource,
        observer: ConnectionObserver,
    ) -> BoxFuture<'a, Result<OpenedServer, OpenError>> {
        Box::pin(async move {
            let prepared = self.prepare(source, observer).await;
            prepared.map_err(|error| open_error(&error))
        })
    }

    fn check_target<'a>(
        &'a self,
        source: &'a OpenSource,
    ) -> BoxFuture<'a, Result<turnbuckle_check::Target, OpenError>> {
        Box::pin(async move {
            let prepared = async {
                let target = self.target(source).await?;
                let mut login = TargetLogin::new(&self.common, &target)?;
                (login.console, login.secrets) = (self.console.clone(), self.secrets.clone());
                let is_sse = transport_of(&target) == TransportKind::Sse;
                CheckTarget::prepare(&login, is_sse).await
            };
            let prepared = prepared.await.map_err(|error| open_error(&error))?;
            Ok(prepared.server)
        })
    }

    fn redact(&self, text: &str) -> Option<String> {
        self.secrets.redact_line(text)
    }
}

fn open_error(error: &CliError) -> OpenError {
    OpenError {
        step: Step::Start,
        errors: vec![error.text().to_owned()],
    }
}

fn transport_of(target: &Target) -> TransportKind {
    match target {
        Target::Url { sse: true, .. } => TransportKind::Sse,
        Target::Url { .. } => TransportKind::Http,
        Target::Command { .. } => TransportKind::Program,
    }
}

/// Returns the name in the configuration, or that of the host or the program.
fn short_name(target: &Target) -> String {
    match target {
        Target::Url {
            entry: Some(entry), ..
        }
        | Target::Command {
            entry: Some(entry), ..
        } => entry.name.clone(),
        Target::Url { url, .. } => {
            let host = url.split("://").nth(1).unwrap_or(url);
            host.split('/').next().unwrap_or(host).to_owned()
        }
        Target::Command { program, .. } => {
            let file = std::path::Path::new(program).file_stem();
            file.unwrap_or(program).to_string_lossy().into_owned()
        }
    }
}

/// Returns the URL without its query, or the command line.
fn address_of(target: &Target) -> String {
    match target {
        Target::Url { url, .. } => url_without_query(url).to_string(),
        Target::Command { program, args, .. } => {
            let words = command_words(program, args);
            shell_quote(words.iter().map(String::as_str))
        }
    }
}

/// Returns a command line; of one with a secret, the program alone.
fn command_words(program: &OsStr, args: &[OsString]) -> Vec<String> {
    let words = std::iter::once(program).chain(args.iter().map(OsString::as_os_str));
    let words: Vec<_> = words
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    let line = shell_quote(words.iter().map(String::as_str));
    match has_secret(&line) {
        true => vec![words[0].clone(), "…".to_owned()],
        false => words,
    }
}
