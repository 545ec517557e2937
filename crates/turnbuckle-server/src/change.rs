//! How what a server offers changes while it runs: one thing after another, or many at once.

use std::fmt;
use std::sync::PoisonError;

use turnbuckle_session::Change;
use turnbuckle_types::ServerCapabilities;

use crate::Server;
use crate::catalog::{Catalog, Edit, Item};
use crate::completion::Completers;
use crate::error::BuildError;
use crate::item::IntoItem;
use crate::prompt::{Prompt, PromptEntry};
use crate::resource::{Registered, Resource, ResourceEntry, TemplateEntry, is_template};
use crate::tool::{Tool, ToolEntry};

/// Changes of what a server offers that are made at once, or not at all; see [`Server::batch`].
///
/// ```
/// use turnbuckle_server::{Server, Tool};
///
/// let server = Server::new("deploys", "1.0.0")
///     .tool(Tool::builder("plan").handler(|| "planned"))
///     .tool(Tool::builder("deploy").handler(|| "deployed"))
///     .build()?;
/// server
///     .batch()
///     .disable_tool("deploy")
///     .add_tool(Tool::builder("plan").handler(|| "planned with more care"))
///     .apply()?;
/// # Ok::<(), turnbuckle_server::BuildError>(())
/// ```
///
/// Specification: server/tools, "List Changed Notification" (2026-07-28).
#[must_use = "nothing changes until it is applied"]
pub struct Batch<'a> {
    server: &'a Server,
    tools: Vec<Edit<ToolEntry>>,
    prompts: Vec<Edit<PromptEntry>>,
    resources: Vec<Edit<ResourceEntry>>,
    templates: Vec<Edit<TemplateEntry>>,
    /// What could not be added.
    fault: Option<BuildError>,
}

