//! The secret keys of a server, and the keys that each use derives from them.

use std::sync::{Arc, OnceLock};
use std::{env, fmt};

use base64::Engine as _;
use base64::alphabet::{STANDARD, URL_SAFE};
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use chacha20poly1305::aead::{Aead as _, AeadInPlace as _, KeyInit as _, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use zeroize::Zeroizing;

use crate::base::debug_fields;
use crate::base::random::{self, RandomnessUnavailable};

/// The most keys of a ring.
const MAX_KEYS: usize = 16;

const KEY_BYTES: usize = 32;
const NONCE_BYTES: usize = 24;
const TAG_BYTES: usize = 16;
const ID_BYTES: usize = 4;
const VERSION: u8 = 1;
const HEAD_BYTES: usize = 1 + ID_BYTES + NONCE_BYTES;

type KeyBytes = Zeroizing<[u8; KEY_BYTES]>;

/// A secret key of 32 bytes, which is wiped from memory when it is dropped.
///
/// It never encrypts anything itself: each use derives a key of its own from it
/// ([`KeyRing::derive`]).
#[derive(Clone)]
pub struct SecretKey(KeyBytes);

impl SecretKey {
    /// Creates a random key, for a server that runs as one process.
    ///
    /// # Errors
    /// If the operating system gives no random bytes.
    pub fn generate() -> Result<Self, RandomnessUnavailable> {
        let mut bytes = Zeroizing::new([0; KEY_BYTES]);
        random::fill(&mut *bytes)?;
        Ok(Self(bytes))
    }

    /// Creates a key from the operator's configuration, to be the same on every instance of a
    /// server.
    ///
    /// The bytes must come from a cryptographic random source; a password is not a key.
    #[must_use]
    pub fn from_bytes(bytes: [u8; KEY_BYTES]) -> Self {
        Self(Zeroizing::new(bytes))
    }

    /// Parses a key: 32 bytes in Base64, of either alphabet, with or without padding.
    ///
    /// # Errors
    /// If the text is no such key. The error does not show the text.
    pub fn parse(text: &str) -> Result<Self, KeyError> {
        let config =
            GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
        let alphabet = match text.contains(['+', '/']) {
            true => &STANDARD,
            false => &URL_SAFE,
        };
        // One byte more than a key has, to tell a longer text.
        let mut bytes = Zeroizing::new([0; KEY_BYTES + 1]);
        let length = GeneralPurpose::new(alphabet, config).decode_slice(text.trim(), &mut *bytes);
        let mut key = Zeroizing::new([0; KEY_BYTES]);
        match length {
            Ok(KEY_BYTES) => key.copy_from_slice(&bytes[..KEY_BYTES]),
            _ => return Err(KeyError(KeyFault::Malformed)),
        }
        Ok(Self(key))
    }

    /// Returns the secret itself as text, in URL-safe Base64 without padding: 43 characters.
    #[must_use]
    pub fn to_text(&self) -> String {
        URL_SAFE_NO_PAD.encode(*self.0)
    }
}

debug_fields!(SecretKey {});

/// The reason that a text is no key or ring of keys.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(transparent)]
pub struct KeyError(#[from] KeyFault);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
enum KeyFault {
    #[error(
        "a key is 32 random bytes in Base64 (43 characters): make one with `turnbuckle keys generate`"
    )]
    Malformed,
    #[error("key {position} of the list is wrong: {fault}")]
    At {
        position: usize,
        fault: Box<KeyFault>,
    },
    #[error("key {0} of the list is the same as one before it")]
    Twice(usize),
    #[error("there are more than {MAX_KEYS} keys: remove those whose states have expired")]
    TooMany,
    #[error("the environment variable {0} is not set: it holds the keys, the newest first")]
    NotSet(String),
    #[error("the environment variable {variable}: {fault}")]
    Variable {
        variable: String,
        fault: Box<KeyFault>,
    },
}

/// The keys of a server, the newest first: the first one seals, all of them open.
///
/// Everything that a server hands out and trusts when it comes back stands under keys that are
/// derived from this ring: the `requestState` of questions, the cursors of lists, the nonces of DPoP
/// and what is kept in a store. Give all instances of a server the same ring.
///
/// To replace a key without refusing what clients hold, add the new one as the last of the list on
/// every instance, so that all can open what it seals; then make it the first; and remove the old
/// one when what it sealed has expired.
///
/// ```
/// use turnbuckle_types::{KeyRing, SecretKey};
///
/// let old = SecretKey::generate()?;
/// let new = SecretKey::generate()?;
/// let ring = KeyRing::new(new).with_previous(old);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct KeyRing {
    keys: Arc<Vec<SecretKey>>,
}

