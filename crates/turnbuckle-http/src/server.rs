//! The HTTP server: the endpoints at their paths, on a TCP or Unix socket.

mod address;
mod connection;
mod head_guard;
mod health;
#[cfg(feature = "http2")]
mod http2;
mod listener;
#[cfg(feature = "prometheus")]
mod metrics;
mod routes;
#[cfg(unix)]
mod socket_file;
#[cfg(feature = "tls")]
mod tls;
#[cfg(feature = "http2")]
mod write_progress;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
#[cfg(feature = "store")]
use std::time::Duration;

use http::StatusCode;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use tower_layer::Layer;
use turnbuckle_session::handler::{Rate, Signal};
use turnbuckle_session::internal::{MemoryBudget, TokenBucket, count_refusal};
use turnbuckle_session::transport::Dispatch;
use turnbuckle_types::KeyRing;

use crate::options::HttpServerOptions;
use crate::reply::SHARE_RETRY_DELAY;
use crate::request::origin::loopback_names_and;
use crate::request::trusted_proxies::TrustedProxies;
use crate::shares::{Clients, Exceeded, Share, ShareLimits, ShareTable};
use crate::sse::HttpSse;
use crate::streamable::{StreamableHttp, check_sessions};

pub use address::ListenAddress;
use connection::ConnectionContext;
use health::HealthRoutes;
use listener::{AcceptedStream, Listener};
pub use routes::{HttpRoutes, RequestBody, RouteService, RoutesFuture};
use routes::{RouteLayers, Routes, SseRoutes};
#[cfg(feature = "tls")]
use tls::TlsHandshakes;

/// The time that a shutdown gives the store for the ends of streams whose requests did not end in time.
#[cfg(feature = "store")]
const STOP_TIMEOUT: Duration = Duration::from_secs(2);

/// The longest wait before the first connection for the log of changes that instances share.
#[cfg(feature = "store")]
const START_TIMEOUT: Duration = Duration::from_secs(1);

/// An HTTP server that has bound its address. [`serve`](Self::serve) runs it.
#[derive(Debug)]
pub struct HttpServer {
    listener: Listener,
    routes: Routes,
    layers: RouteLayers,
    #[cfg(feature = "prometheus")]
    metrics: Option<metrics::MetricsRoute>,
    options: HttpServerOptions,
    /// The signal that begins the shutdown.
    shutdown: Signal,
    /// The signal that makes connections and streams come to their end.
    closing: Signal,
}

