//! The keys of one use, derived from a ring.
//!
//! Derivation takes a pseudorandom function (PRF) made of the one cipher that the workspace has. The
//! Poly1305 tag of the text, with an all-zero nonce, is a universal hash of it under a secret key; the
//! XChaCha20 key stream for the nonce `tag || purpose` is the output. A PRF of a universal hash is a
//! PRF, as long as no tag leaves the process, and none does.

use std::fmt;
use std::sync::{Arc, OnceLock};

use chacha20poly1305::aead::{Aead, AeadInPlace, KeyInit, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use zeroize::Zeroizing;

use super::ring::fill_random;
use super::{KeyError, KeyRing};

const VERSION: u8 = 1;
const KEY_ID_BYTES: usize = 4;
const NONCE_BYTES: usize = 24;
const TAG_BYTES: usize = 16;
const HEAD_BYTES: usize = 1 + KEY_ID_BYTES + NONCE_BYTES;

/// The use of an output of the PRF: outputs for one use tell nothing about those for another.
#[derive(Clone, Copy)]
enum Purpose {
    /// The secret of a label.
    Secret = 1,
    /// The id of a key, which is public.
    KeyId = 2,
    /// A keyed hash, which may be public.
    Hash = 3,
}

/// The keys of one use, derived from each key of a [`KeyRing`]. Cloning them copies a pointer.
#[derive(Clone)]
pub struct DerivedKeys(Arc<Derivation>);

struct Derivation {
    ring: KeyRing,
    label: &'static str,
    /// Computed at first use: most servers never seal anything, and setting the cipher up queries the
    /// features of the processor, which takes 50 µs in some virtual machines.
    keys: OnceLock<Box<[DerivedKey]>>,
}

/// A key of one use. The ciphers wipe their keys when dropped.
struct DerivedKey {
    id: [u8; KEY_ID_BYTES],
    sealing: XChaCha20Poly1305,
    hashing: XChaCha20Poly1305,
}

/// The reason that sealed bytes do not open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// The bytes do not have the form of sealed bytes.
    #[error("the bytes are not sealed")]
    Malformed,
    /// The ring has no key with the id that the bytes name.
    #[error("the bytes were sealed with a key that is not in the key ring")]
    UnknownKey,
    /// The bytes were changed, or sealed for another use or with other associated data.
    #[error("the sealed bytes were changed, or belong elsewhere")]
    Forged,
}

impl DerivedKeys {
    /// The bytes that sealing adds to a text.
    pub const OVERHEAD_BYTES: usize = HEAD_BYTES + TAG_BYTES;

    pub(super) fn new(ring: KeyRing, label: &'static str) -> Self {
        Self(Arc::new(Derivation {
            ring,
            label,
            keys: OnceLock::new(),
        }))
    }

    /// Encrypts and authenticates `plaintext` with the newest key, bound to the associated data `aad`.
    ///
    /// # Errors
    /// If the operating system gives no random bytes.
    pub fn seal(&self, aad: &[u8], plaintext: &[u8]) -> Result<Vec<u8>, KeyError> {
        let key = self.newest();
        let mut head = [VERSION; HEAD_BYTES];
        head[1..1 + KEY_ID_BYTES].copy_from_slice(&key.id);
        fill_random(&mut head[1 + KEY_ID_BYTES..])?;
        let nonce = *XNonce::from_slice(&head[1 + KEY_ID_BYTES..]);

        let mut sealed = Vec::with_capacity(plaintext.len() + Self::OVERHEAD_BYTES);
        sealed.extend_from_slice(&head);
        sealed.extend_from_slice(plaintext);
        let tag = key
            .sealing
            .encrypt_in_place_detached(&nonce, &bind(&head, aad), &mut sealed[HEAD_BYTES..])
            // Only for a text of more than 256 GiB.
            .map_err(|_| KeyError::NoRandomness)?;
        sealed.extend_from_slice(&tag);
        Ok(sealed)
    }

