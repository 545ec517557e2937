//! Bounds and delays of many servers.

use std::time::Duration;

/// The bounds of [`Servers`](crate::Servers), and the delays of connecting again.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct ServersLimits {
    /// The most servers. Default: 64.
    pub max_servers: usize,
    /// The most tools of one server, and as many resources, templates and prompts. Default: 1000.
    pub max_items_per_server: usize,
    /// The most tools of all servers, and as many resources, templates and prompts. Default: 10,000.
    pub max_items: usize,
    /// The most bytes of all definitions of one server, as JSON. Default: 4 MiB.
    pub max_server_bytes: usize,
    /// The most bytes of all definitions of all servers, as JSON. Default: 32 MiB.
    pub max_bytes: usize,
    /// The delay before the second attempt to connect. Each further one waits twice as long.
    /// Default: 1 second.
    pub initial_backoff: Duration,
    /// The longest delay before an attempt to connect. Default: 1 minute.
    pub max_backoff: Duration,
    /// The shortest time between two readings of a server's lists. Default: 250 ms.
    pub refresh_interval: Duration,
    /// The time after which a silent server is asked for a sign of life, unless requests are under
    /// way. Default: 30 seconds.
    pub check_interval: Duration,
    /// The time in which that sign has to come; otherwise the server is connected anew. Default: 10
    /// seconds.
    pub check_timeout: Duration,
}

impl Default for ServersLimits {
    fn default() -> Self {
        Self {
            max_servers: 64,
            max_items_per_server: 1000,
            max_items: 10_000,
            max_server_bytes: 4 << 20,
            max_bytes: 32 << 20,
            initial_backoff: Duration::from_secs(1),
            max_backoff: Duration::from_secs(60),
            refresh_interval: Duration::from_millis(250),
            check_interval: Duration::from_secs(30),
            check_timeout: Duration::from_secs(10),
        }
    }
}

macro_rules! setters {
    ($($field:ident: $Type:ty, $what:literal;)+) => {
        impl ServersLimits {
            /// Creates the default limits.
            #[must_use]
            pub fn new() -> Self {
                Self::default()
            }

            $(
                #[doc = concat!("Sets ", $what, ".")]
                #[must_use]
                pub fn $field(mut self, value: $Type) -> Self {
                    self.$field = value;
                    self
                }
            )+
        }
    };
}

setters! {
    max_servers: usize, "the most servers";
    max_items_per_server: usize, "the most items of each kind of one server";
    max_items: usize, "the most items of each kind of all servers";
    max_server_bytes: usize, "the most bytes of the definitions of one server";
    max_bytes: usize, "the most bytes of the definitions of all servers";
    initial_backoff: Duration, "the delay before the second attempt to connect";
    max_backoff: Duration, "the longest delay before an attempt to connect";
    refresh_interval: Duration, "the shortest time between two readings of a server's lists";
    check_interval: Duration, "the time after which a silent server is asked for a sign of life";
    check_timeout: Duration, "the time in which a sign of life has to come";
}
