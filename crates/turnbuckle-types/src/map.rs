//! An ordered JSON object whose keys are data: unknown members, `_meta`, arguments by name.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, Serializer};

use crate::Json;

/// Members that an object's type has no name for. What is put in here must not have the name of a
/// field: it would be written twice.
pub type Extra = Map<Json>;

/// A JSON object as a list of pairs in their order of arrival.
///
/// A lookup is a scan: these maps are short. A key that arrived twice is kept twice, and a lookup
/// finds the last one, as nearly every other JSON reader would. The number of pairs is bounded by the
/// size of the frame they came in, which the transport caps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Map<V> {
    entries: Vec<(Box<str>, V)>,
}

impl<V> Map<V> {
    /// Creates an empty map, without an allocation.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            entries: Vec::new(),
        }
    }

    /// Returns the number of pairs.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns whether there is no pair.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns the value under `key`; the last one if the key stands more than once.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&V> {
        self.entries
            .iter()
            .rev()
            .find(|(name, _)| &**name == key)
            .map(|(_, value)| value)
    }

    /// Returns whether `key` stands in the map.
    #[must_use]
    pub fn contains_key(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// Sets `key` to `value` in its old place, or at the end if it is new. Returns what stood there.
    pub fn insert(&mut self, key: impl Into<Box<str>>, value: impl Into<V>) -> Option<V> {
        let (key, value) = (key.into(), value.into());
        match self.entries.iter_mut().rev().find(|(name, _)| *name == key) {
            Some((_, old)) => Some(std::mem::replace(old, value)),
            None => {
                self.entries.push((key, value));
                None
            }
        }
    }

    /// Takes `key` out of the map, every time it stands there. Returns its (last) value.
    pub fn remove(&mut self, key: &str) -> Option<V> {
        if !self.contains_key(key) {
            return None;
        }
        let all = std::mem::take(&mut self.entries);
        let (gone, kept): (Vec<_>, Vec<_>) = all.into_iter().partition(|(name, _)| **name == *key);
        self.entries = kept;
        gone.into_iter().next_back().map(|(_, value)| value)
    }

    /// Returns the pairs, in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&str, &V)> + ExactSizeIterator {
        self.entries.iter().map(|(key, value)| (&**key, value))
    }

    /// Returns the keys, in order.
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = &str> + ExactSizeIterator {
        self.entries.iter().map(|(key, _)| &**key)
    }

    /// Returns the values, in order.
    pub fn values(&self) -> impl DoubleEndedIterator<Item = &V> + ExactSizeIterator {
        self.entries.iter().map(|(_, value)| value)
    }

    /// Returns the values, in order, to be changed in place.
    pub fn values_mut(&mut self) -> impl DoubleEndedIterator<Item = &mut V> + ExactSizeIterator {
        self.entries.iter_mut().map(|(_, value)| value)
    }

    /// Appends a pair without looking for an earlier one: what arrived is kept as it arrived.
    pub(crate) fn push(&mut self, key: Box<str>, value: V) {
        self.entries.push((key, value));
    }
}

impl<V: Serialize> Map<V> {
    /// Writes the pairs as members of an object that is already open.
    pub(crate) fn write_into<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        self.entries
            .iter()
            .try_for_each(|(key, value)| map.serialize_entry(&**key, value))
    }
}

impl<V> Default for Map<V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: Into<Box<str>>, V> FromIterator<(K, V)> for Map<V> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(pairs: I) -> Self {
        let mut map = Self::new();
        map.extend(pairs);
        map
    }
}

impl<K: Into<Box<str>>, V> Extend<(K, V)> for Map<V> {
    fn extend<I: IntoIterator<Item = (K, V)>>(&mut self, pairs: I) {
        for (key, value) in pairs {
            self.insert(key, value);
        }
    }
}

impl<K: Into<Box<str>>, V, W: Into<V>, const N: usize> From<[(K, W); N]> for Map<V> {
    fn from(pairs: [(K, W); N]) -> Self {
        pairs
            .into_iter()
            .map(|(key, value)| (key, value.into()))
            .collect()
    }
}

impl<V> IntoIterator for Map<V> {
    type Item = (Box<str>, V);
    type IntoIter = std::vec::IntoIter<Self::Item>;

    fn into_iter(self) -> Self::IntoIter {
        self.entries.into_iter()
    }
}

impl<V: Serialize> Serialize for Map<V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.entries.len()))?;
        self.write_into(&mut map)?;
        map.end()
    }
}

impl<'de, V: Deserialize<'de>> Deserialize<'de> for Map<V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct PairVisitor<V>(PhantomData<V>);
        impl<'de, V: Deserialize<'de>> Visitor<'de> for PairVisitor<V> {
            type Value = Map<V>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Map<V>, A::Error> {
                let mut map = Map::new();
                while let Some((key, value)) = access.next_entry()? {
                    map.push(key, value);
                }
                Ok(map)
            }
        }
        deserializer.deserialize_map(PairVisitor(PhantomData))
    }
}
