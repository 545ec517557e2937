//! Lists of registered items followed by those of providers.
//!
//! A page is filled from where its cursor points to: with registered items, then from each provider,
//! until it is full or a provider has a cursor for its next page.

use std::collections::HashSet;
use std::num::NonZeroUsize;
use std::sync::Arc;

use turnbuckle_types::ProtocolError;

use crate::catalog::Catalogs;
use crate::catalog::list::ListedItem;
use crate::catalog::page::{Cursor, unknown_cursor};
use crate::catalog::provider::ProviderEntry;
use crate::catalog::provider_cursor::ProviderPosition;
use crate::request::context::HandlerContext;
use crate::request::input::StateKeys;
use crate::request::list::ListRequest;

/// A page that is being filled.
struct PageDraft<T> {
    items: Vec<Arc<T>>,
    /// The keys of items that came from providers.
    keys: HashSet<String>,
    size: usize,
}

impl<T> PageDraft<T> {
    fn room(&self) -> usize {
        self.size.saturating_sub(self.items.len())
    }
}

impl Catalogs {
    /// Returns the items of one page, and the cursor of the next page.
    pub(crate) async fn combined_page<T: ListedItem>(
        &self,
        cursor: Option<&str>,
        size: NonZeroUsize,
        keys: &StateKeys,
        context: &HandlerContext,
    ) -> Result<(Vec<Arc<T>>, Option<String>), ProtocolError> {
        let catalog = T::catalog(self);
        let mut page = PageDraft {
            items: Vec::new(),
            keys: HashSet::new(),
            size: size.get(),
        };
        let mut position = ProviderPosition::default();
        match cursor.filter(|cursor| !Cursor::has_length_of(cursor)) {
            Some(cursor) => {
                position = ProviderPosition::open(cursor, catalog.kind, keys, context)?;
            }
            None => {
                let registered = catalog.unencoded_page(cursor, size, context.principal())?;
                page.items = registered.items;
                if registered.next_cursor.is_some() {
                    return Ok((page.items, registered.next_cursor));
                }
            }
        }
        let providers = T::providers(self);
        if position.provider as usize >= providers.len() {
            return Err(unknown_cursor());
        }
        while let Some(provider) = providers.get(position.provider as usize) {
            let next = if page.room() == 0 {
                Some(position)
            } else {
                match self.fill(&mut page, provider, &position, context).await {
                    Ok(None) => {
                        position = position.next_provider();
                        continue;
                    }
                    Ok(next) => next,
                    // The next page begins with this provider, so that its failure is not lost.
                    Err(_) if !page.items.is_empty() => Some(position),
                    Err(error) => return Err(error),
                }
            };
            let next = next.map(|next| next.seal(catalog.kind, keys, context));
            return Ok((page.items, next.transpose()?));
        }
        Ok((page.items, None))
    }

    /// Adds items of a provider to a page. Returns the position of the next page, or `None` at the
    /// end of the provider's list.
    async fn fill<T: ListedItem>(
        &self,
        page: &mut PageDraft<T>,
        provider: &ProviderEntry<T::Item>,
        position: &ProviderPosition,
        context: &HandlerContext,
    ) -> Result<Option<ProviderPosition>, ProtocolError> {
        let principal = context.principal();
        let Some(function) = T::list_function(provider) else {
            return Ok(None);
        };
        if !provider.access.is_listed_for(principal) {
            return Ok(None);
        }
        let skip = position.skip as usize;
        let request = ListRequest {
            cursor: position.cursor.clone(),
            limit: page.room().saturating_add(skip),
        };
        let listed = provider.list(function, &request, context).await?;
        for (at, item) in listed.items.into_iter().enumerate().skip(skip) {
            if page.room() == 0 {
                let skip = u32::try_from(at).unwrap_or(u32::MAX);
                return Ok(Some(ProviderPosition {
                    skip,
                    ..position.clone()
                }));
            }
            let Ok(item) = T::register(item, &provider.registration)
                .inspect_err(|error| drop(provider.invalid_item(error)))
            else {
                continue;
            };
            let registered = T::catalog(self).contains(item.key());
            if !registered
                && item.access().is_listed_for(principal)
                && page.keys.insert(item.key().to_owned())
            {
                page.items.push(Arc::new(item));
            }
        }
        Ok(listed.next_cursor.map(|cursor| ProviderPosition {
            provider: position.provider,
            skip: 0,
            cursor: Some(cursor),
        }))
    }
}
