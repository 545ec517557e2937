//! The server: the items that it offers, its settings, its subscribers, and notifications of
//! changes.

pub(crate) mod builder;
mod complete;
pub(crate) mod extension;
mod layered_lists;
mod list;
mod listen;
mod provided;
mod redirect;
mod resource_subscription;
mod router;
mod shared_changes;
#[cfg(feature = "store")]
mod shared_store;
pub(crate) mod subscriber;
mod subscription;
#[cfg(feature = "tasks")]
pub(crate) mod tasks;
pub(crate) mod update;

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, OnceLock, Weak};

use crate::catalog::{Catalog, Catalogs};
use crate::error::BuildError;
use crate::error::failure::{Failure, Result};
use crate::items::CatalogItem;
use crate::items::cache_hint::CacheHint;
use crate::items::registration::Registration;
use crate::request::context::{HandlerContext, ServerSettings};
use crate::request::extract::{Extract, Invocation};
use crate::request::input::StateKeys;
use crate::server::extension::registry::Extensions;
use crate::server::layered_lists::LayeredLists;
use subscriber::{Subscriber, SubscriptionHook};
use subscription::{SubscriptionHub, SubscriptionLimits};
#[cfg(feature = "store")]
use turnbuckle_cluster::Cluster;
use turnbuckle_session::handler::{Change, Peer};
use turnbuckle_session::internal::{NotificationFuture, ServerIdentity};
use turnbuckle_session::transport::{Dispatch, HttpNeeds};
use turnbuckle_types::base::debug_fields;
use turnbuckle_types::{Audit, KeyRing, ProtocolError};

/// A server, ready to be served by any transport.
///
/// Cloning is cheap, and clones share one state: an item that one clone adds is offered by all of
/// them, and subscribed clients are notified.
#[derive(Clone)]
pub struct Server(pub(crate) Arc<ServerInner>);

/// The state that all clones of a [`Server`] share.
pub(crate) struct ServerInner {
    /// Name, version, capabilities and instructions, as `initialize` and `server/discover` send
    /// them.
    pub(crate) identity: ServerIdentity,
    /// The server's identity as encoded JSON, for the `_meta` of modern results. `None` if
    /// [`ServerBuilder::anonymous_results`](crate::ServerBuilder::anonymous_results) left it out.
    pub(crate) server_info: Option<Vec<u8>>,
    pub(crate) catalogs: Catalogs,
    /// Held while an update is checked and applied, so that no other update comes in between.
    pub(crate) update_lock: Mutex<()>,
    pub(crate) extensions: Extensions,
    /// This instance among those that share the store, if the server has one.
    #[cfg(feature = "store")]
    pub(crate) cluster: Option<Arc<Cluster>>,
    /// The keys of what the server hands out and trusts when it comes back.
    pub(crate) keys: KeyRing,
    /// True if the keys were given, and not made for this process.
    pub(crate) has_shared_keys: bool,
    pub(crate) cursor_keys: StateKeys,
    pub(crate) page_size: NonZeroUsize,
    pub(crate) list_cache: CacheHint,
    pub(crate) subscription_limits: SubscriptionLimits,
    pub(crate) roots_changed: Option<RootsChangedHook>,
    pub(crate) audit: Option<Arc<dyn Audit>>,
    /// The tool whose calls are calls of others.
    pub(crate) redirecting_tool: Option<Box<str>>,
    pub(crate) subscriptions: SubscriptionHub,
    /// Called for each subscription that begins, if a function was set.
    pub(crate) on_subscription: OnceLock<SubscriptionHook>,
    pub(crate) registration: Registration,
    /// The tasks of the server, if it has any.
    #[cfg(feature = "tasks")]
    pub(crate) tasks: Option<tasks::TaskHandle>,
    /// The settings that running handlers need.
    pub(crate) settings: Arc<ServerSettings>,
    /// The list requests in the server's layers.
    pub(crate) layered_lists: LayeredLists,
}

/// Called when a legacy client sends `notifications/roots/list_changed`.
pub(crate) type RootsChangedHook = Arc<dyn Fn(Peer) -> NotificationFuture + Send + Sync>;

/// The server as state of its own handlers: empty until the server is built, and weak, since the
/// server owns its handlers.
pub(crate) type OwnServer = OnceLock<Weak<ServerInner>>;

impl HandlerContext {
    /// Returns the server that the request was sent to, for layers and methods of extensions. Handlers
    /// take it as a parameter of the type [`Server`].
    ///
    /// `None` if the server has been dropped since.
    #[must_use]
    pub fn server(&self) -> Option<Server> {
        self.settings.server()
    }
}

impl ServerSettings {
    /// Returns the server with these settings, unless it has been dropped.
    pub(crate) fn server(&self) -> Option<Server> {
        let server = self.states.get::<OwnServer>()?;
        server.get()?.upgrade().map(Server)
    }
}

/// Extracts the server that the handler belongs to, to look at its items, change them, or notify of
/// changes.
impl Extract for Server {
    const IS_READY: bool = true;

    async fn extract(invocation: &Invocation<'_>) -> Result<Self> {
        let server = invocation.context().server();
        server.ok_or_else(|| Failure::new("the server has been dropped"))
    }
}

impl From<Server> for Arc<dyn Dispatch> {
    fn from(server: Server) -> Self {
        Arc::new(server)
    }
}

debug_fields!(Server {
    info = |server| server.0.identity.info.clone()
});

