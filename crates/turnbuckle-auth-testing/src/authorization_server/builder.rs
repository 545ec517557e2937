//! The settings of the test server, with setters for those that differ from the defaults.

use std::time::Duration;

use serde::Serialize;
use serde_json::Value;
use turnbuckle_auth::Secret;

use super::client::{Client, ClientAuthMethod, ClientKeys};
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

/// The settings of a [`TestAuthorizationServer`](super::TestAuthorizationServer).
#[derive(Debug, Clone)]
pub struct TestAuthorizationServerBuilder {
    pub(super) port: u16,
    pub(super) path: String,
    pub(super) auto_approve: bool,
    pub(super) users: Vec<String>,
    pub(super) clients: Vec<Client>,
    pub(super) token_ttl: Duration,
    pub(super) refresh_ttl: Duration,
    pub(super) scopes: Vec<String>,
    pub(super) resources: Vec<String>,
    pub(super) require_resource: bool,
    pub(super) require_dpop: bool,
    pub(super) require_dpop_nonce: bool,
    pub(super) rotate_refresh_tokens: bool,
    pub(super) require_offline_access: bool,
    pub(super) opaque_tokens: bool,
    pub(super) oauth_metadata: bool,
    pub(super) openid_metadata: bool,
    pub(super) dynamic_registration: bool,
    pub(super) strict_application_type: bool,
    pub(super) client_metadata_documents: bool,
    pub(super) allow_http_client_ids: bool,
    pub(super) trusted_issuers: Vec<TrustedIssuer>,
    pub(super) foreign_client_ids: Vec<ForeignClientId>,
}

impl Default for TestAuthorizationServerBuilder {
    fn default() -> Self {
        Self {
            port: 0,
            path: String::new(),
            auto_approve: false,
            users: Vec::new(),
            clients: Vec::new(),
            token_ttl: Duration::from_secs(3600),
            refresh_ttl: Duration::from_secs(24 * 3600),
            scopes: Vec::new(),
            resources: Vec::new(),
            require_resource: true,
            require_dpop: false,
            require_dpop_nonce: false,
            rotate_refresh_tokens: true,
            require_offline_access: false,
            opaque_tokens: false,
            oauth_metadata: true,
            openid_metadata: true,
            dynamic_registration: true,
            strict_application_type: false,
            client_metadata_documents: true,
            allow_http_client_ids: false,
            trusted_issuers: Vec::new(),
            foreign_client_ids: Vec::new(),
        }
    }
}

