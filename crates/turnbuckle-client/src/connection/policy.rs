//! The limits of reconnecting.

use std::time::Duration;

use turnbuckle_types::settings;

settings! {
    /// The limits of reconnecting to a server whose connection is lost again and again.
    #[derive(Debug, Clone, Copy)]
    pub struct ReconnectPolicy {
        /// The most connections that may be opened again within [`ReconnectPolicy::window`].
        // Beyond: `given up after … connections within … (ClientBuilder::reconnect_policy)`
        // Tests: client_faults::endings::a_server_that_keeps_dying_is_given_up
        max_attempts: usize = 5,
        /// The time in which the attempts are counted.
        // Beyond: `given up after … connections within … (ClientBuilder::reconnect_policy)`
        // Tests: client_faults::endings::a_server_that_keeps_dying_is_given_up
        window: Duration = Duration::from_secs(60),
        /// The delay before the second attempt in the window. Each further one waits twice as long.
        // Tests: client_faults::endings::a_server_that_keeps_dying_is_given_up
        initial_backoff: Duration = Duration::from_millis(100),
    }
}
