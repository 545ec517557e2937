//! Running a server as a process.

mod arguments;
#[cfg(feature = "http")]
mod shutdown;

use std::env;

use turnbuckle_server::{KeyRing, Server, ServerBuilder};

use crate::error::{Error, Result};

pub use arguments::RunArgs;
#[cfg(feature = "http")]
pub use shutdown::termination;

/// The environment variable with the keys of a server that sets none.
const KEYS_VARIABLE: &str = "TURNBUCKLE_KEYS";

/// Runs a [`Server`] or [`ServerBuilder`] as a process.
///
/// The error of a run is an [`Error`](crate::Error), which a `main` that returns
/// [`turnbuckle::Result`](crate::Result) prints.
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
    /// Serves on the transport that the process arguments select:
    ///
    /// - `--http ADDRESS` or `--http=ADDRESS`: Streamable HTTP on that address, which may be a Unix
    ///   socket (`unix:/run/mcp.sock`), like
    ///   [`serve_http`](Self::serve_http). Needs the feature `http`. With `--metrics` besides, `/metrics`
    ///   has the metrics of the process, for anyone who reaches the server; this needs the feature
    ///   `prometheus`.
    /// - otherwise: the client that started the process, on standard input and output, like
    ///   [`serve_stdio`](Self::serve_stdio). Needs the feature `stdio`.
    ///
    /// A [`ServerBuilder`] without [`keys`](ServerBuilder::keys) takes those of the environment variable
    /// `TURNBUCKLE_KEYS`, if there is one: a list with commas, the newest first, as `turnbuckle keys
    /// generate` makes. The other functions of this trait do the same.
    ///
    /// Arguments that are no options are ignored, and so are all arguments after `--`. A program with
    /// options of its own calls [`run_with`](Self::run_with).
    ///
    /// # Errors
    /// If the server cannot be built, `TURNBUCKLE_KEYS` is malformed, there is another option, `--http` has no address, or the needed feature is missing;
    /// and the errors of the chosen transport.
    fn run(self) -> impl Future<Output = Result> + Send
    where
        Self: Sized,
    {
        async move {
            let args = RunArgs::take_only(env::args_os().skip(1))?;
            self.run_with(args).await
        }
    }

    /// Serves on the transport that `args` select. This is [`run`](Self::run) for a program that
    /// reads its command line itself, and with the feature `clap` flattens [`RunArgs`] into its
    /// parser. The arguments of the process are not read.
    ///
    /// # Errors
    /// Those of [`run`](Self::run).
    fn run_with(self, args: RunArgs) -> impl Future<Output = Result> + Send
    where
        Self: Sized,
    {
        async move {
            match &args.http {
                None => stdio(self).await,
                Some(address) => http(self, address, &args).await,
            }
        }
    }

    /// Serves the client that started this process on standard input and output, until the input
    /// ends or SIGTERM or Ctrl-C arrives. [`stdio::run`](crate::stdio::run) has options.
    ///
    /// Specification: basic/transports/stdio (2026-07-28).
    ///
    /// # Errors
    /// If the server cannot be built, or the streams cannot be used.
    #[cfg(feature = "stdio")]
    fn serve_stdio(self) -> impl Future<Output = Result> + Send
    where
        Self: Sized,
    {
        stdio(self)
    }

    /// Serves Streamable HTTP at `/mcp` on an address such as `127.0.0.1:8080` or, on Unix,
    /// `unix:/run/mcp.sock`, until SIGTERM or Ctrl-C. A second signal ends the process without waiting. The URL is printed to standard
    /// error; port 0 selects any free port.
    ///
    /// An address that other machines can reach is refused:
    /// [`serve_http_with`](Self::serve_http_with) sets the host names that such a server accepts.
    ///
    /// Specification: basic/transports/streamable-http (2026-07-28).
    ///
    /// # Errors
    /// If the server cannot be built, the address is refused or cannot be bound, or the socket
    /// fails.
    #[cfg(feature = "http")]
    fn serve_http(
        self,
        address: impl Into<crate::http::ListenAddress> + Send,
    ) -> impl Future<Output = Result> + Send
    where
        Self: Sized,
    {
        self.serve_http_with(address, crate::http::HttpServerOptions::new())
    }

    /// Serves Streamable HTTP like [`serve_http`](Self::serve_http), with options.
    ///
    /// # Errors
    /// Those of [`serve_http`](Self::serve_http).
    #[cfg(feature = "http")]
    fn serve_http_with(
        self,
        address: impl Into<crate::http::ListenAddress> + Send,
        options: crate::http::HttpServerOptions,
    ) -> impl Future<Output = Result> + Send
    where
        Self: Sized,
    {
        serve_until_signal(self, address, options, |server| server)
    }

    /// Serves Streamable HTTP like [`serve_http_with`](Self::serve_http_with), for requests with a
    /// token that `auth` accepts. See [`Authorize`](crate::Authorize).
    ///
    /// Without [`HttpServerOptions::allowed_hosts`](crate::http::HttpServerOptions::allowed_hosts), the
    /// server answers to the host of the resource and to the loopback names.
    ///
    /// # Errors
    /// Those of [`serve_http`](Self::serve_http).
    #[cfg(feature = "auth")]
    fn serve_http_with_auth(
        self,
        address: impl Into<crate::http::ListenAddress> + Send,
        options: crate::http::HttpServerOptions,
        auth: crate::auth::ResourceServer,
    ) -> impl Future<Output = Result> + Send
    where
        Self: Sized,
    {
        use crate::Authorize as _;
        let options = crate::authorize::with_resource_host(options, &auth);
        serve_until_signal(self, address, options, |server| server.auth(auth))
    }
}

