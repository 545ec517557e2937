//! Short tags of texts, that only who knows a secret can make.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chacha20poly1305::aead::{AeadInPlace, KeyInit};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use zeroize::Zeroizing;

use super::key::{NoRandomness, fill};

/// The tag of an empty message that is sealed with `text` beside it, under the nonce of zeros: a
/// Poly1305 of the text under a one-time key that the secret gives.
///
/// A key of a ring makes one such tag in its life, that of its id; and no state is ever sealed under
/// that nonce, which is drawn from 2^192.
pub(crate) fn tag(secret: &[u8; 32], text: &[u8]) -> [u8; 16] {
    XChaCha20Poly1305::new(secret.into())
        .encrypt_in_place_detached(&XNonce::default(), text, &mut [])
        // An empty message is never too long.
        .map_or([0; 16], Into::into)
}

/// Tells the texts of one request apart: its tags are equal where the texts are.
///
/// All tags are made under one Poly1305 key, which is a universal hash for as long as nobody sees
/// them; so neither the secret nor a tag ever leaves a sealed state.
#[derive(Clone)]
pub(crate) struct Secret(Zeroizing<[u8; 32]>);

impl Secret {
    pub(crate) fn generate() -> Result<Self, NoRandomness> {
        let mut secret = Zeroizing::new([0; 32]);
        fill(&mut *secret)?;
        Ok(Self(secret))
    }

    /// The tag of a text, as text.
    pub(crate) fn tag(&self, text: &str) -> String {
        URL_SAFE_NO_PAD.encode(tag(&self.0, text.as_bytes()))
    }

    /// Reads what [`to_text`](Self::to_text) wrote.
    pub(crate) fn from_text(text: &str) -> Option<Self> {
        let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
        Some(Self(Zeroizing::new(bytes.try_into().ok()?)))
    }

    /// What stands for it inside a sealed state.
    pub(crate) fn to_text(&self) -> String {
        URL_SAFE_NO_PAD.encode(*self.0)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_depends_on_the_secret_and_on_every_byte() {
        let (one, other) = (Secret(Zeroizing::new([1; 32])), Secret::generate().unwrap());
        assert_eq!(one.tag("text"), one.tag("text"));
        assert_ne!(one.tag("text"), one.tag("texu"));
        assert_ne!(one.tag("text"), one.tag("text\0"));
        assert_ne!(one.tag("text"), other.tag("text"));
        assert_eq!(
            Secret::from_text(&other.to_text()).unwrap().tag("text"),
            other.tag("text")
        );
        assert!(Secret::from_text("short").is_none());
    }

    #[test]
    fn a_tag_is_the_same_in_every_process() {
        let secret = Secret(Zeroizing::new([7; 32]));
        assert_eq!(secret.tag("text"), "V-oqMto8m4e2YkybRWbW9A");
    }
}
