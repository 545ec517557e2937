//! Keyed tags of texts.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chacha20poly1305::aead::{AeadInPlace, KeyInit};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use zeroize::Zeroizing;

use super::key::{RandomnessUnavailable, fill_random};

/// Returns the keyed tag of a text.
///
/// The tag is that of an empty message with `text` as associated data and a nonce of zeros: a
/// Poly1305 of the text with a one-time key derived from the secret. A key of a ring makes one such
/// tag, that of its id, and no state is sealed with that nonce, since nonces are random.
pub(crate) fn tag(secret: &[u8; 32], text: &[u8]) -> [u8; 16] {
    XChaCha20Poly1305::new(secret.into())
        .encrypt_in_place_detached(&XNonce::default(), text, &mut [])
        // An empty message is never too long.
        .map_or([0; 16], Into::into)
}

/// A secret that identifies the texts of one request: their tags are equal if the texts are.
///
/// All tags use one Poly1305 key, which is a universal hash as long as nobody sees the tags; so
/// neither the secret nor a tag leaves a sealed state.
#[derive(Clone)]
pub(crate) struct TagSecret(Zeroizing<[u8; 32]>);

impl TagSecret {
    /// Creates a random secret.
    pub(crate) fn generate() -> Result<Self, RandomnessUnavailable> {
        let mut secret = Zeroizing::new([0; 32]);
        fill_random(&mut *secret)?;
        Ok(Self(secret))
    }

    /// Returns the tag of a text, in Base64url.
    pub(crate) fn tag(&self, text: &str) -> String {
        URL_SAFE_NO_PAD.encode(tag(&self.0, text.as_bytes()))
    }

    /// Decodes a secret encoded by [`to_text`](Self::to_text).
    pub(crate) fn from_text(text: &str) -> Option<Self> {
        let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
        Some(Self(Zeroizing::new(bytes.try_into().ok()?)))
    }

    /// Encodes the secret, to be kept inside a sealed state.
    pub(crate) fn to_text(&self) -> String {
        URL_SAFE_NO_PAD.encode(*self.0)
    }
}

impl fmt::Debug for TagSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TagSecret(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_depends_on_the_secret_and_on_every_byte() {
        let (one, other) = (
            TagSecret(Zeroizing::new([1; 32])),
            TagSecret::generate().unwrap(),
        );
        assert_eq!(one.tag("text"), one.tag("text"));
        assert_ne!(one.tag("text"), one.tag("texu"));
        assert_ne!(one.tag("text"), one.tag("text\0"));
        assert_ne!(one.tag("text"), other.tag("text"));
        assert_eq!(
            TagSecret::from_text(&other.to_text()).unwrap().tag("text"),
            other.tag("text")
        );
        assert!(TagSecret::from_text("short").is_none());
    }

    #[test]
    fn a_tag_is_the_same_in_every_process() {
        let secret = TagSecret(Zeroizing::new([7; 32]));
        assert_eq!(secret.tag("text"), "V-oqMto8m4e2YkybRWbW9A");
    }
}
