//! The lists of servers: filled page by page, filtered, and looked up, each item with its raw JSON.

mod item;
mod tasks;
mod texts;

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

use crate::api::{ItemKind, ItemRow, ItemsWindow, ListSummary, RawRange};
use crate::change::Changes;
use crate::outline::{find_nested, parts};
use crate::values::string::decode;
use item::{list_member, read_row};
use texts::Texts;

/// The most rows of one answer.
const MAX_ROWS: usize = 500;

/// The most bytes of texts in the rows of one answer.
const MAX_ROWS_BYTES: usize = 256 * 1024;

/// The most words of a filter.
const MAX_WORDS: usize = 16;

/// The limits of all lists.
#[derive(Debug, Clone, Copy)]
pub struct ItemLimits {
    /// The most items of one list.
    pub max_items: usize,
    /// The most bytes of all lists together.
    pub max_bytes: usize,
}

impl Default for ItemLimits {
    fn default() -> Self {
        Self {
            max_items: 1_000_000,
            max_bytes: 256 << 20,
        }
    }
}

/// The lists of all sessions. Clones share them.
#[derive(Clone)]
pub(crate) struct Items(Arc<Shared>);

struct Shared {
    limits: ItemLimits,
    changes: Changes,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    lists: HashMap<(String, ItemKind), List>,
    bytes: usize,
}

#[derive(Default)]
struct List {
    items: Vec<Item>,
    texts: Texts,
    pages: Vec<Page>,
    /// The index of each item, by its key.
    by_key: HashMap<Box<str>, u32>,
    bytes: usize,
    /// The bytes of the definitions alone.
    size: u64,
    /// The number of keys with a number that were tried.
    last_number: usize,
    is_loading: bool,
    /// True if the next page replaces the items.
    is_stale: bool,
    error: Option<String>,
}

/// A result that the server sent, or the part of a message that is the state of one task.
struct Page {
    n: u64,
    bytes: Bytes,
    /// The place of the bytes in the message.
    offset: u32,
    /// The bytes that the one task takes; 0 for a page of a list.
    task_bytes: usize,
}

struct Item {
    row: Box<ItemRow>,
    page: u32,
    range: Range<u32>,
}

/// An item of a list, with its definition as the server sent it.
pub(crate) struct FoundItem {
    pub(crate) row: ItemRow,
    pub(crate) raw: Bytes,
    pub(crate) range: RawRange,
}

impl Items {
    pub(crate) fn new(limits: ItemLimits, changes: Changes) -> Self {
        Self(Arc::new(Shared {
            limits,
            changes,
            state: Mutex::default(),
        }))
    }

    /// Begins to fill a list. The items that it has stay until the first page is there.
    pub(crate) fn begin(&self, session: &str, kind: ItemKind) {
        self.change(session, kind, |_, list| {
            (list.is_loading, list.is_stale) = (true, true);
        });
    }

    /// Adds a page: the bytes of the response with the number `n`. Returns the cursor of the next page.
    ///
    /// # Errors
    /// Returns a sentence if the response has no such list, or a limit is reached. Items that were read
    /// before stay.
    pub(crate) fn add_page(
        &self,
        session: &str,
        kind: ItemKind,
        n: u64,
        bytes: Bytes,
    ) -> Result<Option<String>, String> {
        let limits = self.0.limits;
        self.change(session, kind, |total, list| {
            if list.is_stale {
                *total -= list.bytes;
                *list = List {
                    is_loading: true,
                    ..List::default()
                };
            }
            let before = list.bytes;
            let outcome = list.add_page(kind, n, bytes, &limits, limits.max_bytes - *total);
            *total += list.bytes - before;
            outcome
        })
    }

    /// Ends filling a list, with the reason if it is not complete.
    pub(crate) fn finish(&self, session: &str, kind: ItemKind, error: Option<String>) {
        self.change(session, kind, |total, list| {
            if list.is_stale && error.is_none() {
                *total -= list.bytes;
                *list = List::default();
            }
            (list.is_loading, list.is_stale, list.error) = (false, false, error);
        });
    }

