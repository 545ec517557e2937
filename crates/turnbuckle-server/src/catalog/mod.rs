//! The items of one kind: looked up by name, listed in the order of their registration.
//!
//! Encoded pages of the list are cached per revision, cursor and set of visible items.

mod combined_list;
pub(crate) mod list;
pub(crate) mod page;
pub(crate) mod provider;
mod provider_cursor;
pub(crate) mod registry;

use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use foldhash::HashSet;
use turnbuckle_types::base::debug_fields;
use turnbuckle_types::{Principal, ProtocolError};
use turnbuckle_wire::era::{EncodedResult, ResultBody};
use turnbuckle_wire::revision::Revision;

use crate::catalog::page::{ListKind, Position, page};
use crate::catalog::provider::Providers;
use crate::items::CatalogItem;
use crate::items::prompt::PromptEntry;
use crate::items::resource::{ResourceEntry, TemplateEntry};
use crate::items::tool::ToolEntry;

/// The most encoded pages that are cached; when there would be more, the cache is emptied.
const MAX_CACHED_PAGES: usize = 256;

/// The most bytes of cached pages and their keys together. Clients choose the cursors, so without a
/// bound they could fill the memory.
const MAX_CACHED_BYTES: usize = 8 << 20;

/// All items of one kind, and a cache of their encoded list.
#[derive(Debug)]
pub(crate) struct Catalog<T> {
    pub(crate) kind: ListKind,
    items: RwLock<CatalogState<T>>,
    page_cache: Mutex<PageCache>,
}

/// All items that a server offers.
pub(crate) struct Catalogs {
    pub(crate) tools: Catalog<ToolEntry>,
    pub(crate) prompts: Catalog<PromptEntry>,
    pub(crate) resources: Catalog<ResourceEntry>,
    pub(crate) templates: Catalog<TemplateEntry>,
    pub(crate) providers: Providers,
}

/// The items, by name and in order.
struct CatalogState<T> {
    by_name: HashSet<CatalogEntry<T>>,
    /// The enabled items, in the order of their positions. A new item comes last.
    enabled_in_order: Vec<(Position, Arc<T>)>,
    /// The position of the item that was added last; earlier ones may have been removed.
    last_position: Position,
    /// The number of enabled items that not every principal can see.
    restricted: usize,
    /// Counts changes, so that a page that was encoded before a change is not cached after it.
    version: u64,
}

/// An item with its position and whether it is enabled, hashed by its name.
struct CatalogEntry<T> {
    item: Arc<T>,
    position: Position,
    enabled: bool,
}

impl<T: CatalogItem> Borrow<str> for CatalogEntry<T> {
    fn borrow(&self) -> &str {
        self.item.key()
    }
}

impl<T: CatalogItem> Hash for CatalogEntry<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.item.key().hash(state);
    }
}

impl<T: CatalogItem> PartialEq for CatalogEntry<T> {
    fn eq(&self, other: &Self) -> bool {
        self.item.key() == other.item.key()
    }
}

impl<T: CatalogItem> Eq for CatalogEntry<T> {}

/// One change to a catalog.
#[derive(Debug)]
pub(crate) enum CatalogEdit<T> {
    /// Adds an item. An item with the same name is replaced, keeps its position, and stays disabled
    /// if it was.
    Put(T),
    /// Removes the item with this name.
    Remove(String),
    /// Enables or disables the item with this name. It keeps its position.
    Enable(String, bool),
}

/// The properties on which an encoded page depends.
#[derive(Debug, PartialEq, Eq, Hash)]
struct PageKey {
    revision: Revision,
    cursor: Option<Box<str>>,
    /// For each restricted item, in order, whether the principal can see it.
    seen: Box<[bool]>,
}

/// Encoded pages of a list.
#[derive(Debug, Default)]
struct PageCache {
    pages: HashMap<PageKey, EncodedResult>,
    /// The size of all keys and pages together.
    bytes: usize,
}

