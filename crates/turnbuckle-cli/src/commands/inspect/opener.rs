//! The servers that the page can open: that of the command line, those of the configuration, and URLs
//! that the user types.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use turnbuckle::http::SseConnector;
use turnbuckle::session::transport::{Connector, Timeouts};
use turnbuckle::stdio::StderrMode;
use turnbuckle_inspector::api::{Consent, OpenSource, ServerEntry, Step, TransportKind};
use turnbuckle_inspector::{
    BoxFuture, ClientSettings, ConnectionObserver, OpenError, OpenServer, OpenedServer,
};
use turnbuckle_types::base::secrets::is_secret_name;

use super::login::{LoginSteps, page_login};
use super::names::{address_of, short_name, transport_of, words_of};
use crate::args::CommonArgs;
use crate::args::limits::client_limits;
use crate::ask::offered_roots;
use crate::authorization::{UserStore, log_in};
use crate::connection::{
    Authorization, CatalogueEntry, CheckTarget, LoginLayer, PositionalArgs, Target, TargetLogin,
    http_connector, list_catalogue, server_command, store_consent,
};
use crate::error::CliError;
use crate::observe::{ExchangeObserver, KnownSecrets};
use crate::output::Console;

/// The time for which the list of the configured servers is not read again.
const CATALOGUE_AGE: Duration = Duration::from_secs(1);

/// The opener of the servers of one command line.
pub(super) struct Opener {
    common: CommonArgs,
    /// The server of the command line, which the user has agreed to.
    given: Option<Target>,
    console: Console,
    secrets: KnownSecrets,
    store: UserStore,
    /// The servers that the page lists, and the time of reading them.
    servers: Mutex<(Option<Instant>, Vec<ServerEntry>)>,
}

impl Opener {
    pub(super) fn new(common: CommonArgs, given: Option<Target>, console: Console) -> Self {
        let secrets = KnownSecrets::default();
        Self {
            common,
            given,
            console,
            store: UserStore::new(secrets.clone()),
            secrets,
            servers: Mutex::default(),
        }
    }

    /// Reads the servers of the configuration again, unless that was done just now.
    pub(super) async fn refresh_servers(&self) {
        let is_new = |read: Instant| read.elapsed() < CATALOGUE_AGE;
        if self.lock_servers().0.is_some_and(is_new) {
            return;
        }
        let mut servers: Vec<_> = self.given.iter().map(given_entry).collect();
        match list_catalogue(&self.common.server, &self.store).await {
            Ok(entries) => servers.extend(entries.into_iter().map(|it| self.configured_entry(it))),
            Err(error) => {
                let name = "configuration".to_owned();
                servers.push(faulty_entry(name, None, error.sentence()));
            }
        }
        *self.lock_servers() = (Some(Instant::now()), servers);
    }

    /// Stores the user's consent to a server of the configuration.
    ///
    /// # Errors
    /// Fails if the digest is not that of the server as it is now.
    pub(super) async fn agree(&self, name: &str, digest: &str) -> Result<(), CliError> {
        let consent = self.find_configured(name).await?.consent;
        let consent = consent.filter(|consent| consent.key == digest);
        let changed = || CliError::new("the configuration has changed meanwhile: look at it again");
        let stored = store_consent(&consent.ok_or_else(changed)?.key, &self.store).await;
        self.lock_servers().0 = None;
        stored
    }

    async fn find_configured(&self, name: &str) -> Result<CatalogueEntry, CliError> {
        let entries = list_catalogue(&self.common.server, &self.store).await?;
        let entry = entries.into_iter().find(|entry| entry.name == name);
        entry.ok_or_else(|| CliError::usage(format!("no server is named {name:?} any more")))
    }

    fn configured_entry(&self, entry: CatalogueEntry) -> ServerEntry {
        let origin = Some(entry.file.display().to_string());
        let target = match entry.target {
            Ok(target) => target,
            Err(fault) => return faulty_entry(entry.name, origin, fault),
        };
        let missing = entry.consent.filter(|consent| !consent.is_given);
        let missing = missing.filter(|_| !self.common.protocol.yes);
        ServerEntry {
            source: OpenSource::Named { name: entry.name },
            name: short_name(&target),
            address: address_of(&target),
            transport: transport_of(&target),
            origin,
            fault: None,
            consent: missing.map(|consent| Consent {
                sentence: consent.sentence,
                digest: consent.key,
            }),
        }
    }

    /// Resolves the server of a source, and returns it with the options for it. What the command line says
    /// of the requests and the environment of its own server is for that one alone.
    async fn target(&self, source: &OpenSource) -> Result<(Target, CommonArgs), CliError> {
        let mut common = self.common.clone();
        if *source == OpenSource::Given {
            let none = || CliError::usage("the command line names no server");
            return Ok((self.given.clone().ok_or_else(none)?, common));
        }
        let server = &mut common.server;
        server.headers.clear();
        server.header_env.clear();
        server.env.clear();
        (server.bearer_env, server.client_cert) = (None, None);
        (server.env_file, server.cwd, server.server) = (None, None, None);
        let target = match source {
            OpenSource::Url { url } => {
                let url = url.trim();
                if !url.starts_with("http://") && !url.starts_with("https://") {
                    return Err(CliError::usage(
                        "the address has neither http:// nor https://",
                    ));
                }
                let mut words = PositionalArgs::new(vec![url.to_owned()]);
                Target::resolve(&common.server, &[], &mut words)?
            }
            OpenSource::Named { name } => {
                let entry = self.find_configured(name).await?;
                let is_agreed = entry.consent.is_none_or(|consent| consent.is_given);
                if !is_agreed && !common.protocol.yes {
                    return Err(CliError::usage(
                        "you have not agreed to use this server yet",
                    ));
                }
                entry.target.map_err(CliError::usage)?
            }
            OpenSource::Given => return Err(CliError::usage("the command line names no server")),
        };
        Ok((target, common))
    }

