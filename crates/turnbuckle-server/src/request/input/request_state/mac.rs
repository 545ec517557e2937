//! Message authentication codes (MACs) of texts.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chacha20poly1305::aead::{AeadInPlace, KeyInit};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use turnbuckle_types::base::debug_fields;
use turnbuckle_types::base::random::{self, RandomnessUnavailable};
use zeroize::Zeroizing;

/// Returns the message authentication code (MAC) of a text: an unforgeable fingerprint.
///
/// The MAC is the tag of XChaCha20-Poly1305 for an empty message with `text` as associated data and
/// a nonce of zeros: a Poly1305 of the text with a one-time key derived from the secret.
pub(crate) fn mac(secret: &[u8; 32], text: &[u8]) -> [u8; 16] {
    XChaCha20Poly1305::new(secret.into())
        .encrypt_in_place_detached(&XNonce::default(), text, &mut [])
        // An empty message is never too long.
        .map_or([0; 16], Into::into)
}

/// A secret key for the MACs of one request's questions. The request compares the MACs of two
/// rounds to see whether its handler asked the same question again.
///
/// All MACs use one Poly1305 key, which is a universal hash as long as nobody sees the MACs; so
/// neither the key nor a MAC leaves a sealed state.
#[derive(Clone)]
pub(crate) struct MacKey(Zeroizing<[u8; 32]>);

impl MacKey {
    /// Creates a random key.
    pub(crate) fn generate() -> Result<Self, RandomnessUnavailable> {
        let mut secret = Zeroizing::new([0; 32]);
        random::fill(&mut *secret)?;
        Ok(Self(secret))
    }

    /// Returns the MAC of a text, in Base64url.
    pub(crate) fn mac(&self, text: &str) -> String {
        URL_SAFE_NO_PAD.encode(mac(&self.0, text.as_bytes()))
    }

    /// Decodes a key encoded by [`to_text`](Self::to_text).
    pub(crate) fn from_text(text: &str) -> Option<Self> {
        let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
        Some(Self(Zeroizing::new(bytes.try_into().ok()?)))
    }

    /// Encodes the key in Base64url, to be kept inside a sealed state.
    pub(crate) fn to_text(&self) -> String {
        URL_SAFE_NO_PAD.encode(*self.0)
    }
}

debug_fields!(MacKey {});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mac_depends_on_the_secret_and_on_every_byte() {
        let (one, other) = (MacKey(Zeroizing::new([1; 32])), MacKey::generate().unwrap());
        assert_eq!(one.mac("text"), one.mac("text"));
        assert_ne!(one.mac("text"), one.mac("texu"));
        assert_ne!(one.mac("text"), one.mac("text\0"));
        assert_ne!(one.mac("text"), other.mac("text"));
        assert_eq!(
            MacKey::from_text(&other.to_text()).unwrap().mac("text"),
            other.mac("text")
        );
        assert!(MacKey::from_text("short").is_none());
    }

    #[test]
    fn a_mac_is_the_same_in_every_process() {
        let secret = MacKey(Zeroizing::new([7; 32]));
        assert_eq!(secret.mac("text"), "V-oqMto8m4e2YkybRWbW9A");
    }
}
