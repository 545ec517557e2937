//! The builder of the test server: sets what differs from the defaults, and starts the server.

use std::time::Duration;

use serde::Serialize;
use serde_json::Value;

use super::TestAuthorizationServer;
use super::client::{Client, ClientAuthMethod, ClientKeys};
use super::error::TestServerError;
use super::settings::{ForeignClientId, Settings, TrustedIssuer};
use turnbuckle_auth::Secret;

/// The settings of a [`TestAuthorizationServer`].
#[derive(Debug, Clone, Default)]
pub struct TestAuthorizationServerBuilder {
    settings: Settings,
}

impl TestAuthorizationServerBuilder {
    /// Sets the port on 127.0.0.1. Zero, the default, lets the operating system choose one.
    #[must_use]
    pub fn port(mut self, port: u16) -> Self {
        self.settings.port = port;
        self
    }

    /// Sets the path of the issuer, such as `/tenant1`. By default the issuer has none.
    #[must_use]
    pub fn path(mut self, path: impl Into<String>) -> Self {
        self.settings.path = path.into();
        self
    }

    /// Grants authorization requests without a consent page, in the name of the first user.
    #[must_use]
    pub fn auto_approve(mut self, is_auto_approving: bool) -> Self {
        self.settings.is_auto_approving = is_auto_approving;
        self
    }

    /// Adds a user. There are no passwords: the consent page lets anyone be any user. Without any,
    /// there is one user `alice`.
    #[must_use]
    pub fn user(mut self, name: impl Into<String>) -> Self {
        self.settings.users.push(name.into());
        self
    }

    /// Adds a client with a secret, sent in the `Authorization` header or in the form.
    #[must_use]
    pub fn client<I, R>(
        mut self,
        id: impl Into<String>,
        secret: impl Into<Secret>,
        redirect_uris: I,
    ) -> Self
    where
        I: IntoIterator<Item = R>,
        R: Into<String>,
    {
        let secret = Some(secret.into());
        let method = ClientAuthMethod::AnySecret;
        self.settings.clients.push(configured_client(
            id.into(),
            secret,
            method,
            None,
            redirect_uris,
        ));
        self
    }

    /// Adds a client without credentials.
    #[must_use]
    pub fn public_client<I, R>(mut self, id: impl Into<String>, redirect_uris: I) -> Self
    where
        I: IntoIterator<Item = R>,
        R: Into<String>,
    {
        let method = ClientAuthMethod::None;
        self.settings.clients.push(configured_client(
            id.into(),
            None,
            method,
            None,
            redirect_uris,
        ));
        self
    }

    /// Adds a client that authenticates itself by `private_key_jwt`. `jwks` is the JSON Web Key Set
    /// with its public keys.
    #[must_use]
    pub fn client_with_keys<I, R>(
        mut self,
        id: impl Into<String>,
        jwks: &impl Serialize,
        redirect_uris: I,
    ) -> Self
    where
        I: IntoIterator<Item = R>,
        R: Into<String>,
    {
        let keys = Some(ClientKeys::Inline(to_value(jwks)));
        let method = ClientAuthMethod::PrivateKeyJwt;
        self.settings.clients.push(configured_client(
            id.into(),
            None,
            method,
            keys,
            redirect_uris,
        ));
        self
    }

    /// Sets the lifetime of access tokens. Default: one hour.
    #[must_use]
    pub fn token_ttl(mut self, ttl: Duration) -> Self {
        self.settings.token_ttl = ttl;
        self
    }

    /// Sets the lifetime of refresh tokens. Default: one day.
    #[must_use]
    pub fn refresh_ttl(mut self, ttl: Duration) -> Self {
        self.settings.refresh_ttl = ttl;
        self
    }

    /// Sets the scopes that exist. A request without `scope` gets all of them. Without this setting
    /// every scope exists, and a request without `scope` gets none.
    #[must_use]
    pub fn scopes<I, S>(mut self, scopes: I) -> Self
    where
        I: IntoIterator<Item = S>,
        S: Into<String>,
    {
        self.settings.scopes = scopes.into_iter().map(Into::into).collect();
        self
    }

    /// Adds a resource for which tokens are issued. Without any, tokens are issued for every resource.
    #[must_use]
    pub fn resource(mut self, resource: impl Into<String>) -> Self {
        self.settings.resources.push(resource.into());
        self
    }

    /// Requires the `resource` parameter (RFC 8707). Default: true. If false, a token of a request
    /// without it is for the first resource of the settings, or else for the issuer.
    #[must_use]
    pub fn require_resource(mut self, is_required: bool) -> Self {
        self.settings.is_resource_required = is_required;
        self
    }

    /// Requires a DPoP proof at the token endpoint. Default: false, tokens are bound if there is one.
    #[must_use]
    pub fn require_dpop(mut self, is_required: bool) -> Self {
        self.settings.is_dpop_required = is_required;
        self
    }

    /// Requires a nonce of this server in DPoP proofs. Default: false.
    #[must_use]
    pub fn require_dpop_nonce(mut self, is_required: bool) -> Self {
        self.settings.is_dpop_nonce_required = is_required;
        self
    }

