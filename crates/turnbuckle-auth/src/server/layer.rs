//! The tower service that checks each request before the inner service sees it.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::header::{ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_EXPOSE_HEADERS, WWW_AUTHENTICATE};
use http::{HeaderName, HeaderValue, Method, Request, Response, StatusCode};
use pin_project_lite::pin_project;
use tokio::time::{Duration, Instant};
use tower_service::Service;
use turnbuckle_types::base::{debug_fields, panics};
use turnbuckle_types::method::{Request as _, SubscriptionsListen};
use turnbuckle_types::{Audit, AuditOutcome, AuditRecord, ClientAddress, RequiredScopes};

use super::authenticator::{Authenticator, Identity};
use super::authorization_header::{Credentials, Scheme};
use super::body::ResourceServerBody;
use super::denial::{ChallengeTemplate, DPOP_NONCE, Denial};
use super::proof_store::ProofClaim;
use super::resource_metadata::MetadataDocument;
use super::stream_lease::{StreamLease, StreamLeases};
use crate::secret::Secret;

/// The header that names the method of a request of 2026-07-28. The endpoint compares it with the body.
const MCP_METHOD: HeaderName = HeaderName::from_static("mcp-method");

/// The method whose response is a stream on which a client waits for what may come.
const LISTEN: HeaderValue = HeaderValue::from_static(SubscriptionsListen::METHOD);

/// The longest time for which one token keeps a stream open: a timer knows no end of time.
pub(super) const MAX_STREAM_TIME: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// The parts of a resource server that all its services share.
pub(super) struct Shared {
    pub(super) authenticator: Authenticator,
    pub(super) challenge: ChallengeTemplate,
    pub(super) leases: Arc<StreamLeases>,
    /// The receiver of the records of refused requests.
    pub(super) audit: Option<Arc<dyn Audit>>,
}

debug_fields!(Shared {
    authenticator,
    challenge,
    leases
});

/// The service of a [`ResourceServer`](super::ResourceServer): it admits requests with a valid token to
/// the inner service and refuses all others.
#[derive(Clone)]
pub struct ResourceServerService<S> {
    inner: S,
    shared: Arc<Shared>,
    metadata: Option<Arc<MetadataDocument>>,
}

impl<S> ResourceServerService<S> {
    pub(super) fn new(
        inner: S,
        shared: Arc<Shared>,
        metadata: Option<Arc<MetadataDocument>>,
    ) -> Self {
        Self {
            inner,
            shared,
            metadata,
        }
    }
}

debug_fields!([S] ResourceServerService<S> { shared });

impl<S, B, R> Service<Request<B>> for ResourceServerService<S>
where
    S: Service<Request<B>, Response = Response<R>> + Clone + Send + 'static,
    S::Future: Send,
    B: Send + 'static,
    R: 'static,
{
    type Response = Response<ResourceServerBody<R>>;
    type Error = S::Error;
    type Future = ResourceServerFuture<S::Future, R, S::Error>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        let path = request.uri().path();
        if let Some(metadata) = self
            .metadata
            .as_ref()
            .filter(|metadata| metadata.is_at(path))
        {
            return ResourceServerFuture::own(metadata.answer(request.method()));
        }
        let authenticator = &self.shared.authenticator;
        // The preflight request of a browser has no token.
        if request.method() == Method::OPTIONS {
            authenticator.strip(&mut request);
            return ResourceServerFuture::inner(self.inner.call(request), None);
        }
        match known_caller(authenticator, &request) {
            Ok(Some(Caller {
                identity,
                scheme,
                claim: None,
            })) => {
                let admitted = Admitted::new(&self.shared, &identity, scheme, &request);
                admit(authenticator, &mut request, &identity);
                ResourceServerFuture::inner(self.inner.call(request), Some(admitted))
            }
            Ok(caller) => {
                let next = self.inner.clone();
                // The service that was polled for readiness is the one that is called.
                let ready = std::mem::replace(&mut self.inner, next);
                let shared = Arc::clone(&self.shared);
                let future: Checking<R, S::Error> = match caller {
                    Some(caller) => Box::pin(claim_and_call(shared, ready, request, caller)),
                    None => Box::pin(verify_and_call(shared, ready, request)),
                };
                ResourceServerFuture {
                    state: State::Checking { future },
                }
            }
            Err(denial) => ResourceServerFuture::own(self.shared.deny(denial, &request)),
        }
    }
}

/// The caller of a request, whose token is good.
struct Caller {
    identity: Arc<Identity>,
    scheme: Scheme,
    /// The claim of the proof, which is made before the request is served.
    claim: Option<ProofClaim>,
}

impl Caller {
    fn new<B>(
        authenticator: &Authenticator,
        identity: Arc<Identity>,
        credentials: &Credentials<'_>,
        request: &Request<B>,
    ) -> Result<Self, Denial> {
        let claim = authenticator.admit(&identity, credentials, request.method(), request.uri())?;
        Ok(Self {
            identity,
            scheme: credentials.scheme,
            claim,
        })
    }
}

