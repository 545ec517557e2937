use turnbuckle_types::{ListToolsResult, Schema, Tool};
use turnbuckle_wire::era::Body;

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

impl<T: Item> Catalog<T> {
    fn insert(&self, item: T) {
        self.edit(vec![Edit::Put(item)]);
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
    let (revision, features) = (Revision::NEWEST, Revision::NEWEST.features());
    let encode = |listed: Listed<Named>| {
        let tools = listed.items.iter();
        let tools = tools.map(|item| Tool::new(&*item.0, Schema::object()));
        let result = ListToolsResult::new(tools.collect::<Vec<_>>());
        Ok(Encoded::complete(result, features, None).unwrap())
    };
    let page = catalog.page(revision, None, size, principal, encode);
    let page = page.unwrap();
    // Behind it stands the brace that ends a response.
    let told = page.encoded().unwrap().strip_suffix(b"}").unwrap();
    let told: ListToolsResult = serde_json::from_slice(told).unwrap();
    let names: Vec<_> = told.tools.iter().map(|tool| &*tool.name).collect();
    names.join(",")
}

#[test]
fn a_name_is_added_once() {
    let mut catalog = catalog(&["b", "a"]);
    let item = |name: &str| Named(name.into(), Access::default());
    assert!(catalog.add(item("c")).is_ok());
    assert!(catalog.add(item("a")).is_err_and(|(_, place)| place == 2));
    assert!(catalog.add(item("d")).is_ok());
    assert_eq!(list(&catalog, None), "b,a,c,d");
}

#[test]
fn the_order_is_that_of_arrival_and_a_replacement_keeps_its_place() {
    let catalog = catalog(&["b", "c", "a"]);
    assert_eq!(list(&catalog, None), "b,c,a");
    catalog.insert(Named("c".into(), Access::default()));
    assert_eq!(list(&catalog, None), "b,c,a");
    let remove = || vec![Edit::Remove("b".into())];
    assert!(catalog.edit(remove()));
    assert!(!catalog.edit(remove()));
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

#[test]
fn what_is_disabled_is_neither_listed_nor_found_and_keeps_its_place() {
    let catalog = catalog(&["a", "b", "c"]);
    let enable = |enabled| vec![Edit::Enable("b".into(), enabled)];
    assert!(catalog.edit(enable(false)));
    assert!(!catalog.edit(enable(false)), "it is already");
    assert_eq!(list(&catalog, None), "a,c");
    assert!(catalog.get("b", None).is_none());
    let mut access = Access::default();
    access.show_to(|_| true);
    let replaced = vec![Edit::Put(Named("b".into(), access))];
    assert!(!catalog.edit(replaced), "nobody sees that it is another");
    assert_eq!(list(&catalog, None), "a,c");
    assert!(catalog.edit(enable(true)));
    assert_eq!(list(&catalog, None), "a,b,c");
    assert!(catalog.edit(vec![Edit::Remove("b".into())]));
    assert_eq!(list(&catalog, None), "a,c");
}

#[test]
fn changes_are_held_against_what_those_before_them_leave() {
    let catalog = catalog(&["a"]);
    let put = |name: &str| Edit::Put(Named(name.into(), Access::default()));
    let remove = |name: &str| Edit::<Named>::Remove(name.into());
    let enable = |name: &str| Edit::<Named>::Enable(name.into(), true);
    assert_eq!(
        catalog.unknown_to(&[put("b"), enable("b"), remove("b")]),
        None
    );
    assert_eq!(
        catalog.unknown_to(&[remove("a"), put("a"), enable("a")]),
        None
    );
    assert_eq!(catalog.unknown_to(&[enable("b"), put("b")]), Some("b"));
    assert_eq!(catalog.unknown_to(&[remove("a"), remove("a")]), Some("a"));
    assert_eq!(list(&catalog, None), "a");
}

/// A key, and a page of a name of so many bytes.
fn kept(cursor: usize, bytes: usize) -> (PageKey, Encoded) {
    let (revision, features) = (Revision::NEWEST, Revision::NEWEST.features());
    let tool = Tool::new("x".repeat(bytes), Schema::object());
    let page = Encoded::complete(ListToolsResult::new([tool]), features, None).unwrap();
    let key = PageKey {
        revision,
        cursor: Some(format!("{cursor:08}").into()),
        seen: Box::default(),
    };
    (key, page)
}

#[test]
fn pages_are_kept_within_bounds() {
    let keep = |pages: &mut Pages, cursor, bytes| {
        let (key, page) = kept(cursor, bytes);
        pages.keep(key, page);
    };
    let mut pages = Pages::default();
    keep(&mut pages, 0, 0);
    let bare = pages.bytes;
    let mut pages = Pages::default();
    for cursor in 0..8 {
        keep(&mut pages, cursor, KEPT_BYTES / 8 - bare);
    }
    assert_eq!((pages.kept.len(), pages.bytes), (8, KEPT_BYTES));
    keep(&mut pages, 7, KEPT_BYTES / 8 - bare);
    keep(&mut pages, 9, KEPT_BYTES - bare + 1);
    assert_eq!((pages.kept.len(), pages.bytes), (8, KEPT_BYTES));
    keep(&mut pages, 8, 0);
    assert_eq!((pages.kept.len(), pages.bytes), (1, bare));

    let mut pages = Pages::default();
    for cursor in 0..KEPT_PAGES {
        keep(&mut pages, cursor, 0);
    }
    assert_eq!(pages.kept.len(), KEPT_PAGES);
    keep(&mut pages, KEPT_PAGES, 0);
    assert_eq!((pages.kept.len(), pages.bytes), (1, bare));
}
