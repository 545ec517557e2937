//! Settings of one server behind the merged view or the proxy.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use turnbuckle_server::HandlerContext;
use turnbuckle_session::transport::Connector;
use turnbuckle_types::base::setters;

/// The time after which a connection of a session, a principal or a pool is closed if nobody uses it.
const IDLE_TIMEOUT: Duration = Duration::from_secs(10 * 60);

/// The most connections of sessions or principals to one server.
const MAX_CONNECTIONS: usize = 64;

/// The largest pool that a text names.
const MAX_POOL: usize = 1024;

/// The connections to an upstream server: which clients of a proxy share one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Deserialize)]
#[serde(try_from = "String")]
#[non_exhaustive]
pub enum UpstreamMode {
    /// One connection for all clients.
    #[default]
    Shared,
    /// One connection for each session of a client. In the modern era, which has no sessions: for each
    /// principal, or else for each network address. It ends with the session.
    PerSession,
    /// One connection for each principal. Requests without one fail.
    PerPrincipal,
    /// At most so many connections, each of which serves one request at a time. No client has more than half
    /// of them.
    Pool(usize),
}

/// Parses `shared`, `per-session`, `per-principal` or `pool:8`.
impl FromStr for UpstreamMode {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let size = text.strip_prefix("pool:").map(str::parse);
        match (text, size) {
            ("shared", _) => Ok(Self::Shared),
            ("per-session", _) => Ok(Self::PerSession),
            ("per-principal", _) => Ok(Self::PerPrincipal),
            (_, Some(Ok(size @ 1..=MAX_POOL))) => Ok(Self::Pool(size)),
            _ => Err(format!(
                "the modes are shared, per-session, per-principal, and pool:N for 1 to {MAX_POOL} connections"
            )),
        }
    }
}

impl TryFrom<String> for UpstreamMode {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl UpstreamMode {
    /// Returns whether a connection serves the requests of one client at most.
    pub(crate) fn is_private(self) -> bool {
        matches!(self, Self::PerSession | Self::PerPrincipal)
    }
}

/// The settings of one upstream server: its connections, and the bounds of the requests to it.
#[derive(Debug, Clone)]
#[must_use]
pub struct UpstreamOptions {
    pub(crate) max_connections: usize,
    pub(crate) idle_timeout: Option<Duration>,
    pub(crate) by_client: Option<ClientConnector>,
    pub(crate) mode: UpstreamMode,
    pub(crate) max_in_flight: Option<usize>,
    pub(crate) max_result_bytes: Option<usize>,
    pub(crate) total_timeout: Option<Duration>,
}

impl Default for UpstreamOptions {
    fn default() -> Self {
        Self {
            mode: UpstreamMode::default(),
            max_connections: MAX_CONNECTIONS,
            idle_timeout: None,
            by_client: None,
            max_in_flight: None,
            max_result_bytes: None,
            total_timeout: None,
        }
    }
}

/// The connector of the connections of one client, which depends on a text that is taken from its requests.
#[derive(Clone)]
pub(crate) struct ClientConnector {
    settings: Arc<dyn Fn(&HandlerContext) -> String + Send + Sync>,
    connector: Arc<dyn Fn(&str) -> MadeConnector + Send + Sync>,
}

/// A connector, or the reason why there is none.
type MadeConnector = Result<Arc<dyn Connector>, String>;

impl ClientConnector {
    /// Returns the text of the request that the connector depends on.
    pub(crate) fn settings(&self, context: &HandlerContext) -> String {
        (self.settings)(context)
    }

    /// Returns the connector for this text, or the reason why there is none.
    pub(crate) fn connector(&self, settings: &str) -> MadeConnector {
        (self.connector)(settings)
    }
}

/// Prints nothing of the requests of clients.
impl fmt::Debug for ClientConnector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ClientConnector")
    }
}

