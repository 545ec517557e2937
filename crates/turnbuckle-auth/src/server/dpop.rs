//! DPoP: proofs are checked, and each may be used once.
//!
//! Specification: RFC 9449 sections 7, 9 and 11.1.

use std::sync::OnceLock;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::HeaderValue;
use sha2::{Digest as _, Sha256};
use turnbuckle_types::base::random::RandomnessUnavailable;
use turnbuckle_types::base::text::Escaped;
use turnbuckle_types::{DerivedKeys, KeyLabel, KeyRing, Principal};

use super::authorization_header::{Credentials, Scheme};
use super::denial::Denial;
use super::proof_store::{ProofClaim, ProofStore};
use super::replay_cache::ReplayCache;
use crate::clock::Clock;
use crate::dpop::{DpopError, ProofExpectation, VerifiedProof, verify_proof};

/// The use of the keys that nonces are derived from.
const LABEL: KeyLabel = KeyLabel::new("DPoP nonce");

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
    store: Option<ProofStore>,
}

impl DpopChecker {
    pub(super) fn new(
        mode: DpopMode,
        nonces: Option<NonceIssuer>,
        store: Option<ProofStore>,
    ) -> Self {
        Self {
            mode,
            replays: ReplayCache::default(),
            nonces,
            store,
        }
    }

    /// Has the nonces derive from the keys of a server, unless they have keys of their own.
    pub(super) fn share_keys(&self, ring: &KeyRing) {
        if let Some(nonces) = &self.nonces {
            nonces.share_keys(ring);
        }
    }

    /// Returns the current nonce as a header, if nonces are used.
    pub(super) fn nonce_header(&self, clock: &Clock) -> Option<HeaderValue> {
        let nonces = self.nonces.as_ref()?;
        let nonce = nonces.newest(clock.now() / NONCE_INTERVAL_SECONDS);
        HeaderValue::from_str(&nonce?).ok()
    }

