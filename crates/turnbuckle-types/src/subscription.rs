//! Listening for changes.

use crate::object::object;
use crate::{Meta, RequestId};

object! {
    /// The notifications that a listener wants, or will be sent.
    ///
    /// Specification: basic/patterns/subscriptions (2026-07-28).
    pub struct SubscriptionFilter {
        /// Changes of the list of tools.
        opt tools_list_changed: bool = "toolsListChanged",
        /// Changes of the list of prompts.
        opt prompts_list_changed: bool = "promptsListChanged",
        /// Changes of the list of resources.
        opt resources_list_changed: bool = "resourcesListChanged",
        /// Updates of the resources with these URIs.
        opt resource_subscriptions: Vec<String> = "resourceSubscriptions",
    }

    /// Parameters of `subscriptions/listen`.
    pub struct SubscriptionsListenRequestParams {
        /// The notifications that the listener wants.
        req notifications: SubscriptionFilter = "notifications",
        /// Metadata.
        map meta: Meta = "_meta",
    }

    /// Result of `subscriptions/listen`: the graceful end of the stream.
    pub struct SubscriptionsListenResult {
        /// Metadata, with the subscription's id.
        map meta: Meta = "_meta",
    }
}

impl SubscriptionsListenResult {
    /// Creates the result that ends the subscription that the request `id` opened.
    #[must_use]
    pub fn for_subscription(id: impl Into<RequestId>) -> Self {
        let mut result = Self::new();
        result.meta.set_subscription_id(id);
        result
    }
}

object! {
    /// Parameters of `notifications/subscriptions/acknowledged`.
    pub struct SubscriptionsAcknowledgedNotificationParams {
        /// The notifications that the listener will be sent.
        req notifications: SubscriptionFilter = "notifications",
        /// Metadata, with the subscription's id.
        map meta: Meta = "_meta",
    }
}
