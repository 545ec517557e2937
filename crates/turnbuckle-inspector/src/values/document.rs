//! A JSON text with its index: lookups by name, by index and by path.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher as _, RandomState};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;

use super::scan::{Index, IndexLimits, Node};
use super::string::{decode, string_body};
use crate::api::{JsonFault, ValueKind};

/// The longest path that is read, in bytes.
const MAX_PATH_BYTES: usize = 4096;

/// A JSON text with its index. The text stays as it was sent.
pub struct Document {
    text: Bytes,
    index: Index,
    /// For objects that were asked for: the members whose name is there twice.
    duplicates: Mutex<HashMap<u32, Arc<HashSet<u32>>>>,
}

/// A value of a [`Document`].
#[derive(Clone, Copy)]
pub struct Value<'d> {
    document: &'d Document,
    pub(super) at: u32,
}

impl Document {
    /// Indexes a text. A text that is not JSON is indexed up to its fault.
    #[must_use]
    pub fn new(text: Bytes) -> Self {
        Self::with_limits(text, IndexLimits::default())
    }

    pub(super) fn with_limits(text: Bytes, limits: IndexLimits) -> Self {
        let index = Index::new(&text, limits);
        let duplicates = Mutex::default();
        Self {
            text,
            index,
            duplicates,
        }
    }

    /// Returns the whole value, unless the text begins with a fault.
    #[must_use]
    pub fn root(&self) -> Option<Value<'_>> {
        self.value(0)
    }

    /// Returns the fault of a text that is not JSON.
    #[must_use]
    pub fn fault(&self) -> Option<&JsonFault> {
        self.index.fault.as_ref()
    }

    /// Returns the value at a path such as `3.0.12`: the index of the member or item at each level.
    #[must_use]
    pub fn find(&self, path: &str) -> Option<Value<'_>> {
        let mut value = self.root()?;
        for step in parse_path(path)? {
            value = value.child(step)?;
        }
        Some(value)
    }

    /// Returns the bytes of memory that the text and its index take.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.text.len() + self.index.nodes.len() * size_of::<Node>()
    }

    pub(super) fn text(&self) -> &Bytes {
        &self.text
    }

    pub(super) fn nodes(&self) -> &[Node] {
        &self.index.nodes
    }

    pub(super) fn value(&self, at: u32) -> Option<Value<'_>> {
        let is_there = (at as usize) < self.index.nodes.len();
        is_there.then_some(Value { document: self, at })
    }

    /// Returns the members of an object whose name another member has too.
    fn duplicates_of(&self, object: Value<'_>) -> Arc<HashSet<u32>> {
        let mut known = self
            .duplicates
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let found = known.entry(object.at).or_insert_with(|| {
            let hasher = RandomState::new();
            let hash = |member: Value<'_>| hasher.hash_one(member.key());
            let mut members: Vec<_> = object.children().map(|it| (hash(it), it.at)).collect();
            members.sort_unstable();
            let mut found = HashSet::new();
            for pair in members.windows(2) {
                if pair[0].0 == pair[1].0 {
                    found.extend([pair[0].1, pair[1].1]);
                }
            }
            Arc::new(found)
        });
        found.clone()
    }
}

/// Reads a path. Returns `None` if it is none, or too long.
pub(super) fn parse_path(path: &str) -> Option<Vec<u32>> {
    if path.is_empty() {
        return Some(Vec::new());
    }
    if path.len() > MAX_PATH_BYTES {
        return None;
    }
    path.split('.').map(|step| step.parse().ok()).collect()
}

