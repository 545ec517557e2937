//! Sealing of `requestState`, which a server gives to a client and trusts when it comes back.
//!
//! A sealed state is encrypted and authenticated (XChaCha20-Poly1305 with a random nonce) and bound
//! to its request: the method, target, arguments and principal. A client can replay a state for the
//! same request until the state expires; sealing does not prevent that. A handler that needs each
//! state to be used once keeps a record of used ones.
//!
//! Specification: basic/patterns/mrtr (2026-07-28).

mod mac;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use turnbuckle_session::internal::count_refusal;
use turnbuckle_types::base::random::RandomnessUnavailable;
use turnbuckle_types::{DerivedKeys, KeyLabel, KeyRing, Principal};

pub(crate) use mac::{MacKey, mac};

/// The most bytes that can be sealed.
pub(crate) const MAX_STATE_BYTES: usize = 64 * 1024;

/// The default time that a sealed state is accepted, in seconds.
pub(crate) const DEFAULT_STATE_TTL_SECS: u64 = 10 * 60;

const EXPIRY_BYTES: usize = 8;
const MAX_SEALED_BYTES: usize =
    (DerivedKeys::OVERHEAD + EXPIRY_BYTES + MAX_STATE_BYTES).div_ceil(3) * 4;

/// The keys that seal what a server gives to its clients and trusts when it comes back.
#[derive(Debug)]
pub(crate) struct StateKeys(DerivedKeys);

impl StateKeys {
    /// Returns the keys for the `requestState` of questions.
    pub(crate) fn for_request_state(ring: &KeyRing) -> Self {
        const LABEL: KeyLabel = KeyLabel::new("request state");
        Self(ring.derive(LABEL))
    }

    /// Returns the keys for the cursors of lists.
    pub(crate) fn for_cursors(ring: &KeyRing) -> Self {
        const LABEL: KeyLabel = KeyLabel::new("list cursor");
        Self(ring.derive(LABEL))
    }

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
        let plain = [expires_at.to_be_bytes().as_slice(), payload].concat();
        let sealed = self.0.seal(&binding.associated_data(), &plain)?;
        Ok(URL_SAFE_NO_PAD.encode(sealed))
    }

    /// Opens a state that [`seal`](Self::seal) sealed for an equal binding; `now` is in seconds since
    /// the Unix epoch.
    pub(crate) fn open(
        &self,
        binding: &StateBinding<'_>,
        now: u64,
        state: &str,
    ) -> Result<Vec<u8>, StateError> {
        if state.len() > MAX_SEALED_BYTES {
            return Err(StateError::Malformed);
        }
        let sealed = URL_SAFE_NO_PAD
            .decode(state)
            .map_err(|_| StateError::Malformed)?;
        if sealed.len() < DerivedKeys::OVERHEAD + EXPIRY_BYTES {
            return Err(StateError::Malformed);
        }
        let plain = self
            .0
            .open(&binding.associated_data(), &sealed)
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
    fn associated_data(&self) -> Vec<u8> {
        let mut data = b"turnbuckle requestState".to_vec();
        let mut part = |bytes: &[u8]| {
            data.extend_from_slice(&(bytes.len() as u64).to_be_bytes());
            data.extend_from_slice(bytes);
        };
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
