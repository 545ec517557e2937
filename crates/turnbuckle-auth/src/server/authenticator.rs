//! The decision about a request: who makes it, and whether it is admitted.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use http::{HeaderMap, HeaderName, Method, Request, Uri};
use turnbuckle_types::base::text::Escaped;
use turnbuckle_types::base::{debug_fields, panics};
use turnbuckle_types::{ClientAddress, Principal, RequiredScopes};

use super::authorization_header::{self, Credentials, DPOP, Scheme};
use super::denial::Denial;
use super::dpop::DpopChecker;
use super::jwt::{JwtIssuer, unverified_issuer};
use super::proof_store::ProofClaim;
use super::resource_uri::ResourceUri;
use super::scopes::ScopeHierarchy;
use super::token::{
    Introspection, StaticTokens, TokenCache, TokenRejection, TokenVerifier, VerificationQueue,
    VerifiedToken,
};
use crate::clock::Clock;

/// A caller whose token was verified for this resource.
pub(super) struct Identity {
    pub(super) principal: Arc<Principal>,
    /// The time until which the token can be used, in seconds since 1970: its end and the leeway.
    pub(super) usable_until: Option<u64>,
    /// The key that the token is bound to.
    pub(super) key_thumbprint: Option<String>,
    has_required_scopes: bool,
    /// True until a request was admitted with the token.
    is_new: AtomicBool,
}

impl Identity {
    /// Returns whether no request was admitted with the token before this one.
    pub(super) fn take_is_new(&self) -> bool {
        self.is_new.load(Ordering::Relaxed) && self.is_new.swap(false, Ordering::Relaxed)
    }
}

/// An audience that counts beside the URI of the resource.
pub(super) struct ExtraAudience {
    /// The issuer in whose tokens it counts. None: every issuer.
    pub(super) issuer: Option<String>,
    pub(super) audience: String,
}

impl ExtraAudience {
    fn is_met_by(&self, issuer: &str, audience: &str) -> bool {
        self.audience == audience && self.issuer.as_ref().is_none_or(|known| known == issuer)
    }
}

/// The requests to an introspection endpoint at a time.
const MAX_INTROSPECTIONS: usize = 32;
/// The tokens that a verifier of the application checks at a time.
const MAX_VERIFICATIONS: usize = 256;

/// The verifier of tokens that no JWT issuer signed.
pub(super) enum OpaqueVerifier {
    Introspection(Box<Introspection>),
    Custom(Box<dyn TokenVerifier>),
}

impl OpaqueVerifier {
    /// Creates the queue of the tokens that wait for the verifier.
    pub(super) fn new_queue(&self) -> VerificationQueue {
        VerificationQueue::new(match self {
            Self::Introspection(_) => MAX_INTROSPECTIONS,
            Self::Custom(_) => MAX_VERIFICATIONS,
        })
    }

    /// Returns whether the verifier may see a token that claims to be of this issuer. A token of another
    /// issuer must not be shown to an authorization server.
    fn may_see(&self, issuer: Option<&str>) -> bool {
        match self {
            Self::Introspection(endpoint) => {
                issuer.is_none_or(|issuer| issuer == endpoint.issuer())
            }
            Self::Custom(_) => true,
        }
    }

    fn check_refused(&self, token: &str) -> Result<(), TokenRejection> {
        match self {
            Self::Introspection(endpoint) => endpoint.check_refused(token),
            Self::Custom(_) => Ok(()),
        }
    }

    async fn verify(&self, token: &str) -> Result<VerifiedToken, TokenRejection> {
        match self {
            Self::Introspection(endpoint) => endpoint.verify(token).await,
            Self::Custom(verifier) => {
                let verified = panics::catch_future(|| verifier.verify(token)).await;
                verified.unwrap_or_else(|panic| {
                    // The message may quote the token.
                    let panic = panic.replace(token, "[token]");
                    tracing::error!(panic, "the verifier of tokens panicked");
                    Err(TokenRejection::Unavailable(
                        "the verifier panicked".to_owned(),
                    ))
                })
            }
        }
    }
}

