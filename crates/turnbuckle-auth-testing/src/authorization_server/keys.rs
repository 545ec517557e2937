//! The keys that sign the tokens of the test server (ES256).

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use p256::ecdsa::signature::Signer as _;
use p256::ecdsa::{Signature, SigningKey};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use turnbuckle_types::base::random::{self, RandomnessUnavailable};

/// The number of former keys that stay published after rotations.
const MAX_FORMER_KEYS: usize = 3;

/// The current signing key and the former ones that are still published.
pub(super) struct SigningKeys(Mutex<KeyRing>);

struct KeyRing {
    current: Key,
    former: VecDeque<Key>,
}

/// A signing key. Its id is its thumbprint (RFC 7638).
pub(super) struct Key {
    signing_key: SigningKey,
    pub(super) id: String,
    pub(super) jwk: Value,
}

impl Key {
    /// Generates a key.
    pub(super) fn generate() -> Result<Self, RandomnessUnavailable> {
        // All but about one of 2^32 texts are a key of this curve.
        let signing_key = SigningKey::from_slice(&random::bytes::<32>()?);
        let signing_key = signing_key.map_err(|_| RandomnessUnavailable)?;
        let point = signing_key.verifying_key().to_encoded_point(false);
        let encode = |coordinate: Option<&p256::FieldBytes>| {
            URL_SAFE_NO_PAD.encode(coordinate.map(|bytes| bytes.as_slice()).unwrap_or_default())
        };
        let (x, y) = (encode(point.x()), encode(point.y()));
        let thumbprint = format!(r#"{{"crv":"P-256","kty":"EC","x":"{x}","y":"{y}"}}"#);
        let id = URL_SAFE_NO_PAD.encode(Sha256::digest(thumbprint));
        let jwk = json!({
            "kty": "EC", "crv": "P-256", "x": x, "y": y, "use": "sig", "alg": "ES256", "kid": id,
        });
        Ok(Self {
            signing_key,
            id,
            jwk,
        })
    }

    /// Signs a header and claims, and returns the compact form of the JWT.
    pub(super) fn sign(
        &self,
        header: &Value,
        claims: &Value,
    ) -> Result<String, RandomnessUnavailable> {
        let mut token = URL_SAFE_NO_PAD.encode(header.to_string());
        token.push('.');
        URL_SAFE_NO_PAD.encode_string(claims.to_string(), &mut token);
        let signature: Signature = self
            .signing_key
            .try_sign(token.as_bytes())
            .map_err(|_| RandomnessUnavailable)?;
        token.push('.');
        URL_SAFE_NO_PAD.encode_string(signature.to_bytes(), &mut token);
        Ok(token)
    }
}

impl SigningKeys {
    /// Generates the first key.
    pub(super) fn generate() -> Result<Self, RandomnessUnavailable> {
        let current = Key::generate()?;
        Ok(Self(Mutex::new(KeyRing {
            current,
            former: VecDeque::new(),
        })))
    }

    fn lock(&self) -> MutexGuard<'_, KeyRing> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Signs with a new key from now on. The former key stays published.
    pub(super) fn rotate(&self) -> Result<(), RandomnessUnavailable> {
        let next = Key::generate()?;
        let mut ring = self.lock();
        let former = std::mem::replace(&mut ring.current, next);
        ring.former.push_front(former);
        ring.former.truncate(MAX_FORMER_KEYS);
        Ok(())
    }

    /// Signs with a new key from now on and publishes no other.
    pub(super) fn replace(&self) -> Result<(), RandomnessUnavailable> {
        let next = Key::generate()?;
        let mut ring = self.lock();
        ring.current = next;
        ring.former.clear();
        Ok(())
    }

    /// Returns the public keys as a JSON Web Key Set.
    pub(super) fn jwks(&self) -> Value {
        let ring = self.lock();
        let keys: Vec<&Value> = std::iter::once(&ring.current)
            .chain(&ring.former)
            .map(|key| &key.jwk)
            .collect();
        json!({ "keys": keys })
    }

    /// Signs claims with the current key and returns the compact form of the JWT.
    pub(super) fn sign(
        &self,
        token_type: &str,
        claims: &Value,
    ) -> Result<String, RandomnessUnavailable> {
        let key = &self.lock().current;
        let header = json!({ "alg": "ES256", "typ": token_type, "kid": key.id });
        key.sign(&header, claims)
    }
}
