//! What is inside arrays and objects.

use std::borrow::Cow;

use serde_json::Value;

use super::cursor::Cursor;
use super::node::Object;

/// The most members of an object whose names may be misspellings.
const MAX_STRANGERS: usize = 32;

/// The names of the members inside an object.
pub(super) fn names(mut inside: Cursor<'_>) -> impl Iterator<Item = Cow<'_, str>> {
    let mut first = true;
    std::iter::from_fn(move || {
        let name = inside.member(std::mem::take(&mut first)).ok()??;
        inside.skip().ok()?;
        name.read().ok()
    })
}

/// The names inside an object that it does not declare: a few.
pub(super) fn strangers<'v>(object: &Object, inside: Cursor<'v>) -> Vec<Cow<'v, str>> {
    names(inside)
        .filter(|name| object.find(name).is_none())
        .take(MAX_STRANGERS)
        .collect()
}

/// The items inside an array, which has so many.
pub(super) fn items(mut inside: Cursor<'_>, count: usize) -> Option<Vec<Value>> {
    let mut items = Vec::new();
    for index in 0..count {
        inside.item(index == 0).ok()?;
        let start = inside;
        inside.skip().ok()?;
        items.push(serde_json::from_str(start.until(inside)).ok()?);
    }
    Some(items)
}

/// Which members of an object were seen.
pub(super) enum Seen {
    Few(u64),
    Many(Vec<bool>),
}

impl Seen {
    pub(super) fn new(members: usize) -> Self {
        if members <= 64 {
            Self::Few(0)
        } else {
            Self::Many(vec![false; members])
        }
    }

    /// Marks one; whether it was not marked before.
    pub(super) fn mark(&mut self, index: usize) -> bool {
        let before = self.has(index);
        match self {
            Self::Few(bits) => *bits |= 1 << index,
            Self::Many(flags) => flags[index] = true,
        }
        !before
    }

    pub(super) fn has(&self, index: usize) -> bool {
        match self {
            Self::Few(bits) => bits & (1 << index) != 0,
            Self::Many(flags) => flags[index],
        }
    }
}
