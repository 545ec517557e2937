//! A connection to one server, from connecting to closing.

mod catalogue;
mod check_target;
mod config;
mod connector;
mod consent;
mod handshake_error;
mod server_cache;
mod target;
mod work;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use turnbuckle::Client;
use turnbuckle::client::{
    EraKind, EraPreference, Error, RequestBuilder, ServerInfo, ServerMethod, Started,
};
use turnbuckle::session::transport::Timeouts;
use turnbuckle::types::method::CallTool;
use turnbuckle::types::{LoggingLevel, Request};

use crate::args::limits::limit_client;
use crate::args::{CommonArgs, OutputArgs};
use crate::ask;
use crate::authorization::UserStore;
use crate::error::{CliError, ExitStatus};
use crate::observe::{KnownSecrets, Recorder, Trace, WireObserver};
use crate::output::{Console, sanitize, sanitize_line};
use consent::is_trusted;
use handshake_error::{foreign_program_error, handshake_error};
use server_cache::{Memory, ServerKind};
use turnbuckle_session::internal::ShutdownSignals;
use work::{Work, catch_signals};

pub(crate) use catalogue::{CatalogueEntry, list_catalogue};
pub(crate) use check_target::{CheckTarget, check_error};
pub(crate) use config::server_names;
pub(crate) use connector::{
    Authorization, LoginLayer, http_connector, is_unencrypted_remote, prepare, prepare_command,
    server_command,
};
pub(crate) use consent::{confirm_target, store_consent};
pub(crate) use target::{PositionalArgs, Target};
pub(crate) use work::{
    ServerSource, TargetLogin, explain, interruption, unless_interrupted, with_connection,
    with_server,
};

/// The time limit of closing the connection.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(6);

/// The most items that cannot be used whose names and faults are kept.
const MAX_LEFT_OUT_ITEMS: usize = 100;

/// The names of items of lists that cannot be used, and their faults.
type LeftOutItems = Arc<Mutex<Vec<(String, String)>>>;

/// The signals that interrupt a command. Whoever waits for one holds the lock.
type Signals = Arc<tokio::sync::Mutex<ShutdownSignals>>;

