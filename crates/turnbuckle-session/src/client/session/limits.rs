//! Limits that a client sets for its server.

use std::time::Duration;

use turnbuckle_types::settings;

use crate::shared::rate::Rate;

settings! {
    /// The limits of a client: how much a server may have going at once, how fast it may ask, and how
    /// long that may take.
    #[derive(Debug, Clone)]
    pub struct ClientLimits {
        /// Requests to the server that may wait for responses; pings of the client itself do not
        /// count.
        // Beyond: `more than … requests wait for the server (ClientLimits::max_outgoing_requests)`
        // Tests: client_faults::dropping::more_calls_than_may_wait_are_refused_by_name
        max_outgoing_requests: usize = 1024,
        /// Requests of the server that may be in flight; further ones are answered with an error.
        // Beyond: `too many requests in flight: the limit is … (…)`
        // Tests: client_faults::server_requests::a_flood_of_questions_is_refused_by_name_and_pings_are_answered_all_the_same
        max_in_flight: usize = 64,
        /// Messages in one batch.
        // Beyond: skipped; in the log: `a batch of the server was too long
        // (ClientLimits::max_batch_messages) and is skipped`
        // Tests: client_faults::answers::a_batch_of_a_server_has_so_many_messages
        max_batch_messages: usize = 100,
        /// The time that answering one request of the server may take, or the input requests of one
        /// result. Users are asked here, so it is long.
        // Beyond: `the answer took longer than this client allows (ClientLimits::handler_timeout)`,
        // `it took longer than … (ClientLimits::handler_timeout)`
        // Tests: turnbuckle_client::client::timeouts::a_question_of_a_legacy_server_times_out
        //   turnbuckle_client::client::requests::an_unanswered_question_ends_its_request
        handler_timeout: Duration = Duration::from_secs(600),
        /// Tasks that the server may have at this client; further ones are refused. A task is forgotten
        /// when its time to live has passed.
        // Beyond: `the server has … tasks at this client already (ClientLimits::max_tasks)`
        // Tests: client_tasks::receiver::the_tasks_of_a_server_are_bounded
        max_tasks: usize = 64,
        /// The longest time to live of a task that the server starts at this client, from its creation.
        /// Without a wish of the server it is twice [`handler_timeout`](Self::handler_timeout).
        // Beyond: the task lives as long as this
        // Tests: client_tasks::receiver::the_tasks_of_a_server_are_bounded
        max_task_ttl: Duration = Duration::from_secs(3600),
        /// Responses to the server that may wait to be sent; further ones are dropped.
        // Beyond: in the log: `the server does not take its answers: one is dropped
        // (ClientLimits::max_queued_replies)`
        // Tests: turnbuckle_client::client::timeouts::queued_replies_are_limited_in_number_and_time
        //   client_faults::stuck::pings_of_a_server_that_does_not_read_are_dropped_at_last
        max_queued_replies: usize = 1024,
        /// The time that sending a response to the server may take; then it is dropped.
        // Beyond: in the log: `the server did not take an answer in time
        // (ClientLimits::reply_timeout)`
        // Tests: turnbuckle_client::client::timeouts::queued_replies_are_limited_in_number_and_time
        //   client_faults::stuck::a_server_that_takes_no_cancellation_and_no_answer_holds_no_task
        reply_timeout: Duration = Duration::from_secs(60),
        /// The rate of the server's sampling requests; faster ones are rejected as if the user had
        /// rejected them.
        // Beyond: `too many … the limit is … a second (…)`, with the page's code
        // Tests: bounds::client::sampling_that_is_asked_for_too_fast_is_refused_with_the_pages_code
        sampling_rate: Rate = Rate::per_second(10).burst(100),
        /// The rate of the server's elicitation requests; faster ones are refused.
        // Beyond: the same, as an internal error
        // Tests: bounds::client::questions_beyond_the_rate_are_not_shown_to_the_user
        elicitation_rate: Rate = Rate::per_second(10).burst(100),
        /// Input requests in one result, or in one error.
        // Beyond: `there are more than … questions at once (ClientLimits::max_input_requests)`
        // Tests: bounds::client::the_concurrent_questions_are_limited
        max_input_requests: usize = 32,
        /// Pages of one list; longer lists end in an error.
        // Beyond: `the list of … does not come to an end (ClientLimits::max_list_pages,
        // max_list_items)`
        // Tests: bounds::client::a_list_has_so_many_pages_and_items
        max_list_pages: usize = 10_000,
        /// Items that are collected of one list; longer lists can be read as streams.
        // Beyond: `the list of … does not come to an end (ClientLimits::max_list_pages,
        // max_list_items)`
        // Tests: bounds::client::a_list_has_so_many_pages_and_items
        max_list_items: usize = 100_000,
        /// Bytes of JSON that are collected of one list over all its pages; longer lists can be
        /// read as streams.
        // Beyond: `the list of … has more than … bytes (ClientLimits::max_list_bytes)`
        // Tests: client_faults::endless::the_pages_of_a_list_are_bounded_in_bytes_together
        max_list_bytes: usize = 64 << 20,
        /// Bytes of the messages that the server may send about one request before its result:
        /// progress, log messages and questions. On a pipe, messages that name no request count for
        /// each request that waits. Requests without timeouts, such as subscriptions, have no such
        /// limit.
        // Beyond: `the server sent more than … bytes of progress, log messages and questions about
        // one request (ClientLimits::max_request_bytes)`
        // Tests: client_faults::endless::messages_about_one_request_are_bounded_in_bytes
        max_request_bytes: usize = 64 << 20,
    }
}
