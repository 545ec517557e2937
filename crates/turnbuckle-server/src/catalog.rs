//! The items of one kind: found by name, listed in the order in which they came, and each page of
//! a list encoded once for everybody who sees the same.

use std::borrow::Borrow;
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::hash::{Hash, Hasher};
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use turnbuckle_session::QuickHash;
use turnbuckle_types::{Error, Principal};
use turnbuckle_wire::era::{Body, Encoded};
use turnbuckle_wire::revision::Revision;

use crate::access::Access;
use crate::page::{ListKind, Place, page};

/// Encoded pages that are kept; with more, all are dropped and made again.
const KEPT_PAGES: usize = 256;

/// How many bytes they may have together: anybody can ask for pages that begin anywhere.
const KEPT_BYTES: usize = 8 << 20;

/// Something that a server offers under a name.
pub(crate) trait Item: Send + Sync + 'static {
    /// What it is found by.
    fn key(&self) -> &str;

    fn access(&self) -> &Access;
}

#[derive(Debug)]
pub(crate) struct Catalog<T> {
    kind: ListKind,
    items: RwLock<Items<T>>,
    encoded: Mutex<Pages>,
}

struct Items<T> {
    by_name: HashSet<Slot<T>, QuickHash>,
    /// Those that are enabled, in the order of their places. A new one comes last.
    in_order: Vec<(Place, Arc<T>)>,
    /// How many came, of which some may be gone.
    came: Place,
    restricted: usize,
    /// Counts changes, so that a page of what has changed meanwhile is not kept.
    version: u64,
}

/// An item, found by its name.
struct Slot<T> {
    item: Arc<T>,
    place: Place,
    enabled: bool,
}

impl<T: Item> Borrow<str> for Slot<T> {
    fn borrow(&self) -> &str {
        self.item.key()
    }
}

impl<T: Item> Hash for Slot<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.item.key().hash(state);
    }
}

impl<T: Item> PartialEq for Slot<T> {
    fn eq(&self, other: &Self) -> bool {
        self.item.key() == other.item.key()
    }
}

impl<T: Item> Eq for Slot<T> {}

/// A change of what a catalog offers.
#[derive(Debug)]
pub(crate) enum Edit<T> {
    /// Adds an item; one of the same name is replaced, in its place, and stays disabled if it was.
    Put(T),
    /// Takes the item of this name out.
    Remove(String),
    /// Shows the item of this name, or hides it from everybody. It keeps its place.
    Enable(String, bool),
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct PageKey {
    revision: Revision,
    cursor: Option<Box<str>>,
    /// Which of the restricted items are seen, in order.
    seen: Box<[bool]>,
}

/// Encoded pages.
#[derive(Debug, Default)]
struct Pages {
    kept: HashMap<PageKey, Encoded>,
    /// Of all keys and pages together.
    bytes: usize,
}

impl Pages {
    fn keep(&mut self, key: PageKey, page: Encoded) {
        let named = key.cursor.as_ref().map_or(0, |cursor| cursor.len()) + key.seen.len();
        let size = named + page.encoded().map_or(0, |bytes| bytes.len());
        // It may have been made twice at the same time.
        if size > KEPT_BYTES || self.kept.contains_key(&key) {
            return;
        }
        if self.kept.len() >= KEPT_PAGES || self.bytes + size > KEPT_BYTES {
            *self = Self::default();
        }
        self.kept.insert(key, page);
        self.bytes += size;
    }
}

/// A page before it is encoded.
pub(crate) struct Listed<T> {
    pub(crate) items: Vec<Arc<T>>,
    pub(crate) next_cursor: Option<String>,
    /// Whether somebody else may see another list.
    pub(crate) restricted: bool,
}

impl<T: Item> Items<T> {
    /// Takes in an item under a name that is new; else gives it back, with the place of the one that
    /// has the name.
    fn add(&mut self, item: T) -> Result<(), (Arc<T>, Place)> {
        let slot = Slot {
            item: Arc::new(item),
            place: self.came + 1,
            enabled: true,
        };
        let item = slot.item.clone();
        if !self.by_name.insert(slot) {
            let before = self.by_name.get(item.key());
            let place = before.map_or(0, |before| before.place);
            return Err((item, place));
        }
        self.came += 1;
        self.show(self.came, item);
        Ok(())
    }

