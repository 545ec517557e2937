//! The `subscriptions/listen` request of the modern era.
//!
//! Specification: basic/patterns/subscriptions (2026-07-28).

use std::sync::Arc;

use turnbuckle_session::handler::Change;
use turnbuckle_session::internal::ChangeFeed;
use turnbuckle_session::transport::Binding;
use turnbuckle_types::{
    CancelledNotificationParams, SubscriptionFilter, SubscriptionsAcknowledgedNotificationParams,
    SubscriptionsListenResult,
};
use turnbuckle_wire::era::Reply;
use turnbuckle_wire::revision::Method;

use super::subscription::SubscriptionHub;
use crate::Server;
use crate::request::context::HandlerContext;

/// Serves one `subscriptions/listen` request: acknowledges the filter that is honoured, then sends
/// every change until the client or the server ends the subscription.
///
/// `provided` are resources of the filter that are not registered, which providers may have.
pub(crate) async fn listen(
    server: Server,
    context: HandlerContext,
    mut honoured: SubscriptionFilter,
    provided: Vec<String>,
) -> Reply {
    let found = server.honour_provided(provided, &mut honoured, &context);
    if let Err(error) = found.await {
        return error.into();
    }
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
    let subscribed = hub.subscribe_for(&context, &feed, uris.map(String::as_str), limits);
    if let Err(error) = subscribed {
        return error.into();
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
            change = feed.next() => match change {
                Some(change) => context.send_frame(change.to_notification(Some(&id))).await,
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

/// Closes the feed and removes it from the hub when dropped.
struct CloseOnDrop<'a>(Arc<ChangeFeed>, &'a SubscriptionHub);

impl Drop for CloseOnDrop<'_> {
    fn drop(&mut self) {
        self.0.close();
        self.1.remove_feed(&self.0);
    }
}