impl Server {
    /// Makes and checks the schemas of all tools.
    ///
    /// Schemas of Rust types are otherwise made when a tool is first listed or called. Call this in
    /// a test, or before serving if a server with a bad schema should not start. Builds with debug
    /// assertions do this in [`ServerBuilder::build`](crate::ServerBuilder::build).
    ///
    /// # Errors
    /// When the schema of a type is not valid for a tool: a pattern that cannot be compiled, for
    /// example, or an `x-mcp-header` on an unsupported type.
    pub fn check(&self) -> Result<(), BuildError> {
        let tools = self.0.catalogs.tools.all();
        tools.iter().try_for_each(|tool| tool.check())
    }

    /// Returns the names of the enabled tools, in the order of their list, also of those that only
    /// some principals can see.
    #[must_use]
    pub fn tool_names(&self) -> Vec<String> {
        keys_of(&self.0.catalogs.tools)
    }

    /// Returns the names of the enabled prompts, in the order of their list, also of those that
    /// only some principals can see.
    #[must_use]
    pub fn prompt_names(&self) -> Vec<String> {
        keys_of(&self.0.catalogs.prompts)
    }

    /// Returns the URIs of the enabled resources and then of the enabled resource templates, in the
    /// order of their lists, also of those that only some principals can see.
    #[must_use]
    pub fn resource_uris(&self) -> Vec<String> {
        let mut uris = keys_of(&self.0.catalogs.resources);
        uris.extend(keys_of(&self.0.catalogs.templates));
        uris
    }

    /// Returns how many subscriptions to changes are open, for metrics and for tests that look for
    /// leaks.
    #[must_use]
    pub fn subscription_count(&self) -> usize {
        self.0.subscriptions.open_count()
    }

    /// Keeps the head of each HTTP request, from now on, for code that reads it by
    /// [`RequestContext::http`](turnbuckle_session::handler::RequestContext::http). Handlers that take it as
    /// an argument need no call.
    pub fn keep_http_heads(&self) {
        self.0.registration.http_needs.add(HttpNeeds {
            head: true,
            extensions: false,
        });
    }

    /// Returns the URIs of the resources that clients are subscribed to, in order.
    #[must_use]
    pub fn subscribed_resources(&self) -> Vec<String> {
        self.0.subscriptions.resources()
    }

    /// Waits until a client has subscribed to a resource or no longer is, since the last call. For one
    /// task, which gets the updates of exactly those resources from elsewhere.
    pub async fn subscribed_resources_changed(&self) {
        self.0.subscriptions.resources_changed.notified().await;
    }

    /// Notifies all subscribers of a resource that its contents have changed.
    pub fn notify_resource_updated(&self, uri: &str) {
        self.0.publish_change(Change::Resource(uri.into()));
    }

    /// Notifies all subscribers that the list of tools has changed.
    ///
    /// Methods of the server that change the list do this themselves.
    pub fn notify_tools_changed(&self) {
        self.0.publish_change(Change::Tools);
    }

    /// Notifies all subscribers that the list of prompts has changed.
    pub fn notify_prompts_changed(&self) {
        self.0.publish_change(Change::Prompts);
    }

    /// Notifies all subscribers that the list of resources or of resource templates has changed.
    pub fn notify_resources_changed(&self) {
        self.0.publish_change(Change::Resources);
    }

    /// Waits until the store of the server has all changes that were notified before: other instances tell their
    /// subscribers of them even if this process is killed. Without a store nothing is waited for.
    ///
    /// # Errors
    /// If the store takes no changes. Subscribers of this instance were notified then, and those of others are
    /// once the store is back.
    pub async fn flush_changes(&self) -> Result<()> {
        #[cfg(feature = "store")]
        if let Some(cluster) = &self.0.cluster
            && !cluster.changes().flush().await
        {
            return Err(Failure::new(
                "the store takes no changes; other instances are told of them once it is back",
            ));
        }
        Ok(())
    }

    /// Calls a function for each subscription of a client that begins, with the URIs of its resources, if any. The
    /// subscription is answered once the future of the function has ended. It returns the resources that are refused,
    /// with the reasons: a legacy client reads the reason, and one of the modern era that the subscription is
    /// without them.
    ///
    /// For a server whose updates come from elsewhere, or whose resources differ between clients, of which
    /// [`notify_subscriber`](Self::notify_subscriber) notifies one. The first function stays. It is not called for
    /// subscriptions that began at another instance of the server.
    pub fn on_subscription<Fut>(
        &self,
        function: impl Fn(HandlerContext, Subscriber, Vec<String>) -> Fut + Send + Sync + 'static,
    ) where
        Fut: Future<Output = Vec<(String, ProtocolError)>> + Send + 'static,
    {
        let function: SubscriptionHook = Arc::new(move |context, subscriber, uris| {
            Box::pin(function(context, subscriber, uris))
        });
        // The first one stays.
        let _ = self.0.on_subscription.set(function);
    }

    /// Returns whether a subscriber is subscribed to a change.
    #[must_use]
    pub fn is_subscribed(&self, subscriber: &Subscriber, change: &Change) -> bool {
        let feed = subscriber.feed();
        feed.is_some_and(|feed| self.0.subscriptions.is_subscribed(&feed, change))
    }

    /// Notifies one subscriber of a change, if it is subscribed to that.
    pub fn notify_subscriber(&self, subscriber: &Subscriber, change: &Change) {
        if let Some(feed) = subscriber.feed() {
            self.0.subscriptions.publish_to(&feed, change);
        }
    }
}

/// Returns the names or URIs of the enabled items of a catalog.
fn keys_of<T: CatalogItem>(catalog: &Catalog<T>) -> Vec<String> {
    let items = catalog.all();
    items.iter().map(|item| item.key().to_owned()).collect()
}
