//! What a server begins with: the items of all its groups, each under a name of its own.

use std::collections::HashMap;
use std::sync::Arc;

use crate::catalog::{Catalog, Item};
use crate::error::BuildError;
use crate::page::ListKind;
use crate::prompt::PromptEntry;
use crate::resource::{Registered, ResourceEntry, TemplateEntry};
use crate::scope::Scope;
use crate::tool::ToolEntry;

/// The items that were registered so far.
pub(crate) struct Registry {
    pub(crate) tools: Catalog<ToolEntry>,
    pub(crate) prompts: Catalog<PromptEntry>,
    pub(crate) resources: Catalog<ResourceEntry>,
    pub(crate) templates: Catalog<TemplateEntry>,
    /// Whether something of theirs completes.
    pub(crate) completes: bool,
    /// Where each comes from, by its kind and name.
    origins: HashMap<(&'static str, Box<str>), Origin>,
}

/// Where an item comes from: what it was mounted as, if it was.
pub(crate) type Origin = Option<Arc<str>>;

impl Registry {
    pub(crate) fn new() -> Self {
        Self {
            tools: Catalog::new(ListKind::Tools),
            prompts: Catalog::new(ListKind::Prompts),
            resources: Catalog::new(ListKind::Resources),
            templates: Catalog::new(ListKind::ResourceTemplates),
            completes: false,
            origins: HashMap::new(),
        }
    }

    pub(crate) fn add_tool(&mut self, tool: ToolEntry, scope: &Scope) -> Result<(), BuildError> {
        self.is_new("tools", tool.key(), scope)?;
        self.tools.insert(tool);
        Ok(())
    }

    pub(crate) fn add_prompt(
        &mut self,
        prompt: PromptEntry,
        scope: &Scope,
    ) -> Result<(), BuildError> {
        self.is_new("prompts", prompt.key(), scope)?;
        self.completes |= !prompt.completers.is_empty();
        self.prompts.insert(prompt);
        Ok(())
    }

    pub(crate) fn add_resource(
        &mut self,
        resource: Registered,
        scope: &Scope,
    ) -> Result<(), BuildError> {
        match resource {
            Registered::One(resource) => {
                self.is_new("resources", resource.key(), scope)?;
                self.resources.insert(resource);
            }
            Registered::Family(template) => {
                self.is_new("resource templates", template.key(), scope)?;
                self.completes |= !template.completers.is_empty();
                self.templates.insert(template);
            }
        }
        Ok(())
    }

    /// Two of one name are an error, which says where they come from.
    fn is_new(&mut self, kind: &'static str, name: &str, scope: &Scope) -> Result<(), BuildError> {
        let origin = scope.origin.clone();
        let Some(before) = self.origins.insert((kind, name.into()), origin.clone()) else {
            return Ok(());
        };
        let mut reason = format!("there are two {kind} {name:?}");
        if before.is_some() || origin.is_some() {
            let told = |origin: Origin| match origin {
                Some(prefix) => format!("mounted as {prefix:?}"),
                None => "of the server's own".to_owned(),
            };
            reason = format!("{reason}: one {}, one {}", told(before), told(origin));
        }
        Err(BuildError::new(reason))
    }
}
