//! Pages of a list, and the cursors that lead from one page to the next.
//!
//! A cursor means "after this position", so items that are added or removed before it do not shift
//! the next page. It names the list that it belongs to and ends in a checksum. It needs no secret
//! key: any instance of a server can read the cursors of another, and its content (how many items
//! came before) is not confidential. The checksum detects corrupted cursors and cursors of other
//! lists.
//!
//! Specification: server/utilities/pagination (2026-07-28).

use std::num::NonZeroUsize;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use turnbuckle_types::ProtocolError;
use turnbuckle_wire::revision::Method;

use crate::request::input::mac;

const VERSION: u8 = 1;
const CHECKSUM_BYTES: usize = 8;
const HEAD_BYTES: usize = 2 + CHECKSUM_BYTES;
const DECODED_BYTES: usize = HEAD_BYTES + size_of::<u64>();

/// The length of a cursor in Base64url without padding, in bytes.
const CURSOR_BYTES: usize = (DECODED_BYTES * 4).div_ceil(3);

/// The position of an item among those of its kind. It does not change when other items are added
/// or removed.
pub(crate) type Position = u64;

/// The lists that are paged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub(crate) enum ListKind {
    Tools = 1,
    Prompts = 2,
    Resources = 3,
    ResourceTemplates = 4,
}

impl ListKind {
    /// Returns the items of the list, as error messages name them.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Prompts => "prompts",
            Self::Resources => "resources",
            Self::ResourceTemplates => "resource templates",
        }
    }

    /// Returns the method of the list request.
    pub(crate) fn method(self) -> Method {
        match self {
            Self::Tools => Method::ListTools,
            Self::Prompts => Method::ListPrompts,
            Self::Resources => Method::ListResources,
            Self::ResourceTemplates => Method::ListResourceTemplates,
        }
    }
}

/// Encodes and decodes cursors.
pub(crate) struct Cursor;

impl Cursor {
    /// Returns the cursor of the page that begins after `position`.
    pub(crate) fn after(list: ListKind, position: Position) -> String {
        let position = position.to_be_bytes();
        let mut bytes = [0; DECODED_BYTES];
        bytes[..2].copy_from_slice(&[VERSION, list as u8]);
        bytes[2..HEAD_BYTES].copy_from_slice(&checksum(list, &position));
        bytes[HEAD_BYTES..].copy_from_slice(&position);
        URL_SAFE_NO_PAD.encode(bytes)
    }

    /// Returns the position after which the page begins.
    ///
    /// # Errors
    /// Invalid params, if `cursor` is not one that [`Cursor::after`] wrote for this list.
    pub(crate) fn decode(list: ListKind, cursor: &str) -> Result<Position, ProtocolError> {
        Self::read(list, cursor).ok_or_else(unknown_cursor)
    }

    /// Returns whether a text has the length of such a cursor.
    pub(crate) fn has_length_of(cursor: &str) -> bool {
        cursor.len() == CURSOR_BYTES
    }

    fn read(list: ListKind, cursor: &str) -> Option<Position> {
        if !Self::has_length_of(cursor) {
            return None;
        }
        let bytes = URL_SAFE_NO_PAD.decode(cursor).ok()?;
        let (head, position) = bytes.split_at_checked(HEAD_BYTES)?;
        let (mark, sum) = head.split_at(2);
        if mark != [VERSION, list as u8] || sum != checksum(list, position) {
            return None;
        }
        position.try_into().ok().map(Position::from_be_bytes)
    }
}

/// Returns the error for a cursor that no list returned.
pub(crate) fn unknown_cursor() -> ProtocolError {
    ProtocolError::invalid_params(
        "unknown cursor: request the list without a cursor to get the first page",
    )
}

fn checksum(list: ListKind, position: &[u8]) -> [u8; CHECKSUM_BYTES] {
    // With a public key, the MAC is only a checksum.
    let mut secret = [0; 32];
    secret[..2].copy_from_slice(&[VERSION, list as u8]);
    let mut sum = [0; CHECKSUM_BYTES];
    sum.copy_from_slice(&mac(&secret, position)[..CHECKSUM_BYTES]);
    sum
}

/// One page of a list.
#[derive(Debug)]
pub(crate) struct Page<'a, T> {
    /// The items, in the order of their positions.
    pub(crate) items: Vec<&'a T>,
    /// The cursor of the next page; `None` on the last page.
    pub(crate) next_cursor: Option<String>,
}

