//! The client credentials grant, and credentials of a client that an administrator registered.
//!
//! Specification: ext-auth, OAuth Client Credentials; RFC 6749 section 4.4; RFC 7523 section 2.2.

use std::fmt;

use super::context::GrantContext;
use crate::client::registration::{ClientRegistration, RegistrationSource};
use crate::client::token_endpoint::{ClientAuthentication, SigningKey, TokenResponse};
use crate::error::{AuthError, AuthErrorKind};
use crate::secret::Secret;

/// The credentials of a client that was registered at an authorization server beforehand.
///
/// As a grant they get a token for the client itself, without a user. Other grants use them to
/// authenticate the client.
#[derive(Clone)]
pub struct ClientCredentials {
    client_id: String,
    issuer: Option<String>,
    auth_method: Option<String>,
    proof: ClientProof,
}

/// The proof that a client is the one that was registered.
#[derive(Clone)]
enum ClientProof {
    None,
    Secret(Secret),
    Key(SigningKey),
}

impl ClientCredentials {
    /// Creates the credentials of a client with a secret.
    ///
    /// The secret is sent to the authorization server that the resource names. Name its
    /// [`issuer`](Self::issuer), so that no other server ever gets the secret.
    #[must_use]
    pub fn secret(client_id: impl Into<String>, secret: impl Into<Secret>) -> Self {
        Self::with_proof(client_id, ClientProof::Secret(secret.into()))
    }

    /// Creates the credentials of a client that signs with a private key (`private_key_jwt`).
    ///
    /// `pem` is an unencrypted private key: PKCS #8, PKCS #1 for RSA or SEC 1 for P-256. `algorithm`
    /// is one of ES256, ES384, EdDSA, PS256, PS384, PS512, RS256, RS384 and RS512.
    ///
    /// # Errors
    /// Fails when the algorithm is unknown or the key does not fit it.
    pub fn private_key_jwt(
        client_id: impl Into<String>,
        pem: impl Into<Secret>,
        algorithm: &str,
    ) -> Result<Self, AuthError> {
        let key = SigningKey::from_pem(&pem.into(), algorithm)?;
        Ok(Self::with_proof(client_id, ClientProof::Key(key)))
    }

    /// Creates the credentials of a client that has an identifier only.
    ///
    /// Some servers accept such a client beside an assertion, none for the client credentials grant.
    #[must_use]
    pub fn public(client_id: impl Into<String>) -> Self {
        Self::with_proof(client_id, ClientProof::None)
    }

    /// Sets the issuer that the credentials are for. They are never sent to another one.
    #[must_use]
    pub fn issuer(mut self, issuer: impl Into<String>) -> Self {
        self.issuer = Some(issuer.into());
        self
    }

    /// Sets the way in which the secret is sent: `client_secret_basic` or `client_secret_post`.
    ///
    /// By default the metadata of the authorization server decides.
    #[must_use]
    pub fn auth_method(mut self, method: impl Into<String>) -> Self {
        self.auth_method = Some(method.into());
        self
    }

    /// Sets the `kid` under which the server knows the private key. A secret has none.
    #[must_use]
    pub fn key_id(mut self, key_id: impl Into<String>) -> Self {
        if let ClientProof::Key(key) = &mut self.proof {
            key.set_key_id(key_id);
        }
        self
    }

    fn with_proof(client_id: impl Into<String>, proof: ClientProof) -> Self {
        Self {
            client_id: client_id.into(),
            issuer: None,
            auth_method: None,
            proof,
        }
    }

    /// Returns the authentication for the server with this issuer. The token endpoint refuses it
    /// if the credentials are for another one.
    pub(super) fn authentication(&self, server_issuer: &str) -> ClientAuthentication {
        let client_secret = match &self.proof {
            ClientProof::Key(key) => {
                return ClientAuthentication::PrivateKeyJwt {
                    issuer: self.issuer.clone(),
                    client_id: self.client_id.clone(),
                    key: key.clone(),
                };
            }
            ClientProof::Secret(secret) => Some(secret.clone()),
            ClientProof::None => None,
        };
        let issuer = self.issuer.as_deref().unwrap_or(server_issuer);
        ClientAuthentication::Registered(ClientRegistration {
            issuer: issuer.to_owned(),
            client_id: self.client_id.clone(),
            client_secret,
            secret_expires_at: None,
            auth_method: self.auth_method.clone(),
            redirect_uri: None,
            scopes: None,
            source: RegistrationSource::PreRegistered,
        })
    }

    /// Returns the client identifier.
    pub(super) fn client_id(&self) -> &str {
        &self.client_id
    }

    /// Obtains a token with the client credentials grant.
    pub(super) async fn request_token(
        &self,
        context: &GrantContext<'_>,
    ) -> Result<TokenResponse, AuthError> {
        if matches!(self.proof, ClientProof::None) {
            return Err(AuthError::new(
                AuthErrorKind::Registration,
                "the client credentials grant needs a secret or a private key; use \
                 ClientCredentials::secret or ClientCredentials::private_key_jwt",
            ));
        }
        let client = self.authentication(&context.discovery.issuer);
        let mut form = vec![("grant_type", "client_credentials")];
        context.add_targets(&mut form);
        context.request(&client, &form).await
    }
}

impl fmt::Debug for ClientCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientCredentials")
            .field("client_id", &self.client_id)
            .field("issuer", &self.issuer)
            .finish_non_exhaustive()
    }
}
