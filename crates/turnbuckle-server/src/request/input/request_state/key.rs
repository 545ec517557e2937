//! The keys that seal request state.

use std::sync::OnceLock;

use chacha20poly1305::XChaCha20Poly1305;
use chacha20poly1305::aead::KeyInit;
use turnbuckle_types::base::debug_fields;
use turnbuckle_types::base::random::{self, RandomnessUnavailable};
use zeroize::Zeroizing;

use super::mac::mac;

/// The length of a key's id, in bytes.
pub(super) const KEY_ID_BYTES: usize = 4;

/// A secret key of 32 bytes that seals request state. It is wiped from memory when dropped.
#[derive(Clone)]
pub struct StateKey {
    secret: Zeroizing<[u8; 32]>,
    /// Computed at first use: most servers never seal anything, and setting the cipher up queries
    /// the features of the processor, which takes 50 µs in some virtual machines, too long for a
    /// start.
    id: OnceLock<[u8; KEY_ID_BYTES]>,
}

impl StateKey {
    /// Creates a random key, for a server that runs as one process.
    ///
    /// # Errors
    /// If the operating system gives no random bytes.
    pub fn generate() -> Result<Self, RandomnessUnavailable> {
        let mut secret = Zeroizing::new([0; 32]);
        random::fill(&mut *secret)?;
        Ok(Self::new(secret))
    }

    /// Creates a key from the operator's configuration, to be the same on every instance of a
    /// server.
    ///
    /// The bytes must come from a cryptographic random source; a password is not a key.
    #[must_use]
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self::new(Zeroizing::new(bytes))
    }

    /// Creates a key.
    fn new(secret: Zeroizing<[u8; 32]>) -> Self {
        let id = OnceLock::new();
        Self { secret, id }
    }

    /// Returns the id of the key: the beginning of the MAC of a fixed text, which reveals nothing
    /// about the key.
    pub(super) fn id(&self) -> [u8; KEY_ID_BYTES] {
        *self.id.get_or_init(|| {
            let mac = mac(&self.secret, b"turnbuckle requestState key id");
            let mut id = [0; KEY_ID_BYTES];
            id.copy_from_slice(&mac[..KEY_ID_BYTES]);
            id
        })
    }

    /// Returns the cipher with this key.
    pub(super) fn cipher(&self) -> XChaCha20Poly1305 {
        XChaCha20Poly1305::new((&*self.secret).into())
    }
}

debug_fields!(StateKey {});

/// The keys of a server: one that seals, and older ones that only open.
///
/// To replace a key without refusing the states that clients hold, put the new key first and keep
/// the old one as a previous key until its states have expired.
#[derive(Clone, Debug)]
pub struct StateKeyRing {
    pub(super) current: StateKey,
    pub(super) previous: Vec<StateKey>,
}

impl StateKeyRing {
    /// Creates a ring with one key.
    #[must_use]
    pub fn new(key: StateKey) -> Self {
        Self {
            current: key,
            previous: Vec::new(),
        }
    }

    /// Adds a key that only opens states.
    #[must_use]
    pub fn with_previous(mut self, key: StateKey) -> Self {
        self.previous.push(key);
        self
    }
}