impl HttpServer {
    /// Binds an address such as `127.0.0.1:8080`, `localhost:8080` or `unix:/run/mcp.sock`, or takes
    /// a listener that is bound already: see [`ListenAddress`].
    ///
    /// The endpoint is at `/mcp`; with [`HttpServerOptions::http_sse`] the HTTP+SSE transport is at
    /// `/sse` and `/messages`. A loopback address may be reached under the loopback names and its
    /// own, and a Unix socket under the loopback names, unless [`HttpServerOptions::allowed_hosts`] is
    /// set.
    ///
    /// # Errors
    /// When the address cannot be bound, or is reachable from other machines and
    /// [`HttpServerOptions::allowed_hosts`] does not say under which names.
    pub async fn bind(
        dispatch: impl Into<Arc<dyn Dispatch>>,
        address: impl Into<ListenAddress>,
        mut options: HttpServerOptions,
    ) -> io::Result<Self> {
        let listener = Listener::bind(address.into()).await?;
        if let Some(address) = listener.tcp_address()
            && options.allowed_hosts.is_none()
        {
            if !address.ip().is_loopback() {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidInput,
                    format!(
                        "{address} is reachable from other machines: say under which names with \
                         HttpServerOptions::allowed_hosts, or bind a loopback address"
                    ),
                ));
            }
            options.allowed_hosts = Some(loopback_names_and(address.ip()));
        }
        if options.has_tls() && listener.tcp_address().is_none() {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "there is no TLS on a Unix socket: leave HttpServerOptions::tls away",
            ));
        }
        let closing = Signal::new();
        let dispatch = dispatch.into();
        check_sessions(&*dispatch, &options)
            .map_err(|fault| io::Error::new(io::ErrorKind::InvalidInput, fault))?;
        let budget = MemoryBudget::new(&options.limits);
        let routes = Routes {
            path: "/mcp".into(),
            sse: options.http_sse.then(|| SseRoutes {
                path: "/sse".into(),
                messages: "/messages".into(),
                service: HttpSse::in_budget(
                    dispatch.clone(),
                    options.clone(),
                    Arc::new(closing.clone()),
                    budget.clone(),
                ),
            }),
            streamable: StreamableHttp::in_budget(
                dispatch,
                options.clone(),
                Arc::new(closing.clone()),
                budget,
            ),
            added: None,
        };
        Ok(Self {
            listener,
            routes,
            layers: RouteLayers::default(),
            #[cfg(feature = "prometheus")]
            metrics: options
                .metrics_route
                .then(|| metrics::MetricsRoute::new("/metrics")),
            options,
            shutdown: Signal::new(),
            closing,
        })
    }

    /// Sets the path of the endpoint. The slash before it may be left out.
    #[must_use]
    pub fn path(mut self, path: impl AsRef<str>) -> Self {
        self.routes.path = with_leading_slash(path.as_ref());
        self
    }

    /// Answers `path`, such as `/metrics`, with the metrics of the process in the text format of
    /// Prometheus: requests, sessions, streams, queues and refusals of all its servers and clients, from
    /// this call on. By default there is no such route.
    ///
    /// Like the health routes it is outside of all layers, and so of authorization: anyone who reaches
    /// the server reads the names of tools and how often they are called. Let a proxy in front of the
    /// server keep the path from strangers.
    #[cfg(feature = "prometheus")]
    #[cfg_attr(docsrs, doc(cfg(feature = "prometheus")))]
    #[must_use]
    pub fn metrics_route(mut self, path: impl AsRef<str>) -> Self {
        let path = with_leading_slash(path.as_ref());
        self.metrics = Some(metrics::MetricsRoute::new(&path));
        self
    }

    /// Adds metrics of the program to the route of [`metrics_route`](Self::metrics_route), which comes before:
    /// `write` appends whole lines in the text format of Prometheus, below names that no other metric has.
    /// Without such a route nothing happens.
    #[cfg(feature = "prometheus")]
    #[cfg_attr(docsrs, doc(cfg(feature = "prometheus")))]
    #[must_use]
    pub fn add_metrics(mut self, write: impl Fn(&mut String) + Send + Sync + 'static) -> Self {
        self.metrics = self.metrics.map(|route| route.add(write));
        self
    }

    /// Sets the paths of the streams and of the messages of HTTP+SSE. The slashes before them may
    /// be left out. Without effect unless [`HttpServerOptions::http_sse`] is on.
    #[must_use]
    pub fn sse_paths(mut self, stream: impl AsRef<str>, messages: impl AsRef<str>) -> Self {
        self.routes.sse = self.routes.sse.map(|sse| {
            let (path, messages) = (
                with_leading_slash(stream.as_ref()),
                with_leading_slash(messages.as_ref()),
            );
            let service = sse.service.messages_at(&messages);
            SseRoutes {
                path,
                messages,
                service,
            }
        });
        self
    }

    /// Wraps all routes of the server in a layer, which may also answer other paths. The layer that
    /// was added last sees a request first.
    #[must_use]
    pub fn layer<L>(mut self, layer: L) -> Self
    where
        L: Layer<HttpRoutes, Service: RouteService> + Send + Sync + 'static,
    {
        self.layers.add(layer);
        self
    }

    /// Adds a service at a path, such as metrics, or an axum router with routes of its own. The path is compared as a whole, and those of the transports come
    /// first. [`layer`](Self::layer)s are around it, too. Its requests are not checked for their host
    /// or origin, and their bodies are not bounded.
    #[must_use]
    pub fn route(mut self, path: impl AsRef<str>, service: impl RouteService) -> Self {
        let path = with_leading_slash(path.as_ref()).to_string();
        self.routes.add(Some(path), service);
        self
    }

    /// Sets the service for all paths that have none, such as an axum router with the other routes of
    /// a program. What [`route`](Self::route) says holds for it.
    #[must_use]
    pub fn fallback(mut self, service: impl RouteService) -> Self {
        self.routes.add(None, service);
        self
    }

    /// Returns the keys of what the server hands out and trusts when it comes back, if it has any.
    #[must_use]
    pub fn keys(&self) -> Option<&KeyRing> {
        self.routes.streamable.keys()
    }

    /// Returns the scopes that the items of the server require, in order and without repetition.
    #[must_use]
    pub fn scopes(&self) -> Vec<String> {
        self.routes.streamable.scopes()
    }

    /// Returns the address that was bound, or `None` for a Unix socket.
    #[must_use]
    pub fn local_addr(&self) -> Option<SocketAddr> {
        self.listener.tcp_address()
    }

    /// Returns the URL of the endpoint. That of a Unix socket is `unix:/run/mcp.sock:/mcp`: the path of
    /// the socket and the path of the endpoint.
    #[must_use]
    pub fn url(&self) -> String {
        self.origin() + &self.routes.path
    }

    /// Returns the URL that clients of HTTP+SSE connect to, if that transport is served.
    #[must_use]
    pub fn sse_url(&self) -> Option<String> {
        let sse = self.routes.sse.as_ref()?;
        Some(self.origin() + &sse.path)
    }

    /// Returns what stands before the path in the URLs of the server.
    fn origin(&self) -> String {
        #[cfg(unix)]
        if let Some(path) = self.listener.unix_path() {
            return format!("unix:{}:", path.display());
        }
        let scheme = if self.options.has_tls() {
            "https"
        } else {
            "http"
        };
        let address = self.listener.tcp_address();
        let address = address.map_or("unix".into(), |address| address.to_string());
        format!("{scheme}://{address}")
    }

    /// Returns a function that returns the sizes of the endpoints' tables, for tests that nothing
    /// stays of clients that have gone.
    // Hidden, since only the soak test of this project reads it.
    #[doc(hidden)]
    pub fn table_sizes(&self) -> impl Fn() -> Vec<(&'static str, usize)> + Send + Sync + 'static {
        let routes = self.routes.clone();
        move || {
            let mut sizes: Vec<_> = routes.streamable.table_sizes().collect();
            let sse = routes.sse.as_ref();
            sizes.extend(sse.map(|sse| ("sse connections", sse.service.connection_count())));
            sizes
        }
    }

    /// Returns the signal that shuts the server down when it is closed.
    #[must_use]
    pub fn shutdown(&self) -> Signal {
        self.shutdown.clone()
    }

    /// Serves until the [`shutdown`](Self::shutdown) signal is closed. From then on `/readyz` fails;
    /// after [`shutdown_delay`](crate::HttpTimeouts::shutdown_delay) no connection is accepted any
    /// more, streams of change notifications are ended, and requests in flight have
    /// [`shutdown_timeout`](crate::HttpTimeouts::shutdown_timeout) to finish before they are dropped.
    ///
    /// # Errors
    /// When the listening socket fails.
    pub async fn serve(self) -> io::Result<()> {
        let permits = self
            .options
            .http_limits
            .max_connections
            .min(Semaphore::MAX_PERMITS);
        let permits = Arc::new(Semaphore::new(permits));
        let options = Arc::new(self.options);
        let shares = AddressShares::new(&options);
        #[cfg(feature = "prometheus")]
        let metrics = self.metrics;
        let health = options.health_routes.then(|| HealthRoutes {
            shutdown: self.shutdown.clone(),
        });
        #[cfg(feature = "store")]
        let courier = self.routes.streamable.courier().cloned();
        let endpoint = self.routes.streamable.endpoint();
        #[cfg(feature = "store")]
        let cluster = self.routes.streamable.cluster().cloned();
        #[cfg(feature = "store")]
        if let Some(cluster) = &cluster {
            cluster.add_server();
            // A client that comes from another instance may go on at once.
            let log_was_read = cluster.changes().ready();
            if cluster.is_started()
                && tokio::time::timeout(START_TIMEOUT, log_was_read)
                    .await
                    .is_err()
            {
                tracing::warn!("the store does not answer; clients are served without it");
            }
        }
        let context = Arc::new(ConnectionContext {
            routes: self.routes,
            layers: self.layers,
            health,
            #[cfg(feature = "prometheus")]
            metrics,
            #[cfg(feature = "tls")]
            tls: TlsHandshakes::new(&options),
            proxies: TrustedProxies::new(&options),
            options: options.clone(),
            closing: self.closing.clone(),
        });
        let mut connections = JoinSet::new();
        let (shutdown, delay) = (self.shutdown, options.timeouts.shutdown_delay);
        let closed = async {
            shutdown.closing().await;
            if !delay.is_zero() {
                tokio::time::sleep(delay).await;
            }
        };
        let mut closed = std::pin::pin!(closed);
        let failure = loop {
            let (stream, permit) = tokio::select! {
                biased;
                () = &mut closed => break None,
                Some(_) = connections.join_next(), if !connections.is_empty() => continue,
                accepted = accept(&self.listener, &permits, &options) => match accepted {
                    Ok(accepted) => accepted,
                    Err(error) => break Some(error),
                },
            };
            match shares.take(&stream) {
                Ok(share) => {
                    let permit = (permit, share);
                    connections.spawn(connection::serve(stream, permit, context.clone()));
                }
                Err(exceeded) => shares.refuse(stream, exceeded, &context),
            }
        };
        drop(self.listener);
        shutdown.close();
        self.closing.close();
        let done = async {
            while connections.join_next().await.is_some() {}
            // Clients of these streams wait for them at other instances.
            #[cfg(feature = "store")]
            if let Some(courier) = &courier {
                courier.written().await;
            }
            endpoint.join_work().await;
        };
        let shutdown_timeout = options.timeouts.shutdown_timeout;
        if tokio::time::timeout(shutdown_timeout, done).await.is_err() {
            let open = connections.len();
            tracing::warn!(
                connections = open,
                "connections and tasks are dropped, since their requests did not end in time \
                 (HttpTimeouts::shutdown_timeout)"
            );
            (0..open).for_each(|_| count_refusal("HttpTimeouts::shutdown_timeout"));
        }
        connections.shutdown().await;
        #[cfg(feature = "store")]
        if let Some(courier) = courier
            && tokio::time::timeout(STOP_TIMEOUT, courier.stop())
                .await
                .is_err()
        {
            tracing::warn!("the store did not take the ends of all streams; they are lost");
        }
        #[cfg(feature = "store")]
        if let Some(cluster) = cluster {
            cluster.remove_server().await;
        }
        failure.map_or(Ok(()), Err)
    }
}