impl PageCache {
    /// Adds a page, unless it is larger than the cache.
    fn keep(&mut self, key: PageKey, page: EncodedResult) {
        let named = key.cursor.as_ref().map_or(0, |cursor| cursor.len()) + key.seen.len();
        let size = named + page.encoded_bytes().map_or(0, |bytes| bytes.len());
        // Two requests may have encoded the same page at the same time.
        if size > MAX_CACHED_BYTES || self.pages.contains_key(&key) {
            return;
        }
        if self.pages.len() >= MAX_CACHED_PAGES || self.bytes + size > MAX_CACHED_BYTES {
            *self = Self::default();
        }
        self.pages.insert(key, page);
        self.bytes += size;
    }
}

/// One page of a list before it is encoded.
pub(crate) struct ListedPage<T> {
    pub(crate) items: Vec<Arc<T>>,
    pub(crate) next_cursor: Option<String>,
    /// True if another principal may see another list.
    pub(crate) restricted: bool,
}

impl<T: CatalogItem> CatalogState<T> {
    /// Adds an item if its name is new, and returns its position. Otherwise returns the item with the
    /// position of the one that has the name.
    fn add(&mut self, item: T) -> Result<Position, (Arc<T>, Position)> {
        let slot = CatalogEntry {
            item: Arc::new(item),
            position: self.last_position + 1,
            enabled: true,
        };
        let item = slot.item.clone();
        if !self.by_name.insert(slot) {
            let before = self.by_name.get(item.key());
            let position = before.map_or(0, |before| before.position);
            return Err((item, position));
        }
        self.last_position += 1;
        self.show(self.last_position, item);
        Ok(self.last_position)
    }

    /// Adds or replaces an item; returns whether the list changed.
    fn put(&mut self, item: Arc<T>) -> bool {
        let before = self.by_name.take(item.key());
        let (position, enabled) = match before {
            Some(slot) => {
                self.hide(&slot);
                (slot.position, slot.enabled)
            }
            None => {
                self.last_position += 1;
                (self.last_position, true)
            }
        };
        if enabled {
            self.show(position, item.clone());
        }
        self.by_name.insert(CatalogEntry {
            item,
            position,
            enabled,
        });
        enabled
    }

    /// Removes an item; returns whether the list changed.
    fn remove(&mut self, name: &str) -> bool {
        let removed = self.by_name.take(name);
        removed.is_some_and(|slot| self.hide(&slot))
    }

    /// Enables or disables an item; returns whether that changed anything.
    fn enable(&mut self, name: &str, enabled: bool) -> bool {
        let Some(mut slot) = self.by_name.take(name) else {
            return false;
        };
        let changed = slot.enabled != enabled;
        if enabled && changed {
            self.show(slot.position, slot.item.clone());
        } else if changed {
            self.hide(&slot);
        }
        slot.enabled = enabled;
        self.by_name.insert(slot);
        changed
    }

    /// Inserts an item into the enabled ones, at its position.
    fn show(&mut self, position: Position, item: Arc<T>) {
        self.restricted += usize::from(item.access().restricts_lists());
        let index = match self.enabled_in_order.last() {
            Some((last, _)) if *last > position => self.index_of(position),
            _ => self.enabled_in_order.len(),
        };
        self.enabled_in_order.insert(index, (position, item));
    }

    /// Removes an entry from the enabled items; returns whether it was enabled.
    fn hide(&mut self, slot: &CatalogEntry<T>) -> bool {
        if slot.enabled {
            self.enabled_in_order.remove(self.index_of(slot.position));
            self.restricted -= usize::from(slot.item.access().restricts_lists());
        }
        slot.enabled
    }

    /// Returns the index, among the enabled items, of a position.
    fn index_of(&self, position: Position) -> usize {
        self.enabled_in_order
            .partition_point(|(other, _)| *other < position)
    }

