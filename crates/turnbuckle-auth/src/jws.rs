//! The signatures of JWTs: their parts, algorithms and public keys.
//!
//! Specification: RFC 7515, RFC 7517, RFC 7518 section 6, RFC 7638, RFC 8037.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::crypto::rust_crypto::DEFAULT_PROVIDER;
use jsonwebtoken::{Algorithm, DecodingKey};
use serde::Deserialize;

use crate::pkce::sha256_base64url;

const MIN_RSA_BYTES: usize = 2048 / 8;
const MAX_RSA_BYTES: usize = 4096 / 8;

/// The parts of a JWT in compact form, each in URL-safe Base64.
pub(crate) struct Parts<'a> {
    pub(crate) header: &'a str,
    pub(crate) claims: &'a str,
    pub(crate) signature: &'a str,
    /// The header and the claims: the text that is signed.
    pub(crate) message: &'a str,
}

/// Splits a JWT. Returns `None` for a text that has not three parts.
pub(crate) fn split(token: &str) -> Option<Parts<'_>> {
    let (message, signature) = token.rsplit_once('.')?;
    let (header, claims) = message.split_once('.')?;
    (!claims.contains('.')).then_some(Parts {
        header,
        claims,
        signature,
        message,
    })
}

/// A signature algorithm with a public key. `none` and symmetric algorithms are not among them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct JwtAlgorithm {
    algorithm: Algorithm,
    key_type: KeyType,
}

/// The type of a public key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum KeyType {
    P256,
    P384,
    Ed25519,
    Rsa,
}

impl JwtAlgorithm {
    /// Every algorithm by its name in the `alg` parameter.
    pub(crate) const ALL: [(&str, Self); 10] = [
        ("ES256", Self::new(Algorithm::ES256, KeyType::P256)),
        ("ES384", Self::new(Algorithm::ES384, KeyType::P384)),
        ("EdDSA", Self::new(Algorithm::EdDSA, KeyType::Ed25519)),
        ("Ed25519", Self::new(Algorithm::EdDSA, KeyType::Ed25519)),
        ("RS256", Self::new(Algorithm::RS256, KeyType::Rsa)),
        ("RS384", Self::new(Algorithm::RS384, KeyType::Rsa)),
        ("RS512", Self::new(Algorithm::RS512, KeyType::Rsa)),
        ("PS256", Self::new(Algorithm::PS256, KeyType::Rsa)),
        ("PS384", Self::new(Algorithm::PS384, KeyType::Rsa)),
        ("PS512", Self::new(Algorithm::PS512, KeyType::Rsa)),
    ];

    const fn new(algorithm: Algorithm, key_type: KeyType) -> Self {
        Self {
            algorithm,
            key_type,
        }
    }

    /// Returns the algorithm of an `alg` parameter.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        let found = Self::ALL.iter().find(|(known, _)| *known == name);
        found.map(|(_, algorithm)| *algorithm)
    }
}

/// The members of a JSON Web Key that make up a public key.
#[derive(Deserialize)]
pub(crate) struct Jwk {
    kty: String,
    crv: Option<String>,
    x: Option<String>,
    y: Option<String>,
    n: Option<String>,
    e: Option<String>,
}

/// A public key that verifies signatures.
#[derive(Debug)]
pub(crate) struct PublicKey {
    key_type: KeyType,
    key: DecodingKey,
}

impl Jwk {
    /// Returns the key, or `None` for one that is unknown, weak or malformed.
    pub(crate) fn public_key(&self) -> Option<PublicKey> {
        // The lengths are checked here: the verifier of Ed25519 panics at short keys.
        let (key_type, key) = match (self.kty.as_str(), self.crv.as_deref()) {
            ("EC", Some("P-256")) => (KeyType::P256, self.elliptic_key(32)?),
            ("EC", Some("P-384")) => (KeyType::P384, self.elliptic_key(48)?),
            ("OKP", Some("Ed25519")) => {
                let x = decode(&self.x).filter(|x| x.len() == 32)?;
                (KeyType::Ed25519, DecodingKey::from_ed_der(&x))
            }
            ("RSA", _) => {
                let (modulus, exponent) = (decode(&self.n)?, decode(&self.e)?);
                let modulus_bytes = modulus.iter().skip_while(|byte| **byte == 0).count();
                let is_sound = (MIN_RSA_BYTES..=MAX_RSA_BYTES).contains(&modulus_bytes)
                    && (1..=8).contains(&exponent.len());
                let key = DecodingKey::from_rsa_raw_components(&modulus, &exponent);
                (KeyType::Rsa, is_sound.then_some(key)?)
            }
            _ => return None,
        };
        Some(PublicKey { key_type, key })
    }

    fn elliptic_key(&self, coordinate_bytes: usize) -> Option<DecodingKey> {
        let (x, y) = (decode(&self.x)?, decode(&self.y)?);
        let is_sound = x.len() == coordinate_bytes && y.len() == coordinate_bytes;
        let point = [&[4], x.as_slice(), y.as_slice()].concat();
        is_sound.then(|| DecodingKey::from_ec_der(&point))
    }

    /// Returns the SHA-256 thumbprint. The members of a [`PublicKey`] are harmless in JSON.
    pub(crate) fn thumbprint(&self) -> String {
        let [crv, x, y, n, e] = [&self.crv, &self.x, &self.y, &self.n, &self.e]
            .map(|member| member.as_deref().unwrap_or_default());
        sha256_base64url(&match self.kty.as_str() {
            "RSA" => format!(r#"{{"e":"{e}","kty":"RSA","n":"{n}"}}"#),
            "OKP" => format!(r#"{{"crv":"{crv}","kty":"OKP","x":"{x}"}}"#),
            _ => format!(r#"{{"crv":"{crv}","kty":"EC","x":"{x}","y":"{y}"}}"#),
        })
    }
}

fn decode(member: &Option<String>) -> Option<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(member.as_deref()?).ok()
}

impl PublicKey {
    /// Returns whether the key is for an algorithm.
    pub(crate) fn fits(&self, algorithm: JwtAlgorithm) -> bool {
        self.key_type == algorithm.key_type
    }

    /// Returns whether a signature of a message is of this key, or `None` if the key has no value on its
    /// curve.
    pub(crate) fn verifies(
        &self,
        message: &str,
        signature: &Vec<u8>,
        algorithm: JwtAlgorithm,
    ) -> Option<bool> {
        // The process-wide default of jsonwebtoken panics if another crate enables a second provider.
        let factory = DEFAULT_PROVIDER.verifier_factory;
        let verifier = factory(&algorithm.algorithm, &self.key).ok()?;
        let verified = verifier.verify(message.as_bytes(), signature);
        Some(self.fits(algorithm) && verified.is_ok())
    }
}
