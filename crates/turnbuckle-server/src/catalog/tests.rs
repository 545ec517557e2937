use turnbuckle_types::{ListToolsResult, Schema, Tool};
use turnbuckle_wire::era::ResultBody;

use super::*;
use crate::items::access::AccessRules;

struct Named(String, AccessRules);

impl CatalogItem for Named {
    fn key(&self) -> &str {
        &self.0
    }

    fn access(&self) -> &AccessRules {
        &self.1
    }
}

impl<T: CatalogItem> Catalog<T> {
    fn insert(&self, item: T) {
        self.edit(vec![CatalogEdit::Put(item)]);
    }
}

fn catalog(names: &[&str]) -> Catalog<Named> {
    let catalog = Catalog::new(ListKind::Tools);
    for name in names {
        catalog.insert(Named((*name).into(), AccessRules::default()));
    }
    catalog
}

fn list(catalog: &Catalog<Named>, principal: Option<&Principal>) -> String {
    let size = NonZeroUsize::new(100).unwrap();
    let (revision, features) = (Revision::NEWEST, Revision::NEWEST.features());
    let encode = |listed: ListedPage<Named>| {
        let tools = listed.items.iter();
        let tools = tools.map(|item| Tool::new(&*item.0, Schema::object()));
        let result = ListToolsResult::new(tools.collect::<Vec<_>>());
        Ok(EncodedResult::complete(result, features, None).unwrap())
    };
    let page = catalog.page(revision, None, size, principal, encode);
    let page = page.unwrap();
    // The encoded result ends with the closing brace of the response.
    let listed = page.encoded_bytes().unwrap().strip_suffix(b"}").unwrap();
    let listed: ListToolsResult = serde_json::from_slice(listed).unwrap();
    let names: Vec<_> = listed.tools.iter().map(|tool| &*tool.name).collect();
    names.join(",")
}

#[test]
fn a_name_can_be_added_once() {
    let mut catalog = catalog(&["b", "a"]);
    let item = |name: &str| Named(name.into(), AccessRules::default());
    assert!(catalog.add(item("c")).is_ok());
    assert!(
        catalog
            .add(item("a"))
            .is_err_and(|(_, position)| position == 2)
    );
    assert!(catalog.add(item("d")).is_ok());
    assert_eq!(list(&catalog, None), "b,a,c,d");
}

#[test]
fn items_are_in_order_of_registration_and_replacements_keep_their_position() {
    let catalog = catalog(&["b", "c", "a"]);
    assert_eq!(list(&catalog, None), "b,c,a");
    catalog.insert(Named("c".into(), AccessRules::default()));
    assert_eq!(list(&catalog, None), "b,c,a");
    let remove = || vec![CatalogEdit::Remove("b".into())];
    assert!(catalog.edit(remove()));
    assert!(!catalog.edit(remove()));
    assert_eq!(list(&catalog, None), "c,a");
    catalog.insert(Named("b".into(), AccessRules::default()));
    assert_eq!(list(&catalog, None), "c,a,b");
}

#[test]
fn invisible_items_are_neither_listed_nor_found() {
    let catalog = catalog(&["all"]);
    let mut access = AccessRules::default();
    access.add_visibility_rule(|principal| principal.is_some());
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

#[test]
fn disabled_items_are_neither_listed_nor_found_and_keep_their_position() {
    let catalog = catalog(&["a", "b", "c"]);
    let enable = |enabled| vec![CatalogEdit::Enable("b".into(), enabled)];
    assert!(catalog.edit(enable(false)));
    assert!(!catalog.edit(enable(false)), "already disabled");
    assert_eq!(list(&catalog, None), "a,c");
    assert!(catalog.get("b", None).is_none());
    let mut access = AccessRules::default();
    access.add_visibility_rule(|_| true);
    let replaced = vec![CatalogEdit::Put(Named("b".into(), access))];
    assert!(
        !catalog.edit(replaced),
        "replacing a disabled item does not change the list"
    );
    assert_eq!(list(&catalog, None), "a,c");
    assert!(catalog.edit(enable(true)));
    assert_eq!(list(&catalog, None), "a,b,c");
    assert!(catalog.edit(vec![CatalogEdit::Remove("b".into())]));
    assert_eq!(list(&catalog, None), "a,c");
}

#[test]
fn edits_are_checked_against_the_edits_before_them() {
    let catalog = catalog(&["a"]);
    let put = |name: &str| CatalogEdit::Put(Named(name.into(), AccessRules::default()));
    let remove = |name: &str| CatalogEdit::<Named>::Remove(name.into());
    let enable = |name: &str| CatalogEdit::<Named>::Enable(name.into(), true);
    assert_eq!(
        catalog.first_unknown(&[put("b"), enable("b"), remove("b")]),
        None
    );
    assert_eq!(
        catalog.first_unknown(&[remove("a"), put("a"), enable("a")]),
        None
    );
    assert_eq!(catalog.first_unknown(&[enable("b"), put("b")]), Some("b"));
    assert_eq!(
        catalog.first_unknown(&[remove("a"), remove("a")]),
        Some("a")
    );
    assert_eq!(list(&catalog, None), "a");
}

/// Returns the key and the page of a list with one tool whose name has `bytes` bytes.
fn cached(cursor: usize, bytes: usize) -> (PageKey, EncodedResult) {
    let (revision, features) = (Revision::NEWEST, Revision::NEWEST.features());
    let tool = Tool::new("x".repeat(bytes), Schema::object());
    let page = EncodedResult::complete(ListToolsResult::new([tool]), features, None).unwrap();
    let key = PageKey {
        revision,
        cursor: Some(format!("{cursor:08}").into()),
        seen: Box::default(),
    };
    (key, page)
}

#[test]
fn the_page_cache_is_bounded() {
    let keep = |pages: &mut PageCache, cursor, bytes| {
        let (key, page) = cached(cursor, bytes);
        pages.keep(key, page);
    };
    let mut pages = PageCache::default();
    keep(&mut pages, 0, 0);
    let bare = pages.bytes;
    let mut pages = PageCache::default();
    for cursor in 0..8 {
        keep(&mut pages, cursor, MAX_CACHED_BYTES / 8 - bare);
    }
    assert_eq!((pages.pages.len(), pages.bytes), (8, MAX_CACHED_BYTES));
    keep(&mut pages, 7, MAX_CACHED_BYTES / 8 - bare);
    keep(&mut pages, 9, MAX_CACHED_BYTES - bare + 1);
    assert_eq!((pages.pages.len(), pages.bytes), (8, MAX_CACHED_BYTES));
    keep(&mut pages, 8, 0);
    assert_eq!((pages.pages.len(), pages.bytes), (1, bare));

    let mut pages = PageCache::default();
    for cursor in 0..MAX_CACHED_PAGES {
        keep(&mut pages, cursor, 0);
    }
    assert_eq!(pages.pages.len(), MAX_CACHED_PAGES);
    keep(&mut pages, MAX_CACHED_PAGES, 0);
    assert_eq!((pages.pages.len(), pages.bytes), (1, bare));
}
