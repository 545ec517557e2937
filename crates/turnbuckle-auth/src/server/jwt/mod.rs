//! Access tokens that are JWTs, and the keys of their issuers.
//!
//! Specification: RFC 7519, RFC 9068, RFC 8725.

mod issuer_keys;
mod jwk;
mod metadata;
#[cfg(test)]
mod tests;
mod verify;

pub(super) use issuer_keys::IssuerKeys;
pub(super) use verify::{JwtIssuer, unverified_issuer};
