//! The HTTP/1.1 server: the endpoints at their paths, on a TCP socket.

mod routes;

use std::convert::Infallible;
use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use tower_layer::Layer;
use tower_service::Service;
use turnbuckle_session::{Dispatch, RateAccount, Signal};

use crate::options::HttpServerOptions;
use crate::origin::loopback_names_and;
use crate::sse::HttpSse;
use crate::streamable::StreamableHttp;

pub use routes::{HttpRoutes, RequestBody, RoutesFuture};
use routes::{RouteLayers, Routes, SseRoutes};

/// The smallest buffer for headers that hyper accepts.
const MIN_HEADER_BYTES: usize = 8 << 10;

/// The number of headers that hyper accepts by default.
const HYPER_DEFAULT_HEADERS: usize = 100;

/// The largest number of headers that fit into an [`http::HeaderMap`].
const MAX_HEADERS: usize = 24 << 10;

/// The delay before the next connection is accepted after accepting one has failed.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(50);

/// The longest timeout for headers, whatever is set.
const MAX_HEADER_TIMEOUT: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// An HTTP server that has bound its address. [`serve`](Self::serve) runs it.
#[derive(Debug)]
pub struct HttpServer {
    listener: TcpListener,
    address: SocketAddr,
    routes: Routes,
    layers: RouteLayers,
    options: Arc<HttpServerOptions>,
    shutdown: Signal,
}