    /// Checks that the credentials fit the binding of their token to a key. Returns the claim that must
    /// be made before the request is served, if instances share a store.
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
    ) -> Result<Option<ProofClaim>, Denial> {
        let is_dpop = credentials.scheme == Scheme::Dpop;
        let Some(key_thumbprint) = key_thumbprint else {
            if is_dpop || self.mode == DpopMode::Required {
                tracing::debug!("refused a token: it is not bound to a key");
                return Err(Denial::InvalidToken);
            }
            return Ok(None);
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

    /// Claims a proof that is new to this instance.
    ///
    /// # Errors
    /// Returns the denial. The reason is logged.
    pub(super) async fn claim(&self, claim: ProofClaim, clock: &Clock) -> Result<(), Denial> {
        let Some(store) = &self.store else {
            return Ok(());
        };
        match store.claim(claim, clock.now()).await {
            Ok(true) => Ok(()),
            Ok(false) => {
                tracing::debug!("refused a DPoP proof: it was used on another instance");
                Err(Denial::InvalidProof)
            }
            Err(_) => Err(Denial::StoreUnavailable),
        }
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
        let nonces = self.nonces.as_ref().map(|nonces| {
            let accepted = intervals.map(|interval| nonces.all(interval));
            accepted.into_iter().flatten().collect::<Vec<_>>()
        });
        let nonces = nonces.as_ref();
        let nonces = nonces.map(|nonces| nonces.iter().map(String::as_str).collect::<Vec<_>>());
        let expectation = ProofExpectation {
            method,
            url,
            access_token: Some(token),
            nonces: nonces.as_deref(),
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
    fn use_up(
        &self,
        principal: &Principal,
        proof: &VerifiedProof,
        now: u64,
    ) -> Result<Option<ProofClaim>, Denial> {
        let expires_at = proof.iat.saturating_add(PROOF_LEEWAY_SECONDS + 1);
        let (thumbprint, jti) = (&proof.thumbprint, &proof.jti);
        let inserted = self
            .replays
            .insert(principal, thumbprint, jti, now, expires_at);
        match inserted {
            Ok(true) => Ok(self.store.as_ref().map(|_| {
                // The clocks of instances may differ as much as those of clients.
                let seconds = expires_at.saturating_sub(now) + PROOF_LEEWAY_SECONDS;
                ProofClaim::new(principal, thumbprint, jti, Duration::from_secs(seconds))
            })),
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

/// The nonces of a server: derived from its keys and the time, so that none must be kept and all
/// instances with the same keys accept each other's.
pub(super) struct NonceIssuer {
    keys: OnceLock<DerivedKeys>,
    /// The keys of this process, for nonces of a server that has no others.
    own: DerivedKeys,
}

impl NonceIssuer {
    /// Creates an issuer with keys, or with random ones, which give way to those of the server.
    pub(super) fn new(ring: Option<&KeyRing>) -> Result<Self, RandomnessUnavailable> {
        let keys = OnceLock::new();
        let own = match ring {
            Some(ring) => keys.get_or_init(|| ring.derive(LABEL)).clone(),
            None => KeyRing::generate()?.derive(LABEL),
        };
        Ok(Self { keys, own })
    }

    fn share_keys(&self, ring: &KeyRing) {
        self.keys.get_or_init(|| ring.derive(LABEL));
    }

    /// Returns the nonce of an interval that clients are given.
    fn newest(&self, interval: u64) -> Option<String> {
        self.all(interval).next()
    }

    /// Returns the nonces of an interval that are accepted: one for each key, the newest first.
    fn all(&self, interval: u64) -> impl Iterator<Item = String> {
        let keys = self.keys.get().unwrap_or(&self.own);
        keys.secrets().map(move |secret| nonce(secret, interval))
    }
}

/// Returns the nonce of a key and an interval. The secret has a fixed length and the digest is cut, so
/// no other nonce can be derived from it.
fn nonce(secret: &[u8; 32], interval: u64) -> String {
    let digest = Sha256::new()
        .chain_update(secret)
        .chain_update(interval.to_be_bytes())
        .finalize();
    URL_SAFE_NO_PAD.encode(&digest[..16])
}

#[cfg(test)]
mod tests {
    use turnbuckle_types::SecretKey;

    use super::*;

    fn issuer(ring: &KeyRing) -> NonceIssuer {
        NonceIssuer::new(Some(ring)).unwrap()
    }

    #[test]
    fn nonces_change_with_the_time_and_are_equal_for_equal_keys() {
        let ring = KeyRing::generate().unwrap();
        let nonces = issuer(&ring);
        assert_eq!(nonces.newest(1), issuer(&ring).newest(1));
        assert_ne!(nonces.newest(1), nonces.newest(2));
        assert_ne!(
            nonces.newest(1),
            issuer(&KeyRing::generate().unwrap()).newest(1)
        );
    }

    #[test]
    fn the_servers_keys_replace_random_ones_and_no_others() {
        let ring = KeyRing::generate().unwrap();
        let random = NonceIssuer::new(None).unwrap();
        assert!(random.newest(1).is_some());
        random.share_keys(&ring);
        assert_eq!(random.newest(1), issuer(&ring).newest(1));
        random.share_keys(&KeyRing::generate().unwrap());
        assert_eq!(random.newest(1), issuer(&ring).newest(1));
    }

    #[test]
    fn the_nonces_of_all_keys_are_accepted_and_the_newest_is_given() {
        let [old, new] = [1, 2].map(|byte| SecretKey::from_bytes([byte; 32]));
        let before = issuer(&KeyRing::new(old.clone()));
        let after = issuer(&KeyRing::new(new.clone()).with_previous(old));
        let given = before.newest(1).unwrap();
        assert!(after.all(1).any(|nonce| nonce == given));
        assert_eq!(after.newest(1), issuer(&KeyRing::new(new)).newest(1));
    }
}
