//! Pings that find out whether the server is still there.

use std::sync::Arc;
use std::time::Duration;

use turnbuckle_wire::revision::{Method, Party};

use super::client_session::ClientSession;
use super::request::OutboundRequest;
use super::response::RequestError;
use crate::client::link_error::LinkError;
use crate::client::negotiated_revision::NegotiatedRevision;
use crate::client::tasks;
use crate::client::timeouts::Timeouts;

impl ClientSession {
    /// Starts to ping the server after every `interval`. The first ping without a response within
    /// `timeout` ends the connection. Servers of a revision without `ping` are not pinged.
    ///
    /// Specification: basic/utilities/ping (2025-11-25).
    pub fn start_pinging(self: &Arc<Self>, interval: Duration, timeout: Duration) {
        if let Some(revision) = self.revision.get()
            && Method::Ping.is_received_by(Party::Server, revision.features().revision)
        {
            tasks::spawn(ping_repeatedly(self, revision.clone(), interval, timeout));
        }
    }
}

/// Pings the server until the session ends. Keeps no handle of the session while it waits.
fn ping_repeatedly(
    session: &Arc<ClientSession>,
    revision: Arc<NegotiatedRevision>,
    interval: Duration,
    timeout: Duration,
) -> impl Future<Output = ()> + use<> {
    let (session, closed) = (Arc::downgrade(session), session.closed().clone());
    async move {
        loop {
            tokio::select! {
                () = tokio::time::sleep(interval) => {}
                () = closed.cancelled() => return,
            }
            let Some(session) = session.upgrade() else {
                return;
            };
            let mut ping = OutboundRequest::new(Method::Ping.as_str(), None, &revision);
            ping.timeouts = Timeouts::uniform(timeout);
            ping.ignores_limit = true;
            // An error response is a sign of life too.
            if let Err(RequestError::TimedOut(_)) = session.send_request(ping).await {
                tracing::warn!(
                    ?timeout,
                    "a ping was not answered in time (ClientBuilder::keep_alive): the connection ends"
                );
                session.abort(LinkError::ConnectionLost {
                    reason: format!(
                        "a ping was not answered within {timeout:?} (ClientBuilder::keep_alive)"
                    ),
                });
                return session.close().await;
            }
        }
    }
}
