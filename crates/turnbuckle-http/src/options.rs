//! The settings of an HTTP endpoint, among them its bounds.

use std::time::Duration;

use turnbuckle_session::{Limits, Rate, setters};

/// The settings of an HTTP endpoint and of an HTTP server. Every bound is on by default.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct HttpServerOptions {
    /// Host names (`example.com`, `example.com:8443`, `[::1]`) under which the endpoint may be
    /// reached; a name without a port allows any port. Default: the loopback names.
    pub allowed_hosts: Option<Vec<String>>,
    /// Origins (`https://example.com`) whose web pages may use the endpoint. Default: the origins
    /// whose host is in [`allowed_hosts`](Self::allowed_hosts); of the loopback names only those on the
    /// endpoint's own port, which is the port in the `Host` of the request.
    pub allowed_origins: Vec<String>,
    /// Allows pages of every port of this machine (`http://localhost:5173`), beside the
    /// [`allowed_origins`](Self::allowed_origins). Any program that listens on a port here, and any page
    /// that it serves, can then use the endpoint from a browser. Default: off.
    pub allow_loopback_origins: bool,
    /// Serves legacy requests without sessions: each request stands alone, and its client is
    /// treated as one without capabilities. Default: off.
    pub stateless: bool,
    /// Makes an [`HttpServer`](crate::HttpServer) serve the HTTP+SSE transport of the first revision
    /// too, at `/sse` and `/messages`. Default: off.
    pub http_sse: bool,
    /// The largest size of one message in bytes. Default 4 MiB.
    pub max_message_bytes: usize,
    /// The time that a response may take to be plain JSON; a later response is sent on an SSE
    /// stream. Default 1 s.
    pub json_wait: Duration,
    /// The time after which a comment is sent on an SSE stream that has sent nothing, so that
    /// proxies and clients keep it open. Default 15 s.
    pub keep_alive_interval: Duration,
    /// The largest number of open legacy sessions. One more takes the place of a session that is not
    /// in use; if all are, it is refused. Default 10,000.
    pub max_sessions: usize,
    /// The largest number of open HTTP+SSE connections; one more is refused. Each takes one of
    /// [`max_connections`](Self::max_connections) for its stream, and others for its messages.
    /// Default 1,000.
    pub max_sse_connections: usize,
    /// The largest number of open streams on which clients listen: those of GET requests to the
    /// endpoint, and of `subscriptions/listen`. One more is refused. Default 10,000.
    pub max_listening_streams: usize,
    /// The largest part of [`max_sessions`](Self::max_sessions),
    /// [`max_sse_connections`](Self::max_sse_connections) and
    /// [`max_listening_streams`](Self::max_listening_streams) that one owner may take, in percent. An
    /// owner is a principal, or a connection if there is none. Default 50; 100 switches the share off.
    pub max_owner_percent: u8,
    /// The largest part of the same numbers and of [`max_connections`](Self::max_connections) that one
    /// client address may take, in percent: one IPv4 address or one /64 network of IPv6. Behind a proxy
    /// all clients have its address: switch the share off, or name theirs by
    /// [`ClientAddress`](crate::ClientAddress). A Unix socket has no addresses. Default 50; 100 switches
    /// the share off.
    pub max_address_percent: u8,
    /// The rate of handshakes of one client address: `initialize` requests, and new HTTP+SSE
    /// connections. Faster ones are refused by 429. [`Limits::handshake_rate`] bounds those of one
    /// owner. Default 1,000 a second.
    pub address_handshake_rate: Rate,
    /// The time after which an idle session is ended. A request in flight and an open stream count
    /// as use. Default 30 minutes.
    pub session_idle_timeout: Duration,
    /// The time within which a client must send `notifications/initialized`; over HTTP+SSE, its
    /// first message. Default 1 minute.
    pub handshake_timeout: Duration,
    /// The largest number of streams of one session that are open or kept for replay; over
    /// HTTP+SSE, of messages of one connection that are being received or wait. Default 64.
    pub max_streams: usize,
    /// The largest number of open connections of one stream; one more closes the oldest. Default 8.
    pub max_stream_connections: usize,
    /// The largest number of messages of one stream that are kept for replay. Default 256.
    pub max_replay_events: usize,
    /// The largest number of bytes of one stream that are kept for replay, and that a slow reader
    /// may be behind. Default 1 MiB.
    pub max_replay_bytes: usize,
    /// The largest number of bytes that the ended streams of one session keep for replay. Default
    /// 4 MiB.
    pub max_session_replay_bytes: usize,
    /// The largest number of bytes that the streams of all sessions together keep for replay. Over
    /// this bound a stream removes messages that were read, or all if nobody reads it. Kept bytes
    /// count for [`Limits::max_owner_bytes`] and [`Limits::max_total_bytes`] too. Default 32 MiB.
    pub max_total_replay_bytes: usize,
    /// The time for which an ended stream is kept for replay. Default 1 minute.
    pub replay_ttl: Duration,
    /// The delay before a reconnect that clients are told (the `retry` field of SSE). Default 1 s.
    pub reconnect_delay: Duration,
    /// The largest number of open connections of an [`HttpServer`](crate::HttpServer); further ones
    /// wait. A connection takes up to 26 KiB, which do not count for
    /// [`Limits::max_total_bytes`]; the rest of a long head counts. With TLS it takes about 30 KiB more.
    /// Default 4,000.
    pub max_connections: usize,
    /// The largest number of headers of a request; in an [`HttpServer`](crate::HttpServer) at most
    /// 24,576. One more is answered by 431. Default 64.
    pub max_headers: usize,
    /// The largest size in bytes of the request line and the headers of a request. A larger one is
    /// answered by 431. Default 64 KiB.
    pub max_header_bytes: usize,
    /// The time within which a client must send the headers of a request. Default 30 s.
    pub header_timeout: Duration,
    /// The time within which a client must send the body of a request. Default 30 s.
    pub body_timeout: Duration,
    /// The time for which a client of an [`HttpServer`](crate::HttpServer) may read nothing of what is
    /// sent to it, before its connection is closed. Each byte that it takes starts the time anew. On
    /// an HTTP/2 connection the same holds for each response. A server in which the endpoint is
    /// mounted writes by itself and has to bound that time by itself. Default 1 minute.
    pub write_timeout: Duration,
    /// The time for which a shutdown waits for requests in flight. Default 10 s.
    pub shutdown_timeout: Duration,
    /// The time for which a server goes on to accept connections after its shutdown has begun, so that
    /// load balancers see `/readyz` fail before connections are refused. Default 0.
    pub shutdown_delay: Duration,
    /// Makes an [`HttpServer`](crate::HttpServer) answer `/livez` and `/readyz`, before any layer, host
    /// or token is looked at. Both say 200; `/readyz` says 503 once the shutdown has begun. Default:
    /// off.
    pub health_routes: bool,
    /// The certificate of an [`HttpServer`](crate::HttpServer), which makes it serve `https`. Default:
    /// none.
    #[cfg(feature = "tls")]
    #[cfg_attr(docsrs, doc(cfg(feature = "tls")))]
    pub tls: Option<crate::TlsIdentity>,
    /// The time that a TLS handshake may take, with the wait for its turn. Default 10 s.
    #[cfg(feature = "tls")]
    #[cfg_attr(docsrs, doc(cfg(feature = "tls")))]
    pub tls_handshake_timeout: Duration,
    /// The largest number of TLS handshakes at a time. Further ones wait, and those that have taken
    /// longer than a second make room for them. Default 256.
    #[cfg(feature = "tls")]
    #[cfg_attr(docsrs, doc(cfg(feature = "tls")))]
    pub max_tls_handshakes: usize,
    /// Makes an [`HttpServer`](crate::HttpServer) speak HTTP/2 with clients that ask for it: by ALPN
    /// over TLS, else by prior knowledge. Default: off.
    #[cfg(feature = "http2")]
    #[cfg_attr(docsrs, doc(cfg(feature = "http2")))]
    pub http2: bool,
    /// The largest number of requests that are open on one HTTP/2 connection; further ones are
    /// refused. Default 128.
    #[cfg(feature = "http2")]
    #[cfg_attr(docsrs, doc(cfg(feature = "http2")))]
    pub max_http2_streams: u32,
    /// The bounds of one client: requests, rates and timeouts.
    pub limits: Limits,
}

