//! The keys as the operator sets them.

use std::ffi::OsString;
use std::fmt;
use std::sync::Arc;

use base64::Engine as _;
use base64::alphabet::{self, Alphabet};
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use zeroize::Zeroizing;

use super::{DerivedKeys, KeyError};

/// The most keys of a ring.
pub const MAX_KEYS: usize = 16;

/// A secret key of 32 bytes. It is wiped from memory when dropped, and `Debug` does not show it.
#[derive(Clone)]
pub struct SecretKey(Zeroizing<[u8; 32]>);

impl SecretKey {
    /// Generates a random key.
    ///
    /// # Errors
    /// If the operating system gives no random bytes.
    pub fn generate() -> Result<Self, KeyError> {
        let mut bytes = Zeroizing::new([0; 32]);
        fill_random(&mut *bytes)?;
        Ok(Self(bytes))
    }

    /// Creates a key from bytes of a cryptographic random source. A password is not a key.
    #[must_use]
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(Zeroizing::new(bytes))
    }

    /// Returns the key as [`KeyRing::parse`] reads it: 43 characters of Base64url. The text is as
    /// secret as the key.
    #[must_use]
    pub fn to_text(&self) -> String {
        URL_SAFE.encode(*self.0)
    }

    /// Parses a key in Base64url or Base64, with padding or without.
    fn parse(text: &str) -> Option<Self> {
        // The decoder wants room for a whole last group of characters.
        let mut buffer = Zeroizing::new([0; 33]);
        let engine = if text.contains(['+', '/']) {
            &STANDARD
        } else {
            &URL_SAFE
        };
        let length = engine.decode_slice(text, &mut *buffer).ok()?;
        let bytes = buffer.first_chunk::<32>()?;
        (length == bytes.len()).then(|| Self::from_bytes(*bytes))
    }

    pub(super) fn bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretKey { .. }")
    }
}

/// The secret keys of a server, from the newest to the oldest: the newest seals, all open. A ring has at
/// least one key and at most [`MAX_KEYS`]. Cloning it copies a pointer.
#[derive(Clone, Debug)]
pub struct KeyRing(Arc<[SecretKey]>);

impl KeyRing {
    /// Generates a ring of one random key, for a server that runs as one process and keeps nothing.
    ///
    /// # Errors
    /// If the operating system gives no random bytes.
    pub fn generate() -> Result<Self, KeyError> {
        Ok(Self([SecretKey::generate()?].into()))
    }

    /// Creates a ring of keys, the newest first.
    ///
    /// # Errors
    /// If there is no key, or more than [`MAX_KEYS`].
    pub fn from_keys(keys: impl IntoIterator<Item = SecretKey>) -> Result<Self, KeyError> {
        Self::collect(keys.into_iter().map(Ok))
    }

    /// Parses keys that are separated with commas, the newest first: each is 32 bytes in Base64url, or
    /// in the Base64 that `openssl rand -base64 32` prints. White space around a key is ignored.
    ///
    /// # Errors
    /// If a key is malformed, or there is no key, or more than [`MAX_KEYS`]. The error does not quote
    /// the text.
    pub fn parse(text: &str) -> Result<Self, KeyError> {
        if text.trim().is_empty() {
            return Err(KeyError::Empty);
        }
        Self::collect(
            (1..).zip(text.split(',')).map(|(number, text)| {
                SecretKey::parse(text.trim()).ok_or(KeyError::Malformed(number))
            }),
        )
    }

    /// Parses the keys in an environment variable, as [`parse`](Self::parse) does.
    ///
    /// # Errors
    /// If the variable is not set, or holds no keys.
    pub fn from_env(variable: &str) -> Result<Self, KeyError> {
        Self::from_variable(variable, std::env::var_os(variable))
    }

    /// Parses the value of an environment variable.
    fn from_variable(variable: &str, value: Option<OsString>) -> Result<Self, KeyError> {
        let value = value.ok_or_else(|| KeyError::NoVariable(variable.to_owned()))?;
        // What is no text is no key either.
        Self::parse(&value.to_string_lossy()).map_err(|error| KeyError::Variable {
            variable: variable.to_owned(),
            error: Box::new(error),
        })
    }

    fn collect(keys: impl Iterator<Item = Result<SecretKey, KeyError>>) -> Result<Self, KeyError> {
        let keys: Vec<_> = keys.take(MAX_KEYS + 1).collect::<Result<_, _>>()?;
        match keys.len() {
            0 => Err(KeyError::Empty),
            1..=MAX_KEYS => Ok(Self(keys.into())),
            _ => Err(KeyError::TooMany),
        }
    }

    /// Returns the key that seals.
    #[must_use]
    pub fn newest(&self) -> &SecretKey {
        &self.0[0]
    }

    /// Returns all keys, from the newest to the oldest.
    #[must_use]
    pub fn keys(&self) -> &[SecretKey] {
        &self.0
    }

    /// Derives the keys of one use. The label names the use: what keys of one label seal, keys of
    /// another do not open. The derivation takes place when the keys are first used.
    #[must_use]
    pub fn derive(&self, label: &'static str) -> DerivedKeys {
        DerivedKeys::new(self.clone(), label)
    }
}

