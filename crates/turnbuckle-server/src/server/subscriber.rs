//! One subscriber of a server, for changes that are not for all.

use std::pin::Pin;
use std::sync::{Arc, Weak};

use turnbuckle_session::internal::ChangeFeed;
use turnbuckle_types::ProtocolError;
use turnbuckle_types::base::debug_fields;

use crate::request::context::HandlerContext;

/// A stream of notifications of one client: that of a legacy session, or of a `subscriptions/listen` request.
/// Does not keep it open.
#[derive(Clone)]
pub struct Subscriber(Weak<ChangeFeed>);

debug_fields!(Subscriber {});

/// Called when a subscription of a client begins; see [`Server::on_subscription`](crate::Server::on_subscription).
pub(crate) type SubscriptionHook =
    Arc<dyn Fn(HandlerContext, Subscriber, Vec<String>) -> RefusalsFuture + Send + Sync>;

/// The resources of a subscription that are refused, with the reasons.
type RefusalsFuture = Pin<Box<dyn Future<Output = Vec<(String, ProtocolError)>> + Send>>;

impl Subscriber {
    pub(crate) fn new(feed: &Arc<ChangeFeed>) -> Self {
        Self(Arc::downgrade(feed))
    }

    /// Returns the subscriber of the legacy session that a request belongs to.
    #[must_use]
    pub fn of_session(context: &HandlerContext) -> Option<Self> {
        context.session_change_feed().map(Self::new)
    }

    /// Returns the stream, if it still exists.
    pub(super) fn feed(&self) -> Option<Arc<ChangeFeed>> {
        self.0.upgrade()
    }

    /// Returns whether the stream is open.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.0.upgrade().is_some_and(|feed| !feed.is_closed())
    }

    /// Returns whether two values are the same stream.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        self.0.ptr_eq(&other.0)
    }
}
