//! The results of list requests, made of the items of one page.
//!
//! Specification: server/utilities/pagination, server/utilities/caching (2026-07-28).

use std::sync::Arc;

use serde::Serialize;
use turnbuckle_types::{
    CacheScope, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult,
    ListToolsResult,
};
use turnbuckle_wire::era::Project;

use crate::items::CatalogItem;
use crate::items::prompt::PromptEntry;
use crate::items::resource::{ResourceEntry, TemplateEntry};
use crate::items::tool::ToolEntry;

/// An item that can be listed.
pub(crate) trait Listable: CatalogItem + Sized {
    /// The result type of the list request.
    type Result: Serialize + Project + Clone + Send + 'static;

    /// Builds the result for one page.
    fn page(
        items: &[Arc<Self>],
        next_cursor: Option<String>,
        cache: (u64, CacheScope),
    ) -> Self::Result;
}

macro_rules! listable {
    ($($Entry:ty => $Result:ident, |$item:ident| $definition:expr;)*) => {$(
        impl Listable for $Entry {
            type Result = $Result;

            fn page(
                items: &[Arc<Self>],
                next_cursor: Option<String>,
                (ttl_ms, scope): (u64, CacheScope),
            ) -> $Result {
                let definitions = items.iter().filter_map(|$item| $definition);
                let mut result = $Result::new(definitions.collect::<Vec<_>>());
                result.next_cursor = next_cursor;
                result.ttl_ms = Some(ttl_ms);
                result.cache_scope = Some(scope);
                result
            }
        }
    )*};
}

listable! {
    ToolEntry => ListToolsResult, |tool| tool.definition();
    PromptEntry => ListPromptsResult, |prompt| Some(prompt.definition());
    ResourceEntry => ListResourcesResult, |resource| Some(resource.definition());
    TemplateEntry => ListResourceTemplatesResult, |template| Some(template.definition());
}
