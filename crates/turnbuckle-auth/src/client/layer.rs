//! The tower layer: adds the token to each request, and answers the server's challenges.
//!
//! Specification: basic/authorization, "Access Token Usage" and "Scope Challenge Handling"
//! (2026-07-28).

use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use http::header::{AUTHORIZATION, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderName, Method, Request, Response, StatusCode, Uri};
use tower_layer::Layer;
use tower_service::Service;
use turnbuckle_types::AuthorizationFailure;
use turnbuckle_types::base::text::Escaped;
use url::Url;

use super::OAuth;
use super::active_token::ActiveToken;
use super::session::{AuthSession, Demand};
use crate::challenge::Challenge;
use crate::dpop::DpopSession;

/// The new tokens that one request may wait for: after 401 twice, after 403 twice.
const MAX_REPLACEMENTS: u32 = 2;

/// The header of a DPoP proof.
const DPOP: HeaderName = HeaderName::from_static("dpop");

/// An HTTP client whose requests to the server carry a token.
///
/// When the server answers 401 or 403 with a challenge, the service obtains what is needed and sends
/// the request again: each challenge at most twice. If that fails, the server's response is returned
/// with an [`AuthorizationFailure`] in its extensions.
///
/// A DELETE, which ends a session, has the token that there is; its response is returned as it is. A
/// request to another origin passes unchanged, and so does one that has an `Authorization` header
/// already.
#[derive(Clone)]
pub struct OAuthService<S> {
    inner: S,
    session: Arc<AuthSession>,
}

impl<S> Layer<S> for OAuth {
    type Service = OAuthService<S>;

    fn layer(&self, inner: S) -> OAuthService<S> {
        OAuthService {
            inner,
            session: self.session().clone(),
        }
    }
}

impl<S, B, R> Service<Request<B>> for OAuthService<S>
where
    S: Service<Request<B>, Response = Response<R>> + Clone + Send + 'static,
    S::Future: Send,
    S::Error: Send,
    B: Clone + Send + 'static,
    R: Send + 'static,
{
    type Response = Response<R>;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Response<R>, S::Error>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let session = self.session.clone();
        let unready = self.inner.clone();
        let mut inner = std::mem::replace(&mut self.inner, unready);
        let is_ours = session.is_own_origin(request.uri());
        if !is_ours || request.headers().contains_key(AUTHORIZATION) {
            return Box::pin(inner.call(request));
        }
        Box::pin(async move { authorize_and_send(&session, &mut inner, request).await })
    }
}

/// Sends a request with the current token, and again after a challenge that could be met.
async fn authorize_and_send<S, B, R>(
    session: &Arc<AuthSession>,
    inner: &mut S,
    request: Request<B>,
) -> Result<Response<R>, S::Error>
where
    S: Service<Request<B>, Response = Response<R>>,
    B: Clone,
{
    let mut token = session.token().await;
    let (mut unauthorized, mut forbidden, mut has_sent_nonce) = (0, 0, false);
    loop {
        let mut attempt = request.clone();
        if let Some(token) = &token {
            add_token(session, token, &mut attempt);
        }
        let mut response = inner.call(attempt).await?;
        let has_nonce = token
            .as_ref()
            .is_some_and(|token| store_nonce(token, request.uri(), response.headers()));
        let status = response.status();
        if let Some(token) = &token {
            token.note_status(status);
        }
        let demand = match status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                let uses_dpop = session.settings.uses_dpop;
                demand(status, response.headers(), unauthorized == 0, uses_dpop)
            }
            _ => return Ok(response),
        };
        let needs_nonce = DpopSession::is_nonce_challenge(status.as_u16(), response.headers());
        if needs_nonce && has_nonce && !has_sent_nonce {
            has_sent_nonce = true;
            poll_fn(|cx| inner.poll_ready(cx)).await?;
            continue;
        }
        // A DELETE ends a session. Nobody logs in for that: the server ends an idle session by itself.
        let Some(demand) = demand.filter(|_| request.method() != Method::DELETE) else {
            return Ok(response);
        };
        let count = match status {
            StatusCode::UNAUTHORIZED => &mut unauthorized,
            _ => &mut forbidden,
        };
        *count += 1;
        if *count > MAX_REPLACEMENTS {
            return Ok(response);
        }
        let extensions = response.extensions();
        session.note_connection(extensions.get().copied());
        let user_wait = extensions.get().cloned();
        match session.replace(token.clone(), demand, user_wait).await {
            Ok(replacement) => token = Some(replacement),
            Err(error) => {
                let failure = AuthorizationFailure::new(error);
                response.extensions_mut().insert(failure);
                return Ok(response);
            }
        }
        has_sent_nonce = false;
        poll_fn(|cx| inner.poll_ready(cx)).await?;
    }
}

/// Adds a token, and its proof, to a request.
fn add_token<B>(session: &AuthSession, token: &ActiveToken, request: &mut Request<B>) {
    let authorization = token.header.clone();
    if let Some(dpop) = &token.dpop
        && let Some(url) = url_of(request.uri())
    {
        let access_token = token.credentials.access_token.expose();
        let now = session.clock.now();
        match dpop.proof(request.method().as_str(), &url, Some(access_token), now) {
            Ok(proof) => {
                request.headers_mut().insert(DPOP, proof);
            }
            Err(error) => tracing::warn!(error = %Escaped(&error), "the request has no DPoP proof"),
        }
    }
    request.headers_mut().insert(AUTHORIZATION, authorization);
}

/// Remembers the DPoP nonce of a response. Returns whether there was one.
fn store_nonce(token: &ActiveToken, uri: &Uri, headers: &HeaderMap) -> bool {
    let dpop = token.dpop.as_ref();
    dpop.is_some_and(|dpop| url_of(uri).is_some_and(|url| dpop.store_nonce(&url, headers)))
}

fn url_of(uri: &Uri) -> Option<Url> {
    Url::parse(&uri.to_string()).ok()
}

/// Reads what a response demands. A 403 that does not ask for scopes demands nothing that a token
/// could give. Of several challenges that for the tokens of this client counts, else the first.
fn demand(
    status: StatusCode,
    headers: &HeaderMap,
    may_refresh: bool,
    uses_dpop: bool,
) -> Option<Demand> {
    let values = headers.get_all(WWW_AUTHENTICATE).iter();
    let challenges = Challenge::parse_all(values.filter_map(|value| value.to_str().ok()));
    let mut challenges: Vec<_> = challenges
        .into_iter()
        .filter(|challenge| challenge.is_scheme("Bearer") || challenge.is_scheme("DPoP"))
        .collect();
    challenges.sort_by_key(|challenge| challenge.is_scheme("DPoP") != uses_dpop);
    let mut challenges = challenges.into_iter();
    if status == StatusCode::UNAUTHORIZED {
        return Some(Demand::Unauthorized {
            challenge: challenges.next(),
            may_refresh,
        });
    }
    challenges
        .find(|challenge| {
            challenge.error() == Some("insufficient_scope") && challenge.scope().is_some()
        })
        .map(Demand::InsufficientScope)
}

impl<S> fmt::Debug for OAuthService<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OAuthService").finish_non_exhaustive()
    }
}
