//! Limits that a client sets for its server.

use std::time::Duration;

use crate::{Rate, setters};

/// The limits of a client: how much a server may have going at once, how fast it may ask, and how
/// long that may take.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ClientLimits {
    /// Requests to the server that may wait for responses; pings of the client itself do not count.
    /// Default 1,024.
    pub max_outgoing_requests: usize,
    /// Requests of the server that may be in flight; further ones are answered with an error. Default
    /// 64.
    pub max_in_flight: usize,
    /// Messages in one batch. Default 100.
    pub max_batch_messages: usize,
    /// The time that answering one request of the server may take, or the input requests of one
    /// result. Users are asked here, so it is long: default ten minutes.
    pub handler_timeout: Duration,
    /// Responses to the server that may wait to be sent; further ones are dropped. Default 1,024.
    pub max_queued_replies: usize,
    /// The time that sending a response to the server may take; then it is dropped. Default 60 s.
    pub reply_timeout: Duration,
    /// The rate of the server's sampling requests; faster ones are rejected as if the user had
    /// rejected them. Default 10 a second, 100 at once.
    pub sampling_rate: Rate,
    /// The rate of the server's elicitation requests; faster ones are refused. Default 10 a second,
    /// 100 at once.
    pub elicitation_rate: Rate,
    /// Input requests in one result, or in one error. Default 32.
    pub max_input_requests: usize,
    /// Pages of one list; longer lists end in an error. Default 10,000.
    pub max_list_pages: usize,
    /// Items that are collected of one list; longer lists can be read as streams. Default 100,000.
    pub max_list_items: usize,
    /// Bytes of JSON that are collected of one list over all its pages; longer lists can be read as
    /// streams. Default 64 MiB.
    pub max_list_bytes: usize,
    /// Bytes of the messages that the server may send about one request before its result: progress,
    /// log messages and questions. On a pipe, messages that name no request count for each request
    /// that waits. Requests without timeouts, such as subscriptions, have no such limit. Default
    /// 64 MiB.
    pub max_request_bytes: usize,
}

impl Default for ClientLimits {
    fn default() -> Self {
        Self {
            max_outgoing_requests: 1024,
            max_in_flight: 64,
            max_batch_messages: 100,
            handler_timeout: Duration::from_secs(600),
            max_queued_replies: 1024,
            reply_timeout: Duration::from_secs(60),
            sampling_rate: Rate::per_second(10).burst(100),
            elicitation_rate: Rate::per_second(10).burst(100),
            max_input_requests: 32,
            max_list_pages: 10_000,
            max_list_items: 100_000,
            max_list_bytes: 64 << 20,
            max_request_bytes: 64 << 20,
        }
    }
}

impl ClientLimits {
    /// Creates the default limits.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    setters! {
        /// Sets how many requests to the server may wait for responses.
        max_outgoing_requests: usize;
        /// Sets how many requests of the server may be in flight.
        max_in_flight: usize;
        /// Sets how many messages a batch may hold.
        max_batch_messages: usize;
        /// Sets how long answering one request of the server may take.
        handler_timeout: Duration;
        /// Sets how many responses to the server may wait to be sent.
        max_queued_replies: usize;
        /// Sets how long sending a response to the server may take.
        reply_timeout: Duration;
        /// Sets the rate of the server's sampling requests.
        sampling_rate: Rate;
        /// Sets the rate of the server's elicitation requests.
        elicitation_rate: Rate;
        /// Sets how many input requests one result may hold.
        max_input_requests: usize;
        /// Sets how many pages one list may have.
        max_list_pages: usize;
        /// Sets how many items of one list are collected.
        max_list_items: usize;
        /// Sets how many bytes of one list are collected.
        max_list_bytes: usize;
        /// Sets how many bytes of messages the server may send about one request before its result.
        max_request_bytes: usize;
    }
}