impl KeyRing {
    /// Creates a ring with one key.
    #[must_use]
    pub fn new(key: SecretKey) -> Self {
        Self {
            keys: Arc::new(vec![key]),
        }
    }

    /// Creates a ring with one random key, for a server that runs as one process.
    ///
    /// # Errors
    /// If the operating system gives no random bytes.
    pub fn generate() -> Result<Self, RandomnessUnavailable> {
        SecretKey::generate().map(Self::new)
    }

    /// Adds a key that only opens.
    #[must_use]
    pub fn with_previous(mut self, key: SecretKey) -> Self {
        Arc::make_mut(&mut self.keys).push(key);
        self
    }

    /// Parses keys that are separated by commas, the newest first; see [`SecretKey::parse`].
    ///
    /// # Errors
    /// If there is no key, one is malformed or stands twice, or there are more than 16. The error
    /// does not show the text.
    pub fn parse(text: &str) -> Result<Self, KeyError> {
        Ok(Self::parse_list(text)?)
    }

    fn parse_list(text: &str) -> Result<Self, KeyFault> {
        let mut keys: Vec<SecretKey> = Vec::new();
        for (text, position) in text.split(',').zip(1..) {
            if position > MAX_KEYS {
                return Err(KeyFault::TooMany);
            }
            let key = SecretKey::parse(text).map_err(|KeyError(fault)| KeyFault::At {
                position,
                fault: Box::new(fault),
            })?;
            if keys.iter().any(|known| *known.0 == *key.0) {
                return Err(KeyFault::Twice(position));
            }
            keys.push(key);
        }
        Ok(Self {
            keys: Arc::new(keys),
        })
    }

    /// Parses the keys that an environment variable holds, such as `TURNBUCKLE_KEYS`.
    ///
    /// # Errors
    /// If the variable is not set, and those of [`parse`](Self::parse).
    pub fn from_env(variable: &str) -> Result<Self, KeyError> {
        let fault = match env::var(variable).map(Zeroizing::new) {
            Ok(text) => match Self::parse_list(&text) {
                Ok(ring) => return Ok(ring),
                Err(fault) => fault,
            },
            Err(env::VarError::NotPresent) => {
                return Err(KeyError(KeyFault::NotSet(variable.to_owned())));
            }
            Err(env::VarError::NotUnicode(_)) => KeyFault::Malformed,
        };
        Err(KeyError(KeyFault::Variable {
            variable: variable.to_owned(),
            fault: Box::new(fault),
        }))
    }

    /// Returns the keys for one use, which is named by its label. They are computed when they are
    /// used first.
    #[must_use]
    pub fn derive(&self, label: KeyLabel) -> DerivedKeys {
        DerivedKeys {
            ring: self.clone(),
            label,
            keys: Arc::default(),
        }
    }
}

/// The name of a use of keys. Uses with different labels have keys that tell nothing about each
/// other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyLabel(&'static str);

impl KeyLabel {
    /// Creates a label of at most 24 bytes.
    ///
    /// # Panics
    /// If the label is empty, longer, or has a byte that is not printable ASCII; a constant with
    /// such a label does not compile.
    #[must_use]
    pub const fn new(label: &'static str) -> Self {
        assert!(
            !label.is_empty() && label.len() <= NONCE_BYTES,
            "a label has 1 to 24 bytes"
        );
        let mut at = 0;
        while at < label.len() {
            assert!(
                label.as_bytes()[at].is_ascii_graphic() || label.as_bytes()[at] == b' ',
                "a label is printable ASCII"
            );
            at += 1;
        }
        Self(label)
    }

    /// Returns the label as a nonce. Labels have no zero byte, so that no two are the same nonce.
    fn nonce(self) -> XNonce {
        let mut nonce = XNonce::default();
        nonce[..self.0.len()].copy_from_slice(self.0.as_bytes());
        nonce
    }
}

impl fmt::Display for KeyLabel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// One derived key and its id, by which a sealed value names it.
#[derive(Clone)]
struct DerivedKey {
    secret: KeyBytes,
    id: [u8; ID_BYTES],
}

impl DerivedKey {
    fn cipher(&self) -> XChaCha20Poly1305 {
        XChaCha20Poly1305::new((&*self.secret).into())
    }
}

