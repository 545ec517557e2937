//! Subscriptions to single resources in a legacy session.
//!
//! They belong to the session: the first subscription of the client that needs a resource
//! subscribes to it, the last one unsubscribes.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;
use turnbuckle_session::internal::OutboundRequest;
use turnbuckle_session::transport::{LinkError, Timeouts};
use turnbuckle_types::method::{Subscribe, Unsubscribe};
use turnbuckle_types::{Request, SubscribeRequestParams, UnsubscribeRequestParams};

use crate::connection::Connection;
use crate::error::Error;
use crate::incoming::registry::SubscriptionRegistry;
use crate::request::inner::ClientInner;

/// The longest time in which the resources of one subscription are unsubscribed from.
const UNSUBSCRIBE_TIMEOUT: Duration = Duration::from_secs(10);

/// The resources of one subscription. Dropping it unsubscribes from those that no other
/// subscription needs.
pub(super) struct ResourceSubscriptions {
    subscriptions: Arc<SubscriptionRegistry>,
    connection: Arc<Connection>,
    uris: Vec<Arc<str>>,
}

/// Subscribes to resources, one at a time, so that subscribing to a resource and unsubscribing from
/// it cannot overtake each other.
pub(super) async fn subscribe_all(
    inner: &Arc<ClientInner>,
    connection: &Arc<Connection>,
    uris: impl Iterator<Item = &Arc<str>>,
) -> Result<ResourceSubscriptions, Error> {
    let mut subscriptions = ResourceSubscriptions {
        subscriptions: inner.subscriptions.clone(),
        connection: connection.clone(),
        uris: Vec::new(),
    };
    for uri in uris {
        let mut counts = inner.subscriptions.resource_counts.lock().await;
        match counts.for_connection(connection).get_mut(uri) {
            Some(count) => *count += 1,
            None => {
                let params = SubscribeRequestParams::new(&**uri);
                let mut request = OutboundRequest::new(
                    Subscribe::METHOD,
                    Some(&params),
                    &connection.negotiated_revision,
                );
                request.timeouts = inner.timeouts;
                let sent = connection.session.send_request(request);
                sent.await.map_err(|error| inner.to_error(error))?;
                counts.for_connection(connection).insert(uri.clone(), 1);
            }
        }
        subscriptions.uris.push(uri.clone());
    }
    Ok(subscriptions)
}

/// Unsubscribes from resources. Holds no reference to the client, so that a server that does not
/// answer keeps no connection open.
async fn unsubscribe_all(
    subscriptions: Arc<SubscriptionRegistry>,
    connection: Arc<Connection>,
    uris: Vec<Arc<str>>,
) {
    let mut uris = uris.into_iter();
    let unsubscribed = async {
        loop {
            let mut counts = subscriptions.resource_counts.lock().await;
            let Some(uri) = uris.next() else { return };
            if !counts.release(&connection, &uri) {
                continue;
            }
            let params = UnsubscribeRequestParams::new(&*uri);
            let mut request = OutboundRequest::new(
                Unsubscribe::METHOD,
                Some(&params),
                &connection.negotiated_revision,
            );
            request.timeouts = Timeouts::NONE;
            if let Err(error) = connection.session.send_request(request).await {
                tracing::debug!(?error, "a resource could not be unsubscribed from");
            }
        }
    };
    if timeout(UNSUBSCRIBE_TIMEOUT, unsubscribed).await.is_err() {
        tracing::debug!(
            left = uris.len() + 1,
            "resources were not unsubscribed from in time"
        );
        let mut counts = subscriptions.resource_counts.lock().await;
        for uri in uris {
            counts.release(&connection, &uri);
        }
    }
}

impl Drop for ResourceSubscriptions {
    fn drop(&mut self) {
        let uris = std::mem::take(&mut self.uris);
        if uris.is_empty() || self.connection.session.is_closed() {
            return;
        }
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let subscriptions = self.subscriptions.clone();
            runtime.spawn(unsubscribe_all(
                subscriptions,
                self.connection.clone(),
                uris,
            ));
        }
    }
}

impl ResourceSubscriptions {
    /// Waits until the connection is lost and returns the reason.
    pub(super) async fn wait_for_end(&self) -> String {
        self.connection.session.closed().cancelled().await;
        let cause = self.connection.session.close_reason();
        cause.unwrap_or(LinkError::Closed).to_string()
    }
}
