//! The checks of a DPoP proof by a server.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize as _;
use serde_json::{Map, Value};
use url::Url;

use super::PROOF_TYPE;
use crate::jws::{self, Jwk, JwtAlgorithm, Parts};
use crate::pkce::sha256_base64url;

/// The longest proof that is read. One with a 4096-bit RSA key has about 2 KiB.
const MAX_PROOF_BYTES: usize = 8 * 1024;
const MAX_JTI_BYTES: usize = 256;
/// The algorithms of proofs that are accepted.
pub(crate) const ALGORITHMS: [&str; 5] = ["ES256", "ES384", "EdDSA", "RS256", "PS256"];
/// Members of a JSON Web Key that hold private or symmetric keys.
const PRIVATE_MEMBERS: [&str; 8] = ["d", "p", "q", "dp", "dq", "qi", "oth", "k"];

/// The request that a proof must be for.
#[derive(Debug, Clone, Copy)]
pub struct ProofExpectation<'a> {
    /// The method of the request.
    pub method: &'a str,
    /// The URL of the request as the client sees it. Query and fragment are ignored.
    pub url: &'a str,
    /// The token of the request. None at a token endpoint: `ath` is not checked there.
    pub access_token: Option<&'a str>,
    /// The nonces that are accepted. None: a nonce is not needed and not checked.
    pub nonces: Option<&'a [&'a str]>,
    /// The time in seconds since 1970.
    pub now: u64,
    /// The seconds that a proof may be older or newer than `now`. A `jti` must be remembered until
    /// `iat + leeway`.
    pub leeway: u64,
}

/// A proof that passed all checks except that its `jti` is new.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifiedProof {
    /// The identifier of the proof. It may be used once per key.
    pub jti: String,
    /// The SHA-256 thumbprint of the key, to be compared with the token's `cnf.jkt`.
    pub thumbprint: String,
    /// The time of the proof in seconds since 1970.
    pub iat: u64,
}

/// The reason why a proof is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DpopError {
    /// The proof is longer than any honest one.
    #[error("the DPoP proof is too long")]
    TooLong,
    /// The proof is not a JWT, or a claim is missing or has the wrong type.
    #[error("the DPoP proof is malformed")]
    Malformed,
    /// The `typ` is not `dpop+jwt`.
    #[error("the typ of the DPoP proof is not dpop+jwt")]
    WrongType,
    /// The algorithm is none, symmetric or unknown.
    #[error("the algorithm of the DPoP proof is not accepted")]
    Algorithm,
    /// The `jwk` holds a private key.
    #[error("the jwk of the DPoP proof holds a private key")]
    PrivateKey,
    /// The `jwk` is not a key for the algorithm.
    #[error("the jwk of the DPoP proof does not fit its algorithm")]
    Key,
    /// The signature is not of this key.
    #[error("the signature of the DPoP proof is invalid")]
    Signature,
    /// The `htm` is another method.
    #[error("the htm of the DPoP proof is another method")]
    Method,
    /// The `htu` is another URL.
    #[error("the htu of the DPoP proof is another URL")]
    Url,
    /// The `ath` is missing or of another token.
    #[error("the ath of the DPoP proof is not of this access token")]
    AccessToken,
    /// The proof is too old or from the future.
    #[error("the iat of the DPoP proof is too old or in the future")]
    IssuedAt,
    /// The nonce is missing or not one that the server gave lately.
    #[error("the DPoP proof needs a nonce of this server")]
    Nonce,
}

/// Checks a proof.
///
/// The caller checks that the `jti` was not used before and that the thumbprint is that of the token.
///
/// # Errors
/// Returns the first rule that the proof breaks.
pub fn verify_proof(
    proof: &str,
    expectation: &ProofExpectation<'_>,
) -> Result<VerifiedProof, DpopError> {
    if proof.len() > MAX_PROOF_BYTES {
        return Err(DpopError::TooLong);
    }
    let parts = jws::split(proof).ok_or(DpopError::Malformed)?;
    let header = decode_object(parts.header)?;
    let thumbprint = verify_signature(&header, &parts)?;
    let claims = decode_object(parts.claims)?;

    if text(&claims, "htm")? != expectation.method {
        return Err(DpopError::Method);
    }
    let expected_url = normalize_url(expectation.url).ok_or(DpopError::Url)?;
    if normalize_url(text(&claims, "htu")?).as_ref() != Some(&expected_url) {
        return Err(DpopError::Url);
    }
    if let Some(access_token) = expectation.access_token {
        let ath = claims.get("ath").and_then(Value::as_str);
        if ath != Some(sha256_base64url(access_token).as_str()) {
            return Err(DpopError::AccessToken);
        }
    }
    let iat = issued_at(&claims)?;
    if iat.abs_diff(expectation.now) > expectation.leeway {
        return Err(DpopError::IssuedAt);
    }
    if let Some(nonces) = expectation.nonces {
        let nonce = claims.get("nonce").and_then(Value::as_str);
        if !nonce.is_some_and(|nonce| nonces.contains(&nonce)) {
            return Err(DpopError::Nonce);
        }
    }
    let jti = text(&claims, "jti")?;
    if jti.is_empty() || jti.len() > MAX_JTI_BYTES {
        return Err(DpopError::Malformed);
    }
    Ok(VerifiedProof {
        jti: jti.to_owned(),
        thumbprint,
        iat,
    })
}

