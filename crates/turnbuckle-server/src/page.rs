//! Pages of a list, and the cursors that lead from one to the next.
//!
//! A cursor says "after this place", so that items which come or go before it move no page. It names
//! the list it belongs to and carries a checksum, no secret: any instance of a server can read the
//! cursor of another, and what it holds (how many items came before) is no secret either. The
//! checksum tells garbled and foreign cursors from ours.
//!
//! Specification: server/utilities/pagination (2026-07-28).

use std::num::NonZeroUsize;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use turnbuckle_types::Error;

use crate::input::tag;

const VERSION: u8 = 1;
const CHECKSUM: usize = 8;
const HEAD: usize = 2 + CHECKSUM;
const WHOLE: usize = HEAD + size_of::<u64>();

/// The length of a cursor, in bytes of base64url without padding.
const CURSOR: usize = (WHOLE * 4).div_ceil(3);

/// Where an item stands among those of its kind: it keeps its place while others come and go.
pub(crate) type Place = u64;

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
    /// The cursor of the page that begins after `place`.
    pub(crate) fn after(list: ListKind, place: Place) -> String {
        let place = place.to_be_bytes();
        let mut bytes = [0; WHOLE];
        bytes[..2].copy_from_slice(&[VERSION, list as u8]);
        bytes[2..HEAD].copy_from_slice(&checksum(list, &place));
        bytes[HEAD..].copy_from_slice(&place);
        URL_SAFE_NO_PAD.encode(bytes)
    }

    /// The place after which the page begins.
    ///
    /// # Errors
    /// Invalid params if this is not exactly a cursor that [`Cursor::after`] wrote for the list.
    pub(crate) fn decode(list: ListKind, cursor: &str) -> Result<Place, Error> {
        Self::read(list, cursor).ok_or_else(|| {
            Error::invalid_params("unknown cursor: begin again without one to get the first page")
        })
    }

    fn read(list: ListKind, cursor: &str) -> Option<Place> {
        if cursor.len() != CURSOR {
            return None;
        }
        let bytes = URL_SAFE_NO_PAD.decode(cursor).ok()?;
        let (head, place) = bytes.split_at_checked(HEAD)?;
        let (mark, sum) = head.split_at(2);
        if mark != [VERSION, list as u8] || sum != checksum(list, place) {
            return None;
        }
        place.try_into().ok().map(Place::from_be_bytes)
    }
}

fn checksum(list: ListKind, place: &[u8]) -> [u8; CHECKSUM] {
    // Under a secret that everybody knows, a tag is a checksum and no more.
    let mut secret = [0; 32];
    secret[..2].copy_from_slice(&[VERSION, list as u8]);
    let mut sum = [0; CHECKSUM];
    sum.copy_from_slice(&tag(&secret, place)[..CHECKSUM]);
    sum
}

/// One page of a list.
#[derive(Debug)]
pub(crate) struct Page<'a, T> {
    /// The items, in the order of their places.
    pub(crate) items: Vec<&'a T>,
    /// The cursor of the next page, unless this is the last.
    pub(crate) next_cursor: Option<String>,
}

