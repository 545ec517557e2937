//! The parts of the tests: a protected server with its authorization server, clients, a user, and
//! raw HTTP requests.

mod requests;
mod user;

pub(crate) use requests::{Reply, get, modern, open, post, send};
pub(crate) use user::{REDIRECT_URI, User, query_parameter, with_parameter};

use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use http::{HeaderMap, Request, Response};
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tower_service::Service;
use turnbuckle::auth::client::OAuthBuilder;
use turnbuckle::auth::client::store::{CredentialStore, MemoryStore};
use turnbuckle::auth::server::ResourceServerBuilder;
use turnbuckle::auth::{AuthError, AuthErrorKind};
use turnbuckle::auth::{OAuth, ResourceServer, Secret};
use turnbuckle::client::{EraPreference, Error};
use turnbuckle::http::{HttpConnector, HttpServer, HttpServerOptions, SseConnector};
use turnbuckle::prelude::*;
use turnbuckle::{Authorize, Client, ServerBuilder};
use turnbuckle_auth_testing::{
    Endpoint, Event, TestAuthorizationServer, TestAuthorizationServerBuilder,
};
use turnbuckle_http::{RequestBody, ResponseBody};

/// The longest that anything takes.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(60);

/// A transport with the era that is spoken over it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wire {
    /// Streamable HTTP without sessions.
    Modern,
    /// Streamable HTTP with a session.
    Legacy,
    /// HTTP+SSE of the first revision.
    Sse,
}

impl Wire {
    pub(crate) const ALL: [Self; 3] = [Self::Modern, Self::Legacy, Self::Sse];
    /// The wires with one request for each message.
    pub(crate) const STREAMABLE: [Self; 2] = [Self::Modern, Self::Legacy];
}

/// Returns the orders.
#[tool(scope = "orders:read")]
async fn read_orders() -> String {
    "three orders".to_owned()
}

/// Adds an order.
#[tool(scope = "orders:read", scope = "orders:write")]
async fn add_order() -> String {
    "four orders".to_owned()
}

/// Removes all orders.
#[tool(scope = "orders:admin")]
async fn remove_orders() -> String {
    "no orders".to_owned()
}

/// Returns the caller.
#[tool]
async fn whoami(caller: Principal) -> String {
    caller.subject
}

/// Creates a server whose tools need scopes, except for `whoami`.
pub(crate) fn shop() -> Server {
    shop_builder().build().unwrap()
}

pub(crate) fn shop_builder() -> ServerBuilder {
    Server::new("shop", "1.0.0").tools(tools![read_orders, add_order, remove_orders, whoami])
}

/// A task that ends with this value.
#[derive(Debug)]
pub(crate) struct Running(JoinHandle<()>);

impl Running {
    pub(crate) fn spawn(task: impl Future<Output = ()> + Send + 'static) -> Self {
        Self(tokio::spawn(task))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// A protected server and its authorization server.
pub(crate) struct World {
    pub(crate) wire: Wire,
    pub(crate) authorization_server: TestAuthorizationServer,
    /// The URL that clients connect to.
    pub(crate) url: String,
    /// The URI of the resource, for which tokens are issued.
    pub(crate) resource: String,
    exchanges: Exchanges,
    _serving: Running,
}

/// A request to the server and its answer.
#[derive(Debug, Clone)]
pub(crate) struct Exchange {
    pub(crate) status: u16,
    /// The challenge of the answer.
    pub(crate) challenge: Option<String>,
    /// The headers of the request.
    pub(crate) headers: HeaderMap,
}

type Exchanges = Arc<Mutex<Vec<Exchange>>>;

/// Notes each request to the server.
#[derive(Clone)]
struct Noting<S>(S, Exchanges);

impl<S> Service<Request<RequestBody>> for Noting<S>
where
    S: Service<Request<RequestBody>, Response = Response<ResponseBody>, Future: Send + 'static>,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<S::Response, S::Error>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.0.poll_ready(cx)
    }

    fn call(&mut self, request: Request<RequestBody>) -> Self::Future {
        let headers = request.headers().clone();
        let (response, exchanges) = (self.0.call(request), self.1.clone());
        Box::pin(async move {
            let response = response.await?;
            let challenge = response.headers().get("www-authenticate");
            exchanges.lock().unwrap().push(Exchange {
                status: response.status().as_u16(),
                challenge: challenge.map(|it| it.to_str().unwrap().to_owned()),
                headers,
            });
            Ok(response)
        })
    }
}

impl World {
    /// Starts the shop with an authorization server that approves every login.
    pub(crate) async fn start(wire: Wire) -> Self {
        Self::with(wire, |it| it).await
    }

