//! Settings of one server behind the merged view or the proxy.

use std::time::Duration;

use turnbuckle_types::base::setters;

/// The connections to an upstream server: which clients of a proxy share one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum UpstreamMode {
    /// One connection for all clients.
    #[default]
    Shared,
    /// One connection for each session of a client. In the modern era, which has no sessions: for each
    /// principal.
    PerSession,
    /// One connection for each principal.
    PerPrincipal,
    /// So many connections, each of which serves one request at a time.
    Pool(usize),
}

/// The settings of one upstream server: its connections, and the bounds of the requests to it.
#[derive(Debug, Clone, Default)]
#[must_use]
pub struct UpstreamOptions {
    pub(crate) mode: UpstreamMode,
    pub(crate) max_in_flight: Option<usize>,
    pub(crate) max_result_bytes: Option<usize>,
    pub(crate) total_timeout: Option<Duration>,
}

impl UpstreamOptions {
    setters! {
        /// Sets which clients of a proxy share a connection. Default: [`UpstreamMode::Shared`].
        mode(mode: UpstreamMode) { mode = mode }

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
