//! The interface between sessions and the server whose handlers answer their requests.

use std::pin::Pin;
use std::sync::Arc;

use turnbuckle_types::base::change_position::ChangePosition;
use turnbuckle_types::{Audit, Implementation, KeyRing, ServerCapabilities};
use turnbuckle_wire::era::Params;
use turnbuckle_wire::json;

use crate::server::change_feed::ChangeFeed;
use crate::server::context::RequestContext;
use crate::server::peer::Peer;
use crate::server::session_record::SessionOwner;
use crate::shared::incoming::{HandlerOutcome, IncomingNotification, IncomingRequest};
use crate::shared::transport::HttpNeeds;

/// The future that handles a notification. It runs in a task until it is done or its session ends.
pub type NotificationFuture = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A server's description of itself, for `initialize` and `server/discover`.
#[derive(Debug, Clone)]
pub struct ServerIdentity {
    /// The server's name, version and further information.
    pub info: Implementation,
    /// The capabilities that the server declares.
    pub capabilities: ServerCapabilities,
    /// Instructions for using the server, written for a model.
    pub instructions: Option<String>,
    /// True if every result of the modern era carries the server's name and version.
    pub include_in_results: bool,
    /// The time for which a client may cache the result of `server/discover`, in milliseconds.
    pub ttl_ms: u64,
    /// True if a cache of that result may be shared between users.
    pub public: bool,
}

impl ServerIdentity {
    /// Returns the name and version that every modern result carries, as JSON; `None` if results
    /// do not carry it. `server/discover` returns the full information.
    #[must_use]
    pub fn to_server_info(&self) -> Option<Vec<u8>> {
        let short = Implementation::new(self.info.name.as_str(), self.info.version.as_str());
        self.include_in_results
            .then(|| json::to_vec(&short).ok())
            .flatten()
    }
}

/// The subscriptions of a legacy session that another instance of the server has begun and ended.
#[derive(Debug, Clone, Copy)]
pub struct RestoredSubscriptions<'a> {
    /// The principal of the session.
    pub owner: Option<&'a SessionOwner>,
    /// The resources to which the session is subscribed from now on.
    pub added: &'a [Box<str>],
    /// The resources to which it is no longer subscribed.
    pub removed: &'a [Box<str>],
    /// The position in the log of changes at which the session was not subscribed to `added` yet. Its client
    /// is told of later changes. `None` if it was told of them.
    pub since: Option<ChangePosition>,
}

/// A server that answers requests: the application side of a session.
///
/// `turnbuckle_server::Server` implements it. The methods are called by sessions only and may
/// change in any release.
pub trait Dispatch: Send + Sync + 'static {
    /// Returns the server's description of itself. The description never changes.
    fn identity(&self) -> &ServerIdentity;

    /// Begins the work that the server does beside requests. It is called for each endpoint of the server
    /// and each connection, and begins the work once.
    fn start(&self) {}

    /// Returns the member of the parameters that the header `Mcp-Name` mirrors in requests of a method
    /// that an extension defines.
    fn mirrored_param(&self, method: &str) -> Option<&'static str> {
        let _ = method;
        None
    }

    /// Returns the parameters of the request that a request stands for: the tool of a server can stand for its
    /// others. `None` for all other requests.
    fn redirect<'a>(&self, method: &str, params: &Params<'a>) -> Option<Params<'a>> {
        let _ = (method, params);
        None
    }

    /// Handles a request whose method the sender's revision has, or no revision has.
    fn call(&self, request: IncomingRequest<'_>, context: RequestContext) -> HandlerOutcome;

    /// Handles a notification that the session itself has no use for. The returned future runs in a
    /// task; the notification is dropped when [`max_notification_handlers`] run already.
    ///
    /// [`max_notification_handlers`]: crate::handler::Limits::max_notification_handlers
    fn handle_notification(
        &self,
        notification: IncomingNotification<'_>,
        peer: &Peer,
    ) -> Option<NotificationFuture> {
        let _ = (notification, peer);
        None
    }

    /// Handles the opening of a legacy session, once it was initialized. `peer` reaches its client
    /// until the session ends.
    fn session_opened(&self, peer: &Peer) {
        let _ = peer;
    }

    /// Subscribes a legacy session to resources, and ends subscriptions of it, because another instance
    /// of the server did so for its client.
    fn restore_subscriptions(&self, peer: &Peer, restored: RestoredSubscriptions<'_>) {
        let _ = (peer, restored);
    }

    /// Returns a future that tells a subscriber what has changed since `position`, which it names. `feed` is
    /// its feed. `None` if the server shares no changes with other instances.
    #[cfg(feature = "store")]
    fn catch_up(
        &self,
        feed: &Arc<ChangeFeed>,
        position: ChangePosition,
    ) -> Option<NotificationFuture> {
        let _ = (feed, position);
        None
    }

    /// Handles the end of a session. `feed` is the feed of that session, and is closed.
    fn session_closed(&self, feed: &Arc<ChangeFeed>) {
        let _ = feed;
    }

    /// Waits until no work runs that outlives its request, such as a task. None begins from then on.
    fn join_work(&self) -> NotificationFuture {
        Box::pin(std::future::ready(()))
    }

    /// Returns the parts that handlers read of the HTTP requests in which messages arrive.
    fn http_needs(&self) -> HttpNeeds {
        HttpNeeds::default()
    }

    /// Returns the receiver of the records of all requests, if there is one.
    fn audit(&self) -> Option<&Arc<dyn Audit>> {
        None
    }

    /// Returns the keys of what the server hands out and trusts when it comes back, if it has any.
    fn keys(&self) -> Option<&KeyRing> {
        None
    }

    /// Returns this instance among those that share the store of the server, if it has a store.
    #[cfg(feature = "store")]
    fn cluster(&self) -> Option<&Arc<turnbuckle_cluster::Cluster>> {
        None
    }

    /// Returns whether the keys were given to the server, so that other instances and later processes
    /// have them too.
    fn has_shared_keys(&self) -> bool {
        false
    }

    /// Returns the scopes that the items of the server require, in order and without repetition.
    fn scopes(&self) -> Vec<String> {
        Vec::new()
    }
}
