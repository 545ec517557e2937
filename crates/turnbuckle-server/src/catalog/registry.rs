//! The items that a server starts with, from all its groups, each with a unique name.

use std::collections::HashMap;

use crate::catalog::page::{ListKind, Position};
use crate::catalog::provider::Providers;
use crate::catalog::{Catalog, Catalogs};
use crate::error::BuildError;
use crate::items::CatalogItem;
use crate::items::group::Group;
use crate::items::registration::{MountPrefix, Registration};
use crate::items::resource::RegisteredResource;

/// The items registered so far.
pub(crate) struct Registry {
    pub(crate) catalogs: Catalogs,
    /// True if any registered item has a completer.
    pub(crate) completes: bool,
    mounts: Mounts,
}

/// The prefixes of the items that were mounted under one.
type Mounts = HashMap<(ListKind, Position), MountPrefix>;

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
        let (catalogs, mounts) = (&mut self.catalogs, &mut self.mounts);
        catalogs.tools.reserve(group.tools.len());
        catalogs.prompts.reserve(group.prompts.len());
        catalogs.resources.reserve(group.resources.len());
        for tool in group.tools {
            let tool = tool.register(registration)?;
            add(&mut catalogs.tools, tool, mounts, registration)?;
        }
        for prompt in group.prompts {
            let prompt = prompt.register(registration)?;
            self.completes |= !prompt.completers.is_empty();
            add(&mut catalogs.prompts, prompt, mounts, registration)?;
        }
        for resource in group.resources {
            match resource.register(registration)? {
                RegisteredResource::Resource(resource) => {
                    add(&mut catalogs.resources, resource, mounts, registration)?;
                }
                RegisteredResource::Template(template) => {
                    self.completes |= !template.completers.is_empty();
                    add(&mut catalogs.templates, template, mounts, registration)?;
                }
            }
        }
        catalogs.providers.register(group.providers, registration)?;
        for (prefix, mut inner) in group.groups {
            let settings = std::mem::take(&mut inner.settings);
            let registration = registration.for_group(settings, prefix.as_deref())?;
            self.add_group(inner, &registration)?;
        }
        Ok(())
    }
}

/// Adds an item to a catalog.
///
/// # Errors
/// If the name is taken; the error names the places that both items come from.
fn add<T: CatalogItem>(
    catalog: &mut Catalog<T>,
    item: T,
    mounts: &mut Mounts,
    registration: &Registration,
) -> Result<(), BuildError> {
    let now = &registration.mounted_as;
    let (item, position) = match catalog.add(item) {
        Ok(position) => {
            if now.is_some() {
                mounts.insert((catalog.kind, position), now.clone());
            }
            return Ok(());
        }
        Err(conflict) => conflict,
    };
    let mut reason = format!("there are two {} {:?}", catalog.kind.name(), item.key());
    let before = mounts.get(&(catalog.kind, position)).cloned().flatten();
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