/// A connected server, and the console that results are printed to.
#[derive(Clone)]
pub(crate) struct ServerConnection {
    pub(crate) client: Client,
    pub(crate) console: Console,
    pub(crate) server: Arc<ServerInfo>,
    /// The signals that interrupt the command.
    pub(crate) signals: Signals,
    recorder: Arc<Recorder>,
    log: Option<LoggingLevel>,
    /// Fires when a question of the server cannot be answered.
    abort: ask::Abort,
    left_out: LeftOutItems,
    authorization: Authorization,
    /// The capabilities that are not declared, as `--caps` names them, with what `--caps` has to say to
    /// declare them too.
    missing_capabilities: Vec<(&'static str, String)>,
}

/// Connects to a server with this layer, and closes the connection.
pub(crate) async fn try_connection(
    common: &CommonArgs,
    target: &Target,
    layer: LoginLayer,
    console: &Console,
    secrets: &KnownSecrets,
) -> Result<(), CliError> {
    let target = target.clone();
    let signals = catch_signals()?;
    let trace = &mut None;
    let connecting = connect(common, target, layer, console, secrets, trace, &signals);
    let connection = connecting.await?;
    let _ = tokio::time::timeout(CLOSE_TIMEOUT, connection.client.close()).await;
    Ok(())
}

/// Connects to a server that the user trusts already, and prints nothing.
///
/// # Errors
/// Fails for any other server, which is not contacted.
pub(crate) async fn connect_silently(
    common: &CommonArgs,
    target: Target,
) -> Result<ServerConnection, CliError> {
    let secrets = KnownSecrets::default();
    if !is_trusted(&target, &UserStore::new(secrets.clone())).await {
        return Err(CliError::new("the server is not trusted"));
    }
    let (console, signals) = (Console::silent(&common.output), catch_signals()?);
    let (layer, trace) = (LoginLayer::Stored, &mut None);
    connect(common, target, layer, &console, &secrets, trace, &signals).await
}

async fn connect(
    common: &CommonArgs,
    target: Target,
    layer: LoginLayer,
    console: &Console,
    secrets: &KnownSecrets,
    trace: &mut Option<Arc<Trace>>,
    signals: &Signals,
) -> Result<ServerConnection, CliError> {
    let protocol = &common.protocol;
    let is_program = matches!(target, Target::Command { .. });
    let mut memory = Memory::look_up(&target, &layer, common);
    let remembered = memory.apply(target.clone());
    // A repeated command goes on with its trace.
    if let (None, Some(path)) = (&trace, &protocol.trace) {
        let created = Trace::create(
            path,
            protocol.max_trace_bytes,
            protocol.trace_secrets,
            secrets.clone(),
        )?;
        *trace = Some(Arc::new(created));
    }
    let traced = trace.clone();
    let prepared = prepare(remembered, layer, common, console, secrets, traced).await?;
    let recorder = Arc::new(Recorder::default());
    let observer = WireObserver {
        recorder: recorder.clone(),
        trace: trace.clone(),
    };
    let log = protocol
        .log
        .or(console.args.verbose.then_some(LoggingLevel::Info));
    let era = match protocol.era() {
        EraPreference::Auto if prepared.is_legacy || memory.is_legacy() => {
            EraPreference::StartWith(EraKind::Legacy)
        }
        era => era,
    };
    let mut builder = Client::builder("turnbuckle", env!("CARGO_PKG_VERSION"))
        .era(era)
        .connect_timeout(protocol.connect_timeout);
    if let Some(timeout) = protocol.timeout {
        builder = builder.timeouts(Timeouts::uniform(timeout));
    }
    if let Some(level) = log {
        let console = console.clone();
        builder = builder.log_level(level).on_log(move |log| {
            if log.level < level {
                return;
            }
            let text = match log.data.decode::<String>() {
                Ok(text) => text,
                Err(_) => log.data.to_string(),
            };
            let label = log_label(log.level, log.logger.as_deref());
            console.print_server_line(&label, &text);
        });
    }
    let warnings = console.clone();
    builder = builder.on_invalid_message(move |count, beginning| {
        if count == 1 {
            warnings.print_warning(&format!(
                "the server printed something that is not a JSON-RPC message: {}",
                sanitize_line(beginning, 120)
            ));
        }
    });
    let left_out = LeftOutItems::default();
    let (warnings, names) = (console.clone(), left_out.clone());
    builder = builder.on_invalid_item(move |item| {
        let mut names = names.lock().unwrap_or_else(PoisonError::into_inner);
        if names.len() < MAX_LEFT_OUT_ITEMS {
            names.push((
                sanitize_line(item.name, 128),
                sanitize_line(item.reason, 160),
            ));
        }
        warnings.print_warning(&format!(
            "{} is left out of the result of {}: {}",
            sanitize_line(item.name, 80),
            item.method,
            sanitize_line(item.reason, 160)
        ));
    });
    let builder = limit_client(builder, &protocol.limits);
    let abort = ask::Abort::default();
    let builder = ask::install_handlers(builder, protocol, console, &abort)?;
    let connecting = builder
        .message_observer(observer)
        .connect(prepared.connector);
    let client = match connecting.await {
        Ok(client) => client,
        Err(error) => {
            if memory.forget_after(&error) {
                let layer = LoginLayer::Stored;
                let again = connect(common, target, layer, console, secrets, trace, signals);
                return Box::pin(again).await;
            }
            if let Some(conduct) = is_program
                .then(|| recorder.describe_foreign_program())
                .flatten()
            {
                return Err(foreign_program_error(error, &conduct, &prepared.stderr));
            }
            let is_silent = recorder.is_silent();
            return Err(handshake_error(error, is_silent, &prepared.stderr, era));
        }
    };
    let server = client.server_info().ok_or(Error::Closed)?;
    memory.set(match server.era() {
        EraKind::Modern => None,
        EraKind::Legacy if prepared.is_legacy || server.uses_fallback => Some(ServerKind::HttpSse),
        EraKind::Legacy => Some(ServerKind::Legacy),
    });
    Ok(ServerConnection {
        client,
        console: console.clone(),
        server,
        signals: signals.clone(),
        recorder,
        log,
        abort,
        left_out,
        authorization: prepared.authorization,
        missing_capabilities: ask::missing_capabilities(protocol),
    })
}

impl ServerConnection {
    /// Does `work` unless a signal or a question that cannot be answered ends it.
    async fn perform(&self, work: &dyn Work) -> Result<(), CliError> {
        self.abort.forget_refusals();
        // Dropping the future cancels the request in flight.
        let done = unless_interrupted(&mut *self.signals.lock().await, async {
            tokio::select! {
                done = work.start(self) => done,
                error = self.abort.wait() => Err(error),
            }
        })
        .await;
        self.console.clear_progress();
        self.console.report_omitted();
        done.map_err(|error| self.explain_capability(error))?;
        match self.console.is_incomplete() {
            false => Ok(()),
            true => Err(CliError::new("a part of the result could not be decoded")
                .status(ExitStatus::Incomplete)
                .hint("`-o json` prints it as the server sent it")),
        }
    }

