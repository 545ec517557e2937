//! The settings of a resource server.

use std::sync::Arc;
use std::time::Duration;

use turnbuckle_store::Store;
use turnbuckle_types::base::{debug_fields, setters};
use turnbuckle_types::{Audit, KeyRing};

mod build;

use super::authenticator::ExtraAudience;
use super::dpop::DpopMode;
use super::proof_store::ProofStore;
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
    keys: Option<KeyRing>,
    proof_store: Option<ProofStore>,
    public_base_url: Option<String>,
    resource_name: Option<String>,
    resource_documentation: Option<String>,
    extra_roots_pem: Vec<Vec<u8>>,
    max_cached_tokens: usize,
    clock: Clock,
    audit: Option<Arc<dyn Audit>>,
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
            keys: None,
            proof_store: None,
            public_base_url: None,
            resource_name: None,
            resource_documentation: None,
            extra_roots_pem: Vec::new(),
            max_cached_tokens: DEFAULT_MAX_CACHED_TOKENS,
            clock: Clock::system(),
            audit: None,
        }
    }

    setters! {
        /// Sets the receiver of a record of each request that is refused: a function of an
        /// [`AuditRecord`](turnbuckle_types::AuditRecord), or an [`Audit`]. Give the server behind it the
        /// same one, which then has all requests. Default: none.
        audit(audit: impl Audit) { audit = Some(Arc::new(audit)) }

        /// Accepts JWTs of an issuer. Its metadata names its keys.
        issuer(issuer: impl Into<String>) {
            jwt_issuers.push(JwtIssuerSetting {
                issuer: issuer.into(),
                jwks_url: None,
            })
        }

        /// Accepts JWTs of an issuer whose keys are at `url`.
        jwks(issuer: impl Into<String>, url: impl Into<String>) {
            jwt_issuers.push(JwtIssuerSetting {
                issuer: issuer.into(),
                jwks_url: Some(url.into()),
            })
        }

        /// Accepts opaque tokens of an issuer, whose introspection endpoint (RFC 7662) is at `url`. The
        /// server authenticates itself there with a client id and secret.
        ///
        /// The endpoint's answer must name the audience (`aud`). It is kept for at most a minute.
        introspection(
            issuer: impl Into<String>,
            url: impl Into<String>,
            client_id: impl Into<String>,
            client_secret: impl Into<Secret>,
        ) {
            opaque.push(OpaqueSetting::Introspection {
                issuer: issuer.into(),
                url: url.into(),
                client_id: client_id.into(),
                client_secret: client_secret.into(),
            })
        }

        /// Accepts tokens that a verifier of your own accepts, if no JWT issuer of this server signed them.
        /// Name the authorization server with [`authorization_server`](Self::authorization_server).
        verifier(verifier: impl TokenVerifier) {
            opaque.push(OpaqueSetting::Custom(Box::new(verifier)))
        }

        /// Adds an authorization server to the metadata. Issuers of JWTs and of introspection are named
        /// anyway.
        authorization_server(issuer: impl Into<String>) {
            authorization_servers.push(issuer.into())
        }

        /// Accepts a static token with these scopes. The token is given as it is, with at least 16 random
        /// characters, or as `sha256:` and its hash in hexadecimal. Only the hash is kept.
        ///
        /// The principal has the issuer `urn:turnbuckle:static` and `name` as subject.
        static_token(
            name: impl Into<String>,
            token: impl Into<Secret>,
            scopes: impl IntoIterator<Item = impl Into<String>>,
        ) {
            static_tokens.push(StaticTokenSetting {
                name: name.into(),
                token: token.into(),
                scopes: scopes.into_iter().map(Into::into).collect(),
            })
        }

        /// Accepts static tokens in this header too, for instance `x-api-key`.
        api_key_header(name: impl Into<String>) { api_key_header = Some(name.into()) }

        /// Sets the scopes that every request needs.
        required_scopes(scopes: impl IntoIterator<Item = impl Into<String>>) {
            required_scopes = scopes.into_iter().map(Into::into).collect()
        }

        /// Sets the scopes in the metadata: those that basic use needs. By default, they are the required
        /// scopes and those of the items
        /// ([`with_item_scopes`](super::ResourceServer::with_item_scopes)).
        scopes_supported(scopes: impl IntoIterator<Item = impl Into<String>>) {
            scopes_supported = Some(scopes.into_iter().map(Into::into).collect())
        }

        /// Lets a scope imply narrower ones.
        scope_implies(
            scope: impl Into<String>,
            implied: impl IntoIterator<Item = impl Into<String>>,
        ) {
            hierarchy
                .add(scope.into(), implied.into_iter().map(Into::into))
        }

        /// Accepts tokens for this audience too, for authorization servers that cannot issue tokens for
        /// the URI of the resource. It counts for every issuer: with several of them, use
        /// [`issuer_audience`](Self::issuer_audience).
        audience(audience: impl Into<String>) {
            audiences.push(ExtraAudience {
                issuer: None,
                audience: audience.into(),
            })
        }

        /// Accepts tokens of one issuer for this audience too. In tokens of other issuers the audience does
        /// not count: there the same name can belong to another service.
        issuer_audience(issuer: impl Into<String>, audience: impl Into<String>) {
            audiences.push(ExtraAudience {
                issuer: Some(issuer.into()),
                audience: audience.into(),
            })
        }

        /// Sets the difference that clocks may have, 60 seconds by default, at most 5 minutes.
        leeway(leeway: Duration) { leeway = leeway }

        /// Sets the algorithms that JWTs may have. By default, they are ES256, ES384, EdDSA, RS256 to RS512
        /// and PS256 to PS512. Symmetric ones and `none` are never accepted.
        algorithms(names: impl IntoIterator<Item = impl Into<String>>) {
            algorithms = Some(names.into_iter().map(Into::into).collect())
        }

        /// Sets the use of DPoP, [`DpopMode::Optional`] by default.
        dpop(mode: DpopMode) { dpop = mode }

        /// Demands a nonce of this server in each DPoP proof. Several instances need the same
        /// [`keys`](Self::keys), or they refuse each other's nonces.
        dpop_nonces(has_nonces: bool) { has_dpop_nonces = has_nonces }

        /// Sets the keys that nonces of DPoP are derived from. Default: those of the server that is
        /// protected, otherwise random ones.
        keys(keys: KeyRing) { keys = Some(keys) }

        /// Sets the store that the instances of this server share, in which each instance claims the DPoP
        /// proofs that it accepts. Without one, a proof works once on each instance. An `Arc` of a store
        /// is a store, too.
        ///
        /// A request with a proof then waits for one operation of the store. If the operation fails, or
        /// takes longer than a second, the response is 503: the proof may have been used elsewhere.
        store(store: impl Store) { proof_store = Some(ProofStore::new(store)) }

        /// Sets the public URL of this server's path `/`, for a proxy that changes paths: it and the path
        /// of a request are the URL that DPoP proofs must name (`htu`). It has the origin of the resource.
        ///
        /// Without it, a request to the endpoint has the URL of the resource, and any other one its own
        /// path.
        public_base_url(url: impl Into<String>) { public_base_url = Some(url.into()) }

        /// Sets the name of the resource in its metadata, for people.
        resource_name(name: impl Into<String>) { resource_name = Some(name.into()) }

        /// Sets the URL of a page about the resource in its metadata, for developers.
        resource_documentation(url: impl Into<String>) { resource_documentation = Some(url.into()) }

        /// Trusts the certificates in a PEM text beside those of the system, for authorization servers with
        /// a private certificate authority.
        root_certificates_pem(pem: impl Into<Vec<u8>>) { extra_roots_pem.push(pem.into()) }

        /// Sets the number of verified tokens that are kept, 10,000 by default. With 0, every token is
        /// verified for every request.
        max_cached_tokens(max: usize) { max_cached_tokens = max }
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
