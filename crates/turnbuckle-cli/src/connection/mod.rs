//! A connection to one server, from connecting to closing.

mod connector;
mod target;

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use turnbuckle::Client;
use turnbuckle::client::{EraKind, EraPreference, Error, RequestBuilder, ServerInfo, ServerMethod};
use turnbuckle::session::Timeouts;
use turnbuckle::types::{LoggingLevel, Request};

use crate::args::CommonArgs;
use crate::ask;
use crate::error::CliError;
use crate::exit_status::ExitStatus;
use crate::observe::{ObservedConnector, Recorder, Trace, WireObserver};
use crate::output::{Console, sanitize, sanitize_line};
use crate::signals::ShutdownSignals;
use connector::prepare;

pub(crate) use target::{PositionalArgs, Target};

/// The time limit of closing the connection.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(6);

/// A connected server, and the console that results are printed to.
pub(crate) struct ServerConnection {
    pub(crate) client: Client,
    pub(crate) console: Console,
    pub(crate) server: Arc<ServerInfo>,
    recorder: Arc<Recorder>,
    log: Option<LoggingLevel>,
}

/// Connects, runs `work` and closes the connection, also when a signal interrupts the work.
pub(crate) async fn with_server<W>(
    common: &CommonArgs,
    target: Target,
    work: W,
) -> Result<(), CliError>
where
    W: AsyncFnOnce(&ServerConnection) -> Result<(), CliError>,
{
    let console = Console::new(&common.output);
    let mut signals = ShutdownSignals::new()
        .map_err(|error| CliError::new(format!("cannot catch signals: {error}")))?;
    let interrupted = || CliError::new("interrupted").status(ExitStatus::Interrupted);

    let connection = tokio::select! {
        connection = connect(common, target, &console) => connection?,
        () = signals.recv() => return Err(interrupted()),
    };
    let done = {
        // Dropping the future cancels the request in flight.
        let mut work = pin!(work(&connection));
        tokio::select! {
            done = work.as_mut() => done,
            () = signals.recv() => Err(interrupted()),
        }
    };
    console.clear_progress();
    tokio::select! {
        _ = tokio::time::timeout(CLOSE_TIMEOUT, connection.client.close()) => {}
        () = signals.recv() => {}
    }
    done
}

async fn connect(
    common: &CommonArgs,
    target: Target,
    console: &Console,
) -> Result<ServerConnection, CliError> {
    let CommonArgs {
        server: server_args,
        protocol,
        ..
    } = common;
    let prepared = prepare(target, server_args, protocol, console)?;
    let trace = match &protocol.trace {
        Some(path) => Some(Arc::new(Trace::create(path, prepared.secrets)?)),
        None => None,
    };
    let recorder = Arc::new(Recorder::default());
    let observer = WireObserver {
        recorder: recorder.clone(),
        trace,
    };
    let log = protocol
        .log
        .or(console.args.verbose.then_some(LoggingLevel::Info));
    let era = match protocol.era() {
        EraPreference::Auto if prepared.is_legacy => EraPreference::Known(EraKind::Legacy),
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
            warnings.print_note(&format!(
                "warning: the server printed something that is not a JSON-RPC message: {}",
                sanitize_line(beginning, 120)
            ));
        }
    });
    let warnings = console.clone();
    builder = builder.on_invalid_item(move |item| {
        warnings.print_note(&format!(
            "warning: {} is left out of the result of {}: {}",
            sanitize_line(item.name, 80),
            item.method,
            sanitize_line(item.reason, 160)
        ));
    });
    let builder = ask::install_handlers(builder, protocol, console)?;
    let client = builder
        .connect(ObservedConnector::new(prepared.connector, observer))
        .await?;
    let server = client.server_info().ok_or(Error::Closed)?;
    Ok(ServerConnection {
        client,
        console: console.clone(),
        server,
        recorder,
        log,
    })
}

impl ServerConnection {
    /// Sets the server's log level (`logging/setLevel`) if the revision has the method and the
    /// server declares logging.
    pub(crate) async fn apply_log_level(&self) -> Result<(), CliError> {
        let has_request = turnbuckle::session::is_server_method(
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
        let console = self.console.clone();
        let call = call.on_progress(move |progress| {
            console.draw_progress(
                progress.progress.as_f64(),
                progress
                    .total
                    .as_ref()
                    .map(turnbuckle::types::Number::as_f64),
                progress.message.as_deref(),
            );
        });
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

/// Returns the error for a result that cannot be encoded as JSON.
pub(crate) fn encode_error(error: serde_json::Error) -> CliError {
    CliError::new(format!("the result cannot be written: {error}"))
}
