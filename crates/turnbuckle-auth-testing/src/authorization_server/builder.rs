//! The settings of the test server, with setters for those that differ from the defaults.

use std::time::Duration;

use serde::Serialize;
use serde_json::Value;
use turnbuckle_auth::Secret;

use super::client::{Client, ClientAuthMethod, ClientKeys};
use super::error::TestServerError;
use super::redirect_uri;
use turnbuckle_types::base::setters;

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
#[must_use]
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
    pub(super) require_form_client_id: bool,
    pub(super) restrict_registered_scopes: bool,
    pub(super) token_auth_methods: Vec<String>,
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
            require_form_client_id: false,
            restrict_registered_scopes: false,
            token_auth_methods: texts([
                "none",
                "client_secret_basic",
                "client_secret_post",
                "private_key_jwt",
            ]),
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

impl TestAuthorizationServerBuilder {
    setters! {
        /// Sets the port on 127.0.0.1. Zero, the default, lets the operating system choose one.
        port(port: u16) { port = port }

        /// Grants authorization requests without a consent page, in the name of the first user.
        auto_approve(auto_approve: bool) { auto_approve = auto_approve }

        /// Sets the lifetime of access tokens. Default: one hour.
        token_ttl(token_ttl: Duration) { token_ttl = token_ttl }

        /// Sets the lifetime of refresh tokens. Default: one day.
        refresh_ttl(refresh_ttl: Duration) { refresh_ttl = refresh_ttl }

        /// Requires the `resource` parameter (RFC 8707). Default: true. If false, a token of a request
        /// without it is for the first resource of the settings, or else for the issuer.
        require_resource(require_resource: bool) { require_resource = require_resource }

        /// Sets the list `token_endpoint_auth_methods_supported` of the metadata, in this order.
        /// Clients are held to the method of their registration all the same.
        token_auth_methods(methods: impl IntoIterator<Item = impl Into<String>>) {
            token_auth_methods = texts(methods)
        }

        /// Requires `client_id` in the form of token requests, also beside an `Authorization` header, as
        /// authorization servers made with the Python SDK do. Default: false.
        require_form_client_id(require_form_client_id: bool) { require_form_client_id = require_form_client_id }

        /// Refuses authorization requests for scopes that a registered client did not name in its
        /// registration, with `invalid_scope`. Default: false.
        restrict_registered_scopes(restrict_registered_scopes: bool) { restrict_registered_scopes = restrict_registered_scopes }

        /// Requires a DPoP proof at the token endpoint. Default: false, tokens are bound if there is one.
        require_dpop(require_dpop: bool) { require_dpop = require_dpop }

        /// Requires a nonce of this server in DPoP proofs. Default: false.
        require_dpop_nonce(require_dpop_nonce: bool) { require_dpop_nonce = require_dpop_nonce }

        /// Issues a new refresh token with each refresh. Default: true. If false, the first one stays
        /// valid and answers to refresh requests carry none.
        rotate_refresh_tokens(rotate_refresh_tokens: bool) { rotate_refresh_tokens = rotate_refresh_tokens }

        /// Issues refresh tokens only when the scope `offline_access` is granted, and announces that
        /// scope. Default: false.
        require_offline_access(require_offline_access: bool) { require_offline_access = require_offline_access }

        /// Issues opaque access tokens, which only introspection explains. Default: false, JWTs.
        opaque_tokens(opaque_tokens: bool) { opaque_tokens = opaque_tokens }

        /// Serves the metadata document of RFC 8414. Default: true.
        oauth_metadata(oauth_metadata: bool) { oauth_metadata = oauth_metadata }

        /// Serves the metadata document of OpenID Connect Discovery. Default: true.
        openid_metadata(openid_metadata: bool) { openid_metadata = openid_metadata }

        /// Allows dynamic client registration. Default: true.
        dynamic_registration(dynamic_registration: bool) { dynamic_registration = dynamic_registration }

        /// Treats a registration without `application_type` as one of a web application, as OpenID
        /// Connect says. Default: false.
        strict_application_type(strict_application_type: bool) { strict_application_type = strict_application_type }

        /// Accepts the URL of a metadata document as client id. Default: true.
        client_metadata_documents(client_metadata_documents: bool) { client_metadata_documents = client_metadata_documents }

        /// Accepts `http` URLs on the own machine as client ids. Default: false, as the specification
        /// requires `https`.
        allow_http_client_ids(allow_http_client_ids: bool) { allow_http_client_ids = allow_http_client_ids }

        /// Sets the path of the issuer, such as `/tenant1`. By default the issuer has none.
        path(path: impl Into<String>) { path = path.into() }

        /// Sets the scopes that exist. A request without `scope` gets all of them. Without this setting
        /// every scope exists, and a request without `scope` gets none.
        scopes(scopes: impl IntoIterator<Item = impl Into<String>>) { scopes = texts(scopes) }

        /// Adds a resource for which tokens are issued. Without any, tokens are issued for every resource.
        resource(resource: impl Into<String>) { resources.push(resource.into()) }

        /// Adds a user. There are no passwords: the consent page lets anyone be any user. Without any,
        /// there is one user `alice`.
        user(name: impl Into<String>) { users.push(name.into()) }

        /// Adds a client with a secret, sent in the `Authorization` header or in the form.
        client(
            id: impl Into<String>,
            secret: impl Into<Secret>,
            redirect_uris: impl IntoIterator<Item = impl Into<String>>,
        ) {
            clients.push(Client {
                secret: Some(secret.into()),
                ..Client::new(id.into(), ClientAuthMethod::AnySecret, texts(redirect_uris))
            })
        }

        /// Adds a client without credentials.
        public_client(
            id: impl Into<String>,
            redirect_uris: impl IntoIterator<Item = impl Into<String>>,
        ) {
            clients.push(Client::new(id.into(), ClientAuthMethod::None, texts(redirect_uris)))
        }

        /// Adds a client that authenticates itself by `private_key_jwt`. `jwks` is the JSON Web Key Set
        /// with its public keys.
        client_with_keys(
            id: impl Into<String>,
            jwks: &impl Serialize,
            redirect_uris: impl IntoIterator<Item = impl Into<String>>,
        ) {
            clients.push(Client {
                keys: Some(ClientKeys::Inline(to_value(jwks))),
                ..Client::new(id.into(), ClientAuthMethod::PrivateKeyJwt, texts(redirect_uris))
            })
        }

        /// Accepts assertions of an issuer in the `jwt-bearer` grant, and its ID tokens in token exchange.
        /// Its keys are fetched from `jwks_uri` at each use.
        trusted_issuer(issuer: impl Into<String>, jwks_uri: impl Into<String>) {
            trusted_issuers.push(TrustedIssuer {
                issuer: issuer.into(),
                keys: ClientKeys::Url(jwks_uri.into()),
            })
        }

        /// Accepts assertions of an issuer in the `jwt-bearer` grant, and its ID tokens in token exchange.
        /// `jwks` is the JSON Web Key Set with its public keys.
        trusted_keys(issuer: impl Into<String>, jwks: &impl Serialize) {
            trusted_issuers.push(TrustedIssuer {
                issuer: issuer.into(),
                keys: ClientKeys::Inline(to_value(jwks)),
            })
        }

        /// Sets the client id that token exchange writes into an ID-JAG for the authorization server
        /// `audience`. Default: the id that the client has here.
        client_id_at(
            client_id: impl Into<String>,
            audience: impl Into<String>,
            foreign_id: impl Into<String>,
        ) {
            foreign_client_ids.push(ForeignClientId {
                client_id: client_id.into(),
                audience: audience.into(),
                foreign_id: foreign_id.into(),
            })
        }
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
