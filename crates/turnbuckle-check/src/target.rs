//! Ways to reach a server that is checked.

mod exchange;
mod process;

use std::io;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response, Uri};
use http_body_util::combinators::UnsyncBoxBody;
use tokio::io::{AsyncRead, AsyncWrite};

use crate::case::Bind;

pub use exchange::exchange;
pub use process::{Command, Process};

/// A future on the heap.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The body of a response.
pub type Body = UnsyncBoxBody<Bytes, io::Error>;

/// Sends requests of HTTP to a server, as they are: it follows no redirect and adds what a login
/// demands, nothing else.
pub trait Exchange: Send + Sync {
    /// Sends a request and returns the head of the response; the body comes as it is read.
    fn send(&self, request: Request<Bytes>) -> BoxFuture<'static, io::Result<Response<Body>>>;
}

/// Opens connections to a server that speaks in lines, as on standard input and output.
pub trait OpenPipe: Send + Sync {
    /// Opens a connection of its own: a new process, or a new session of the same one.
    fn open(&self) -> BoxFuture<'_, io::Result<Pipe>>;

    /// Returns whether each connection is a process of its own.
    fn is_process(&self) -> bool {
        false
    }
}

/// Both directions of a connection that carries lines.
pub struct Pipe {
    /// The output of the server.
    pub reader: Box<dyn AsyncRead + Send + Unpin>,
    /// The input of the server.
    pub writer: Box<dyn AsyncWrite + Send + Unpin>,
    /// The process of the server, if it is one.
    pub process: Option<Process>,
}

/// An endpoint of HTTP.
#[derive(Clone)]
pub struct Endpoint {
    /// URL of the endpoint.
    pub uri: Uri,
    /// Sender of requests to the endpoint.
    pub exchange: Arc<dyn Exchange>,
}

/// A server that is checked, and the transports that reach it.
#[derive(Clone)]
pub struct Target {
    name: String,
    pipe: Option<Arc<dyn OpenPipe>>,
    http: Option<Endpoint>,
    sse: Option<Endpoint>,
}

impl Target {
    /// Creates a target that nothing reaches yet. `name` is what the user called the server; the
    /// commands that repeat a check contain it, so it is quoted for a shell.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            pipe: None,
            http: None,
            sse: None,
        }
    }

    /// Adds connections that carry lines.
    #[must_use]
    pub fn pipe(mut self, pipe: impl OpenPipe + 'static) -> Self {
        self.pipe = Some(Arc::new(pipe));
        self
    }

    /// Adds a program that is started anew for each connection, and speaks on its standard input and
    /// output.
    #[must_use]
    pub fn command(self, command: Command) -> Self {
        self.pipe(command)
    }

    /// Adds an endpoint of Streamable HTTP.
    #[must_use]
    pub fn http(mut self, uri: Uri, exchange: Arc<dyn Exchange>) -> Self {
        self.http = Some(Endpoint { uri, exchange });
        self
    }

    /// Adds the stream of HTTP+SSE, the transport of the first revision.
    #[must_use]
    pub fn sse(mut self, uri: Uri, exchange: Arc<dyn Exchange>) -> Self {
        self.sse = Some(Endpoint { uri, exchange });
        self
    }

    /// Returns the name of the server.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the transports that reach the server.
    pub(crate) fn transports(&self) -> Vec<Bind> {
        [
            self.pipe.is_some().then_some(Bind::Stream),
            self.http.is_some().then_some(Bind::Http),
            self.sse.is_some().then_some(Bind::Sse),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    /// Returns whether connections that carry lines are processes.
    pub(crate) fn has_process(&self) -> bool {
        self.pipe.as_ref().is_some_and(|pipe| pipe.is_process())
    }

    pub(crate) fn open_pipe(&self) -> Option<&Arc<dyn OpenPipe>> {
        self.pipe.as_ref()
    }

    /// Returns the endpoint of a transport over HTTP.
    pub(crate) fn endpoint(&self, binding: Bind) -> Option<&Endpoint> {
        match binding {
            Bind::Http => self.http.as_ref(),
            Bind::Sse => self.sse.as_ref(),
            Bind::Pipe | Bind::Stream => None,
        }
    }

    /// Returns whether checks that strain a server may run: all of its endpoints are of this machine.
    pub(crate) fn is_local(&self) -> bool {
        [&self.http, &self.sse].into_iter().flatten().all(|it| {
            it.uri
                .host()
                .is_some_and(turnbuckle_types::base::host::is_loopback)
        })
    }
}
