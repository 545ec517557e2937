//! The items that a server starts with, from all its groups, each with a unique name.

use crate::catalog::page::ListKind;
use crate::catalog::provider::Providers;
use crate::catalog::{Catalog, Catalogs};
use crate::error::BuildError;
use crate::items::CatalogItem;
use crate::items::group::Group;
use crate::items::prompt::PromptEntry;
use crate::items::registration::{MountPrefix, Registration};
use crate::items::resource::RegisteredResource;
use crate::items::tool::ToolEntry;

/// The items registered so far.
pub(crate) struct Registry {
    pub(crate) catalogs: Catalogs,
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
            catalogs: Catalogs {
                tools: Catalog::new(ListKind::Tools),
                prompts: Catalog::new(ListKind::Prompts),
                resources: Catalog::new(ListKind::Resources),
                templates: Catalog::new(ListKind::ResourceTemplates),
                providers: Providers::default(),
            },
            completes: false,
            mounts: Mounts::default(),
        }
    }

    /// Registers the items of a group. `registration` already includes the group's own settings.
    ///
    /// # Errors
    /// If a definition is not valid, or a name is taken.
    pub(crate) fn add_group(
        &mut self,
        group: Group,
        registration: &Registration,
    ) -> Result<(), BuildError> {
        self.reserve(
            group.tools.len(),
            group.prompts.len(),
            group.resources.len(),
        );
        for tool in group.tools {
            self.add_tool(tool.register(registration)?, registration)?;
        }
        for prompt in group.prompts {
            self.add_prompt(prompt.register(registration)?, registration)?;
        }
        for resource in group.resources {
            self.add_resource(resource.register(registration)?, registration)?;
        }
        self.catalogs
            .providers
            .register(group.providers, registration)?;
        for (prefix, mut inner) in group.groups {
            let settings = std::mem::take(&mut inner.settings);
            let registration = registration.for_group(settings, prefix.as_deref())?;
            self.add_group(inner, &registration)?;
        }
        Ok(())
    }

    /// Reserves room for further items.
    pub(crate) fn reserve(&mut self, tools: usize, prompts: usize, resources: usize) {
        self.catalogs.tools.reserve(tools);
        self.catalogs.prompts.reserve(prompts);
        self.catalogs.resources.reserve(resources);
        self.mounts.tools.reserve(tools);
    }

    pub(crate) fn add_tool(
        &mut self,
        tool: ToolEntry,
        registration: &Registration,
    ) -> Result<(), BuildError> {
        add(
            "tools",
            &mut self.catalogs.tools,
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
        add(
            "prompts",
            &mut self.catalogs.prompts,
            mounts,
            prompt,
            registration,
        )
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
                    &mut self.catalogs.resources,
                    mounts,
                    resource,
                    registration,
                )
            }
            RegisteredResource::Template(template) => {
                self.completes |= !template.completers.is_empty();
                let mounts = &mut self.mounts.templates;
                let templates = &mut self.catalogs.templates;
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
