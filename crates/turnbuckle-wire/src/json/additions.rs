//! Members that are added to an object while it is written.

use std::borrow::Cow;
use std::fmt;

use serde::Deserializer as _;
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::{write_raw, write_str};

/// Members that are added to the outermost object while it is written, unless the object has them.
/// Names are written as they are: none has anything to escape.
#[derive(Debug, Clone, Copy, Default)]
pub struct Additions<'a> {
    /// Pairs of a member's name and its value as JSON text. Each is added unless the object has a
    /// member of that name.
    pub members: &'a [(&'static str, &'a [u8])],
    /// Pairs as in `members`, which are added to the object's `_meta`. An absent `_meta` is created.
    pub meta: &'a [(&'static str, &'a [u8])],
}

impl Additions<'_> {
    /// Appends all additions to an unclosed object that has members already, but none of these names.
    /// The first addition is written after a comma.
    pub fn append(&self, out: &mut Vec<u8>) {
        AdditionTracker::new(*self).add_missing(out, false);
    }

    /// Appends all additions to an unclosed object that has no members yet. The first addition is
    /// written without a comma.
    pub(crate) fn append_to_empty(&self, out: &mut Vec<u8>) {
        AdditionTracker::new(*self).add_missing(out, true);
    }
}

/// A record of which additions the outermost object has written itself, so that only the missing
/// ones are added at its end.
pub(super) struct AdditionTracker<'a> {
    additions: Additions<'a>,
    /// A bit for each of [`Additions::members`] that the object has written itself.
    written_members: u32,
    /// True once the object has written a `_meta` itself.
    meta_written: bool,
}

/// A member of the outermost object that the additions depend on.
#[derive(Debug, Clone, Copy)]
pub(super) enum TrackedMember {
    /// The member `_meta`.
    Meta,
    /// A member with the name of the addition at this index of [`Additions::members`].
    Member(usize),
}

impl<'a> AdditionTracker<'a> {
    pub(super) fn new(additions: Additions<'a>) -> Self {
        Self {
            additions,
            written_members: 0,
            meta_written: false,
        }
    }

    /// Returns the tracked member of this name: `_meta`, or a member that is also an addition. Others
    /// are `None`.
    pub(super) fn tracked_member(&self, key: &str) -> Option<TrackedMember> {
        if key == "_meta" {
            return Some(TrackedMember::Meta);
        }
        let mut members = self.additions.members.iter();
        members
            .position(|(name, _)| *name == key)
            .map(TrackedMember::Member)
    }

    /// Records that the object has just written this member, whose value begins at `value_at` in `out`.
    /// If it is `_meta`, the additions that its object lacks are inserted into it.
    pub(super) fn record(&mut self, member: TrackedMember, out: &mut Vec<u8>, value_at: usize) {
        match member {
            TrackedMember::Meta => {
                self.meta_written = true;
                if out.get(value_at) != Some(&b'{') {
                    return;
                }
                for (name, value) in self.additions.meta {
                    if has_member(&out[value_at..], name) {
                        continue;
                    }
                    reopen(out);
                    write_member(out, name, value);
                    out.push(b'}');
                }
            }
            TrackedMember::Member(at) => self.written_members |= 1 << at,
        }
    }

    /// Writes a JSON text. If the text is an object, its members are written with the missing additions;
    /// other values are copied.
    pub(super) fn write_text(self, out: &mut Vec<u8>, json: &str) -> Result<(), serde_json::Error> {
        if !json.starts_with('{') {
            write_raw(out, json);
            return Ok(());
        }
        serde_json::Deserializer::from_str(json)
            .deserialize_map(RewriteVisitor { outer: self, out })
    }

    /// Records that a member of this name is written by other code. Nothing is added to its value.
    pub(super) fn record_name(&mut self, key: &str) {
        match self.tracked_member(key) {
            Some(TrackedMember::Meta) => self.meta_written = true,
            Some(TrackedMember::Member(at)) => self.written_members |= 1 << at,
            None => {}
        }
    }

    /// Appends the additions that the object did not write; `empty` says whether it has no members
    /// yet.
    pub(super) fn add_missing(&self, out: &mut Vec<u8>, mut empty: bool) {
        let mut comma = |out: &mut Vec<u8>| {
            if !std::mem::replace(&mut empty, false) {
                out.push(b',');
            }
        };
        for (at, (name, value)) in self.additions.members.iter().enumerate() {
            if self.written_members & (1 << at) == 0 {
                comma(out);
                write_member(out, name, value);
            }
        }
        if !self.meta_written && !self.additions.meta.is_empty() {
            comma(out);
            out.extend_from_slice(b"\"_meta\":");
            let mut before = b'{';
            for (name, value) in self.additions.meta {
                out.push(before);
                before = b',';
                write_member(out, name, value);
            }
            out.push(b'}');
        }
    }
}

/// A visitor that writes the object that it reads, with the missing additions.
struct RewriteVisitor<'o, 'a> {
    outer: AdditionTracker<'a>,
    out: &'o mut Vec<u8>,
}

impl<'de> Visitor<'de> for RewriteVisitor<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Self { mut outer, out } = self;
        let mut empty = true;
        out.push(b'{');
        while let Some(name) = map.next_key::<Cow<'_, str>>()? {
            if !std::mem::replace(&mut empty, false) {
                out.push(b',');
            }
            write_str(out, &name);
            out.push(b':');
            let value_at = out.len();
            write_raw(out, map.next_value::<&RawValue>()?.get());
            if let Some(member) = outer.tracked_member(&name) {
                outer.record(member, out, value_at);
            }
        }
        outer.add_missing(out, empty);
        out.push(b'}');
        Ok(())
    }
}

/// Removes the closing brace of the object at the end of `out` and adds a comma if one is needed, so
/// that another member can follow.
fn reopen(out: &mut Vec<u8>) {
    out.pop();
    while let Some(b' ' | b'\t') = out.last() {
        out.pop();
    }
    if out.last() != Some(&b'{') {
        out.push(b',');
    }
}

fn write_member(out: &mut Vec<u8>, name: &str, value: &[u8]) {
    debug_assert!(
        name.bytes()
            .all(|byte| byte >= b' ' && byte != b'"' && byte != b'\\')
    );
    out.reserve(name.len() + value.len() + 3);
    out.push(b'"');
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b"\":");
    out.extend_from_slice(value);
}

/// Returns whether the JSON object in `json` has a member of that name at its own level.
fn has_member(json: &[u8], name: &str) -> bool {
    struct Names<'n>(&'n str);
    impl<'de> Visitor<'de> for Names<'_> {
        type Value = bool;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }
        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<bool, A::Error> {
            let mut found = false;
            while let Some(key) = map.next_key::<Cow<'_, str>>()? {
                found |= key == self.0;
                map.next_value::<IgnoredAny>()?;
            }
            Ok(found)
        }
    }
    serde_json::Deserializer::from_slice(json)
        .deserialize_map(Names(name))
        .unwrap_or(false)
}
