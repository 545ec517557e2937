//! A server of our own: the endpoints under their paths, on a socket.

use std::convert::Infallible;
use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Poll, Waker};
use std::time::Duration;

use http::request::Parts;
use http::{Request, Response, StatusCode};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use turnbuckle_session::{Account, Dispatch, Signal};

use crate::body::ResponseBody;
use crate::config::Config;
use crate::origin::loopback_and;
use crate::service::StreamableHttp;
use crate::sse::HttpSse;

/// The least room that hyper takes for a head.
const LEAST_HEAD: usize = 8 << 10;

/// Headers that hyper has room for without being told.
const PARSED: usize = 100;

/// The most headers that fit a map of them.
const MOST_HEADERS: usize = 24 << 10;

/// How long it takes until another connection is taken where one could not be.
const PAUSE: Duration = Duration::from_millis(50);

/// The longest wait for a head, whatever is set.
const LONGEST: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// A bound server that does not serve yet.
#[derive(Debug)]
pub struct HttpServer {
    listener: TcpListener,
    address: SocketAddr,
    routes: Routes,
    config: Arc<Config>,
    shutdown: Signal,
}

/// What is where.
#[derive(Debug, Clone)]
struct Routes {
    path: Arc<str>,
    streamable: StreamableHttp,
    /// The older transport, where it is served.
    sse: Option<SseRoutes>,
}

#[derive(Debug, Clone)]
struct SseRoutes {
    path: Arc<str>,
    messages: Arc<str>,
    service: HttpSse,
}