    /// Starts the shop with these settings of the authorization server.
    pub(crate) async fn with(
        wire: Wire,
        settings: impl FnOnce(TestAuthorizationServerBuilder) -> TestAuthorizationServerBuilder,
    ) -> Self {
        let plain = |builder: ResourceServerBuilder, issuer: &str| builder.issuer(issuer);
        Self::serving(wire, shop(), settings, |it, server| {
            plain(it, server.issuer())
        })
        .await
    }

    /// Starts a server with these settings of the authorization server and of the resource server.
    pub(crate) async fn serving(
        wire: Wire,
        server: Server,
        settings: impl FnOnce(TestAuthorizationServerBuilder) -> TestAuthorizationServerBuilder,
        protect: impl FnOnce(ResourceServerBuilder, &TestAuthorizationServer) -> ResourceServerBuilder,
    ) -> Self {
        let builder = TestAuthorizationServer::builder().auto_approve(true);
        let authorization_server = settings(builder).start().await.unwrap();
        let options = HttpServerOptions::new()
            .http_sse(true)
            .allowed_origins(["https://app.example"]);
        let http = HttpServer::bind(server, "127.0.0.1:0", options).await;
        let http = http.unwrap().path("/mcp").sse_paths("/sse", "/messages");
        let origin = format!("http://{}", http.local_addr().unwrap());
        let (url, resource) = match wire {
            Wire::Sse => (format!("{origin}/sse"), origin),
            _ => (format!("{origin}/mcp"), format!("{origin}/mcp")),
        };
        let auth = protect(ResourceServer::builder(&resource), &authorization_server);
        let exchanges = Exchanges::default();
        let noted = exchanges.clone();
        let http = http
            .auth(auth.build().unwrap())
            .layer(tower_layer::layer_fn(move |inner| {
                Noting(inner, noted.clone())
            }));
        Self {
            exchanges,
            wire,
            authorization_server,
            url,
            resource,
            _serving: Running::spawn(async move { http.serve().await.unwrap() }),
        }
    }

    /// Returns the client's authorization with this user and store.
    pub(crate) fn oauth(&self, user: &User, store: &MemoryStore) -> OAuth {
        self.oauth_builder(user, store).build().unwrap()
    }

    /// Returns the settings of the client's authorization with this user and store.
    pub(crate) fn oauth_builder(&self, user: &User, store: &MemoryStore) -> OAuthBuilder {
        OAuth::builder(&self.url, store.clone()).login_ui(user.clone())
    }

    /// Connects a client.
    pub(crate) async fn connect(&self, oauth: &OAuth) -> Result<Client, Error> {
        connect(self.wire, &self.url, oauth).await
    }

    /// Returns a token for this server that no client asked for.
    pub(crate) fn token(&self, subject: &str, scopes: &[&str]) -> String {
        let server = &self.authorization_server;
        let scopes = scopes.iter().copied();
        let token = server.issue_token(subject, "tester", &self.resource, scopes, TIMEOUT);
        token.unwrap()
    }

    /// Returns the requests of the token endpoint with this grant type.
    pub(crate) fn token_requests(&self, grant_type: &str) -> Vec<Event> {
        let mut events = self.authorization_server.events();
        events.retain(|event| {
            event.endpoint == Endpoint::Token && event.grant_type.as_deref() == Some(grant_type)
        });
        events
    }

    /// Returns the requests to the server that were answered with this status.
    pub(crate) fn exchanges(&self, status: u16) -> Vec<Exchange> {
        let mut exchanges = self.exchanges.lock().unwrap().clone();
        exchanges.retain(|it| it.status == status);
        exchanges
    }

    /// Returns the number of requests to the server so far.
    pub(crate) fn exchange_count(&self) -> usize {
        self.exchanges.lock().unwrap().len()
    }

    /// Returns the number of refresh requests so far.
    pub(crate) fn refreshes(&self) -> usize {
        self.token_requests("refresh_token").len()
    }
}

/// Starts a hand-written server, and returns its origin.
pub(crate) async fn serve(router: axum::Router) -> (String, Running) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let origin = format!("http://{}", listener.local_addr().unwrap());
    let serving = async move { axum::serve(listener, router).await.unwrap() };
    (origin, Running::spawn(serving))
}

/// Starts a server that answers each request to `/mcp` by a function of its number, with a status
/// and a challenge. Its metadata names `issuer`.
pub(crate) async fn refusing(
    issuer: &str,
    answer: impl Fn(usize) -> (u16, String) + Clone + Send + Sync + 'static,
) -> (String, Arc<AtomicUsize>, Running) {
    use axum::routing::{any, get};
    let count = Arc::new(AtomicUsize::new(0));
    let (counted, issuer) = (count.clone(), issuer.to_owned());
    let mcp = move || async move {
        let (status, challenge) = answer(counted.fetch_add(1, Ordering::SeqCst));
        let status = http::StatusCode::from_u16(status).unwrap();
        (status, [("www-authenticate", challenge)])
    };
    let metadata = move |headers: HeaderMap| async move {
        let host = headers["host"].to_str().unwrap();
        let resource = format!("http://{host}/mcp");
        json!({"resource": resource, "authorization_servers": [issuer]}).to_string()
    };
    let router = axum::Router::new()
        .route("/mcp", any(mcp))
        .route("/.well-known/oauth-protected-resource/mcp", get(metadata));
    let (origin, serving) = serve(router).await;
    (format!("{origin}/mcp"), count, serving)
}

