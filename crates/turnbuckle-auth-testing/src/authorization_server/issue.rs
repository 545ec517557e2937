//! Issues access tokens, refresh tokens and ID tokens.

use std::time::Duration;

use serde_json::{Value, json};
use turnbuckle_types::base::random::{self, RandomnessUnavailable};

use super::answer::Refusal;
use super::server::Server;
use super::state::{AccessTokenRecord, Grant, RefreshTokenRecord, hash};

/// The lifetime of ID tokens, in seconds.
const ID_TOKEN_TTL: u64 = 300;

/// An access token and its lifetime in seconds.
pub(super) struct AccessToken {
    pub(super) token: String,
    pub(super) ttl: u64,
}

impl Server {
    /// Issues an access token with some scopes of a grant. `ttl`: the setting if `None`.
    pub(super) fn issue_access_token(
        &self,
        grant: &Grant,
        scopes: &[String],
        ttl: Option<Duration>,
    ) -> Result<AccessToken, RandomnessUnavailable> {
        let ttl = ttl.or(self.faults().token_ttl);
        let ttl = ttl.unwrap_or(self.settings.token_ttl).as_secs();
        let now = self.now();
        let expires_at = now.saturating_add(ttl);
        let mut claims = json!({
            "iss": self.issuer(),
            "sub": grant.subject,
            "aud": grant.audience,
            "client_id": grant.client_id,
            "iat": now,
            "exp": expires_at,
            "jti": random::secret()?,
        });
        if !scopes.is_empty() {
            claims["scope"] = Value::String(scopes.join(" "));
        }
        if let Some(thumbprint) = &grant.key_thumbprint {
            claims["cnf"] = json!({ "jkt": thumbprint });
        }
        let token = if self.settings.opaque_tokens {
            random::secret()?
        } else {
            self.keys.sign("at+jwt", &claims)?
        };
        let record = AccessTokenRecord {
            family: grant.family.clone(),
            client_id: grant.client_id.clone(),
            claims,
            expires_at,
            is_revoked: false,
        };
        self.tables().access_tokens.insert(hash(&token), record);
        Ok(AccessToken { token, ttl })
    }

    /// Issues an access token for a grant without a refresh token. Returns the body of the answer.
    pub(super) fn issue_alone(&self, grant: Grant) -> Result<Value, Refusal> {
        let access_token = self.issue_access_token(&grant, &grant.scopes, None)?;
        Ok(self.token_body(&grant, &grant.scopes, &access_token, None))
    }

    /// Creates a refresh token for a grant, and the record that makes it valid once it is in the
    /// table.
    pub(super) fn prepare_refresh_token(
        &self,
        grant: Grant,
    ) -> Result<(String, RefreshTokenRecord), RandomnessUnavailable> {
        let ttl = self.settings.refresh_ttl.as_secs();
        let record = RefreshTokenRecord {
            grant,
            expires_at: self.now().saturating_add(ttl),
            is_used: false,
        };
        Ok((random::secret()?, record))
    }

    /// Returns true if a grant with these scopes comes with a refresh token.
    pub(super) fn is_refresh_token_due(&self, scopes: &[String]) -> bool {
        let is_allowed = !self.settings.require_offline_access
            || scopes.iter().any(|scope| scope == "offline_access");
        is_allowed && !self.faults().withhold_refresh_tokens
    }

    /// Issues an ID token of OpenID Connect.
    pub(super) fn issue_id_token(
        &self,
        subject: &str,
        client_id: &str,
        nonce: Option<&str>,
        ttl: Option<Duration>,
    ) -> Result<String, RandomnessUnavailable> {
        let now = self.now();
        let ttl = ttl.map_or(ID_TOKEN_TTL, |ttl| ttl.as_secs());
        let mut claims = json!({
            "iss": self.issuer(),
            "sub": subject,
            "aud": client_id,
            "iat": now,
            "exp": now.saturating_add(ttl),
        });
        if let Some(nonce) = nonce {
            claims["nonce"] = Value::from(nonce);
        }
        self.keys.sign("JWT", &claims)
    }

    /// Creates the body of a token answer.
    pub(super) fn token_body(
        &self,
        grant: &Grant,
        scopes: &[String],
        access_token: &AccessToken,
        refresh_token: Option<&str>,
    ) -> Value {
        let is_bound = grant.key_thumbprint.is_some();
        let mut body = json!({
            "access_token": access_token.token,
            "token_type": if is_bound { "DPoP" } else { "Bearer" },
        });
        let faults = self.faults();
        if !faults.omit_expires_in {
            body["expires_in"] = Value::from(access_token.ttl);
        }
        if !scopes.is_empty() && !faults.omit_scope {
            body["scope"] = Value::String(scopes.join(" "));
        }
        if let Some(refresh_token) = refresh_token {
            body["refresh_token"] = Value::from(refresh_token);
        }
        body
    }
}
