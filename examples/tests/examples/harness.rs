//! Starting an example, and speaking with it.

use std::ffi::OsString;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStderr};
use turnbuckle::Revision;
use turnbuckle::client::EraPreference;
use turnbuckle::http::HttpConnector;
use turnbuckle::stdio::{Command, StderrMode};
use turnbuckle::types::{CallToolResult, ContentBlock, ReadResourceResult, ResourceContents};
use turnbuckle::{Client, ClientBuilder, testing};

/// No test takes longer.
const PATIENCE: Duration = Duration::from_secs(60);

/// An example with its arguments.
#[derive(Debug, Clone)]
pub(crate) struct Example {
    program: &'static str,
    arguments: Vec<OsString>,
}

/// How it is reached.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Way {
    Stdio(Revision),
    Http(EraPreference),
}

/// An example that serves HTTP, until it is dropped.
pub(crate) struct Served {
    pub(crate) url: String,
    _child: Child,
    /// It is told things there, and fails if it cannot say them.
    _stderr: Lines<BufReader<ChildStderr>>,
}

impl Way {
    /// Every revision over standard streams, and both eras over HTTP.
    pub(crate) fn all() -> Vec<Self> {
        let mut ways: Vec<Self> = testing::revisions().map(Self::Stdio).collect();
        ways.extend([
            Self::Http(EraPreference::Modern),
            Self::Http(EraPreference::Legacy),
        ]);
        ways
    }

    /// The newest revision of each era, over both.
    pub(crate) fn some() -> Vec<Self> {
        let mut ways = Self::all();
        ways.drain(..ways.len() - 4);
        ways
    }

    /// Whether a server can ask by forms there.
    pub(crate) fn has_forms(self) -> bool {
        match self {
            Self::Stdio(revision) => revision.features().elicitation,
            Self::Http(_) => true,
        }
    }
}

/// A client with nothing to it.
pub(crate) fn plain() -> ClientBuilder {
    Client::builder("test", "1.0.0")
}

impl Example {
    pub(crate) fn new(program: &'static str) -> Self {
        let arguments = Vec::new();
        Self { program, arguments }
    }

    pub(crate) fn arg(mut self, argument: impl Into<OsString>) -> Self {
        self.arguments.push(argument.into());
        self
    }

    /// Starts it, and connects a client; what is served over HTTP lives with it.
    pub(crate) async fn connect(
        &self,
        way: Way,
        builder: ClientBuilder,
    ) -> (Client, Option<Served>) {
        match way {
            Way::Stdio(revision) => {
                let command = Command::new(self.program)
                    .args(&self.arguments)
                    .stderr(StderrMode::Inherit);
                let builder = builder.era(EraPreference::Only(revision));
                (builder.connect(command).await.unwrap(), None)
            }
            Way::Http(era) => {
                let served = self.serve().await;
                let connector = HttpConnector::new(&served.url).unwrap();
                let client = builder.era(era).connect(connector).await.unwrap();
                (client, Some(served))
            }
        }
    }

    /// Starts it on any free port.
    pub(crate) async fn serve(&self) -> Served {
        let mut child = tokio::process::Command::new(self.program)
            .args(&self.arguments)
            .args(["--http", "127.0.0.1:0"])
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap()).lines();
        let said = stderr.next_line().await.unwrap().unwrap();
        let url = said
            .strip_prefix("serving MCP at ")
            .expect(&said)
            .to_owned();
        Served {
            url,
            _child: child,
            _stderr: stderr,
        }
    }
}

/// Runs a test in a bounded time.
pub(crate) async fn within<T>(test: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, test)
        .await
        .expect("the test takes too long")
}

/// The data that a tool gave, which is there as text in every revision.
pub(crate) fn data(result: &CallToolResult) -> Value {
    serde_json::from_str(text(result)).unwrap()
}

/// The one text that a tool gave.
pub(crate) fn text(result: &CallToolResult) -> &str {
    match result.content.as_slice() {
        [ContentBlock::Text(text)] => &text.text,
        other => panic!("not one text: {other:?}"),
    }
}

/// The one text that was read, and its media type.
pub(crate) fn read(result: &ReadResourceResult) -> (&str, Option<&str>) {
    match result.contents.as_slice() {
        [ResourceContents::Text(text)] => (&text.text, text.mime_type.as_deref()),
        other => panic!("not one text: {other:?}"),
    }
}

/// The URI of a path that needs no encoding.
pub(crate) fn uri(path: &Path) -> String {
    format!("file://{}", path.display())
}