/// Setters that replace a value.
macro_rules! setters {
    ($($(#[$doc:meta])* $name:ident: $Type:ty,)+) => {
        impl TestAuthorizationServerBuilder {$(
            $(#[$doc])*
            #[must_use]
            pub fn $name(mut self, $name: $Type) -> Self {
                self.$name = $name;
                self
            }
        )+}
    };
}

setters! {
    /// Sets the port on 127.0.0.1. Zero, the default, lets the operating system choose one.
    port: u16,
    /// Grants authorization requests without a consent page, in the name of the first user.
    auto_approve: bool,
    /// Sets the lifetime of access tokens. Default: one hour.
    token_ttl: Duration,
    /// Sets the lifetime of refresh tokens. Default: one day.
    refresh_ttl: Duration,
    /// Requires the `resource` parameter (RFC 8707). Default: true. If false, a token of a request
    /// without it is for the first resource of the settings, or else for the issuer.
    require_resource: bool,
    /// Requires a DPoP proof at the token endpoint. Default: false, tokens are bound if there is one.
    require_dpop: bool,
    /// Requires a nonce of this server in DPoP proofs. Default: false.
    require_dpop_nonce: bool,
    /// Issues a new refresh token with each refresh. Default: true. If false, the first one stays
    /// valid and answers to refresh requests carry none.
    rotate_refresh_tokens: bool,
    /// Issues refresh tokens only when the scope `offline_access` is granted, and announces that
    /// scope. Default: false.
    require_offline_access: bool,
    /// Issues opaque access tokens, which only introspection explains. Default: false, JWTs.
    opaque_tokens: bool,
    /// Serves the metadata document of RFC 8414. Default: true.
    oauth_metadata: bool,
    /// Serves the metadata document of OpenID Connect Discovery. Default: true.
    openid_metadata: bool,
    /// Allows dynamic client registration. Default: true.
    dynamic_registration: bool,
    /// Treats a registration without `application_type` as one of a web application, as OpenID
    /// Connect says. Default: false.
    strict_application_type: bool,
    /// Accepts the URL of a metadata document as client id. Default: true.
    client_metadata_documents: bool,
    /// Accepts `http` URLs on the own machine as client ids. Default: false, as the specification
    /// requires `https`.
    allow_http_client_ids: bool,
}

impl TestAuthorizationServerBuilder {
    /// Sets the path of the issuer, such as `/tenant1`. By default the issuer has none.
    #[must_use]
    pub fn path(mut self, path: impl Into<String>) -> Self {
        self.path = path.into();
        self
    }

    /// Sets the scopes that exist. A request without `scope` gets all of them. Without this setting
    /// every scope exists, and a request without `scope` gets none.
    #[must_use]
    pub fn scopes<S: Into<String>>(mut self, scopes: impl IntoIterator<Item = S>) -> Self {
        self.scopes = texts(scopes);
        self
    }

    /// Adds a resource for which tokens are issued. Without any, tokens are issued for every resource.
    #[must_use]
    pub fn resource(mut self, resource: impl Into<String>) -> Self {
        self.resources.push(resource.into());
        self
    }

    /// Adds a user. There are no passwords: the consent page lets anyone be any user. Without any,
    /// there is one user `alice`.
    #[must_use]
    pub fn user(mut self, name: impl Into<String>) -> Self {
        self.users.push(name.into());
        self
    }

    /// Adds a client with a secret, sent in the `Authorization` header or in the form.
    #[must_use]
    pub fn client<R: Into<String>>(
        mut self,
        id: impl Into<String>,
        secret: impl Into<Secret>,
        redirect_uris: impl IntoIterator<Item = R>,
    ) -> Self {
        self.clients.push(Client {
            secret: Some(secret.into()),
            ..Client::new(id.into(), ClientAuthMethod::AnySecret, texts(redirect_uris))
        });
        self
    }

    /// Adds a client without credentials.
    #[must_use]
    pub fn public_client<R: Into<String>>(
        mut self,
        id: impl Into<String>,
        redirect_uris: impl IntoIterator<Item = R>,
    ) -> Self {
        let redirect_uris = texts(redirect_uris);
        let client = Client::new(id.into(), ClientAuthMethod::None, redirect_uris);
        self.clients.push(client);
        self
    }

    /// Adds a client that authenticates itself by `private_key_jwt`. `jwks` is the JSON Web Key Set
    /// with its public keys.
    #[must_use]
    pub fn client_with_keys<R: Into<String>>(
        mut self,
        id: impl Into<String>,
        jwks: &impl Serialize,
        redirect_uris: impl IntoIterator<Item = R>,
    ) -> Self {
        let redirect_uris = texts(redirect_uris);
        self.clients.push(Client {
            keys: Some(ClientKeys::Inline(to_value(jwks))),
            ..Client::new(id.into(), ClientAuthMethod::PrivateKeyJwt, redirect_uris)
        });
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
        self.trusted_issuers.push(TrustedIssuer {
            issuer: issuer.into(),
            keys: ClientKeys::Url(jwks_uri.into()),
        });
        self
    }

    /// Accepts assertions of an issuer in the `jwt-bearer` grant, and its ID tokens in token exchange.
    /// `jwks` is the JSON Web Key Set with its public keys.
    #[must_use]
    pub fn trusted_keys(mut self, issuer: impl Into<String>, jwks: &impl Serialize) -> Self {
        self.trusted_issuers.push(TrustedIssuer {
            issuer: issuer.into(),
            keys: ClientKeys::Inline(to_value(jwks)),
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
        self.foreign_client_ids.push(ForeignClientId {
            client_id: client_id.into(),
            audience: audience.into(),
            foreign_id: foreign_id.into(),
        });
        self
    }

    /// Checks the path of the issuer and the redirect URIs of the clients.
    pub(super) fn check(&self) -> Result<(), TestServerError> {
        let is_path_char = |c: char| c.is_ascii_alphanumeric() || "-._~".contains(c);
        let mut parts = self.path.split('/');
        let is_sound_path = parts.next() == Some("")
            && parts.all(|part| !matches!(part, "" | "." | "..") && part.chars().all(is_path_char));
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

fn texts<T: Into<String>>(texts: impl IntoIterator<Item = T>) -> Vec<String> {
    texts.into_iter().map(Into::into).collect()
}

/// Returns a key set as JSON. A value without a JSON form has no keys.
fn to_value(jwks: &impl Serialize) -> Value {
    serde_json::to_value(jwks).unwrap_or_default()
}
