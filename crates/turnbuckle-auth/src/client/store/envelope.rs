//! The form of a stored value: a header line in JSON, then the value itself.
//!
//! The header carries the key, because names of files and keyring items are only derived from it,
//! and a checksum, so that a damaged value is found.

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use zeroize::Zeroizing;

use super::{MAX_KEY_BYTES, MAX_VALUE_BYTES};
use crate::secret::Secret;

/// The version of the form that this code writes and reads.
const FORMAT: u32 = 1;

/// The longest header line: a key whose every byte is escaped, and the rest.
pub(super) const MAX_HEADER_BYTES: usize = 6 * MAX_KEY_BYTES + 256;

/// The longest envelope.
pub(super) const MAX_ENVELOPE_BYTES: usize = MAX_HEADER_BYTES + MAX_VALUE_BYTES;

/// The number of characters of a key that its name begins with.
const PREFIX_CHARS: usize = 48;

#[derive(Serialize, Deserialize)]
struct Header {
    format: u32,
    key: String,
    bytes: usize,
    sha256: String,
}

/// Returns the bytes to store for a key and its value.
pub(super) fn encode(key: &str, value: &Secret) -> Result<Zeroizing<Vec<u8>>, serde_json::Error> {
    let header = Header {
        format: FORMAT,
        key: key.to_owned(),
        bytes: value.expose().len(),
        sha256: to_hex(&Sha256::digest(value.expose())),
    };
    let mut bytes = serde_json::to_vec(&header)?;
    // In full from the start: growth would leave copies of the secret in freed memory.
    let mut envelope = Zeroizing::new(Vec::with_capacity(bytes.len() + 1 + header.bytes));
    envelope.append(&mut bytes);
    envelope.push(b'\n');
    envelope.extend_from_slice(value.expose().as_bytes());
    Ok(envelope)
}

/// Returns the key in the header of an envelope, of which `bytes` is the beginning or all.
///
/// # Errors
/// Fails with the reason when the header is damaged.
pub(super) fn decode_key(bytes: &[u8]) -> Result<String, String> {
    split(bytes).map(|(header, _)| header.key)
}

/// Returns the value in an envelope.
///
/// # Errors
/// Fails with the reason when the envelope is damaged or belongs to another key.
pub(super) fn decode_value(key: &str, bytes: &[u8]) -> Result<Secret, String> {
    let (header, value) = split(bytes)?;
    if header.key != key {
        return Err("its header names another key".to_owned());
    }
    if header.bytes != value.len() {
        return Err(format!(
            "its header announces {} bytes, and {} bytes follow",
            header.bytes,
            value.len()
        ));
    }
    if header.sha256 != to_hex(&Sha256::digest(value)) {
        return Err("its checksum is wrong".to_owned());
    }
    match std::str::from_utf8(value) {
        Ok(value) => Ok(Secret::new(value)),
        Err(_) => Err("its value is not UTF-8".to_owned()),
    }
}

/// Splits an envelope into its header and the bytes of the value.
fn split(bytes: &[u8]) -> Result<(Header, &[u8]), String> {
    let Some(end) = bytes.iter().position(|byte| *byte == b'\n') else {
        return Err("its header has no end".to_owned());
    };
    let (header, rest) = bytes.split_at(end);
    let value = rest.get(1..).unwrap_or_default();
    match serde_json::from_slice::<Header>(header) {
        Ok(header) if header.format == FORMAT => Ok((header, value)),
        Ok(header) => Err(format!(
            "its format is {}, this program knows format {FORMAT}; a newer version wrote it",
            header.format
        )),
        Err(_) => Err("its header is not the JSON object that this program writes".to_owned()),
    }
}

/// Returns the name under which the value of a key is kept: a readable beginning and a hash.
///
/// The name consists of ASCII letters, digits, `.`, `_` and `-`, begins with a letter or a digit, and
/// has at most 81 characters. It suits file systems that ignore upper and lower case.
pub(super) fn name_of_key(key: &str) -> String {
    let mut name: String = key
        .chars()
        .map(|c| match c {
            'A'..='Z' | 'a'..='z' | '0'..='9' | '.' | '-' => c.to_ascii_lowercase(),
            _ => '_',
        })
        .skip_while(|c| !c.is_ascii_alphanumeric())
        .take(PREFIX_CHARS)
        .collect();
    if name.is_empty() {
        name.push_str("key");
    }
    name.push('-');
    let digest = Sha256::digest(key);
    name.push_str(&to_hex(digest.get(..16).unwrap_or(&digest)));
    name
}

/// Returns bytes in lower-case hexadecimal digits.
fn to_hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing into a text cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_comes_back() {
        for value in ["", "x", "two\nlines\0", "héhé"] {
            let bytes = encode("a \"key\"\n", &Secret::new(value)).unwrap();
            assert_eq!(decode_key(&bytes).unwrap(), "a \"key\"\n");
            let decoded = decode_value("a \"key\"\n", &bytes).unwrap();
            assert_eq!(decoded.expose(), value);
        }
    }

    #[test]
    fn the_longest_key_and_value_fit() {
        let key = "\u{1}".repeat(MAX_KEY_BYTES);
        let value = Secret::new("v".repeat(MAX_VALUE_BYTES));
        let bytes = encode(&key, &value).unwrap();
        assert!(bytes.len() <= MAX_ENVELOPE_BYTES);
        assert!(bytes.iter().position(|byte| *byte == b'\n').unwrap() < MAX_HEADER_BYTES);
    }

    // requirement: 3ed2aec9b98f
    #[test]
    fn damage_of_any_byte_is_found() {
        let bytes = encode("key", &Secret::new("a secret value")).unwrap();
        for index in 0..bytes.len() {
            let mut damaged = bytes.to_vec();
            damaged[index] ^= 1;
            assert!(decode_value("key", &damaged).is_err(), "byte {index}");
            assert!(
                decode_value("key", &bytes[..index]).is_err(),
                "cut at {index}"
            );
        }
    }

    #[test]
    fn names_are_safe_and_differ() {
        let keys = [
            "a",
            "A",
            "../../etc/passwd",
            "",
            "…",
            ".hidden",
            "a/b",
            "a_b",
            "CON",
        ];
        let mut names: Vec<_> = keys.iter().map(|key| name_of_key(key)).collect();
        names.push(name_of_key(&"x".repeat(MAX_KEY_BYTES)));
        for name in &names {
            assert!(name.len() <= 81, "{name}");
            assert!(
                name.starts_with(|c: char| c.is_ascii_alphanumeric()),
                "{name}"
            );
            assert!(!name.contains(['/', '\\', ':']), "{name}");
        }
        names.sort();
        names.dedup();
        assert_eq!(names.len(), keys.len() + 1);
        assert!(name_of_key("https://mcp.example.com").starts_with("https___mcp.example.com-"));
    }
}
