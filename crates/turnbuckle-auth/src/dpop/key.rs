//! The key of a client that creates DPoP proofs.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use p256::ecdsa::signature::Signer as _;
use p256::ecdsa::{Signature, SigningKey};
use p256::pkcs8::{DecodePrivateKey as _, EncodePrivateKey as _, LineEnding};
use serde_json::{Value, json};
use turnbuckle_types::base::{debug_fields, random};
use url::Url;
use zeroize::Zeroize as _;

use super::PROOF_TYPE;
use crate::pkce::random_token;
use crate::pkce::sha256_base64url;
use crate::secret::Secret;

/// A P-256 key that signs DPoP proofs with ES256.
#[derive(Clone)]
pub(crate) struct DpopKey {
    signing_key: SigningKey,
    jwk: Value,
    thumbprint: String,
}

/// The reason why a key or a proof could not be made. The text is for people.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct DpopKeyError(pub(super) &'static str);

impl DpopKey {
    /// Creates a new random key.
    ///
    /// # Errors
    /// Fails when the operating system has no randomness.
    pub(crate) fn generate() -> Result<Self, DpopKeyError> {
        let mut bytes = [0; 32];
        // Nearly every 32 bytes are a valid key. The bound is for a broken source of randomness.
        for _ in 0..8 {
            random::fill(&mut bytes)
                .map_err(|_| DpopKeyError("the operating system has no randomness"))?;
            let signing_key = SigningKey::from_slice(&bytes);
            bytes.zeroize();
            if let Ok(signing_key) = signing_key {
                return Self::from_signing_key(signing_key);
            }
        }
        Err(DpopKeyError("the operating system has no randomness"))
    }

    /// Reads a key that [`to_pem`](Self::to_pem) wrote.
    ///
    /// # Errors
    /// Fails when the text is not a P-256 key as PKCS #8 PEM.
    pub(crate) fn from_pem(pem: &Secret) -> Result<Self, DpopKeyError> {
        let signing_key = SigningKey::from_pkcs8_pem(pem.expose())
            .map_err(|_| DpopKeyError("the DPoP key is not a P-256 key as PKCS #8 PEM"))?;
        Self::from_signing_key(signing_key)
    }

    /// Returns the private key as PKCS #8 PEM, for a store.
    ///
    /// # Errors
    /// Fails when the key cannot be encoded.
    pub(crate) fn to_pem(&self) -> Result<Secret, DpopKeyError> {
        let pem = self
            .signing_key
            .to_pkcs8_pem(LineEnding::LF)
            .map_err(|_| DpopKeyError("the DPoP key cannot be encoded as PKCS #8 PEM"))?;
        Ok(Secret::new(pem.as_str()))
    }

    /// Returns the public key as a JSON Web Key.
    #[cfg(test)]
    pub(crate) fn jwk(&self) -> &Value {
        &self.jwk
    }

    /// Returns the SHA-256 thumbprint of the public key, the `jkt` of a token bound to this key.
    pub(crate) fn thumbprint(&self) -> &str {
        &self.thumbprint
    }

    /// Returns a proof for one request.
    ///
    /// `url` is the URL of the request; its query and fragment are left out of the proof.
    /// `access_token` is the token that the request carries, `nonce` the last one that the server
    /// gave, `now` the time in seconds since 1970.
    ///
    /// # Errors
    /// Fails when the operating system has no randomness.
    pub(crate) fn proof(
        &self,
        method: &str,
        url: &Url,
        access_token: Option<&str>,
        nonce: Option<&str>,
        now: u64,
    ) -> Result<String, DpopKeyError> {
        let mut target = url.clone();
        target.set_query(None);
        target.set_fragment(None);
        let jti =
            random_token().map_err(|_| DpopKeyError("the operating system has no randomness"))?;
        let mut claims = json!({
            "jti": jti.expose(),
            "htm": method,
            "htu": target.as_str(),
            "iat": now,
        });
        if let Some(access_token) = access_token {
            claims["ath"] = sha256_base64url(access_token).into();
        }
        if let Some(nonce) = nonce {
            claims["nonce"] = nonce.into();
        }
        let header = json!({ "typ": PROOF_TYPE, "alg": "ES256", "jwk": self.jwk });
        let message = format!("{}.{}", encode_part(&header), encode_part(&claims));
        let signature: Signature = self.signing_key.sign(message.as_bytes());
        let signature = URL_SAFE_NO_PAD.encode(signature.to_bytes());
        Ok(format!("{message}.{signature}"))
    }

    fn from_signing_key(signing_key: SigningKey) -> Result<Self, DpopKeyError> {
        let point = signing_key.verifying_key().to_encoded_point(false);
        let (Some(x), Some(y)) = (point.x(), point.y()) else {
            return Err(DpopKeyError("the DPoP key has no public key"));
        };
        let (x, y) = (URL_SAFE_NO_PAD.encode(x), URL_SAFE_NO_PAD.encode(y));
        let canonical = format!(r#"{{"crv":"P-256","kty":"EC","x":"{x}","y":"{y}"}}"#);
        Ok(Self {
            signing_key,
            jwk: json!({ "kty": "EC", "crv": "P-256", "x": x, "y": y }),
            thumbprint: sha256_base64url(&canonical),
        })
    }
}

fn encode_part(part: &Value) -> String {
    URL_SAFE_NO_PAD.encode(part.to_string())
}

debug_fields!(DpopKey { thumbprint });
