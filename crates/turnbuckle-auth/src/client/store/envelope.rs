//! The form of a stored value: a header line in JSON, then the value itself.
//!
//! The header carries the key, because names of files are only derived from it, and a checksum, so
//! that a damaged value is found. In an encrypted store the value is sealed: the header carries the
//! nonce and the tag of XChaCha20-Poly1305, and the key is authenticated with the value.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chacha20poly1305::aead::{AeadInPlace as _, KeyInit as _};
use chacha20poly1305::{Tag, XChaCha20Poly1305, XNonce};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use turnbuckle_types::base::random;
use zeroize::Zeroizing;

use super::{MAX_KEY_BYTES, MAX_VALUE_BYTES};
use crate::secret::Secret;

/// The version of the form that this code writes and reads.
const FORMAT: u32 = 1;

/// The longest header line: a key whose every byte is escaped, and the rest.
pub(super) const MAX_HEADER_BYTES: usize = 6 * MAX_KEY_BYTES + 256;

/// The longest envelope.
pub(super) const MAX_ENVELOPE_BYTES: usize = MAX_HEADER_BYTES + MAX_VALUE_BYTES;

/// The length of the key of an encrypted store, in bytes.
pub(super) const KEY_BYTES: usize = 32;

/// The length of the nonce of a sealed value, in bytes.
const NONCE_BYTES: usize = 24;

/// The number of characters of a key that its name begins with.
const PREFIX_CHARS: usize = 48;

#[derive(Serialize, Deserialize)]
struct Header {
    format: u32,
    key: String,
    bytes: usize,
    sha256: String,
    /// The nonce and the tag of a sealed value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    seal: Option<String>,
}

/// The cipher of an encrypted store. Its key is overwritten when it is dropped.
#[derive(Clone)]
pub(super) struct Cipher(XChaCha20Poly1305);

impl Cipher {
    pub(super) fn new(key: &[u8; KEY_BYTES]) -> Self {
        Self(XChaCha20Poly1305::new(key.into()))
    }

    /// Encrypts the value of a key. Returns the nonce and the tag.
    fn seal(&self, key: &str, value: &mut [u8]) -> Result<String, String> {
        let nonce = random::bytes::<NONCE_BYTES>().map_err(|error| error.to_string())?;
        let sealed = self
            .0
            .encrypt_in_place_detached(&nonce.into(), key.as_bytes(), value);
        let tag = sealed.map_err(|_| "the value cannot be encrypted".to_owned())?;
        Ok(URL_SAFE_NO_PAD.encode([&nonce, tag.as_slice()].concat()))
    }

    /// Decrypts the value of a key.
    fn open(&self, key: &str, seal: &str, value: &mut [u8]) -> Result<(), String> {
        let seal = URL_SAFE_NO_PAD.decode(seal).unwrap_or_default();
        let (nonce, tag) = seal.split_at(NONCE_BYTES.min(seal.len()));
        if nonce.len() != NONCE_BYTES || tag.len() != Tag::default().len() {
            return Err("its header has no valid seal".to_owned());
        }
        let (nonce, tag) = (XNonce::from_slice(nonce), Tag::from_slice(tag));
        self.0
            .decrypt_in_place_detached(nonce, key.as_bytes(), value, tag)
            .map_err(|_| "it was encrypted with another key".to_owned())
    }
}

impl std::fmt::Debug for Cipher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Cipher(…)")
    }
}