impl Default for HttpServerOptions {
    fn default() -> Self {
        Self {
            allowed_hosts: None,
            allowed_origins: Vec::new(),
            allow_loopback_origins: false,
            stateless: false,
            http_sse: false,
            max_message_bytes: 4 << 20,
            json_wait: Duration::from_secs(1),
            keep_alive_interval: Duration::from_secs(15),
            max_sessions: 10_000,
            max_sse_connections: 1000,
            max_listening_streams: 10_000,
            max_owner_percent: 50,
            max_address_percent: 50,
            address_handshake_rate: Rate::per_second(1000),
            session_idle_timeout: Duration::from_secs(30 * 60),
            handshake_timeout: Duration::from_secs(60),
            max_streams: 64,
            max_stream_connections: 8,
            max_replay_events: 256,
            max_replay_bytes: 1 << 20,
            max_session_replay_bytes: 4 << 20,
            max_total_replay_bytes: 32 << 20,
            replay_ttl: Duration::from_secs(60),
            reconnect_delay: Duration::from_secs(1),
            max_connections: 4_000,
            max_headers: 64,
            max_header_bytes: 64 << 10,
            header_timeout: Duration::from_secs(30),
            body_timeout: Duration::from_secs(30),
            write_timeout: Duration::from_secs(60),
            shutdown_timeout: Duration::from_secs(10),
            shutdown_delay: Duration::ZERO,
            health_routes: false,
            #[cfg(feature = "tls")]
            tls: None,
            #[cfg(feature = "tls")]
            tls_handshake_timeout: Duration::from_secs(10),
            #[cfg(feature = "tls")]
            max_tls_handshakes: 256,
            #[cfg(feature = "http2")]
            http2: false,
            #[cfg(feature = "http2")]
            max_http2_streams: 128,
            limits: Limits::default(),
        }
    }
}

