//! One connection to a server, from the first word to the goodbye.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use turnbuckle::Client;
use turnbuckle::client::{Call, Era, Error, ServerInfo, ServerMethod, Verdict};
use turnbuckle::session::Patience;
use turnbuckle::types::{LogLevel, Request};

use crate::args::Common;
use crate::ask;
use crate::connect::way;
use crate::ending::Endings;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{Screen, clean, line};
use crate::target::Target;
use crate::wire::{Recorder, Trace, Watch, Watched};

/// How long the goodbye may take.
const GOODBYE: Duration = Duration::from_secs(6);

/// A server that answers, and where its answers go.
pub(crate) struct Session {
    pub(crate) client: Client,
    pub(crate) screen: Screen,
    pub(crate) server: Arc<ServerInfo>,
    recorder: Arc<Recorder>,
    log: Option<LogLevel>,
}

/// Connects, does `work`, and says goodbye: also when the user ends it.
pub(crate) async fn with_server<W>(common: &Common, target: Target, work: W) -> Result<(), Failure>
where
    W: AsyncFnOnce(&Session) -> Result<(), Failure>,
{
    let screen = Screen::new(&common.look);
    let mut endings =
        Endings::new().map_err(|error| Failure::new(format!("cannot catch signals: {error}")))?;
    let interrupted = || Failure::new("interrupted").exit(Exit::Interrupted);

    let session = tokio::select! {
        session = open(common, target, &screen) => session?,
        () = endings.next() => return Err(interrupted()),
    };
    let done = {
        // Dropping it takes back on the wire what it waits for.
        let mut work = pin!(work(&session));
        tokio::select! {
            done = work.as_mut() => done,
            () = endings.next() => Err(interrupted()),
        }
    };
    screen.unbar();
    tokio::select! {
        _ = tokio::time::timeout(GOODBYE, session.client.close()) => {}
        () = endings.next() => {}
    }
    done
}

async fn open(common: &Common, target: Target, screen: &Screen) -> Result<Session, Failure> {
    let Common { reach, speak, .. } = common;
    let way = way(target, reach, speak, screen)?;
    let trace = match &speak.trace {
        Some(path) => Some(Arc::new(Trace::begin(path, way.secrets)?)),
        None => None,
    };
    let recorder = Arc::new(Recorder::default());
    let watch = Watch {
        recorder: recorder.clone(),
        trace,
    };
    let log = speak.log.or(screen.look.verbose.then_some(LogLevel::Info));
    let era = match speak.era() {
        Era::Auto if way.is_legacy => Era::Known(Verdict::Legacy),
        era => era,
    };
    let mut builder = Client::builder("turnbuckle", env!("CARGO_PKG_VERSION"))
        .era(era)
        .connect_timeout(speak.connect_timeout);
    if let Some(timeout) = speak.timeout {
        builder = builder.patience(Patience::at_most(timeout));
    }
    if let Some(level) = log {
        let screen = screen.clone();
        builder = builder.log_level(level).on_log(move |log| {
            if log.level < level {
                return;
            }
            let text = match log.data.decode::<String>() {
                Ok(text) => text,
                Err(_) => log.data.to_string(),
            };
            screen.server_says(&format!("{}:", log.level.as_str()), &text);
        });
    }
    let noisy = screen.clone();
    builder = builder.on_noise(move |count, beginning| {
        if count == 1 {
            noisy.note(&format!(
                "warning: the server prints what is no message: {}",
                line(beginning, 120)
            ));
        }
    });
    let doubtful = screen.clone();
    builder = builder.on_invalid_tool(move |tool, why| {
        doubtful.note(&format!(
            "warning: the tool {} is left out: {}",
            line(tool, 80),
            line(why, 160)
        ));
    });
    let builder = ask::install(builder, speak, screen)?;
    let client = builder.connect(Watched::new(way.connector, watch)).await?;
    let server = client.server().ok_or(Error::Closed)?;
    Ok(Session {
        client,
        screen: screen.clone(),
        server,
        recorder,
        log,
    })
}

impl Session {
    /// Has the server log as much as the user wants to see.
    pub(crate) async fn want_log(&self) -> Result<(), Failure> {
        let has_request = turnbuckle::session::reaches_server(
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

    /// Makes a request; returns its result beside the text that the server wrote it in.
    pub(crate) async fn verbatim<M>(&self, call: Call<M>) -> Result<(M::Result, String), Error>
    where
        M: ServerMethod,
        M::Result: serde::Serialize,
    {
        self.recorder.expect(M::METHOD);
        let screen = self.screen.clone();
        let call = call.on_progress(move |progress| {
            screen.progress(
                progress.progress.as_f64(),
                progress
                    .total
                    .as_ref()
                    .map(turnbuckle::types::Number::as_f64),
                progress.message.as_deref(),
            );
        });
        let result = call.await;
        self.screen.unbar();
        let result = result?;
        let text = match self.recorder.take() {
            Some(text) => text,
            None => serde_json::to_string(&result)
                .map_err(|error| Error::Unwritable(error.to_string()))?,
        };
        Ok((result, text))
    }

    /// The server's name, harmless.
    pub(crate) fn server_name(&self) -> String {
        match &self.server.implementation {
            Some(who) => line(who.title.as_deref().unwrap_or(&who.name), 80),
            None => clean(self.client.address()),
        }
    }
}

/// A value that has no JSON.
pub(crate) fn unwritable(error: serde_json::Error) -> Failure {
    Failure::new(format!("the result cannot be written: {error}"))
}
