//! DPoP proofs: a client shows with each request that it holds the key to which a token is bound.
//!
//! [`DpopKey`] creates proofs, [`DpopSession`] also remembers the nonces of servers, and
//! [`verify_proof`] checks a proof for a server. A server remembers the `jti` of each proof itself.
//!
//! Specification: RFC 9449; thumbprints: RFC 7638.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};

#[cfg(any(feature = "client", test))]
mod key;
#[cfg(feature = "client")]
mod session;
#[cfg(test)]
#[cfg(all(feature = "client", feature = "server"))]
mod tests;
#[cfg(any(feature = "server", feature = "test-server"))]
mod verify;

#[cfg(any(feature = "client", test))]
pub(crate) use key::{DpopKey, DpopKeyError};
#[cfg(feature = "client")]
pub(crate) use session::DpopSession;
#[cfg(any(feature = "server", feature = "test-server"))]
pub(crate) use verify::{DpopError, ProofExpectation, verify_proof};

/// The media type of a proof in its `typ` header parameter.
const PROOF_TYPE: &str = "dpop+jwt";

/// Returns the SHA-256 of a text in URL-safe Base64: an `ath` claim or a thumbprint.
fn sha256_base64url(text: &str) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(text))
}
