//! Sealing of `requestState`: what a server hands to a client and will trust when it comes back.
//!
//! A sealed state is encrypted and authenticated (XChaCha20-Poly1305, a random nonce each) and
//! bound to the request it was made for: its method, target, arguments and principal. Sealing
//! bounds a replay to that very request until it expires; it does not make a state usable once
//! only. Whoever needs that keeps a record of the states it has consumed.
//!
//! Specification: basic/patterns/mrtr (2026-07-28).

mod key;
mod tag;

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chacha20poly1305::XNonce;
use chacha20poly1305::aead::{Aead, Payload};
use turnbuckle_types::Principal;

use key::{KEY_ID, fill};
pub use key::{Key, KeyRing, NoRandomness};
pub(crate) use tag::{Secret, tag};

/// The most bytes that can be sealed.
pub(crate) const MAX_STATE: usize = 64 * 1024;

/// How long a sealed state is accepted unless told otherwise, in seconds.
pub(crate) const DEFAULT_LIFETIME: u64 = 10 * 60;

const VERSION: u8 = 1;
const NONCE: usize = 24;
const TAG: usize = 16;
const EXPIRY: usize = 8;
const HEAD: usize = 1 + KEY_ID + NONCE;
const MAX_SEALED: usize = (HEAD + EXPIRY + MAX_STATE + TAG).div_ceil(3) * 4;

impl KeyRing {
    /// Seals `payload` until `expires_at`, in seconds since the Unix epoch.
    pub(crate) fn seal(
        &self,
        binding: &Binding<'_>,
        expires_at: u64,
        payload: &[u8],
    ) -> Result<String, SealError> {
        if payload.len() > MAX_STATE {
            return Err(SealError::TooLarge);
        }
        let mut head = [VERSION; HEAD];
        head[1..1 + KEY_ID].copy_from_slice(&self.current.id());
        fill(&mut head[1 + KEY_ID..]).map_err(|NoRandomness| SealError::NoRandomness)?;

        let mut plain = Vec::with_capacity(EXPIRY + payload.len());
        plain.extend_from_slice(&expires_at.to_be_bytes());
        plain.extend_from_slice(payload);
        let sealed = self
            .current
            .cipher()
            .encrypt(
                XNonce::from_slice(&head[1 + KEY_ID..]),
                Payload {
                    msg: &plain,
                    aad: &binding.associated_data(&head),
                },
            )
            .map_err(|_| SealError::TooLarge)?;
        Ok(URL_SAFE_NO_PAD.encode([head.as_slice(), &sealed].concat()))
    }

    /// Opens what [`KeyRing::seal`] made for an equal binding, `now` in seconds since the epoch.
    pub(crate) fn open(
        &self,
        binding: &Binding<'_>,
        now: u64,
        state: &str,
    ) -> Result<Vec<u8>, StateError> {
        if state.len() > MAX_SEALED {
            return Err(StateError::Malformed);
        }
        let bytes = URL_SAFE_NO_PAD
            .decode(state)
            .map_err(|_| StateError::Malformed)?;
        let (head, sealed) = bytes
            .split_first_chunk::<HEAD>()
            .ok_or(StateError::Malformed)?;
        if head[0] != VERSION || sealed.len() < EXPIRY + TAG {
            return Err(StateError::Malformed);
        }
        let (id, nonce) = head[1..].split_at(KEY_ID);
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
            .split_first_chunk::<EXPIRY>()
            .ok_or(StateError::NotOurs)?;
        if now >= u64::from_be_bytes(*expiry) {
            return Err(StateError::Expired);
        }
        Ok(payload.to_vec())
    }
}

/// The request that a state belongs to. Every part must be equal when the state comes back.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Binding<'a> {
    /// The method, such as `tools/call`.
    pub(crate) method: &'a str,
    /// The name of the tool or prompt, or the URI of the resource.
    pub(crate) target: &'a str,
    /// The arguments as canonical JSON.
    pub(crate) arguments: &'a str,
    /// Who asks, if the request was authenticated: the issuer, subject and client count.
    pub(crate) principal: Option<&'a Principal>,
}

impl Binding<'_> {
    /// Every part behind its length, so that no two bindings have the same bytes.
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

/// Why a state could not be sealed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SealError {
    /// It is larger than [`MAX_STATE`].
    TooLarge,
    /// There was no nonce to be had.
    NoRandomness,
}

impl fmt::Display for SealError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge => write!(f, "the request state is larger than {MAX_STATE} bytes"),
            Self::NoRandomness => NoRandomness.fmt(f),
        }
    }
}

impl std::error::Error for SealError {}

/// Why a state that came back is refused. The text is fit for the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StateError {
    /// It is not of the form that any state has.
    Malformed,
    /// It was changed, sealed under another key, or belongs to another request.
    NotOurs,
    /// Its time is over.
    Expired,
}

impl fmt::Display for StateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Malformed => "requestState is malformed",
            Self::NotOurs => "requestState does not belong to this request",
            Self::Expired => "requestState has expired: start the request again without it",
        })
    }
}

impl std::error::Error for StateError {}

#[cfg(test)]
mod tests;