/// Serves HTTP until a signal arrives.
#[cfg(feature = "http")]
async fn serve_until_signal(
    server: impl Run,
    address: impl Into<crate::http::ListenAddress>,
    options: crate::http::HttpServerOptions,
    prepare: impl FnOnce(crate::http::HttpServer) -> crate::http::HttpServer,
) -> Result {
    let server = server.into_server()?;
    let address = address.into();
    let name = address.to_string();
    let server = crate::http::HttpServer::bind(server, address, options)
        .await
        .map_err(|error| Error::new(format!("cannot serve HTTP on {name}")).with_source(error))?;
    shutdown::serve_until_signal(prepare(server)).await
}

impl Run for Server {}

impl Run for ServerBuilder {}

/// The types that can be run.
pub trait Sealed: Send {
    /// Returns the server.
    fn into_server(self) -> Result<Server>;
}

impl Sealed for Server {
    fn into_server(self) -> Result<Server> {
        Ok(self)
    }
}

impl Sealed for ServerBuilder {
    fn into_server(self) -> Result<Server> {
        let builder = match env::var_os(KEYS_VARIABLE) {
            Some(_) => self.default_keys(KeyRing::from_env(KEYS_VARIABLE)?),
            None => self,
        };
        Ok(builder.build()?)
    }
}

#[cfg(feature = "stdio")]
async fn stdio(server: impl Run) -> Result {
    let options = crate::stdio::StdioOptions::default();
    Ok(crate::stdio::run(server.into_server()?, options).await?)
}

#[cfg(not(feature = "stdio"))]
async fn stdio(_: impl Run) -> Result {
    Err(Error::new(
        "no transport: pass --http 127.0.0.1:8080, or, to serve on standard input and output, \
         add the feature \"stdio\" of the crate turnbuckle",
    ))
}

#[cfg(feature = "http")]
async fn http(server: impl Run, address: &str, args: &RunArgs) -> Result {
    let options = args.http_options.clone();
    #[cfg(feature = "prometheus")]
    let options = {
        let is_on = args.metrics || options.metrics_route;
        options.metrics_route(is_on)
    };
    server.serve_http_with(address, options).await
}

#[cfg(not(feature = "http"))]
async fn http(_: impl Run, _: &str, _: &RunArgs) -> Result {
    Err(Error::new(
        "--http needs the feature \"http\" of the crate turnbuckle: cargo add turnbuckle \
         --features http",
    ))
}
