//! A server: what it offers, and how that changes while it runs.

use std::fmt;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex};

use crate::cache::Cache;
use crate::catalog::Catalog;
use crate::extension::Extensions;
use crate::input::Rounds;
use crate::prompt::PromptEntry;
use crate::resource::{ResourceEntry, TemplateEntry};
use crate::scope::Scope;
use crate::subscription::Hub;
use crate::tool::ToolEntry;
use turnbuckle_session::{Change, Dispatch, Identity, Peer, Reaction};

/// A server, ready to be served by any transport. Cheap to clone; what one clone adds or removes
/// all of them offer, and every client that wants to hear of it does.
#[derive(Clone)]
pub struct Server(pub(crate) Arc<Shared>);

pub(crate) struct Shared {
    pub(crate) identity: Identity,
    pub(crate) server_info: Option<Vec<u8>>,
    pub(crate) tools: Catalog<ToolEntry>,
    pub(crate) prompts: Catalog<PromptEntry>,
    pub(crate) resources: Catalog<ResourceEntry>,
    pub(crate) templates: Catalog<TemplateEntry>,
    /// Held by whoever changes what is offered, so that nothing changes between a look and a change.
    pub(crate) changing: Mutex<()>,
    pub(crate) extensions: Extensions,
    pub(crate) page_size: NonZeroUsize,
    pub(crate) list_cache: Cache,
    pub(crate) max_subscriptions: usize,
    pub(crate) roots_changed: Option<RootsChanged>,
    pub(crate) hub: Hub,
    pub(crate) scope: Scope,
    pub(crate) rounds: Rounds,
}

pub(crate) type RootsChanged = Arc<dyn Fn(Peer) -> Reaction + Send + Sync>;

impl From<Server> for Arc<dyn Dispatch> {
    fn from(server: Server) -> Self {
        Arc::new(server)
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server")
            .field("info", &self.0.identity.info)
            .finish_non_exhaustive()
    }
}

impl Server {
    pub(crate) fn hub(&self) -> &Hub {
        &self.0.hub
    }

    pub(crate) fn rounds(&self) -> &Rounds {
        &self.0.rounds
    }

    /// Tells everybody who subscribed to it that a resource has changed.
    pub fn resource_updated(&self, uri: &str) {
        self.0.hub.tell(&Change::Resource(uri.into()));
    }

    /// Tells everybody who wants to hear of it that the list of tools has changed. Whatever changes
    /// it does so by itself.
    pub fn tools_changed(&self) {
        self.0.hub.tell(&Change::Tools);
    }

    /// The same for prompts.
    pub fn prompts_changed(&self) {
        self.0.hub.tell(&Change::Prompts);
    }

    /// The same for resources and resource templates.
    pub fn resources_changed(&self) {
        self.0.hub.tell(&Change::Resources);
    }
}