    fn put(&mut self, item: Arc<T>) -> bool {
        let before = self.by_name.take(item.key());
        let (place, enabled) = match before {
            Some(slot) => {
                self.hide(&slot);
                (slot.place, slot.enabled)
            }
            None => {
                self.came += 1;
                (self.came, true)
            }
        };
        if enabled {
            self.show(place, item.clone());
        }
        self.by_name.insert(Slot {
            item,
            place,
            enabled,
        });
        enabled
    }

    fn remove(&mut self, name: &str) -> bool {
        let removed = self.by_name.take(name);
        removed.is_some_and(|slot| self.hide(&slot))
    }

    fn enable(&mut self, name: &str, enabled: bool) -> bool {
        let Some(mut slot) = self.by_name.take(name) else {
            return false;
        };
        let changed = slot.enabled != enabled;
        if enabled && changed {
            self.show(slot.place, slot.item.clone());
        } else if changed {
            self.hide(&slot);
        }
        slot.enabled = enabled;
        self.by_name.insert(slot);
        changed
    }

    fn show(&mut self, place: Place, item: Arc<T>) {
        self.restricted += usize::from(item.access().is_restricted());
        let at = match self.in_order.last() {
            Some((last, _)) if *last > place => self.at(place),
            _ => self.in_order.len(),
        };
        self.in_order.insert(at, (place, item));
    }

    /// Whether it was shown.
    fn hide(&mut self, slot: &Slot<T>) -> bool {
        if slot.enabled {
            self.in_order.remove(self.at(slot.place));
            self.restricted -= usize::from(slot.item.access().is_restricted());
        }
        slot.enabled
    }

    /// The index of a place in the order.
    fn at(&self, place: Place) -> usize {
        self.in_order.partition_point(|(other, _)| *other < place)
    }

    /// What is shown.
    fn shown(&self) -> impl Iterator<Item = &Arc<T>> {
        self.in_order.iter().map(|(_, item)| item)
    }
}

impl<T> fmt::Debug for Items<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Items")
            .field("offered", &self.by_name.len())
            .field("shown", &self.in_order.len())
            .field("restricted", &self.restricted)
            .finish_non_exhaustive()
    }
}

impl<T: Item> Catalog<T> {
    pub(crate) fn new(kind: ListKind) -> Self {
        Self {
            kind,
            items: RwLock::new(Items {
                by_name: HashSet::default(),
                in_order: Vec::new(),
                came: 0,
                restricted: 0,
                version: 0,
            }),
            encoded: Mutex::default(),
        }
    }

    fn encoded(&self) -> MutexGuard<'_, Pages> {
        self.encoded.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn is_empty(&self) -> bool {
        let items = self.items.read().unwrap_or_else(PoisonError::into_inner);
        items.by_name.is_empty()
    }

    /// Makes room for so many more.
    pub(crate) fn reserve(&mut self, more: usize) {
        let items = self.items.get_mut().unwrap_or_else(PoisonError::into_inner);
        items.by_name.reserve(more);
        items.in_order.reserve(more);
    }

    /// Adds an item under a name that is new; else gives it back, with the place of the one that has
    /// the name: that many had come, itself among them.
    pub(crate) fn add(&mut self, item: T) -> Result<(), (Arc<T>, Place)> {
        let items = self.items.get_mut().unwrap_or_else(PoisonError::into_inner);
        items.add(item)
    }

