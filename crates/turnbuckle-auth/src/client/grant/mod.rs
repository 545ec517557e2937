//! The grants: the ways in which a client gets an access token.
//!
//! [`Grant::AuthorizationCode`] asks the user to log in and lives in the parent module. The grants
//! of this module work without a browser. `OAuth` calls `Grant::request_token` with what it
//! discovered.
//!
//! Specification: extensions/auth (2026-07-28): client credentials, enterprise-managed authorization.

mod assertion_source;
mod client_credentials;
mod context;
mod enterprise;
mod jwt_bearer;
#[cfg(test)]
mod tests;

pub use assertion_source::{AssertionRequest, BoxError};
pub use client_credentials::ClientCredentials;
pub(crate) use context::GrantContext;
pub use enterprise::EnterpriseIdp;
pub use jwt_bearer::WorkloadIdentity;

use super::token_endpoint::TokenResponse;
use crate::error::{AuthError, AuthErrorKind};

/// The way in which a client gets an access token.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub enum Grant {
    /// The user logs in in a browser. This is the default.
    #[default]
    AuthorizationCode,
    /// The client acts for itself, with credentials that an administrator gave it.
    ClientCredentials(ClientCredentials),
    /// The user's login at a company's identity provider is exchanged for a token.
    Enterprise(EnterpriseIdp),
    /// The platform on which the program runs vouches for it.
    WorkloadIdentity(WorkloadIdentity),
}

impl Grant {
    /// Returns the name under which the credentials of this grant are kept apart from those of users
    /// and of other grants. `None` for a login of the user.
    pub(crate) fn identity(&self) -> Option<String> {
        match self {
            Self::AuthorizationCode => None,
            Self::ClientCredentials(client) => Some(format!("client:{}", client.client_id())),
            Self::Enterprise(idp) => Some(format!("enterprise:{}", idp.token_endpoint())),
            Self::WorkloadIdentity(_) => Some("workload".to_owned()),
        }
    }

    /// Returns whether the user must log in for this grant.
    pub(crate) fn is_interactive(&self) -> bool {
        matches!(self, Self::AuthorizationCode)
    }

    /// Returns whether [`GrantContext::registration`] must be there.
    pub(crate) fn needs_registration(&self) -> bool {
        match self {
            Self::AuthorizationCode => true,
            Self::Enterprise(idp) => !idp.has_client(),
            Self::ClientCredentials(_) | Self::WorkloadIdentity(_) => false,
        }
    }

    /// Obtains an access token without the user. A grant that fails is not followed by another.
    ///
    /// # Errors
    /// Fails when the server refuses or cannot be reached, and for an interactive grant.
    pub(crate) async fn request_token(
        &self,
        context: &GrantContext<'_>,
    ) -> Result<TokenResponse, AuthError> {
        match self {
            Self::AuthorizationCode => Err(AuthError::new(
                AuthErrorKind::LoginRequired,
                "the user must log in",
            )),
            Self::ClientCredentials(client) => client.request_token(context).await,
            Self::Enterprise(idp) => idp.request_token(context).await,
            Self::WorkloadIdentity(workload) => workload.request_token(context).await,
        }
    }
}
