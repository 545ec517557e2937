//! What can be set about a connector, and the bounds it works in.

use std::time::Duration;

/// The settings of a connector over HTTP. Every bound is on by default.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct HttpClientOptions {
    /// Bytes of one message, as JSON or as an event. Default 16 MiB.
    pub max_message: usize,
    /// Redirects that one request follows. Default 5.
    pub max_redirects: usize,
    /// How long a connection may take to stand, its name and what secures it included. Default 10 s.
    pub connect_timeout: Duration,
    /// Connections that are kept open between requests. What has no room is closed. Default 32.
    pub max_idle: usize,
    /// How long one is kept open between requests: shorter than its server keeps it (5 s are
    /// common), lest a request meet its end. Default 4 s.
    pub idle_timeout: Duration,
    /// How long a server of HTTP+SSE may take to name its endpoint. Default 10 s.
    pub endpoint_timeout: Duration,
    /// How long taking leave of the server may take. Default 2 s.
    pub close_timeout: Duration,
    /// How often one stream is taken up again over its whole life. Default 1,000.
    pub max_reconnects: u32,
    /// How often in a row it is taken up again without anything new coming of it. Default 10.
    pub max_fruitless_reconnects: u32,
    /// How long to wait before resuming a stream if the server named no delay. Default 1 s.
    pub retry: Duration,
    /// The longest that is waited before a stream is taken up again, after failures and where its
    /// server asks for more. At least 50 ms, at most a year. Default 30 s.
    pub max_retry: Duration,
    /// Whether the proxies that the environment names (`HTTPS_PROXY` and its like) are used for
    /// servers on other machines. Default: they are.
    pub env_proxy: bool,
}

impl Default for HttpClientOptions {
    fn default() -> Self {
        Self {
            max_message: 16 << 20,
            max_redirects: 5,
            connect_timeout: Duration::from_secs(10),
            max_idle: 32,
            idle_timeout: Duration::from_secs(4),
            endpoint_timeout: Duration::from_secs(10),
            close_timeout: Duration::from_secs(2),
            max_reconnects: 1000,
            max_fruitless_reconnects: 10,
            retry: Duration::from_secs(1),
            max_retry: Duration::from_secs(30),
            env_proxy: true,
        }
    }
}

impl HttpClientOptions {
    /// The defaults.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets [`max_message`](Self::max_message).
    #[must_use]
    pub fn max_message(mut self, bytes: usize) -> Self {
        self.max_message = bytes;
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

    /// Sets [`max_idle`](Self::max_idle).
    #[must_use]
    pub fn max_idle(mut self, connections: usize) -> Self {
        self.max_idle = connections;
        self
    }

    /// Sets [`idle_timeout`](Self::idle_timeout).
    #[must_use]
    pub fn idle_timeout(mut self, time: Duration) -> Self {
        self.idle_timeout = time;
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

    /// Sets [`retry`](Self::retry).
    #[must_use]
    pub fn retry(mut self, after: Duration) -> Self {
        self.retry = after;
        self
    }

    /// Sets [`max_retry`](Self::max_retry).
    #[must_use]
    pub fn max_retry(mut self, after: Duration) -> Self {
        self.max_retry = after;
        self
    }

    /// Sets [`env_proxy`](Self::env_proxy).
    #[must_use]
    pub fn env_proxy(mut self, used: bool) -> Self {
        self.env_proxy = used;
        self
    }
}
