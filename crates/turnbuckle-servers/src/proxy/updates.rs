//! Updates of single resources: the proxy is subscribed to those that its clients are subscribed to.

use std::collections::HashMap;
use std::time::Duration;

use tokio::task::JoinHandle;
use turnbuckle_client::{ChangeFilter, Client};
use turnbuckle_server::Server;
use turnbuckle_session::handler::Change;
use turnbuckle_types::base::text::Escaped;

use crate::servers::WeakServers;

/// The time after which a subscription that has ended is tried again.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);

/// The most resources whose updates a proxy passes on.
const MAX_RESOURCES: usize = 10_000;

/// The subscriptions of a proxy, by the URI in the merged view.
pub(super) struct ResourceUpdates {
    server: Server,
    servers: WeakServers,
    forwarding: HashMap<String, AbortOnDrop>,
}

/// A task that ends with this value.
struct AbortOnDrop(JoinHandle<()>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl ResourceUpdates {
    pub(super) fn new(server: Server, servers: WeakServers) -> Self {
        Self {
            server,
            servers,
            forwarding: HashMap::new(),
        }
    }

    /// Follows the subscriptions of the proxy's clients. Dropping the future ends those of the proxy.
    pub(super) async fn follow(mut self) {
        loop {
            let wanted = self.server.subscribed_resources();
            self.forwarding.retain(|uri, _| wanted.contains(uri));
            for uri in wanted.into_iter().take(MAX_RESOURCES) {
                if !self.forwarding.contains_key(&uri) {
                    let forwarding =
                        forward_updates(self.server.clone(), self.servers.clone(), uri.clone());
                    let task = AbortOnDrop(tokio::spawn(forwarding));
                    self.forwarding.insert(uri, task);
                }
            }
            if let Some(servers) = self.servers.upgrade() {
                servers.update_own_connections();
            }
            self.server.subscribed_resources_changed().await;
        }
    }
}

/// Passes the updates of one resource on, over every connection to its server, until the servers are
/// closed.
async fn forward_updates(server: Server, servers: WeakServers, uri: String) {
    let mut is_resumed = false;
    loop {
        let Some(open) = servers.upgrade() else {
            return;
        };
        let Some((owner, own_uri)) = open.readable_owner(&uri) else {
            return;
        };
        if open.has_own_connections(&owner) {
            // The connections of the clients tell of them.
            return;
        }
        let client = open.client(&owner);
        // The task must not keep the servers open.
        drop(open);
        if let Ok(client) = client {
            forward_from(&server, client, &uri, &own_uri, is_resumed).await;
            is_resumed = true;
        }
        tokio::time::sleep(RETRY_INTERVAL).await;
    }
}

/// Passes updates on until the subscription ends. An update may have been missed before a subscription
/// that is resumed.
async fn forward_from(server: &Server, client: Client, uri: &str, own_uri: &str, is_resumed: bool) {
    let subscribed = client.subscribe(ChangeFilter::new().resource(own_uri));
    match subscribed.await {
        Ok(mut subscription) => {
            if is_resumed {
                server.notify_resource_updated(uri);
            }
            while let Some(change) = subscription.next().await {
                if matches!(change, Change::Resource(_)) {
                    server.notify_resource_updated(uri);
                }
            }
        }
        Err(error) => {
            tracing::debug!(uri, error = %Escaped(&error), "no updates of a resource behind the proxy")
        }
    }
}