/// Accepts a connection as soon as there is a permit for it.
async fn accept(
    listener: &Listener,
    permits: &Arc<Semaphore>,
    options: &HttpServerOptions,
) -> io::Result<(AcceptedStream, OwnedSemaphorePermit)> {
    if permits.available_permits() == 0 {
        let max_connections = options.http_limits.max_connections;
        count_refusal("HttpLimits::max_connections");
        tracing::warn!(
            max_connections,
            "the next connection has to wait (HttpLimits::max_connections)"
        );
    }
    let permit = permits.clone().acquire_owned().await;
    let permit = permit.map_err(io::Error::other)?;
    Ok((listener.accept().await?, permit))
}

/// The parts of the server's connections that each client address may have open.
struct AddressShares {
    clients: Clients,
    connections: Arc<ShareTable>,
    /// The rate of log entries about connections that were closed.
    log_rate: TokenBucket,
}

impl AddressShares {
    fn new(options: &HttpServerOptions) -> Self {
        Self {
            clients: Clients::new(&options.shares),
            connections: ShareTable::new(ShareLimits::new(
                options.http_limits.max_connections,
                &options.shares,
            )),
            log_rate: TokenBucket::new(Rate::per_second(1)),
        }
    }

    /// Counts a connection until the share is dropped. One over a Unix socket has no address.
    fn take(&self, stream: &AcceptedStream) -> Result<Option<Share>, Exceeded> {
        match stream.peer() {
            Some(address) => self
                .connections
                .take(self.clients.identify_address(address))
                .map(Some),
            None => Ok(None),
        }
    }

    /// Closes a connection whose address has its share. A client without TLS is told why, if the socket
    /// takes the answer at once.
    fn refuse(&self, stream: AcceptedStream, exceeded: Exceeded, context: &ConnectionContext) {
        let setting = exceeded.setting("HttpLimits::max_connections");
        context.count_refusal(setting, stream.peer());
        let message = exceeded.message("connections", "HttpLimits::max_connections");
        if self.log_rate.try_take() {
            tracing::warn!(address = ?stream.peer(), "a connection was closed: {message}");
        }
        if !context.options.has_tls() {
            stream.write_now(&connection::refusal(
                StatusCode::TOO_MANY_REQUESTS,
                &message,
                Some(SHARE_RETRY_DELAY),
            ));
        }
    }
}

/// Returns a path with one slash before it.
fn with_leading_slash(path: &str) -> Arc<str> {
    format!("/{}", path.trim_start_matches('/')).into()
}