impl UpstreamOptions {
    /// Returns the time after which a connection of a session, a principal or a pool is closed if nobody
    /// uses it.
    pub(crate) fn client_idle_timeout(&self) -> Duration {
        self.idle_timeout.unwrap_or(IDLE_TIMEOUT)
    }

    /// Gives the connections of sessions and principals a connector of their own, for credentials and
    /// settings that differ between clients.
    ///
    /// `settings` takes a text from a request: the value of a header, the subject of a principal.
    /// `connector` makes the connector for it. Requests with different texts never share a connection. The
    /// connector that the server was added with is for the connection that tells the capabilities and the
    /// instructions of the server; if it fails, the server is taken to have every capability.
    ///
    /// ```
    /// use turnbuckle_servers::{UpstreamMode, UpstreamOptions};
    /// # use turnbuckle_http::HttpConnector;
    ///
    /// let options = UpstreamOptions::default().mode(UpstreamMode::PerPrincipal).connector_for(
    ///     |context| context.principal().map(|it| it.subject.clone()).unwrap_or_default(),
    ///     |subject| HttpConnector::new("https://db.example.com/mcp")?.header("X-User", subject),
    /// );
    /// ```
    pub fn connector_for<C, E>(
        mut self,
        settings: impl Fn(&HandlerContext) -> String + Send + Sync + 'static,
        connector: impl Fn(&str) -> Result<C, E> + Send + Sync + 'static,
    ) -> Self
    where
        C: Connector,
        E: fmt::Display,
    {
        self.by_client = Some(ClientConnector {
            settings: Arc::new(settings),
            connector: Arc::new(move |settings| match connector(settings) {
                Ok(connector) => Ok(Arc::new(connector)),
                Err(error) => Err(error.to_string()),
            }),
        });
        self
    }

    setters! {
        /// Sets which clients of a proxy share a connection. Default: [`UpstreamMode::Shared`].
        mode(mode: UpstreamMode) { mode = mode }

        /// Sets how many connections sessions or principals have to the server; at least one. No client has
        /// more than half of them. Default 64.
        max_connections(connections: usize) { max_connections = connections.max(1) }

        /// Sets how long a connection stays open without a request, whatever streams are open. The next
        /// request opens another one. Default: 10 minutes for connections of sessions, principals and pools; the
        /// first connection stays open. With a setting, that one is closed, too: the lists that were read over it
        /// stay as they are, and their changes show after the next request.
        idle_timeout(timeout: Duration) { idle_timeout = Some(timeout) }

        /// Sets how many requests of a proxy's clients the server gets at once; at least one. Further ones
        /// wait for their turn, half a minute at most. Default: as many as
        /// [`ClientLimits::max_outgoing_requests`](turnbuckle_session::transport::ClientLimits::max_outgoing_requests)
        /// leaves.
        max_in_flight(requests: usize) { max_in_flight = Some(requests.max(1)) }

        /// Sets how many bytes of JSON a result of the server may have. A larger one is an error of the request.
        /// Default: what the transport takes.
        max_result_bytes(bytes: usize) { max_result_bytes = Some(bytes) }

        /// Sets how long a request to the server may take in all, with questions to the client. Default:
        /// the total timeout of the client.
        total_timeout(timeout: Duration) { total_timeout = Some(timeout) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mode_has_a_name_and_a_pool_a_size() {
        for (text, mode) in [
            ("shared", UpstreamMode::Shared),
            ("per-session", UpstreamMode::PerSession),
            ("per-principal", UpstreamMode::PerPrincipal),
            ("pool:8", UpstreamMode::Pool(8)),
            ("pool:1024", UpstreamMode::Pool(1024)),
        ] {
            assert_eq!(text.parse::<UpstreamMode>(), Ok(mode), "{text}");
        }
        for text in [
            "",
            "pool",
            "pool:",
            "pool:0",
            "pool:1025",
            "pool:-1",
            "session",
        ] {
            assert!(text.parse::<UpstreamMode>().is_err(), "{text}");
        }
    }
}
