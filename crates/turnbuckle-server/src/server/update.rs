//! Changes to the items of a running server: one at a time, or several at once.

use std::sync::PoisonError;

use turnbuckle_session::handler::Change;
use turnbuckle_types::ServerCapabilities;
use turnbuckle_types::base::{debug_fields, setters};

use crate::Server;
use crate::catalog::{Catalog, CatalogEdit};
use crate::error::BuildError;
use crate::items::CatalogItem;
use crate::items::IntoItem;
use crate::items::completion::Completers;
use crate::items::prompt::{Prompt, PromptEntry};
use crate::items::resource::{
    RegisteredResource, Resource, ResourceEntry, TemplateEntry, is_template,
};
use crate::items::tool::{Tool, ToolEntry};

/// Several changes to a server's items that are made at once, or not at all; see
/// [`Server::update`].
///
/// ```
/// use turnbuckle_server::{Server, Tool};
///
/// let server = Server::new("deploys", "1.0.0")
///     .tool(Tool::builder("plan").handler(|| "planned"))
///     .tool(Tool::builder("deploy").handler(|| "deployed"))
///     .build()?;
/// server
///     .update()
///     .disable_tool("deploy")
///     .add_tool(Tool::builder("plan").handler(|| "planned with more care"))
///     .apply()?;
/// # Ok::<(), turnbuckle_server::BuildError>(())
/// ```
///
/// Specification: server/tools, "List Changed Notification" (2026-07-28).
#[must_use = "nothing changes until it is applied"]
pub struct ServerUpdate<'a> {
    server: &'a Server,
    tools: Vec<CatalogEdit<ToolEntry>>,
    prompts: Vec<CatalogEdit<PromptEntry>>,
    resources: Vec<CatalogEdit<ResourceEntry>>,
    templates: Vec<CatalogEdit<TemplateEntry>>,
    /// The first error of an item to be added.
    error: Option<BuildError>,
}

impl Server {
    /// Starts an update of several items.
    ///
    /// Subscribed clients get one notification for each kind of item that changed, and no client
    /// sees a list with only some of the changes.
    pub fn update(&self) -> ServerUpdate<'_> {
        ServerUpdate {
            server: self,
            tools: Vec::new(),
            prompts: Vec::new(),
            resources: Vec::new(),
            templates: Vec::new(),
            error: None,
        }
    }

    /// Adds a tool, or replaces the tool with the same name. The server's state, layers, timeout
    /// and limits apply to the tool.
    ///
    /// # Errors
    /// When its definition is not valid, or the server did not declare tools.
    pub fn add_tool(&self, tool: impl IntoItem<Tool>) -> Result<(), BuildError> {
        self.update().add_tool(tool).apply()
    }

    /// Removes a tool. Returns `false` if there is no tool with this name.
    pub fn remove_tool(&self, name: &str) -> bool {
        self.update().remove_tool(name).apply().is_ok()
    }

    /// Adds a prompt, or replaces the prompt with the same name.
    ///
    /// # Errors
    /// When its definition is not valid, or the server did not declare prompts, or completions
    /// and this one has some.
    pub fn add_prompt(&self, prompt: impl IntoItem<Prompt>) -> Result<(), BuildError> {
        self.update().add_prompt(prompt).apply()
    }

    /// Removes a prompt. Returns `false` if there is no prompt with this name.
    pub fn remove_prompt(&self, name: &str) -> bool {
        self.update().remove_prompt(name).apply().is_ok()
    }

    /// Adds a resource, or replaces the one with the same URI or template.
    ///
    /// # Errors
    /// When its definition is not valid, or the server did not declare resources, or completions
    /// and this one has some.
    pub fn add_resource(&self, resource: impl IntoItem<Resource>) -> Result<(), BuildError> {
        self.update().add_resource(resource).apply()
    }

    /// Removes the resource at this URI, or the resource template with this text. Returns `false`
    /// if there is none.
    pub fn remove_resource(&self, uri: &str) -> bool {
        self.update().remove_resource(uri).apply().is_ok()
    }

    /// Returns the capabilities that the server declared when it was built.
    fn capabilities(&self) -> &ServerCapabilities {
        &self.0.identity.capabilities
    }

    /// Returns an error if an item has completers and the server did not declare completions.
    fn check_completions(&self, completers: &Completers) -> Result<(), BuildError> {
        let can = self.capabilities().completions.is_some();
        check_declared(can || completers.is_empty(), "completions")
    }
}

/// Returns an error if the server did not declare a kind of item, since no client would look for
/// one.
fn check_declared(declared: bool, kind: &str) -> Result<(), BuildError> {
    if declared {
        return Ok(());
    }
    Err(BuildError::new(format!(
        "the server did not declare {kind} when it was built (ServerBuilder::dynamic_{kind})"
    )))
}

