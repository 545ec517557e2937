//! Pages of a list, and the cursors that lead from one to the next.
//!
//! A cursor says "after this key", so that items which come or go before it move no page. It names
//! the list it belongs to and carries a checksum, no secret: any instance of a server can read the
//! cursor of another, and what it holds (a name that the same client was just sent) is no secret
//! either. The checksum tells garbled and foreign cursors from ours.
//!
//! Specification: server/utilities/pagination (2026-07-28).

use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::ops::Bound;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use turnbuckle_types::Error;

use crate::input::tag;
use crate::name::MAX_URI;

const VERSION: u8 = 1;
const CHECKSUM: usize = 8;
const HEAD: usize = 2 + CHECKSUM;

/// The longest key a cursor can hold, in bytes: the longest URI that can be registered.
const MAX_KEY: usize = MAX_URI;

/// The longest cursor, in bytes of base64url without padding.
const MAX_CURSOR: usize = (HEAD + MAX_KEY).div_ceil(3) * 4;

/// The lists that have pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum ListKind {
    Tools = 1,
    Prompts = 2,
    Resources = 3,
    ResourceTemplates = 4,
}

/// Writes and reads cursors.
pub(crate) struct Cursor;

impl Cursor {
    /// The cursor of the page that begins after `key`.
    ///
    /// # Errors
    /// If the key is longer than any name or URI that can be registered.
    pub(crate) fn after(list: ListKind, key: &str) -> Result<String, Error> {
        if key.len() > MAX_KEY {
            return Err(Error::internal("a key is too long for a cursor"));
        }
        let mut bytes = Vec::with_capacity(HEAD + key.len());
        bytes.extend_from_slice(&[VERSION, list as u8]);
        bytes.extend_from_slice(&checksum(list, key.as_bytes()));
        bytes.extend_from_slice(key.as_bytes());
        Ok(URL_SAFE_NO_PAD.encode(bytes))
    }

    /// The key after which the page begins.
    ///
    /// # Errors
    /// Invalid params if this is not exactly a cursor that [`Cursor::after`] wrote for the list.
    pub(crate) fn decode(list: ListKind, cursor: &str) -> Result<String, Error> {
        Self::read(list, cursor).ok_or_else(|| {
            Error::invalid_params("unknown cursor: begin again without one to get the first page")
        })
    }

    fn read(list: ListKind, cursor: &str) -> Option<String> {
        if cursor.len() > MAX_CURSOR {
            return None;
        }
        let bytes = URL_SAFE_NO_PAD.decode(cursor).ok()?;
        let (head, key) = bytes.split_at_checked(HEAD)?;
        let (mark, sum) = head.split_at(2);
        if mark != [VERSION, list as u8] || sum != checksum(list, key) {
            return None;
        }
        String::from_utf8(key.to_vec()).ok()
    }
}

fn checksum(list: ListKind, key: &[u8]) -> [u8; CHECKSUM] {
    // Under a secret that everybody knows, a tag is a checksum and no more.
    let mut secret = [0; 32];
    secret[..2].copy_from_slice(&[VERSION, list as u8]);
    let mut sum = [0; CHECKSUM];
    sum.copy_from_slice(&tag(&secret, key)[..CHECKSUM]);
    sum
}

/// One page of a list.
#[derive(Debug)]
pub(crate) struct Page<'a, T> {
    /// The items, in the order of their keys.
    pub(crate) items: Vec<&'a T>,
    /// The cursor of the next page, unless this is the last.
    pub(crate) next_cursor: Option<String>,
}

