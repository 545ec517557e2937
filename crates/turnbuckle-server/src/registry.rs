//! What a server begins with: the items of all its groups, each under a name of its own.

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
    origins: Origins,
}

/// Where each item comes from, in the order in which they came.
#[derive(Debug, Default)]
struct Origins {
    tools: Vec<Origin>,
    prompts: Vec<Origin>,
    resources: Vec<Origin>,
    templates: Vec<Origin>,
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
            origins: Origins::default(),
        }
    }

    /// Makes room for so many more of each.
    pub(crate) fn reserve(&mut self, tools: usize, prompts: usize, resources: usize) {
        self.tools.reserve(tools);
        self.prompts.reserve(prompts);
        self.resources.reserve(resources);
        self.origins.tools.reserve(tools);
    }

    pub(crate) fn add_tool(&mut self, tool: ToolEntry, scope: &Scope) -> Result<(), BuildError> {
        add(
            "tools",
            &mut self.tools,
            &mut self.origins.tools,
            tool,
            scope,
        )
    }

    pub(crate) fn add_prompt(
        &mut self,
        prompt: PromptEntry,
        scope: &Scope,
    ) -> Result<(), BuildError> {
        self.completes |= !prompt.completers.is_empty();
        let origins = &mut self.origins.prompts;
        add("prompts", &mut self.prompts, origins, prompt, scope)
    }

    pub(crate) fn add_resource(
        &mut self,
        resource: Registered,
        scope: &Scope,
    ) -> Result<(), BuildError> {
        match resource {
            Registered::One(resource) => {
                let origins = &mut self.origins.resources;
                add("resources", &mut self.resources, origins, resource, scope)
            }
            Registered::Family(template) => {
                self.completes |= !template.completers.is_empty();
                let origins = &mut self.origins.templates;
                let templates = &mut self.templates;
                add("resource templates", templates, origins, template, scope)
            }
        }
    }
}

/// Two of one name are an error, which says where they come from.
fn add<T: Item>(
    kind: &str,
    catalog: &mut Catalog<T>,
    origins: &mut Vec<Origin>,
    item: T,
    scope: &Scope,
) -> Result<(), BuildError> {
    let Err((item, place)) = catalog.add(item) else {
        origins.push(scope.origin.clone());
        return Ok(());
    };
    let mut reason = format!("there are two {kind} {:?}", item.key());
    let before = usize::try_from(place)
        .ok()
        .and_then(|came| came.checked_sub(1));
    let before = before.and_then(|at| origins.get(at)?.clone());
    let now = &scope.origin;
    if before.is_some() || now.is_some() {
        let told = |origin: Option<&str>| match origin {
            Some(prefix) => format!("mounted as {prefix:?}"),
            None => "of the server's own".to_owned(),
        };
        let (before, now) = (told(before.as_deref()), told(now.as_deref()));
        reason = format!("{reason}: one {before}, one {now}");
    }
    Err(BuildError::new(reason))
}
