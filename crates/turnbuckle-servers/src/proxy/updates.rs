//! Updates of single resources: the proxy is subscribed to those that its clients are subscribed to.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Deserialize;
use turnbuckle_server::{HandlerContext, Server, Subscriber, UriTemplate};
use turnbuckle_session::handler::Change;
use turnbuckle_session::transport::Dispatch as _;
use turnbuckle_types::method::{Request as _, SubscriptionsListen};
use turnbuckle_types::{
    AuditOutcome, AuditRecord, ErrorKind, ProtocolError, SubscriptionsListenRequestParams,
};

use crate::connections::kept_subscription::{Attempt, Connected, KeptSubscription, Subscribing};
use crate::error::Error;
use crate::member::state::Member;
use crate::proxy::call_error::CallError;
use crate::servers::{Servers, WeakServers};

/// The most resources whose updates a proxy passes on.
const MAX_RESOURCES: usize = 10_000;

/// The subscriptions of a proxy.
pub(super) struct ResourceUpdates {
    server: Server,
    servers: WeakServers,
    /// The resources that the proxy has itself.
    own: OwnResources,
    /// Subscriptions on connections that clients share, by the URI in the merged view.
    subscriptions: Mutex<HashMap<String, KeptSubscription>>,
    /// The resources that are about to be refused, and how often: the subscriptions of their clients end with the answer,
    /// and must not begin at the servers meanwhile.
    refusals: Mutex<HashMap<String, usize>>,
}

/// The resources that a proxy has itself.
struct OwnResources {
    uris: HashSet<String>,
    templates: Vec<UriTemplate>,
}

impl OwnResources {
    /// Creates them of URIs and templates.
    fn new(uris: HashSet<String>) -> Self {
        let templates = uris.iter().filter(|uri| uri.contains('{'));
        let templates = templates.filter_map(|uri| UriTemplate::parse(uri).ok());
        Self {
            templates: templates.collect(),
            uris,
        }
    }

    fn contains(&self, uri: &str) -> bool {
        self.uris.contains(uri) || self.templates.iter().any(|it| it.matches(uri).is_some())
    }
}

/// A subscription to one resource on a connection that clients share.
struct SharedSubscription {
    server: Server,
    servers: WeakServers,
    member: Arc<Member>,
    /// The URI in the merged view.
    uri: String,
    /// The URI at the server.
    change: Change,
}

impl Subscribing for SharedSubscription {
    fn member(&self) -> &Member {
        &self.member
    }

    fn changes(&self) -> &[Change] {
        std::slice::from_ref(&self.change)
    }

    async fn connect(&self, attempt: Attempt) -> Option<Result<Connected, Error>> {
        // The task must not keep the servers open.
        let is_readable = self.servers.upgrade()?.readable_owner(&self.uri).is_some();
        if !is_readable {
            return None;
        }
        Some(match attempt {
            Attempt::Awaited => self.member.lease(None).await.map(|lease| Connected {
                client: lease.client().clone(),
                lease: Some(lease),
            }),
            // No server is started for a subscription alone.
            Attempt::Ended | Attempt::Failed => {
                let client = self.member.client();
                client.map(|client| Connected {
                    client,
                    lease: None,
                })
            }
        })
    }

    fn publish(&self, change: &Change) {
        if matches!(change, Change::Resource(_)) {
            self.server.notify_resource_updated(&self.uri);
        }
    }
}

impl ResourceUpdates {
    /// Creates the subscriptions. Those of clients wait for them from now on.
    pub(super) fn new(
        server: Server,
        servers: WeakServers,
        own_uris: HashSet<String>,
    ) -> Arc<Self> {
        let updates = Arc::new(Self {
            server,
            servers,
            own: OwnResources::new(own_uris),
            subscriptions: Mutex::default(),
            refusals: Mutex::default(),
        });
        let weak = Arc::downgrade(&updates);
        updates
            .server
            .on_subscription(move |context, subscriber, uris| {
                let updates = weak.upgrade();
                async move {
                    match updates {
                        Some(updates) => updates.subscribe(&context, &subscriber, &uris).await,
                        None => Vec::new(),
                    }
                }
            });
        updates
    }

    fn subscriptions(&self) -> MutexGuard<'_, HashMap<String, KeptSubscription>> {
        self.subscriptions
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn refusals(&self) -> MutexGuard<'_, HashMap<String, usize>> {
        self.refusals.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps resources from being subscribed to at their servers until the returned value is dropped.
    fn hold_back(&self, uris: Vec<String>) -> impl Drop {
        for uri in &uris {
            *self.refusals().entry(uri.clone()).or_default() += 1;
        }
        scopeguard::guard(uris, |uris| {
            let mut refusals = self.refusals();
            for uri in uris {
                if let Some(count) = refusals.get_mut(&uri) {
                    *count -= 1;
                }
            }
            refusals.retain(|_, count| *count > 0);
        })
    }

