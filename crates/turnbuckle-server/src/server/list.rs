//! List requests: one page of items, with its cursor and its cache hints.
//!
//! Specification: server/utilities/pagination, server/utilities/caching (2026-07-28).

use std::borrow::Cow;

use turnbuckle_session::handler::RequestContext;
use turnbuckle_session::internal::{HandlerOutcome, IncomingRequest};
use turnbuckle_types::{CacheScope, ProtocolError};
use turnbuckle_wire::era::{EncodedResult, Reply};

use crate::Server;
use crate::catalog::list::ListedItem;
use crate::request::context::HandlerContext;

impl Server {
    /// Answers a list request.
    pub(super) fn list<T: ListedItem>(
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
        if T::providers(&self.0.catalogs)
            .iter()
            .any(|provider| T::list_function(provider).is_some())
        {
            let cursor = cursor.map(Cow::into_owned);
            let context = HandlerContext::new(context.clone(), self.0.settings.clone(), None);
            let page = self.clone().list_with_providers::<T>(cursor, context);
            return Ok(HandlerOutcome::Pending(Box::pin(async move {
                page.await.unwrap_or_else(Reply::Error)
            })));
        }
        let features = context.features();
        let page = T::catalog(&self.0.catalogs).page(
            features.revision,
            cursor.as_deref(),
            self.0.page_size,
            context.principal(),
            |listed| {
                let scope = if listed.restricted {
                    CacheScope::Private
                } else {
                    self.0.list_cache.scope.clone()
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

    /// Answers a request for a list that has providers.
    async fn list_with_providers<T: ListedItem>(
        self,
        cursor: Option<String>,
        context: HandlerContext,
    ) -> Result<Reply, ProtocolError> {
        let inner = &self.0;
        let keys = &inner.cursor_keys;
        let page =
            inner
                .catalogs
                .combined_page::<T>(cursor.as_deref(), inner.page_size, keys, &context);
        let (items, next_cursor) = page.await?;
        // What a provider lists may depend on the principal.
        let cache = (inner.list_cache.ttl_ms, CacheScope::Private);
        Ok(Reply::complete(T::page(&items, next_cursor, cache)))
    }
}