/// Cuts the page that `cursor` asks for (the first without one) out of the items that are
/// `visible`.
///
/// A page that is not the last is full. A next cursor is given only if a visible item follows.
///
/// # Errors
/// Invalid params if the cursor is not one of this list's.
pub(crate) fn page<'a, K, T>(
    list: ListKind,
    items: &'a BTreeMap<K, T>,
    cursor: Option<&str>,
    size: NonZeroUsize,
    visible: impl Fn(&T) -> bool,
) -> Result<Page<'a, T>, Error>
where
    K: Borrow<str> + Ord,
{
    let after = cursor
        .map(|cursor| Cursor::decode(list, cursor))
        .transpose()?;
    let start = after.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
    let mut rest = items
        .range::<str, _>((start, Bound::Unbounded))
        .filter(|(_, i)| visible(i));

    let mut page = Vec::new();
    let mut last = None;
    for (key, item) in rest.by_ref().take(size.get()) {
        page.push(item);
        last = Some(key);
    }
    let next_cursor = match (last, rest.next()) {
        (Some(key), Some(_)) => Some(Cursor::after(list, key.borrow())?),
        _ => None,
    };
    Ok(Page {
        items: page,
        next_cursor,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LISTS: [ListKind; 4] = [
        ListKind::Tools,
        ListKind::Prompts,
        ListKind::Resources,
        ListKind::ResourceTemplates,
    ];

    fn list_of(keys: impl IntoIterator<Item = impl Into<String>>) -> BTreeMap<String, String> {
        keys.into_iter()
            .map(Into::into)
            .map(|key| (key.clone(), key))
            .collect()
    }

    fn size(n: usize) -> NonZeroUsize {
        NonZeroUsize::new(n).unwrap()
    }

    fn walk(items: &BTreeMap<String, String>, n: usize) -> Vec<Vec<&str>> {
        let mut pages = Vec::new();
        let mut cursor = None;
        loop {
            let page = page(ListKind::Tools, items, cursor.as_deref(), size(n), |_| true).unwrap();
            pages.push(page.items.iter().map(|item| item.as_str()).collect());
            cursor = page.next_cursor;
            if cursor.is_none() {
                return pages;
            }
        }
    }

    #[test]
    fn pages_are_full_and_the_last_has_no_cursor() {
        assert_eq!(
            walk(&list_of(["a", "b", "c"]), 2),
            [vec!["a", "b"], vec!["c"]]
        );
        assert_eq!(walk(&list_of(["a", "b"]), 2), [["a", "b"]]);
        assert_eq!(walk(&list_of([""; 0]), 2), [[""; 0]]);
    }

    #[test]
    fn what_comes_or_goes_before_the_cursor_moves_no_page() {
        let mut items = list_of(["b", "c", "d", "e"]);
        let first = page(ListKind::Tools, &items, None, size(2), |_| true).unwrap();
        let cursor = first.next_cursor.unwrap();
        items.insert("a".into(), "a".into());
        items.remove("c");
        let second = page(ListKind::Tools, &items, Some(&cursor), size(2), |_| true).unwrap();
        assert_eq!(second.items, ["d", "e"]);
        assert_eq!(second.next_cursor, None);
    }

    #[test]
    fn hidden_items_neither_fill_a_page_nor_make_a_next_one() {
        let items = list_of(["a", "b", "c", "d"]);
        let page = page(ListKind::Tools, &items, None, size(2), |i| {
            i == "a" || i == "c"
        })
        .unwrap();
        assert_eq!(page.items, ["a", "c"]);
        assert_eq!(page.next_cursor, None);
    }

    #[test]
    fn the_empty_string_is_a_cursor_and_not_ours() {
        let items = list_of(["a"]);
        let error = page(ListKind::Tools, &items, Some(""), size(1), |_| true).unwrap_err();
        assert!(error.to_string().contains("unknown cursor"), "{error}");
    }

    #[test]
    fn a_cursor_of_another_list_is_refused() {
        for from in LISTS {
            let cursor = Cursor::after(from, "key").unwrap();
            for to in LISTS {
                assert_eq!(
                    Cursor::decode(to, &cursor).is_ok(),
                    from == to,
                    "{from:?} {to:?}"
                );
            }
        }
    }

    #[test]
    fn the_longest_key_fits_and_longer_ones_are_refused() {
        let key = "k".repeat(MAX_KEY);
        let cursor = Cursor::after(ListKind::Resources, &key).unwrap();
        assert!(cursor.len() <= MAX_CURSOR);
        assert_eq!(Cursor::decode(ListKind::Resources, &cursor).unwrap(), key);
        assert!(Cursor::after(ListKind::Resources, &"k".repeat(MAX_KEY + 1)).is_err());
        assert!(Cursor::decode(ListKind::Resources, &"A".repeat(1 << 20)).is_err());
    }

    #[test]
    fn a_cursor_with_padding_or_the_other_alphabet_is_refused() {
        let cursor = Cursor::after(ListKind::Tools, "??>>").unwrap();
        assert!(cursor.contains(['-', '_']), "{cursor}");
        for other in [
            cursor.replace('-', "+").replace('_', "/"),
            format!("{cursor}="),
            format!("{cursor}=="),
            format!(" {cursor}"),
            format!("{cursor}\n"),
        ] {
            assert!(Cursor::decode(ListKind::Tools, &other).is_err(), "{other}");
        }
    }

    proptest! {
        #[test]
        fn any_key_comes_back(key in ".{0,80}") {
            let cursor = Cursor::after(ListKind::Prompts, &key).unwrap();
            prop_assert_eq!(Cursor::decode(ListKind::Prompts, &cursor).unwrap(), key);
        }

        #[test]
        fn any_other_string_is_refused(text in ".{0,80}|[A-Za-z0-9_-]{0,80}") {
            prop_assert!(Cursor::decode(ListKind::Prompts, &text).is_err());
        }

        #[test]
        fn a_change_of_one_character_is_refused(
            key in "[a-z/:]{0,20}", at in any::<prop::sample::Index>(), with in "[A-Za-z0-9_-]",
        ) {
            let cursor = Cursor::after(ListKind::Prompts, &key).unwrap();
            let at = at.index(cursor.len());
            let mut other = cursor.clone();
            other.replace_range(at..=at, &with);
            prop_assert_eq!(Cursor::decode(ListKind::Prompts, &other).is_ok(), other == cursor);
        }

        #[test]
        fn the_pages_together_are_the_list(
            keys in prop::collection::btree_set("[a-d]{0,3}", 0..20), n in 1usize..6,
        ) {
            let items = list_of(keys.iter().cloned());
            let walked: Vec<_> = walk(&items, n).concat();
            prop_assert_eq!(walked, keys.iter().map(String::as_str).collect::<Vec<_>>());
        }
    }
}
