//! The public keys of an issuer, read from a JSON Web Key Set.
//!
//! Specification: RFC 7517.

use serde::Deserialize;
use serde_json::Value;

use crate::jws::{Jwk, JwtAlgorithm, PublicKey};

/// The keys of a set that are read.
const MAX_KEYS: usize = 100;
/// The keys that are tried for one token.
const MAX_CANDIDATES: usize = 8;

/// The keys of an issuer at one time.
#[derive(Debug, Default)]
pub(super) struct KeySet {
    keys: Vec<VerificationKey>,
}

/// A public key that may verify tokens.
#[derive(Debug)]
pub(super) struct VerificationKey {
    id: Option<String>,
    /// The only algorithm of the key, if it names one.
    algorithm: Option<JwtAlgorithm>,
    pub(super) key: PublicKey,
}

#[derive(Deserialize)]
struct KeyDocument {
    keys: Vec<Value>,
}

#[derive(Deserialize)]
struct KeyMembers {
    kid: Option<String>,
    #[serde(rename = "use")]
    usage: Option<String>,
    key_ops: Option<Vec<String>>,
    alg: Option<String>,
    #[serde(flatten)]
    jwk: Jwk,
}

impl KeySet {
    /// Reads a key set. Keys that are not for signatures, unknown, weak or malformed are left out.
    ///
    /// # Errors
    /// Fails when the document is not a key set.
    pub(super) fn parse(document: &[u8]) -> Result<Self, serde_json::Error> {
        let document: KeyDocument = serde_json::from_slice(document)?;
        let keys = document
            .keys
            .into_iter()
            .take(MAX_KEYS)
            .filter_map(|key| VerificationKey::new(&serde_json::from_value(key).ok()?))
            .collect();
        Ok(Self { keys })
    }

    pub(super) fn len(&self) -> usize {
        self.keys.len()
    }

    /// Returns the keys that may have signed a token: of this identifier, if the token has one, and
    /// for this algorithm.
    pub(super) fn candidates(
        &self,
        id: Option<&str>,
        algorithm: JwtAlgorithm,
    ) -> impl Iterator<Item = &VerificationKey> {
        self.keys
            .iter()
            .filter(move |key| id.is_none() || key.id.as_deref() == id)
            .filter(move |key| key.key.fits(algorithm))
            .filter(move |key| key.algorithm.is_none_or(|only| only == algorithm))
            .take(MAX_CANDIDATES)
    }

    /// Returns whether a key of any type has this identifier.
    pub(super) fn has_key(&self, id: &str) -> bool {
        self.keys.iter().any(|key| key.id.as_deref() == Some(id))
    }
}

impl VerificationKey {
    fn new(members: &KeyMembers) -> Option<Self> {
        if members.usage.as_deref().is_some_and(|usage| usage != "sig") {
            return None;
        }
        if let Some(operations) = &members.key_ops
            && !operations.iter().any(|operation| operation == "verify")
        {
            return None;
        }
        let algorithm = match &members.alg {
            Some(name) => Some(JwtAlgorithm::from_name(name)?),
            None => None,
        };
        Some(Self {
            id: members.kid.clone(),
            algorithm,
            key: members.jwk.public_key()?,
        })
    }
}