impl Server {
    /// Begins to change several things at once: all who want to hear of it hear once for each kind
    /// of item, and nobody sees some of the changes to a list without the others.
    pub fn batch(&self) -> Batch<'_> {
        Batch {
            server: self,
            tools: Vec::new(),
            prompts: Vec::new(),
            resources: Vec::new(),
            templates: Vec::new(),
            fault: None,
        }
    }

    /// Adds a tool, or replaces the one of the same name. The server's state, layers, deadline and
    /// limits are around it.
    ///
    /// # Errors
    /// When its definition is not valid, or the server did not declare tools.
    pub fn add_tool(&self, tool: impl IntoItem<Tool>) -> Result<(), BuildError> {
        self.batch().add_tool(tool).apply()
    }

    /// Removes a tool; `false` when there is none of that name.
    pub fn remove_tool(&self, name: &str) -> bool {
        self.batch().remove_tool(name).apply().is_ok()
    }

    /// Adds a prompt, or replaces the one of the same name.
    ///
    /// # Errors
    /// When its definition is not valid, or the server did not declare prompts, or completions
    /// and this one has some.
    pub fn add_prompt(&self, prompt: impl IntoItem<Prompt>) -> Result<(), BuildError> {
        self.batch().add_prompt(prompt).apply()
    }

    /// Removes a prompt; `false` when there is none of that name.
    pub fn remove_prompt(&self, name: &str) -> bool {
        self.batch().remove_prompt(name).apply().is_ok()
    }

    /// Adds a resource, or replaces the one of the same URI or template.
    ///
    /// # Errors
    /// When its definition is not valid, or the server did not declare resources, or completions
    /// and this one has some.
    pub fn add_resource(&self, resource: impl IntoItem<Resource>) -> Result<(), BuildError> {
        self.batch().add_resource(resource).apply()
    }

    /// Removes the resource at this URI, or the resources of this template; `false` when there are
    /// none.
    pub fn remove_resource(&self, uri: &str) -> bool {
        self.batch().remove_resource(uri).apply().is_ok()
    }

    fn declares(&self) -> &ServerCapabilities {
        &self.0.identity.capabilities
    }

    /// What completes has to be declared like everything else.
    fn completes(&self, completers: &Completers) -> Result<(), BuildError> {
        let can = self.declares().completions.is_some();
        declared(can || completers.is_empty(), "completions")
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

impl Batch<'_> {
    /// Adds a tool, or replaces the one of the same name, in its place; one that is disabled stays
    /// so.
    pub fn add_tool(mut self, tool: impl IntoItem<Tool>) -> Self {
        let (server, tool) = (self.server, tool.into_item());
        let entry = declared(server.declares().tools.is_some(), "tools")
            .and_then(|()| tool.register(&server.0.scope))
            .and_then(|entry| entry.check().map(|()| entry));
        match entry {
            Ok(entry) => self.tools.push(Edit::Put(entry)),
            Err(error) => self.fail(error),
        }
        self
    }

    /// Removes a tool.
    pub fn remove_tool(mut self, name: impl Into<String>) -> Self {
        self.tools.push(Edit::Remove(name.into()));
        self
    }

    /// Offers a tool again that was disabled.
    pub fn enable_tool(mut self, name: impl Into<String>) -> Self {
        self.tools.push(Edit::Enable(name.into(), true));
        self
    }

    /// Takes a tool out of sight: it is not listed and cannot be called, and keeps its place.
    pub fn disable_tool(mut self, name: impl Into<String>) -> Self {
        self.tools.push(Edit::Enable(name.into(), false));
        self
    }

    /// Adds a prompt, or replaces the one of the same name, in its place; one that is disabled
    /// stays so.
    pub fn add_prompt(mut self, prompt: impl IntoItem<Prompt>) -> Self {
        let (server, prompt) = (self.server, prompt.into_item());
        let entry = declared(server.declares().prompts.is_some(), "prompts")
            .and_then(|()| server.completes(&prompt.draft.completers))
            .and_then(|()| prompt.register(&server.0.scope));
        match entry {
            Ok(entry) => self.prompts.push(Edit::Put(entry)),
            Err(error) => self.fail(error),
        }
        self
    }

    /// Removes a prompt.
    pub fn remove_prompt(mut self, name: impl Into<String>) -> Self {
        self.prompts.push(Edit::Remove(name.into()));
        self
    }

    /// Offers a prompt again that was disabled.
    pub fn enable_prompt(mut self, name: impl Into<String>) -> Self {
        self.prompts.push(Edit::Enable(name.into(), true));
        self
    }

    /// Takes a prompt out of sight: it is not listed and cannot be got, and keeps its place.
    pub fn disable_prompt(mut self, name: impl Into<String>) -> Self {
        self.prompts.push(Edit::Enable(name.into(), false));
        self
    }

    /// Adds a resource, or replaces the one of the same URI or template, in its place; one that is
    /// disabled stays so.
    pub fn add_resource(mut self, resource: impl IntoItem<Resource>) -> Self {
        let (server, resource) = (self.server, resource.into_item());
        let entry = declared(server.declares().resources.is_some(), "resources")
            .and_then(|()| server.completes(&resource.draft.completers))
            .and_then(|()| resource.register(&server.0.scope));
        match entry {
            Ok(Registered::One(entry)) => self.resources.push(Edit::Put(entry)),
            Ok(Registered::Family(entry)) => self.templates.push(Edit::Put(entry)),
            Err(error) => self.fail(error),
        }
        self
    }

    /// Removes the resource at this URI, or the resources of this template.
    pub fn remove_resource(mut self, uri: impl Into<String>) -> Self {
        let uri = uri.into();
        match is_template(&uri) {
            true => self.templates.push(Edit::Remove(uri)),
            false => self.resources.push(Edit::Remove(uri)),
        }
        self
    }

    /// Offers the resource at this URI, or the resources of this template, again that were
    /// disabled.
    pub fn enable_resource(self, uri: impl Into<String>) -> Self {
        self.set_resource(uri.into(), true)
    }

    /// Takes the resource at this URI, or the resources of this template, out of sight: not listed
    /// and not to be read, they keep their place.
    pub fn disable_resource(self, uri: impl Into<String>) -> Self {
        self.set_resource(uri.into(), false)
    }

    fn set_resource(mut self, uri: String, enabled: bool) -> Self {
        match is_template(&uri) {
            true => self.templates.push(Edit::Enable(uri, enabled)),
            false => self.resources.push(Edit::Enable(uri, enabled)),
        }
        self
    }

    fn fail(&mut self, error: BuildError) {
        self.fault.get_or_insert(error);
    }

    /// Makes all the changes, in their order.
    ///
    /// # Errors
    /// When one of them cannot be made: something to add is not valid or was not declared, or
    /// something to remove, enable or disable is not there. Nothing has changed then.
    pub fn apply(self) -> Result<(), BuildError> {
        if let Some(error) = self.fault {
            return Err(error);
        }
        let shared = &self.server.0;
        let alone = shared.changing.lock();
        let _alone = alone.unwrap_or_else(PoisonError::into_inner);
        known(&shared.tools, "tool", &self.tools)?;
        known(&shared.prompts, "prompt", &self.prompts)?;
        known(&shared.resources, "resource", &self.resources)?;
        known(&shared.templates, "resource template", &self.templates)?;
        if shared.tools.edit(self.tools) {
            shared.hub.tell(&Change::Tools);
        }
        if shared.prompts.edit(self.prompts) {
            shared.hub.tell(&Change::Prompts);
        }
        let resources = shared.resources.edit(self.resources);
        if shared.templates.edit(self.templates) || resources {
            shared.hub.tell(&Change::Resources);
        }
        Ok(())
    }
}

impl fmt::Debug for Batch<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batch")
            .field("tools", &self.tools.len())
            .field("prompts", &self.prompts.len())
            .field("resources", &(self.resources.len() + self.templates.len()))
            .finish_non_exhaustive()
    }
}

fn known<T: Item>(catalog: &Catalog<T>, kind: &str, edits: &[Edit<T>]) -> Result<(), BuildError> {
    match catalog.unknown_to(edits) {
        None => Ok(()),
        Some(name) => Err(BuildError::new(format!("there is no {kind} {name:?}"))),
    }
}