impl HttpServer {
    /// Binds an address such as `127.0.0.1:8080` or `localhost:8080`; port 0 takes any free one. The endpoint is at `/mcp`; with
    /// [`Config::http_sse`] the older transport is at `/sse` and `/messages`. A loopback address
    /// may be reached under the loopback names and as itself, unless the configuration names others.
    ///
    /// # Errors
    /// When the address cannot be bound, or is reachable from other machines and
    /// [`Config::allowed_hosts`] does not say under which names.
    pub async fn bind(
        dispatch: impl Into<Arc<dyn Dispatch>>,
        address: &str,
        mut config: Config,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        if config.allowed_hosts.is_none() && address.ip().is_loopback() {
            config.allowed_hosts = Some(loopback_and(address.ip()));
        }
        if config.allowed_hosts.is_none() {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!(
                    "{address} is reachable from other machines: say under which names with \
                     Config::allowed_hosts, or bind a loopback address"
                ),
            ));
        }
        let shutdown = Signal::new();
        let dispatch = dispatch.into();
        let until = || Some(shutdown.clone());
        let routes = Routes {
            path: "/mcp".into(),
            sse: config.http_sse.then(|| SseRoutes {
                path: "/sse".into(),
                messages: "/messages".into(),
                service: HttpSse::with_shutdown(dispatch.clone(), config.clone(), until()),
            }),
            streamable: StreamableHttp::with_shutdown(dispatch, config.clone(), until()),
        };
        Ok(Self {
            listener,
            address,
            routes,
            config: Arc::new(config),
            shutdown,
        })
    }

    /// Serves the endpoint under another path; a slash before it may be left out.
    #[must_use]
    pub fn path(mut self, path: impl AsRef<str>) -> Self {
        self.routes.path = absolute(path.as_ref());
        self
    }

    /// Serves the streams of HTTP+SSE and takes its messages under other paths; slashes before them
    /// may be left out. Nothing happens unless [`Config::http_sse`] is on.
    #[must_use]
    pub fn sse_paths(mut self, stream: impl AsRef<str>, messages: impl AsRef<str>) -> Self {
        self.routes.sse = self.routes.sse.map(|sse| {
            let (path, messages) = (absolute(stream.as_ref()), absolute(messages.as_ref()));
            let service = sse.service.messages_at(&messages);
            SseRoutes {
                path,
                messages,
                service,
            }
        });
        self
    }

    /// The address that was bound.
    #[must_use]
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// Where the endpoint is.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}{}", self.address, self.routes.path)
    }

    /// Where clients of HTTP+SSE connect, if it is served.
    #[must_use]
    pub fn sse_url(&self) -> Option<String> {
        let sse = self.routes.sse.as_ref()?;
        Some(format!("http://{}{}", self.address, sse.path))
    }

    /// Tells, whenever it is called, what the tables of the endpoints hold: for tests that nothing
    /// stays of anybody.
    #[doc(hidden)]
    pub fn held(&self) -> impl Fn() -> Vec<(&'static str, usize)> + Send + Sync + 'static {
        let routes = self.routes.clone();
        move || {
            let mut held = routes.streamable.held().to_vec();
            let sse = routes.sse.as_ref();
            held.extend(sse.map(|sse| ("sse connections", sse.service.connections())));
            held
        }
    }

    /// What ends the server when it is closed.
    #[must_use]
    pub fn shutdown(&self) -> Signal {
        self.shutdown.clone()
    }

    /// Serves until the shutdown signal is given: then no connection is taken any more, streams of
    /// change notices are ended, and what is under way is awaited for
    /// [`Config::shutdown_time`]. What is left then is dropped.
    ///
    /// # Errors
    /// When the listening socket breaks.
    pub async fn serve(self) -> io::Result<()> {
        let places = self.config.max_connections.min(Semaphore::MAX_PERMITS);
        let places = Arc::new(Semaphore::new(places));
        let mut connections = JoinSet::new();
        let broken = loop {
            let (accepted, place) = tokio::select! {
                biased;
                () = self.shutdown.closing() => break None,
                Some(_) = connections.join_next(), if !connections.is_empty() => continue,
                taken = self.accept(&places) => match taken {
                    Ok(taken) => taken,
                    Err(error) => break Some(error),
                },
            };
            connections.spawn(connection(
                accepted,
                place,
                self.routes.clone(),
                self.config.clone(),
                self.shutdown.clone(),
            ));
        };
        drop(self.listener);
        self.shutdown.close();
        let done = async { while connections.join_next().await.is_some() {} };
        let _ = tokio::time::timeout(self.config.shutdown_time, done).await;
        connections.shutdown().await;
        broken.map_or(Ok(()), Err)
    }

    async fn accept(
        &self,
        places: &Arc<Semaphore>,
    ) -> io::Result<(TcpStream, OwnedSemaphorePermit)> {
        if places.available_permits() == 0 {
            let most = self.config.max_connections;
            tracing::warn!(
                most,
                "the next connection has to wait (Config::max_connections)"
            );
        }
        let place = places
            .clone()
            .acquire_owned()
            .await
            .map_err(io::Error::other)?;
        loop {
            match self.listener.accept().await {
                Ok((stream, _)) => return Ok((stream, place)),
                Err(error) if is_broken(&error) => return Err(error),
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be taken");
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
    }
}

impl Routes {
    /// Answers a request of a connection with that account.
    async fn answer(
        &self,
        parts: &mut Parts,
        body: &mut Incoming,
        account: &Arc<Account>,
    ) -> Response<ResponseBody> {
        let path = parts.uri.path();
        if path == &*self.path {
            let body = Pin::new(body);
            return self.streamable.answer_on(account, parts, body).await;
        }
        if let Some(sse) = &self.sse
            && (path == &*sse.path || path == &*sse.messages)
        {
            let parts = std::mem::replace(parts, Request::new(()).into_parts().0);
            let request = Request::from_parts(parts, body);
            // Few requests are for it, and all others would have to have room for it.
            return Box::pin(sse.service.answer(request)).await;
        }
        let mut reply = Response::new(ResponseBody::full("there is nothing at this path\n"));
        *reply.status_mut() = StatusCode::NOT_FOUND;
        reply
    }
}

/// A path with its slash.
fn absolute(path: &str) -> Arc<str> {
    format!("/{}", path.trim_start_matches('/')).into()
}

/// Whether the listener itself is broken. Anything else is one connection that failed, a network
/// that is down or a shortage, and may be otherwise a moment later.
fn is_broken(error: &io::Error) -> bool {
    // EBADF, EINVAL and ENOTSOCK.
    const NO_LISTENER: [i32; 3] = if cfg!(windows) {
        [10009, 10022, 10038]
    } else if cfg!(any(target_os = "linux", target_os = "android")) {
        [9, 22, 88]
    } else {
        [9, 22, 38]
    };
    let code = error.raw_os_error();
    code.is_none_or(|code| NO_LISTENER.contains(&code))
}

async fn connection(
    stream: TcpStream,
    place: OwnedSemaphorePermit,
    routes: Routes,
    config: Arc<Config>,
    shutdown: Signal,
) {
    // An answer leaves in one write, and nobody has to wait for the next to get it.
    let _ = stream.set_nodelay(true);
    let routes = Arc::new((routes, Account::new(&config.limits)));
    let answer = service_fn(move |request: Request<Incoming>| {
        let routes = routes.clone();
        // Taken apart here and borrowed from here on: what is under way is small.
        let (mut parts, mut body) = request.into_parts();
        async move {
            let (routes, account) = &*routes;
            Ok::<_, Infallible>(routes.answer(&mut parts, &mut body, account).await)
        }
    });
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(config.header_time.min(LONGEST))
        .max_buf_size(config.max_head.max(LEAST_HEAD));
    if config.max_headers >= PARSED {
        // One more than is allowed is still told what the bound is.
        builder.max_headers(config.max_headers.saturating_add(1).min(MOST_HEADERS));
    }
    let mut connection = std::pin::pin!(builder.serve_connection(TokioIo::new(stream), answer));
    let mut closing = std::pin::pin!(shutdown.closing());
    let mut watching: Option<Waker> = None;
    let served = poll_fn(|cx| {
        if let Poll::Ready(served) = connection.as_mut().poll(cx) {
            return Poll::Ready(Some(served));
        }
        // Who watches for the shutdown already need not ask for it again.
        let watches = |waker: &Waker| waker.will_wake(cx.waker());
        if !watching.as_ref().is_some_and(watches) {
            watching = Some(cx.waker().clone());
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
            "the head of a request is too large (Config::max_head, Config::max_headers)"
        ),
        Err(error) => tracing::debug!(%error, "a connection ended early"),
        Ok(()) => {}
    }
    drop(place);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn only_a_broken_listener_ends_the_server() {
        for code in [9, 22, 88] {
            assert!(is_broken(&io::Error::from_raw_os_error(code)), "{code}");
        }
        // Among them ENOMEM, ENFILE, EMFILE, EPROTO, ENETDOWN, ECONNABORTED, ENOBUFS, EHOSTUNREACH.
        for code in [4, 11, 12, 23, 24, 71, 100, 103, 105, 113] {
            assert!(!is_broken(&io::Error::from_raw_os_error(code)), "{code}");
        }
        assert!(
            is_broken(&io::Error::other("no runtime")),
            "not of the system"
        );
    }
}
