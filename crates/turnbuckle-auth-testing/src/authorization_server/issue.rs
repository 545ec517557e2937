//! Issues access tokens, refresh tokens and ID tokens.

use std::time::Duration;

use serde_json::{Value, json};

use super::answer::Refusal;
use super::server::Server;
use super::state::{AccessTokenRecord, Grant, RefreshTokenRecord, hash};
use crate::random::random_token;

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
    ) -> Result<AccessToken, Refusal> {
        let ttl = ttl
            .or_else(|| self.faults.token_ttl())
            .unwrap_or(self.settings.token_ttl);
        let ttl = ttl.as_secs();
        let now = self.now();
        let expires_at = now.saturating_add(ttl);
        let jti = random_token()?;
        let mut claims = json!({
            "iss": self.issuer(),
            "sub": grant.subject,
            "aud": grant.audience,
            "client_id": grant.client_id,
            "iat": now,
            "exp": expires_at,
            "jti": jti.expose(),
        });
        if !scopes.is_empty() {
            claims["scope"] = Value::String(scopes.join(" "));
        }
        if let Some(thumbprint) = &grant.key_thumbprint {
            claims["cnf"] = json!({ "jkt": thumbprint });
        }
        let token = if self.settings.is_opaque {
            random_token()?.expose().to_owned()
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

    /// Creates a refresh token for a grant, and the record that makes it valid once it is in the
    /// table.
    pub(super) fn prepare_refresh_token(
        &self,
        grant: Grant,
    ) -> Result<(String, RefreshTokenRecord), Refusal> {
        let token = random_token()?.expose().to_owned();
        let expires_at = self
            .now()
            .saturating_add(self.settings.refresh_ttl.as_secs());
        Ok((
            token,
            RefreshTokenRecord {
                grant,
                expires_at,
                is_used: false,
            },
        ))
    }

    /// Returns true if a grant with these scopes comes with a refresh token.
    pub(super) fn is_refresh_token_due(&self, scopes: &[String]) -> bool {
        let is_allowed = !self.settings.is_offline_access_needed
            || scopes.iter().any(|scope| scope == "offline_access");
        is_allowed && !self.faults.is_refresh_token_withheld()
    }

    /// Issues an ID token of OpenID Connect.
    pub(super) fn issue_id_token(
        &self,
        subject: &str,
        client_id: &str,
        nonce: Option<&str>,
        ttl: Option<Duration>,
    ) -> Result<String, Refusal> {
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
            claims["nonce"] = Value::String(nonce.to_owned());
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
        let token_type = if grant.key_thumbprint.is_some() {
            "DPoP"
        } else {
            "Bearer"
        };
        let mut body = json!({ "access_token": access_token.token, "token_type": token_type });
        if !self.faults.is_expiry_omitted() {
            body["expires_in"] = Value::from(access_token.ttl);
        }
        if !scopes.is_empty() && !self.faults.is_scope_omitted() {
            body["scope"] = Value::String(scopes.join(" "));
        }
        if let Some(refresh_token) = refresh_token {
            body["refresh_token"] = Value::String(refresh_token.to_owned());
        }
        body
    }
}
