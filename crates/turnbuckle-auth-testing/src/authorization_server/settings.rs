//! The settings of the test server, as its endpoints read them.

use std::time::Duration;

use super::client::{Client, ClientKeys};
use super::error::TestServerError;
use super::redirect_uri;

/// An issuer whose assertions the `jwt-bearer` grant accepts.
#[derive(Debug, Clone)]
pub(super) struct TrustedIssuer {
    pub(super) issuer: String,
    pub(super) keys: ClientKeys,
}

/// A client of this server under the name that another authorization server knows it by.
#[derive(Debug, Clone)]
pub(super) struct ForeignClientId {
    pub(super) client_id: String,
    pub(super) audience: String,
    pub(super) foreign_id: String,
}

/// The settings of a test server.
#[derive(Debug, Clone)]
pub(super) struct Settings {
    pub(super) port: u16,
    pub(super) path: String,
    pub(super) is_auto_approving: bool,
    pub(super) users: Vec<String>,
    pub(super) clients: Vec<Client>,
    pub(super) token_ttl: Duration,
    pub(super) refresh_ttl: Duration,
    pub(super) scopes: Vec<String>,
    pub(super) resources: Vec<String>,
    pub(super) is_resource_required: bool,
    pub(super) is_dpop_required: bool,
    pub(super) is_dpop_nonce_required: bool,
    pub(super) is_refresh_rotated: bool,
    pub(super) is_offline_access_needed: bool,
    pub(super) is_opaque: bool,
    pub(super) has_oauth_metadata: bool,
    pub(super) has_openid_metadata: bool,
    pub(super) has_registration: bool,
    pub(super) is_application_type_strict: bool,
    pub(super) has_client_metadata_documents: bool,
    pub(super) is_http_client_id_allowed: bool,
    pub(super) trusted_issuers: Vec<TrustedIssuer>,
    pub(super) foreign_client_ids: Vec<ForeignClientId>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            port: 0,
            path: String::new(),
            is_auto_approving: false,
            users: Vec::new(),
            clients: Vec::new(),
            token_ttl: Duration::from_secs(3600),
            refresh_ttl: Duration::from_secs(24 * 3600),
            scopes: Vec::new(),
            resources: Vec::new(),
            is_resource_required: true,
            is_dpop_required: false,
            is_dpop_nonce_required: false,
            is_refresh_rotated: true,
            is_offline_access_needed: false,
            is_opaque: false,
            has_oauth_metadata: true,
            has_openid_metadata: true,
            has_registration: true,
            is_application_type_strict: false,
            has_client_metadata_documents: true,
            is_http_client_id_allowed: false,
            trusted_issuers: Vec::new(),
            foreign_client_ids: Vec::new(),
        }
    }
}

impl Settings {
    /// Checks the path of the issuer and the redirect URIs of the clients.
    ///
    /// # Errors
    /// Fails at the first setting that is wrong.
    pub(super) fn check(&self) -> Result<(), TestServerError> {
        let is_path_char = |c: char| c.is_ascii_alphanumeric() || "-._~/".contains(c);
        let is_sound_path = self.path.is_empty()
            || (self.path.starts_with('/')
                && !self.path.ends_with('/')
                && self.path.chars().all(is_path_char)
                && !self
                    .path
                    .split('/')
                    .skip(1)
                    .any(|part| matches!(part, "" | "." | "..")));
        if !is_sound_path || self.path.starts_with("/.well-known") {
            let message = "the setting `path` must be like /tenant1, without a slash at its end";
            return Err(TestServerError::new(message));
        }
        for client in &self.clients {
            for uri in &client.redirect_uris {
                redirect_uri::check(uri, None).map_err(|reason| {
                    TestServerError::new(format!("the client {}: {reason}", client.id))
                })?;
            }
        }
        Ok(())
    }
}
