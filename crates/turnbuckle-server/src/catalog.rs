//! The items of one kind: found by name, listed in the order in which they came, and each page of
//! a list encoded once for everybody who sees the same.

use std::collections::{BTreeMap, HashMap};
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use bytes::Bytes;
use turnbuckle_session::Revision;
use turnbuckle_types::{Error, Principal};

use crate::access::Access;
use crate::page::{ListKind, page};

/// Encoded pages that are kept; with more, all are dropped and made again.
const KEPT_PAGES: usize = 256;

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
    encoded: Mutex<HashMap<PageKey, Bytes>>,
}

#[derive(Debug)]
struct Items<T> {
    by_name: HashMap<Box<str>, (Box<str>, Arc<T>)>,
    /// By a key that grows with every item: an item keeps its place while others come and go.
    in_order: BTreeMap<Box<str>, Arc<T>>,
    next: u64,
    restricted: usize,
    /// Counts changes, so that a page of what has changed meanwhile is not kept.
    version: u64,
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct PageKey {
    revision: Revision,
    cursor: Option<Box<str>>,
    /// Which of the restricted items are seen, in order.
    seen: Box<[bool]>,
}

/// A page before it is encoded.
pub(crate) struct Listed<T> {
    pub(crate) items: Vec<Arc<T>>,
    pub(crate) next_cursor: Option<String>,
    /// Whether somebody else may see another list.
    pub(crate) restricted: bool,
}

impl<T: Item> Catalog<T> {
    pub(crate) fn new(kind: ListKind) -> Self {
        Self {
            kind,
            items: RwLock::new(Items {
                by_name: HashMap::new(),
                in_order: BTreeMap::new(),
                next: 0,
                restricted: 0,
                version: 0,
            }),
            encoded: Mutex::default(),
        }
    }

    fn encoded(&self) -> MutexGuard<'_, HashMap<PageKey, Bytes>> {
        self.encoded.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds an item. One of the same name is replaced, in its place; it comes back.
    pub(crate) fn insert(&self, item: T) -> Option<Arc<T>> {
        let item = Arc::new(item);
        let mut items = self.items.write().unwrap_or_else(PoisonError::into_inner);
        items.version += 1;
        items.restricted += usize::from(item.access().is_restricted());
        let before = items
            .by_name
            .get(item.key())
            .map(|(place, old)| (place.clone(), old.clone()));
        let place = match &before {
            Some((place, old)) => {
                items.restricted -= usize::from(old.access().is_restricted());
                place.clone()
            }
            None => {
                items.next += 1;
                format!("{:012x}", items.next).into()
            }
        };
        items
            .by_name
            .insert(item.key().into(), (place.clone(), item.clone()));
        items.in_order.insert(place, item);
        self.encoded().clear();
        before.map(|(_, old)| old)
    }

    /// Takes an item out.
    pub(crate) fn remove(&self, name: &str) -> Option<Arc<T>> {
        let mut items = self.items.write().unwrap_or_else(PoisonError::into_inner);
        let (place, item) = items.by_name.remove(name)?;
        items.in_order.remove(&place);
        items.version += 1;
        items.restricted -= usize::from(item.access().is_restricted());
        self.encoded().clear();
        Some(item)
    }

    /// The item of that name, if this principal sees it.
    pub(crate) fn get(&self, name: &str, principal: Option<&Principal>) -> Option<Arc<T>> {
        let items = self.items.read().unwrap_or_else(PoisonError::into_inner);
        let (_, item) = items.by_name.get(name)?;
        let item = item.clone();
        drop(items);
        item.access().shows_to(principal).then_some(item)
    }

    /// The first item, in order, for which `pick` finds something and that this principal sees.
    pub(crate) fn find<V>(
        &self,
        principal: Option<&Principal>,
        mut pick: impl FnMut(&T) -> Option<V>,
    ) -> Option<(Arc<T>, V)> {
        let items = self.items.read().unwrap_or_else(PoisonError::into_inner);
        items.in_order.values().find_map(|item| {
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
        encode: impl FnOnce(Listed<T>) -> Result<Bytes, Error>,
    ) -> Result<Bytes, Error> {
        let items = self.items.read().unwrap_or_else(PoisonError::into_inner);
        let restricted = items.restricted > 0;
        let seen = if restricted {
            let rules = items.in_order.values().map(|item| item.access());
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
        if let Some(bytes) = self.encoded().get(&key) {
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
            let mut encoded = self.encoded();
            if encoded.len() >= KEPT_PAGES {
                encoded.clear();
            }
            encoded.insert(key, bytes.clone());
        }
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Named(String, Access);

    impl Item for Named {
        fn key(&self) -> &str {
            &self.0
        }

        fn access(&self) -> &Access {
            &self.1
        }
    }

    fn catalog(names: &[&str]) -> Catalog<Named> {
        let catalog = Catalog::new(ListKind::Tools);
        for name in names {
            catalog.insert(Named((*name).into(), Access::default()));
        }
        catalog
    }

    fn list(catalog: &Catalog<Named>, principal: Option<&Principal>) -> String {
        let size = NonZeroUsize::new(100).unwrap();
        let encode = |listed: Listed<Named>| {
            let names: Vec<&str> = listed.items.iter().map(|item| &*item.0).collect();
            Ok(Bytes::from(names.join(",")))
        };
        let bytes = catalog
            .page(Revision::NEWEST, None, size, principal, encode)
            .unwrap();
        String::from_utf8(bytes.to_vec()).unwrap()
    }

    #[test]
    fn the_order_is_that_of_arrival_and_a_replacement_keeps_its_place() {
        let catalog = catalog(&["b", "c", "a"]);
        assert_eq!(list(&catalog, None), "b,c,a");
        assert!(
            catalog
                .insert(Named("c".into(), Access::default()))
                .is_some()
        );
        assert_eq!(list(&catalog, None), "b,c,a");
        assert!(catalog.remove("b").is_some());
        assert!(catalog.remove("b").is_none());
        assert_eq!(list(&catalog, None), "c,a");
        catalog.insert(Named("b".into(), Access::default()));
        assert_eq!(list(&catalog, None), "c,a,b");
    }

    #[test]
    fn what_a_principal_does_not_see_is_neither_listed_nor_found() {
        let catalog = catalog(&["all"]);
        let mut access = Access::default();
        access.show_to(|principal| principal.is_some());
        catalog.insert(Named("some".into(), access));
        let somebody = Principal::new("issuer", "subject");
        assert_eq!(list(&catalog, None), "all");
        assert_eq!(list(&catalog, Some(&somebody)), "all,some");
        assert_eq!(list(&catalog, None), "all");
        assert!(catalog.get("some", None).is_none());
        assert!(catalog.get("some", Some(&somebody)).is_some());
        assert!(
            catalog
                .find(None, |item| (item.0 == "some").then_some(()))
                .is_none()
        );
    }
}
