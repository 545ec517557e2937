//! What can be set about an endpoint, and the bounds it works in.

use std::time::Duration;

use turnbuckle_session::{Limits, setters};

/// The settings of an endpoint. Every bound is on by default.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Config {
    /// Names (`example.com`, `example.com:8443`, `[::1]`) under which the endpoint may be reached;
    /// without a port, any port. Default: the loopback names.
    pub allowed_hosts: Option<Vec<String>>,
    /// Origins (`https://example.com`) whose pages may use the endpoint. Default: those whose host
    /// is an allowed one.
    pub allowed_origins: Vec<String>,
    /// Legacy requests are served without sessions: each for itself, by a client that is taken to
    /// have declared nothing. Default: off.
    pub stateless: bool,
    /// A server of our own serves the HTTP+SSE transport of the first revision too, at `/sse` and
    /// `/messages`. Default: off.
    pub http_sse: bool,
    /// Bytes of one message. Default 4 MiB.
    pub max_body: usize,
    /// How long a handler may take before its answer becomes a stream. Default 1 s.
    pub json_wait: Duration,
    /// How often a quiet stream says that it is still there. Default 15 s.
    pub keep_alive: Duration,
    /// Legacy sessions that may be open; one more is refused. Default 10,000.
    pub max_sessions: usize,
    /// Connections over HTTP+SSE that may be open; one more is refused. Each has one of
    /// [`max_connections`](Self::max_connections) for its stream and needs others for its messages.
    /// Default 1,000.
    pub max_sse_connections: usize,
    /// How long a session may be idle. A request under way and an open stream count as use.
    /// Default 30 minutes.
    pub session_idle: Duration,
    /// How long a client may take to say that its handshake is over; over HTTP+SSE, to say
    /// anything. Default 1 minute.
    pub handshake_time: Duration,
    /// Streams of one session that are open or kept for replay; over HTTP+SSE, messages of one
    /// connection that are being read or wait. Default 64.
    pub max_streams: usize,
    /// Connections of one stream that are open; one more ends the oldest. Default 8.
    pub max_readers: usize,
    /// Messages of one stream that are kept for replay. Default 256.
    pub replay_events: usize,
    /// Bytes of one stream that are kept for replay, and that a slow reader may be behind. Default
    /// 1 MiB.
    pub replay_bytes: usize,
    /// Bytes of the streams of one session that have ended and are kept for replay. Default 4 MiB.
    pub replay_session_bytes: usize,
    /// Bytes that the streams of all sessions together keep for replay. Beyond it a stream forgets
    /// what was read of it; so of those that nobody reads only the last message stays. Default
    /// 256 MiB.
    pub replay_total_bytes: usize,
    /// How long a stream that has ended is kept for replay. Default 1 minute.
    pub replay_time: Duration,
    /// The delay before reconnecting that the server sends to clients (`retry:` of SSE). Default 1 s.
    pub retry: Duration,
    /// Connections that a server of our own has open at a time; further ones wait. Default 10,000.
    pub max_connections: usize,
    /// Headers that a request may have; in a server of our own not more than 24,576. Default 64.
    pub max_headers: usize,
    /// Bytes of the head of a request, at least 8 KiB, in a server of our own: a larger one is
    /// answered by 431 without a word, and the connection ends. Default 64 KiB.
    pub max_head: usize,
    /// How long a client may take to send the head of a request. Default 30 s.
    pub header_time: Duration,
    /// How long a client may take to send the body of a request. Default 30 s.
    pub body_time: Duration,
    /// How long a shutdown waits for what is under way. Default 10 s.
    pub shutdown_time: Duration,
    /// What a client may have going at once, and how long things may take.
    pub limits: Limits,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            allowed_hosts: None,
            allowed_origins: Vec::new(),
            stateless: false,
            http_sse: false,
            max_body: 4 << 20,
            json_wait: Duration::from_secs(1),
            keep_alive: Duration::from_secs(15),
            max_sessions: 10_000,
            max_sse_connections: 1000,
            session_idle: Duration::from_secs(30 * 60),
            handshake_time: Duration::from_secs(60),
            max_streams: 64,
            max_readers: 8,
            replay_events: 256,
            replay_bytes: 1 << 20,
            replay_session_bytes: 4 << 20,
            replay_total_bytes: 256 << 20,
            replay_time: Duration::from_secs(60),
            retry: Duration::from_secs(1),
            max_connections: 10_000,
            max_headers: 64,
            max_head: 64 << 10,
            header_time: Duration::from_secs(30),
            body_time: Duration::from_secs(30),
            shutdown_time: Duration::from_secs(10),
            limits: Limits::default(),
        }
    }
}

impl Config {
    /// The defaults.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the names under which the endpoint may be reached.
    #[must_use]
    pub fn allowed_hosts<S: Into<String>>(mut self, hosts: impl IntoIterator<Item = S>) -> Self {
        self.allowed_hosts = Some(hosts.into_iter().map(Into::into).collect());
        self
    }

    /// Sets the origins whose pages may use the endpoint.
    #[must_use]
    pub fn allowed_origins<S: Into<String>>(
        mut self,
        origins: impl IntoIterator<Item = S>,
    ) -> Self {
        self.allowed_origins = origins.into_iter().map(Into::into).collect();
        self
    }

    setters! {
        /// Serves legacy requests without sessions.
        stateless: bool;
        /// Serves the HTTP+SSE transport of the first revision too.
        http_sse: bool;
        /// Sets how many bytes a message may have.
        max_body: usize;
        /// Sets how long a handler may take before its answer becomes a stream.
        json_wait: Duration;
        /// Sets how often a quiet stream says that it is still there.
        keep_alive: Duration;
        /// Sets how many legacy sessions may be open.
        max_sessions: usize;
        /// Sets how many connections over HTTP+SSE may be open.
        max_sse_connections: usize;
        /// Sets how long a session may be idle.
        session_idle: Duration;
        /// Sets how long a client may take to finish its handshake.
        handshake_time: Duration;
        /// Sets how many streams a session may have.
        max_streams: usize;
        /// Sets how many connections a stream may have.
        max_readers: usize;
        /// Sets how many messages of a stream are kept for replay.
        replay_events: usize;
        /// Sets how many bytes of a stream are kept for replay.
        replay_bytes: usize;
        /// Sets how many bytes of a session's ended streams are kept for replay.
        replay_session_bytes: usize;
        /// Sets how many bytes the streams of all sessions keep for replay.
        replay_total_bytes: usize;
        /// Sets how long a stream that has ended is kept for replay.
        replay_time: Duration;
        /// Sets the delay before reconnecting that the server sends to clients.
        retry: Duration;
        /// Sets how many connections may be open.
        max_connections: usize;
        /// Sets how many headers a request may have.
        max_headers: usize;
        /// Sets how many bytes the head of a request may have.
        max_head: usize;
        /// Sets how long the head of a request may take.
        header_time: Duration;
        /// Sets how long the body of a request may take.
        body_time: Duration;
        /// Sets how long a shutdown waits.
        shutdown_time: Duration;
        /// Sets the bounds of sessions.
        limits: Limits;
    }
}
