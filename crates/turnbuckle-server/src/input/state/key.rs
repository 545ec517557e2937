//! The keys that seal request states.

use std::fmt;
use std::sync::OnceLock;

use chacha20poly1305::XChaCha20Poly1305;
use chacha20poly1305::aead::KeyInit;
use zeroize::Zeroizing;

use super::tag::tag;

/// The length of a key's id, in bytes.
pub(super) const KEY_ID: usize = 4;

/// A secret of 32 bytes under which states are sealed. Wiped from memory when dropped.
#[derive(Clone)]
pub struct Key {
    secret: Zeroizing<[u8; 32]>,
    /// Made at first use: most servers never seal anything, and the cipher asks the processor what it
    /// has, which takes a twentieth of a millisecond in some virtual machines: too long for a start.
    id: OnceLock<[u8; KEY_ID]>,
}

impl Key {
    /// A new random key, for a server that runs as one process.
    ///
    /// # Errors
    /// If the operating system gives no random bytes.
    pub fn generate() -> Result<Self, NoRandomness> {
        let mut secret = Zeroizing::new([0; 32]);
        fill(&mut *secret)?;
        Ok(Self::new(secret))
    }

    /// A key from the operator's configuration, the same on every instance of a server.
    ///
    /// The bytes must come from a cryptographic random source; a password is not a key.
    #[must_use]
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self::new(Zeroizing::new(bytes))
    }

    fn new(secret: Zeroizing<[u8; 32]>) -> Self {
        let id = OnceLock::new();
        Self { secret, id }
    }

    /// Tells keys apart without telling anything about them: a part of the tag of one fixed text.
    pub(super) fn id(&self) -> [u8; KEY_ID] {
        *self.id.get_or_init(|| {
            let tag = tag(&self.secret, b"turnbuckle requestState key id");
            let mut id = [0; KEY_ID];
            id.copy_from_slice(&tag[..KEY_ID]);
            id
        })
    }

    pub(super) fn cipher(&self) -> XChaCha20Poly1305 {
        XChaCha20Poly1305::new((&*self.secret).into())
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(..)")
    }
}

/// The keys of a server: one that seals, and older ones that still open.
///
/// To replace a key without refusing the states that clients hold, make the new one the first and
/// keep the old one as a previous key for as long as a state lives.
#[derive(Clone, Debug)]
pub struct KeyRing {
    pub(super) current: Key,
    pub(super) previous: Vec<Key>,
}

impl KeyRing {
    /// A ring of one key.
    #[must_use]
    pub fn new(key: Key) -> Self {
        Self {
            current: key,
            previous: Vec::new(),
        }
    }

    /// Adds a key that only opens.
    #[must_use]
    pub fn with_previous(mut self, key: Key) -> Self {
        self.previous.push(key);
        self
    }
}

/// Fills with bytes that nobody can foretell.
pub(super) fn fill(bytes: &mut [u8]) -> Result<(), NoRandomness> {
    getrandom::fill(bytes).map_err(|_| NoRandomness)
}

/// The operating system gave no random bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoRandomness;

impl fmt::Display for NoRandomness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the operating system gave no random bytes")
    }
}

impl std::error::Error for NoRandomness {}