/// Everything that decides about requests.
pub(super) struct Authenticator {
    pub(super) resource: ResourceUri,
    pub(super) extra_audiences: Vec<ExtraAudience>,
    pub(super) required_scopes: RequiredScopes,
    pub(super) hierarchy: ScopeHierarchy,
    pub(super) api_key_header: Option<HeaderName>,
    pub(super) static_tokens: StaticTokens,
    pub(super) static_identities: Vec<Arc<Identity>>,
    pub(super) jwt_issuers: Vec<JwtIssuer>,
    pub(super) opaque: Option<(OpaqueVerifier, VerificationQueue)>,
    pub(super) cache: TokenCache<Arc<Identity>>,
    pub(super) dpop: DpopChecker,
    pub(super) clock: Clock,
    pub(super) leeway: u64,
}

impl Authenticator {
    /// Reads the credentials of a request.
    pub(super) fn credentials<'a>(
        &self,
        headers: &'a HeaderMap,
        uri: &Uri,
    ) -> Result<Credentials<'a>, Denial> {
        authorization_header::read(headers, uri.query(), self.api_key_header.as_ref())
    }

    /// Returns the scheme of a request's credentials, for a challenge.
    pub(super) fn scheme(&self, headers: &HeaderMap) -> Option<Scheme> {
        let credentials = authorization_header::read(headers, None, self.api_key_header.as_ref());
        Some(credentials.ok()?.scheme)
    }

    /// Returns the identity of a static token or of a token that was verified lately. None if the
    /// token must be verified first.
    pub(super) fn known_identity(
        &self,
        credentials: &Credentials<'_>,
    ) -> Result<Option<Arc<Identity>>, Denial> {
        let is_api_key = credentials.scheme == Scheme::ApiKey;
        if !is_api_key {
            let known = self.cache.get(credentials.token_bytes(), self.clock.now());
            if known.is_some() {
                return Ok(known);
            }
        }
        let token = credentials.token()?;
        let found = self.static_tokens.find(token);
        if let Some(identity) = found.and_then(|index| self.static_identities.get(index)) {
            return Ok(Some(Arc::clone(identity)));
        }
        if is_api_key || (self.jwt_issuers.is_empty() && self.opaque.is_none()) {
            tracing::debug!("refused a token: it is not one of the static tokens");
            return Err(Denial::InvalidToken);
        }
        Ok(None)
    }

    /// Verifies a token that a client at an address sent for this resource.
    pub(super) async fn verify(
        &self,
        token: &str,
        address: Option<ClientAddress>,
    ) -> Result<Arc<Identity>, Denial> {
        let identity = self.verify_by_issuer(token, address).await;
        identity.map_err(|rejection| {
            match &rejection {
                TokenRejection::Unavailable(_) => {
                    tracing::warn!(rejection = %Escaped(&rejection), "cannot check a token")
                }
                _ => tracing::debug!(rejection = %Escaped(&rejection), "refused a token"),
            }
            match rejection {
                TokenRejection::Expired => Denial::ExpiredToken,
                TokenRejection::Invalid(_) => Denial::InvalidToken,
                TokenRejection::Unavailable(_) => Denial::Unavailable,
            }
        })
    }

    async fn verify_by_issuer(
        &self,
        token: &str,
        address: Option<ClientAddress>,
    ) -> Result<Arc<Identity>, TokenRejection> {
        let issuer = unverified_issuer(token);
        if let Some(issuer) = &issuer
            && let Some(known) = self
                .jwt_issuers
                .iter()
                .find(|known| known.issuer() == issuer)
        {
            return self.accept(token, known.verify(token).await?);
        }
        match &self.opaque {
            Some((verifier, queue)) if verifier.may_see(issuer.as_deref()) => {
                self.verify_opaque(verifier, queue, token, address).await
            }
            _ => Err(TokenRejection::Invalid(
                "its issuer is not trusted".to_owned(),
            )),
        }
    }

    /// Asks a verifier about a token, once it is the client's turn.
    async fn verify_opaque(
        &self,
        verifier: &OpaqueVerifier,
        queue: &VerificationQueue,
        token: &str,
        address: Option<ClientAddress>,
    ) -> Result<Arc<Identity>, TokenRejection> {
        verifier.check_refused(token)?;
        let permit = queue.enter(token, address, self.clock.now()).await?;
        // Another request with this token may have been answered meanwhile.
        verifier.check_refused(token)?;
        let now = self.clock.now();
        if let Some(known) = self.cache.get(token.as_bytes(), now) {
            return Ok(known);
        }
        let verified = verifier.verify(token).await;
        drop(permit);
        let identity = verified.and_then(|verified| self.accept(token, verified));
        match &identity {
            Ok(identity) => queue.update(token, Some(&identity.principal), now),
            Err(TokenRejection::Unavailable(_)) => {}
            Err(_) => queue.update(token, None, now),
        }
        identity
    }

    /// Checks audience and expiry of a genuine token, and keeps it.
    fn accept(
        &self,
        token: &str,
        verified: VerifiedToken,
    ) -> Result<Arc<Identity>, TokenRejection> {
        let issuer = &verified.principal.issuer;
        let is_for_us = verified.audience.iter().any(|audience| {
            let mut extra = self.extra_audiences.iter();
            self.resource.is_named_by(audience)
                || extra.any(|known| known.is_met_by(issuer, audience))
        });
        if !is_for_us {
            let reason = format!("its audience is not {}", self.resource.as_str());
            return Err(TokenRejection::Invalid(reason));
        }
        let now = self.clock.now();
        let usable_until = verified.expires_at.map(|at| at.saturating_add(self.leeway));
        if usable_until.is_some_and(|until| now >= until) {
            return Err(TokenRejection::Expired);
        }
        let max_cache_seconds = verified.max_cache_seconds;
        let mut identity = self.identity(verified.principal, verified.key_thumbprint);
        identity.usable_until = usable_until;
        let identity = Arc::new(identity);
        if max_cache_seconds > 0 {
            let until = now.saturating_add(max_cache_seconds);
            let until = usable_until.map_or(until, |usable| until.min(usable));
            self.cache.insert(token, Arc::clone(&identity), until);
        }
        Ok(identity)
    }

    /// Creates the identity of a principal, whose scopes are expanded by the hierarchy.
    pub(super) fn identity(
        &self,
        mut principal: Principal,
        key_thumbprint: Option<String>,
    ) -> Identity {
        principal.scopes = self.hierarchy.expand(principal.scopes);
        Identity {
            has_required_scopes: self.required_scopes.is_met_by(Some(&principal)),
            principal: Arc::new(principal),
            usable_until: None,
            key_thumbprint,
            is_new: AtomicBool::new(true),
        }
    }

    /// Decides whether a caller may make a request. Returns the claim of its proof that must be made
    /// before the request is served, if there is one.
    pub(super) fn admit(
        &self,
        identity: &Identity,
        credentials: &Credentials<'_>,
        method: &Method,
        uri: &Uri,
    ) -> Result<Option<ProofClaim>, Denial> {
        let claim = self.dpop.check(
            credentials,
            &identity.principal,
            identity.key_thumbprint.as_deref(),
            method.as_str(),
            || self.resource.request_url(uri.path()),
            &self.clock,
        )?;
        if identity.has_required_scopes {
            return Ok(claim);
        }
        tracing::debug!("refused a token: it lacks scopes that every request needs");
        Err(Denial::InsufficientScope)
    }

    /// Removes everything that names or proves a caller, so that no token is passed on and no
    /// principal of others counts.
    pub(super) fn strip<B>(&self, request: &mut Request<B>) {
        let headers = request.headers_mut();
        headers.remove(http::header::AUTHORIZATION);
        headers.remove(DPOP);
        if let Some(name) = &self.api_key_header {
            headers.remove(name);
        }
        let extensions = request.extensions_mut();
        if !extensions.is_empty() {
            extensions.remove::<Arc<Principal>>();
            extensions.remove::<Principal>();
        }
    }

    /// Returns the current nonce for DPoP proofs, if nonces are used.
    pub(super) fn nonce_header(&self) -> Option<http::HeaderValue> {
        self.dpop.nonce_header(&self.clock)
    }
}

debug_fields!(Authenticator {
    resource,
    static_tokens,
    required_scopes
});
