//! The `subscriptions/listen` request of the modern era.
//!
//! Specification: basic/patterns/subscriptions (2026-07-28).

use std::sync::Arc;

#[cfg(feature = "store")]
use turnbuckle_cluster::SharedChange;
use turnbuckle_session::handler::Change;
use turnbuckle_session::internal::{ChangeFeed, TopicNotification};
use turnbuckle_session::transport::Binding;
use turnbuckle_types::{
    CancelledNotificationParams, ExtensionNotification, Extra, ProtocolError, SubscriptionFilter,
    SubscriptionsAcknowledgedNotificationParams, SubscriptionsListenResult,
};
use turnbuckle_wire::era::Reply;
use turnbuckle_wire::revision::Method;

use super::subscriber::Subscriber;
use super::subscription::{SubscriptionHub, SubscriptionKey, check_subscription_count, topic_key};
use crate::Server;
use crate::error::failure::Failure;
use crate::request::context::HandlerContext;

/// Serves one `subscriptions/listen` request: acknowledges the filter that is honoured, then sends
/// every change until the client or the server ends the subscription.
///
/// `provided` are resources of the filter that are not registered, which providers may have, and
/// `extra` are its members that extensions may have.
pub(crate) async fn listen(
    server: Server,
    context: HandlerContext,
    mut honoured: SubscriptionFilter,
    provided: Vec<String>,
    extra: Extra,
) -> Reply {
    let found = server.honour_provided(provided, &mut honoured, &context);
    if let Err(error) = found.await {
        return error.into();
    }
    let topics = match server
        .accept_extension_filters(&extra, &mut honoured, &context)
        .await
    {
        Ok(topics) => topics,
        Err(error) => return error.into(),
    };
    let feed = Arc::new(ChangeFeed::new());
    let hub = &server.0.subscriptions;
    let end = CloseOnDrop(feed.clone(), hub);
    let lists = [
        (honoured.tools_list_changed, Change::Tools),
        (honoured.prompts_list_changed, Change::Prompts),
        (honoured.resources_list_changed, Change::Resources),
    ];
    for (_, change) in lists
        .into_iter()
        .filter(|(wanted, _)| *wanted == Some(true))
    {
        hub.subscribe(&feed, change);
    }
    let uris = honoured.resource_subscriptions.iter().flatten();
    let limits = server.0.subscription_limits;
    let keys = uris
        .map(|uri| SubscriptionKey::Resource(uri))
        .chain(topics.iter().map(|topic| SubscriptionKey::Topic(topic)));
    let subscribed = hub.subscribe_for(&context, &feed, keys, limits);
    if let Err(error) = subscribed {
        return error.into();
    }
    if let Some(function) = server.0.on_subscription.get() {
        let uris = honoured.resource_subscriptions.clone().unwrap_or_default();
        for (refused, _) in function(context.clone(), Subscriber::new(&feed), uris).await {
            hub.unsubscribe(&feed, &refused);
            if let Some(uris) = &mut honoured.resource_subscriptions {
                uris.retain(|uri| *uri != refused);
            }
        }
    }
    let id = context.id().clone();
    let mut acknowledged = SubscriptionsAcknowledgedNotificationParams::new(honoured);
    acknowledged.meta.set_subscription_id(id.clone());
    context
        .notify(Method::SubscriptionsAcknowledged.as_str(), acknowledged)
        .await;
    loop {
        tokio::select! {
            biased;
            () = context.closing() => break,
            change = feed.next_notification(&id) => match change {
                Some(change) => context.send_change(change).await,
                None => break,
            },
        }
    }
    drop(end);
    if context.binding() == Binding::Duplex {
        let mut cancelled = CancelledNotificationParams::new();
        cancelled.request_id = Some(id.clone());
        cancelled.meta.set_subscription_id(id.clone());
        context.notify(Method::Cancelled.as_str(), cancelled).await;
    }
    Reply::complete(SubscriptionsListenResult::for_subscription(id))
}

impl Server {
    /// Accepts the members of a subscription filter that belong to extensions, and returns the keys of
    /// their topics.
    async fn accept_extension_filters(
        &self,
        extra: &Extra,
        honoured: &mut SubscriptionFilter,
        context: &HandlerContext,
    ) -> Result<Vec<String>, ProtocolError> {
        let topics = self
            .0
            .extensions
            .accept_filters(extra, honoured, context)
            .await?;
        let resources = honoured.resource_subscriptions.as_ref().map_or(0, Vec::len);
        let limit = self.0.subscription_limits.per_subscriber;
        check_subscription_count(resources + topics.len(), limit)?;
        Ok(topics)
    }

    /// Notifies the clients that are subscribed to a topic of an extension; see
    /// [`Extension::filter`](crate::Extension::filter).
    ///
    /// A subscriber that is too far behind gets the latest notification of each method for each topic.
    ///
    /// # Errors
    /// When the parameters do not encode as a JSON object.
    pub fn notify_topic<N: ExtensionNotification>(
        &self,
        topic: &str,
        params: &N::Params,
    ) -> crate::Result<()> {
        let unencodable = |error| Failure::new(format!("{}: {error}", N::METHOD));
        let notification = TopicNotification::new::<N>(params).map_err(unencodable)?;
        let key = topic_key(N::EXTENSION, topic);
        #[cfg(feature = "store")]
        if let Some(cluster) = &self.0.cluster {
            let params = serde_json::to_vec(&*notification.params).map_err(unencodable)?;
            cluster.changes().publish(SharedChange::Topic {
                topic: key.into(),
                method: notification.method,
                params: params.into(),
            });
            return Ok(());
        }
        self.0.subscriptions.publish_to_topic(&key, &notification);
        Ok(())
    }
}

/// Closes the feed and removes it from the hub when dropped.
struct CloseOnDrop<'a>(Arc<ChangeFeed>, &'a SubscriptionHub);

impl Drop for CloseOnDrop<'_> {
    fn drop(&mut self) {
        self.0.close();
        self.1.remove_feed(&self.0);
    }
}