    /// Returns the items of a list that pass a filter, from an index on. All words of the filter have to
    /// be in the name, the title or the description, in either case of ASCII letters.
    pub(crate) fn window(
        &self,
        session: &str,
        kind: ItemKind,
        filter: &str,
        from: usize,
        count: usize,
    ) -> ItemsWindow {
        let state = self.lock();
        let mut window = ItemsWindow {
            total: 0,
            matching: 0,
            from: u32::try_from(from).unwrap_or(u32::MAX),
            rows: Vec::new(),
            is_loading: false,
            error: None,
        };
        let Some(list) = state.lists.get(&(session.to_owned(), kind)) else {
            return window;
        };
        let words: Vec<&str> = filter.split_whitespace().take(MAX_WORDS).collect();
        let count = count.min(MAX_ROWS);
        let (mut matching, mut bytes) = (0, 0);
        for index in list.texts.matches(&words) {
            // An answer with fewer rows is continued from its end.
            let is_full = window.rows.len() >= count || bytes >= MAX_ROWS_BYTES;
            if matching >= from && !is_full {
                let row = &list.items[index].row;
                bytes += row_bytes(row);
                window.rows.push((**row).clone());
            }
            matching += 1;
        }
        window.total = list.items.len() as u32;
        window.matching = matching as u32;
        window.is_loading = list.is_loading;
        window.error.clone_from(&list.error);
        window
    }

    /// Returns an item by its key.
    pub(crate) fn find(&self, session: &str, kind: ItemKind, key: &str) -> Option<FoundItem> {
        let state = self.lock();
        let list = state.lists.get(&(session.to_owned(), kind))?;
        let item = &list.items[*list.by_key.get(key)? as usize];
        let page = &list.pages[item.page as usize];
        let start = (item.range.start - page.offset) as usize;
        let range = start..start + item.range.len();
        let raw = match range.end <= page.bytes.len() {
            true => page.bytes.slice(range),
            // The state of a task was too long to be kept.
            false => Bytes::new(),
        };
        Some(FoundItem {
            row: (*item.row).clone(),
            raw,
            range: RawRange {
                n: page.n,
                start: item.range.start.into(),
                end: item.range.end.into(),
            },
        })
    }

    /// Returns the number of items of a list so far.
    pub(crate) fn count(&self, session: &str, kind: ItemKind) -> usize {
        let state = self.lock();
        let list = state.lists.get(&(session.to_owned(), kind));
        list.map_or(0, |list| list.items.len())
    }

    /// Returns the lists of a session, in short.
    pub(crate) fn summaries(&self, session: &str) -> Vec<ListSummary> {
        let state = self.lock();
        let lists = state.lists.iter().filter(|((of, _), _)| of == session);
        let mut summaries: Vec<_> = lists
            .map(|((_, kind), list)| ListSummary {
                kind: *kind,
                total: list.items.len() as u32,
                size: list.size,
                is_loading: list.is_loading,
                has_error: list.error.is_some(),
            })
            .collect();
        summaries.sort_by_key(|summary| summary.kind);
        summaries
    }

    /// Removes the lists of a session.
    pub(crate) fn remove_session(&self, session: &str) {
        let mut state = self.lock();
        let State { lists, bytes } = &mut *state;
        lists.retain(|(of, _), list| {
            let stays = of != session;
            if !stays {
                *bytes -= list.bytes;
            }
            stays
        });
    }

