//! DPoP: proofs are checked, and each may be used once.
//!
//! Specification: RFC 9449 sections 7, 9 and 11.1.

use std::collections::HashMap;
use std::collections::hash_map::{Entry, RandomState};
use std::fmt;
use std::hash::BuildHasher as _;
use std::sync::{Mutex, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::HeaderValue;
use sha2::{Digest as _, Sha256};

use super::authorization_header::{Credentials, Scheme};
use super::denial::Denial;
use crate::clock::Clock;
use crate::dpop::{DpopError, ProofExpectation, verify_proof};
use crate::secret::Secret;

/// The seconds by which the time of a proof may differ from that of the server.
const PROOF_LEEWAY_SECONDS: u64 = 60;
/// The seconds after which a new nonce is issued. The one before is still accepted.
const NONCE_INTERVAL_SECONDS: u64 = 180;
const SHARDS: usize = 16;
const MAX_PROOFS_PER_SHARD: usize = 8_192;

/// The use of DPoP at a resource server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum DpopMode {
    /// Tokens that are bound to a key are refused.
    Off,
    /// Tokens that are bound to a key need a proof; others are bearer tokens.
    #[default]
    Optional,
    /// Only tokens that are bound to a key are accepted, so no static tokens.
    Required,
}

/// The checks of DPoP proofs.
pub(super) struct DpopChecker {
    mode: DpopMode,
    replays: ReplayCache,
    nonces: Option<NonceIssuer>,
}

impl DpopChecker {
    pub(super) fn new(mode: DpopMode, nonces: Option<NonceIssuer>) -> Self {
        Self {
            mode,
            replays: ReplayCache::default(),
            nonces,
        }
    }

    /// Returns the current nonce as a header, if nonces are used.
    pub(super) fn nonce_header(&self, clock: &Clock) -> Option<HeaderValue> {
        let nonces = self.nonces.as_ref()?;
        let nonce = nonces.nonce(clock.now() / NONCE_INTERVAL_SECONDS);
        HeaderValue::from_str(&nonce).ok()
    }

    /// Checks that the credentials fit the binding of their token to a key.
    ///
    /// # Errors
    /// Returns the denial. The reason is logged.
    pub(super) fn check(
        &self,
        credentials: &Credentials<'_>,
        key_thumbprint: Option<&str>,
        method: &str,
        url: impl FnOnce() -> String,
        clock: &Clock,
    ) -> Result<(), Denial> {
        let is_dpop = credentials.scheme == Scheme::Dpop;
        let Some(key_thumbprint) = key_thumbprint else {
            if is_dpop || self.mode == DpopMode::Required {
                tracing::debug!("refused a token: it is not bound to a key");
                return Err(Denial::InvalidToken);
            }
            return Ok(());
        };
        if !is_dpop || self.mode == DpopMode::Off {
            tracing::debug!("refused a token: it is bound to a key, but not sent with DPoP");
            return Err(Denial::InvalidToken);
        }
        let proof = credentials.proof.and_then(|proof| proof.to_str().ok());
        let Some(proof) = proof else {
            tracing::debug!("refused a token: its DPoP proof is missing or no text");
            return Err(Denial::InvalidProof);
        };
        self.check_proof(
            proof,
            credentials.token()?,
            key_thumbprint,
            method,
            &url(),
            clock.now(),
        )
    }

    fn check_proof(
        &self,
        proof: &str,
        token: &str,
        key_thumbprint: &str,
        method: &str,
        url: &str,
        now: u64,
    ) -> Result<(), Denial> {
        let nonces = self.nonces.as_ref().map(|nonces| {
            let current = now / NONCE_INTERVAL_SECONDS;
            [
                nonces.nonce(current),
                nonces.nonce(current.saturating_sub(1)),
            ]
        });
        let nonces = nonces
            .as_ref()
            .map(|[current, last]| [current.as_str(), last.as_str()]);
        let expectation = ProofExpectation {
            method,
            url,
            access_token: Some(token),
            nonces: nonces.as_ref().map(<[_; 2]>::as_slice),
            now,
            leeway: PROOF_LEEWAY_SECONDS,
        };
        let verified = verify_proof(proof, &expectation).map_err(|error| {
            tracing::debug!(%error, "refused a DPoP proof");
            match error {
                DpopError::Nonce => Denial::StaleNonce,
                _ => Denial::InvalidProof,
            }
        })?;
        if verified.thumbprint != key_thumbprint {
            tracing::debug!("refused a DPoP proof: it is of another key than the token");
            return Err(Denial::InvalidProof);
        }
        let expires_at = verified.iat.saturating_add(PROOF_LEEWAY_SECONDS + 1);
        match self
            .replays
            .insert(&verified.thumbprint, &verified.jti, now, expires_at)
        {
            Ok(true) => Ok(()),
            Ok(false) => {
                tracing::debug!("refused a DPoP proof: it was used before");
                Err(Denial::InvalidProof)
            }
            Err(Full) => {
                tracing::warn!("refused a DPoP proof: too many proofs in the last minutes");
                Err(Denial::Unavailable)
            }
        }
    }
}

