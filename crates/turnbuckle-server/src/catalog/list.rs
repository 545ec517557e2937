//! List requests: one page of items, with its cursor and its cache hints.
//!
//! Specification: server/utilities/pagination, server/utilities/caching (2026-07-28).

use std::borrow::Cow;
use std::sync::Arc;

use serde::Serialize;
use turnbuckle_session::{HandlerOutcome, IncomingRequest, RequestContext};
use turnbuckle_types::{
    CacheScope, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult,
    ListToolsResult, ProtocolError,
};
use turnbuckle_wire::era::{EncodedResult, Project, Reply};

use crate::Server;
use crate::catalog::CatalogItem;
use crate::catalog::combined_list::ProvidedEntry;
use crate::handler::context::HandlerContext;
use crate::prompt::PromptEntry;
use crate::resource::{ResourceEntry, TemplateEntry};
use crate::tool::ToolEntry;

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

impl Server {
    /// Answers a list request.
    pub(crate) fn list<T: ProvidedEntry>(
        &self,
        call: IncomingRequest<'_>,
        context: &RequestContext,
    ) -> Result<HandlerOutcome, ProtocolError> {
        let cursor = match call.params.cursor.filter(|raw| !raw.is_null()) {
            None => None,
            Some(raw) => Some(
                raw.text()
                    .ok_or_else(|| ProtocolError::invalid_params("\"cursor\" must be a string"))?,
            ),
        };
        if T::providers(&self.0)
            .iter()
            .any(|provider| T::list_function(provider).is_some())
        {
            let cursor = cursor.map(Cow::into_owned);
            let context = HandlerContext::new(context.clone(), self.0.clone(), None);
            let page = self.clone().list_with_providers::<T>(cursor, context);
            return Ok(HandlerOutcome::Pending(Box::pin(async move {
                page.await.unwrap_or_else(Reply::Error)
            })));
        }
        let features = context.features();
        let page = T::catalog(&self.0).page(
            features.revision,
            cursor.as_deref(),
            self.0.page_size,
            context.principal(),
            |listed| {
                let scope = match listed.restricted {
                    true => CacheScope::Private,
                    false => self.0.list_cache.scope.clone(),
                };
                let cache = (self.0.list_cache.ttl_ms, scope);
                let result = T::page(&listed.items, listed.next_cursor, cache);
                EncodedResult::complete(result, features, self.0.server_info.as_deref()).map_err(
                    |error| ProtocolError::internal(format!("the list has no JSON form: {error}")),
                )
            },
        )?;
        Ok(Reply::Complete(Box::new(page)).into())
    }
}
