//! The settings of a resource server.

use std::time::Duration;

use turnbuckle_types::base::debug_fields;

mod build;

use super::authenticator::ExtraAudience;
use super::dpop::DpopMode;
use super::scopes::ScopeHierarchy;
use super::token::TokenVerifier;
use crate::clock::Clock;
use crate::secret::Secret;

const DEFAULT_LEEWAY: Duration = Duration::from_secs(60);
const DEFAULT_MAX_CACHED_TOKENS: usize = 10_000;

/// The settings of a [`ResourceServer`](super::ResourceServer).
///
/// A server needs at least one source of tokens: [`issuer`](Self::issuer), [`jwks`](Self::jwks),
/// [`introspection`](Self::introspection), [`verifier`](Self::verifier) or
/// [`static_token`](Self::static_token).
#[must_use]
pub struct ResourceServerBuilder {
    resource: String,
    audiences: Vec<ExtraAudience>,
    jwt_issuers: Vec<JwtIssuerSetting>,
    opaque: Vec<OpaqueSetting>,
    authorization_servers: Vec<String>,
    static_tokens: Vec<StaticTokenSetting>,
    api_key_header: Option<String>,
    required_scopes: Vec<String>,
    scopes_supported: Option<Vec<String>>,
    hierarchy: ScopeHierarchy,
    leeway: Duration,
    algorithms: Option<Vec<String>>,
    dpop: DpopMode,
    has_dpop_nonces: bool,
    public_base_url: Option<String>,
    resource_name: Option<String>,
    resource_documentation: Option<String>,
    extra_roots_pem: Vec<Vec<u8>>,
    max_cached_tokens: usize,
    clock: Clock,
}

struct JwtIssuerSetting {
    issuer: String,
    jwks_url: Option<String>,
}

struct StaticTokenSetting {
    name: String,
    token: Secret,
    scopes: Vec<String>,
}

enum OpaqueSetting {
    Introspection {
        issuer: String,
        url: String,
        client_id: String,
        client_secret: Secret,
    },
    Custom(Box<dyn TokenVerifier>),
}

/// The setting because of which a [`ResourceServer`](super::ResourceServer) cannot be built.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the resource server's `{setting}`: {reason}")]
pub struct ResourceServerError {
    setting: &'static str,
    reason: String,
}

impl ResourceServerError {
    fn new(setting: &'static str, reason: impl Into<String>) -> Self {
        Self {
            setting,
            reason: reason.into(),
        }
    }
}

impl ResourceServerBuilder {
    pub(super) fn new(resource: String) -> Self {
        Self {
            resource,
            audiences: Vec::new(),
            jwt_issuers: Vec::new(),
            opaque: Vec::new(),
            authorization_servers: Vec::new(),
            static_tokens: Vec::new(),
            api_key_header: None,
            required_scopes: Vec::new(),
            scopes_supported: None,
            hierarchy: ScopeHierarchy::default(),
            leeway: DEFAULT_LEEWAY,
            algorithms: None,
            dpop: DpopMode::default(),
            has_dpop_nonces: false,
            public_base_url: None,
            resource_name: None,
            resource_documentation: None,
            extra_roots_pem: Vec::new(),
            max_cached_tokens: DEFAULT_MAX_CACHED_TOKENS,
            clock: Clock::system(),
        }
    }

    /// Accepts JWTs of an issuer. Its metadata names its keys.
    pub fn issuer(mut self, issuer: impl Into<String>) -> Self {
        self.jwt_issuers.push(JwtIssuerSetting {
            issuer: issuer.into(),
            jwks_url: None,
        });
        self
    }

    /// Accepts JWTs of an issuer whose keys are at `url`.
    pub fn jwks(mut self, issuer: impl Into<String>, url: impl Into<String>) -> Self {
        self.jwt_issuers.push(JwtIssuerSetting {
            issuer: issuer.into(),
            jwks_url: Some(url.into()),
        });
        self
    }

    /// Accepts opaque tokens of an issuer, whose introspection endpoint (RFC 7662) is at `url`. The
    /// server authenticates itself there with a client id and secret.
    ///
    /// The endpoint's answer must name the audience (`aud`). It is kept for at most a minute.
    pub fn introspection(
        mut self,
        issuer: impl Into<String>,
        url: impl Into<String>,
        client_id: impl Into<String>,
        client_secret: impl Into<Secret>,
    ) -> Self {
        self.opaque.push(OpaqueSetting::Introspection {
            issuer: issuer.into(),
            url: url.into(),
            client_id: client_id.into(),
            client_secret: client_secret.into(),
        });
        self
    }

    /// Accepts tokens that a verifier of your own accepts, if no JWT issuer of this server signed them.
    /// Name the authorization server with [`authorization_server`](Self::authorization_server).
    pub fn verifier(mut self, verifier: impl TokenVerifier) -> Self {
        self.opaque.push(OpaqueSetting::Custom(Box::new(verifier)));
        self
    }

    /// Adds an authorization server to the metadata. Issuers of JWTs and of introspection are named
    /// anyway.
    pub fn authorization_server(mut self, issuer: impl Into<String>) -> Self {
        self.authorization_servers.push(issuer.into());
        self
    }

