//! The documents by which a resource and an authorization server describe themselves.

use serde::{Deserialize, Serialize};

/// The metadata of a protected resource: who issues tokens for it.
///
/// Specification: RFC 9728; basic/authorization/authorization-server-discovery (2026-07-28).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct ProtectedResourceMetadata {
    /// The identifier of the resource. It is kept byte for byte.
    pub resource: String,
    /// The issuers of the authorization servers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub authorization_servers: Vec<String>,
    /// The scopes that basic use needs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scopes_supported: Option<Vec<String>>,
    /// The ways in which a token may be sent.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub bearer_methods_supported: Vec<String>,
    /// The name of the resource, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_name: Option<String>,
    /// A page about the resource, for developers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_documentation: Option<String>,
    /// The algorithms of DPoP proofs that the resource accepts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub dpop_signing_alg_values_supported: Vec<String>,
    /// True if every token must be bound to a key by DPoP.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub dpop_bound_access_tokens_required: bool,
}

/// The metadata of an authorization server.
///
/// Specification: RFC 8414; OpenID Connect Discovery 1.0.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct AuthorizationServerMetadata {
    /// The issuer. It is compared byte for byte.
    pub issuer: String,
    /// The endpoint that a browser opens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub authorization_endpoint: Option<String>,
    /// The endpoint that issues tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_endpoint: Option<String>,
    /// The endpoint that registers clients.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub registration_endpoint: Option<String>,
    /// The endpoint that revokes tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revocation_endpoint: Option<String>,
    /// The endpoint that tells a resource what a token means.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub introspection_endpoint: Option<String>,
    /// The keys that sign tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jwks_uri: Option<String>,
    /// The scopes that the server knows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scopes_supported: Option<Vec<String>>,
    /// The response types of the authorization endpoint.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub response_types_supported: Vec<String>,
    /// The grants of the token endpoint.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grant_types_supported: Option<Vec<String>>,
    /// The ways in which a client authenticates itself at the token endpoint.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_endpoint_auth_methods_supported: Option<Vec<String>>,
    /// The algorithms of the assertions with which a client authenticates itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_endpoint_auth_signing_alg_values_supported: Option<Vec<String>>,
    /// The PKCE methods. A server without any is refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code_challenge_methods_supported: Option<Vec<String>>,
    /// True if authorization responses name their issuer (RFC 9207).
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub authorization_response_iss_parameter_supported: bool,
    /// True if a URL of a metadata document may be used as client id.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub client_id_metadata_document_supported: bool,
    /// The algorithms of DPoP proofs that the server accepts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub dpop_signing_alg_values_supported: Vec<String>,
}

impl AuthorizationServerMetadata {
    /// Returns the method by which a client with a secret authenticates itself: the first of the
    /// server's list that sends a secret. Without a list it is `client_secret_basic` (RFC 8414).
    /// `None` if the list has other methods only.
    pub(crate) fn secret_method(&self) -> Option<&'static str> {
        let listed = self.token_endpoint_auth_methods_supported.as_deref();
        let Some(listed) = listed.filter(|listed| !listed.is_empty()) else {
            return Some("client_secret_basic");
        };
        let methods = ["client_secret_basic", "client_secret_post"];
        let find = |name: &String| methods.into_iter().find(|method| method == name);
        listed.iter().find_map(find)
    }
}
