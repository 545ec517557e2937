//! The settings of a client's authorization.

use std::sync::Arc;

use url::Url;

use super::grant::Grant;
use super::interaction::LoginUi;
use super::store::CredentialStore;
use crate::outbound::OutboundSettings;
use crate::secret::Secret;

/// The name under which the issuer of a grant without a user is kept.
pub(crate) const GRANT: &str = "grant";

/// A client that was registered with an authorization server by hand.
#[derive(Clone)]
pub(crate) struct RegisteredClient {
    pub(crate) client_id: String,
    pub(crate) client_secret: Option<Secret>,
    /// The issuer that knows the client. Without it, the first issuer that the server names.
    pub(crate) issuer: Option<String>,
}

/// All settings of an [`OAuth`](super::OAuth).
#[derive(Clone)]
pub(crate) struct Settings {
    /// The URL of the MCP server as it was given, without its fragment.
    pub(crate) server_text: String,
    pub(crate) server: Url,
    pub(crate) store: Arc<dyn CredentialStore>,
    pub(crate) ui: Arc<dyn LoginUi>,
    pub(crate) client_name: String,
    pub(crate) client_metadata_url: Option<String>,
    pub(crate) registered: Vec<RegisteredClient>,
    pub(crate) scopes: Vec<String>,
    pub(crate) grant: Grant,
    pub(crate) uses_dpop: bool,
    pub(crate) outbound: OutboundSettings,
}

impl Settings {
    /// Returns the key of the credentials in the store. Clients with ids or grants of their own do not
    /// share credentials.
    pub(crate) fn credentials_key(&self) -> String {
        self.key_of_credentials("credentials")
    }

    /// Returns the key that is locked while the user logs in. It has no value.
    pub(crate) fn login_key(&self) -> String {
        self.key_of_credentials("login")
    }

    fn key_of_credentials(&self, kind: &str) -> String {
        let server = shorten(&self.server_text);
        let client = self.registered.first();
        match (self.grant.identity(), client) {
            (Some(identity), _) => format!("{kind}:{server}#{}", shorten(&identity)),
            (None, Some(client)) => format!("{kind}:{server}#{}", shorten(&client.client_id)),
            (None, None) => format!("{kind}:{server}"),
        }
    }

    /// Returns the key of the client that was registered with an issuer.
    pub(crate) fn registration_key(&self, issuer: &str) -> String {
        let name = shorten(&self.client_name);
        format!("client:{}#{name}", shorten(issuer))
    }

    /// Returns the keys of all issuers that clients and grants of this server are bound to.
    pub(crate) fn binding_keys(&self) -> Vec<String> {
        let ids = self
            .registered
            .iter()
            .map(|client| client.client_id.as_str());
        ids.chain([GRANT]).map(|id| self.binding_key(id)).collect()
    }

    /// Returns the key of the issuer that a client without one is bound to.
    pub(crate) fn binding_key(&self, client_id: &str) -> String {
        let server = shorten(&self.server_text);
        format!("issuer:{server}#{}", shorten(client_id))
    }
}

/// Returns a text that fits into a key of a store: a long one is replaced by its hash.
fn shorten(text: &str) -> String {
    const MAX_PART_BYTES: usize = 200;
    if text.len() <= MAX_PART_BYTES {
        text.to_owned()
    } else {
        crate::pkce::sha256_base64url(text)
    }
}
