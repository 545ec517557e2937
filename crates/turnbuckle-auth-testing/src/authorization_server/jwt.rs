//! Checks JWTs that clients and other issuers signed.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::crypto::rust_crypto::DEFAULT_PROVIDER;
use jsonwebtoken::jwk::Jwk;
use jsonwebtoken::{Algorithm, DecodingKey};
use serde_json::{Map, Value};

use super::server::Server;

/// The algorithms that are accepted. Symmetric ones and `none` are not among them.
const ALGORITHMS: [(&str, Algorithm); 4] = [
    ("ES256", Algorithm::ES256),
    ("ES384", Algorithm::ES384),
    ("RS256", Algorithm::RS256),
    ("PS256", Algorithm::PS256),
];

/// Returns the names of the algorithms that are accepted, for metadata.
pub(super) fn algorithm_names() -> Vec<String> {
    ALGORITHMS
        .iter()
        .map(|(name, _)| (*name).to_owned())
        .collect()
}

/// The seconds by which the clocks of issuers may differ from ours.
const LEEWAY: u64 = 30;

/// A JWT whose signature and times are right.
#[derive(Debug)]
pub(super) struct VerifiedJwt {
    /// The `typ` of the header, in lower case.
    pub(super) token_type: String,
    /// The claims, whose signature is checked.
    pub(super) claims: Map<String, Value>,
}

impl VerifiedJwt {
    /// Returns a claim that is a text.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.claims.get(name).and_then(Value::as_str)
    }

    /// Returns true if the header names no special type, as those of ID tokens and assertions.
    pub(super) fn is_plain(&self) -> bool {
        matches!(self.token_type.as_str(), "" | "jwt")
    }

    /// Returns true if the JWT is meant for this server.
    pub(super) fn is_for(&self, server: &Server) -> bool {
        self.has_audience(server.issuer()) || self.has_audience(&server.url("/token"))
    }

    /// Returns true if the `aud` claim names `audience`.
    pub(super) fn has_audience(&self, audience: &str) -> bool {
        match self.claims.get("aud") {
            Some(Value::String(found)) => found == audience,
            Some(Value::Array(all)) => all.iter().any(|found| found == audience),
            _ => false,
        }
    }
}

/// Returns a text claim of a JWT **without** checking its signature, to find the right key.
pub(super) fn unverified_claim(token: &str, name: &str) -> Option<String> {
    let claims = decode_object(token.split('.').nth(1)?)?;
    claims.get(name).and_then(Value::as_str).map(str::to_owned)
}

/// Checks signature, `exp`, `nbf` and `iat` of a JWT.
///
/// # Errors
/// Returns a text for people.
pub(super) fn verify(token: &str, jwks: &Value, now: u64) -> Result<VerifiedJwt, String> {
    let no_jwt = || "it is no JWT".to_owned();
    let (message, signature) = token.rsplit_once('.').ok_or_else(no_jwt)?;
    let (header, claims) = message.split_once('.').ok_or_else(no_jwt)?;
    let header = decode_object(header).ok_or_else(no_jwt)?;
    let claims = decode_object(claims).ok_or_else(no_jwt)?;
    let signature = URL_SAFE_NO_PAD.decode(signature).map_err(|_| no_jwt())?;
    if header.contains_key("crit") {
        return Err("it has critical headers, which nobody here understands".to_owned());
    }
    let name = header
        .get("alg")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let found = ALGORITHMS.iter().find(|(found, _)| *found == name);
    let (_, algorithm) = found.ok_or_else(|| "its algorithm is not accepted".to_owned())?;

    let empty = Vec::new();
    let keys = jwks.get("keys").and_then(Value::as_array).unwrap_or(&empty);
    let key_id = header.get("kid");
    let is_verified = keys
        .iter()
        .filter(|key| key_id.is_none() || key.get("kid") == key_id)
        .any(|key| is_signed_by(key, *algorithm, message, &signature));
    if !is_verified {
        return Err("no key of its issuer verifies its signature".to_owned());
    }
    check_times(&claims, now)?;
    let token_type = header
        .get("typ")
        .and_then(Value::as_str)
        .unwrap_or_default();
    Ok(VerifiedJwt {
        token_type: token_type.to_ascii_lowercase(),
        claims,
    })
}

fn decode_object(part: &str) -> Option<Map<String, Value>> {
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).ok()?).ok()
}

fn is_signed_by(key: &Value, algorithm: Algorithm, message: &str, signature: &[u8]) -> bool {
    // The sizes that the library's arithmetic is made for: 2048 to 4096 bits.
    let modulus = key
        .get("n")
        .and_then(Value::as_str)
        .map(|n| URL_SAFE_NO_PAD.decode(n));
    if modulus.is_some_and(|n| !n.is_ok_and(|n| (256..=512).contains(&n.len()))) {
        return false;
    }
    let Ok(key) = serde_json::from_value::<Jwk>(key.clone()) else {
        return false;
    };
    let Ok(key) = DecodingKey::from_jwk(&key) else {
        return false;
    };
    if key.family() != algorithm.family() {
        return false;
    }
    let verifier = (DEFAULT_PROVIDER.verifier_factory)(&algorithm, &key);
    let signature = signature.to_vec();
    verifier.is_ok_and(|verifier| verifier.verify(message.as_bytes(), &signature).is_ok())
}

fn check_times(claims: &Map<String, Value>, now: u64) -> Result<(), String> {
    let time = |name: &str| {
        claims
            .get(name)
            .map(|value| value.as_f64().unwrap_or(f64::NAN))
    };
    // Times are far below 2^53, so that f64 holds them exactly.
    #[allow(clippy::cast_precision_loss)]
    let (now, leeway) = (now as f64, LEEWAY as f64);
    match time("exp") {
        Some(expiry) if expiry > now => {}
        Some(_) => return Err("it has expired".to_owned()),
        None => return Err("it has no exp".to_owned()),
    }
    for name in ["nbf", "iat"] {
        match time(name) {
            None => {}
            Some(begin) if begin <= now + leeway => {}
            Some(_) => return Err(format!("its {name} is in the future")),
        }
    }
    Ok(())
}