/// Returns the page that `cursor` asks for (the first page without one), made of the `visible`
/// items.
///
/// `items` must be sorted by position. Every page but the last is full, and a next cursor is given
/// only if a visible item follows.
///
/// # Errors
/// Invalid params, if the cursor is not a cursor of this list.
pub(crate) fn page<'a, T>(
    list: ListKind,
    items: &'a [(Position, T)],
    cursor: Option<&str>,
    size: NonZeroUsize,
    visible: impl Fn(&T) -> bool,
) -> Result<Page<'a, T>, ProtocolError> {
    let after = cursor
        .map(|cursor| Cursor::decode(list, cursor))
        .transpose()?;
    let start = after.map_or(0, |after| {
        items.partition_point(|(position, _)| *position <= after)
    });
    let mut rest = items[start..].iter().filter(|(_, item)| visible(item));

    let mut page = Vec::new();
    let mut last = None;
    for (position, item) in rest.by_ref().take(size.get()) {
        page.push(item);
        last = Some(*position);
    }
    let next = last.filter(|_| rest.next().is_some());
    Ok(Page {
        items: page,
        next_cursor: next.map(|position| Cursor::after(list, position)),
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

    /// Returns items at positions that are far from each other.
    fn list_of(names: &[&'static str]) -> Vec<(Position, &'static str)> {
        let positions = (1..).map(|number| number * 1_000);
        positions.zip(names.iter().copied()).collect()
    }

    fn size(n: usize) -> NonZeroUsize {
        NonZeroUsize::new(n).unwrap()
    }

    fn walk<T: Copy>(items: &[(Position, T)], n: usize) -> Vec<Vec<T>> {
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
    fn items_added_or_removed_before_the_cursor_do_not_shift_the_page() {
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
    fn invisible_items_do_not_count_for_pages() {
        let items = list_of(&["a", "b", "c", "d"]);
        let visible = |name: &&str| ["a", "c"].contains(name);
        let page = page(ListKind::Tools, &items, None, size(2), visible).unwrap();
        assert_eq!(page.items, [&"a", &"c"]);
        assert_eq!(page.next_cursor, None);
    }

    #[test]
    fn the_empty_cursor_is_refused() {
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
        let cursor = Cursor::after(ListKind::Resources, Position::MAX);
        assert_eq!(
            Cursor::decode(ListKind::Resources, &cursor).unwrap(),
            Position::MAX
        );
        for length in [0, cursor.len() - 1, cursor.len() + 1, 1 << 20] {
            assert!(Cursor::decode(ListKind::Resources, &"A".repeat(length)).is_err());
        }
        assert!(Cursor::decode(ListKind::Resources, &cursor[1..]).is_err());
    }

    #[test]
    fn a_cursor_with_padding_or_the_other_alphabet_is_refused() {
        let mut cursors = (1..).map(|position| Cursor::after(ListKind::Tools, position));
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
        fn every_position_round_trips(position in any::<Position>()) {
            let cursor = Cursor::after(ListKind::Prompts, position);
            prop_assert_eq!(Cursor::decode(ListKind::Prompts, &cursor).unwrap(), position);
        }

        #[test]
        fn any_other_string_is_refused(text in ".{0,80}|[A-Za-z0-9_-]{0,80}|[A-Za-z0-9_-]{24}") {
            prop_assert!(Cursor::decode(ListKind::Prompts, &text).is_err());
        }

        #[test]
        fn a_change_of_one_character_is_refused(
            position in any::<Position>(), at in any::<prop::sample::Index>(), with in "[A-Za-z0-9_-]",
        ) {
            let cursor = Cursor::after(ListKind::Prompts, position);
            let at = at.index(cursor.len());
            let mut other = cursor.clone();
            other.replace_range(at..=at, &with);
            prop_assert_eq!(Cursor::decode(ListKind::Prompts, &other).is_ok(), other == cursor);
        }

        #[test]
        fn the_pages_together_are_the_list(
            positions in prop::collection::btree_set(0..40_u64, 0..20), n in 1usize..6,
        ) {
            let items: Vec<_> = positions.iter().map(|position| (*position, *position)).collect();
            prop_assert!(walk(&items, n).concat().iter().eq(&positions));
        }
    }
}
