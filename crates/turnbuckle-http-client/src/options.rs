//! Settings of a client.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crate::tls::TlsSettings;

/// The settings of a [`Client`](crate::Client).
#[derive(Debug, Clone, Default)]
pub struct ClientOptions {
    /// The time that opening a connection may take, including DNS, the proxy and TLS.
    pub connect_timeout: Option<Duration>,
    /// Idle connections that are kept for further requests.
    pub max_idle_connections: usize,
    /// The time that an idle connection is kept.
    pub idle_connection_timeout: Duration,
    /// True if the proxies of the environment are used, except for hosts that are this machine.
    pub use_env_proxy: bool,
    /// The Unix socket that all requests go to, whatever host they name.
    pub unix_socket: Option<Arc<Path>>,
    /// Trusted certificates, and the client's own.
    pub tls: TlsSettings,
}
