//! DPoP: proofs are checked, and each may be used once.
//!
//! Specification: RFC 9449 sections 7, 9 and 11.1.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::HeaderValue;
use sha2::{Digest as _, Sha256};
use turnbuckle_types::Principal;
use turnbuckle_types::base::text::Escaped;

use super::authorization_header::{Credentials, Scheme};
use super::denial::Denial;
use super::replay_cache::ReplayCache;
use crate::clock::Clock;
use crate::dpop::{DpopError, ProofExpectation, VerifiedProof, verify_proof};
use crate::secret::Secret;

/// The seconds by which the time of a proof may differ from that of the server.
const PROOF_LEEWAY_SECONDS: u64 = 60;
/// The seconds after which a new nonce is issued. The one before is still accepted.
const NONCE_INTERVAL_SECONDS: u64 = 180;

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
        principal: &Principal,
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
        let now = clock.now();
        let token = credentials.token()?;
        let verified = self.verify(proof, token, method, &url(), now)?;
        if verified.thumbprint != key_thumbprint {
            tracing::debug!("refused a DPoP proof: it is of another key than the token");
            return Err(Denial::InvalidProof);
        }
        self.use_up(principal, &verified, now)
    }

    /// Checks a proof for a request. The caller compares its key, and whether it was used before.
    fn verify(
        &self,
        proof: &str,
        token: &str,
        method: &str,
        url: &str,
        now: u64,
    ) -> Result<VerifiedProof, Denial> {
        let interval = now / NONCE_INTERVAL_SECONDS;
        let intervals = [interval, interval.saturating_sub(1)];
        let nonces = self.nonces.as_ref();
        let nonces = nonces.map(|nonces| intervals.map(|interval| nonces.nonce(interval)));
        let nonces = nonces
            .as_ref()
            .map(|nonces| nonces.each_ref().map(String::as_str));
        let expectation = ProofExpectation {
            method,
            url,
            access_token: Some(token),
            nonces: nonces.as_ref().map(<[_; 2]>::as_slice),
            now,
            leeway: PROOF_LEEWAY_SECONDS,
        };
        verify_proof(proof, &expectation).map_err(|error| {
            tracing::debug!(error = %Escaped(&error), "refused a DPoP proof");
            match error {
                DpopError::Nonce => Denial::StaleNonce,
                _ => Denial::InvalidProof,
            }
        })
    }

    /// Remembers that a proof was used.
    fn use_up(&self, principal: &Principal, proof: &VerifiedProof, now: u64) -> Result<(), Denial> {
        let expires_at = proof.iat.saturating_add(PROOF_LEEWAY_SECONDS + 1);
        let (thumbprint, jti) = (&proof.thumbprint, &proof.jti);
        let inserted = self
            .replays
            .insert(principal, thumbprint, jti, now, expires_at);
        match inserted {
            Ok(true) => Ok(()),
            Ok(false) => {
                tracing::debug!("refused a DPoP proof: it was used before");
                Err(Denial::InvalidProof)
            }
            Err(full) => {
                tracing::warn!(?full, "refused a DPoP proof: too many in the last minutes");
                Err(Denial::Unavailable)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nonces_change_with_the_time() {
        let nonces = NonceIssuer::new(Secret::new("secret"));
        assert_eq!(nonces.nonce(1), nonces.nonce(1));
        assert_ne!(nonces.nonce(1), nonces.nonce(2));
    }
}