    /// Opens what [`seal`](Self::seal) sealed with any key of the ring for the same label and
    /// associated data. The bytes name their key: only that key is tried.
    ///
    /// # Errors
    /// If the bytes are malformed, of a key that the ring does not have, or forged.
    pub fn open(&self, aad: &[u8], sealed: &[u8]) -> Result<Vec<u8>, OpenError> {
        let (head, text) = sealed
            .split_first_chunk::<HEAD_BYTES>()
            .ok_or(OpenError::Malformed)?;
        if head[0] != VERSION || text.len() < TAG_BYTES {
            return Err(OpenError::Malformed);
        }
        let (id, nonce) = head[1..].split_at(KEY_ID_BYTES);
        let aad = bind(head, aad);
        let mut error = OpenError::UnknownKey;
        for key in self.keys().iter().filter(|key| key.id == id) {
            let payload = Payload {
                msg: text,
                aad: &aad,
            };
            match key.sealing.decrypt(XNonce::from_slice(nonce), payload) {
                Ok(plaintext) => return Ok(plaintext),
                Err(_) => error = OpenError::Forged,
            }
        }
        Err(error)
    }

    /// Returns a hash of `text` that nobody computes without the newest key: a pseudonym, or a secret of
    /// the text.
    #[must_use]
    pub fn keyed_hash(&self, text: &[u8]) -> [u8; 32] {
        self.newest().hash(text)
    }

    /// Returns the [keyed hash](Self::keyed_hash) of `text` with each key of the ring, from the newest to
    /// the oldest.
    pub fn keyed_hashes(&self, text: &[u8]) -> impl Iterator<Item = [u8; 32]> {
        self.keys().iter().map(|key| key.hash(text))
    }

    fn newest(&self) -> &DerivedKey {
        &self.keys()[0]
    }

    fn keys(&self) -> &[DerivedKey] {
        let Derivation { ring, label, keys } = &*self.0;
        keys.get_or_init(|| {
            let derive = |secret: &[u8; 32]| DerivedKey::new(secret, label);
            ring.keys().iter().map(|key| derive(key.bytes())).collect()
        })
    }
}

impl DerivedKey {
    fn new(secret: &[u8; 32], label: &str) -> Self {
        let secret = prf(&cipher(secret), Purpose::Secret, label.as_bytes());
        let root = cipher(&secret);
        let mut id = [0; KEY_ID_BYTES];
        id.copy_from_slice(&prf(&root, Purpose::KeyId, b"")[..KEY_ID_BYTES]);
        // Sealing and hashing have keys of their own.
        Self {
            id,
            sealing: cipher(&prf(&root, Purpose::Secret, b"seal")),
            hashing: cipher(&prf(&root, Purpose::Secret, b"hash")),
        }
    }

    fn hash(&self, text: &[u8]) -> [u8; 32] {
        *prf(&self.hashing, Purpose::Hash, text)
    }
}

impl fmt::Debug for DerivedKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DerivedKeys")
            .field("label", &self.0.label)
            .finish_non_exhaustive()
    }
}

fn cipher(secret: &[u8; 32]) -> XChaCha20Poly1305 {
    XChaCha20Poly1305::new(secret.into())
}

/// Returns the associated data with the head before it, whose length is fixed.
fn bind(head: &[u8; HEAD_BYTES], aad: &[u8]) -> Vec<u8> {
    [head.as_slice(), aad].concat()
}

/// Returns the output of the pseudorandom function for a purpose and a text.
fn prf(cipher: &XChaCha20Poly1305, purpose: Purpose, text: &[u8]) -> Zeroizing<[u8; 32]> {
    let mut output = Zeroizing::new([0; 32]);
    let mut nonce = XNonce::default();
    // Encrypting fails only for a buffer of more than 256 GiB.
    if let Ok(tag) = cipher.encrypt_in_place_detached(&nonce, text, &mut []) {
        nonce[..TAG_BYTES].copy_from_slice(&tag);
        nonce[NONCE_BYTES - 1] = purpose as u8;
        let _ = cipher.encrypt_in_place_detached(&nonce, b"", &mut *output);
    }
    output
}

#[cfg(test)]
mod tests {
    use crate::keys::SecretKey;

    use super::*;

    fn ring(bytes: &[u8]) -> KeyRing {
        let key = |byte: &u8| SecretKey::from_bytes([*byte; 32]);
        KeyRing::from_keys(bytes.iter().map(key)).unwrap()
    }

