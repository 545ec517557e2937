//! Ways to reach a server that is checked.

mod exchange;
mod process;

use std::collections::HashMap;
use std::io;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use http::header::AUTHORIZATION;
use http::{HeaderValue, Request, Response, Uri};
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
    other_tokens: HashMap<OtherToken, String>,
}

/// A token that is not that of the checker's own requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OtherToken {
    /// The token of another user, which the server accepts.
    User,
    /// A token that the server accepts, whose scopes do not suffice for everything.
    Narrow,
    /// A token that has expired.
    Expired,
    /// A token that was issued for another server.
    Foreign,
}

impl OtherToken {
    /// All kinds.
    pub const ALL: [Self; 4] = [Self::User, Self::Narrow, Self::Expired, Self::Foreign];

    /// Returns the name of the kind in options.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Narrow => "narrow",
            Self::Expired => "expired",
            Self::Foreign => "foreign",
        }
    }
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
            other_tokens: HashMap::new(),
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

    /// Adds a token of somebody else, or one that the server must refuse.
    #[must_use]
    pub fn other_token(mut self, kind: OtherToken, token: impl Into<String>) -> Self {
        self.other_tokens.insert(kind, token.into());
        self
    }

    /// Returns a token that was added.
    pub(crate) fn find_token(&self, kind: OtherToken) -> Option<&str> {
        self.other_tokens.get(&kind).map(String::as_str)
    }

    /// Returns the target with a token in the requests of all endpoints.
    pub(crate) fn with_token(&self, token: &str) -> Self {
        let mut target = self.clone();
        let header = HeaderValue::from_str(&format!("Bearer {token}")).ok();
        for endpoint in [&mut target.http, &mut target.sse].into_iter().flatten() {
            let (inner, header) = (Arc::clone(&endpoint.exchange), header.clone());
            endpoint.exchange = exchange(move |mut request| {
                // A header that cannot be written is missing, and the server refuses the request.
                if let Some(mut header) = header.clone() {
                    header.set_sensitive(true);
                    request.headers_mut().insert(AUTHORIZATION, header);
                }
                inner.send(request)
            });
        }
        target
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
