//! The limits of a session. All can be set, and all but `ping_interval` are set by default.

use std::time::Duration;

use crate::shared::rate::Rate;

/// Defines a setter for each public field, of the same name.
#[macro_export]
macro_rules! setters {
    ($($(#[$doc:meta])* $name:ident: $kind:ty;)*) => {$(
        $(#[$doc])*
        #[must_use]
        pub fn $name(mut self, value: $kind) -> Self {
            self.$name = value;
            self
        }
    )*};
}

/// The limits of what one peer can use: running requests, rates, memory and time.
///
/// Rates count for each principal; without principals, for each legacy session; else for each
/// connection. An endpoint that is mounted into another server does not see connections: requests
/// without a principal and a session then share one account.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Limits {
    /// Requests of one peer that may run at the same time. Further requests are refused with an
    /// error. Default 1,024.
    ///
    /// The limit does not hold for requests without a session that count on a shared account,
    /// because one peer could take the places of all others: requests without a principal to an
    /// endpoint that is mounted into another server, and requests of principals beyond
    /// [`max_principals`](Self::max_principals).
    pub max_in_flight: usize,
    /// Requests to one client that may wait for responses. Keep-alive pings are sent all the same.
    /// Default 256.
    pub max_outgoing_requests: usize,
    /// Messages in one batch. Default 100.
    pub max_batch_messages: usize,
    /// Bytes that may wait for a reader before their senders wait. Default 1 MiB.
    pub max_queue_bytes: usize,
    /// Messages that may wait for the reader of one HTTP exchange before their senders wait.
    /// Default 256.
    pub max_queue_messages: usize,
    /// Notifications of one peer that may be handled at the same time. Further notifications are
    /// dropped. Default 16.
    pub max_notification_handlers: usize,
    /// Time that a handler may take. After it the handler is cancelled and its request answered
    /// with an error. Subscription streams have no timeout. Default one hour.
    pub handler_timeout: Duration,
    /// Time in which a cancelled handler may finish before its future is dropped. Default 2 s.
    pub cancel_timeout: Duration,
    /// Time that a request to the client may wait for its response before it is cancelled. Progress
    /// does not extend it. Requests to the client may ask its user, so the default is long: ten
    /// minutes. [`Peer::with_timeout`](crate::Peer::with_timeout) sets another timeout for single
    /// requests.
    pub request_timeout: Duration,
    /// Interval of keep-alive pings to a legacy client. Over HTTP a client is pinged only while its
    /// standalone GET stream is open. Default none.
    pub ping_interval: Option<Duration>,
    /// Time in which a client has to respond to a keep-alive ping. After it the session ends.
    /// Default 10 s.
    pub ping_timeout: Duration,
    /// Time in which requests that were read before the end of the input may still be answered.
    /// Default 1 s.
    pub drain_timeout: Duration,
    /// Bytes of the client's handshake that a session keeps. Default 4 KiB.
    pub max_handshake_bytes: usize,
    /// Rate of requests of one peer. Faster requests are refused. Pings and requests that end
    /// something do not count; completions and handshakes count on their own rates. Default 10,000 a
    /// second.
    pub call_rate: Rate,
    /// Rate of completion requests of one peer. Faster requests are refused. Default 100 a second.
    pub completion_rate: Rate,
    /// Rate of handshakes of one peer: `initialize` requests, and new connections of HTTP+SSE. Faster
    /// ones are refused. A legacy session without a principal counts on its connection. Default 100 a
    /// second, and 1,000 at once.
    pub handshake_rate: Rate,
    /// Rate of log messages to one peer. Faster messages are dropped, and the next message tells
    /// how many. Default 1,000 a second.
    pub log_rate: Rate,
    /// Rate of progress reports of one request. Of faster reports the latest is sent as soon as the
    /// rate allows it. Default 100 a second.
    pub progress_rate: Rate,
    /// Bytes of requests and answers that are held for one peer: bodies that are being read, requests
    /// that run, answers and messages that wait for a reader, sessions, long heads that are being read
    /// and what is kept for replay. A
    /// request counts twice its size, for its decoded arguments. Further requests are refused, and so is an
    /// answer for which there is no room. Default 64 MiB.
    pub max_owner_bytes: usize,
    /// Bytes of requests and answers that are held for all peers of a server together. A peer gets
    /// no more than it leaves to all others, so that a few cannot use all. Where they are used up, what
    /// ended streams keep for replay is dropped first, the oldest at first; then sessions end that
    /// nobody uses, those idle longest at first; then further requests are refused. Default 128 MiB.
    pub max_total_bytes: usize,
    /// Principals with accounts of their own. Further principals share one account. Default 10,000.
    pub max_principals: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_in_flight: 1024,
            max_outgoing_requests: 256,
            max_batch_messages: 100,
            max_queue_bytes: 1 << 20,
            max_queue_messages: 256,
            max_notification_handlers: 16,
            handler_timeout: Duration::from_secs(3600),
            cancel_timeout: Duration::from_secs(2),
            request_timeout: Duration::from_secs(600),
            ping_interval: None,
            ping_timeout: Duration::from_secs(10),
            drain_timeout: Duration::from_secs(1),
            max_handshake_bytes: 4096,
            call_rate: Rate::per_second(10_000),
            completion_rate: Rate::per_second(100),
            handshake_rate: Rate::per_second(100).burst(1000),
            log_rate: Rate::per_second(1000),
            progress_rate: Rate::per_second(100),
            max_owner_bytes: 64 << 20,
            max_total_bytes: 128 << 20,
            max_principals: 10_000,
        }
    }
}

impl Limits {
    /// Returns the default limits.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    setters! {
        /// Sets how many requests of one peer may run at the same time.
        max_in_flight: usize;
        /// Sets how many requests to one client may wait for responses.
        max_outgoing_requests: usize;
        /// Sets how many messages a batch may hold.
        max_batch_messages: usize;
        /// Sets how many bytes may wait for a reader.
        max_queue_bytes: usize;
        /// Sets how many messages may wait for the reader of an exchange.
        max_queue_messages: usize;
        /// Sets how many notifications may be handled at the same time.
        max_notification_handlers: usize;
        /// Sets how long a handler may take.
        handler_timeout: Duration;
        /// Sets how long a cancelled handler may finish.
        cancel_timeout: Duration;
        /// Sets how long a request to the client may wait for its response.
        request_timeout: Duration;
        /// Sets the interval of keep-alive pings.
        ping_interval: Option<Duration>;
        /// Sets how long a client may take to respond to a keep-alive ping.
        ping_timeout: Duration;
        /// Sets how long requests may still be answered after the end of the input.
        drain_timeout: Duration;
        /// Sets how many bytes of a handshake are kept.
        max_handshake_bytes: usize;
        /// Sets the rate of requests.
        call_rate: Rate;
        /// Sets the rate of completion requests.
        completion_rate: Rate;
        /// Sets the rate of handshakes.
        handshake_rate: Rate;
        /// Sets the rate of log messages.
        log_rate: Rate;
        /// Sets the rate of progress reports.
        progress_rate: Rate;
        /// Sets how many bytes of requests and answers are held for one peer.
        max_owner_bytes: usize;
        /// Sets how many bytes of requests and answers are held for all peers together.
        max_total_bytes: usize;
        /// Sets how many principals have accounts of their own.
        max_principals: usize;
    }
}
