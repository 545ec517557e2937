//! Settings and limits of a connector.

use std::time::Duration;

use turnbuckle_types::settings;

settings! {
    /// The settings of a connector over HTTP. Every bound is on by default.
    #[derive(Debug, Clone)]
    pub struct HttpClientOptions {
        /// Bytes of one message of the server, as JSON or as an event.
        // Beyond: `the server sent a message of more than … bytes (Command::max_message_bytes,
        // HttpClientOptions::max_message_bytes)`
        // Tests: turnbuckle_http::client::tests::statuses::a_message_over_the_limit_is_refused
        max_message_bytes: usize = 16 << 20,
        /// Redirects that one request follows.
        // Beyond: `more than … redirects (HttpClientOptions::max_redirects)`
        // Tests: turnbuckle_http::client::tests::statuses::redirects_are_limited
        max_redirects: usize = 5,
        /// The time that opening a connection may take, including DNS and TLS.
        // Beyond: `no connection stood within …` and the name of the setting
        // Tests: turnbuckle_http_client::tests::the_connect_timeout_covers_name_resolution
        //   turnbuckle_http::client::default_client::tests::the_connect_timeout_covers_the_tls_handshake
        connect_timeout: Duration = Duration::from_secs(10),
        /// Idle connections that are kept for further requests.
        // Beyond: closed
        // Tests: turnbuckle_http_client::tests::idle_connections_are_limited
        max_idle_connections: usize = 32,
        /// The time that an idle connection is kept. It should be shorter than the server's (5 s
        /// are common), so that no request meets the end of its connection.
        // Beyond: closed
        // Tests: turnbuckle_http_client::tests::idle_connections_are_reused_until_their_timeout
        idle_connection_timeout: Duration = Duration::from_secs(4),
        /// The time that a server of HTTP+SSE may take to send its endpoint.
        // Beyond: `no endpoint was named within … (HttpClientOptions::endpoint_timeout)`
        // Tests: turnbuckle_http::client::tests::sse::the_endpoint_has_a_timeout
        endpoint_timeout: Duration = Duration::from_secs(10),
        /// The time that ending the session at the server may take.
        // Beyond: given up
        // Tests: turnbuckle_http::client::tests::statuses::closing_takes_no_longer_than_its_timeout
        close_timeout: Duration = Duration::from_secs(2),
        /// Reconnects of one stream over its whole life.
        // Beyond: `it was taken up again … times (HttpClientOptions::max_reconnects)`
        // Tests: turnbuckle_http::client::tests::streams::reconnects_of_one_stream_are_limited_in_total
        //   turnbuckle_http::client::reconnect::tests::progress_resets_the_backoff_but_not_the_total
        max_reconnects: u32 = 1000,
        /// Reconnects of one stream in a row without anything new.
        // Beyond: `it was taken up again … times in vain
        // (HttpClientOptions::max_fruitless_reconnects)`
        // Tests: turnbuckle_http::client::tests::streams::reconnects_without_progress_are_limited
        max_fruitless_reconnects: u32 = 10,
        /// The delay before a stream is resumed, if the server named none.
        // Tests: turnbuckle_http::client::tests::streams::the_reconnect_delay_applies_where_the_server_names_none
        reconnect_delay: Duration = Duration::from_secs(1),
        /// The longest delay before a stream is resumed, after failures and where the server asks
        /// for more. At least 50 ms, at most a year.
        // Tests: turnbuckle_http::client::reconnect::tests::the_default_and_the_longest_delay_are_settable
        //   turnbuckle_http::client::tests::streams::the_reconnect_delay_applies_where_the_server_names_none
        max_reconnect_delay: Duration = Duration::from_secs(30),
        /// True if proxies of the environment (`HTTPS_PROXY` and its like) are used for servers on
        /// other machines.
        use_env_proxy: bool = true,
        /// True if headers that the user added are sent to another machine over HTTP without
        /// encryption. They may hold credentials that everybody on the way can read.
        allow_unencrypted_headers: bool = false,
    }
}
