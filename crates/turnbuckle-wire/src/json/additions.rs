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
    /// Members as `"key":value`, each added when the object has no member of that name.
    pub members: &'a [(&'static str, &'a [u8])],
    /// Members as `"key":value` joined into the object's `_meta`, which is made when absent.
    pub meta: &'a [(&'static str, &'a [u8])],
}

impl Additions<'_> {
    /// Appends every addition to an object that has members already, and none of these.
    pub fn append(&self, out: &mut Vec<u8>) {
        OutermostObject::new(*self).add_missing(out, false);
    }

    /// Appends every addition to an object that has no members yet.
    pub(crate) fn append_all(&self, out: &mut Vec<u8>) {
        OutermostObject::new(*self).add_missing(out, true);
    }
}

/// The outermost object's additions, with the ones that it wrote itself.
pub(super) struct OutermostObject<'a> {
    additions: Additions<'a>,
    written_members: u32,
    meta_written: bool,
}

/// A member that concerns the additions.
#[derive(Debug, Clone, Copy)]
pub(super) enum KnownMember {
    Meta,
    /// The member at this place of [`Additions::members`].
    Member(usize),
}

impl<'a> OutermostObject<'a> {
    pub(super) fn new(additions: Additions<'a>) -> Self {
        Self {
            additions,
            written_members: 0,
            meta_written: false,
        }
    }

    /// Returns the addition that a member of that name stands for.
    pub(super) fn find(&self, key: &str) -> Option<KnownMember> {
        if key == "_meta" {
            return Some(KnownMember::Meta);
        }
        let mut members = self.additions.members.iter();
        members
            .position(|(name, _)| *name == key)
            .map(KnownMember::Member)
    }

    /// Records that the object has just written this member, whose value begins at `value_at`, and
    /// adds to its `_meta`.
    pub(super) fn record(&mut self, said: KnownMember, out: &mut Vec<u8>, value_at: usize) {
        match said {
            KnownMember::Meta => {
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
            KnownMember::Member(at) => self.written_members |= 1 << at,
        }
    }

    /// Writes JSON that is there as text: an object member by member, so that it takes the additions.
    pub(super) fn write_text(self, out: &mut Vec<u8>, json: &str) -> Result<(), serde_json::Error> {
        if !json.starts_with('{') {
            write_raw(out, json);
            return Ok(());
        }
        serde_json::Deserializer::from_str(json)
            .deserialize_map(RewriteVisitor { outer: self, out })
    }

    /// Records that a member of this name is written elsewhere, without adding to it.
    pub(super) fn record_name(&mut self, key: &str) {
        match self.find(key) {
            Some(KnownMember::Meta) => self.meta_written = true,
            Some(KnownMember::Member(at)) => self.written_members |= 1 << at,
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

/// An object that is read in order to be written.
struct RewriteVisitor<'o, 'a> {
    outer: OutermostObject<'a>,
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
            if let Some(said) = outer.find(&name) {
                outer.record(said, out, value_at);
            }
        }
        outer.add_missing(out, empty);
        out.push(b'}');
        Ok(())
    }
}

/// Takes the end off the object at the end of `out`, so that another member can follow.
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