/// Returns the bytes to store for a key and its value, which are sealed if there is a cipher.
///
/// # Errors
/// Fails with the reason when the operating system has no randomness.
pub(super) fn encode(
    key: &str,
    value: &Secret,
    cipher: Option<&Cipher>,
) -> Result<Zeroizing<Vec<u8>>, String> {
    let mut value = Zeroizing::new(value.expose().as_bytes().to_vec());
    let seal = cipher.map(|cipher| cipher.seal(key, &mut value));
    let header = Header {
        format: FORMAT,
        key: key.to_owned(),
        bytes: value.len(),
        sha256: to_hex(&Sha256::digest(&value)),
        seal: seal.transpose()?,
    };
    let mut bytes = serde_json::to_vec(&header).map_err(|error| error.to_string())?;
    // In full from the start: growth would leave copies of the secret in freed memory.
    let mut envelope = Zeroizing::new(Vec::with_capacity(bytes.len() + 1 + value.len()));
    envelope.append(&mut bytes);
    envelope.push(b'\n');
    envelope.extend_from_slice(&value);
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
/// Fails with the reason when the envelope is damaged, belongs to another key, or is not sealed with
/// this cipher.
pub(super) fn decode_value(
    key: &str,
    bytes: &[u8],
    cipher: Option<&Cipher>,
) -> Result<Secret, String> {
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
    let mut value = Zeroizing::new(value.to_vec());
    match (&header.seal, cipher) {
        (None, None) => {}
        (Some(seal), Some(cipher)) => cipher.open(key, seal, &mut value)?,
        (Some(_), None) => return Err("it is encrypted, and the store has no key".to_owned()),
        (None, Some(_)) => return Err("it is not encrypted, and the store is".to_owned()),
    }
    match std::str::from_utf8(&value) {
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

    fn each_cipher() -> [Option<Cipher>; 2] {
        [None, Some(Cipher::new(&[7; KEY_BYTES]))]
    }

    #[test]
    fn a_value_comes_back() {
        let key = "a \"key\"\n";
        for cipher in each_cipher() {
            for value in ["", "x", "two\nlines\0", "héhé"] {
                let bytes = encode(key, &Secret::new(value), cipher.as_ref()).unwrap();
                assert_eq!(decode_key(&bytes).unwrap(), key);
                let decoded = decode_value(key, &bytes, cipher.as_ref()).unwrap();
                assert_eq!(decoded.expose(), value);
            }
        }
    }

    #[test]
    fn a_sealed_value_is_hidden_from_others() {
        let [_, cipher] = each_cipher();
        let other = Cipher::new(&[8; KEY_BYTES]);
        let value = Secret::new("a secret value");
        let sealed = encode("key", &value, cipher.as_ref()).unwrap();
        assert!(!sealed.windows(6).any(|bytes| bytes == b"secret"));
        for other in [None, Some(&other)] {
            assert!(decode_value("key", &sealed, other).is_err());
        }
        let plain = encode("key", &value, None).unwrap();
        assert!(decode_value("key", &plain, cipher.as_ref()).is_err());
        let again = encode("key", &value, cipher.as_ref()).unwrap();
        assert_ne!(sealed, again, "each nonce is used once");
    }

    #[test]
    fn the_longest_key_and_value_fit() {
        let key = "\u{1}".repeat(MAX_KEY_BYTES);
        let value = Secret::new("v".repeat(MAX_VALUE_BYTES));
        for cipher in each_cipher() {
            let bytes = encode(&key, &value, cipher.as_ref()).unwrap();
            assert!(bytes.len() <= MAX_ENVELOPE_BYTES);
            assert!(bytes.iter().position(|byte| *byte == b'\n').unwrap() < MAX_HEADER_BYTES);
        }
    }

    // requirement: 3ed2aec9b98f
    #[test]
    fn damage_of_any_byte_is_found() {
        for cipher in each_cipher() {
            let bytes = encode("key", &Secret::new("a secret value"), cipher.as_ref()).unwrap();
            let is_damaged = |bytes: &[u8]| decode_value("key", bytes, cipher.as_ref()).is_err();
            for index in 0..bytes.len() {
                let mut damaged = bytes.to_vec();
                damaged[index] ^= 1;
                assert!(is_damaged(&damaged), "byte {index}");
                assert!(is_damaged(&bytes[..index]), "cut at {index}");
            }
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
