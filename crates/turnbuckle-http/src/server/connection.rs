//! One connection of a server, from its handshake to its end.

use std::convert::Infallible;
use std::fmt::Display;
use std::future::poll_fn;
use std::net::IpAddr;
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
use socket2::{SockRef, TcpKeepalive};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::OwnedSemaphorePermit;
use turnbuckle_session::handler::Signal;
#[cfg(feature = "http2")]
use turnbuckle_session::internal::MemoryAccount;
use turnbuckle_session::internal::{WriteTimeout, count_refusal};
use turnbuckle_types::base::text::Escaped;
use turnbuckle_wire::rpc;

use super::head_guard::HeadGuard;
use super::health::HealthRoutes;
use super::listener::AcceptedStream;
use super::routes::{HttpRoutes, ResponseFuture, RouteLayers, Routes};
#[cfg(feature = "tls")]
use super::tls::TlsHandshakes;
use crate::options::HttpServerOptions;
use crate::reply::ResponseBody;
use crate::reply::retry_after_seconds;
use crate::request::trusted_proxies::TrustedProxies;
use crate::shares::{ConnectionInfo, Share};

/// The smallest buffer for headers that hyper accepts.
const MIN_HEADER_BYTES: usize = 8 << 10;

/// The number of headers that hyper accepts by default.
const HYPER_DEFAULT_HEADERS: usize = 100;

/// The largest number of headers that fit into an [`http::HeaderMap`].
const MAX_HEADERS: usize = 24 << 10;

/// The longest timeout for headers, whatever is set.
const MAX_HEADER_TIMEOUT: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// The settings and routes that all connections of a server share.
pub(super) struct ConnectionContext {
    pub(super) routes: Routes,
    pub(super) layers: RouteLayers,
    pub(super) health: Option<HealthRoutes>,
    #[cfg(feature = "prometheus")]
    pub(super) metrics: Option<super::metrics::MetricsRoute>,
    pub(super) options: Arc<HttpServerOptions>,
    pub(super) proxies: TrustedProxies,
    /// The signal that makes connections come to their end.
    pub(super) closing: Signal,
    #[cfg(feature = "tls")]
    pub(super) tls: Option<TlsHandshakes>,
}

impl ConnectionContext {
    /// Counts what is refused of a client before there is a request, and passes its record to the audit
    /// log.
    pub(super) fn count_refusal(&self, limit: &'static str, peer: Option<IpAddr>) {
        count_refusal(limit);
        self.routes.streamable.audit_refusal(limit, peer);
    }

    /// Logs the failure of a connection, and counts it if a bound was reached. `hyper` is the failure as
    /// hyper knows it.
    pub(super) fn log_failure(
        &self,
        error: &dyn Display,
        hyper: Option<&hyper::Error>,
        peer: Option<IpAddr>,
    ) {
        if hyper.is_some_and(hyper::Error::is_parse_too_large) {
            self.count_refusal("HttpLimits::max_header_bytes", peer);
            tracing::debug!(
                "the head of a request is too large (HttpLimits::max_header_bytes, \
             HttpLimits::max_headers)"
            );
        } else if hyper.is_some_and(hyper::Error::is_timeout) {
            count_refusal("HttpTimeouts::header_timeout");
            tracing::debug!(
                "the head of a request did not come in time (HttpTimeouts::header_timeout): the \
             connection ends"
            );
        } else {
            tracing::debug!(error = %Escaped(error), "a connection ended early");
        }
    }
}

/// The permission to serve one connection: one of all, and one of the share of its address.
pub(super) type ConnectionPermit = (OwnedSemaphorePermit, Option<Share>);

/// Serves one connection until it ends, and holds its permit for that long.
pub(super) async fn serve(
    stream: AcceptedStream,
    permit: ConnectionPermit,
    context: Arc<ConnectionContext>,
) {
    match stream {
        AcceptedStream::Tcp(stream, peer) => {
            // A response is sent in one write, so that there is nothing to wait for and to add to it.
            let _ = stream.set_nodelay(true);
            expect_answers(&stream, context.options.timeouts.write_timeout);
            let stream = with_write_timeout(stream, &context);
            #[cfg(feature = "tls")]
            if let Some(tls) = &context.tls {
                // Boxed, so that the future of a connection without TLS stays small.
                Box::pin(serve_tls(tls, stream, peer, &context)).await;
                return drop(permit);
            }
            serve_stream(stream, peer, &context).await;
        }
        #[cfg(unix)]
        AcceptedStream::Unix(stream) => {
            serve_stream(with_write_timeout(stream, &context), None, &context).await;
        }
    }
    drop(permit);
}

