//! The ways in which a client authenticates itself at a token endpoint.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderMap, HeaderValue, header};
use serde_json::json;
use url::form_urlencoded::byte_serialize;

use super::{SigningKey, TokenError};
use crate::client::registration::ClientRegistration;
use crate::metadata::AuthorizationServerMetadata;
use crate::pkce::random_token;
use crate::secret::Secret;

const ASSERTION_TYPE: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
/// The lifetime of an assertion. It covers clocks that differ a little.
const ASSERTION_TTL: u64 = 120;

/// The identity of a client at one authorization server.
#[derive(Clone)]
pub(crate) enum ClientAuthentication {
    /// A registered client, with or without a secret.
    Registered(ClientRegistration),
    /// A client that signs an assertion with its private key.
    PrivateKeyJwt {
        /// The issuer that knows the key. None: any.
        issuer: Option<String>,
        client_id: String,
        key: SigningKey,
    },
    /// No client: the grant alone says who asks.
    Anonymous,
}

/// The part of one request that authenticates the client.
pub(super) enum RequestCredentials {
    None,
    Identifier {
        client_id: String,
    },
    Basic {
        client_id: String,
        header: HeaderValue,
        secret: Secret,
    },
    Post {
        client_id: String,
        secret: Secret,
    },
    Assertion(Secret),
}

/// The methods of a client that has a secret or nothing.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SecretMethod {
    None,
    Basic,
    Post,
}

impl ClientAuthentication {
    /// Returns the client identifier.
    pub(crate) fn client_id(&self) -> Option<&str> {
        match self {
            Self::Registered(registration) => Some(&registration.client_id),
            Self::PrivateKeyJwt { client_id, .. } => Some(client_id),
            Self::Anonymous => None,
        }
    }

    /// Returns the credentials for one request to `server`.
    ///
    /// # Errors
    /// Fails when the client belongs to another issuer or supports no method of the server.
    pub(super) fn credentials(
        &self,
        server: &AuthorizationServerMetadata,
        now: u64,
    ) -> Result<RequestCredentials, TokenError> {
        match self {
            Self::Anonymous => Ok(RequestCredentials::None),
            Self::Registered(registration) => {
                check_issuer(&registration.issuer, server)?;
                registered_credentials(registration, server)
            }
            Self::PrivateKeyJwt {
                issuer,
                client_id,
                key,
            } => {
                if let Some(issuer) = issuer {
                    check_issuer(issuer, server)?;
                }
                signed_assertion(client_id, key, server, now)
            }
        }
    }
}

impl RequestCredentials {
    fn basic(client_id: String, secret: Secret) -> Result<Self, TokenError> {
        Ok(Self::Basic {
            header: basic_header(&client_id, &secret)?,
            client_id,
            secret,
        })
    }

    /// Returns the name of the method, if it sends a secret.
    pub(super) fn secret_method(&self) -> Option<&'static str> {
        match self {
            Self::Basic { .. } => Some("client_secret_basic"),
            Self::Post { .. } => Some("client_secret_post"),
            Self::None | Self::Identifier { .. } | Self::Assertion(_) => None,
        }
    }

    /// Returns the same secret by the other of Basic and Post. Other credentials stay as they are.
    pub(super) fn by_other_method(self) -> Result<Self, TokenError> {
        match self {
            Self::Basic {
                client_id, secret, ..
            } => Ok(Self::Post { client_id, secret }),
            Self::Post { client_id, secret } => Self::basic(client_id, secret),
            other => Ok(other),
        }
    }

    /// Adds the credentials to a request.
    pub(super) fn add_to<'a>(
        &'a self,
        form: &mut Vec<(&'a str, &'a str)>,
        headers: &mut HeaderMap,
    ) {
        match self {
            Self::None => {}
            Self::Identifier { client_id } => form.push(("client_id", client_id)),
            Self::Basic { header, .. } => {
                headers.insert(header::AUTHORIZATION, header.clone());
            }
            Self::Post { client_id, secret } => {
                form.push(("client_id", client_id));
                form.push(("client_secret", secret.expose()));
            }
            Self::Assertion(assertion) => {
                form.push(("client_assertion_type", ASSERTION_TYPE));
                form.push(("client_assertion", assertion.expose()));
            }
        }
    }

    /// Returns the secret that is in a header, so that it can be removed from a server's error.
    pub(super) fn header_secret(&self) -> Option<&str> {
        match self {
            Self::Basic { secret, .. } => Some(secret.expose()),
            _ => None,
        }
    }
}

