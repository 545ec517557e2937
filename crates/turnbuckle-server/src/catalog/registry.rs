//! The items that a server starts with, from all its groups, each with a unique name.

use crate::catalog::page::ListKind;
use crate::catalog::provider::entry::Providers;
use crate::catalog::{Catalog, CatalogItem};
use crate::error::BuildError;
use crate::item::registration::{MountPrefix, Registration};
use crate::prompt::PromptEntry;
use crate::resource::{RegisteredResource, ResourceEntry, TemplateEntry};
use crate::tool::ToolEntry;

/// The items registered so far.
pub(crate) struct Registry {
    pub(crate) tools: Catalog<ToolEntry>,
    pub(crate) prompts: Catalog<PromptEntry>,
    pub(crate) resources: Catalog<ResourceEntry>,
    pub(crate) templates: Catalog<TemplateEntry>,
    pub(crate) providers: Providers,
    /// True if any registered item has a completer.
    pub(crate) completes: bool,
    mounts: Mounts,
}

/// The prefix under which each item was mounted, in the order of registration.
#[derive(Debug, Default)]
struct Mounts {
    tools: Vec<MountPrefix>,
    prompts: Vec<MountPrefix>,
    resources: Vec<MountPrefix>,
    templates: Vec<MountPrefix>,
}

impl Registry {
    pub(crate) fn new() -> Self {
        Self {
            tools: Catalog::new(ListKind::Tools),
            prompts: Catalog::new(ListKind::Prompts),
            resources: Catalog::new(ListKind::Resources),
            templates: Catalog::new(ListKind::ResourceTemplates),
            providers: Providers::default(),
            completes: false,
            mounts: Mounts::default(),
        }
    }

    /// Reserves room for further items.
    pub(crate) fn reserve(&mut self, tools: usize, prompts: usize, resources: usize) {
        self.tools.reserve(tools);
        self.prompts.reserve(prompts);
        self.resources.reserve(resources);
        self.mounts.tools.reserve(tools);
    }

    pub(crate) fn add_tool(
        &mut self,
        tool: ToolEntry,
        registration: &Registration,
    ) -> Result<(), BuildError> {
        add(
            "tools",
            &mut self.tools,
            &mut self.mounts.tools,
            tool,
            registration,
        )
    }

    pub(crate) fn add_prompt(
        &mut self,
        prompt: PromptEntry,
        registration: &Registration,
    ) -> Result<(), BuildError> {
        self.completes |= !prompt.completers.is_empty();
        let mounts = &mut self.mounts.prompts;
        add("prompts", &mut self.prompts, mounts, prompt, registration)
    }

    pub(crate) fn add_resource(
        &mut self,
        resource: RegisteredResource,
        registration: &Registration,
    ) -> Result<(), BuildError> {
        match resource {
            RegisteredResource::Resource(resource) => {
                let mounts = &mut self.mounts.resources;
                add(
                    "resources",
                    &mut self.resources,
                    mounts,
                    resource,
                    registration,
                )
            }
            RegisteredResource::Template(template) => {
                self.completes |= !template.completers.is_empty();
                let mounts = &mut self.mounts.templates;
                let templates = &mut self.templates;
                add(
                    "resource templates",
                    templates,
                    mounts,
                    template,
                    registration,
                )
            }
        }
    }
}

/// Adds an item to a catalog.
///
/// # Errors
/// If the name is taken; the error says where both items come from.
fn add<T: CatalogItem>(
    kind: &str,
    catalog: &mut Catalog<T>,
    mounts: &mut Vec<MountPrefix>,
    item: T,
    registration: &Registration,
) -> Result<(), BuildError> {
    let Err((item, position)) = catalog.add(item) else {
        mounts.push(registration.mounted_as.clone());
        return Ok(());
    };
    let mut reason = format!("there are two {kind} {:?}", item.key());
    let before = usize::try_from(position)
        .ok()
        .and_then(|came| came.checked_sub(1));
    let before = before.and_then(|at| mounts.get(at)?.clone());
    let now = &registration.mounted_as;
    if before.is_some() || now.is_some() {
        let describe = |mount: Option<&str>| match mount {
            Some(prefix) => format!("mounted as {prefix:?}"),
            None => "of the server's own".to_owned(),
        };
        let (before, now) = (describe(before.as_deref()), describe(now.as_deref()));
        reason = format!("{reason}: one {before}, one {now}");
    }
    Err(BuildError::new(reason))
}