    fn keys(bytes: &[u8]) -> DerivedKeys {
        ring(bytes).derive("test")
    }

    #[test]
    fn sealed_bytes_open_to_the_same_bytes() {
        for text in [b"".as_slice(), b"seat=4A", &[0xff; 100_000]] {
            let sealed = keys(&[1]).seal(b"aad", text).unwrap();
            assert_eq!(sealed.len(), text.len() + DerivedKeys::OVERHEAD_BYTES);
            assert_eq!(keys(&[1]).open(b"aad", &sealed).unwrap(), text);
        }
    }

    #[test]
    fn the_same_text_never_looks_the_same_and_is_not_readable() {
        let seal = || keys(&[1]).seal(b"", b"seat=4A").unwrap();
        let (one, other) = (seal(), seal());
        assert_ne!(one, other);
        assert!(!one.windows(4).any(|window| window == b"seat"));
    }

    #[test]
    fn every_changed_bit_is_refused() {
        let keys = keys(&[1]);
        let sealed = keys.seal(b"aad", b"payload").unwrap();
        for bit in 0..sealed.len() * 8 {
            let mut changed = sealed.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            let expected = match bit / 8 {
                0 => OpenError::Malformed,
                1..=4 => OpenError::UnknownKey,
                _ => OpenError::Forged,
            };
            assert_eq!(keys.open(b"aad", &changed), Err(expected), "bit {bit}");
        }
        for length in 0..sealed.len() {
            assert!(keys.open(b"aad", &sealed[..length]).is_err(), "{length}");
        }
        assert!(keys.open(b"aad", &[&sealed[..], b"x"].concat()).is_err());
    }

    #[test]
    fn sealed_bytes_open_only_with_their_label_and_associated_data() {
        let sealed = keys(&[1]).seal(b"aad", b"payload").unwrap();
        let opened = ring(&[1]).derive("tesu").open(b"aad", &sealed);
        assert_eq!(opened, Err(OpenError::UnknownKey));
        for aad in [b"".as_slice(), b"aae", b"aad\0", b"\0aad"] {
            assert_eq!(keys(&[1]).open(aad, &sealed), Err(OpenError::Forged));
        }
    }

    #[test]
    fn an_older_key_opens_and_does_not_seal() {
        let old = keys(&[1]).seal(b"", b"old").unwrap();
        let rotated = keys(&[2, 1]);
        assert_eq!(rotated.open(b"", &old).unwrap(), b"old");
        let new = rotated.seal(b"", b"new").unwrap();
        assert_eq!(keys(&[2]).open(b"", &new).unwrap(), b"new");
        assert_eq!(keys(&[1]).open(b"", &new), Err(OpenError::UnknownKey));
        assert_eq!(keys(&[2]).open(b"", &old), Err(OpenError::UnknownKey));
    }

    #[test]
    fn a_keyed_hash_depends_on_the_key_the_label_and_every_byte() {
        let hash = keys(&[1]).keyed_hash(b"text");
        assert_eq!(keys(&[1]).keyed_hash(b"text"), hash);
        let others = [
            keys(&[1]).keyed_hash(b"texu"),
            keys(&[1]).keyed_hash(b"text\0"),
            keys(&[1]).keyed_hash(b""),
            keys(&[2]).keyed_hash(b"text"),
            ring(&[1]).derive("tesu").keyed_hash(b"text"),
            [0; 32],
        ];
        for (number, other) in others.iter().enumerate() {
            assert_ne!(*other, hash, "{number}");
            assert!(!others[..number].contains(other), "{number}");
        }
        let all: Vec<_> = keys(&[2, 1]).keyed_hashes(b"text").collect();
        assert_eq!(all, [keys(&[2]).keyed_hash(b"text"), hash]);
    }

    #[test]
    fn keys_are_the_same_in_every_process_and_release() {
        let keys = keys(&[7]);
        let hash = u64::from_be_bytes(*keys.keyed_hash(b"text").first_chunk().unwrap());
        assert_eq!(format!("{hash:016x}"), "81c8ba181039ea4f");
        let id = u32::from_be_bytes(keys.newest().id);
        assert_eq!(format!("{id:08x}"), "1d8a534b");
    }
}