/// The proofs that were used, until they expire. A full cache admits no more proofs, because a proof
/// that it forgot could be replayed. The proofs of one key are in one shard, so that one client cannot
/// fill all of them.
struct ReplayCache {
    hasher: RandomState,
    shards: [Mutex<HashMap<[u8; 32], u64>>; SHARDS],
}

#[derive(Debug, PartialEq, Eq)]
struct Full;

impl Default for ReplayCache {
    fn default() -> Self {
        Self {
            hasher: RandomState::new(),
            shards: std::array::from_fn(|_| Mutex::default()),
        }
    }
}

impl ReplayCache {
    /// Remembers a proof. Returns whether it is new.
    fn insert(&self, thumbprint: &str, jti: &str, now: u64, expires_at: u64) -> Result<bool, Full> {
        let hash = self.hasher.hash_one(thumbprint);
        // In range: the top four bits.
        let shard = &self.shards[(hash >> 60) as usize % SHARDS];
        let mut used = shard.lock().unwrap_or_else(PoisonError::into_inner);
        if used.len() >= MAX_PROOFS_PER_SHARD {
            used.retain(|_, expires_at| now < *expires_at);
        }
        let is_full = used.len() >= MAX_PROOFS_PER_SHARD;
        let key = Sha256::new()
            .chain_update(thumbprint)
            .chain_update([0])
            .chain_update(jti);
        match used.entry(key.finalize().into()) {
            Entry::Occupied(known) if now < *known.get() => Ok(false),
            Entry::Vacant(_) if is_full => Err(Full),
            entry => {
                entry.insert_entry(expires_at);
                Ok(true)
            }
        }
    }
}

/// The nonces of a server: derived from a secret and the time, so that none must be kept.
pub(super) struct NonceIssuer(Secret);

impl NonceIssuer {
    pub(super) fn new(secret: Secret) -> Self {
        Self(secret)
    }

    /// Returns the nonce of an interval. The secret has a fixed length and the digest is cut, so no
    /// other nonce can be derived from it.
    fn nonce(&self, interval: u64) -> String {
        let digest = Sha256::new()
            .chain_update(self.0.expose())
            .chain_update(interval.to_be_bytes())
            .finalize();
        URL_SAFE_NO_PAD.encode(&digest[..16])
    }
}

impl fmt::Debug for DpopChecker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DpopChecker({:?})", self.mode)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proof_is_new_once_per_key() {
        let cache = ReplayCache::default();
        assert_eq!(cache.insert("key", "1", 100, 160), Ok(true));
        assert_eq!(cache.insert("key", "1", 100, 160), Ok(false));
        assert_eq!(cache.insert("key", "1", 159, 160), Ok(false));
        assert_eq!(cache.insert("other", "1", 100, 160), Ok(true));
        assert_eq!(cache.insert("key", "2", 100, 160), Ok(true));
        assert_eq!(cache.insert("key", "1", 160, 220), Ok(true));
    }

    #[test]
    fn a_full_cache_forgets_nothing_and_admits_no_more() {
        let cache = ReplayCache::default();
        for number in 0..MAX_PROOFS_PER_SHARD {
            assert_eq!(cache.insert("key", &number.to_string(), 100, 160), Ok(true));
        }
        assert_eq!(cache.insert("key", "new", 100, 160), Err(Full));
        assert_eq!(cache.insert("key", "0", 100, 160), Ok(false));
        // Expired proofs make room.
        assert_eq!(cache.insert("key", "new", 160, 220), Ok(true));
    }

    #[test]
    fn nonces_change_with_the_time() {
        let nonces = NonceIssuer::new(Secret::new("secret"));
        assert_eq!(nonces.nonce(1), nonces.nonce(1));
        assert_ne!(nonces.nonce(1), nonces.nonce(2));
    }
}