/// Serves one connection over TLS until it ends.
#[cfg(feature = "tls")]
async fn serve_tls<S>(
    tls: &TlsHandshakes,
    stream: S,
    peer: Option<IpAddr>,
    context: &Arc<ConnectionContext>,
) where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let handshake = async {
        tokio::select! {
            () = context.closing.closing() => None,
            stream = tls.accept(stream, peer) => stream,
        }
    };
    if let Some(stream) = Box::pin(handshake).await {
        serve_stream(stream, peer, context).await;
    }
}

/// The time without any packet after which the system asks whether a client is still there.
const KEEPALIVE_TIME: Duration = Duration::from_secs(60);

/// Lets a connection fail whose client has vanished without closing it: nothing that was sent to it has been
/// acknowledged for `timeout`.
fn expect_answers(stream: &TcpStream, timeout: Duration) {
    let socket = SockRef::from(stream);
    // Without these options the system gives up later.
    let _ = socket.set_tcp_keepalive(&TcpKeepalive::new().with_time(KEEPALIVE_TIME));
    #[cfg(target_os = "linux")]
    let _ = socket.set_tcp_user_timeout(Some(timeout));
    #[cfg(not(target_os = "linux"))]
    let _ = timeout;
}

/// Returns a stream that fails if its client reads nothing for too long.
fn with_write_timeout<S>(stream: S, context: &ConnectionContext) -> WriteTimeout<S> {
    let timeout = context.options.timeouts.write_timeout;
    WriteTimeout::new(stream, timeout, "HttpTimeouts::write_timeout")
}

/// The service of one connection.
pub(super) struct ConnectionService {
    context: Arc<ConnectionContext>,
    connection: Arc<ConnectionInfo>,
    /// The routes in their layers, if there are layers.
    layered: Option<HttpRoutes>,
}

impl ConnectionService {
    fn new(context: &Arc<ConnectionContext>, peer: Option<IpAddr>) -> Arc<Self> {
        let streamable = &context.routes.streamable;
        let counted = peer.filter(|_| context.options.shares.counts_addresses());
        let account = streamable.new_account(counted);
        let connection = ConnectionInfo::new(account, peer);
        let layered = context.layers.wrap(&context.routes, &connection);
        Arc::new(Self {
            context: context.clone(),
            connection,
            layered,
        })
    }

    /// Returns the account of the connection's memory.
    #[cfg(feature = "http2")]
    pub(super) fn memory(&self) -> &MemoryAccount {
        self.connection.account.memory()
    }

    /// Returns the address of the peer, if there is one.
    #[cfg(feature = "http2")]
    pub(super) fn peer(&self) -> Option<IpAddr> {
        self.connection.peer()
    }

    /// Returns the future that answers a request.
    ///
    /// The destination is found before there is a future, which would hold the request once more.
    pub(super) fn answer(
        self: Arc<Self>,
        request: Request<Incoming>,
    ) -> impl Future<Output = Result<Response<ResponseBody>, Infallible>> + Send {
        let mut destination = self.find_destination(request);
        async move {
            Ok(match &mut destination {
                Destination::Elsewhere(response) => response.await,
                Destination::Routes(parts, body) => {
                    let body = Pin::new(body);
                    let routes = &self.context.routes;
                    routes.answer(parts, body, &self.connection).await
                }
            })
        }
    }

    fn find_destination(&self, mut request: Request<Incoming>) -> Destination {
        let ready = |response| Destination::Elsewhere(Box::pin(std::future::ready(response)));
        if let Some(health) = &self.context.health
            && let Some(response) = health.answer(request.method(), request.uri().path())
        {
            return ready(response);
        }
        #[cfg(feature = "prometheus")]
        if let Some(metrics) = &self.context.metrics
            && let Some(response) = metrics.answer(request.method(), request.uri().path())
        {
            return ready(response);
        }
        let peer = self.connection.peer();
        if let Some(client) = self.context.proxies.find_client(peer, request.headers()) {
            request.extensions_mut().insert(client);
        }
        if let Some(layered) = &self.layered {
            self.connection.show_address(&mut request);
            return Destination::Elsewhere(layered.answer(request));
        }
        if let Some(service) = self.context.routes.service_at(request.uri().path()) {
            self.connection.show_address(&mut request);
            return Destination::Elsewhere(service.answer(request));
        }
        let (parts, body) = request.into_parts();
        Destination::Routes(parts, body)
    }
}

