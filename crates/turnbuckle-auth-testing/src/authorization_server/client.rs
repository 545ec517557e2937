//! The clients that the test server knows: those of the settings, registered ones, and those whose
//! metadata documents are at their ids.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use turnbuckle_auth::Secret;

/// The way in which a client authenticates itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ClientAuthMethod {
    /// The client is public.
    None,
    /// The secret in the `Authorization` header or in the form.
    #[serde(skip)]
    AnySecret,
    ClientSecretBasic,
    ClientSecretPost,
    PrivateKeyJwt,
}

impl ClientAuthMethod {
    /// Returns true if client and server share a secret.
    pub(super) fn has_secret(self) -> bool {
        !matches!(self, Self::None | Self::PrivateKeyJwt)
    }
}

/// The keys with which a client signs its assertions.
#[derive(Debug, Clone)]
pub(super) enum ClientKeys {
    Inline(Value),
    Url(String),
}

/// A client that the server knows.
#[derive(Debug, Clone)]
pub(super) struct Client {
    pub(super) id: String,
    pub(super) name: Option<String>,
    pub(super) secret: Option<Secret>,
    pub(super) auth_method: ClientAuthMethod,
    pub(super) keys: Option<ClientKeys>,
    pub(super) redirect_uris: Vec<String>,
    /// The grants that the client may use. `None`: all.
    pub(super) grant_types: Option<Vec<String>>,
    /// The scopes of the registration. `None`: all.
    pub(super) scopes: Option<Vec<String>>,
}

impl Client {
    /// Creates a client without name, credentials and limits.
    pub(super) fn new(
        id: String,
        auth_method: ClientAuthMethod,
        redirect_uris: Vec<String>,
    ) -> Self {
        Self {
            id,
            name: None,
            secret: None,
            auth_method,
            keys: None,
            redirect_uris,
            grant_types: None,
            scopes: None,
        }
    }

    /// Returns true if the registration allows a scope.
    pub(super) fn may_ask_for(&self, scope: &String) -> bool {
        let allowed = self.scopes.as_ref();
        allowed.is_none_or(|allowed| allowed.contains(scope))
    }

    /// Returns true if the client may use a grant.
    pub(super) fn may_use_grant(&self, grant_type: &str) -> bool {
        let allowed = self.grant_types.as_ref();
        allowed.is_none_or(|allowed| allowed.iter().any(|allowed| allowed == grant_type))
    }

    /// Returns true if the client has no credentials.
    pub(super) fn is_public(&self) -> bool {
        self.auth_method == ClientAuthMethod::None
    }
}
