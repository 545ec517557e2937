//! Changes that other instances share, told to the subscribers of this one.

use std::sync::Arc;

use turnbuckle_cluster::{ChangeReceiver, Cluster, SharedChange};
use turnbuckle_session::handler::Change;
use turnbuckle_session::internal::{ChangeFeed, NotificationFuture, TopicNotification};
use turnbuckle_types::base::change_position::ChangePosition;
use turnbuckle_types::base::text::Escaped;

use crate::Server;
use crate::server::ServerInner;

impl ChangeReceiver for ServerInner {
    fn receive_change(&self, change: &SharedChange, at: Option<ChangePosition>) {
        let hub = &self.subscriptions;
        match (change, to_change(change)) {
            (_, Some(change)) => match at {
                Some(at) => hub.publish_at(&change, at),
                None => hub.publish(&change),
            },
            (
                SharedChange::Topic {
                    topic,
                    method,
                    params,
                },
                _,
            ) => match serde_json::from_slice(params) {
                Ok(params) => {
                    let notification = TopicNotification {
                        method: method.clone(),
                        params: Arc::new(params),
                    };
                    hub.publish_to_topic(topic, &notification);
                }
                Err(error) => {
                    tracing::debug!(error = %Escaped(&error), "a notification of a topic was dropped");
                }
            },
            (SharedChange::TopicChanged(topic), _) => self.topic_changed(topic),
            _ => hub.publish_loss(hub.position()),
        }
    }

    fn receive_position(&self, position: ChangePosition) {
        self.subscriptions.set_position(position);
    }

    fn receive_loss(&self, position: ChangePosition) {
        self.subscriptions.publish_loss(position);
    }
}

impl ServerInner {
    /// Tells the subscribers of a topic, at this instance, what is new about it.
    fn topic_changed(&self, topic: &str) {
        #[cfg(feature = "tasks")]
        if let Some(tasks) = &self.tasks {
            tasks.topic_changed(topic);
        }
        #[cfg(not(feature = "tasks"))]
        let _ = topic;
    }
}

impl Server {
    /// Tells a subscriber that has come back what has changed since a position.
    pub(crate) fn catch_up_subscriber(
        &self,
        feed: &Arc<ChangeFeed>,
        position: ChangePosition,
    ) -> Option<NotificationFuture> {
        let cluster = self.0.cluster.clone()?;
        let (server, feed) = (self.clone(), feed.clone());
        Some(Box::pin(async move {
            cluster.changes().ready().await;
            let since = || changes_since(&cluster, position);
            server.0.subscriptions.catch_up(&feed, position, since);
        }))
    }
}

/// Returns the changes of lists and resources in the log after a position, each at its latest one. `None` if
/// they are not known.
pub(super) fn changes_since(
    cluster: &Cluster,
    position: ChangePosition,
) -> Option<Vec<(Change, ChangePosition)>> {
    let since = cluster.changes().since(position)?.into_iter();
    let changes = since.filter_map(|(change, at)| Some((to_change(&change)?, at)));
    Some(changes.collect())
}

/// Returns the list or the resource that has changed, if it is one.
fn to_change(shared: &SharedChange) -> Option<Change> {
    match shared {
        SharedChange::Tools => Some(Change::Tools),
        SharedChange::Prompts => Some(Change::Prompts),
        SharedChange::Resources => Some(Change::Resources),
        SharedChange::Resource(uri) => Some(Change::Resource(uri.clone())),
        _ => None,
    }
}