impl HttpServer {
    /// Binds an address such as `127.0.0.1:8080` or `localhost:8080`. Port 0 takes any free port.
    ///
    /// The endpoint is at `/mcp`; with [`HttpServerOptions::http_sse`] the HTTP+SSE transport is at
    /// `/sse` and `/messages`. A loopback address may be reached under the loopback names and its
    /// own, unless [`HttpServerOptions::allowed_hosts`] is set.
    ///
    /// # Errors
    /// When the address cannot be bound, or is reachable from other machines and
    /// [`HttpServerOptions::allowed_hosts`] does not say under which names.
    pub async fn bind(
        dispatch: impl Into<Arc<dyn Dispatch>>,
        address: &str,
        mut options: HttpServerOptions,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        if options.allowed_hosts.is_none() && address.ip().is_loopback() {
            options.allowed_hosts = Some(loopback_names_and(address.ip()));
        }
        if options.allowed_hosts.is_none() {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!(
                    "{address} is reachable from other machines: say under which names with \
                     HttpServerOptions::allowed_hosts, or bind a loopback address"
                ),
            ));
        }
        let shutdown = Signal::new();
        let dispatch = dispatch.into();
        let routes = Routes {
            path: "/mcp".into(),
            sse: options.http_sse.then(|| SseRoutes {
                path: "/sse".into(),
                messages: "/messages".into(),
                service: HttpSse::with_shutdown(
                    dispatch.clone(),
                    options.clone(),
                    shutdown.clone(),
                ),
            }),
            streamable: StreamableHttp::with_shutdown(dispatch, options.clone(), shutdown.clone()),
        };
        Ok(Self {
            listener,
            address,
            routes,
            layers: RouteLayers::default(),
            options: Arc::new(options),
            shutdown,
        })
    }

    /// Sets the path of the endpoint. The slash before it may be left out.
    #[must_use]
    pub fn path(mut self, path: impl AsRef<str>) -> Self {
        self.routes.path = with_leading_slash(path.as_ref());
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
    pub fn layer<L, B>(mut self, layer: L) -> Self
    where
        L: Layer<HttpRoutes> + Send + Sync + 'static,
        L::Service: Service<Request<RequestBody>, Response = Response<B>, Error = Infallible>
            + Clone
            + Send
            + Sync
            + 'static,
        <L::Service as Service<Request<RequestBody>>>::Future: Send,
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        self.layers.add(layer);
        self
    }

    /// Returns the scopes that the items of the server require, in order and without repetition.
    #[must_use]
    pub fn scopes(&self) -> Vec<String> {
        self.routes.streamable.scopes()
    }

    /// Returns the address that was bound.
    #[must_use]
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// Returns the URL of the endpoint.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}{}", self.address, self.routes.path)
    }

    /// Returns the URL that clients of HTTP+SSE connect to, if that transport is served.
    #[must_use]
    pub fn sse_url(&self) -> Option<String> {
        let sse = self.routes.sse.as_ref()?;
        Some(format!("http://{}{}", self.address, sse.path))
    }

    /// Returns a function that returns the sizes of the endpoints' tables, for tests that nothing
    /// stays of clients that have gone.
    // Hidden, since only the soak test of this project reads it.
    #[doc(hidden)]
    pub fn table_sizes(&self) -> impl Fn() -> Vec<(&'static str, usize)> + Send + Sync + 'static {
        let routes = self.routes.clone();
        move || {
            let mut sizes = routes.streamable.table_sizes().to_vec();
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

    /// Serves until the [`shutdown`](Self::shutdown) signal is closed. Then no connection is
    /// accepted any more, streams of change notifications are ended, and requests in flight have
    /// [`HttpServerOptions::shutdown_timeout`] to finish before they are dropped.
    ///
    /// # Errors
    /// When the listening socket fails.
    pub async fn serve(self) -> io::Result<()> {
        let permits = self.options.max_connections.min(Semaphore::MAX_PERMITS);
        let permits = Arc::new(Semaphore::new(permits));
        let mut connections = JoinSet::new();
        let failure = loop {
            let (stream, permit) = tokio::select! {
                biased;
                () = self.shutdown.closing() => break None,
                Some(_) = connections.join_next(), if !connections.is_empty() => continue,
                accepted = self.accept(&permits) => match accepted {
                    Ok(accepted) => accepted,
                    Err(error) => break Some(error),
                },
            };
            connections.spawn(serve_connection(
                stream,
                permit,
                self.routes.clone(),
                self.layers.clone(),
                self.options.clone(),
                self.shutdown.clone(),
            ));
        };
        drop(self.listener);
        self.shutdown.close();
        let done = async { while connections.join_next().await.is_some() {} };
        let _ = tokio::time::timeout(self.options.shutdown_timeout, done).await;
        connections.shutdown().await;
        failure.map_or(Ok(()), Err)
    }

    /// Accepts a connection as soon as there is a permit for it.
    async fn accept(
        &self,
        permits: &Arc<Semaphore>,
    ) -> io::Result<(TcpStream, OwnedSemaphorePermit)> {
        if permits.available_permits() == 0 {
            let max_connections = self.options.max_connections;
            tracing::warn!(
                max_connections,
                "the next connection has to wait (HttpServerOptions::max_connections)"
            );
        }
        let permit = permits
            .clone()
            .acquire_owned()
            .await
            .map_err(io::Error::other)?;
        loop {
            match self.listener.accept().await {
                Ok((stream, _)) => return Ok((stream, permit)),
                Err(error) if is_listener_error(&error) => return Err(error),
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be accepted");
                    tokio::time::sleep(ACCEPT_RETRY_DELAY).await;
                }
            }
        }
    }
}

/// Returns a path with one slash before it.
fn with_leading_slash(path: &str) -> Arc<str> {
    format!("/{}", path.trim_start_matches('/')).into()
}

/// Returns whether an error of `accept` is one of the listener itself. Any other is one of a single
/// connection, of the network or of scarce resources, and accepting may work a moment later.
fn is_listener_error(error: &io::Error) -> bool {
    // EBADF, EINVAL and ENOTSOCK.
    const LISTENER_ERRORS: [i32; 3] = if cfg!(windows) {
        [10009, 10022, 10038]
    } else if cfg!(any(target_os = "linux", target_os = "android")) {
        [9, 22, 88]
    } else {
        [9, 22, 38]
    };
    let code = error.raw_os_error();
    code.is_none_or(|code| LISTENER_ERRORS.contains(&code))
}

/// Serves one connection until it ends, and holds its permit for that long.
async fn serve_connection(
    stream: TcpStream,
    permit: OwnedSemaphorePermit,
    routes: Routes,
    layers: RouteLayers,
    options: Arc<HttpServerOptions>,
    shutdown: Signal,
) {
    // A response is sent in one write, so that there is nothing to wait for and to add to it.
    let _ = stream.set_nodelay(true);
    let account = RateAccount::new(&options.limits);
    let layered = layers.wrap(&routes, &account);
    let shared = Arc::new((routes, account, layered));
    let answer = service_fn(move |request: Request<Incoming>| {
        let shared = shared.clone();
        async move {
            let (routes, account, layered) = &*shared;
            if let Some(layered) = layered {
                return Ok::<_, Infallible>(layered.answer(request).await);
            }
            // The parts are borrowed by what answers, which keeps its future small.
            let (mut parts, mut body) = request.into_parts();
            Ok(routes
                .answer(&mut parts, Pin::new(&mut body), account)
                .await)
        }
    });
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(options.header_timeout.min(MAX_HEADER_TIMEOUT))
        .max_buf_size(options.max_header_bytes.max(MIN_HEADER_BYTES));
    if options.max_headers >= HYPER_DEFAULT_HEADERS {
        // A request with one header too many still gets an error that names the bound.
        builder.max_headers(options.max_headers.saturating_add(1).min(MAX_HEADERS));
    }
    let mut connection = std::pin::pin!(builder.serve_connection(TokioIo::new(stream), answer));
    let mut closing = std::pin::pin!(shutdown.closing());
    let mut shutdown_waker: Option<Waker> = None;
    let served = poll_fn(|cx| {
        if let Poll::Ready(served) = connection.as_mut().poll(cx) {
            return Poll::Ready(Some(served));
        }
        // The shutdown signal is polled again only for another waker.
        let is_registered = |waker: &Waker| waker.will_wake(cx.waker());
        if !shutdown_waker.as_ref().is_some_and(is_registered) {
            shutdown_waker = Some(cx.waker().clone());
            let _ = closing.as_mut().poll(cx);
        }
        match shutdown.is_closing() {
            true => Poll::Ready(None),
            false => Poll::Pending,
        }
    });
    let served = match served.await {
        Some(served) => served,
        None => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    match served {
        Err(error) if error.is_parse_too_large() => tracing::debug!(
            "the head of a request is too large (HttpServerOptions::max_header_bytes, HttpServerOptions::max_headers)"
        ),
        Err(error) => tracing::debug!(%error, "a connection ended early"),
        Ok(()) => {}
    }
    drop(permit);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn only_an_error_of_the_listener_ends_the_server() {
        for code in [9, 22, 88] {
            assert!(
                is_listener_error(&io::Error::from_raw_os_error(code)),
                "{code}"
            );
        }
        // Among them ENOMEM, ENFILE, EMFILE, EPROTO, ENETDOWN, ECONNABORTED, ENOBUFS, EHOSTUNREACH.
        for code in [4, 11, 12, 23, 24, 71, 100, 103, 105, 113] {
            assert!(
                !is_listener_error(&io::Error::from_raw_os_error(code)),
                "{code}"
            );
        }
        assert!(
            is_listener_error(&io::Error::other("no runtime")),
            "not of the system"
        );
    }
}
