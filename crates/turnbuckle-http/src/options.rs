//! The settings of an HTTP endpoint, among them its bounds.

use std::time::Duration;

use turnbuckle_session::handler::{Limits, Rate};
use turnbuckle_types::settings;

#[cfg(feature = "tls")]
use crate::tls_identity::TlsIdentity;

settings! {
    /// The settings of an HTTP endpoint and of an HTTP server. Every bound is on by default.
    #[derive(Debug, Clone)]
    pub struct HttpServerOptions {
        /// Host names (`example.com`, `example.com:8443`, `[::1]`) under which the endpoint may be
        /// reached; a name without a port allows any port. `None` stands for the loopback names.
        // Beyond: `the host … is not one of HttpServerOptions::allowed_hosts`
        // Tests: http::a_foreign_host_is_403
        allowed_hosts: Option<Vec<String>> [by hand] = None,
        /// Origins (`https://example.com`) whose web pages may use the endpoint. Without any: the
        /// origins whose host is in [`allowed_hosts`](Self::allowed_hosts); of the loopback names
        /// only those on the endpoint's own port, which is the port in the `Host` of the request.
        // Beyond: `the origin … is not one of HttpServerOptions::allowed_origins`
        // Tests: http::a_foreign_origin_is_403
        allowed_origins: Vec<String> [by hand] = Vec::new(),
        /// Allows pages of every port of this machine (`http://localhost:5173`), beside the
        /// [`allowed_origins`](Self::allowed_origins). Any program that listens on a port here, and
        /// any page that it serves, can then use the endpoint from a browser.
        // Beyond: `the origin … is not one of HttpServerOptions::allowed_origins; pages of this
        // machine are on the endpoint's own port, or need
        // HttpServerOptions::allow_loopback_origins`
        // Tests: turnbuckle_http::request::origin::tests::a_page_of_this_machine_is_on_the_port_of_the_endpoint
        // Uncounted: counts as HttpServerOptions::allowed_origins
        allow_loopback_origins: bool = false,
        /// Addresses (`192.0.2.7`) and networks (`10.0.0.0/8`, `2001:db8::/32`) of proxies that tell
        /// the address of their client by `X-Forwarded-For` or `Forwarded`; `unix:` stands for those
        /// on a Unix socket. Each proxy has to append the address of its own client to one of these
        /// headers. The last address that is not one of a trusted proxy is the
        /// [`ClientAddress`](crate::ClientAddress) of a request. If the end of a header is malformed,
        /// if both headers differ, or more than 16 proxies are named, the client has the address of
        /// its connection.
        ///
        /// Without a principal and a session, the requests of such a client count for that address and
        /// not for the connection of the proxy. A mounted endpoint does not see connections: a layer
        /// has to put the address of the peer into each request as `ClientAddress`.
        // Beyond: the headers are ignored, and the client has the address of its connection
        // Tests: turnbuckle_http::request::trusted_proxies::tests::a_chain_is_believed_from_its_end_up_to_the_first_stranger
        //   turnbuckle_http::request::trusted_proxies::tests::an_element_of_forwarded_has_one_address_and_sound_parameters
        //   turnbuckle_http::request::trusted_proxies::tests::two_headers_that_differ_name_nobody
        //   turnbuckle_http::request::trusted_proxies::tests::only_trusted_peers_are_believed
        //   turnbuckle_http::request::trusted_proxies::tests::a_chain_has_so_many_proxies
        //   turnbuckle_http::client::proxies::a_client_behind_a_trusted_proxy_has_its_own_address
        // Uncounted: nothing is refused
        trusted_proxies: Vec<String> [by hand] = Vec::new(),
        /// The certificate of an [`HttpServer`](crate::HttpServer), which makes it serve `https`.
        #[cfg(feature = "tls")]
        tls: Option<TlsIdentity> [from TlsIdentity] = None,
        /// Makes an [`HttpServer`](crate::HttpServer) speak HTTP/2 with clients that ask for it: by
        /// ALPN over TLS, else by prior knowledge.
        #[cfg(feature = "http2")]
        http2: bool = false,
        /// Makes an [`HttpServer`](crate::HttpServer) serve the HTTP+SSE transport of the first
        /// revision too, at `/sse` and `/messages`.
        http_sse: bool = false,
        /// The way in which sessions of the legacy era are kept. Without a choice it is
        /// [`Sessions::Stored`] if the server has a store, else [`Sessions::Local`].
        sessions: Option<Sessions> [from Sessions] = None,
        /// Makes an [`HttpServer`](crate::HttpServer) answer `/livez` and `/readyz`, before any
        /// layer, host or token is looked at. Both say 200; `/readyz` says 503 once the shutdown
        /// has begun.
        health_routes: bool = false,
        /// Makes an [`HttpServer`](crate::HttpServer) answer `/metrics`, before any layer, host or token
        /// is looked at, as [`metrics_route`](crate::HttpServer::metrics_route) does at any path.
        #[cfg(feature = "prometheus")]
        metrics_route: bool = false,
        /// The largest size of one message in bytes.
        // Beyond: `a message may have … bytes at most (HttpServerOptions::max_message_bytes)`, 413
        // Tests: bounds::endpoint::a_request_at_a_limit_passes_and_one_beyond_is_refused_by_name
        max_message_bytes: usize = 4 << 20,
        /// The bounds of one client: requests, rates and timeouts.
        limits: Limits = Limits::default(),
        /// The sizes of the endpoint: connections, sessions, streams and heads.
        http_limits: HttpLimits = HttpLimits::default(),
        /// The times of the endpoint.
        timeouts: HttpTimeouts = HttpTimeouts::default(),
        /// The parts of the endpoint that one owner and one client address may take.
        shares: HttpShares = HttpShares::default(),
        /// The limits of what legacy sessions keep for clients that come back to a stream.
        replay: ReplayLimits = ReplayLimits::default(),
    }
}

