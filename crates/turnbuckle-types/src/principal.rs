//! The authenticated caller of a request, and the scopes that a request needs.

use std::fmt;

use crate::RawObject;
use crate::base::debug_fields;

/// The authenticated caller of a request.
///
/// It is made by whatever checked the caller's credentials, never from anything in a message.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Principal {
    /// The issuer of the token, which vouches for the caller.
    pub issuer: String,
    /// The caller, unique for the issuer.
    pub subject: String,
    /// The client that acts for the caller, if that is known.
    pub client: Option<String>,
    /// The scopes of the caller.
    pub scopes: Vec<String>,
    /// The claims of the issuer, as they arrived.
    pub claims: Option<RawObject>,
}

impl Principal {
    /// Creates a caller without a client, scopes or claims.
    #[must_use]
    pub fn new(issuer: impl Into<String>, subject: impl Into<String>) -> Self {
        Self {
            issuer: issuer.into(),
            subject: subject.into(),
            client: None,
            scopes: Vec::new(),
            claims: None,
        }
    }

    /// Sets the client that acts for the caller.
    #[must_use]
    pub fn client(mut self, client: impl Into<String>) -> Self {
        self.client = Some(client.into());
        self
    }

    /// Sets what the caller may do.
    #[must_use]
    pub fn scopes<S: Into<String>>(mut self, scopes: impl IntoIterator<Item = S>) -> Self {
        self.scopes = scopes.into_iter().map(Into::into).collect();
        self
    }

    /// Sets what the issuer said.
    #[must_use]
    pub fn claims(mut self, claims: RawObject) -> Self {
        self.claims = Some(claims);
        self
    }

    /// Returns all that names the caller: the issuer, the subject, and the client that acts for it.
    /// Principals of the same identity are the same caller, with whatever scopes and claims.
    #[must_use]
    pub fn identity(&self) -> (&str, &str, Option<&str>) {
        (&self.issuer, &self.subject, self.client.as_deref())
    }

    /// Returns whether the caller has a scope.
    #[must_use]
    pub(crate) fn has_scope(&self, scope: &str) -> bool {
        self.scopes.iter().any(|held| held == scope)
    }
}

// Leaves the claims out: they may hold personal data.
debug_fields!(Principal {
    issuer,
    subject,
    client,
    scopes
});

/// Scopes that a request needs and its caller lacks.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RequiredScopes {
    /// Every scope that the request needs, those that the caller has included.
    pub scopes: Vec<String>,
}

impl RequiredScopes {
    /// Creates the need for all of these scopes.
    #[must_use]
    pub fn new<S: Into<String>>(scopes: impl IntoIterator<Item = S>) -> Self {
        Self {
            scopes: scopes.into_iter().map(Into::into).collect(),
        }
    }

    /// Returns whether a caller has all of them. Without a principal, there are no scopes.
    #[must_use]
    pub fn is_met_by(&self, principal: Option<&Principal>) -> bool {
        self.scopes
            .iter()
            .all(|scope| principal.is_some_and(|principal| principal.has_scope(scope)))
    }
}

impl fmt::Display for RequiredScopes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "needs the scopes: {}", self.scopes.join(" "))
    }
}
