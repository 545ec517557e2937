//! The algorithms of signed tokens. None of them is symmetric.

use jsonwebtoken::Algorithm;

/// A signature algorithm with a public key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct JwtAlgorithm(Algorithm);

/// The type of a public key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeyType {
    P256,
    P384,
    Ed25519,
    Rsa,
}

impl JwtAlgorithm {
    /// Every algorithm that is accepted unless others are set.
    pub(crate) const ALL: [Self; 9] = [
        Self(Algorithm::ES256),
        Self(Algorithm::ES384),
        Self(Algorithm::EdDSA),
        Self(Algorithm::RS256),
        Self(Algorithm::RS384),
        Self(Algorithm::RS512),
        Self(Algorithm::PS256),
        Self(Algorithm::PS384),
        Self(Algorithm::PS512),
    ];

    /// Returns the algorithm of an `alg` parameter. `none` and symmetric algorithms are not known.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Some(Self(match name {
            "ES256" => Algorithm::ES256,
            "ES384" => Algorithm::ES384,
            "EdDSA" | "Ed25519" => Algorithm::EdDSA,
            "RS256" => Algorithm::RS256,
            "RS384" => Algorithm::RS384,
            "RS512" => Algorithm::RS512,
            "PS256" => Algorithm::PS256,
            "PS384" => Algorithm::PS384,
            "PS512" => Algorithm::PS512,
            _ => return None,
        }))
    }

    pub(super) fn as_inner(self) -> Algorithm {
        self.0
    }

    /// Returns the type of the keys of this algorithm. A symmetric one has none.
    pub(super) fn key_type(self) -> Option<KeyType> {
        match self.0 {
            Algorithm::ES256 => Some(KeyType::P256),
            Algorithm::ES384 => Some(KeyType::P384),
            Algorithm::EdDSA => Some(KeyType::Ed25519),
            Algorithm::RS256
            | Algorithm::RS384
            | Algorithm::RS512
            | Algorithm::PS256
            | Algorithm::PS384
            | Algorithm::PS512 => Some(KeyType::Rsa),
            _ => None,
        }
    }
}
