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
    /// in another server, and principals beyond [`principals`](Self::principals).
    pub in_flight: usize,
    /// Requests to one peer that may wait for their answers. Whether it is still there is asked all
    /// the same. Default 256.
    pub outgoing: usize,
    /// Messages in one batch. Default 100.
    pub batch: usize,
    /// Bytes of messages that may wait for a reader before their senders have to. Default 1 MiB.
    pub queue_bytes: usize,
    /// Messages that may wait for the reader of one modern exchange before their senders have to.
    /// Default 256.
    pub queue_messages: usize,
    /// Notifications of one peer that may be handled at the same time; more are dropped. Default 16.
    pub reactions: usize,
    /// How long a handler may take; then it is cancelled and its request answered with an error.
    /// Default one hour. Streams of change notices have no deadline.
    pub handler_deadline: Duration,
    /// How long a cancelled handler may finish before its future is dropped. Default 2 s.
    pub cancel_grace: Duration,
    /// How long a request to the client may wait for its answer; then it is taken back. Nothing
    /// the client says extends it. Users are asked this way too, so it is long: default ten
    /// minutes. [`Peer::within`](crate::Peer::within) sets another for single requests.
    pub answer_timeout: Duration,
    /// How often a legacy client is asked whether it is still there. Default never. Over HTTP it is
    /// asked only while it has its stream for the server's own messages open.
    pub ping_interval: Option<Duration>,
    /// How long the client may take to say so; then its session ends. Default 10 s.
    pub ping_timeout: Duration,
    /// How long what was read before the end of the input may still be answered. Default 1 s.
    pub drain: Duration,
    /// Bytes of the client's handshake that a session keeps. Default 4 KiB.
    pub handshake_bytes: usize,
    /// How often a peer may ask; what comes faster is refused. Pings, handshakes and what ends
    /// something are not counted, completions apart. Default 10,000 a second.
    pub calls: Rate,
    /// How often a peer may ask for completions; what comes faster is refused. Default 100 a
    /// second.
    pub completions: Rate,
    /// How many log messages a peer is sent; what comes faster is left out, and the next message
    /// tells how many that were. Default 1,000 a second.
    pub logs: Rate,
    /// How often one request reports its progress; of what comes faster the newest is sent as soon
    /// as it may be. Default 100 a second.
    pub progress: Rate,
    /// Principals whose rates are counted each for itself; further ones share one account.
    /// Default 10,000.
    pub principals: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            in_flight: 1024,
            outgoing: 256,
            batch: 100,
            queue_bytes: 1 << 20,
            queue_messages: 256,
            reactions: 16,
            handler_deadline: Duration::from_secs(3600),
            cancel_grace: Duration::from_secs(2),
            answer_timeout: Duration::from_secs(600),
            ping_interval: None,
            ping_timeout: Duration::from_secs(10),
            drain: Duration::from_secs(1),
            handshake_bytes: 4096,
            calls: Rate::per_second(10_000),
            completions: Rate::per_second(100),
            logs: Rate::per_second(1000),
            progress: Rate::per_second(100),
            principals: 10_000,
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
        in_flight: usize;
        /// Sets how many requests to one peer may wait for their answers.
        outgoing: usize;
        /// Sets how many messages a batch may hold.
        batch: usize;
        /// Sets how many bytes may wait for a reader.
        queue_bytes: usize;
        /// Sets how many messages may wait for the reader of an exchange.
        queue_messages: usize;
        /// Sets how many notifications may be handled at the same time.
        reactions: usize;
        /// Sets how long a handler may take.
        handler_deadline: Duration;
        /// Sets how long a cancelled handler may finish.
        cancel_grace: Duration;
        /// Sets how long a request to the client may wait for its answer.
        answer_timeout: Duration;
        /// Sets how often a legacy client is asked whether it is still there.
        ping_interval: Option<Duration>;
        /// Sets how long the client may take to say so.
        ping_timeout: Duration;
        /// Sets how long what was read may still be answered at the end of the input.
        drain: Duration;
        /// Sets how many bytes of a handshake are kept.
        handshake_bytes: usize;
        /// Sets how often a peer may ask.
        calls: Rate;
        /// Sets how often a peer may ask for completions.
        completions: Rate;
        /// Sets how many log messages a peer is sent.
        logs: Rate;
        /// Sets how often a request reports its progress.
        progress: Rate;
        /// Sets how many principals are counted each for itself.
        principals: usize;
    }
}
