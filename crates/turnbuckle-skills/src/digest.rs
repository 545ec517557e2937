//! Digests of files.

use std::fmt;
use std::str::FromStr;

use serde::de::{self, Deserialize, Deserializer};
use serde::{Serialize, Serializer};
use sha2::{Digest as _, Sha256};

use crate::error::InvalidSkill;

const PREFIX: &str = "sha256:";
const HEX: &[u8; 16] = b"0123456789abcdef";

/// The SHA-256 digest of a file's bytes, written as `sha256:` and 64 lowercase hexadecimal digits.
///
/// Specification: Skills (stable), "Integrity and Verification".
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

impl Digest {
    /// Computes the digest of bytes.
    #[must_use]
    pub fn compute(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// Returns the 32 bytes of the digest.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::with_capacity(PREFIX.len() + 64);
        text.push_str(PREFIX);
        for byte in self.0 {
            for nibble in [byte >> 4, byte & 15] {
                text.push(
                    HEX.get(usize::from(nibble))
                        .map_or('0', |digit| char::from(*digit)),
                );
            }
        }
        f.write_str(&text)
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Digest {
    type Err = InvalidSkill;

    fn from_str(text: &str) -> Result<Self, InvalidSkill> {
        let fail =
            || InvalidSkill::new("a digest is not `sha256:` and 64 lowercase hexadecimal digits");
        let hex = text.strip_prefix(PREFIX).ok_or_else(fail)?;
        let (pairs, rest) = hex.as_bytes().as_chunks::<2>();
        let mut digest = [0; 32];
        if pairs.len() != digest.len() || !rest.is_empty() {
            return Err(fail());
        }
        for (byte, pair) in digest.iter_mut().zip(pairs) {
            for digit in pair {
                let value = match digit {
                    b'0'..=b'9' => digit - b'0',
                    b'a'..=b'f' => digit - b'a' + 10,
                    _ => return Err(fail()),
                };
                *byte = (*byte << 4) | value;
            }
        }
        Ok(Self(digest))
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EMPTY: &str = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

    #[test]
    fn a_digest_is_written_in_lowercase_hexadecimal() {
        assert_eq!(Digest::compute(b"").to_string(), EMPTY);
        assert_eq!(EMPTY.parse(), Ok(Digest::compute(b"")));
        assert_eq!(
            serde_json::to_string(&Digest::compute(b"")).unwrap(),
            format!("{EMPTY:?}")
        );
    }

    #[test]
    fn another_spelling_of_a_digest_is_refused() {
        let long = format!("{EMPTY}00");
        for text in [
            "",
            "sha256:",
            &EMPTY[..EMPTY.len() - 1],
            &long,
            &EMPTY.to_uppercase(),
            &EMPTY.replace("e3b0", "E3B0"),
            &EMPTY.replace("e3b0", "+3b0"),
            &EMPTY.replace("sha256", "sha512"),
            EMPTY.trim_start_matches("sha256:"),
        ] {
            assert!(text.parse::<Digest>().is_err(), "{text}");
        }
    }
}
