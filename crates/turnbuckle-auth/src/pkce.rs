//! Proof Key for Code Exchange: a secret that ties a code to the client that asked for it.
//!
//! Specification: RFC 7636.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};
use turnbuckle_types::base::random::{self, RandomnessUnavailable};

use crate::secret::Secret;

/// Returns a random text of 32 bytes in URL-safe Base64: a verifier, a `state` or a nonce.
///
/// # Errors
/// Fails when the operating system has no randomness.
pub(crate) fn random_token() -> Result<Secret, RandomnessUnavailable> {
    random::secret().map(Secret::new)
}

/// Returns the SHA-256 of a text in URL-safe Base64: the `S256` challenge of a verifier, the `ath` of a
/// token, a thumbprint.
pub(crate) fn sha256_base64url(text: &str) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    // requirement: 378b35bc3977
    #[test]
    fn the_challenge_is_that_of_the_rfc() {
        let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
        let challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
        assert_eq!(sha256_base64url(verifier), challenge);
    }
}