    /// Accepts a static token with these scopes. The token is given as it is, with at least 16 random
    /// characters, or as `sha256:` and its hash in hexadecimal. Only the hash is kept.
    ///
    /// The principal has the issuer `urn:turnbuckle:static` and `name` as subject.
    pub fn static_token<S: Into<String>>(
        mut self,
        name: impl Into<String>,
        token: impl Into<Secret>,
        scopes: impl IntoIterator<Item = S>,
    ) -> Self {
        self.static_tokens.push(StaticTokenSetting {
            name: name.into(),
            token: token.into(),
            scopes: scopes.into_iter().map(Into::into).collect(),
        });
        self
    }

    /// Accepts static tokens in this header too, for instance `x-api-key`.
    pub fn api_key_header(mut self, name: impl Into<String>) -> Self {
        self.api_key_header = Some(name.into());
        self
    }

    /// Sets the scopes that every request needs.
    pub fn required_scopes<S: Into<String>>(mut self, scopes: impl IntoIterator<Item = S>) -> Self {
        self.required_scopes = scopes.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the scopes in the metadata: those that basic use needs. By default, they are the required
    /// scopes and those of the items
    /// ([`with_item_scopes`](super::ResourceServer::with_item_scopes)).
    pub fn scopes_supported<S: Into<String>>(
        mut self,
        scopes: impl IntoIterator<Item = S>,
    ) -> Self {
        self.scopes_supported = Some(scopes.into_iter().map(Into::into).collect());
        self
    }

    /// Lets a scope imply narrower ones.
    pub fn scope_implies<S: Into<String>>(
        mut self,
        scope: impl Into<String>,
        implied: impl IntoIterator<Item = S>,
    ) -> Self {
        self.hierarchy
            .add(scope.into(), implied.into_iter().map(Into::into));
        self
    }

    /// Accepts tokens for this audience too, for authorization servers that cannot issue tokens for
    /// the URI of the resource. It counts for every issuer: with several of them, use
    /// [`issuer_audience`](Self::issuer_audience).
    pub fn audience(mut self, audience: impl Into<String>) -> Self {
        self.audiences.push(ExtraAudience {
            issuer: None,
            audience: audience.into(),
        });
        self
    }

    /// Accepts tokens of one issuer for this audience too. In tokens of other issuers the audience does
    /// not count: there the same name can belong to another service.
    pub fn issuer_audience(
        mut self,
        issuer: impl Into<String>,
        audience: impl Into<String>,
    ) -> Self {
        self.audiences.push(ExtraAudience {
            issuer: Some(issuer.into()),
            audience: audience.into(),
        });
        self
    }

    /// Sets the difference that clocks may have, 60 seconds by default, at most 5 minutes.
    pub fn leeway(mut self, leeway: Duration) -> Self {
        self.leeway = leeway;
        self
    }

    /// Sets the algorithms that JWTs may have. By default, they are ES256, ES384, EdDSA, RS256 to RS512
    /// and PS256 to PS512. Symmetric ones and `none` are never accepted.
    pub fn algorithms<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.algorithms = Some(names.into_iter().map(Into::into).collect());
        self
    }

    /// Sets the use of DPoP, [`DpopMode::Optional`] by default.
    pub fn dpop(mut self, mode: DpopMode) -> Self {
        self.dpop = mode;
        self
    }

    /// Demands a nonce of this server in each DPoP proof.
    pub fn dpop_nonces(mut self, has_nonces: bool) -> Self {
        self.has_dpop_nonces = has_nonces;
        self
    }

    /// Sets the public URL of this server's path `/`, for a proxy that changes paths: it and the path
    /// of a request are the URL that DPoP proofs must name (`htu`). It has the origin of the resource.
    ///
    /// Without it, a request to the endpoint has the URL of the resource, and any other one its own
    /// path.
    pub fn public_base_url(mut self, url: impl Into<String>) -> Self {
        self.public_base_url = Some(url.into());
        self
    }

    /// Sets the name of the resource in its metadata, for people.
    pub fn resource_name(mut self, name: impl Into<String>) -> Self {
        self.resource_name = Some(name.into());
        self
    }

    /// Sets the URL of a page about the resource in its metadata, for developers.
    pub fn resource_documentation(mut self, url: impl Into<String>) -> Self {
        self.resource_documentation = Some(url.into());
        self
    }

    /// Trusts the certificates in a PEM text beside those of the system, for authorization servers with
    /// a private certificate authority.
    pub fn root_certificates_pem(mut self, pem: impl Into<Vec<u8>>) -> Self {
        self.extra_roots_pem.push(pem.into());
        self
    }

    /// Sets the number of verified tokens that are kept, 10,000 by default. With 0, every token is
    /// verified for every request.
    pub fn max_cached_tokens(mut self, max: usize) -> Self {
        self.max_cached_tokens = max;
        self
    }

    #[cfg(test)]
    pub(super) fn clock(mut self, clock: Clock) -> Self {
        self.clock = clock;
        self
    }
}

debug_fields!(ResourceServerBuilder {
    resource,
    authorization_servers,
    required_scopes,
    dpop
});
