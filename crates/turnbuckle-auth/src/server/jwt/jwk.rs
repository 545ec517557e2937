//! The public keys of an issuer, read from a JSON Web Key Set.
//!
//! Specification: RFC 7517, RFC 7518 section 6, RFC 8037.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::DecodingKey;
use jsonwebtoken::crypto::rust_crypto::DEFAULT_PROVIDER;
use serde::Deserialize;
use serde_json::Value;

use super::algorithm::{JwtAlgorithm, KeyType};

/// The keys of a set that are read.
const MAX_KEYS: usize = 100;
/// The keys that are tried for one token.
const MAX_CANDIDATES: usize = 8;
const MIN_RSA_BYTES: usize = 2048 / 8;
const MAX_RSA_BYTES: usize = 4096 / 8;

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
    key_type: KeyType,
    key: DecodingKey,
}

#[derive(Deserialize)]
struct KeyDocument {
    keys: Vec<Value>,
}

#[derive(Deserialize)]
struct KeyMembers {
    kty: String,
    kid: Option<String>,
    #[serde(rename = "use")]
    usage: Option<String>,
    key_ops: Option<Vec<String>>,
    alg: Option<String>,
    crv: Option<String>,
    x: Option<String>,
    y: Option<String>,
    n: Option<String>,
    e: Option<String>,
}

impl KeySet {
    /// Reads a key set. Keys that are not for signatures, unknown, weak or malformed are left out.
    ///
    /// # Errors
    /// Fails when the document is no key set.
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
            .filter(move |key| Some(key.key_type) == algorithm.key_type())
            .filter(move |key| key.algorithm.is_none_or(|only| only == algorithm))
            .take(MAX_CANDIDATES)
    }

    /// Returns whether a key has this identifier, whatever its type.
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
        // The lengths are checked here: the verifier of Ed25519 panics at short keys.
        let (key_type, key) = match (members.kty.as_str(), members.crv.as_deref()) {
            ("EC", Some("P-256")) => (KeyType::P256, members.elliptic_key(32)?),
            ("EC", Some("P-384")) => (KeyType::P384, members.elliptic_key(48)?),
            ("OKP", Some("Ed25519")) => {
                let x = decode(members.x.as_deref()?, 32)?;
                (KeyType::Ed25519, DecodingKey::from_ed_der(&x))
            }
            ("RSA", _) => {
                let modulus = URL_SAFE_NO_PAD.decode(members.n.as_deref()?).ok()?;
                let exponent = URL_SAFE_NO_PAD.decode(members.e.as_deref()?).ok()?;
                let modulus_bytes = modulus.iter().skip_while(|byte| **byte == 0).count();
                if !(MIN_RSA_BYTES..=MAX_RSA_BYTES).contains(&modulus_bytes)
                    || !(1..=8).contains(&exponent.len())
                {
                    return None;
                }
                let key = DecodingKey::from_rsa_raw_components(&modulus, &exponent);
                (KeyType::Rsa, key)
            }
            _ => return None,
        };
        Some(Self {
            id: members.kid.clone(),
            algorithm,
            key_type,
            key,
        })
    }

    /// Returns whether a signature of a message is of this key.
    pub(super) fn verifies(
        &self,
        message: &[u8],
        signature: &Vec<u8>,
        algorithm: JwtAlgorithm,
    ) -> bool {
        // The process-wide default of jsonwebtoken panics if another crate enables a second provider.
        (DEFAULT_PROVIDER.verifier_factory)(&algorithm.as_inner(), &self.key)
            .is_ok_and(|verifier| verifier.verify(message, signature).is_ok())
    }
}

impl KeyMembers {
    fn elliptic_key(&self, coordinate_bytes: usize) -> Option<DecodingKey> {
        let mut point = vec![4];
        point.extend(decode(self.x.as_deref()?, coordinate_bytes)?);
        point.extend(decode(self.y.as_deref()?, coordinate_bytes)?);
        Some(DecodingKey::from_ec_der(&point))
    }
}

fn decode(text: &str, bytes: usize) -> Option<Vec<u8>> {
    let decoded = URL_SAFE_NO_PAD.decode(text).ok()?;
    (decoded.len() == bytes).then_some(decoded)
}