impl ServerUpdate<'_> {
    /// Adds a tool, or replaces the tool with the same name. A replaced tool keeps its place in the
    /// list, and stays disabled if it was.
    pub fn add_tool(mut self, tool: impl IntoItem<Tool>) -> Self {
        let (server, tool) = (self.server, tool.into_item());
        let entry = check_declared(server.capabilities().tools.is_some(), "tools")
            .and_then(|()| tool.register(&server.0.registration))
            .and_then(|entry| entry.check().map(|()| entry));
        match entry {
            Ok(entry) => self.tools.push(CatalogEdit::Put(entry)),
            Err(error) => self.record_error(error),
        }
        self
    }

    setters! {
        /// Removes a tool. A name that no tool has is an error of [`apply`](Self::apply).
        remove_tool(name: impl Into<String>) { tools.push(CatalogEdit::Remove(name.into())) }

        /// Offers a disabled tool again.
        enable_tool(name: impl Into<String>) { tools.push(CatalogEdit::Enable(name.into(), true)) }

        /// Hides a tool: it is not listed and cannot be called. It keeps its place in the list.
        disable_tool(name: impl Into<String>) {
            tools.push(CatalogEdit::Enable(name.into(), false))
        }
    }

    /// Adds a prompt, or replaces the prompt with the same name. A replaced prompt keeps its place
    /// in the list, and stays disabled if it was.
    pub fn add_prompt(mut self, prompt: impl IntoItem<Prompt>) -> Self {
        let (server, prompt) = (self.server, prompt.into_item());
        let entry = check_declared(server.capabilities().prompts.is_some(), "prompts")
            .and_then(|()| server.check_completions(&prompt.draft.completers))
            .and_then(|()| prompt.register(&server.0.registration));
        match entry {
            Ok(entry) => self.prompts.push(CatalogEdit::Put(entry)),
            Err(error) => self.record_error(error),
        }
        self
    }

    setters! {
        /// Removes a prompt. A name that no prompt has is an error of [`apply`](Self::apply).
        remove_prompt(name: impl Into<String>) { prompts.push(CatalogEdit::Remove(name.into())) }

        /// Offers a disabled prompt again.
        enable_prompt(name: impl Into<String>) {
            prompts.push(CatalogEdit::Enable(name.into(), true))
        }

        /// Hides a prompt: it is not listed and cannot be requested. It keeps its place in the list.
        disable_prompt(name: impl Into<String>) {
            prompts.push(CatalogEdit::Enable(name.into(), false))
        }
    }

    /// Adds a resource, or replaces the one with the same URI or template. A replaced one keeps its
    /// place in the list, and stays disabled if it was.
    pub fn add_resource(mut self, resource: impl IntoItem<Resource>) -> Self {
        let (server, resource) = (self.server, resource.into_item());
        let entry = check_declared(server.capabilities().resources.is_some(), "resources")
            .and_then(|()| server.check_completions(&resource.draft.completers))
            .and_then(|()| resource.register(&server.0.registration));
        match entry {
            Ok(RegisteredResource::Resource(entry)) => self.resources.push(CatalogEdit::Put(entry)),
            Ok(RegisteredResource::Template(entry)) => self.templates.push(CatalogEdit::Put(entry)),
            Err(error) => self.record_error(error),
        }
        self
    }

    /// Removes the resource at this URI, or the resource template with this text.
    pub fn remove_resource(mut self, uri: impl Into<String>) -> Self {
        let uri = uri.into();
        if is_template(&uri) {
            self.templates.push(CatalogEdit::Remove(uri));
        } else {
            self.resources.push(CatalogEdit::Remove(uri));
        }
        self
    }

    /// Offers a disabled resource or resource template again.
    pub fn enable_resource(self, uri: impl Into<String>) -> Self {
        self.set_resource_enabled(uri.into(), true)
    }

    /// Hides the resource at this URI, or the resource template with this text: it is not listed
    /// and cannot be read. It keeps its place in the list.
    pub fn disable_resource(self, uri: impl Into<String>) -> Self {
        self.set_resource_enabled(uri.into(), false)
    }

    fn set_resource_enabled(mut self, uri: String, enabled: bool) -> Self {
        if is_template(&uri) {
            self.templates.push(CatalogEdit::Enable(uri, enabled));
        } else {
            self.resources.push(CatalogEdit::Enable(uri, enabled));
        }
        self
    }

    fn record_error(&mut self, error: BuildError) {
        self.error.get_or_insert(error);
    }

    /// Makes all changes, in order.
    ///
    /// # Errors
    /// When one of them cannot be made: an item to be added is not valid or its kind was not
    /// declared, or an item to be removed, enabled or disabled does not exist. Nothing has changed
    /// then.
    pub fn apply(self) -> Result<(), BuildError> {
        if let Some(error) = self.error {
            return Err(error);
        }
        let shared = &self.server.0;
        let lock = shared.update_lock.lock();
        let _lock = lock.unwrap_or_else(PoisonError::into_inner);
        check_known(&shared.catalogs.tools, "tool", &self.tools)?;
        check_known(&shared.catalogs.prompts, "prompt", &self.prompts)?;
        check_known(&shared.catalogs.resources, "resource", &self.resources)?;
        check_known(
            &shared.catalogs.templates,
            "resource template",
            &self.templates,
        )?;
        if shared.catalogs.tools.edit(self.tools) {
            shared.publish_change(Change::Tools);
        }
        if shared.catalogs.prompts.edit(self.prompts) {
            shared.publish_change(Change::Prompts);
        }
        let resources = shared.catalogs.resources.edit(self.resources);
        if shared.catalogs.templates.edit(self.templates) || resources {
            shared.publish_change(Change::Resources);
        }
        Ok(())
    }
}

debug_fields!(ServerUpdate<'a> {
    tools = |update| update.tools.len(),
    prompts = |update| update.prompts.len(),
    resources = |update| update.resources.len() + update.templates.len(),
});

/// Returns an error if an edit names an item that does not exist.
fn check_known<T: CatalogItem>(
    catalog: &Catalog<T>,
    kind: &str,
    edits: &[CatalogEdit<T>],
) -> Result<(), BuildError> {
    match catalog.first_unknown(edits) {
        None => Ok(()),
        Some(name) => Err(BuildError::new(format!("there is no {kind} {name:?}"))),
    }
}