/// Connects a client to a URL over a wire.
pub(crate) async fn connect(wire: Wire, url: &str, oauth: &OAuth) -> Result<Client, Error> {
    let connector = HttpConnector::new(url).unwrap().layer(oauth.clone());
    let builder = Client::builder("tester", "1.0.0").cache(false);
    match wire {
        Wire::Modern => builder.era(EraPreference::Modern).connect(connector).await,
        Wire::Legacy => builder.era(EraPreference::Legacy).connect(connector).await,
        Wire::Sse => {
            let connector = SseConnector::new(connector);
            builder.era(EraPreference::Legacy).connect(connector).await
        }
    }
}

/// Calls a tool without arguments and returns its text.
pub(crate) async fn call(client: &Client, tool: &str) -> Result<String, Error> {
    let result = tokio::time::timeout(TIMEOUT, client.call_tool(tool, &()).into_future());
    let result = result.await.expect("an answer in time")?;
    let result = serde_json::to_value(&result).unwrap();
    Ok(result["content"][0]["text"].as_str().unwrap().to_owned())
}

/// Returns the authorization failure that a request's error carries.
#[track_caller]
pub(crate) fn auth_error(error: &Error) -> AuthError {
    let Error::Unauthorized {
        failure: Some(failure),
        ..
    } = error
    else {
        panic!("no authorization failure: {error:?}");
    };
    failure.downcast_ref::<AuthError>().unwrap().clone()
}

/// Connects clients at the same time, each of which makes one call.
pub(crate) fn first_calls(
    world: &World,
    oauth: &OAuth,
    count: usize,
) -> Vec<JoinHandle<Result<String, Error>>> {
    let first_call = |_| {
        let (wire, url, oauth) = (world.wire, world.url.clone(), oauth.clone());
        tokio::spawn(async move { call(&connect(wire, &url, &oauth).await?, "whoami").await })
    };
    (0..count).map(first_call).collect()
}

/// Lets all tasks run until they wait for something that does not happen by itself.
pub(crate) async fn settle() {
    for _ in 0..2000 {
        tokio::task::yield_now().await;
    }
}

/// Connects a client whose first call fails, and returns the error.
pub(crate) async fn failing_call(wire: Wire, url: &str, oauth: &OAuth) -> Error {
    match connect(wire, url, oauth).await {
        Ok(client) => call(&client, "whoami").await.unwrap_err(),
        Err(error) => error,
    }
}

/// Returns the kind of the authorization failure that a request's error carries.
#[track_caller]
pub(crate) fn auth_error_kind(error: &Error) -> AuthErrorKind {
    auth_error(error).kind()
}

/// Returns the credentials that a store holds, as JSON.
pub(crate) async fn credentials(store: &impl CredentialStore) -> Value {
    let key = credentials_key(store).await.expect("stored credentials");
    let stored = store.load(&key).await.unwrap().unwrap();
    serde_json::from_str(stored.expose()).unwrap()
}

async fn credentials_key(store: &impl CredentialStore) -> Option<String> {
    let keys = store.keys().await.unwrap();
    keys.into_iter().find(|key| key.starts_with("credentials:"))
}

/// Replaces the credentials that a store holds.
pub(crate) async fn edit_credentials(store: &impl CredentialStore, edit: impl FnOnce(&mut Value)) {
    let key = credentials_key(store).await.expect("stored credentials");
    let mut value = credentials(store).await;
    edit(&mut value);
    let text = Secret::new(value.to_string());
    store.save(&key, &text).await.unwrap();
}

/// Makes the stored access token, of one hour, end in this number of seconds. The client then
/// believes so; the server still accepts it.
pub(crate) async fn age(store: &impl CredentialStore, seconds_left: i64) {
    edit_credentials(store, |credentials| {
        let end = credentials["expires_at"].as_i64().unwrap();
        let begin = credentials["obtained_at"].as_i64().unwrap();
        let by = end - begin - seconds_left;
        credentials["expires_at"] = (end - by).into();
        credentials["obtained_at"] = (begin - by).into();
    })
    .await;
}

/// Logs a user in at a world, and returns the store with the credentials.
pub(crate) async fn logged_in(world: &World) -> MemoryStore {
    let store = MemoryStore::new();
    let client = world.connect(&world.oauth(&User::new(), &store)).await;
    let client = client.unwrap();
    call(&client, "whoami").await.unwrap();
    client.close().await;
    world.authorization_server.clear_events();
    store
}
