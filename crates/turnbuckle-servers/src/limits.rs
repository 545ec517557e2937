//! Bounds and delays of many servers.

use std::time::Duration;

use turnbuckle_types::settings;

settings! {
    /// The bounds of [`Servers`](crate::Servers), and the delays of connecting again.
    #[derive(Debug, Clone, Copy)]
    pub struct ServersLimits {
        /// The most servers.
        // Beyond: `… servers are more than … (ServersLimits::max_servers)`
        // Tests: turnbuckle_servers::tests::items::servers_that_cannot_be_told_apart_are_refused
        max_servers: usize = 64,
        /// The most tools of one server, and as many resources, templates and prompts.
        // Beyond: in the server's status: `… of its … … are left out (ServersLimits::…)`
        // Tests: turnbuckle_servers::tests::items::items_over_the_bounds_are_left_out_and_named
        max_items_per_server: usize = 1000,
        /// The most tools of all servers, and as many resources, templates and prompts.
        // Beyond: in the server's status: `… of its … … have no room beside those of other servers
        // (ServersLimits::…)`
        // Tests: turnbuckle_servers::tests::items::items_over_the_bounds_are_left_out_and_named
        max_items: usize = 10_000,
        /// The most bytes of all definitions of one server, as JSON.
        // Beyond: in the server's status: `… of its … … are left out (ServersLimits::…)`
        // Tests: turnbuckle_servers::tests::items::definitions_over_the_bound_of_bytes_are_left_out
        max_server_bytes: usize = 4 << 20,
        /// The most bytes of all definitions of all servers, as JSON.
        // Beyond: in the server's status: `… of its … … have no room beside those of other servers
        // (ServersLimits::…)`
        // Tests: turnbuckle_servers::tests::items::definitions_over_the_bound_of_bytes_are_left_out
        max_bytes: usize = 32 << 20,
        /// The most connections that sessions and principals of a proxy's clients have to all servers. No client
        /// has more than half of them.
        // Beyond: the call fails: `its clients have as many connections as they may …`
        // Tests: turnbuckle_servers::tests::connections::connections_have_a_bound_for_each_server_and_in_all
        max_connections: usize = 256,
        /// The most bytes of the lists that connections of sessions and principals have read, as JSON with 256 bytes
        /// for each item. Definitions that the lists of the server's first connection have, too, do not count. No
        /// server has more than half of them.
        // Beyond: the client has no items of the server: `the lists of its clients' connections have as many bytes as
        // they may (ServersLimits::max_own_list_bytes, …)`
        // Tests: turnbuckle_servers::tests::own_lists::lists_of_clients_have_a_bound_in_sum
        max_own_list_bytes: usize = 64 << 20,
        /// The time for which the list of a client waits for the client's own connections.
        // Beyond: the list has the items of the others; the client is told when it has changed
        // Tests: turnbuckle_servers::tests::own_lists::a_server_that_is_slow_keeps_no_list_waiting_and_its_items_follow
        own_list_timeout: Duration = Duration::from_secs(10),
        /// The time for which a proxy waits for the first attempts to connect.
        // Beyond: it serves the servers that are ready
        // Tests: turnbuckle_servers::tests::capabilities::a_silent_server_keeps_no_client_waiting
        first_attempt_timeout: Duration = Duration::from_secs(10),
        /// The delay before the second attempt to connect. Each further one waits twice as long.
        // Tests: turnbuckle_servers::tests::reconnect::attempts_follow_after_growing_delays_until_the_server_is_back
        initial_backoff: Duration = Duration::from_secs(1),
        /// The longest delay before an attempt to connect.
        // Tests: turnbuckle_servers::tests::reconnect::attempts_follow_after_growing_delays_until_the_server_is_back
        max_backoff: Duration = Duration::from_secs(60),
        /// The shortest time between two readings of a server's lists.
        // Beyond: the next one waits
        // Tests: turnbuckle_servers::tests::reconnect::a_server_that_announces_changes_without_end_is_read_at_intervals
        refresh_interval: Duration = Duration::from_millis(250),
        /// The time after which a silent server is asked for a sign of life, unless requests are
        /// under way.
        // Tests: turnbuckle_servers::tests::reconnect::a_silent_server_is_asked_for_a_sign_of_life_and_otherwise_connected_anew
        check_interval: Duration = Duration::from_secs(30),
        /// The time in which that sign has to come; otherwise the server is connected anew.
        // Beyond: it is connected anew
        // Tests: turnbuckle_servers::tests::reconnect::a_silent_server_is_asked_for_a_sign_of_life_and_otherwise_connected_anew
        check_timeout: Duration = Duration::from_secs(10),
    }
}
