//! Starts the examples as processes and connects clients to them.

use std::ffi::OsString;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStderr};
use turnbuckle::Revision;
use turnbuckle::client::EraPreference;
use turnbuckle::http::HttpConnector;
use turnbuckle::stdio::{Command, StderrMode};
use turnbuckle::types::{CallToolResult, ContentBlock, ReadResourceResult, ResourceContents};
use turnbuckle::{Client, ClientBuilder, testing};

/// The time limit of a test.
const TEST_TIMEOUT: Duration = Duration::from_secs(60);

/// The program of an example with its arguments.
#[derive(Debug, Clone)]
pub(crate) struct Example {
    program: &'static str,
    arguments: Vec<OsString>,
    variables: Vec<(&'static str, String)>,
}

/// The transport and revision of a connection to an example.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Transport {
    Stdio(Revision),
    Http(EraPreference),
}

/// The process of an example that serves HTTP. Dropping this kills it.
pub(crate) struct ServerProcess {
    pub(crate) url: String,
    child: Child,
    /// Kept open, because the process fails if it cannot write to its standard error.
    _stderr: Lines<BufReader<ChildStderr>>,
}

impl ServerProcess {
    /// Sends SIGTERM and waits for the end.
    pub(crate) async fn terminate(&mut self) -> ExitStatus {
        let id = self
            .child
            .id()
            .and_then(|id| Pid::from_raw(id.try_into().ok()?));
        kill_process(id.unwrap(), Signal::TERM).unwrap();
        self.child.wait().await.unwrap()
    }
}

impl Transport {
    /// Returns every revision over stdio, and both eras over HTTP.
    pub(crate) fn all() -> Vec<Self> {
        let mut transports: Vec<Self> = testing::revisions().map(Self::Stdio).collect();
        transports.extend([
            Self::Http(EraPreference::Modern),
            Self::Http(EraPreference::Legacy),
        ]);
        transports
    }

    /// Returns the newest revision of each era, over stdio and HTTP.
    pub(crate) fn newest() -> Vec<Self> {
        let mut transports = Self::all();
        transports.drain(..transports.len() - 4);
        transports
    }

    /// Returns whether servers can send forms.
    pub(crate) fn has_forms(self) -> bool {
        match self {
            Self::Stdio(revision) => revision.features().elicitation,
            Self::Http(_) => true,
        }
    }
}

/// Returns a client without handlers.
pub(crate) fn client_builder() -> ClientBuilder {
    Client::builder("test", "1.0.0")
}

impl Example {
    /// Returns a program without arguments.
    pub(crate) fn new(program: &'static str) -> Self {
        Self {
            program,
            arguments: Vec::new(),
            variables: Vec::new(),
        }
    }

    /// Adds an argument.
    pub(crate) fn arg(mut self, argument: impl Into<OsString>) -> Self {
        self.arguments.push(argument.into());
        self
    }

    /// Sets a variable of the environment.
    pub(crate) fn env(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.variables.push((name, value.into()));
        self
    }

    /// Starts the program and connects a client. Over HTTP the process is returned, too.
    pub(crate) async fn connect(
        &self,
        transport: Transport,
        builder: ClientBuilder,
    ) -> (Client, Option<ServerProcess>) {
        match transport {
            Transport::Stdio(revision) => {
                let mut command = Command::new(self.program)
                    .args(&self.arguments)
                    .stderr(StderrMode::Inherit);
                for (name, value) in &self.variables {
                    command = command.env(name, value);
                }
                let builder = builder.era(EraPreference::Only(revision));
                (builder.connect(command).await.unwrap(), None)
            }
            Transport::Http(era) => {
                let process = self.serve().await;
                let connector = HttpConnector::new(&process.url).unwrap();
                let client = builder.era(era).connect(connector).await.unwrap();
                (client, Some(process))
            }
        }
    }

    /// Starts the program as an HTTP server on a free port.
    pub(crate) async fn serve(&self) -> ServerProcess {
        self.serve_with(&["--http", "127.0.0.1:0"], "serving MCP at ")
            .await
    }

    /// Starts the program with further arguments. It prints its URL after a prefix.
    pub(crate) async fn serve_with(&self, arguments: &[&str], prefix: &str) -> ServerProcess {
        let mut child = tokio::process::Command::new(self.program)
            .args(&self.arguments)
            .args(arguments)
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap()).lines();
        let line = stderr.next_line().await.unwrap().unwrap();
        let url = line.strip_prefix(prefix).expect(&line).to_owned();
        ServerProcess {
            url,
            child,
            _stderr: stderr,
        }
    }
}

/// Runs a test, and panics after [`TEST_TIMEOUT`].
pub(crate) async fn with_timeout<T>(test: impl Future<Output = T>) -> T {
    tokio::time::timeout(TEST_TIMEOUT, test)
        .await
        .expect("the test takes too long")
}

/// Returns the data of a tool's result, which is sent as text in every revision.
pub(crate) fn data(result: &CallToolResult) -> Value {
    serde_json::from_str(text(result)).unwrap()
}

/// Returns the only text block of a tool's result.
pub(crate) fn text(result: &CallToolResult) -> &str {
    match result.content.as_slice() {
        [ContentBlock::Text(text)] => &text.text,
        other => panic!("not one text: {other:?}"),
    }
}

/// Returns the only text of a resource and its media type.
pub(crate) fn read(result: &ReadResourceResult) -> (&str, Option<&str>) {
    match result.contents.as_slice() {
        [ResourceContents::Text(text)] => (&text.text, text.mime_type.as_deref()),
        other => panic!("not one text: {other:?}"),
    }
}

/// Returns the URI of a path that needs no encoding.
pub(crate) fn uri(path: &Path) -> String {
    format!("file://{}", path.display())
}