/// Checks the header and the signature. Returns the thumbprint of the key.
fn verify_signature(header: &Map<String, Value>, parts: &Parts<'_>) -> Result<String, DpopError> {
    if !text(header, "typ")?.eq_ignore_ascii_case(PROOF_TYPE) {
        return Err(DpopError::WrongType);
    }
    if header.contains_key("crit") {
        return Err(DpopError::Malformed);
    }
    let name = text(header, "alg")?;
    let algorithm = JwtAlgorithm::from_name(name).filter(|_| ALGORITHMS.contains(&name));
    let algorithm = algorithm.ok_or(DpopError::Algorithm)?;
    let jwk = header.get("jwk").ok_or(DpopError::Key)?;
    if PRIVATE_MEMBERS
        .iter()
        .any(|member| jwk.get(member).is_some())
    {
        return Err(DpopError::PrivateKey);
    }
    let jwk = Jwk::deserialize(jwk).map_err(|_| DpopError::Key)?;
    let key = jwk.public_key().filter(|key| key.fits(algorithm));
    let key = key.ok_or(DpopError::Key)?;
    let signature = URL_SAFE_NO_PAD.decode(parts.signature);
    let signature = signature.map_err(|_| DpopError::Malformed)?;
    match key.verifies(parts.message, &signature, algorithm) {
        Some(true) => Ok(jwk.thumbprint()),
        Some(false) => Err(DpopError::Signature),
        None => Err(DpopError::Key),
    }
}

fn text<'a>(object: &'a Map<String, Value>, name: &str) -> Result<&'a str, DpopError> {
    let value = object.get(name).and_then(Value::as_str);
    value.ok_or(DpopError::Malformed)
}

fn decode_object(part: &str) -> Result<Map<String, Value>, DpopError> {
    let bytes = URL_SAFE_NO_PAD.decode(part);
    let bytes = bytes.map_err(|_| DpopError::Malformed)?;
    serde_json::from_slice(&bytes).map_err(|_| DpopError::Malformed)
}

/// Returns the `iat` in whole seconds. A NumericDate may have a fraction.
fn issued_at(claims: &Map<String, Value>) -> Result<u64, DpopError> {
    let iat = claims.get("iat").ok_or(DpopError::Malformed)?;
    if let Some(iat) = iat.as_u64() {
        return Ok(iat);
    }
    let iat = iat.as_f64().ok_or(DpopError::Malformed)?;
    if !(0.0..1e15).contains(&iat) {
        return Err(DpopError::IssuedAt);
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "in range"
    )]
    Ok(iat as u64)
}

/// Returns a URL without query and fragment in the normal form of RFC 3986 section 6.2.2 and 6.2.3, and
/// without a trailing slash: clients and proxies add and remove it.
fn normalize_url(text: &str) -> Option<String> {
    let mut url = Url::parse(text).ok()?;
    let has_userinfo = !url.username().is_empty() || url.password().is_some();
    if !matches!(url.scheme(), "http" | "https") || has_userinfo {
        return None;
    }
    url.set_query(None);
    url.set_fragment(None);
    let normal = normalize_percent_encoding(url.as_str());
    Some(match normal.strip_suffix('/') {
        Some(without) => without.to_owned(),
        None => normal,
    })
}

/// Writes escapes in upper case and unescapes the characters that need no escape.
fn normalize_percent_encoding(url: &str) -> String {
    let mut normal = String::with_capacity(url.len());
    let mut rest = url;
    while let Some((before, after)) = rest.split_once('%') {
        normal.push_str(before);
        let escape = after
            .get(..2)
            .filter(|hex| hex.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let byte = escape.and_then(|hex| u8::from_str_radix(hex, 16).ok());
        let Some(byte) = byte else {
            normal.push('%');
            rest = after;
            continue;
        };
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            normal.push(char::from(byte));
        } else {
            normal.push_str(&format!("%{byte:02X}"));
        }
        rest = after.get(2..).unwrap_or_default();
    }
    normal.push_str(rest);
    normal
}

impl DpopError {
    /// Returns the error code for `WWW-Authenticate` or for the answer of a token endpoint.
    #[must_use]
    pub fn code(self) -> &'static str {
        match self {
            Self::Nonce => "use_dpop_nonce",
            _ => "invalid_dpop_proof",
        }
    }
}