    /// Returns the connection with a console of these options, for a line of the shell.
    pub(crate) fn with_output(&self, output: &OutputArgs) -> Self {
        Self {
            console: self.console.with_args(output),
            ..self.clone()
        }
    }

    /// Returns whether the server is used with authorization.
    pub(crate) async fn has_authorization(&self) -> bool {
        match &self.authorization {
            Authorization::Absent => false,
            Authorization::Header => true,
            Authorization::Login(oauth) => oauth.status().await.is_some(),
        }
    }

    /// Sets the server's log level (`logging/setLevel`) if the revision has the method and the
    /// server declares logging.
    pub(crate) async fn apply_log_level(&self) -> Result<(), CliError> {
        let has_request = turnbuckle::session::transport::is_server_method(
            turnbuckle::types::method::SetLevel::METHOD,
            self.server.revision,
        );
        if let Some(level) = self.log
            && has_request
            && self.server.capabilities.logging.is_some()
        {
            self.client.set_log_level(level).await?;
        }
        Ok(())
    }

    /// Adds to a refusal of the server how to declare the capability that it asks for.
    fn explain_capability(&self, error: CliError) -> CliError {
        let words = error.response_text();
        match words.and_then(|words| self.capability_hint(&words)) {
            Some(hint) => error.hint(hint),
            None => error,
        }
    }

    /// Returns how to get what the words of the server refuse: by a capability that they name and that
    /// is not declared, or by the legacy era.
    pub(crate) fn capability_hint(&self, words: &str) -> Option<String> {
        let words = words.to_lowercase();
        let unavailable = format!("unavailable on {} connections", self.server.revision);
        if self.server.era() == EraKind::Modern && words.contains(&unavailable) {
            return Some("the server has that in the legacy era: try `--era legacy`".to_owned());
        }
        let is_about_clients = ["client", "capabilit", "support"]
            .iter()
            .any(|word| words.contains(word));
        if !is_about_clients {
            return None;
        }
        let (_, caps) = self.missing_capabilities.iter().find(|(name, _)| {
            // `elicitation` is also an elicitation request or mode.
            words.contains(name.trim_end_matches("ation"))
        })?;
        Some(format!(
            "`--answer VALUE` answers the server; `--caps {caps}` lets it ask"
        ))
    }

    /// Sends a request and returns its result with the JSON text that the server wrote.
    pub(crate) async fn call_verbatim<M>(
        &self,
        call: RequestBuilder<M>,
    ) -> Result<(M::Result, String), Error>
    where
        M: ServerMethod,
        M::Result: serde::Serialize,
    {
        self.recorder.expect(M::METHOD);
        let call = self.draw_progress_of(call);
        let result = call.await;
        self.console.clear_progress();
        let result = result?;
        let text = match self.recorder.take_result() {
            Some(text) => text,
            None => serde_json::to_string(&result)
                .map_err(|error| Error::InvalidRequest(error.to_string()))?,
        };
        Ok((result, text))
    }

    /// Starts a call. Returns its result, with the JSON text that the server wrote, or the task that it became.
    pub(crate) async fn start_call(
        &self,
        call: RequestBuilder<CallTool>,
    ) -> Result<(Started, Option<String>), Error> {
        self.recorder.expect(CallTool::METHOD);
        let started = self.draw_progress_of(call).start().await;
        self.console.clear_progress();
        Ok((started?, self.recorder.take_result()))
    }

    /// Returns the request with a progress bar.
    fn draw_progress_of<M: ServerMethod>(&self, call: RequestBuilder<M>) -> RequestBuilder<M> {
        let console = self.console.clone();
        call.on_progress(move |progress| {
            console.draw_progress(
                progress.progress.as_f64(),
                progress
                    .total
                    .as_ref()
                    .map(turnbuckle::types::Number::as_f64),
                progress.message.as_deref(),
            );
        })
    }

    /// Returns the fault of an item that was left out of a list.
    pub(crate) fn fault_of(&self, name: &str) -> Option<String> {
        let left_out = self.left_out.lock().unwrap_or_else(PoisonError::into_inner);
        let item = left_out.iter().find(|(item, _)| item == name);
        item.map(|(_, fault)| fault.clone())
    }

    /// Returns the server's name, sanitized.
    pub(crate) fn server_name(&self) -> String {
        match &self.server.implementation {
            Some(who) => sanitize_line(who.title.as_deref().unwrap_or(&who.name), 80),
            None => sanitize(self.client.address()),
        }
    }
}

/// Returns the label of a log message: `info:`, or `info db:` for the logger `db`.
fn log_label(level: LoggingLevel, logger: Option<&str>) -> String {
    match logger {
        Some(logger) => format!("{} {}:", level.as_str(), sanitize_line(logger, 80)),
        None => format!("{}:", level.as_str()),
    }
}
