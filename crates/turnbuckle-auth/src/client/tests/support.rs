//! The parts of the tests: a user, an authorization server, and an MCP server.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use http::header::{AUTHORIZATION, WWW_AUTHENTICATE};
use http::{HeaderValue, Request, Response};
use serde_json::{Value, json};
use tower_layer::Layer as _;
use tower_service::Service;
use turnbuckle_types::AuthorizationFailure;
use url::Url;

use crate::client::OAuth;
use crate::client::interaction::{LoginUi, PendingLogin};
use crate::client::store::{BoxFuture, CredentialStore};
use crate::error::AuthError;
use crate::test_http::{RecordedRequest, Reply, ScriptedServer};

pub(super) const RESOURCE_METADATA: &str = "/.well-known/oauth-protected-resource/mcp";
pub(super) const SERVER_METADATA: &str = "/.well-known/oauth-authorization-server";
pub(super) const REDIRECT: &str = "http://127.0.0.1:7777/callback";

/// A user who agrees to every login at once.
#[derive(Clone, Default)]
pub(super) struct User {
    /// The authorization URLs that were opened.
    pub(super) opened: Arc<Mutex<Vec<Url>>>,
    /// The redirect URI, instead of [`REDIRECT`].
    pub(super) redirect_uri: Option<&'static str>,
    /// The value of `state` in redirects, instead of the right one.
    pub(super) state: Option<&'static str>,
    /// The value of `iss` in redirects, instead of the right one.
    pub(super) issuer: Option<&'static str>,
}

impl User {
    pub(super) fn opened_pages(&self) -> Vec<Url> {
        self.opened.lock().unwrap().clone()
    }

    /// Returns the scopes that each login asked for.
    pub(super) fn scopes(&self) -> Vec<String> {
        let opened = self.opened_pages();
        let scopes = opened.iter().map(|url| parameter(url, "scope"));
        scopes.map(Option::unwrap_or_default).collect()
    }
}

impl LoginUi for User {
    fn prepare<'a>(
        &'a self,
        _preferred_redirect: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Box<dyn PendingLogin>, AuthError>> {
        let pending: Box<dyn PendingLogin> = Box::new(self.clone());
        Box::pin(ready(Ok(pending)))
    }
}

impl PendingLogin for User {
    fn redirect_uri(&self) -> &str {
        self.redirect_uri.unwrap_or(REDIRECT)
    }

    fn open<'a>(
        self: Box<Self>,
        authorization_url: &'a str,
    ) -> BoxFuture<'a, Result<String, AuthError>> {
        let url = Url::parse(authorization_url).unwrap();
        let state = parameter(&url, "state").unwrap();
        let issuer = url.origin().ascii_serialization();
        let mut redirect = Url::parse(self.redirect_uri()).unwrap();
        redirect
            .query_pairs_mut()
            .append_pair("code", "the-code")
            .append_pair("state", self.state.unwrap_or(&state))
            .append_pair("iss", self.issuer.unwrap_or(&issuer));
        self.opened.lock().unwrap().push(url);
        Box::pin(ready(Ok(redirect.into())))
    }
}

pub(super) fn parameter(url: &Url, name: &str) -> Option<String> {
    let mut pairs = url.query_pairs();
    Some(pairs.find(|(key, _)| key == name)?.1.into_owned())
}

/// Starts an authorization server and an MCP server that names it.
pub(super) async fn servers(refresh: Option<&'static str>) -> (ScriptedServer, ScriptedServer) {
    let auth = authorization_server(refresh).await;
    let mcp = resource_metadata(&Arc::new(Mutex::new(auth.origin()))).await;
    (auth, mcp)
}

/// Returns a client that logs in with `ui`.
pub(super) fn client(url: &str, store: impl CredentialStore, ui: impl LoginUi) -> OAuth {
    OAuth::builder(url, store).login_ui(ui).build().unwrap()
}

/// Starts an authorization server. Its clients and tokens are numbered; `refresh` is the refresh
/// token in its answers.
pub(super) async fn authorization_server(refresh: Option<&'static str>) -> ScriptedServer {
    let numbers = (AtomicUsize::new(0), AtomicUsize::new(0));
    ScriptedServer::start(move |request| match request.path.as_str() {
        SERVER_METADATA => Reply::json(server_metadata(&request.origin())),
        "/register" => {
            let number = numbers.0.fetch_add(1, Ordering::Relaxed) + 1;
            Reply::status(201).with_json(json!({"client_id": format!("client-{number}")}))
        }
        "/token" => {
            let number = numbers.1.fetch_add(1, Ordering::Relaxed) + 1;
            let mut answer = json!({
                "access_token": format!("token-{number}"),
                "token_type": "Bearer",
                "expires_in": 3600,
            });
            if let Some(refresh) = refresh {
                answer["refresh_token"] = refresh.into();
            }
            Reply::json(answer)
        }
        _ => Reply::status(404),
    })
    .await
}