    /// Returns the enabled items, in order.
    fn enabled_items(&self) -> impl Iterator<Item = &Arc<T>> {
        self.enabled_in_order.iter().map(|(_, item)| item)
    }
}

debug_fields!([T] CatalogState<T> {
    offered = |state| state.by_name.len(),
    enabled_items = |state| state.enabled_in_order.len(),
    restricted,
});

impl Catalogs {
    /// Returns the scopes that items require, in order and without repetition.
    pub(crate) fn required_scopes(&self) -> Vec<String> {
        let mut scopes = Vec::new();
        self.tools.add_scopes(&mut scopes);
        self.prompts.add_scopes(&mut scopes);
        self.resources.add_scopes(&mut scopes);
        self.templates.add_scopes(&mut scopes);
        for access in self.providers.access_rules() {
            access.add_scopes(&mut scopes);
        }
        scopes
    }
}

impl<T: CatalogItem> Catalog<T> {
    pub(crate) fn new(kind: ListKind) -> Self {
        Self {
            kind,
            items: RwLock::new(CatalogState {
                by_name: HashSet::default(),
                enabled_in_order: Vec::new(),
                last_position: 0,
                restricted: 0,
                version: 0,
            }),
            page_cache: Mutex::default(),
        }
    }

    fn page_cache(&self) -> MutexGuard<'_, PageCache> {
        self.page_cache
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn is_empty(&self) -> bool {
        let items = self.items.read().unwrap_or_else(PoisonError::into_inner);
        items.by_name.is_empty()
    }

    /// Reserves room for `more` further items.
    pub(crate) fn reserve(&mut self, more: usize) {
        let items = self.items.get_mut().unwrap_or_else(PoisonError::into_inner);
        items.by_name.reserve(more);
        items.enabled_in_order.reserve(more);
    }

    /// Adds an item if its name is new, and returns its position. Otherwise returns the item with the
    /// position of the one that has the name.
    pub(crate) fn add(&mut self, item: T) -> Result<Position, (Arc<T>, Position)> {
        let items = self.items.get_mut().unwrap_or_else(PoisonError::into_inner);
        items.add(item)
    }