    async fn prepare(
        &self,
        source: &OpenSource,
        observer: ConnectionObserver,
    ) -> Result<OpenedServer, CliError> {
        let (target, common) = self.target(source).await?;
        let (name, address) = (short_name(&target), address_of(&target));
        let words = words_of(&target, &common.server);
        let transport = transport_of(&target);
        let connector: Arc<dyn Connector> = match target {
            target @ Target::Url { .. } => self.http(target, &common, &observer).await?,
            target @ Target::Command { .. } => self.program(target, &common, observer)?,
        };
        let protocol = &common.protocol;
        let timeouts = protocol.timeout.map(Timeouts::uniform);
        Ok(OpenedServer {
            connector,
            name,
            address,
            transport,
            words,
            settings: ClientSettings {
                era: protocol.era(),
                connect_timeout: Some(protocol.connect_timeout),
                timeouts: timeouts.unwrap_or_default(),
                limits: client_limits(&protocol.limits),
                log_level: protocol.log,
                roots: offered_roots(protocol)?,
            },
        })
    }

    /// Prepares requests to a URL, each of which the observer is told of.
    async fn http(
        &self,
        target: Target,
        common: &CommonArgs,
        observer: &ConnectionObserver,
    ) -> Result<Arc<dyn Connector>, CliError> {
        let Target::Url {
            url,
            headers,
            sse,
            entry,
        } = target
        else {
            return Err(CliError::new("the target is not a URL"));
        };
        let layer = match common.server.stored_auth_only || common.protocol.no_input {
            true => LoginLayer::Stored,
            false => LoginLayer::Page(page_login(observer.clone())),
        };
        let told = observer.clone();
        let exchanges = ExchangeObserver::new(move |exchange| told.add_http(&exchange));
        let (entry, secrets) = (entry.as_ref(), &self.secrets);
        let built = http_connector(
            &url,
            headers,
            entry,
            layer,
            common,
            secrets,
            Some(exchanges),
        );
        let (mut connector, authorization) = built.await?;
        if let Authorization::Login(oauth) = authorization {
            let steps = LoginSteps::new(&oauth, observer.clone());
            if observer.is_login_wanted() {
                observer.begin_step(Step::Authorization);
                let done = log_in(&oauth, None).await;
                steps.report();
                done?;
            }
            // Outside of the login: its steps are known when a request is over.
            connector = connector.layer(ExchangeObserver::new(move |_| steps.report()));
        }
        Ok(match sse {
            true => Arc::new(SseConnector::new(connector)),
            false => Arc::new(connector),
        })
    }

    /// Prepares the command of a program.
    fn program(
        &self,
        target: Target,
        common: &CommonArgs,
        observer: ConnectionObserver,
    ) -> Result<Arc<dyn Connector>, CliError> {
        // Most values of variables are no secrets, and would be hidden wherever they occur.
        let any = KnownSecrets::default();
        let command = server_command(target, common, &self.console, &any)?;
        let secrets = command
            .environment()
            .into_iter()
            .filter_map(|(name, value)| {
                let name = name.to_string_lossy();
                is_secret_name(&name).then(|| value.to_string_lossy().into_owned())
            });
        self.secrets.add(secrets);
        let started = observer.clone();
        let stderr = StderrMode::lines(move |line| observer.add_stderr(line.as_bytes()));
        let command = command
            .stderr(stderr)
            .on_start(move |pid| started.set_pid(pid));
        Ok(Arc::new(command))
    }

    fn lock_servers(&self) -> MutexGuard<'_, (Option<Instant>, Vec<ServerEntry>)> {
        self.servers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OpenServer for Opener {
    fn servers(&self) -> Vec<ServerEntry> {
        self.lock_servers().1.clone()
    }

    fn open<'a>(
        &'a self,
        source: &'a OpenSource,
        observer: ConnectionObserver,
    ) -> BoxFuture<'a, Result<OpenedServer, OpenError>> {
        Box::pin(async move {
            let prepared = Box::pin(self.prepare(source, observer)).await;
            prepared.map_err(|error| open_error(&error))
        })
    }

    fn check_target<'a>(
        &'a self,
        source: &'a OpenSource,
    ) -> BoxFuture<'a, Result<turnbuckle_check::Target, OpenError>> {
        Box::pin(async move {
            let prepared = async {
                let (target, common) = self.target(source).await?;
                let mut login = TargetLogin::new(&common, &target)?;
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
    let step = match error.auth_error() {
        Some(_) => Step::Authorization,
        None => Step::Start,
    };
    OpenError {
        step,
        errors: vec![error.sentence()],
    }
}

fn given_entry(target: &Target) -> ServerEntry {
    ServerEntry {
        source: OpenSource::Given,
        name: short_name(target),
        address: address_of(target),
        transport: transport_of(target),
        origin: None,
        fault: None,
        consent: None,
    }
}

fn faulty_entry(name: String, origin: Option<String>, fault: String) -> ServerEntry {
    ServerEntry {
        source: OpenSource::Named { name: name.clone() },
        name,
        address: String::new(),
        transport: TransportKind::Program,
        origin,
        fault: Some(fault),
        consent: None,
    }
}