pub(super) fn server_metadata(origin: &str) -> Value {
    json!({
        "issuer": origin,
        "authorization_endpoint": format!("{origin}/authorize"),
        "token_endpoint": format!("{origin}/token"),
        "registration_endpoint": format!("{origin}/register"),
        "code_challenge_methods_supported": ["S256"],
        "token_endpoint_auth_methods_supported": ["none"],
        "authorization_response_iss_parameter_supported": true,
    })
}

/// Starts the part of an MCP server that serves its metadata. The value names the issuer.
pub(super) async fn resource_metadata(issuer: &Arc<Mutex<String>>) -> ScriptedServer {
    let issuer = Arc::clone(issuer);
    ScriptedServer::start(move |request| match request.path.as_str() {
        RESOURCE_METADATA => Reply::json(json!({
            "resource": format!("{}/mcp", request.origin()),
            "authorization_servers": [*issuer.lock().unwrap()],
            "scopes_supported": ["known"],
        })),
        "/mcp" => Reply::status(401),
        _ => Reply::status(404),
    })
    .await
}

/// The URL and the `Authorization` of a request.
type SeenRequest = (String, Option<String>);

type Answer = Arc<dyn Fn(Option<&str>) -> (u16, Option<String>) + Send + Sync>;

/// The MCP endpoint: it answers by the token of a request with a status and a challenge.
#[derive(Clone)]
pub(super) struct McpEndpoint {
    answer: Answer,
    seen: Arc<Mutex<Vec<SeenRequest>>>,
}

impl McpEndpoint {
    pub(super) fn new(
        answer: impl Fn(Option<&str>) -> (u16, Option<String>) + Send + Sync + 'static,
    ) -> Self {
        Self {
            answer: Arc::new(answer),
            seen: Arc::default(),
        }
    }

    /// Creates an endpoint that accepts one token.
    pub(super) fn accepting(token: &'static str) -> Self {
        Self::new(move |authorization| match authorization {
            Some(value) if value == format!("Bearer {token}") => (200, None),
            _ => (401, Some("Bearer".to_owned())),
        })
    }

    /// Returns the URL and the `Authorization` of each request.
    pub(super) fn received_requests(&self) -> Vec<SeenRequest> {
        self.seen.lock().unwrap().clone()
    }
}

impl Service<Request<()>> for McpEndpoint {
    type Response = Response<()>;
    type Error = Infallible;
    type Future = Ready<Result<Response<()>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<()>) -> Self::Future {
        let authorization = request.headers().get(AUTHORIZATION);
        let authorization = authorization.map(|value| value.to_str().unwrap().to_owned());
        let (status, challenge) = (self.answer)(authorization.as_deref());
        let uri = request.uri().to_string();
        self.seen.lock().unwrap().push((uri, authorization));
        let mut response = Response::builder().status(status);
        if let Some(challenge) = challenge {
            let challenge = HeaderValue::try_from(challenge).unwrap();
            response = response.header(WWW_AUTHENTICATE, challenge);
        }
        ready(Ok(response.body(()).unwrap()))
    }
}

pub(super) async fn post(oauth: &OAuth, endpoint: &McpEndpoint, url: &str) -> Response<()> {
    send(oauth, endpoint, Request::post(url)).await
}

pub(super) async fn send(
    oauth: &OAuth,
    endpoint: &McpEndpoint,
    request: http::request::Builder,
) -> Response<()> {
    let request = request.body(()).unwrap();
    oauth.layer(endpoint.clone()).call(request).await.unwrap()
}

pub(super) fn failure(response: &Response<()>) -> String {
    let failure = response.extensions().get::<AuthorizationFailure>().unwrap();
    failure.to_string()
}

/// Returns the requests to one path.
pub(super) fn requests_to<'a>(
    requests: &'a [RecordedRequest],
    path: &str,
) -> Vec<&'a RecordedRequest> {
    let found = requests.iter().filter(|request| request.path == path);
    found.collect()
}
