//! The outcome of a login, as a store keeps it.

use serde::{Deserialize, Serialize};

use super::registration::ClientRegistration;
use crate::metadata::AuthorizationServerMetadata;
use crate::secret::Secret;

/// The form of stored credentials. Credentials of another form are treated as absent.
const FORMAT: u32 = 1;

/// The longest time before its end at which a token is refreshed, in seconds.
const MAX_REFRESH_MARGIN: u64 = 60;

/// The kind of an access token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum TokenType {
    /// A token that whoever holds it may use.
    Bearer,
    /// A token that is bound to a key: each request needs a proof.
    Dpop,
}

/// An access token, and all that getting the next one needs.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Credentials {
    pub(crate) format: u32,
    /// The issuer that granted the token.
    pub(crate) issuer: String,
    /// The value of `resource` in requests to the authorization server.
    pub(crate) resource: String,
    /// The authorization server, as it was discovered.
    pub(crate) server: AuthorizationServerMetadata,
    /// The client that the token was granted to. Absent for grants that know their client by
    /// themselves.
    pub(crate) client: Option<ClientRegistration>,
    pub(crate) access_token: Secret,
    pub(crate) token_type: TokenType,
    /// The time of the grant, in seconds since 1970.
    pub(crate) obtained_at: u64,
    /// The end of the access token, in seconds since 1970.
    pub(crate) expires_at: Option<u64>,
    pub(crate) refresh_token: Option<Secret>,
    /// The scopes that were asked for.
    pub(crate) requested_scopes: Vec<String>,
    /// The scopes that were granted, if the server named them.
    pub(crate) granted_scopes: Option<Vec<String>>,
    /// The private key of DPoP, in PEM.
    pub(crate) dpop_key: Option<Secret>,
}

impl Credentials {
    /// Reads what a store kept. Returns `None` for another format.
    pub(crate) fn from_stored(text: &Secret) -> Option<Self> {
        let credentials: Self = serde_json::from_str(text.expose()).ok()?;
        (credentials.format == FORMAT).then_some(credentials)
    }

    /// Writes the credentials for a store.
    pub(crate) fn to_stored(&self) -> Option<Secret> {
        serde_json::to_string(self).ok().map(Secret::new)
    }

    /// Returns the format of this version.
    pub(crate) const fn format() -> u32 {
        FORMAT
    }

    /// Returns whether the access token can still be sent.
    pub(crate) fn is_valid(&self, now: u64) -> bool {
        self.expires_at.is_none_or(|end| now < end)
    }

    /// Returns whether it is time to refresh the access token. The margin before the end is at most
    /// a quarter of the token's life, so that a short token is not refreshed on every call.
    pub(crate) fn should_refresh(&self, now: u64) -> bool {
        let Some(end) = self.expires_at else {
            return false;
        };
        let life = end.saturating_sub(self.obtained_at);
        let margin = MAX_REFRESH_MARGIN.min(life / 4);
        now >= end.saturating_sub(margin)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn credentials(obtained_at: u64, expires_at: Option<u64>) -> Credentials {
        Credentials {
            format: FORMAT,
            issuer: "https://as.example".to_owned(),
            resource: "https://mcp.example".to_owned(),
            server: AuthorizationServerMetadata::default(),
            client: None,
            access_token: "token".into(),
            token_type: TokenType::Bearer,
            obtained_at,
            expires_at,
            refresh_token: None,
            requested_scopes: Vec::new(),
            granted_scopes: None,
            dpop_key: None,
        }
    }

    #[test]
    fn a_token_shorter_than_the_margin_is_not_refreshed_at_once() {
        let short = credentials(1000, Some(1020));
        assert!(!short.should_refresh(1000));
        assert!(!short.should_refresh(1014));
        assert!(short.should_refresh(1015));
        assert!(short.is_valid(1019) && !short.is_valid(1020));
    }

    #[test]
    fn a_long_token_is_refreshed_a_minute_before_its_end() {
        let long = credentials(0, Some(3600));
        assert!(!long.should_refresh(3539));
        assert!(long.should_refresh(3540));
        assert!(!credentials(0, None).should_refresh(u64::MAX));
    }

    #[test]
    fn stored_credentials_of_another_format_are_ignored() {
        let mut credentials = credentials(0, None);
        let stored = credentials.to_stored().unwrap();
        assert!(Credentials::from_stored(&stored).is_some());
        credentials.format += 1;
        let stored = credentials.to_stored().unwrap();
        assert!(Credentials::from_stored(&stored).is_none());
        assert!(Credentials::from_stored(&"{".into()).is_none());
    }
}
