//! Sealing of `requestState`, which a server gives to a client and trusts when it comes back.
//!
//! A sealed state is encrypted and authenticated (XChaCha20-Poly1305 with a random nonce) and bound
//! to its request: the method, target, arguments and principal. A client can replay a state for the
//! same request until the state expires; sealing does not prevent that. A handler that needs each
//! state to be used once keeps a record of used ones.
//!
//! Specification: basic/patterns/mrtr (2026-07-28).

mod key;
mod mac;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chacha20poly1305::XNonce;
use chacha20poly1305::aead::{Aead, Payload};
use turnbuckle_session::internal::count_refusal;
use turnbuckle_types::Principal;
use turnbuckle_types::base::random::{self, RandomnessUnavailable};

use key::KEY_ID_BYTES;
pub use key::{StateKey, StateKeyRing};
pub(crate) use mac::{MacKey, mac};

/// The most bytes that can be sealed.
pub(crate) const MAX_STATE_BYTES: usize = 64 * 1024;

/// The default time that a sealed state is accepted, in seconds.
pub(crate) const DEFAULT_STATE_TTL_SECS: u64 = 10 * 60;

const VERSION: u8 = 1;
const NONCE_BYTES: usize = 24;
const TAG_BYTES: usize = 16;
const EXPIRY_BYTES: usize = 8;
const HEAD_BYTES: usize = 1 + KEY_ID_BYTES + NONCE_BYTES;
const MAX_SEALED_BYTES: usize =
    (HEAD_BYTES + EXPIRY_BYTES + MAX_STATE_BYTES + TAG_BYTES).div_ceil(3) * 4;

impl StateKeyRing {
    /// Seals `payload` until `expires_at`, in seconds since the Unix epoch.
    pub(crate) fn seal(
        &self,
        binding: &StateBinding<'_>,
        expires_at: u64,
        payload: &[u8],
    ) -> Result<String, SealError> {
        if payload.len() > MAX_STATE_BYTES {
            return Err(SealError::TooLarge);
        }
        let mut head = [VERSION; HEAD_BYTES];
        head[1..1 + KEY_ID_BYTES].copy_from_slice(&self.current.id());
        random::fill(&mut head[1 + KEY_ID_BYTES..])?;

        let mut plain = Vec::with_capacity(EXPIRY_BYTES + payload.len());
        plain.extend_from_slice(&expires_at.to_be_bytes());
        plain.extend_from_slice(payload);
        let sealed = self
            .current
            .cipher()
            .encrypt(
                XNonce::from_slice(&head[1 + KEY_ID_BYTES..]),
                Payload {
                    msg: &plain,
                    aad: &binding.associated_data(&head),
                },
            )
            .map_err(|_| SealError::TooLarge)?;
        Ok(URL_SAFE_NO_PAD.encode([head.as_slice(), &sealed].concat()))
    }

    /// Opens a state that [`StateKeyRing::seal`] sealed for an equal binding; `now` is in seconds
    /// since the Unix epoch.
    pub(crate) fn open(
        &self,
        binding: &StateBinding<'_>,
        now: u64,
        state: &str,
    ) -> Result<Vec<u8>, StateError> {
        if state.len() > MAX_SEALED_BYTES {
            return Err(StateError::Malformed);
        }
        let bytes = URL_SAFE_NO_PAD
            .decode(state)
            .map_err(|_| StateError::Malformed)?;
        let (head, sealed) = bytes
            .split_first_chunk::<HEAD_BYTES>()
            .ok_or(StateError::Malformed)?;
        if head[0] != VERSION || sealed.len() < EXPIRY_BYTES + TAG_BYTES {
            return Err(StateError::Malformed);
        }
        let (id, nonce) = head[1..].split_at(KEY_ID_BYTES);
        let aad = binding.associated_data(head);
        let plain = std::iter::once(&self.current)
            .chain(&self.previous)
            .filter(|key| key.id() == id)
            .find_map(|key| {
                let payload = Payload {
                    msg: sealed,
                    aad: &aad,
                };
                key.cipher()
                    .decrypt(XNonce::from_slice(nonce), payload)
                    .ok()
            })
            .ok_or(StateError::NotOurs)?;
        let (expiry, payload) = plain
            .split_first_chunk::<EXPIRY_BYTES>()
            .ok_or(StateError::NotOurs)?;
        if now >= u64::from_be_bytes(*expiry) {
            count_refusal("ServerBuilder::request_state_ttl");
            return Err(StateError::Expired);
        }
        Ok(payload.to_vec())
    }
}

/// The request that a state belongs to. Every part must be equal when the state comes back.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StateBinding<'a> {
    /// The method, such as `tools/call`.
    pub(crate) method: &'a str,
    /// The name of the tool or prompt, or the URI of the resource.
    pub(crate) target: &'a str,
    /// The arguments as canonical JSON.
    pub(crate) arguments: &'a str,
    /// The principal, if the request was authenticated: issuer, subject and client are compared.
    pub(crate) principal: Option<&'a Principal>,
}

impl StateBinding<'_> {
    /// Returns all parts, each with its length before it, so that no two bindings have the same
    /// bytes.
    fn associated_data(&self, head: &[u8]) -> Vec<u8> {
        let mut data = b"turnbuckle requestState".to_vec();
        let mut part = |bytes: &[u8]| {
            data.extend_from_slice(&(bytes.len() as u64).to_be_bytes());
            data.extend_from_slice(bytes);
        };
        part(head);
        part(self.method.as_bytes());
        part(self.target.as_bytes());
        part(self.arguments.as_bytes());
        part(&[u8::from(self.principal.is_some())]);
        if let Some(principal) = self.principal {
            part(principal.issuer.as_bytes());
            part(principal.subject.as_bytes());
            part(&[u8::from(principal.client.is_some())]);
            part(principal.client.as_deref().unwrap_or_default().as_bytes());
        }
        data
    }
}

/// The reason that a state could not be sealed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SealError {
    #[error("the request state is larger than {MAX_STATE_BYTES} bytes")]
    TooLarge,
    /// There was no nonce.
    #[error(transparent)]
    NoRandomness(#[from] RandomnessUnavailable),
}

/// The reason that a returned state is refused. Its text may be sent to the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum StateError {
    /// The text does not have the form of a sealed state.
    #[error("requestState is malformed")]
    Malformed,
    /// The state was changed, sealed with another key, or belongs to another request.
    #[error("requestState does not belong to this request")]
    NotOurs,
    /// The state is too old.
    #[error("requestState has expired: start the request again without it")]
    Expired,
}

#[cfg(test)]
mod tests;