    /// Subscribes for a client, and waits until the servers have answered. Returns the resources that are refused, with
    /// the reasons.
    async fn subscribe(
        &self,
        context: &HandlerContext,
        subscriber: &Subscriber,
        uris: &[String],
    ) -> Vec<(String, ProtocolError)> {
        let Some(servers) = self.servers.upgrade() else {
            return Vec::new();
        };
        self.audit_refusals(&servers, context);
        let mut refused = Vec::new();
        let mut permitted = Vec::new();
        for uri in uris {
            match self.check(&servers, uri, context) {
                Ok(()) => permitted.push(uri.clone()),
                Err(error) => refused.push((uri.clone(), error)),
            }
        }
        let uris = &*permitted;
        let _held_back = self.hold_back(refused.iter().map(|it| it.0.clone()).collect());
        let mut begun = Vec::new();
        {
            let mut shared = self.subscriptions();
            for uri in uris {
                match self.begin(&mut shared, &servers, uri) {
                    Ok(Some(kept)) => begun.push((uri.clone(), kept.wait_until_active())),
                    Ok(None) => {}
                    Err(error) => refused.push((uri.clone(), error)),
                }
            }
        }
        for (uri, error) in servers.subscribe_client(context, subscriber, uris).await {
            refused.push(((*uri).to_owned(), CallError::from(error).into()));
        }
        // The tasks must not keep the servers open.
        drop(servers);
        for (uri, active) in begun {
            if let Err(error) = active.await {
                let ended = || ProtocolError::internal("the subscription has ended");
                let error = error.map_or_else(ended, |error| CallError::from(error).into());
                refused.push((uri, error));
            }
        }
        refused
    }

    /// Checks that no rule keeps a client from a resource that is not the proxy's own.
    fn check(
        &self,
        servers: &Servers,
        uri: &str,
        context: &HandlerContext,
    ) -> Result<(), ProtocolError> {
        match self.own.contains(uri) {
            true => Ok(()),
            false => servers.check_resource(uri, context),
        }
    }

    /// Passes a record to the audit log for each resource of a `subscriptions/listen` request that rules keep the client
    /// from: the request itself succeeds without them.
    fn audit_refusals(&self, servers: &Servers, context: &HandlerContext) {
        #[derive(Deserialize)]
        struct Message {
            params: SubscriptionsListenRequestParams,
        }
        let Some(audit) = self.server.audit().filter(|_| !context.is_legacy()) else {
            return;
        };
        let message = serde_json::from_str::<Message>(context.text()).ok();
        let wanted = message.and_then(|it| it.params.notifications.resource_subscriptions);
        let wanted: HashSet<String> = wanted.into_iter().flatten().collect();
        for uri in wanted {
            let Err(error) = self.check(servers, &uri, context) else {
                continue;
            };
            let mut record = AuditRecord::new(match error.kind() {
                ErrorKind::Forbidden(needed) => AuditOutcome::MissingScopes(needed),
                _ => AuditOutcome::UnknownItem,
            });
            record.principal = context.principal();
            record.client_address = context.client_address();
            record.method = Some(SubscriptionsListen::METHOD);
            record.target = Some(&uri);
            audit.record(&record);
        }
    }

    /// Follows the subscriptions of the proxy's clients, of which those that another instance of the proxy has
    /// begun are not waited for. Dropping the future ends the subscriptions at the servers.
    pub(super) async fn follow(&self) {
        let _end = EndOnDrop(self);
        while let Some(servers) = self.servers.upgrade() {
            self.adjust(&servers);
            servers.update_own_connections();
            drop(servers);
            self.server.subscribed_resources_changed().await;
        }
    }

    /// Subscribes to the resources that clients are subscribed to, and ends the other subscriptions.
    fn adjust(&self, servers: &Servers) {
        let mut shared = self.subscriptions();
        // Under the lock, so that no newer subscription is ended.
        let wanted = self.server.subscribed_resources();
        shared.retain(|uri, kept| wanted.binary_search(uri).is_ok() && !kept.has_ended());
        let refusals = self.refusals();
        for uri in wanted.iter().filter(|uri| !refusals.contains_key(*uri)) {
            if self.begin(&mut shared, servers, uri).is_err() {
                return;
            }
        }
    }

    /// Subscribes to a resource, unless the proxy is subscribed already. Returns `None` for a resource of the proxy
    /// itself, and for one whose updates come on the connections of the clients.
    ///
    /// # Errors
    /// If there are too many subscriptions.
    fn begin<'a>(
        &self,
        shared: &'a mut HashMap<String, KeptSubscription>,
        servers: &Servers,
        uri: &str,
    ) -> Result<Option<&'a KeptSubscription>, ProtocolError> {
        let is_kept = shared.get(uri).is_some_and(|kept| !kept.has_ended());
        if !is_kept {
            let Some(subscription) = self.shared_subscription(servers, uri) else {
                return Ok(None);
            };
            if shared.len() >= MAX_RESOURCES {
                return Err(ProtocolError::internal(format!(
                    "the clients of the proxy are subscribed to {MAX_RESOURCES} resources, and to no more"
                )));
            }
            shared.insert(uri.to_owned(), KeptSubscription::start(subscription));
        }
        Ok(shared.get(uri))
    }

    /// Returns the subscription to a resource, if there is one on a connection that clients share.
    fn shared_subscription(&self, servers: &Servers, uri: &str) -> Option<SharedSubscription> {
        if self.own.contains(uri) {
            return None;
        }
        let (owner, own_uri) = servers.readable_owner(uri)?;
        if servers.has_own_connections(&owner) {
            return None;
        }
        Some(SharedSubscription {
            server: self.server.clone(),
            servers: self.servers.clone(),
            member: servers.state().member(&owner)?.clone(),
            uri: uri.to_owned(),
            change: Change::Resource(own_uri),
        })
    }
}

/// Ends the subscriptions at the servers when it is dropped.
struct EndOnDrop<'a>(&'a ResourceUpdates);

impl Drop for EndOnDrop<'_> {
    fn drop(&mut self) {
        self.0.subscriptions().clear();
    }
}
