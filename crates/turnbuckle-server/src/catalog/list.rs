//! The items of each list: their result, their catalog and their providers.
//!
//! Specification: server/utilities/pagination, server/utilities/caching (2026-07-28).

use std::sync::Arc;

use serde::Serialize;
use turnbuckle_types::{
    CacheScope, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult,
    ListToolsResult,
};
use turnbuckle_wire::era::Project;

use crate::catalog::provider::ProviderEntry;
use crate::catalog::{Catalog, Catalogs};
use crate::error::BuildError;
use crate::items::CatalogItem;
use crate::items::prompt::{Prompt, PromptEntry};
use crate::items::provider::ProviderFunction;
use crate::items::registration::Registration;
use crate::items::resource::{RegisteredResource, Resource, ResourceEntry, TemplateEntry};
use crate::items::tool::{Tool, ToolEntry};
use crate::request::list::ListPage;

/// An item of a list, registered when the server was built or found by a provider.
pub(crate) trait ListedItem: CatalogItem + Sized {
    /// The result type of the list request.
    type Result: Serialize + Project + Clone + Send + 'static;

    /// The item of a provider before it is registered.
    type Item: Send + 'static;

    /// Builds the result for one page.
    fn page(
        items: &[Arc<Self>],
        next_cursor: Option<String>,
        cache: (u64, CacheScope),
    ) -> Self::Result;

    /// Returns the registered items.
    fn catalog(catalogs: &Catalogs) -> &Catalog<Self>;

    /// Returns the providers, in the order of registration.
    fn providers(catalogs: &Catalogs) -> &[ProviderEntry<Self::Item>];

    /// Returns the provider's function that lists such items.
    fn list_function(
        provider: &ProviderEntry<Self::Item>,
    ) -> Option<&ProviderFunction<ListPage<Self::Item>>>;

    /// Registers an item of a provider for one request.
    fn register(item: Self::Item, registration: &Registration) -> Result<Self, BuildError>;
}

macro_rules! listed_items {
    ($(
        $Entry:ident => $Result:ident {
            $Item:ident, $catalog:ident, $providers:ident, $list:ident,
            |$entry:ident| $definition:expr,
            |$item:ident, $registration:ident| $register:expr
        }
    )*) => {$(
        impl ListedItem for $Entry {
            type Result = $Result;
            type Item = $Item;

            fn page(
                items: &[Arc<Self>],
                next_cursor: Option<String>,
                (ttl_ms, scope): (u64, CacheScope),
            ) -> $Result {
                let definitions = items.iter().filter_map(|$entry| $definition);
                let mut result = $Result::new(definitions.collect::<Vec<_>>());
                result.next_cursor = next_cursor;
                result.ttl_ms = Some(ttl_ms);
                result.cache_scope = Some(scope);
                result
            }

            fn catalog(catalogs: &Catalogs) -> &Catalog<Self> {
                &catalogs.$catalog
            }

            fn providers(catalogs: &Catalogs) -> &[ProviderEntry<$Item>] {
                &catalogs.providers.$providers
            }

            fn list_function(
                provider: &ProviderEntry<$Item>,
            ) -> Option<&ProviderFunction<ListPage<$Item>>> {
                provider.$list.as_ref()
            }

            fn register($item: $Item, $registration: &Registration) -> Result<Self, BuildError> {
                $register
            }
        }
    )*};
}

listed_items! {
    ToolEntry => ListToolsResult {
        Tool, tools, tools, list, |tool| tool.definition(),
        |tool, registration| tool.register(registration)
    }
    PromptEntry => ListPromptsResult {
        Prompt, prompts, prompts, list, |prompt| Some(prompt.definition()),
        |prompt, registration| prompt.register(registration)
    }
    ResourceEntry => ListResourcesResult {
        Resource, resources, resources, list, |resource| Some(resource.definition()),
        |resource, registration| match resource.register(registration)? {
            RegisteredResource::Resource(resource) => Ok(resource),
            RegisteredResource::Template(template) => Err(BuildError::new(format!(
                "the resource template {:?} is in a list of resources: list it with \
                 Provider::list_templates",
                template.key()
            ))),
        }
    }
    TemplateEntry => ListResourceTemplatesResult {
        Resource, templates, resources, list_templates, |template| Some(template.definition()),
        |resource, registration| match resource.register(registration)? {
            RegisteredResource::Template(template) => Ok(template),
            RegisteredResource::Resource(resource) => Err(BuildError::new(format!(
                "the resource {:?} is in a list of resource templates: list it with Provider::list",
                resource.key()
            ))),
        }
    }
}
