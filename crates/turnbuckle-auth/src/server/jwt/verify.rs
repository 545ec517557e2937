//! The verification of a JWT: header, signature, issuer. The claims are checked by [`Claims`].

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;
use serde::de::IgnoredAny;
use turnbuckle_types::RawObject;

use super::issuer_keys::{FetchedKeys, IssuerKeys};
use crate::clock::Clock;
use crate::jws::{self, JwtAlgorithm};
use crate::server::token::{Claims, TokenRejection, VerifiedToken};

/// The time for which a verified token is not verified again. A key that its issuer withdraws counts
/// for that long after the keys without it are fetched.
const MAX_CACHE_SECONDS: u64 = 5 * 60;
/// The time for which a token that old keys verified is not verified again, while newer keys are fetched.
const STALE_CACHE_SECONDS: u64 = 10;

/// An issuer of JWTs that is trusted.
pub(crate) struct JwtIssuer {
    issuer: String,
    keys: IssuerKeys,
    algorithms: Vec<JwtAlgorithm>,
    clock: Clock,
    leeway: u64,
}

#[derive(Deserialize)]
struct Header {
    alg: String,
    typ: Option<String>,
    kid: Option<String>,
    crit: Option<IgnoredAny>,
}

impl Header {
    fn typ(&self) -> &str {
        let typ = self.typ.as_deref().unwrap_or("JWT");
        typ.strip_prefix("application/").unwrap_or(typ)
    }

    /// Returns whether the header says that the token is an access token (RFC 9068).
    fn is_access_token(&self) -> bool {
        self.typ().eq_ignore_ascii_case("at+jwt")
    }
}

#[derive(Deserialize)]
struct UnverifiedClaims {
    iss: Option<String>,
}

/// Returns the issuer that a JWT claims to be of, without any check: for the choice of the verifier.
/// None for a token that is not a JWT.
pub(crate) fn unverified_issuer(token: &str) -> Option<String> {
    let parts = jws::split(token)?;
    serde_json::from_slice::<Header>(&URL_SAFE_NO_PAD.decode(parts.header).ok()?).ok()?;
    let claims = URL_SAFE_NO_PAD.decode(parts.claims).ok()?;
    let claims = serde_json::from_slice::<UnverifiedClaims>(&claims);
    claims.ok()?.iss
}

impl JwtIssuer {
    pub(crate) fn new(
        issuer: String,
        keys: IssuerKeys,
        algorithms: Vec<JwtAlgorithm>,
        clock: Clock,
        leeway: u64,
    ) -> Self {
        Self {
            issuer,
            keys,
            algorithms,
            clock,
            leeway,
        }
    }

    pub(crate) fn issuer(&self) -> &str {
        &self.issuer
    }

    /// Verifies a token.
    pub(crate) async fn verify(&self, token: &str) -> Result<VerifiedToken, TokenRejection> {
        let invalid = |reason: &str| TokenRejection::Invalid(reason.to_owned());
        let parts = jws::split(token).ok_or_else(|| invalid("it has not three parts"))?;
        let decode = |part: &str| {
            let decoded = URL_SAFE_NO_PAD.decode(part);
            decoded.map_err(|_| invalid("a part is not Base64"))
        };
        let header: Header = serde_json::from_slice(&decode(parts.header)?)
            .map_err(|_| invalid("its header is malformed"))?;
        let algorithm = self.check_header(&header)?;
        let signature = decode(parts.signature)?;
        let keys = self
            .check_signature(&header, algorithm, parts.message, &signature)
            .await?;

        let claims_text = String::from_utf8(decode(parts.claims)?)
            .map_err(|_| invalid("its claims are not UTF-8"))?;
        let malformed = || invalid("its claims are malformed");
        let claims: Claims = serde_json::from_str(&claims_text).map_err(|_| malformed())?;
        let raw: RawObject = claims_text.parse().map_err(|_| malformed())?;
        if claims.iss.as_deref() != Some(self.issuer.as_str()) {
            return Err(invalid("its issuer is another"));
        }
        claims.check_kind(header.is_access_token())?;
        let mut verified =
            claims.into_verified(&self.issuer, raw, self.clock.now(), self.leeway)?;
        if verified.expires_at.is_none() {
            return Err(invalid("it never expires (exp)"));
        }
        let is_fresh = keys.is_fresh(self.clock.now());
        verified.max_cache_seconds = if is_fresh {
            MAX_CACHE_SECONDS
        } else {
            STALE_CACHE_SECONDS
        };
        Ok(verified)
    }

    fn check_header(&self, header: &Header) -> Result<JwtAlgorithm, TokenRejection> {
        let invalid = |reason: &str| TokenRejection::Invalid(reason.to_owned());
        if header.crit.is_some() {
            return Err(invalid("its header has critical extensions"));
        }
        if !header.typ().eq_ignore_ascii_case("JWT") && !header.is_access_token() {
            return Err(invalid("its typ is not that of an access token"));
        }
        JwtAlgorithm::from_name(&header.alg)
            .filter(|algorithm| self.algorithms.contains(algorithm))
            .ok_or_else(|| invalid("its algorithm is not allowed"))
    }

    /// Returns the keys of which one has signed the message.
    async fn check_signature(
        &self,
        header: &Header,
        algorithm: JwtAlgorithm,
        message: &str,
        signature: &Vec<u8>,
    ) -> Result<Arc<FetchedKeys>, TokenRejection> {
        let kid = header.kid.as_deref();
        let is_signed_by = |keys: &FetchedKeys| {
            keys.set
                .candidates(kid, algorithm)
                .any(|key| key.key.verifies(message, signature, algorithm) == Some(true))
        };
        let keys = self
            .keys
            .current()
            .await
            .map_err(TokenRejection::Unavailable)?;
        if is_signed_by(&keys) {
            return Ok(keys);
        }
        let invalid = |reason: &str| TokenRejection::Invalid(reason.to_owned());
        let is_known = kid.is_some_and(|kid| keys.set.has_key(kid));
        // The issuer may have put another key in the place of a known one.
        match self.keys.newer_than(&keys).await {
            Ok(newer) if !Arc::ptr_eq(&newer, &keys) && is_signed_by(&newer) => Ok(newer),
            Err(reason) if !is_known => Err(TokenRejection::Unavailable(reason)),
            _ if is_known => Err(invalid("its signature is not of the issuer's key")),
            _ => Err(invalid("its key is not among the issuer's keys")),
        }
    }
}