/// Checks that credentials are shown to the authorization server that they belong to.
fn check_issuer(issuer: &str, server: &AuthorizationServerMetadata) -> Result<(), TokenError> {
    if issuer == server.issuer {
        return Ok(());
    }
    Err(TokenError::Invalid(format!(
        "the client is registered with {issuer}, but the authorization server is {}",
        server.issuer
    )))
}

fn registered_credentials(
    registration: &ClientRegistration,
    server: &AuthorizationServerMetadata,
) -> Result<RequestCredentials, TokenError> {
    let client_id = registration.client_id.clone();
    let method = secret_method(registration, server)?;
    let (secret, method) = match (&registration.client_secret, method) {
        (Some(secret), SecretMethod::Basic | SecretMethod::Post) => (secret, method),
        _ => return Ok(RequestCredentials::Identifier { client_id }),
    };
    let secret = secret.clone();
    match method {
        SecretMethod::Post => Ok(RequestCredentials::Post { client_id, secret }),
        _ => RequestCredentials::basic(client_id, secret),
    }
}

/// Chooses the method: that of the registration, else the first of the server's list.
fn secret_method(
    registration: &ClientRegistration,
    server: &AuthorizationServerMetadata,
) -> Result<SecretMethod, TokenError> {
    if let Some(method) = registration.auth_method.as_deref() {
        return known_method(method).ok_or_else(|| {
            TokenError::Invalid(format!(
                "the client is registered with the authentication method {method}, which needs \
                 more than a secret"
            ))
        });
    }
    if registration.client_secret.is_none() {
        return Ok(SecretMethod::None);
    }
    let method = server.secret_method().and_then(known_method);
    let supported = server.token_endpoint_auth_methods_supported.as_deref();
    let supported = supported.unwrap_or_default();
    let takes_none = supported.iter().any(|method| method == "none");
    let method = method.or(takes_none.then_some(SecretMethod::None));
    method.ok_or_else(|| {
        TokenError::Invalid(format!(
            "the authorization server accepts only these authentication methods: {}; configure a \
             private key if it lists private_key_jwt",
            supported.join(", ")
        ))
    })
}

fn known_method(name: &str) -> Option<SecretMethod> {
    match name {
        "none" => Some(SecretMethod::None),
        "client_secret_basic" => Some(SecretMethod::Basic),
        "client_secret_post" => Some(SecretMethod::Post),
        _ => None,
    }
}

/// Returns an `Authorization` header. Identifier and secret are form-encoded first (RFC 6749
/// section 2.3.1).
fn basic_header(client_id: &str, secret: &Secret) -> Result<HeaderValue, TokenError> {
    let client_id: String = byte_serialize(client_id.as_bytes()).collect();
    let encoded: Secret = byte_serialize(secret.expose().as_bytes())
        .collect::<String>()
        .into();
    let pair = Secret::new(format!("{client_id}:{}", encoded.expose()));
    let text = Secret::new(format!("Basic {}", STANDARD.encode(pair.expose())));
    let mut header = HeaderValue::from_str(text.expose())
        .map_err(|_| TokenError::Invalid("the client's credentials are too long".to_owned()))?;
    header.set_sensitive(true);
    Ok(header)
}

fn signed_assertion(
    client_id: &str,
    key: &SigningKey,
    server: &AuthorizationServerMetadata,
    now: u64,
) -> Result<RequestCredentials, TokenError> {
    let supported = server
        .token_endpoint_auth_signing_alg_values_supported
        .as_deref();
    let supported = supported.unwrap_or_default();
    if !supported.is_empty() && !supported.iter().any(|name| name == key.algorithm()) {
        return Err(TokenError::Invalid(format!(
            "the client's key signs with {}, but the authorization server accepts only {}",
            key.algorithm(),
            supported.join(", ")
        )));
    }
    let jti = random_token()
        .map_err(|_| TokenError::Invalid("the operating system has no randomness".to_owned()))?;
    let claims = json!({
        "iss": client_id,
        "sub": client_id,
        "aud": server.issuer,
        "iat": now,
        "exp": now.saturating_add(ASSERTION_TTL),
        "jti": jti.expose(),
    });
    let assertion = key.sign(&claims);
    let assertion = assertion.map_err(|error| TokenError::Invalid(error.to_string()))?;
    Ok(RequestCredentials::Assertion(assertion))
}

impl std::fmt::Debug for ClientAuthentication {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ClientAuthentication")
            .field("client_id", &self.client_id())
            .finish_non_exhaustive()
    }
}
