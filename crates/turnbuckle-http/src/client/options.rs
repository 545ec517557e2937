//! Settings and limits of a connector.

use std::time::Duration;

/// The settings of a connector over HTTP. Every bound is on by default.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct HttpClientOptions {
    /// Bytes of one message of the server, as JSON or as an event. Default 16 MiB.
    pub max_message_bytes: usize,
    /// Redirects that one request follows. Default 5.
    pub max_redirects: usize,
    /// The time that opening a connection may take, including DNS and TLS. Default 10 s.
    pub connect_timeout: Duration,
    /// Idle connections that are kept for further requests. Default 32.
    pub max_idle_connections: usize,
    /// The time that an idle connection is kept. It should be shorter than the server's (5 s are
    /// common), so that no request meets the end of its connection. Default 4 s.
    pub idle_connection_timeout: Duration,
    /// The time that a server of HTTP+SSE may take to send its endpoint. Default 10 s.
    pub endpoint_timeout: Duration,
    /// The time that ending the session at the server may take. Default 2 s.
    pub close_timeout: Duration,
    /// Reconnects of one stream over its whole life. Default 1,000.
    pub max_reconnects: u32,
    /// Reconnects of one stream in a row without anything new. Default 10.
    pub max_fruitless_reconnects: u32,
    /// The delay before a stream is resumed, if the server named none. Default 1 s.
    pub reconnect_delay: Duration,
    /// The longest delay before a stream is resumed, after failures and where the server asks for
    /// more. At least 50 ms, at most a year. Default 30 s.
    pub max_reconnect_delay: Duration,
    /// True if proxies of the environment (`HTTPS_PROXY` and its like) are used for servers on other
    /// machines. Default `true`.
    pub use_env_proxy: bool,
    /// True if headers that the user added are sent to another machine over HTTP without encryption.
    /// They may hold credentials that everybody on the way can read. Default `false`.
    pub allow_unencrypted_headers: bool,
}

impl Default for HttpClientOptions {
    fn default() -> Self {
        Self {
            max_message_bytes: 16 << 20,
            max_redirects: 5,
            connect_timeout: Duration::from_secs(10),
            max_idle_connections: 32,
            idle_connection_timeout: Duration::from_secs(4),
            endpoint_timeout: Duration::from_secs(10),
            close_timeout: Duration::from_secs(2),
            max_reconnects: 1000,
            max_fruitless_reconnects: 10,
            reconnect_delay: Duration::from_secs(1),
            max_reconnect_delay: Duration::from_secs(30),
            use_env_proxy: true,
            allow_unencrypted_headers: false,
        }
    }
}

impl HttpClientOptions {
    /// Creates the default options.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets [`max_message_bytes`](Self::max_message_bytes).
    #[must_use]
    pub fn max_message_bytes(mut self, bytes: usize) -> Self {
        self.max_message_bytes = bytes;
        self
    }

    /// Sets [`max_redirects`](Self::max_redirects).
    #[must_use]
    pub fn max_redirects(mut self, redirects: usize) -> Self {
        self.max_redirects = redirects;
        self
    }

    /// Sets [`connect_timeout`](Self::connect_timeout).
    #[must_use]
    pub fn connect_timeout(mut self, time: Duration) -> Self {
        self.connect_timeout = time;
        self
    }

    /// Sets [`max_idle_connections`](Self::max_idle_connections).
    #[must_use]
    pub fn max_idle_connections(mut self, connections: usize) -> Self {
        self.max_idle_connections = connections;
        self
    }

    /// Sets [`idle_connection_timeout`](Self::idle_connection_timeout).
    #[must_use]
    pub fn idle_connection_timeout(mut self, time: Duration) -> Self {
        self.idle_connection_timeout = time;
        self
    }

    /// Sets [`endpoint_timeout`](Self::endpoint_timeout).
    #[must_use]
    pub fn endpoint_timeout(mut self, time: Duration) -> Self {
        self.endpoint_timeout = time;
        self
    }

    /// Sets [`close_timeout`](Self::close_timeout).
    #[must_use]
    pub fn close_timeout(mut self, time: Duration) -> Self {
        self.close_timeout = time;
        self
    }

    /// Sets [`max_reconnects`](Self::max_reconnects).
    #[must_use]
    pub fn max_reconnects(mut self, times: u32) -> Self {
        self.max_reconnects = times;
        self
    }

    /// Sets [`max_fruitless_reconnects`](Self::max_fruitless_reconnects).
    #[must_use]
    pub fn max_fruitless_reconnects(mut self, times: u32) -> Self {
        self.max_fruitless_reconnects = times;
        self
    }

    /// Sets [`reconnect_delay`](Self::reconnect_delay).
    #[must_use]
    pub fn reconnect_delay(mut self, after: Duration) -> Self {
        self.reconnect_delay = after;
        self
    }

    /// Sets [`max_reconnect_delay`](Self::max_reconnect_delay).
    #[must_use]
    pub fn max_reconnect_delay(mut self, after: Duration) -> Self {
        self.max_reconnect_delay = after;
        self
    }

    /// Sets [`use_env_proxy`](Self::use_env_proxy).
    #[must_use]
    pub fn use_env_proxy(mut self, used: bool) -> Self {
        self.use_env_proxy = used;
        self
    }

    /// Sets [`allow_unencrypted_headers`](Self::allow_unencrypted_headers).
    #[must_use]
    pub fn allow_unencrypted_headers(mut self, allowed: bool) -> Self {
        self.allow_unencrypted_headers = allowed;
        self
    }
}