    /// Issues a new refresh token with each refresh. Default: true. If false, the first one stays
    /// valid and answers to refresh requests carry none.
    #[must_use]
    pub fn rotate_refresh_tokens(mut self, is_rotated: bool) -> Self {
        self.settings.is_refresh_rotated = is_rotated;
        self
    }

    /// Issues refresh tokens only when the scope `offline_access` is granted, and announces that
    /// scope. Default: false.
    #[must_use]
    pub fn require_offline_access(mut self, is_required: bool) -> Self {
        self.settings.is_offline_access_needed = is_required;
        self
    }

    /// Issues opaque access tokens, which only introspection explains. Default: false, JWTs.
    #[must_use]
    pub fn opaque_tokens(mut self, is_opaque: bool) -> Self {
        self.settings.is_opaque = is_opaque;
        self
    }

    /// Serves the metadata document of RFC 8414. Default: true.
    #[must_use]
    pub fn oauth_metadata(mut self, is_served: bool) -> Self {
        self.settings.has_oauth_metadata = is_served;
        self
    }

    /// Serves the metadata document of OpenID Connect Discovery. Default: true.
    #[must_use]
    pub fn openid_metadata(mut self, is_served: bool) -> Self {
        self.settings.has_openid_metadata = is_served;
        self
    }

    /// Allows dynamic client registration. Default: true.
    #[must_use]
    pub fn dynamic_registration(mut self, is_allowed: bool) -> Self {
        self.settings.has_registration = is_allowed;
        self
    }

    /// Treats a registration without `application_type` as one of a web application, as OpenID
    /// Connect says. Default: false.
    #[must_use]
    pub fn strict_application_type(mut self, is_strict: bool) -> Self {
        self.settings.is_application_type_strict = is_strict;
        self
    }

    /// Accepts the URL of a metadata document as client id. Default: true.
    #[must_use]
    pub fn client_metadata_documents(mut self, is_accepted: bool) -> Self {
        self.settings.has_client_metadata_documents = is_accepted;
        self
    }

    /// Accepts `http` URLs on the own machine as client ids. Default: false, as the specification
    /// requires `https`.
    #[must_use]
    pub fn allow_http_client_ids(mut self, is_allowed: bool) -> Self {
        self.settings.is_http_client_id_allowed = is_allowed;
        self
    }

    /// Accepts assertions of an issuer in the `jwt-bearer` grant, and its ID tokens in token exchange.
    /// Its keys are fetched from `jwks_uri` at each use.
    #[must_use]
    pub fn trusted_issuer(
        mut self,
        issuer: impl Into<String>,
        jwks_uri: impl Into<String>,
    ) -> Self {
        let keys = ClientKeys::Url(jwks_uri.into());
        self.settings.trusted_issuers.push(TrustedIssuer {
            issuer: issuer.into(),
            keys,
        });
        self
    }

    /// Accepts assertions of an issuer in the `jwt-bearer` grant, and its ID tokens in token exchange.
    /// `jwks` is the JSON Web Key Set with its public keys.
    #[must_use]
    pub fn trusted_keys(mut self, issuer: impl Into<String>, jwks: &impl Serialize) -> Self {
        let keys = ClientKeys::Inline(to_value(jwks));
        self.settings.trusted_issuers.push(TrustedIssuer {
            issuer: issuer.into(),
            keys,
        });
        self
    }

    /// Sets the client id that token exchange writes into an ID-JAG for the authorization server
    /// `audience`. Default: the id that the client has here.
    #[must_use]
    pub fn client_id_at(
        mut self,
        client_id: impl Into<String>,
        audience: impl Into<String>,
        foreign_id: impl Into<String>,
    ) -> Self {
        self.settings.foreign_client_ids.push(ForeignClientId {
            client_id: client_id.into(),
            audience: audience.into(),
            foreign_id: foreign_id.into(),
        });
        self
    }

    /// Starts the server on 127.0.0.1. It stops when the returned value is dropped.
    ///
    /// # Errors
    /// Fails when a setting is wrong, when the port is taken, or when the operating system has no
    /// randomness.
    ///
    /// # Panics
    /// Panics outside of a tokio runtime with I/O and time enabled.
    pub async fn start(mut self) -> Result<TestAuthorizationServer, TestServerError> {
        if self.settings.users.is_empty() {
            self.settings.users.push("alice".to_owned());
        }
        self.settings.check()?;
        TestAuthorizationServer::from_settings(self.settings).await
    }
}

fn configured_client<I, R>(
    id: String,
    secret: Option<Secret>,
    auth_method: ClientAuthMethod,
    keys: Option<ClientKeys>,
    redirect_uris: I,
) -> Client
where
    I: IntoIterator<Item = R>,
    R: Into<String>,
{
    let redirect_uris = redirect_uris.into_iter().map(Into::into).collect();
    Client {
        id,
        name: None,
        secret,
        auth_method,
        keys,
        redirect_uris,
        grant_types: None,
    }
}

/// Returns a key set as JSON. What has no JSON form has no keys.
fn to_value(jwks: &impl Serialize) -> Value {
    serde_json::to_value(jwks).unwrap_or_default()
}
