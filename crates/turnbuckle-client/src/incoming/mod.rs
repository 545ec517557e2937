//! Messages that the server sends by itself: requests go to the input handlers, notifications to
//! the caches, the subscriptions and the user's callbacks.

pub(crate) mod filter;
pub(crate) mod notifications;
pub(crate) mod registry;
pub(crate) mod resource_counts;
pub(crate) mod router;
