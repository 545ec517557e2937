//! Members of objects and items of arrays in JSON text.

use std::borrow::Cow;

use serde_json::Value;

use super::cursor::Cursor;
use super::node::ObjectRules;

/// The most undeclared members that are searched for misspelled names.
const MAX_UNDECLARED: usize = 32;

/// Returns the names of the members inside an object.
pub(super) fn member_names(mut inside: Cursor<'_>) -> impl Iterator<Item = Cow<'_, str>> {
    let mut first = true;
    std::iter::from_fn(move || {
        let name = inside.next_member(std::mem::take(&mut first)).ok()??;
        inside.skip_value().ok()?;
        name.decode().ok()
    })
}

/// Returns some of the names inside an object that its rules do not declare.
pub(super) fn undeclared_names<'v>(object: &ObjectRules, inside: Cursor<'v>) -> Vec<Cow<'v, str>> {
    member_names(inside)
        .filter(|name| object.member_index(name).is_none())
        .take(MAX_UNDECLARED)
        .collect()
}

/// Parses the items inside an array of `count` items.
pub(super) fn parse_items(mut inside: Cursor<'_>, count: usize) -> Option<Vec<Value>> {
    let mut items = Vec::new();
    for index in 0..count {
        inside.next_item(index == 0).ok()?;
        let start = inside;
        inside.skip_value().ok()?;
        items.push(serde_json::from_str(start.text_until(inside)).ok()?);
    }
    Some(items)
}

/// The set of declared members that were seen.
pub(super) enum SeenMembers {
    Few(u64),
    Many(Vec<bool>),
}

impl SeenMembers {
    pub(super) fn new(members: usize) -> Self {
        if members <= 64 {
            Self::Few(0)
        } else {
            Self::Many(vec![false; members])
        }
    }

    /// Marks a member. Returns whether it was not marked before.
    pub(super) fn mark(&mut self, index: usize) -> bool {
        let before = self.contains(index);
        match self {
            Self::Few(bits) => *bits |= 1 << index,
            Self::Many(flags) => flags[index] = true,
        }
        !before
    }

    pub(super) fn contains(&self, index: usize) -> bool {
        match self {
            Self::Few(bits) => bits & (1 << index) != 0,
            Self::Many(flags) => flags[index],
        }
    }
}