/// Returns the caller of a request if the token is known. None if it must be verified first.
fn known_caller<B>(
    authenticator: &Authenticator,
    request: &Request<B>,
) -> Result<Option<Caller>, Denial> {
    let credentials = authenticator.credentials(request.headers(), request.uri())?;
    match authenticator.known_identity(&credentials)? {
        Some(identity) => Caller::new(authenticator, identity, &credentials, request).map(Some),
        None => Ok(None),
    }
}

/// Replaces the token of a request by the principal.
fn admit<B>(authenticator: &Authenticator, request: &mut Request<B>, identity: &Identity) {
    authenticator.strip(request);
    request
        .extensions_mut()
        .insert(Arc::clone(&identity.principal));
}

async fn verify_and_call<S, B, R>(
    shared: Arc<Shared>,
    inner: S,
    request: Request<B>,
) -> Result<Response<ResourceServerBody<R>>, S::Error>
where
    S: Service<Request<B>, Response = Response<R>>,
{
    let authenticator = &shared.authenticator;
    let token = authenticator
        .credentials(request.headers(), request.uri())
        .and_then(|credentials| Ok(Secret::new(credentials.token()?)));
    let token = match token {
        Ok(token) => token,
        Err(denial) => return Ok(shared.deny(denial, &request).map(ResourceServerBody::own)),
    };
    let address = request.extensions().get::<ClientAddress>().copied();
    let verified = authenticator.verify(token.expose(), address).await;
    let caller = verified.and_then(|identity| {
        let credentials = authenticator.credentials(request.headers(), request.uri())?;
        Caller::new(authenticator, identity, &credentials, &request)
    });
    match caller {
        Ok(caller) => claim_and_call(shared, inner, request, caller).await,
        Err(denial) => Ok(shared.deny(denial, &request).map(ResourceServerBody::own)),
    }
}

/// Claims the proof of a request, if it must be claimed, and calls the inner service.
async fn claim_and_call<S, B, R>(
    shared: Arc<Shared>,
    mut inner: S,
    mut request: Request<B>,
    caller: Caller,
) -> Result<Response<ResourceServerBody<R>>, S::Error>
where
    S: Service<Request<B>, Response = Response<R>>,
{
    let authenticator = &shared.authenticator;
    let Caller {
        identity,
        scheme,
        claim,
    } = caller;
    if let Some(claim) = claim
        && let Err(denial) = authenticator.dpop.claim(claim, &authenticator.clock).await
    {
        return Ok(shared.deny(denial, &request).map(ResourceServerBody::own));
    }
    let admitted = Admitted::new(&shared, &identity, scheme, &request);
    admit(authenticator, &mut request, &identity);
    let response = inner.call(request).await?;
    Ok(admitted.finish(response))
}

/// A request that was admitted, as far as its response needs it.
struct Admitted {
    shared: Arc<Shared>,
    scheme: Scheme,
    /// The end of the token in seconds since 1970 and the right to last longer, if the response may be
    /// a stream that lasts.
    stream: Option<(u64, StreamLease)>,
}

impl Admitted {
    fn new<B>(
        shared: &Arc<Shared>,
        identity: &Identity,
        scheme: Scheme,
        request: &Request<B>,
    ) -> Self {
        // The first request with a token may have been refused for its proof.
        if identity.take_is_new() {
            shared.leases.renew(identity);
        }
        Self {
            shared: Arc::clone(shared),
            scheme,
            stream: identity
                .usable_until
                .filter(|_| listens(request))
                .map(|until| (until, shared.leases.begin(identity, until))),
        }
    }

    fn finish<R>(self, response: Response<R>) -> Response<ResourceServerBody<R>> {
        let response = self.shared.finish(response, self.scheme);
        let Some((until, lease)) = self.stream else {
            return response.map(ResourceServerBody::inner);
        };
        let rest = until.saturating_sub(self.shared.authenticator.clock.now());
        let end = Instant::now() + Duration::from_secs(rest).min(MAX_STREAM_TIME);
        response.map(|body| ResourceServerBody::inner_until(body, end, lease))
    }
}

/// Returns whether the response of a request is a stream on which a client waits for messages: a
/// GET, or `subscriptions/listen`. The response of a call belongs to a request that was admitted, and
/// ends with it.
fn listens<B>(request: &Request<B>) -> bool {
    request.method() == Method::GET || request.headers().get(MCP_METHOD) == Some(&LISTEN)
}

impl Shared {
    fn deny<B>(&self, denial: Denial, request: &Request<B>) -> Response<Bytes> {
        if let Some(audit) = &self.audit {
            self.record(&**audit, denial, request);
        }
        let scheme = self.authenticator.scheme(request.headers());
        denial.to_response(&self.challenge, scheme, self.authenticator.nonce_header())
    }

