//! Enterprise-managed authorization: the user's login at a company's identity provider (IdP) becomes
//! an access token, without a consent page per server.
//!
//! The IdP exchanges the user's ID token or SAML assertion for an ID-JAG, an assertion for the
//! authorization server of the resource, which exchanges that for an access token.
//!
//! Specification: ext-auth, Enterprise-Managed Authorization; RFC 8693;
//! draft-ietf-oauth-identity-assertion-authz-grant.

use std::future::Future;

use url::Url;

use super::assertion_source::{AssertionRequest, AssertionSource, BoxError};
use super::client_credentials::ClientCredentials;
use super::context::{GrantContext, describe_request};
use super::jwt_bearer::{JWT_BEARER, fetch_assertion};
use crate::client::token_endpoint::{
    ClientAuthentication, TokenEndpoint, TokenError, TokenResponse,
};
use crate::error::{AuthError, AuthErrorKind};
use crate::metadata::AuthorizationServerMetadata;
use crate::outbound::Outbound;
use crate::secret::Secret;

const TOKEN_EXCHANGE: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
const ID_JAG: &str = "urn:ietf:params:oauth:token-type:id-jag";
const ID_TOKEN: &str = "urn:ietf:params:oauth:token-type:id_token";
const SAML2: &str = "urn:ietf:params:oauth:token-type:saml2";

/// A company's identity provider, at which the user has logged in.
#[derive(Debug, Clone)]
pub struct EnterpriseIdp {
    token_endpoint: String,
    issuer: Option<String>,
    subject: AssertionSource,
    subject_token_type: &'static str,
    idp_client: Option<Box<ClientCredentials>>,
    client: Option<Box<ClientCredentials>>,
}

