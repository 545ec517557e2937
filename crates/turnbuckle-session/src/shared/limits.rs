//! The limits of a session.

use std::time::Duration;

use turnbuckle_types::settings;

use crate::shared::rate::Rate;

settings! {
    /// The limits of what one owner can use: running requests, rates, memory and time.
    ///
    /// An owner is a principal; without a principal, a legacy session; else a connection. An endpoint
    /// that is mounted into another server does not see connections: requests without a principal and a
    /// session then share one account.
    #[derive(Debug, Clone)]
    pub struct Limits {
        /// Requests of one owner that may run at the same time. Further requests are refused with an
        /// error.
        ///
        /// The limit does not hold for requests without a session that count on a shared account,
        /// because one owner could take the places of all others: requests without a principal and an
        /// address to an endpoint that is mounted into another server, and requests of principals beyond
        /// [`max_principals`](Self::max_principals).
        // Beyond: `too many requests in flight: the limit is … (…)`
        // Tests: bounds::session::the_requests_in_flight_are_limited
        //   bounds::rates::the_requests_of_a_principal_are_limited_over_exchanges
        max_in_flight: usize = 1024,
        /// Requests to one client that may wait for responses. Keep-alive pings are sent all the
        /// same.
        // Beyond: `more than … requests wait for the client`; in the log: `more than … requests
        // wait for the client (Limits::max_outgoing_requests)`
        // Tests: peer::too_many_requests_are_refused_by_name
        max_outgoing_requests: usize = 256,
        /// Messages in one batch.
        // Beyond: `a batch may hold at most … messages (Limits::max_batch_messages)`
        // Tests: bounds::session::a_batch_holds_so_many_messages
        max_batch_messages: usize = 100,
        /// Bytes that may wait for a reader before their senders wait.
        // Beyond: the writer waits
        // Tests: transports::a_handler_waits_for_a_slow_reader
        max_queue_bytes: usize = 1 << 20,
        /// Messages that may wait for the reader of one HTTP exchange before their senders wait.
        // Beyond: the writer waits
        // Tests: bounds::session::the_messages_that_wait_for_an_exchange_are_limited
        // Uncounted: nothing is refused
        max_queue_messages: usize = 256,
        /// Notifications of one owner that may be handled at the same time. Further notifications
        /// are dropped.
        // Beyond: in the log: `a notification was dropped: too many are being handled
        // (Limits::max_notification_handlers)`
        // Tests: bounds::session::the_running_notification_handlers_are_limited
        max_notification_handlers: usize = 16,
        /// Time that a handler may take. After it the handler is cancelled and its request answered
        /// with an error. Subscription streams have no timeout.
        // Beyond: `the request took longer than the server allows`; in the log: `a handler took
        // longer than … (Limits::handler_timeout)`
        // Tests: bounds::session::a_handler_that_takes_longer_than_its_deadline_is_answered_for
        handler_timeout: Duration = Duration::from_secs(3600),
        /// Time in which a cancelled handler may finish before its future is dropped.
        // Beyond: dropped
        // Tests: cancellation::a_stubborn_handler_is_dropped_after_the_grace
        cancel_timeout: Duration = Duration::from_secs(2),
        /// Time that a request to the client may wait for its response before it is cancelled.
        /// Progress does not extend it. Requests to the client may ask its user, so the default is
        /// long. [`Peer::with_timeout`](crate::handler::Peer::with_timeout) sets another timeout for single
        /// requests.
        // Beyond: `the client did not answer within …`; in the log: `the client did not answer
        // within … (Limits::request_timeout)`
        // Tests: peer::a_server_request_times_out
        request_timeout: Duration = Duration::from_secs(600),
        /// Interval of keep-alive pings to a legacy client. Over HTTP a client is pinged only while
        /// its standalone GET stream is open.
        // Tests: ping::an_interval_pings_the_client
        ping_interval: Option<Duration> = None,
        /// Time in which a client has to respond to a keep-alive ping. After it the session ends.
        // Beyond: in the log: `a ping was not answered in time (Limits::ping_timeout): the session
        // ends`
        // Tests: ping::the_time_limit_is_settable
        ping_timeout: Duration = Duration::from_secs(10),
        /// Time in which requests that were read before the end of the input may still be answered.
        // Beyond: given up
        // Tests: transports::the_end_of_the_input_answers_the_requests_before_it
        drain_timeout: Duration = Duration::from_secs(1),
        /// Bytes of the client's handshake that a session keeps.
        // Beyond: decoration and settings are not kept, and of the extensions only those that have
        // room
        // Tests: bounds::session::a_handshake_that_is_too_long_is_kept_without_its_decoration
        //   turnbuckle_session::server::handshake::tests::a_long_handshake_is_kept_in_few_bytes_and_with_all_that_can_be_done
        // Uncounted: the handshake succeeds all the same
        max_handshake_bytes: usize = 4096,
        /// Rate of requests of one owner. Faster requests are refused. Pings and requests that end
        /// something do not count; completions and handshakes count on their own rates.
        // Beyond: `too many … the limit is … a second (…)`
        // Tests: bounds::rates::calls_that_come_too_fast_are_refused_by_name
        call_rate: Rate = Rate::per_second(10_000),
        /// Rate of completion requests of one owner. Faster requests are refused.
        // Beyond: `too many … the limit is … a second (…)`
        // Tests: bounds::rates::completions_have_a_rate_of_their_own
        completion_rate: Rate = Rate::per_second(100),
        /// Rate of handshakes of one owner: `initialize` requests, and new connections of HTTP+SSE.
        /// Faster ones are refused. A legacy session without a principal counts on its connection.
        // Beyond: `too many … the limit is … a second (…)`; over HTTP 429 with `Retry-After`
        // Tests: bounds::shares::handshakes_of_one_principal_have_a_rate
        //   bounds::shares::a_connection_owns_requests_without_a_principal
        //   turnbuckle_session::server::duplex::tests::handshakes_that_come_too_fast_are_refused_by_name
        handshake_rate: Rate = Rate::per_second(100).burst(1000),
        /// Rate of log messages to one owner. Faster messages are dropped, and the next message
        /// tells how many.
        // Beyond: the next message: `… log messages were left out (Limits::log_rate)`
        // Tests: bounds::logs::too_frequent_log_messages_are_left_out_and_counted
        log_rate: Rate = Rate::per_second(1000),
        /// Rate of progress reports of one request. Of faster reports the latest is sent as soon as
        /// the rate allows it.
        // Beyond: only the newest is sent
        // Tests: bounds::progress::the_newest_of_too_frequent_progress_reports_is_sent_later
        // Uncounted: the newest report is sent
        progress_rate: Rate = Rate::per_second(100),
        /// Bytes of requests and answers that are held for one owner: bodies that are being read,
        /// requests that run, answers and messages that wait for a reader, sessions, long heads
        /// that are being read and what is kept for replay. A request counts twice its size, for
        /// its decoded arguments. Further requests are refused, and so is an answer for which there
        /// is no room.
        // Beyond: `too many bytes of this client's requests and answers are held: the limit is …`,
        // 429 with `Retry-After`; instead of a response: `the request was served, but there is no
        // room for its response of … bytes: …`
        // Tests: turnbuckle_session::server::endpoint::tests::requests_beyond_the_memory_of_their_owner_are_refused_by_name
        //   turnbuckle_session::server::endpoint::tests::a_response_beyond_the_limit_becomes_an_error_with_its_name
        //   turnbuckle_session::server::endpoint::tests::a_response_counts_until_it_was_read_and_dropped
        //   turnbuckle_http::request::body::tests::a_body_that_is_being_read_counts_for_its_owner
        //   turnbuckle_http::request::body::tests::a_short_body_keeps_no_large_buffer
        //   turnbuckle_http::request::captured::tests::a_large_head_is_copied_and_counted
        //   turnbuckle_http::streams::session_stream::tests::the_replay_log_of_a_stream_counts_for_its_owner
        //   turnbuckle_stdio::framing::tests::a_short_line_keeps_no_memory_of_a_long_one
        //   bounds::session::questions_that_wait_count_for_the_memory_of_their_owner
        max_owner_bytes: usize = 64 << 20,
        /// Bytes of requests and answers that are held for all owners of a server together. An owner
        /// gets no more than it leaves to all others, and neither do all owners at one client address,
        /// so that a few cannot use all. Where they are used up, what ended streams keep for replay is dropped first, the oldest at first; then
        /// sessions end that nobody uses, those idle longest at first; then further requests are
        /// refused.
        // Beyond: `too many bytes of requests and answers are held: the limit of all clients is …`,
        // for a head, a body or a session 503 with `Retry-After`; a stream of HTTP/2 is reset with
        // `REFUSED_STREAM`
        // Tests: turnbuckle_session::shared::memory_budget::tests::an_owner_leaves_to_the_others_as_much_as_it_has
        //   turnbuckle_session::shared::memory_budget::tests::an_address_leaves_to_the_others_as_much_as_its_owners_have
        //   turnbuckle_http::client::http2::open_requests_of_one_address_leave_half_of_the_memory_to_others
        //   turnbuckle_http::streamable::sessions::tests::ended_streams_and_then_idle_sessions_make_room_before_a_request_is_refused
        //   turnbuckle_http::streamable::service::tests::a_body_beyond_the_memory_limit_is_refused_by_the_setting
        //   turnbuckle_http::server::head_guard::tests::the_buffer_of_a_head_that_is_being_read_counts_for_its_owner
        //   bounds::sockets::heads_that_are_half_sent_count_for_the_memory_of_all_clients
        max_total_bytes: usize = 128 << 20,
        /// Principals with accounts of their own. Further principals share one account. The same number
        /// holds for the client addresses that a trusted proxy or a layer names.
        // Beyond: further ones share one
        // Tests: bounds::rates::principals_beyond_the_table_share_a_rate
        //   turnbuckle_session::shared::account::tests::a_client_known_by_its_address_has_an_account_there_and_takes_no_place_of_principals
        // Uncounted: nothing is refused
        max_principals: usize = 10_000,
    }
}
