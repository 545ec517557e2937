//! DPoP proofs: a client shows with each request that it holds the key to which a token is bound.
//!
//! [`verify_proof`] checks a proof for a server, which remembers the `jti` of each proof itself. The
//! OAuth client of this crate creates proofs.
//!
//! Specification: RFC 9449; thumbprints: RFC 7638.

#[cfg(any(feature = "client", test))]
mod key;
#[cfg(feature = "client")]
mod session;
#[cfg(test)]
#[cfg(all(feature = "client", feature = "server"))]
mod tests;
mod verify;

#[cfg(any(feature = "client", test))]
pub(crate) use key::{DpopKey, DpopKeyError};
#[cfg(feature = "client")]
pub(crate) use session::DpopSession;
#[cfg(feature = "server")]
pub(crate) use verify::ALGORITHMS;
pub use verify::{DpopError, ProofExpectation, VerifiedProof, verify_proof};

/// The media type of a proof in its `typ` header parameter.
const PROOF_TYPE: &str = "dpop+jwt";
