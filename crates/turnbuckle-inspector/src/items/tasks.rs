//! Tasks that calls of a session became: they are in the list from the first message that names them.

use std::ops::Range;

use bytes::Bytes;
use turnbuckle_types::TaskStatus;

use super::item::{read_row, text_at};
use super::texts::Texts;
use super::{Item, Items, List, Page};
use crate::api::ItemKind;
use crate::outline::{member, parts};

/// The most tasks of a session that are known from messages.
const MAX_TASKS: usize = 10_000;

/// The longest state of a task that is kept beside its message: a completed one can have a big result.
const MAX_KEPT_BYTES: usize = 64 * 1024;

/// Returns the range of the state of a task in a message: in a result, or in the parameters of a
/// notification.
fn find_task(message: &[u8]) -> Option<Range<usize>> {
    memchr::memmem::find(message, b"\"taskId\"")?;
    let body = parts(message, 0).find(|part| matches!(part.key, b"result" | b"params"))?;
    let created = member(message, body.range.start, "task");
    let is_task = |range: &Range<usize>| {
        let raw = &message[range.clone()];
        let status = text_at(raw, &["status"]).map(serde_json::Value::from);
        text_at(raw, &["taskId"]).is_some()
            && status.is_some_and(|it| serde_json::from_value::<TaskStatus>(it).is_ok())
    };
    created.into_iter().chain([body.range]).find(is_task)
}

impl Items {
    /// Adds the task whose state is in a message of the server, or changes it.
    pub(crate) fn observe_task(&self, session: &str, n: u64, message: &Bytes) {
        let Some(range) = find_task(message) else {
            return;
        };
        if u32::try_from(range.end).is_err() {
            return;
        }
        let limit = self.0.limits.max_bytes;
        self.change(session, ItemKind::Tasks, |total, list| {
            let before = list.bytes;
            list.put_task(n, message, range, limit - *total);
            *total = *total + list.bytes - before;
        });
    }
}

impl List {
    fn put_task(&mut self, n: u64, message: &Bytes, range: Range<usize>, free_bytes: usize) {
        let raw = &message[range.clone()];
        let mut row = read_row(ItemKind::Tasks, raw);
        row.key.clone_from(&row.name);
        let known = self.by_key.get(row.key.as_str()).copied();
        let kept = match raw.len() <= MAX_KEPT_BYTES {
            true => Bytes::copy_from_slice(raw),
            false => Bytes::new(),
        };
        let used = kept.len() + super::item_bytes(&row);
        if used > free_bytes || (known.is_none() && self.items.len() >= MAX_TASKS) {
            return;
        }
        let item = Item {
            row: Box::new(row),
            page: self.pages.len() as u32,
            range: range.start as u32..range.end as u32,
        };
        let page = Page {
            n,
            bytes: kept,
            offset: item.range.start,
            task_bytes: used,
        };
        self.bytes += used;
        self.size += item.row.size;
        match known {
            None => {
                let index = self.items.len() as u32;
                self.by_key.insert(item.row.key.as_str().into(), index);
                self.texts.push(&item.row);
                self.items.push(item);
                self.pages.push(page);
            }
            Some(index) => {
                let item = std::mem::replace(&mut self.items[index as usize], item);
                self.size -= item.row.size;
                self.texts = Texts::default();
                for item in &self.items {
                    self.texts.push(&item.row);
                }
                let old = &mut self.pages[item.page as usize];
                // A page of a list has other tasks too.
                if old.task_bytes == 0 {
                    self.pages.push(page);
                } else {
                    self.bytes -= old.task_bytes;
                    *old = page;
                    self.items[index as usize].page = item.page;
                }
            }
        }
    }
}
