//! Opaque tokens: the authorization server explains them.
//!
//! Specification: RFC 7662.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderMap, HeaderValue, header};
use tokio::sync::Semaphore;
use tokio::time::timeout;
use turnbuckle_types::RawObject;

use super::negative_cache::NegativeCache;
use super::{Claims, TokenRejection, VerifiedToken};
use crate::clock::Clock;
use crate::outbound::Outbound;
use crate::secret::Secret;

/// The time for which an active token is not asked about again.
const MAX_CACHE_SECONDS: u64 = 60;
/// The time for which an inactive token is not asked about again.
const REFUSED_TTL_SECONDS: u64 = 10;
const MAX_REFUSED_TOKENS: usize = 10_000;
/// The requests that are open at once. Others wait, but not longer than [`MAX_WAIT`].
const MAX_CONCURRENT_REQUESTS: usize = 32;
const MAX_WAIT: Duration = Duration::from_secs(5);

/// The introspection endpoint of an authorization server.
pub(crate) struct Introspection {
    issuer: String,
    endpoint: String,
    authorization: HeaderValue,
    outbound: Outbound,
    clock: Clock,
    leeway: u64,
    refused: NegativeCache,
    permits: Semaphore,
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
            refused: NegativeCache::new(MAX_REFUSED_TOKENS, REFUSED_TTL_SECONDS),
            permits: Semaphore::new(MAX_CONCURRENT_REQUESTS),
        }
    }

    pub(crate) fn issuer(&self) -> &str {
        &self.issuer
    }

    /// Asks the authorization server about a token.
    pub(crate) async fn verify(&self, token: &str) -> Result<VerifiedToken, TokenRejection> {
        let refused = || TokenRejection::Invalid("introspection says it is not active".to_owned());
        if self.refused.contains(token, self.clock.now()) {
            return Err(refused());
        }
        let unavailable = |reason: String| {
            TokenRejection::Unavailable(format!("the introspection endpoint {reason}"))
        };
        let permit = timeout(MAX_WAIT, self.permits.acquire())
            .await
            .map_err(|_| unavailable("has too many open requests".to_owned()))?;
        let mut headers = HeaderMap::new();
        headers.insert(header::AUTHORIZATION, self.authorization.clone());
        let form = [("token", token), ("token_type_hint", "access_token")];
        let response = self
            .outbound
            .post_form(&self.endpoint, &form, headers)
            .await;
        drop(permit);
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
            self.refused.insert(token, now);
            return Err(refused());
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

#[cfg(test)]
mod tests {
    use tokio::time::Instant;
    use url::Url;

    use super::*;
    use crate::outbound::OutboundSettings;

    #[tokio::test(start_paused = true)]
    async fn a_request_waits_for_others_for_five_seconds_at_most() {
        let url = Url::parse("http://127.0.0.1:1/introspect").unwrap();
        let introspection = Introspection::new(
            "https://as".to_owned(),
            url.to_string(),
            "id",
            &Secret::from("secret"),
            Outbound::new(&url, OutboundSettings::default()).unwrap(),
            Clock::system(),
            0,
        );
        let open = u32::try_from(MAX_CONCURRENT_REQUESTS).unwrap();
        let _open = introspection.permits.acquire_many(open).await.unwrap();
        let start = Instant::now();
        let rejection = introspection.verify("opaque").await.err();
        assert!(matches!(rejection, Some(TokenRejection::Unavailable(_))));
        assert_eq!(start.elapsed().as_secs(), MAX_WAIT.as_secs());
    }
}