const CONFIG: GeneralPurposeConfig = GeneralPurposeConfig::new()
    .with_encode_padding(false)
    .with_decode_padding_mode(DecodePaddingMode::Indifferent);
static URL_SAFE: GeneralPurpose = engine(&alphabet::URL_SAFE);
static STANDARD: GeneralPurpose = engine(&alphabet::STANDARD);

const fn engine(alphabet: &Alphabet) -> GeneralPurpose {
    GeneralPurpose::new(alphabet, CONFIG)
}

/// Fills a buffer with random bytes of the operating system.
pub(super) fn fill_random(bytes: &mut [u8]) -> Result<(), KeyError> {
    getrandom::fill(bytes).map_err(|_| KeyError::NoRandomness)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(byte: u8) -> String {
        SecretKey::from_bytes([byte; 32]).to_text()
    }

    fn bytes(ring: &KeyRing) -> Vec<u8> {
        ring.keys().iter().map(|key| key.bytes()[0]).collect()
    }

    #[test]
    fn a_list_is_read_newest_first() {
        let ring = KeyRing::parse(&format!(" {} ,\n{}\n", text(1), text(2))).unwrap();
        assert_eq!(bytes(&ring), [1, 2]);
        assert_eq!(ring.newest().to_text(), text(1));
    }

    #[test]
    fn base64_with_padding_is_a_key_too() {
        let standard = "////////////////////////////////////////////";
        assert_eq!(
            KeyRing::parse(standard).unwrap_err(),
            KeyError::Malformed(1)
        );
        let standard = "//////////////////////////////////////////8=";
        assert_eq!(bytes(&KeyRing::parse(standard).unwrap()), [255]);
        assert_eq!(
            bytes(&KeyRing::parse(&format!("{}=", text(7))).unwrap()),
            [7]
        );
    }

    #[test]
    fn a_fault_in_a_list_is_named_without_its_text() {
        let good = text(1);
        let short = &good[1..];
        for (list, expected) in [
            (String::new(), KeyError::Empty),
            (" \n".to_owned(), KeyError::Empty),
            (format!("{good},"), KeyError::Malformed(2)),
            (format!("{good},,{good}"), KeyError::Malformed(2)),
            (short.to_owned(), KeyError::Malformed(1)),
            (format!("{good},{good}A"), KeyError::Malformed(2)),
            (format!("{good}{good}"), KeyError::Malformed(1)),
            (format!("{}~", &good[1..]), KeyError::Malformed(1)),
            ("password".to_owned(), KeyError::Malformed(1)),
            ("A".repeat(1 << 20), KeyError::Malformed(1)),
        ] {
            let error = KeyRing::parse(&list).unwrap_err();
            assert_eq!(error, expected, "{list:.60}");
            assert!(!error.to_string().contains(short));
        }
    }

    #[test]
    fn a_ring_has_at_most_sixteen_keys() {
        let list = |count| vec![text(1); count].join(",");
        assert_eq!(KeyRing::parse(&list(16)).unwrap().keys().len(), 16);
        assert_eq!(KeyRing::parse(&list(17)).unwrap_err(), KeyError::TooMany);
        assert_eq!(
            KeyRing::parse(&list(99_999)).unwrap_err(),
            KeyError::TooMany
        );
        let endless = std::iter::repeat_with(|| SecretKey::from_bytes([1; 32]));
        assert_eq!(KeyRing::from_keys(endless).unwrap_err(), KeyError::TooMany);
        assert_eq!(KeyRing::from_keys([]).unwrap_err(), KeyError::Empty);
    }

    #[test]
    fn a_variable_holds_a_list() {
        let read = |value: &str| KeyRing::from_variable("KEYS", Some(value.into()));
        assert_eq!(bytes(&read(&text(3)).unwrap()), [3]);
        let error = read("password").unwrap_err().to_string();
        assert!(
            error.starts_with("the environment variable KEYS: key 1 of the list is not 32 bytes"),
            "{error}"
        );
        let missing = KeyRing::from_env("TURNBUCKLE_NO_SUCH_KEYS").unwrap_err();
        assert_eq!(
            missing,
            KeyError::NoVariable("TURNBUCKLE_NO_SUCH_KEYS".to_owned())
        );
    }

    #[test]
    fn generated_keys_differ() {
        let (one, other) = (KeyRing::generate().unwrap(), KeyRing::generate().unwrap());
        assert_ne!(one.newest().to_text(), other.newest().to_text());
    }

    #[test]
    fn debug_output_has_no_secret() {
        let ring = KeyRing::from_keys([SecretKey::from_bytes([0xAB; 32])]).unwrap();
        assert_eq!(format!("{ring:?}"), "KeyRing([SecretKey { .. }])");
        let derived = ring.derive("label");
        let _ = derived.keyed_hash(b"text");
        assert_eq!(
            format!("{derived:?}"),
            "DerivedKeys { label: \"label\", .. }"
        );
    }
}
