//! The bounds of a session, all on by default, all settable.

use std::time::Duration;

/// How much one peer may have going at once, and how long things may take.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Limits {
    /// Requests of one peer that may be under way; one more is refused by name. Default 1,024.
    pub in_flight: usize,
    /// Requests to one peer that may wait for their answers. Default 256.
    pub outgoing: usize,
    /// Messages in one batch. Default 100.
    pub batch: usize,
    /// Bytes of messages that may wait for a reader before their senders have to. Default 1 MiB.
    pub queue_bytes: usize,
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
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            in_flight: 1024,
            outgoing: 256,
            batch: 100,
            queue_bytes: 1 << 20,
            handler_deadline: Duration::from_secs(3600),
            cancel_grace: Duration::from_secs(2),
            answer_timeout: Duration::from_secs(600),
            ping_interval: None,
            ping_timeout: Duration::from_secs(10),
            drain: Duration::from_secs(1),
            handshake_bytes: 4096,
        }
    }
}
