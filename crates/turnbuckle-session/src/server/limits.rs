//! The bounds of a session, all settable; all but `ping_interval` are on by default.

use std::time::Duration;

use crate::Rate;

/// Setters of public fields that have their names.
#[doc(hidden)]
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

/// How much one peer may have going at once, how fast it may ask, and how long things may take.
///
/// Each principal has its own rates; without principals, each legacy session; else each connection.
/// An endpoint mounted in another server sees no connections: requests with neither share one
/// account.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Limits {
    /// Requests of one peer that may be under way; one more is refused by name. Default 1,024.
    ///
    /// It does not hold for requests without a session of peers that share an account, because one
    /// could take the places of all others: those that come without a principal to what is mounted
    /// in another server, and principals beyond [`principals`](Self::max_principals).
    pub max_in_flight: usize,
    /// Requests to one peer that may wait for their answers. Whether it is still there is asked all
    /// the same. Default 256.
    pub max_outgoing_requests: usize,
    /// Messages in one batch. Default 100.
    pub max_batch_messages: usize,
    /// Bytes of messages that may wait for a reader before their senders have to. Default 1 MiB.
    pub max_queue_bytes: usize,
    /// Messages that may wait for the reader of one modern exchange before their senders have to.
    /// Default 256.
    pub max_queue_messages: usize,
    /// Notifications of one peer that may be handled at the same time; more are dropped. Default 16.
    pub max_notification_handlers: usize,
    /// How long a handler may take; then it is cancelled and its request answered with an error.
    /// Default one hour. Streams of change notices have no deadline.
    pub handler_timeout: Duration,
    /// How long a cancelled handler may finish before its future is dropped. Default 2 s.
    pub cancel_timeout: Duration,
    /// How long a request to the client may wait for its answer; then it is taken back. Nothing
    /// the client says extends it. Users are asked this way too, so it is long: default ten
    /// minutes. [`Peer::with_timeout`](crate::Peer::with_timeout) sets another for single requests.
    pub request_timeout: Duration,
    /// How often a legacy client is asked whether it is still there. Default never. Over HTTP it is
    /// asked only while it has its stream for the server's own messages open.
    pub ping_interval: Option<Duration>,
    /// How long the client may take to say so; then its session ends. Default 10 s.
    pub ping_timeout: Duration,
    /// How long what was read before the end of the input may still be answered. Default 1 s.
    pub drain_timeout: Duration,
    /// Bytes of the client's handshake that a session keeps. Default 4 KiB.
    pub max_handshake_bytes: usize,
    /// How often a peer may ask; what comes faster is refused. Pings, handshakes and what ends
    /// something are not counted, completions apart. Default 10,000 a second.
    pub call_rate: Rate,
    /// How often a peer may ask for completions; what comes faster is refused. Default 100 a
    /// second.
    pub completion_rate: Rate,
    /// How many log messages a peer is sent; what comes faster is left out, and the next message
    /// tells how many that were. Default 1,000 a second.
    pub log_rate: Rate,
    /// How often one request reports its progress; of what comes faster the newest is sent as soon
    /// as it may be. Default 100 a second.
    pub progress_rate: Rate,
    /// Principals whose rates are counted each for itself; further ones share one account.
    /// Default 10,000.
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
            log_rate: Rate::per_second(1000),
            progress_rate: Rate::per_second(100),
            max_principals: 10_000,
        }
    }
}

impl Limits {
    /// The defaults.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    setters! {
        /// Sets how many requests of one peer may be under way.
        max_in_flight: usize;
        /// Sets how many requests to one peer may wait for their answers.
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
        /// Sets how long a request to the client may wait for its answer.
        request_timeout: Duration;
        /// Sets how often a legacy client is asked whether it is still there.
        ping_interval: Option<Duration>;
        /// Sets how long the client may take to say so.
        ping_timeout: Duration;
        /// Sets how long what was read may still be answered at the end of the input.
        drain_timeout: Duration;
        /// Sets how many bytes of a handshake are kept.
        max_handshake_bytes: usize;
        /// Sets how often a peer may ask.
        call_rate: Rate;
        /// Sets how often a peer may ask for completions.
        completion_rate: Rate;
        /// Sets how many log messages a peer is sent.
        log_rate: Rate;
        /// Sets how often a request reports its progress.
        progress_rate: Rate;
        /// Sets how many principals are counted each for itself.
        max_principals: usize;
    }
}
