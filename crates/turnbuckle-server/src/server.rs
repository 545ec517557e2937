//! A server: what it offers, and how that changes while it runs.

use std::fmt;
use std::num::NonZeroUsize;
use std::sync::Arc;

use crate::cache::Cache;
use crate::catalog::Catalog;
use crate::completion::Completers;
use crate::error::BuildError;
use crate::extension::Extensions;
use crate::input::Rounds;
use crate::prompt::{Prompt, PromptEntry};
use crate::resource::{Resource, ResourceEntry, ResourceTemplate, TemplateEntry};
use crate::subscription::Hub;
use crate::tool::{Tool, ToolEntry};
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
    pub(crate) extensions: Extensions,
    pub(crate) page_size: NonZeroUsize,
    pub(crate) list_cache: Cache,
    pub(crate) max_subscriptions: usize,
    pub(crate) roots_changed: Option<RootsChanged>,
    pub(crate) hub: Hub,
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

    /// Adds a tool, or replaces the one of the same name.
    ///
    /// # Errors
    /// When its definition is not valid, or the server did not declare tools.
    pub fn add_tool(&self, tool: Tool) -> Result<(), BuildError> {
        declared(self.0.identity.capabilities.tools.is_some(), "tools")?;
        self.0.tools.insert(tool.register()?);
        self.0.hub.tell(&Change::Tools);
        Ok(())
    }

    /// Removes a tool; `false` when there is none of that name.
    pub fn remove_tool(&self, name: &str) -> bool {
        let removed = self.0.tools.remove(name).is_some();
        if removed {
            self.0.hub.tell(&Change::Tools);
        }
        removed
    }

    /// Adds a prompt, or replaces the one of the same name.
    ///
    /// # Errors
    /// When its definition is not valid, or the server did not declare prompts, or completions
    /// and this one has some.
    pub fn add_prompt(&self, prompt: Prompt) -> Result<(), BuildError> {
        declared(self.0.identity.capabilities.prompts.is_some(), "prompts")?;
        self.completes(&prompt.completers)?;
        self.0.prompts.insert(prompt.register()?);
        self.0.hub.tell(&Change::Prompts);
        Ok(())
    }

    /// Removes a prompt; `false` when there is none of that name.
    pub fn remove_prompt(&self, name: &str) -> bool {
        let removed = self.0.prompts.remove(name).is_some();
        if removed {
            self.0.hub.tell(&Change::Prompts);
        }
        removed
    }

    /// Adds a resource, or replaces the one of the same URI.
    ///
    /// # Errors
    /// When its definition is not valid, or the server did not declare resources.
    pub fn add_resource(&self, resource: Resource) -> Result<(), BuildError> {
        declared(
            self.0.identity.capabilities.resources.is_some(),
            "resources",
        )?;
        self.0.resources.insert(resource.register()?);
        self.0.hub.tell(&Change::Resources);
        Ok(())
    }

    /// Removes a resource; `false` when there is none of that URI.
    pub fn remove_resource(&self, uri: &str) -> bool {
        let removed = self.0.resources.remove(uri).is_some();
        if removed {
            self.0.hub.tell(&Change::Resources);
        }
        removed
    }

    /// Adds a resource template, or replaces the one of the same URI template.
    ///
    /// # Errors
    /// When its definition is not valid, or the server did not declare resources, or completions
    /// and this one has some.
    pub fn add_resource_template(&self, template: ResourceTemplate) -> Result<(), BuildError> {
        declared(
            self.0.identity.capabilities.resources.is_some(),
            "resources",
        )?;
        self.completes(&template.completers)?;
        self.0.templates.insert(template.register()?);
        self.0.hub.tell(&Change::Resources);
        Ok(())
    }

    /// Removes a resource template; `false` when there is none of that URI template.
    pub fn remove_resource_template(&self, uri_template: &str) -> bool {
        let removed = self.0.templates.remove(uri_template).is_some();
        if removed {
            self.0.hub.tell(&Change::Resources);
        }
        removed
    }

    /// What completes has to be declared like everything else.
    fn completes(&self, completers: &Completers) -> Result<(), BuildError> {
        let can = self.0.identity.capabilities.completions.is_some();
        declared(can || completers.is_empty(), "completions")
    }

    /// Tells everybody who subscribed to it that a resource has changed.
    pub fn resource_updated(&self, uri: &str) {
        self.0.hub.tell(&Change::Resource(uri.into()));
    }

    /// Tells everybody who wants to hear of it that the list of tools has changed. Adding and
    /// removing do so by themselves.
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

/// Refuses to add what no client would find.
fn declared(declared: bool, kind: &str) -> Result<(), BuildError> {
    if declared {
        return Ok(());
    }
    Err(BuildError::new(format!(
        "the server did not declare {kind} when it was built (ServerBuilder::dynamic_{kind})"
    )))
}
