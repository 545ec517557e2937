//! A checker of a server in this process.

use std::io;

use turnbuckle_check::report::{Level, Report, terminal};
use turnbuckle_check::{BoxFuture, OpenPipe, Pipe, Target, baseline::Baseline, exchange};
use turnbuckle_http::{ClientRequestBody, HttpServerOptions, HttpSse, StreamableHttp};
use turnbuckle_server::Server;
use turnbuckle_stdio::{StdioOptions, serve_stream};

use super::TestTarget;
use crate::error::{Error, Result};

/// The bytes that a pipe between the checker and the server holds.
const PIPE_BYTES: usize = 64 * 1024;

/// A checker of a server, which judges by the specification everything that a client can see: in every
/// revision, on lines as on standard input and output, on Streamable HTTP, and on HTTP+SSE.
///
/// It calls tools with `readOnlyHint` alone, with arguments that it makes from their schemas;
/// [`allow_tool`](turnbuckle_check::Checker::allow_tool) adds others.
///
/// ```
/// use turnbuckle::prelude::*;
/// use turnbuckle::testing::Checker;
///
/// # #[tool]
/// # fn add(a: i64, b: i64) -> String { (a + b).to_string() }
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> turnbuckle::Result {
/// let server = Server::new("calc", "1.0.0").tools(tools![add]);
/// Checker::new(server).run().await?.assert_clean();
/// # Ok(())
/// # }
/// ```
#[must_use = "call `run` to check the server"]
pub struct Checker(Result<turnbuckle_check::Checker>);

impl Checker {
    /// Creates a checker that makes every check.
    pub fn new(server: impl TestTarget) -> Self {
        let server = server.into_server();
        Self(server.map(|server| turnbuckle_check::Checker::new(target(&server))))
    }

    /// Sets something else than the default, such as which checks are made:
    /// `.with(|checker| checker.skip("http.origin-403"))`.
    pub fn with(
        self,
        change: impl FnOnce(turnbuckle_check::Checker) -> turnbuckle_check::Checker,
    ) -> Self {
        Self(self.0.map(change))
    }

    /// Makes the checks.
    ///
    /// # Errors
    /// If the server cannot be built, a setting names no check, or the server answers nothing.
    pub async fn run(self) -> Result<CheckedServer> {
        let report = self.0?.run().await.map_err(Error::other)?;
        Ok(CheckedServer(report))
    }
}

/// The outcome of a [`Checker`].
#[derive(Debug, Clone)]
#[must_use = "call `assert_clean` to fail a test"]
pub struct CheckedServer(Report);

impl CheckedServer {
    /// Returns all that was checked and found.
    #[must_use]
    pub fn report(&self) -> &Report {
        &self.0
    }

    /// Takes the findings that the text of a baseline lists as known.
    ///
    /// # Errors
    /// If it is not such a text, or names a check that does not exist.
    pub fn baseline(mut self, text: &str) -> Result<Self> {
        let ids: Vec<_> = turnbuckle_check::Checker::checks()
            .iter()
            .map(|check| check.id)
            .collect();
        let baseline = Baseline::parse(text, &ids).map_err(Error::other)?;
        baseline.apply(&mut self.0);
        Ok(self)
    }

    /// Asserts that no MUST and no SHOULD of the specification is broken.
    ///
    /// # Panics
    /// If one is, with the report for a terminal.
    #[track_caller]
    pub fn assert_clean(&self) {
        if self.0.is_clean(Level::Should) {
            return;
        }
        let mut text = Vec::new();
        let _ = terminal::write(&self.0, &terminal::Options::plain(), &mut text);
        #[expect(clippy::panic, reason = "this is how a test fails")]
        {
            panic!(
                "the server breaks rules of the specification\n{}",
                String::from_utf8_lossy(&text)
            );
        }
    }
}

/// Returns the transports of a server, without sockets and processes.
fn target(server: &Server) -> Target {
    let streamable = StreamableHttp::new(server.clone(), HttpServerOptions::new());
    let sse = HttpSse::new(server.clone(), HttpServerOptions::new());
    let uri = turnbuckle_check::Uri::from_static;
    Target::new("this server")
        .pipe(StreamOf(server.clone()))
        .http(
            uri("http://localhost/mcp"),
            exchange(move |request| {
                let streamable = streamable.clone();
                async move {
                    Ok(streamable
                        .answer(request.map(ClientRequestBody::from))
                        .await)
                }
            }),
        )
        .sse(
            uri("http://localhost/sse"),
            exchange(move |request| {
                let sse = sse.clone();
                async move { Ok(sse.answer(request.map(ClientRequestBody::from)).await) }
            }),
        )
}

/// Opens streams of lines to a server, each served by a task of its own.
struct StreamOf(Server);

impl OpenPipe for StreamOf {
    fn open(&self) -> BoxFuture<'_, io::Result<Pipe>> {
        let (here, there) = tokio::io::duplex(PIPE_BYTES);
        let (reader, writer) = tokio::io::split(there);
        tokio::spawn(serve_stream(
            self.0.clone(),
            reader,
            writer,
            StdioOptions::default(),
        ));
        let (reader, writer) = tokio::io::split(here);
        Box::pin(std::future::ready(Ok(Pipe {
            reader: Box::new(reader),
            writer: Box::new(writer),
            process: None,
        })))
    }
}
