//! The private key with which a client signs its assertions.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::crypto::rust_crypto::DEFAULT_PROVIDER;
use jsonwebtoken::{Algorithm, AlgorithmFamily, EncodingKey};
use p256::pkcs8::EncodePrivateKey as _;
use serde_json::{Value, json};

use crate::error::{AuthError, AuthErrorKind};
use crate::secret::Secret;

/// A private key, the algorithm it signs with and the identifier the server knows it by.
#[derive(Clone)]
pub(crate) struct SigningKey {
    key: EncodingKey,
    algorithm: Algorithm,
    algorithm_name: &'static str,
    key_id: Option<String>,
}

const ALGORITHMS: [(&str, Algorithm); 9] = [
    ("ES256", Algorithm::ES256),
    ("ES384", Algorithm::ES384),
    ("EdDSA", Algorithm::EdDSA),
    ("PS256", Algorithm::PS256),
    ("PS384", Algorithm::PS384),
    ("PS512", Algorithm::PS512),
    ("RS256", Algorithm::RS256),
    ("RS384", Algorithm::RS384),
    ("RS512", Algorithm::RS512),
];

impl SigningKey {
    /// Reads a key from PEM: PKCS #8, PKCS #1 for RSA, or SEC 1 for P-256.
    ///
    /// # Errors
    /// Fails when the algorithm is unknown or the key does not fit it.
    pub(crate) fn from_pem(pem: &Secret, algorithm: &str) -> Result<Self, AuthError> {
        let known = ALGORITHMS.iter().find(|(name, _)| *name == algorithm);
        let Some(&(algorithm_name, algorithm)) = known else {
            let names: Vec<_> = ALGORITHMS.iter().map(|(name, _)| *name).collect();
            return Err(unusable(format!(
                "{algorithm} is no algorithm for assertions; use one of {}",
                names.join(", ")
            )));
        };
        let misfit = || {
            unusable(format!(
                "the private key is no {algorithm_name} key; use an unencrypted PKCS #8 PEM \
                 (\"BEGIN PRIVATE KEY\"), for instance from `openssl pkcs8 -topk8 -nocrypt`"
            ))
        };
        let pem = normalize_pem(pem);
        let key = encoding_key(&pem, algorithm).ok_or_else(misfit)?;
        let signing_key = Self {
            key,
            algorithm,
            algorithm_name,
            key_id: None,
        };
        // A signature shows at once that the key's curve and size fit the algorithm.
        signing_key.sign(&Value::Null).map_err(|_| misfit())?;
        Ok(signing_key)
    }

    /// Sets the `kid` of the assertions.
    pub(crate) fn set_key_id(&mut self, key_id: impl Into<String>) {
        self.key_id = Some(key_id.into());
    }

    /// Returns the name of the algorithm, such as `ES256`.
    pub(crate) fn algorithm(&self) -> &'static str {
        self.algorithm_name
    }

    /// Returns a JWT with these claims.
    ///
    /// # Errors
    /// Fails when the key cannot sign.
    pub(crate) fn sign(&self, claims: &Value) -> Result<Secret, AuthError> {
        let mut header = json!({ "alg": self.algorithm_name, "typ": "JWT" });
        if let Some(key_id) = &self.key_id {
            header["kid"] = key_id.as_str().into();
        }
        let message = format!(
            "{}.{}",
            URL_SAFE_NO_PAD.encode(header.to_string()),
            URL_SAFE_NO_PAD.encode(claims.to_string())
        );
        let failed = |_| unusable("the private key cannot sign an assertion");
        // The process-wide default of jsonwebtoken panics if another crate enables a second provider.
        let signer =
            (DEFAULT_PROVIDER.signer_factory)(&self.algorithm, &self.key).map_err(failed)?;
        let signature = signer.try_sign(message.as_bytes());
        let signature =
            signature.map_err(|_| unusable("the private key cannot sign an assertion"))?;
        Ok(Secret::new(format!(
            "{message}.{}",
            URL_SAFE_NO_PAD.encode(signature)
        )))
    }
}

/// Creates the error of a key that cannot be used.
fn unusable(message: impl Into<String>) -> AuthError {
    AuthError::new(AuthErrorKind::Settings, message)
}

/// Restores the line breaks of a PEM that went through an environment variable.
fn normalize_pem(pem: &Secret) -> Secret {
    let text = pem.expose().trim();
    if text.contains('\n') {
        Secret::new(text)
    } else {
        Secret::new(text.replace("\\n", "\n"))
    }
}

fn encoding_key(pem: &Secret, algorithm: Algorithm) -> Option<EncodingKey> {
    let bytes = pem.expose().as_bytes();
    match algorithm.family() {
        AlgorithmFamily::Rsa => EncodingKey::from_rsa_pem(bytes).ok(),
        AlgorithmFamily::Ed => EncodingKey::from_ed_pem(bytes).ok(),
        AlgorithmFamily::Ec if pem.expose().starts_with("-----BEGIN EC PRIVATE KEY-----") => {
            let key = p256::SecretKey::from_sec1_pem(pem.expose()).ok()?;
            let der = key.to_pkcs8_der().ok()?;
            Some(EncodingKey::from_ec_der(der.as_bytes()))
        }
        AlgorithmFamily::Ec => EncodingKey::from_ec_pem(bytes).ok(),
        AlgorithmFamily::Hmac => None,
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SigningKey")
            .field("algorithm", &self.algorithm_name)
            .field("key_id", &self.key_id)
            .finish_non_exhaustive()
    }
}