/// Returns the part of the key stream that begins with the second block of XChaCha20, which is a
/// pseudorandom function of the label. The key encrypts nothing else.
fn key_stream(key: &[u8; KEY_BYTES], label: KeyLabel) -> KeyBytes {
    let mut derived = Zeroizing::new([0; KEY_BYTES]);
    // The cipher fails for texts of 256 GiB alone; the key stream is in the buffer.
    let _tag = XChaCha20Poly1305::new(key.into()).encrypt_in_place_detached(
        &label.nonce(),
        &[],
        &mut *derived,
    );
    derived
}

/// The keys of a [`KeyRing`] for one use: they seal values and open them again.
///
/// A sealed value is encrypted and authenticated (XChaCha20-Poly1305 with a random nonce) and has 45
/// bytes more than the plain one.
#[derive(Clone)]
pub struct DerivedKeys {
    ring: KeyRing,
    label: KeyLabel,
    /// Computed at first use: most servers never seal anything, and setting the cipher up queries
    /// the features of the processor, which takes 50 µs in some virtual machines, too long for a
    /// start.
    keys: Arc<OnceLock<Vec<DerivedKey>>>,
}

impl DerivedKeys {
    /// The bytes that sealing adds.
    pub const OVERHEAD: usize = HEAD_BYTES + TAG_BYTES;

    fn keys(&self) -> &[DerivedKey] {
        const ID: KeyLabel = KeyLabel::new("key id");
        self.keys.get_or_init(|| {
            let derive = |key: &SecretKey| {
                let secret = key_stream(&key.0, self.label);
                // A derived key seals with random nonces, and this nonce is no random one.
                let mut id = [0; ID_BYTES];
                id.copy_from_slice(&key_stream(&secret, ID)[..ID_BYTES]);
                DerivedKey { secret, id }
            };
            self.ring.keys.iter().map(derive).collect()
        })
    }

    /// Returns the secrets of the derived keys, the newest first, for a use that seals nothing.
    pub fn secrets(&self) -> impl ExactSizeIterator<Item = &[u8; KEY_BYTES]> {
        self.keys().iter().map(|key| &*key.secret)
    }

    /// Seals a value with the newest key. It opens only with the same context: the name of the
    /// place or request that the value belongs to.
    ///
    /// # Errors
    /// If the operating system gives no random bytes.
    pub fn seal(&self, context: &[u8], plain: &[u8]) -> Result<Vec<u8>, RandomnessUnavailable> {
        let key = &self.keys()[0];
        let mut sealed = Vec::with_capacity(Self::OVERHEAD + plain.len());
        sealed.push(VERSION);
        sealed.extend_from_slice(&key.id);
        sealed.extend_from_slice(&random::bytes::<NONCE_BYTES>()?);
        sealed.extend_from_slice(plain);
        let (head, text) = sealed.split_at_mut(HEAD_BYTES);
        let nonce = XNonce::from_slice(&head[1 + ID_BYTES..]);
        let tag = key
            .cipher()
            .encrypt_in_place_detached(nonce, context, text)
            // The cipher fails for texts of 256 GiB alone; a tag of zeros opens nothing.
            .unwrap_or_default();
        sealed.extend_from_slice(&tag);
        Ok(sealed)
    }

    /// Returns whether one of the keys sealed a value, as far as the value says; it may have been
    /// changed since then.
    #[must_use]
    pub fn has_key_of(&self, sealed: &[u8]) -> bool {
        let id = sealed.get(1..1 + ID_BYTES);
        sealed.first() == Some(&VERSION) && self.keys().iter().any(|key| Some(&key.id[..]) == id)
    }

    /// Opens a value that [`seal`](Self::seal) sealed with one of the keys and the same context.
    /// Returns `None` for everything else.
    #[must_use]
    pub fn open(&self, context: &[u8], sealed: &[u8]) -> Option<Vec<u8>> {
        let (head, text) = sealed.split_first_chunk::<HEAD_BYTES>()?;
        let (id, nonce) = head[1..].split_at(ID_BYTES);
        if head[0] != VERSION {
            return None;
        }
        let payload = || Payload {
            msg: text,
            aad: context,
        };
        self.keys()
            .iter()
            .filter(|key| key.id == id)
            .find_map(|key| {
                let nonce = XNonce::from_slice(nonce);
                key.cipher().decrypt(nonce, payload()).ok()
            })
    }
}

debug_fields!(DerivedKeys { label });

#[cfg(test)]
mod tests;