impl<'d> Value<'d> {
    pub(super) fn node(&self) -> &'d Node {
        &self.document.index.nodes[self.at as usize]
    }

    /// Returns the range of the value in the text.
    #[must_use]
    pub fn range(&self) -> Range<usize> {
        let node = self.node();
        node.start as usize..node.end as usize
    }

    /// Returns the value as it was sent.
    #[must_use]
    pub fn raw(&self) -> &'d [u8] {
        &self.document.text[self.range()]
    }

    /// Returns the value as it was sent, without a copy.
    #[must_use]
    pub fn to_bytes(&self) -> Bytes {
        self.document.text.slice(self.range())
    }

    /// Returns the value as text. Bytes that are not UTF-8 become U+FFFD.
    #[must_use]
    pub fn raw_text(&self) -> String {
        String::from_utf8_lossy(self.raw()).into_owned()
    }

    /// Returns the kind of value.
    #[must_use]
    pub fn kind(&self) -> ValueKind {
        match self.raw().first() {
            Some(b'{') => ValueKind::Object,
            Some(b'[') => ValueKind::Array,
            Some(b'"') => ValueKind::String,
            Some(b't' | b'f') => ValueKind::Boolean,
            Some(b'n') => ValueKind::Null,
            _ => ValueKind::Number,
        }
    }

    /// Returns the number of members or items.
    #[must_use]
    pub fn len(&self) -> usize {
        self.node().children as usize
    }

    /// Returns whether there are no members or items.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.node().children == 0
    }

    /// Returns the members or items, in order.
    pub fn children(&self) -> impl Iterator<Item = Value<'d>> + use<'d> {
        let document = self.document;
        let end = self.node().next;
        let mut at = self.at + 1;
        std::iter::from_fn(move || {
            let child = (at < end).then_some(Value { document, at })?;
            at = child.node().next;
            Some(child)
        })
    }

    /// Returns the members or items from an index on, each with its index.
    pub(super) fn children_from(
        &self,
        from: usize,
    ) -> impl Iterator<Item = (u32, Value<'d>)> + use<'d> {
        let document = self.document;
        let end = self.node().next;
        let first = self.at + 1;
        // Without children of their own, children are found without a walk.
        let is_flat = (end - first) as usize == self.len();
        let (mut at, mut ordinal) = match u32::try_from(from) {
            Ok(from) if is_flat => (first.saturating_add(from), from),
            _ => (first, 0),
        };
        let children = std::iter::from_fn(move || {
            let child = (at < end).then_some(Value { document, at })?;
            let index = ordinal;
            (at, ordinal) = (child.node().next, ordinal + 1);
            Some((index, child))
        });
        children.skip_while(move |(index, _)| (*index as usize) < from)
    }

    /// Returns a member or an item by its index.
    #[must_use]
    pub fn child(&self, index: u32) -> Option<Self> {
        self.children_from(index as usize)
            .next()
            .map(|(_, child)| child)
    }

    /// Returns a member of an object: the last of this name, as most readers of JSON have it.
    #[must_use]
    pub fn member(&self, name: &str) -> Option<Self> {
        if self.kind() != ValueKind::Object {
            return None;
        }
        let has_name = |member: &Self| match member.raw_key() {
            Some(raw) if !raw.contains(&b'\\') => raw == name.as_bytes(),
            Some(raw) => decode(raw) == name,
            None => false,
        };
        self.children().filter(has_name).last()
    }

    /// Returns the text of a string.
    #[must_use]
    pub fn as_str(&self) -> Option<String> {
        self.body().map(decode)
    }

    /// Returns the body of a string: its raw bytes without the quotes.
    pub(super) fn body(&self) -> Option<&'d [u8]> {
        let raw = self.raw().strip_prefix(b"\"")?;
        Some(raw.strip_suffix(b"\"").unwrap_or(raw))
    }

    /// Returns true or false for a boolean.
    #[must_use]
    pub fn as_bool(&self) -> Option<bool> {
        match self.raw() {
            b"true" => Some(true),
            b"false" => Some(false),
            _ => None,
        }
    }

    /// Returns the body of the name, as it was sent.
    pub(super) fn raw_key(&self) -> Option<&'d [u8]> {
        match self.node().key {
            0 => None,
            start => Some(string_body(&self.document.text, start as usize)),
        }
    }

    /// Returns the decoded name of a member.
    #[must_use]
    pub fn key(&self) -> Option<String> {
        self.raw_key().map(decode)
    }

    /// Returns the members whose name another member has too.
    pub(crate) fn duplicates(&self) -> Arc<HashSet<u32>> {
        self.document.duplicates_of(*self)
    }

    /// Returns whether the value has another one, by its index in the document.
    pub(super) fn contains(&self, at: u32) -> bool {
        self.at < at && at < self.node().next
    }

    pub(super) fn is_container(&self) -> bool {
        matches!(self.kind(), ValueKind::Object | ValueKind::Array)
    }
}