impl HttpServerOptions {
    /// Returns the default settings.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns whether the server has a certificate.
    pub(crate) fn has_tls(&self) -> bool {
        #[cfg(feature = "tls")]
        return self.tls.is_some();
        #[cfg(not(feature = "tls"))]
        false
    }

    /// Sets the host names under which the endpoint may be reached.
    #[must_use]
    pub fn allowed_hosts<S: Into<String>>(mut self, hosts: impl IntoIterator<Item = S>) -> Self {
        self.allowed_hosts = Some(hosts.into_iter().map(Into::into).collect());
        self
    }

    /// Sets the origins whose web pages may use the endpoint.
    #[must_use]
    pub fn allowed_origins<S: Into<String>>(
        mut self,
        origins: impl IntoIterator<Item = S>,
    ) -> Self {
        self.allowed_origins = origins.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the certificate of the server, which makes it serve `https`.
    #[cfg(feature = "tls")]
    #[cfg_attr(docsrs, doc(cfg(feature = "tls")))]
    #[must_use]
    pub fn tls(mut self, identity: crate::TlsIdentity) -> Self {
        self.tls = Some(identity);
        self
    }

    #[cfg(feature = "tls")]
    setters! {
        /// Sets the time that a TLS handshake may take.
        tls_handshake_timeout: Duration;
        /// Sets the largest number of TLS handshakes at a time.
        max_tls_handshakes: usize;
    }

    #[cfg(feature = "http2")]
    setters! {
        /// Sets whether the server speaks HTTP/2 with clients that ask for it.
        http2: bool;
        /// Sets the largest number of requests that are open on one HTTP/2 connection.
        max_http2_streams: u32;
    }

    setters! {
        /// Sets whether pages of every port of this machine may use the endpoint.
        allow_loopback_origins: bool;
        /// Sets whether legacy requests are served without sessions.
        stateless: bool;
        /// Sets whether the HTTP+SSE transport of the first revision is served too.
        http_sse: bool;
        /// Sets the largest size of one message in bytes.
        max_message_bytes: usize;
        /// Sets the time that a response may take to be plain JSON.
        json_wait: Duration;
        /// Sets the time after which a comment is sent on a silent SSE stream.
        keep_alive_interval: Duration;
        /// Sets the largest number of open legacy sessions.
        max_sessions: usize;
        /// Sets the largest number of open HTTP+SSE connections.
        max_sse_connections: usize;
        /// Sets the largest number of open streams on which clients listen.
        max_listening_streams: usize;
        /// Sets the largest part of sessions, connections and streams that one owner may take, in percent.
        max_owner_percent: u8;
        /// Sets the largest part of sessions, connections and streams that one client address may take,
        /// in percent.
        max_address_percent: u8;
        /// Sets the rate of handshakes of one client address.
        address_handshake_rate: Rate;
        /// Sets the time after which an idle session is ended.
        session_idle_timeout: Duration;
        /// Sets the time within which a client must finish its handshake.
        handshake_timeout: Duration;
        /// Sets the largest number of streams of one session.
        max_streams: usize;
        /// Sets the largest number of open connections of one stream.
        max_stream_connections: usize;
        /// Sets the largest number of messages of one stream that are kept for replay.
        max_replay_events: usize;
        /// Sets the largest number of bytes of one stream that are kept for replay.
        max_replay_bytes: usize;
        /// Sets the largest number of bytes that the ended streams of one session keep for replay.
        max_session_replay_bytes: usize;
        /// Sets the largest number of bytes that the streams of all sessions keep for replay.
        max_total_replay_bytes: usize;
        /// Sets the time for which an ended stream is kept for replay.
        replay_ttl: Duration;
        /// Sets the delay before a reconnect that clients are told.
        reconnect_delay: Duration;
        /// Sets the largest number of open connections.
        max_connections: usize;
        /// Sets the largest number of headers of a request.
        max_headers: usize;
        /// Sets the largest size of the headers of a request in bytes.
        max_header_bytes: usize;
        /// Sets the time within which a client must send the headers of a request.
        header_timeout: Duration;
        /// Sets the time within which a client must send the body of a request.
        body_timeout: Duration;
        /// Sets the time for which a client may read nothing of what is sent to it.
        write_timeout: Duration;
        /// Sets the time for which connections are still accepted after a shutdown has begun.
        shutdown_delay: Duration;
        /// Sets whether the server answers `/livez` and `/readyz`.
        health_routes: bool;
        /// Sets the time for which a shutdown waits for requests in flight.
        shutdown_timeout: Duration;
        /// Sets the bounds of one client.
        limits: Limits;
    }
}