    /// The first of these changes that is about something that is not there.
    pub(crate) fn unknown_to<'a>(&self, edits: &'a [Edit<T>]) -> Option<&'a str> {
        let items = self.items.read().unwrap_or_else(PoisonError::into_inner);
        let mut meanwhile: HashMap<&str, bool> = HashMap::new();
        edits.iter().find_map(|edit| {
            let (name, stays) = match edit {
                Edit::Put(item) => {
                    meanwhile.insert(item.key(), true);
                    return None;
                }
                Edit::Remove(name) => (name, false),
                Edit::Enable(name, _) => (name, true),
            };
            let before = meanwhile.insert(name, stays);
            let known = before.unwrap_or_else(|| items.by_name.contains(name.as_str()));
            (!known).then_some(name.as_str())
        })
    }

    /// Makes all these changes at once; whether the list is another one then. What is not there is
    /// left alone.
    pub(crate) fn edit(&self, edits: Vec<Edit<T>>) -> bool {
        let mut items = self.items.write().unwrap_or_else(PoisonError::into_inner);
        let mut changed = false;
        for edit in edits {
            changed |= match edit {
                Edit::Put(item) => items.put(Arc::new(item)),
                Edit::Remove(name) => items.remove(&name),
                Edit::Enable(name, enabled) => items.enable(&name, enabled),
            };
        }
        if changed {
            items.version += 1;
            *self.encoded() = Pages::default();
        }
        changed
    }

    /// The item of that name, if this principal sees it.
    pub(crate) fn get(&self, name: &str, principal: Option<&Principal>) -> Option<Arc<T>> {
        let items = self.items.read().unwrap_or_else(PoisonError::into_inner);
        let slot = items.by_name.get(name).filter(|slot| slot.enabled)?;
        let item = slot.item.clone();
        drop(items);
        item.access().shows_to(principal).then_some(item)
    }

    /// All items that are enabled, in order.
    pub(crate) fn all(&self) -> Vec<Arc<T>> {
        let items = self.items.read().unwrap_or_else(PoisonError::into_inner);
        items.shown().cloned().collect()
    }

    /// The first item, in order, for which `pick` finds something and that this principal sees.
    pub(crate) fn find<V>(
        &self,
        principal: Option<&Principal>,
        mut pick: impl FnMut(&T) -> Option<V>,
    ) -> Option<(Arc<T>, V)> {
        let items = self.items.read().unwrap_or_else(PoisonError::into_inner);
        items.shown().find_map(|item| {
            let found = pick(item)?;
            item.access()
                .shows_to(principal)
                .then(|| (item.clone(), found))
        })
    }

    /// One page, encoded for a revision: kept from the last time, or made by `encode`.
    pub(crate) fn page(
        &self,
        revision: Revision,
        cursor: Option<&str>,
        size: NonZeroUsize,
        principal: Option<&Principal>,
        encode: impl FnOnce(Listed<T>) -> Result<Encoded, Error>,
    ) -> Result<Encoded, Error> {
        let items = self.items.read().unwrap_or_else(PoisonError::into_inner);
        let restricted = items.restricted > 0;
        let seen = if restricted {
            let rules = items.shown().map(|item| item.access());
            rules
                .filter(|access| access.is_restricted())
                .map(|a| a.shows_to(principal))
                .collect()
        } else {
            Box::default()
        };
        let key = PageKey {
            revision,
            cursor: cursor.map(Into::into),
            seen,
        };
        if let Some(bytes) = self.encoded().kept.get(&key) {
            return Ok(bytes.clone());
        }
        let shown = page(self.kind, &items.in_order, cursor, size, |item| {
            item.access().shows_to(principal)
        })?;
        let listed = Listed {
            items: shown.items.into_iter().cloned().collect(),
            next_cursor: shown.next_cursor,
            restricted,
        };
        let version = items.version;
        drop(items);
        let bytes = encode(listed)?;
        let items = self.items.read().unwrap_or_else(PoisonError::into_inner);
        if items.version == version {
            self.encoded().keep(key, bytes.clone());
        }
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests;
