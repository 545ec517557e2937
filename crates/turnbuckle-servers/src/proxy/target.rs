//! The upstream server and the item that a request to a proxy is for, as layers see them.

use std::collections::HashSet;
use std::sync::{Arc, OnceLock};

use turnbuckle_server::service::{CallKind, CallRequest};
use turnbuckle_types::{Prompt, Tool};

use crate::connections::upstream::UpstreamMode;
use crate::servers::{Servers, WeakServers};
use crate::view::items::ServerItem;

/// The upstream item that a request to a proxy is for: for a layer of the server that the proxy was added to,
/// such as one for audit or metrics.
///
/// ```
/// use turnbuckle_server::middleware::{Next, from_fn};
/// use turnbuckle_server::service::CallRequest;
/// use turnbuckle_server::Server;
/// use turnbuckle_servers::ProxiedTarget;
///
/// let server = Server::new("gateway", "1.0.0").layer(from_fn(async |call: CallRequest, next: Next| {
///     if let Some(target) = ProxiedTarget::find(&call) {
///         eprintln!("{} of {}", target.own_name, target.server);
///     }
///     next.run(call).await
/// }));
/// # let _ = server;
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProxiedTarget {
    /// The name of the upstream server.
    pub server: Arc<str>,
    /// The name of the tool or prompt at that server; the URI that is read there; or the URI template whose
    /// variable is completed.
    pub own_name: Arc<str>,
    /// The connections to the server.
    pub mode: UpstreamMode,
}

impl ProxiedTarget {
    /// Returns the target of a request; `None` for lists, and for items that the proxy has itself.
    #[must_use]
    pub fn find(call: &CallRequest) -> Option<Self> {
        let proxied = call.context().state::<ProxiedServers>()?;
        let Proxied { servers, own_uris } = proxied.0.get()?;
        let servers = servers.upgrade()?;
        let name = call.name();
        if own_uris.contains(name) {
            return None;
        }
        let context = call.context();
        let prompt = || {
            servers
                .find_now::<Prompt>(name, context)
                .map(ServerItem::into_owner)
        };
        let resource = || servers.resource_owner_now(name, context);
        let (server, own_name) = match call.kind() {
            CallKind::Tool => servers
                .find_now::<Tool>(name, context)
                .map(ServerItem::into_owner),
            CallKind::Prompt => prompt(),
            CallKind::Resource => resource(),
            // A completer belongs to a prompt or to a template.
            CallKind::Completion => prompt().or_else(resource),
            _ => None,
        }?;
        let mode = servers.state().member(&server)?.options.mode;
        Some(Self {
            server,
            own_name,
            mode,
        })
    }
}

/// The servers of a proxy, as state of its server. Empty until they are started.
#[derive(Default)]
pub(super) struct ProxiedServers(OnceLock<Proxied>);

struct Proxied {
    servers: WeakServers,
    /// The URIs and templates that the proxy has itself.
    own_uris: HashSet<String>,
}

impl ProxiedServers {
    pub(super) fn set(&self, servers: &Servers, own_uris: HashSet<String>) {
        self.0.get_or_init(|| Proxied {
            servers: servers.downgrade(),
            own_uris,
        });
    }
}