/// Cuts the page that `cursor` asks for (the first without one) out of the items that are
/// `visible`. They stand in the order of their places.
///
/// A page that is not the last is full. A next cursor is given only if a visible item follows.
///
/// # Errors
/// Invalid params if the cursor is not one of this list's.
pub(crate) fn page<'a, T>(
    list: ListKind,
    items: &'a [(Place, T)],
    cursor: Option<&str>,
    size: NonZeroUsize,
    visible: impl Fn(&T) -> bool,
) -> Result<Page<'a, T>, Error> {
    let after = cursor
        .map(|cursor| Cursor::decode(list, cursor))
        .transpose()?;
    let start = after.map_or(0, |after| {
        items.partition_point(|(place, _)| *place <= after)
    });
    let mut rest = items[start..].iter().filter(|(_, item)| visible(item));

    let mut page = Vec::new();
    let mut last = None;
    for (place, item) in rest.by_ref().take(size.get()) {
        page.push(item);
        last = Some(*place);
    }
    let next = last.filter(|_| rest.next().is_some());
    Ok(Page {
        items: page,
        next_cursor: next.map(|place| Cursor::after(list, place)),
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

    /// Items at places of their own, far from each other.
    fn list_of(names: &[&'static str]) -> Vec<(Place, &'static str)> {
        let places = (1..).map(|number| number * 1_000);
        places.zip(names.iter().copied()).collect()
    }

    fn size(n: usize) -> NonZeroUsize {
        NonZeroUsize::new(n).unwrap()
    }

    fn walk<T: Copy>(items: &[(Place, T)], n: usize) -> Vec<Vec<T>> {
        let mut pages = Vec::new();
        let mut cursor = None;
        loop {
            let page = page(ListKind::Tools, items, cursor.as_deref(), size(n), |_| true).unwrap();
            pages.push(page.items.iter().map(|item| **item).collect());
            cursor = page.next_cursor;
            if cursor.is_none() {
                return pages;
            }
        }
    }

    #[test]
    fn pages_are_full_and_the_last_has_no_cursor() {
        assert_eq!(
            walk(&list_of(&["a", "b", "c"]), 2),
            [vec!["a", "b"], vec!["c"]]
        );
        assert_eq!(walk(&list_of(&["a", "b"]), 2), [["a", "b"]]);
        assert_eq!(walk(&list_of(&[]), 2), [[""; 0]]);
    }

    #[test]
    fn what_comes_or_goes_before_the_cursor_moves_no_page() {
        let mut items = list_of(&["b", "c", "d", "e"]);
        let first = page(ListKind::Tools, &items, None, size(2), |_| true).unwrap();
        let cursor = first.next_cursor.unwrap();
        items.insert(0, (1, "a"));
        items.retain(|(_, name)| *name != "c");
        let second = page(ListKind::Tools, &items, Some(&cursor), size(2), |_| true).unwrap();
        assert_eq!(second.items, [&"d", &"e"]);
        assert_eq!(second.next_cursor, None);
    }

    #[test]
    fn hidden_items_neither_fill_a_page_nor_make_a_next_one() {
        let items = list_of(&["a", "b", "c", "d"]);
        let visible = |name: &&str| ["a", "c"].contains(name);
        let page = page(ListKind::Tools, &items, None, size(2), visible).unwrap();
        assert_eq!(page.items, [&"a", &"c"]);
        assert_eq!(page.next_cursor, None);
    }

    #[test]
    fn the_empty_string_is_a_cursor_and_not_ours() {
        let items = list_of(&["a"]);
        let error = page(ListKind::Tools, &items, Some(""), size(1), |_| true).unwrap_err();
        assert!(error.to_string().contains("unknown cursor"), "{error}");
    }

    #[test]
    fn a_cursor_of_another_list_is_refused() {
        for from in LISTS {
            let cursor = Cursor::after(from, 7);
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
    fn a_cursor_of_another_length_is_refused() {
        let cursor = Cursor::after(ListKind::Resources, Place::MAX);
        assert_eq!(
            Cursor::decode(ListKind::Resources, &cursor).unwrap(),
            Place::MAX
        );
        for length in [0, cursor.len() - 1, cursor.len() + 1, 1 << 20] {
            assert!(Cursor::decode(ListKind::Resources, &"A".repeat(length)).is_err());
        }
        assert!(Cursor::decode(ListKind::Resources, &cursor[1..]).is_err());
    }

    #[test]
    fn a_cursor_with_padding_or_the_other_alphabet_is_refused() {
        let mut cursors = (1..).map(|place| Cursor::after(ListKind::Tools, place));
        let cursor = cursors.find(|it| it.contains(['-', '_'])).unwrap();
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
        fn any_place_comes_back(place in any::<Place>()) {
            let cursor = Cursor::after(ListKind::Prompts, place);
            prop_assert_eq!(Cursor::decode(ListKind::Prompts, &cursor).unwrap(), place);
        }

        #[test]
        fn any_other_string_is_refused(text in ".{0,80}|[A-Za-z0-9_-]{0,80}|[A-Za-z0-9_-]{24}") {
            prop_assert!(Cursor::decode(ListKind::Prompts, &text).is_err());
        }

        #[test]
        fn a_change_of_one_character_is_refused(
            place in any::<Place>(), at in any::<prop::sample::Index>(), with in "[A-Za-z0-9_-]",
        ) {
            let cursor = Cursor::after(ListKind::Prompts, place);
            let at = at.index(cursor.len());
            let mut other = cursor.clone();
            other.replace_range(at..=at, &with);
            prop_assert_eq!(Cursor::decode(ListKind::Prompts, &other).is_ok(), other == cursor);
        }

        #[test]
        fn the_pages_together_are_the_list(
            places in prop::collection::btree_set(0..40_u64, 0..20), n in 1usize..6,
        ) {
            let items: Vec<_> = places.iter().map(|place| (*place, *place)).collect();
            prop_assert!(walk(&items, n).concat().iter().eq(&places));
        }
    }
}