    fn change<T>(
        &self,
        session: &str,
        kind: ItemKind,
        change: impl FnOnce(&mut usize, &mut List) -> T,
    ) -> T {
        let outcome = {
            let mut state = self.lock();
            let State { lists, bytes } = &mut *state;
            let list = lists.entry((session.to_owned(), kind)).or_default();
            change(bytes, list)
        };
        self.0
            .changes
            .add(&format!("items/{session}/{}", kind_name(kind)));
        self.0.changes.add("sessions");
        outcome
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the name of a kind in topics.
fn kind_name(kind: ItemKind) -> &'static str {
    match kind {
        ItemKind::Tools => "tools",
        ItemKind::Resources => "resources",
        ItemKind::Templates => "templates",
        ItemKind::Prompts => "prompts",
        ItemKind::Skills => "skills",
        ItemKind::Tasks => "tasks",
    }
}

impl List {
    fn add_page(
        &mut self,
        kind: ItemKind,
        n: u64,
        bytes: Bytes,
        limits: &ItemLimits,
        free_bytes: usize,
    ) -> Result<Option<String>, String> {
        if bytes.len() > free_bytes || u32::try_from(bytes.len()).is_err() {
            return Err(too_large(limits));
        }
        let member = list_member(kind);
        let list = find_nested(&bytes, &["result", member]);
        let list = list.ok_or_else(|| format!("the result has no `{member}`"))?;
        let used = bytes.len();
        self.bytes += used;
        // Items that were read before a limit was reached stay, and so does their page.
        self.pages.push(Page {
            n,
            bytes: bytes.clone(),
            offset: 0,
            task_bytes: 0,
        });
        self.add_items(kind, &bytes, list.start, limits, free_bytes - used)?;
        let cursor = find_nested(&bytes, &["result", "nextCursor"]);
        Ok(cursor.and_then(|range| {
            let body = bytes[range].strip_prefix(b"\"")?.strip_suffix(b"\"")?;
            Some(decode(body))
        }))
    }

    /// Adds the items of the array at a byte of the last page.
    fn add_items(
        &mut self,
        kind: ItemKind,
        bytes: &Bytes,
        start: usize,
        limits: &ItemLimits,
        free_bytes: usize,
    ) -> Result<(), String> {
        let page = (self.pages.len() - 1) as u32;
        let mut used = 0;
        for part in parts(bytes, start) {
            if self.items.len() >= limits.max_items {
                let limit = limits.max_items;
                return Err(format!(
                    "the list has more than {limit} items (ItemLimits::max_items)"
                ));
            }
            let mut row = read_row(kind, &bytes[part.range.clone()]);
            row.key = self.unused_key(&row.name);
            let item_bytes = item_bytes(&row);
            used += item_bytes;
            if used > free_bytes {
                return Err(too_large(limits));
            }
            self.bytes += item_bytes;
            self.size += row.size;
            self.texts.push(&row);
            let key = row.key.as_str().into();
            self.by_key.insert(key, self.items.len() as u32);
            self.items.push(Item {
                row: Box::new(row),
                page,
                range: part.range.start as u32..part.range.end as u32,
            });
        }
        Ok(())
    }

    /// Returns the name, or the name with a number if another item has it.
    fn unused_key(&mut self, name: &str) -> String {
        let mut key = name.to_owned();
        while self.by_key.contains_key(key.as_str()) {
            // No number is tried twice, so that the work grows with the number of items alone.
            self.last_number += 1;
            key = format!("{name} ({})", self.last_number + 1);
        }
        key
    }
}

fn too_large(limits: &ItemLimits) -> String {
    let limit = limits.max_bytes >> 20;
    format!("the lists have more than {limit} MB together (ItemLimits::max_bytes)")
}

/// Returns the bytes that an item takes beside its definition: its text is there twice.
fn item_bytes(row: &ItemRow) -> usize {
    size_of::<Item>() + 2 * row.key.len() + 2 * row_bytes(row) - size_of::<ItemRow>()
}

fn row_bytes(row: &ItemRow) -> usize {
    let texts = [&row.title, &row.description, &row.fault];
    let texts = texts.into_iter().flatten().map(String::len);
    size_of::<ItemRow>() + row.name.len() + row.key.len() + texts.sum::<usize>()
}
