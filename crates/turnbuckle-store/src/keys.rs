//! Secret keys that the instances of one server share.
//!
//! A [`KeyRing`] comes from one setting of the operator. Nothing uses its keys directly: each use
//! [derives](KeyRing::derive) keys of its own by a label, so that what one use sealed means nothing to
//! another. [`DerivedKeys`] seal with XChaCha20-Poly1305 and a random nonce.
//!
//! To replace a key without refusing what it sealed, put the new key in front of the list on every
//! instance, and remove the old one once nothing that it sealed is valid any more. With instances that
//! restart one after another, first add the new key behind the old one everywhere: then each instance
//! opens what any other seals.

mod derived;
mod ring;

pub use derived::{DerivedKeys, OpenError};
pub use ring::{KeyRing, MAX_KEYS, SecretKey};

/// The reason that keys could not be read, generated or used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// The operating system gave no random bytes.
    #[error("the operating system has no randomness")]
    NoRandomness,
    /// The list has no key.
    #[error("the list of keys is empty: generate a key of 32 random bytes, in Base64url")]
    Empty,
    /// The list has more keys than a ring holds.
    #[error("the list has more than {MAX_KEYS} keys: remove the last ones, which are the oldest")]
    TooMany,
    /// A key of the list is not a key, counted from 1.
    #[error(
        "key {0} of the list is not 32 bytes in Base64url (43 characters): separate keys with commas, \
         the newest first"
    )]
    Malformed(usize),
    /// The environment variable is not set.
    #[error(
        "the environment variable {0} is not set: set it to the keys in Base64url, separated with \
         commas, the newest first"
    )]
    NoVariable(String),
    /// The environment variable holds no keys.
    #[error("the environment variable {variable}: {error}")]
    Variable {
        /// The name of the variable.
        variable: String,
        /// The fault of its value.
        error: Box<KeyError>,
    },
}
