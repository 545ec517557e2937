//! The JWT bearer grant: an assertion is exchanged for an access token.
//!
//! A workload presents the assertion of its platform. The enterprise grant presents an ID-JAG.
//!
//! Specification: RFC 7523 section 2.1.

use std::future::Future;
use std::path::PathBuf;

use super::assertion_source::{AssertionRequest, AssertionSource, BoxError};
use super::client_credentials::ClientCredentials;
use super::context::GrantContext;
use crate::client::token_endpoint::{ClientAuthentication, TokenResponse};
use crate::error::{AuthError, AuthErrorKind};
use crate::secret::Secret;
use crate::transcript::StepKind;

pub(super) const JWT_BEARER: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";

/// A program whose platform vouches for it by a signed token, such as a Kubernetes service account.
///
/// The platform's token is sent to the authorization server as an assertion. Its audience must be
/// what the server expects, most often the server's issuer. After a refusal neither the assertion
/// nor another grant is tried.
#[derive(Debug, Clone)]
pub struct WorkloadIdentity {
    source: AssertionSource,
    client: Option<ClientCredentials>,
    issuer: Option<String>,
}

impl WorkloadIdentity {
    /// Reads the assertion from a file. The file is read anew for each token, because platforms
    /// replace it before it expires.
    #[must_use]
    pub fn from_file(path: impl Into<PathBuf>) -> Self {
        Self {
            source: AssertionSource::File(path.into()),
            client: None,
            issuer: None,
        }
    }

    /// Asks a function for an assertion. It is called for each token and has five minutes.
    #[must_use]
    pub fn from_fn<F>(function: impl Fn(AssertionRequest) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<Secret, BoxError>> + Send + 'static,
    {
        Self {
            source: AssertionSource::from_fn(function),
            client: None,
            issuer: None,
        }
    }

    /// Sets the credentials with which the client authenticates itself beside the assertion.
    ///
    /// By default there are none: the assertion says who asks.
    #[must_use]
    pub fn client(mut self, client: ClientCredentials) -> Self {
        self.client = Some(client);
        self
    }

    /// Sets the issuer that may receive the platform's token.
    ///
    /// Without it, the first issuer that the server names receives it, and no other afterwards. A
    /// server that is not trusted could name one of its own.
    #[must_use]
    pub fn issuer(mut self, issuer: impl Into<String>) -> Self {
        self.issuer = Some(issuer.into());
        self
    }

    /// Obtains a token with a fresh assertion.
    pub(super) async fn request_token(
        &self,
        context: &GrantContext<'_>,
    ) -> Result<TokenResponse, AuthError> {
        let issuer = &context.discovery.issuer;
        if let Some(expected) = self.issuer.as_ref().filter(|expected| *expected != issuer) {
            let message = format!("the assertion is for {expected}, but the server names {issuer}");
            let kind = AuthErrorKind::Registration;
            return Err(AuthError::new(kind, message));
        }
        let token_endpoint = context.discovery.server.token_endpoint.as_deref();
        let request = AssertionRequest {
            issuer: issuer.clone(),
            token_endpoint: token_endpoint.unwrap_or_default().to_owned(),
            resource: context.resource.map(str::to_owned),
        };
        let assertion = fetch_assertion(&self.source, request, "workload's", context).await?;
        let client = match &self.client {
            Some(client) => client.authentication(issuer),
            None => ClientAuthentication::Anonymous,
        };
        let mut form = vec![
            ("grant_type", JWT_BEARER),
            ("assertion", assertion.expose()),
        ];
        context.add_targets(&mut form);
        context.request(&client, &form).await
    }
}

/// Asks a source for an assertion and records a failure.
pub(super) async fn fetch_assertion(
    source: &AssertionSource,
    request: AssertionRequest,
    owner: &str,
    context: &GrantContext<'_>,
) -> Result<Secret, AuthError> {
    source.assertion(request).await.map_err(|reason| {
        let message = format!("the {owner} assertion is not available: {reason}");
        context.recorder.fail(
            StepKind::Token,
            format!("get the {owner} assertion"),
            reason,
            "give up",
            "check the file or the function that provides the assertion".to_owned(),
        );
        AuthError::new(AuthErrorKind::LoginRequired, message)
    })
}