/// The way in which an endpoint keeps sessions of the legacy era, and so which instance of a server
/// can serve a request of one.
///
/// Requests of the modern era have no session: any instance serves them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Sessions {
    /// In the memory of the endpoint, which alone can serve them. They end with the process.
    Local,
    /// Not at all: each request stands alone, and its client is treated as one without capabilities.
    Stateless,
    /// In their ids, which are encrypted with the keys of the server (`ServerBuilder::keys`). Any instance
    /// with the same keys serves a session, and knows revision, client, capabilities and principal. The
    /// server keeps nothing, so that its clients are offered no questions, log levels, subscriptions and
    /// notifications of changes, and cannot resume streams. An id is good for
    /// [`sealed_session_ttl`](HttpTimeouts::sealed_session_ttl).
    Sealed,
    /// In the store of the server (`ServerBuilder::store`). Any instance serves a session, with all
    /// features.
    Stored,
}

impl HttpServerOptions {
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

    /// Sets the proxies whose headers name the address of their client.
    #[must_use]
    pub fn trusted_proxies<S: Into<String>>(
        mut self,
        networks: impl IntoIterator<Item = S>,
    ) -> Self {
        self.trusted_proxies = networks.into_iter().map(Into::into).collect();
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
}

settings! {
    /// The sizes of an endpoint over HTTP: connections, sessions, streams and heads.
    #[derive(Debug, Clone)]
    pub struct HttpLimits {
        /// The largest number of open connections of an [`HttpServer`](crate::HttpServer); further
        /// ones wait. A connection takes up to 26 KiB, with TLS 46 and with HTTP/2 over TLS 54, which
        /// do not count for [`Limits::max_total_bytes`]; the rest of a long head counts.
        // Beyond: the next waits; in the log: `the next connection has to wait
        // (HttpLimits::max_connections)`
        // Tests: bounds::sockets::open_connections_are_limited_and_further_ones_wait
        max_connections: usize = 2_000,
        /// The largest number of open legacy sessions. One more takes the place of a session that
        /// is not in use; if all are, it is refused.
        // Beyond: if all are in use: `too many … are open (…)`, 503
        // Tests: bounds::endpoint::the_open_sessions_are_limited
        //   http_sessions::unfinished_handshakes_do_not_block_other_clients
        //   turnbuckle_http::streamable::sessions::tests::an_owner_of_many_sessions_takes_no_place_from_others
        max_sessions: usize = 10_000,
        /// The largest number of open HTTP+SSE connections; one more is refused. Each takes one of
        /// [`max_connections`](Self::max_connections) for its stream, and others for its messages.
        // Beyond: `too many … are open (…)`, 503
        // Tests: http_sse::bounds::the_connections_are_limited
        max_sse_connections: usize = 1000,
        /// The largest number of open streams on which clients listen: those of GET requests to the
        /// endpoint, and of `subscriptions/listen`. One more is refused.
        // Beyond: `too many … are open (…)`, 503
        // Tests: bounds::shares::streams_that_one_owner_listens_on_leave_room_for_others
        max_listening_streams: usize = 10_000,
        /// The largest number of streams of one session that are open or kept for replay; over
        /// HTTP+SSE, of messages of one connection that are being received or wait.
        // Beyond: not kept for replay: `Last-Event-ID: that event is not known (any more)`, 400;
        // `too many messages of this connection wait (Limits::max_queue_bytes,
        // HttpLimits::max_streams, HttpTimeouts::body_timeout)`, 503
        // Tests: http_resume::one_stream_more_than_are_kept_is_served_and_forgotten
        //   turnbuckle_http::streamable::sessions::tests::streams_are_kept_within_their_bounds
        //   turnbuckle_http::streams::sse_connections::transport::tests::the_bodies_that_are_received_at_a_time_are_limited
        max_streams: usize = 64,
        /// The largest number of headers of a request; in an [`HttpServer`](crate::HttpServer) at
        /// most 24,576. One more is answered by 431.
        // Beyond: `a request may have … headers at most (HttpLimits::max_headers)`, 431
        // Tests: bounds::endpoint::a_request_at_a_limit_passes_and_one_beyond_is_refused_by_name
        //   bounds::sockets::a_request_has_so_many_headers
        max_headers: usize = 64,
        /// The largest size in bytes of the request line and the headers of a request. A larger one
        /// is answered by 431.
        // Beyond: `the head of a request may have … bytes at most
        // (HttpLimits::max_header_bytes)`, 431; in our own server one that does not fit the
        // buffer: `the head of a request is too large (HttpLimits::max_header_bytes,
        // HttpLimits::max_headers)`, 431
        // Tests: bounds::sockets::the_head_of_a_request_has_so_many_bytes
        //   turnbuckle_http::request::head::tests::the_bytes_of_a_head_are_those_that_are_sent
        max_header_bytes: usize = 64 << 10,
        /// The largest number of requests that are open on one HTTP/2 connection; further ones are
        /// refused.
        // Beyond: further ones are refused (`REFUSED_STREAM`)
        // Tests: turnbuckle_http::client::http2::a_connection_has_so_many_open_requests_and_so_large_headers
        // Uncounted: the HTTP/2 library refuses them by itself
        #[cfg(feature = "http2")]
        max_http2_streams: u32 = 128,
    }
}

settings! {
    /// The times of an endpoint over HTTP.
    #[derive(Debug, Clone)]
    pub struct HttpTimeouts {
        /// The time within which a client must send the headers of a request.
        // Beyond: the connection ends
        // Tests: bounds::sockets::a_head_may_take_so_long
        header_timeout: Duration = Duration::from_secs(30),
        /// The time within which a client must send the body of a request.
        // Beyond: `the body did not come in time (HttpTimeouts::body_timeout)`, 408
        // Tests: turnbuckle_http::streamable::service::tests::a_body_has_to_arrive_in_time
        body_timeout: Duration = Duration::from_secs(30),
        /// The time for which a client of an [`HttpServer`](crate::HttpServer) may read nothing of
        /// what is sent to it, before its connection is closed. Each byte that it takes starts the
        /// time anew. On an HTTP/2 connection the same holds for each response. On Linux it is also the
        /// time after which a client that has vanished is noticed: one that acknowledges nothing of
        /// what is sent. A server in which
        /// the endpoint is mounted writes by itself and has to bound that time by itself.
        // Beyond: the connection ends; in the log: `the peer read nothing for … (…)`
        // Tests: turnbuckle_http::client::slow_readers::a_client_that_reads_nothing_is_cut_off_and_its_response_freed
        //   turnbuckle_session::shared::write_timeout::tests::a_slow_reader_is_waited_for_however_long_the_whole_takes
        //   turnbuckle_http::client::slow_readers::a_client_that_leaves_one_response_of_http2_unread_is_cut_off
        write_timeout: Duration = Duration::from_secs(60),
        /// The time within which a client must send `notifications/initialized`; over HTTP+SSE, its
        /// first message.
        // Beyond: `there is no such session (any more); one that is idle ends after
        // HttpTimeouts::session_idle_timeout or handshake_timeout`, 404
        // Tests: http_sessions::how_long_a_handshake_may_take_is_settable
        //   http_sse::bounds::a_client_that_says_nothing_is_let_go
        handshake_timeout: Duration = Duration::from_secs(60),
        /// The time after which an idle session is ended. A request in flight and an open stream
        /// count as use.
        // Beyond: `there is no such session (any more); one that is idle ends after
        // HttpTimeouts::session_idle_timeout or handshake_timeout`, 404
        // Tests: http_sessions::a_session_is_idle_only_from_the_end_of_its_use
        session_idle_timeout: Duration = Duration::from_secs(30 * 60),
        /// The time for which the id of a sealed session ([`Sessions::Sealed`]) is good.
        // Beyond: `there is no such session (any more); one that is idle ends after
        // HttpTimeouts::session_idle_timeout or handshake_timeout`, 404
        // Tests: turnbuckle_http::streamable::sealed::tests::an_id_opens_for_its_owner_until_it_expires
        // Uncounted: a session has ended, and nothing is refused
        sealed_session_ttl: Duration = Duration::from_secs(24 * 3600),
        /// The time for which an instance goes on to serve sessions that it knows while their store
        /// ([`Sessions::Stored`]) fails.
        // Beyond: `the store of the sessions failed: … (HttpTimeouts::stale_session_ttl)`, 503 with
        // `Retry-After`
        // Tests: cluster::faults::known_sessions_are_served_for_a_while_without_the_store
        //   cluster::faults::how_long_a_session_goes_on_without_its_store_is_settable
        // Uncounted: the store has failed, which the metrics of stores count
        stale_session_ttl: Duration = Duration::from_secs(60),
        /// The time that a TLS handshake may take, with the wait for its turn.
        // Beyond: the connection ends; in the log: `a TLS handshake took too long
        // (HttpTimeouts::tls_handshake_timeout)`
        // Tests: turnbuckle_http::server::tls::tests::a_handshake_may_take_so_long
        #[cfg(feature = "tls")]
        tls_handshake_timeout: Duration = Duration::from_secs(10),
        /// The time that a response may take to be plain JSON; a later response is sent on an SSE
        /// stream.
        // Beyond: a stream
        // Tests: http::a_request_is_answered_by_json_or_a_stream
        // Uncounted: a response is sent all the same
        json_wait: Duration = Duration::from_secs(1),
        /// The time after which a comment is sent on an SSE stream that has sent nothing, so that
        /// proxies and clients keep it open.
        // Beyond: a comment
        // Tests: http::a_quiet_stream_says_that_it_is_there
        // Uncounted: a comment is sent
        keep_alive_interval: Duration = Duration::from_secs(15),
        /// The time for which a server goes on to accept connections after its shutdown has begun,
        /// so that load balancers see `/readyz` fail before connections are refused.
        // Tests: turnbuckle_http::client::listening::a_server_tells_of_its_health_outside_of_layers_and_is_unready_once_it_shuts_down
        shutdown_delay: Duration = Duration::ZERO,
        /// The time for which a shutdown waits for requests in flight.
        // Beyond: dropped
        // Tests: http_serve::shutdown_is_bounded
        shutdown_timeout: Duration = Duration::from_secs(10),
    }
}

settings! {
    /// The parts of an endpoint that one owner and one client address may take, so that others find room.
    ///
    /// An owner is a principal, or a connection if there is none. An address is one IPv4 address or one
    /// /64 network of IPv6.
    #[derive(Debug, Clone)]
    pub struct HttpShares {
        /// The largest part of [`max_sessions`](HttpLimits::max_sessions),
        /// [`max_sse_connections`](HttpLimits::max_sse_connections) and
        /// [`max_listening_streams`](HttpLimits::max_listening_streams) that one owner may take, in
        /// percent. An owner is a principal, or a connection if there is none. 100 switches the
        /// share off.
        // Beyond: `too many … of one client are open (HttpShares::max_owner_percent, …)`,
        // 429 with `Retry-After`
        // Tests: bounds::shares::sessions_of_one_owner_or_address_leave_room_for_others
        //   turnbuckle_http::streamable::sessions::tests::an_owner_over_its_share_ends_its_own_sessions
        //   turnbuckle_http::shares::tests::an_owner_and_an_address_have_half_of_a_table_each
        max_owner_percent: u8 = 50,
        /// The largest part of the same numbers and of [`max_connections`](HttpLimits::max_connections)
        /// that one client address may take, in percent: one IPv4 address or one /64 network of
        /// IPv6. Behind a proxy all clients have its address: switch the share off, or name theirs
        /// by [`ClientAddress`](crate::ClientAddress). A Unix socket has no addresses. 100 switches
        /// the share off.
        ///
        /// Unless the share is switched off, the owners at one address together also get no more of
        /// [`Limits::max_total_bytes`] than they leave to all others.
        // Beyond: `too many … of one client address are open
        // (HttpShares::max_address_percent, …)`, 429 with `Retry-After`
        // Tests: bounds::shares::connections_of_one_address_leave_room_for_others
        //   bounds::shares::http_sse_connections_of_one_address_leave_room_for_others
        //   bounds::shares::handshakes_of_one_address_take_no_session_from_others
        //   turnbuckle_types::client_address::tests::a_network_is_an_ipv4_address_or_a_64_of_ipv6
        max_address_percent: u8 = 50,
        /// The rate of handshakes of one client address: `initialize` requests, and new HTTP+SSE
        /// connections. Faster ones are refused by 429. [`Limits::handshake_rate`] bounds those of
        /// one owner.
        // Beyond: `too many … the limit is … a second (…)`, 429 with `Retry-After`
        // Tests: bounds::shares::handshakes_of_one_address_have_a_rate
        //   turnbuckle_session::shared::keyed_rates::tests::each_key_has_a_rate_of_its_own_and_the_number_of_keys_is_bounded
        address_handshake_rate: Rate = Rate::per_second(1000),
    }
}

impl HttpShares {
    /// Returns whether addresses have shares of memory, of tables and of rates.
    pub(crate) fn counts_addresses(&self) -> bool {
        self.max_address_percent < 100
    }
}

settings! {
    /// The limits of what legacy sessions keep for clients that come back to a stream.
    #[derive(Debug, Clone)]
    pub struct ReplayLimits {
        /// The largest number of messages of one stream that are kept for replay.
        // Beyond: `Last-Event-ID: that event is not known (any more)`, 400
        // Tests: turnbuckle_http::streams::session_stream::tests::the_log_is_bounded_and_removed_positions_are_unknown
        //   http_resume::an_event_that_is_not_known_is_400
        // Uncounted: a message that is kept was sent already
        max_stream_events: usize = 256,
        /// The largest number of bytes of one stream that are kept for replay, and that a slow
        /// reader may be behind.
        // Beyond: `Last-Event-ID: that event is not known (any more)`, 400
        // Tests: turnbuckle_http::streams::session_stream::tests::the_log_is_bounded_and_removed_positions_are_unknown
        // Uncounted: a message that is kept was sent already
        max_stream_bytes: usize = 1 << 20,
        /// The largest number of bytes that the ended streams of one session keep for replay.
        // Beyond: `Last-Event-ID: that event is not known (any more)`, 400
        // Tests: turnbuckle_http::streamable::sessions::tests::the_bytes_of_ended_streams_are_bounded_together
        //   http_resume::the_replay_log_of_a_session_is_limited
        // Uncounted: a message that is kept was sent already
        max_session_bytes: usize = 4 << 20,
        /// The largest number of bytes that the streams of all sessions together keep for replay.
        /// Over this bound a stream removes messages that were read, or all if nobody reads it.
        /// Kept bytes count for [`Limits::max_owner_bytes`] and [`Limits::max_total_bytes`] too.
        // Beyond: `Last-Event-ID: that event is not known (any more)`, 400
        // Tests: turnbuckle_http::streams::replay_log::tests::all_logs_together_keep_no_more_than_the_total
        //   turnbuckle_http::streams::replay_log::tests::the_total_of_all_logs_is_exact
        // Uncounted: a message that is kept was sent already
        max_total_bytes: usize = 32 << 20,
        /// The time for which an ended stream is kept for replay.
        // Beyond: `Last-Event-ID: that event is not known (any more)`, 400
        // Tests: http_resume::a_stream_that_has_ended_is_kept_for_a_while
        // Uncounted: a message that is kept was sent already
        stream_ttl: Duration = Duration::from_secs(60),
        /// The delay before a reconnect that clients are told (the `retry` field of SSE).
        // Tests: http_resume::retry_goes_before_an_early_close
        reconnect_delay: Duration = Duration::from_secs(1),
    }
}
