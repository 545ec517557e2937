//! Opaque tokens: the authorization server explains them.
//!
//! Specification: RFC 7662.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderMap, HeaderValue, header};
use turnbuckle_types::RawObject;

use super::recent_tokens::RecentTokens;
use super::{Claims, TokenRejection, VerifiedToken};
use crate::clock::Clock;
use crate::outbound::Outbound;
use crate::secret::Secret;

/// The time for which an active token is not asked about again.
const MAX_CACHE_SECONDS: u64 = 60;
/// The time for which an inactive token is not asked about again.
const REFUSED_TTL_SECONDS: u64 = 10;
const MAX_REFUSED_TOKENS: usize = 10_000;

/// The introspection endpoint of an authorization server.
pub(crate) struct Introspection {
    issuer: String,
    endpoint: String,
    authorization: HeaderValue,
    outbound: Outbound,
    clock: Clock,
    leeway: u64,
    refused: RecentTokens<()>,
}

impl Introspection {
    pub(crate) fn new(
        issuer: String,
        endpoint: String,
        client_id: &str,
        client_secret: &Secret,
        outbound: Outbound,
        clock: Clock,
        leeway: u64,
    ) -> Self {
        Self {
            issuer,
            endpoint,
            authorization: basic_authorization(client_id, client_secret),
            outbound,
            clock,
            leeway,
            refused: RecentTokens::new(MAX_REFUSED_TOKENS, REFUSED_TTL_SECONDS),
        }
    }

    pub(crate) fn issuer(&self) -> &str {
        &self.issuer
    }

    /// Refuses a token that was inactive a moment ago.
    pub(crate) fn check_refused(&self, token: &str) -> Result<(), TokenRejection> {
        let refused = self.refused.get(token, self.clock.now());
        refused.map_or(Ok(()), |()| Err(not_active()))
    }

    /// Asks the authorization server about a token.
    pub(crate) async fn verify(&self, token: &str) -> Result<VerifiedToken, TokenRejection> {
        let unavailable = |reason: String| {
            TokenRejection::Unavailable(format!("the introspection endpoint {reason}"))
        };
        let mut headers = HeaderMap::new();
        headers.insert(header::AUTHORIZATION, self.authorization.clone());
        let form = [("token", token), ("token_type_hint", "access_token")];
        let response = self
            .outbound
            .post_form(&self.endpoint, &form, headers)
            .await;
        let response = response.map_err(|error| unavailable(format!("failed: {error}")))?;
        if response.status != 200 {
            return Err(unavailable(format!("answered {}", response.status)));
        }
        let text = std::str::from_utf8(&response.body)
            .map_err(|_| unavailable("answered without UTF-8".to_owned()))?;
        // The error's own text may quote claims, which are private.
        let malformed = |error: serde_json::Error| {
            unavailable(format!(
                "answered malformed claims at column {}",
                error.column()
            ))
        };
        let claims: Claims = serde_json::from_str(text).map_err(malformed)?;
        let raw: RawObject = text.parse().map_err(malformed)?;
        let now = self.clock.now();
        if claims.active != Some(true) {
            self.refused.insert(token, (), now);
            return Err(not_active());
        }
        if claims.iss.as_ref().is_some_and(|iss| *iss != self.issuer) {
            return Err(TokenRejection::Invalid(
                "introspection names another issuer".to_owned(),
            ));
        }
        // The issuer was asked about an access token, whatever claims its tokens have.
        claims.check_kind(true)?;
        let mut verified = claims.into_verified(&self.issuer, raw, now, self.leeway)?;
        verified.max_cache_seconds = MAX_CACHE_SECONDS;
        Ok(verified)
    }
}

fn not_active() -> TokenRejection {
    TokenRejection::Invalid("introspection says it is not active".to_owned())
}

/// Returns the header of a client, encoded as RFC 6749 section 2.3.1 wants it.
fn basic_authorization(client_id: &str, client_secret: &Secret) -> HeaderValue {
    let encode =
        |text: &str| -> String { url::form_urlencoded::byte_serialize(text.as_bytes()).collect() };
    let pair = format!("{}:{}", encode(client_id), encode(client_secret.expose()));
    // Base64 is always a valid value.
    let value = HeaderValue::from_str(&format!("Basic {}", STANDARD.encode(pair)));
    let mut value = value.unwrap_or_else(|_| HeaderValue::from_static("Basic"));
    value.set_sensitive(true);
    value
}