    /// Returns the name in the first edit that refers to an item that does not exist at that point.
    pub(crate) fn first_unknown<'a>(&self, edits: &'a [CatalogEdit<T>]) -> Option<&'a str> {
        let items = self.items.read().unwrap_or_else(PoisonError::into_inner);
        let mut meanwhile: HashMap<&str, bool> = HashMap::new();
        edits.iter().find_map(|edit| {
            let (name, stays) = match edit {
                CatalogEdit::Put(item) => {
                    meanwhile.insert(item.key(), true);
                    return None;
                }
                CatalogEdit::Remove(name) => (name, false),
                CatalogEdit::Enable(name, _) => (name, true),
            };
            let before = meanwhile.insert(name, stays);
            let exists = before.unwrap_or_else(|| items.by_name.contains(name.as_str()));
            (!exists).then_some(name.as_str())
        })
    }

    /// Applies edits at once and returns whether the list changed. Edits of unknown items have no
    /// effect.
    pub(crate) fn edit(&self, edits: Vec<CatalogEdit<T>>) -> bool {
        let mut items = self.items.write().unwrap_or_else(PoisonError::into_inner);
        let mut changed = false;
        for edit in edits {
            changed |= match edit {
                CatalogEdit::Put(item) => items.put(Arc::new(item)),
                CatalogEdit::Remove(name) => items.remove(&name),
                CatalogEdit::Enable(name, enabled) => items.enable(&name, enabled),
            };
        }
        if changed {
            items.version += 1;
            *self.page_cache() = PageCache::default();
        }
        changed
    }

    /// Returns the item with this name, if it is enabled and this principal can see it.
    pub(crate) fn get(&self, name: &str, principal: Option<&Principal>) -> Option<Arc<T>> {
        let items = self.items.read().unwrap_or_else(PoisonError::into_inner);
        let slot = items.by_name.get(name).filter(|slot| slot.enabled)?;
        let item = slot.item.clone();
        drop(items);
        item.access().is_visible_to(principal).then_some(item)
    }

    /// Returns all enabled items, in order.
    pub(crate) fn all(&self) -> Vec<Arc<T>> {
        let items = self.items.read().unwrap_or_else(PoisonError::into_inner);
        items.enabled_items().cloned().collect()
    }

    fn add_scopes(&self, scopes: &mut Vec<String>) {
        for item in self.all() {
            item.access().add_scopes(scopes);
        }
    }

    /// Returns the first item, in order, for which `pick` returns a value and that this principal
    /// can see.
    pub(crate) fn find<V>(
        &self,
        principal: Option<&Principal>,
        mut pick: impl FnMut(&T) -> Option<V>,
    ) -> Option<(Arc<T>, V)> {
        let items = self.items.read().unwrap_or_else(PoisonError::into_inner);
        items.enabled_items().find_map(|item| {
            let found = pick(item)?;
            item.access()
                .is_visible_to(principal)
                .then(|| (item.clone(), found))
        })
    }

    /// Returns whether an item has this name, also if it is disabled or the principal cannot see it.
    pub(crate) fn contains(&self, name: &str) -> bool {
        let items = self.items.read().unwrap_or_else(PoisonError::into_inner);
        items.by_name.contains(name)
    }

    /// Returns one page that is not encoded.
    ///
    /// # Errors
    /// Invalid params, if the cursor is not a cursor of this list.
    pub(crate) fn unencoded_page(
        &self,
        cursor: Option<&str>,
        size: NonZeroUsize,
        principal: Option<&Principal>,
    ) -> Result<ListedPage<T>, ProtocolError> {
        let items = self.items.read().unwrap_or_else(PoisonError::into_inner);
        self.listed_page(&items, cursor, size, principal)
    }

    fn listed_page(
        &self,
        items: &CatalogState<T>,
        cursor: Option<&str>,
        size: NonZeroUsize,
        principal: Option<&Principal>,
    ) -> Result<ListedPage<T>, ProtocolError> {
        let page = page(self.kind, &items.enabled_in_order, cursor, size, |item| {
            item.access().is_listed_for(principal)
        })?;
        Ok(ListedPage {
            items: page.items.into_iter().cloned().collect(),
            next_cursor: page.next_cursor,
            restricted: items.restricted > 0,
        })
    }

    /// Returns one page, encoded for a revision: from the cache, or encoded by `encode`.
    pub(crate) fn page(
        &self,
        revision: Revision,
        cursor: Option<&str>,
        size: NonZeroUsize,
        principal: Option<&Principal>,
        encode: impl FnOnce(ListedPage<T>) -> Result<EncodedResult, ProtocolError>,
    ) -> Result<EncodedResult, ProtocolError> {
        let items = self.items.read().unwrap_or_else(PoisonError::into_inner);
        let restricted = items.restricted > 0;
        let seen = if restricted {
            let rules = items.enabled_items().map(|item| item.access());
            rules
                .filter(|access| access.restricts_lists())
                .map(|access| access.is_listed_for(principal))
                .collect()
        } else {
            Box::default()
        };
        let key = PageKey {
            revision,
            cursor: cursor.map(Into::into),
            seen,
        };
        if let Some(bytes) = self.page_cache().pages.get(&key) {
            return Ok(bytes.clone());
        }
        let listed = self.listed_page(&items, cursor, size, principal)?;
        let version = items.version;
        drop(items);
        let bytes = encode(listed)?;
        let items = self.items.read().unwrap_or_else(PoisonError::into_inner);
        if items.version == version {
            self.page_cache().keep(key, bytes.clone());
        }
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests;
