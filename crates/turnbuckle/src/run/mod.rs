//! A server as a whole process.

mod arguments;
#[cfg(feature = "http")]
mod stopping;

use std::env;

use turnbuckle_server::{BuildError, Result, Server, ServerBuilder};

use arguments::{Binding, binding};

/// Runs a [`Server`], or what is still a [`ServerBuilder`].
///
/// What ends a run is a [`Failure`](crate::Failure), which a `main` that returns
/// [`Result`](crate::Result) prints as it reads.
///
/// ```no_run
/// use turnbuckle::prelude::*;
///
/// # #[tokio::main(flavor = "current_thread")]
/// async fn main() -> turnbuckle::Result {
///     let hello = Tool::builder("hello").handler(|| "Hello!");
///     Server::new("greeter", "1.0.0").tool(hello).run().await
/// }
/// ```
pub trait Run: Sealed {
    /// Serves where the process's arguments say:
    ///
    /// - `--http ADDRESS` or `--http=ADDRESS`: Streamable HTTP on that address, with the feature
    ///   `http`; as [`serve_http`](Self::serve_http) does.
    /// - without: the client that started the process, on standard input and output, with the
    ///   feature `stdio`; as [`serve_stdio`](Self::serve_stdio) does.
    ///
    /// All other arguments are left alone, and so are those after `--`.
    ///
    /// # Errors
    /// When the server cannot be built, `--http` has no address or the feature that is asked for is
    /// not there; and those of what it does.
    fn run(self) -> impl Future<Output = Result> + Send
    where
        Self: Sized,
    {
        async move {
            match binding(env::args_os().skip(1))? {
                Binding::Stdio => stdio(self).await,
                Binding::Http(address) => http(self, &address).await,
            }
        }
    }

    /// Serves the client that started this process, on standard input and output, until that has no
    /// more to say, SIGTERM or Ctrl-C: see [`stdio::run`](crate::stdio::run), which has settings,
    /// too.
    ///
    /// Specification: basic/transports/stdio (2026-07-28).
    ///
    /// # Errors
    /// When the server cannot be built, or the streams cannot be used.
    #[cfg(feature = "stdio")]
    fn serve_stdio(self) -> impl Future<Output = Result> + Send
    where
        Self: Sized,
    {
        stdio(self)
    }

    /// Serves Streamable HTTP at `/mcp` of an address, such as `127.0.0.1:8080`, until SIGTERM or
    /// Ctrl-C; the second of these waits for nothing any more. Standard error is told the URL; port
    /// 0 takes any free one.
    ///
    /// An address that other machines can reach is refused: which names it may be reached under
    /// has to be said, with [`serve_http_with`](Self::serve_http_with).
    ///
    /// Specification: basic/transports/streamable-http (2026-07-28).
    ///
    /// # Errors
    /// When the server cannot be built, the address cannot be bound or is refused, or the socket
    /// breaks.
    #[cfg(feature = "http")]
    fn serve_http(self, address: &str) -> impl Future<Output = Result> + Send
    where
        Self: Sized,
    {
        self.serve_http_with(address, crate::http::Config::new())
    }

    /// The same with settings of your own.
    ///
    /// # Errors
    /// Those of [`serve_http`](Self::serve_http).
    #[cfg(feature = "http")]
    fn serve_http_with(
        self,
        address: &str,
        config: crate::http::Config,
    ) -> impl Future<Output = Result> + Send
    where
        Self: Sized,
    {
        async move {
            let server = self.into_server()?;
            let server = crate::http::HttpServer::bind(server, address, config)
                .await
                .map_err(|error| format!("no HTTP on {address}: {error}"))?;
            stopping::until_stopped(server).await
        }
    }
}

impl Run for Server {}

impl Run for ServerBuilder {}

/// What can be run, and nothing else.
pub trait Sealed: Send {
    /// The server that it is.
    #[doc(hidden)]
    fn into_server(self) -> Result<Server, BuildError>;
}

impl Sealed for Server {
    fn into_server(self) -> Result<Server, BuildError> {
        Ok(self)
    }
}

impl Sealed for ServerBuilder {
    fn into_server(self) -> Result<Server, BuildError> {
        self.build()
    }
}

#[cfg(feature = "stdio")]
async fn stdio(server: impl Run) -> Result {
    let options = crate::stdio::StdioOptions::default();
    Ok(crate::stdio::run(server.into_server()?, options).await?)
}

#[cfg(not(feature = "stdio"))]
async fn stdio(_: impl Run) -> Result {
    Err(
        "say where to serve, as in --http 127.0.0.1:8080; to serve on standard input and output, \
         add the feature \"stdio\" of the crate turnbuckle"
            .into(),
    )
}

#[cfg(feature = "http")]
async fn http(server: impl Run, address: &str) -> Result {
    server.serve_http(address).await
}

#[cfg(not(feature = "http"))]
async fn http(_: impl Run, _: &str) -> Result {
    Err(
        "--http needs the feature \"http\" of the crate turnbuckle: cargo add turnbuckle \
         --features http"
            .into(),
    )
}
