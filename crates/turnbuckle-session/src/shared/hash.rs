//! A quick hash for tables in which a peer cannot do harm by choosing its keys to collide: those
//! whose keys are our own, and small ones that are the peer's alone.

use std::hash::{BuildHasherDefault, Hasher};

/// Builds hashers for such tables.
pub type QuickHash = BuildHasherDefault<QuickHasher>;

/// Takes eight bytes at a time, each mixed into all that came before.
#[derive(Debug, Default)]
pub struct QuickHasher(u64);

/// An odd number without pattern: the golden ratio's fraction.
const MIX: u64 = 0x9e37_79b9_7f4a_7c15;

impl Hasher for QuickHasher {
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            self.write_u64(u64::from_le_bytes(*word));
        }
        let mut last = [0; 8];
        for (place, byte) in last.iter_mut().zip(rest) {
            *place = *byte;
        }
        self.write_u64(u64::from_le_bytes(last) ^ (bytes.len() as u64) << 56);
    }

    fn write_u64(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(26) ^ word).wrapping_mul(MIX);
    }

    fn write_i64(&mut self, word: i64) {
        self.write_u64(word.cast_unsigned());
    }

    fn write_isize(&mut self, variant: isize) {
        self.write_u64(variant as u64);
    }

    fn write_u8(&mut self, _: u8) {
        // What ends a text: its length tells that already.
    }

    fn finish(&self) -> u64 {
        // The table looks at both ends of the word.
        self.0 ^ (self.0 >> 32)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::hash::BuildHasher;

    use super::*;

    fn hash(name: &str) -> u64 {
        QuickHash::default().hash_one(name)
    }

    #[test]
    fn names_that_are_alike_have_hashes_that_are_not() {
        let names = (0..10_000).map(|at| format!("tool_{at}"));
        let hashes: Vec<u64> = names.map(|name| hash(&name)).collect();
        // A table takes a place from the low bits, and tells apart in it by the high ones.
        let low: HashSet<_> = hashes.iter().map(|hash| hash & 0x3fff).collect();
        let high: HashSet<_> = hashes.iter().map(|hash| hash >> 57).collect();
        assert!(low.len() > 6_000, "{}", low.len());
        assert_eq!(high.len(), 128);
    }

    #[test]
    fn every_byte_and_the_length_count() {
        let names = [
            "",
            "a",
            "b",
            "ab",
            "ba",
            "a\0",
            "abcdefgh",
            "abcdefgh\0",
            "abcdefghi",
        ];
        let hashes: HashSet<_> = names.into_iter().map(hash).collect();
        assert_eq!(hashes.len(), names.len());
    }
}