impl EnterpriseIdp {
    /// Creates an identity provider whose users have OpenID Connect ID tokens.
    ///
    /// `token_endpoint` is the URL of its token endpoint. `id_token` returns the ID token of the
    /// user's login; it is called for each access token and has five minutes.
    #[must_use]
    pub fn id_token<F>(
        token_endpoint: impl Into<String>,
        id_token: impl Fn(AssertionRequest) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<Secret, BoxError>> + Send + 'static,
    {
        Self::new(
            token_endpoint.into(),
            AssertionSource::from_fn(id_token),
            ID_TOKEN,
        )
    }

    /// Creates an identity provider whose users have SAML 2.0 assertions.
    ///
    /// `assertion` returns the assertion in URL-safe Base64, as RFC 8693 asks for.
    #[must_use]
    pub fn saml2<F>(
        token_endpoint: impl Into<String>,
        assertion: impl Fn(AssertionRequest) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<Secret, BoxError>> + Send + 'static,
    {
        Self::new(
            token_endpoint.into(),
            AssertionSource::from_fn(assertion),
            SAML2,
        )
    }

    /// Sets the issuer of the identity provider: the audience when the client signs with a key.
    ///
    /// By default it is the URL of the token endpoint.
    #[must_use]
    pub fn issuer(mut self, issuer: impl Into<String>) -> Self {
        self.issuer = Some(issuer.into());
        self
    }

    /// Sets the client at the identity provider: the one that the user logged in to.
    #[must_use]
    pub fn idp_client(mut self, client: ClientCredentials) -> Self {
        self.idp_client = Some(Box::new(client));
        self
    }

    /// Sets the client at the authorization server of the resource.
    ///
    /// Without it the client registers there as for any other login.
    #[must_use]
    pub fn client(mut self, client: ClientCredentials) -> Self {
        self.client = Some(Box::new(client));
        self
    }

    /// Returns the token endpoint of the identity provider.
    pub(super) fn token_endpoint(&self) -> &str {
        &self.token_endpoint
    }

    fn new(
        token_endpoint: String,
        subject: AssertionSource,
        subject_token_type: &'static str,
    ) -> Self {
        Self {
            token_endpoint,
            issuer: None,
            subject,
            subject_token_type,
            idp_client: None,
            client: None,
        }
    }

    pub(super) fn has_client(&self) -> bool {
        self.client.is_some()
    }

    /// Obtains an ID-JAG at the identity provider and a token at the authorization server.
    pub(super) async fn request_token(
        &self,
        context: &GrantContext<'_>,
    ) -> Result<TokenResponse, AuthError> {
        // Without a client the ID-JAG would be useless, so this comes first.
        let client = self.authentication(context)?;
        let grant = self.exchange(context).await?;
        let mut form = vec![
            ("grant_type", JWT_BEARER),
            ("assertion", grant.access_token.expose()),
        ];
        // The identity provider may have granted fewer scopes.
        let scope = grant.scope.as_deref().or(context.scope);
        if let Some(scope) = scope.filter(|scope| !scope.is_empty()) {
            form.push(("scope", scope));
        }
        if let Some(resource) = context.resource {
            form.push(("resource", resource));
        }
        context.request(&client, &form).await
    }

    fn authentication(
        &self,
        context: &GrantContext<'_>,
    ) -> Result<ClientAuthentication, AuthError> {
        if let Some(client) = &self.client {
            return Ok(client.authentication(&context.discovery.issuer));
        }
        let registration = context.registration.ok_or_else(|| {
            AuthError::new(
                AuthErrorKind::Registration,
                "enterprise-managed authorization needs a client at the authorization server; \
                 use EnterpriseIdp::client",
            )
        })?;
        Ok(ClientAuthentication::Registered(registration.clone()))
    }

    /// Exchanges the user's assertion for an ID-JAG.
    async fn exchange(&self, context: &GrantContext<'_>) -> Result<TokenResponse, AuthError> {
        let endpoint_url = Url::parse(&self.token_endpoint).map_err(|_| {
            let message = format!(
                "the token endpoint of the identity provider is no URL: {}",
                self.token_endpoint
            );
            AuthError::new(AuthErrorKind::Token, message)
        })?;
        let issuer = self.issuer.as_deref().unwrap_or(&self.token_endpoint);
        let idp = AuthorizationServerMetadata {
            issuer: issuer.to_owned(),
            token_endpoint: Some(self.token_endpoint.clone()),
            ..AuthorizationServerMetadata::default()
        };
        // The user configured this URL, so its own address decides what is allowed.
        let outbound = Outbound::new(&endpoint_url, context.outbound_settings.clone())?;
        let client = match &self.idp_client {
            Some(client) => client.authentication(issuer),
            None => ClientAuthentication::Anonymous,
        };
        let request = AssertionRequest {
            issuer: issuer.to_owned(),
            token_endpoint: self.token_endpoint.clone(),
            resource: context.resource.map(str::to_owned),
        };
        let subject = fetch_assertion(&self.subject, request, "user's", context).await?;
        let mut form = vec![
            ("grant_type", TOKEN_EXCHANGE),
            ("requested_token_type", ID_JAG),
            ("audience", context.discovery.issuer.as_str()),
            ("subject_token", subject.expose()),
            ("subject_token_type", self.subject_token_type),
        ];
        context.add_targets(&mut form);
        let endpoint = TokenEndpoint {
            outbound: &outbound,
            server: &idp,
            client: &client,
            dpop: None,
            clock: context.clock,
        };
        let result = endpoint.exchange(&form).await.and_then(check_issued_type);
        context.record(describe_request(&endpoint.url(), &form), result, &idp)
    }
}

fn check_issued_type(token: TokenResponse) -> Result<TokenResponse, TokenError> {
    match token.issued_token_type.as_deref() {
        Some(ID_JAG) => Ok(token),
        Some(other) => Err(TokenError::Invalid(format!(
            "the identity provider issued a token of type {other}, not an ID-JAG ({ID_JAG})"
        ))),
        None => Err(TokenError::Invalid(format!(
            "the identity provider's answer has no issued_token_type; it must be {ID_JAG}"
        ))),
    }
}