/// The part of a server to which a request of a connection goes.
#[expect(
    clippy::large_enum_variant,
    reason = "most requests are of the large kind: a box for it would be an allocation for each of them"
)]
enum Destination {
    /// The routes of the server itself. They borrow the request, which keeps their future small.
    Routes(Parts, Incoming),
    /// A health check, the metrics, or a layer or route of the user, which has the request already.
    Elsewhere(ResponseFuture),
}

async fn serve_stream<S>(stream: S, peer: Option<IpAddr>, context: &Arc<ConnectionContext>)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let service = ConnectionService::new(context, peer);
    let max_head = Http1Bounds::new(&context.options).max_header_bytes;
    let stream = HeadGuard::new(stream, max_head, service.connection.clone());
    #[cfg(feature = "http2")]
    if context.options.http2 {
        return Box::pin(super::http2::serve(stream, service, context)).await;
    }
    serve_http1(stream, service, context).await;
}

/// Serves HTTP/1.1 until the connection ends.
async fn serve_http1<S>(stream: S, service: Arc<ConnectionService>, context: &ConnectionContext)
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let peer = service.connection.peer();
    let answer = service_fn(move |request| service.clone().answer(request));
    let connection = Http1Bounds::new(&context.options)
        .builder()
        .serve_connection(TokioIo::new(stream), answer);
    let mut connection = std::pin::pin!(connection);
    let closing = &context.closing;
    let mut closed = std::pin::pin!(closing.closing());
    let mut closing_waker: Option<Waker> = None;
    let served = poll_fn(|cx| {
        if let Poll::Ready(served) = connection.as_mut().poll(cx) {
            return Poll::Ready(Some(served));
        }
        // The signal is polled again only for another waker.
        let is_registered = |waker: &Waker| waker.will_wake(cx.waker());
        if !closing_waker.as_ref().is_some_and(is_registered) {
            closing_waker = Some(cx.waker().clone());
            let _ = closed.as_mut().poll(cx);
        }
        if closing.is_closing() {
            return Poll::Ready(None);
        }
        Poll::Pending
    });
    let served = match served.await {
        Some(served) => served,
        None => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = served {
        context.log_failure(&error, Some(&error), peer);
    }
}

/// Returns a whole HTTP/1.1 response with an error, after which the connection is closed. The client may
/// try again after `delay`, if there is one.
pub(super) fn refusal(code: StatusCode, message: &str, delay: Option<Duration>) -> Vec<u8> {
    let mut body = Vec::new();
    rpc::write_error_response_without_id(&mut body, false, rpc::code::INVALID_REQUEST, message);
    let retry_after = delay.map_or_else(String::new, |delay| {
        format!("retry-after: {}\r\n", retry_after_seconds(delay))
    });
    let head = format!(
        "HTTP/1.1 {code}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n{retry_after}\
         connection: close\r\n\r\n",
        body.len()
    );
    [head.into_bytes(), body].concat()
}

/// The bounds of an HTTP/1.1 connection, within those of hyper.
pub(super) struct Http1Bounds {
    pub(super) header_timeout: Duration,
    /// The size of the buffer for a head. The endpoints refuse a smaller head that is over the bound.
    pub(super) max_header_bytes: usize,
    /// The number of headers that hyper accepts, unless it is its default.
    pub(super) max_headers: Option<usize>,
}

impl Http1Bounds {
    pub(super) fn new(options: &HttpServerOptions) -> Self {
        let max_headers = options.http_limits.max_headers;
        Self {
            header_timeout: options.timeouts.header_timeout.min(MAX_HEADER_TIMEOUT),
            max_header_bytes: options.http_limits.max_header_bytes.max(MIN_HEADER_BYTES),
            // A request with one header too many still gets an error that names the bound.
            max_headers: (max_headers >= HYPER_DEFAULT_HEADERS)
                .then(|| max_headers.saturating_add(1).min(MAX_HEADERS)),
        }
    }

    fn builder(&self) -> http1::Builder {
        let mut builder = http1::Builder::new();
        builder
            .timer(TokioTimer::new())
            .header_read_timeout(self.header_timeout)
            .max_buf_size(self.max_header_bytes);
        if let Some(most) = self.max_headers {
            builder.max_headers(most);
        }
        builder
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_connection_fails_if_its_client_acknowledges_nothing() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (_client, accepted) = tokio::join!(TcpStream::connect(address), listener.accept());
        let stream = accepted.unwrap().0;
        let timeout = Duration::from_secs(7);
        expect_answers(&stream, timeout);
        let socket = SockRef::from(&stream);
        assert!(socket.keepalive().unwrap());
        assert_eq!(socket.tcp_keepalive_time().unwrap(), KEEPALIVE_TIME);
        assert_eq!(socket.tcp_user_timeout().unwrap(), Some(timeout));
    }
}
