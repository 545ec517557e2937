//! A server: what it offers, and how that changes while it runs.

use std::fmt;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex};

use crate::cache::Cache;
use crate::catalog::Catalog;
use crate::error::BuildError;
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
    pub(crate) max_waiting: usize,
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

    /// Calls that may wait for one turn.
    pub(crate) fn most_waiting(&self) -> usize {
        self.0.max_waiting
    }

    pub(crate) fn rounds(&self) -> &Rounds {
        &self.0.rounds
    }

    /// Makes the schemas of all tools now that are otherwise made when a tool is first listed or
    /// called, and tells whether they are good; for a test of what is released, or a server that
    /// should rather not start. A build with debug assertions does so by itself.
    ///
    /// # Errors
    /// When a type makes a schema that no tool can have: a pattern that cannot be compiled, say, or a
    /// header that cannot be.
    pub fn check(&self) -> Result<(), BuildError> {
        let tools = self.0.tools.all();
        tools.iter().try_for_each(|tool| tool.check())
    }

    /// How many subscriptions to changes are open: for tests that nothing stays of anybody.
    #[doc(hidden)]
    #[must_use]
    pub fn subscriptions(&self) -> usize {
        self.0.hub.open()
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