    /// Passes the record of a refused request to the audit log.
    #[cold]
    fn record<B>(&self, audit: &dyn Audit, denial: Denial, request: &Request<B>) {
        let outcome = AuditOutcome::Unauthorized {
            status: denial.status().as_u16(),
            error: denial.error(),
        };
        let mut record = AuditRecord::new(outcome);
        let address = request.extensions().get::<ClientAddress>();
        record.client_address = address.map(|address| address.0);
        let authenticator = &self.authenticator;
        // Only a caller without scopes is known.
        let identity = (denial == Denial::InsufficientScope)
            .then(|| {
                authenticator
                    .credentials(request.headers(), request.uri())
                    .ok()
            })
            .flatten()
            .and_then(|credentials| authenticator.known_identity(&credentials).ok().flatten());
        record.principal = identity.as_ref().map(|identity| &*identity.principal);
        if let Err(panic) = panics::catch(|| audit.record(&record)) {
            tracing::error!(panic, "the receiver of audit records panicked");
        }
    }

    /// Adds the challenge to a response that names scopes that the caller lacks. Any other response
    /// stays as it is, also a 401 or 403 of the application.
    fn finish<R>(&self, mut response: Response<R>, scheme: Scheme) -> Response<R> {
        if scheme == Scheme::Dpop
            && let Some(nonce) = self.authenticator.nonce_header()
        {
            let headers = response.headers_mut();
            headers.insert(DPOP_NONCE, nonce);
            if headers.contains_key(ACCESS_CONTROL_ALLOW_ORIGIN) {
                expose(headers, "DPoP-Nonce");
            }
        }
        let Some(required) = response.extensions().get::<RequiredScopes>() else {
            return response;
        };
        if response.headers().contains_key(WWW_AUTHENTICATE) {
            return response;
        }
        let challenge = self
            .challenge
            .scope_challenge(&required.scopes, Some(scheme));
        *response.status_mut() = StatusCode::FORBIDDEN;
        let headers = response.headers_mut();
        headers.insert(WWW_AUTHENTICATE, challenge.to_header_value());
        if headers.contains_key(ACCESS_CONTROL_ALLOW_ORIGIN) {
            expose(headers, "WWW-Authenticate");
        }
        response
    }
}

/// Lets a page read a header of a response that it may read.
fn expose(headers: &mut http::HeaderMap, header: &'static str) {
    let is_exposed = headers
        .get_all(ACCESS_CONTROL_EXPOSE_HEADERS)
        .iter()
        .any(|value| {
            let mut names = value.to_str().unwrap_or_default().split(',');
            names.any(|name| name.trim().eq_ignore_ascii_case(header))
        });
    if !is_exposed {
        let value = HeaderValue::from_static(header);
        headers.append(ACCESS_CONTROL_EXPOSE_HEADERS, value);
    }
}

pin_project! {
    /// The future of a response of [`ResourceServerService`].
    pub struct ResourceServerFuture<F, R, E> {
        #[pin]
        state: State<F, R, E>,
    }
}

type Checking<R, E> =
    Pin<Box<dyn Future<Output = Result<Response<ResourceServerBody<R>>, E>> + Send>>;

pin_project! {
    #[project = StateProjection]
    enum State<F, R, E> {
        Own { response: Option<Response<Bytes>> },
        Inner {
            #[pin]
            future: F,
            admitted: Option<Admitted>,
        },
        Checking { future: Checking<R, E> },
    }
}

impl<F, R, E> ResourceServerFuture<F, R, E> {
    fn own(response: Response<Bytes>) -> Self {
        Self {
            state: State::Own {
                response: Some(response),
            },
        }
    }

    fn inner(future: F, admitted: Option<Admitted>) -> Self {
        Self {
            state: State::Inner { future, admitted },
        }
    }
}

impl<F, R, E> Future for ResourceServerFuture<F, R, E>
where
    F: Future<Output = Result<Response<R>, E>>,
{
    type Output = Result<Response<ResourceServerBody<R>>, E>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match self.project().state.project() {
            // A future that is polled after its end stays pending.
            StateProjection::Own { response } => {
                response.take().map_or(Poll::Pending, |response| {
                    Poll::Ready(Ok(response.map(ResourceServerBody::own)))
                })
            }
            StateProjection::Inner { future, admitted } => {
                let response = ready!(future.poll(cx))?;
                Poll::Ready(Ok(match admitted.take() {
                    Some(admitted) => admitted.finish(response),
                    None => response.map(ResourceServerBody::inner),
                }))
            }
            StateProjection::Checking { future } => future.as_mut().poll(cx),
        }
    }
}

debug_fields!([F, R, E] ResourceServerFuture<F, R, E> {});
