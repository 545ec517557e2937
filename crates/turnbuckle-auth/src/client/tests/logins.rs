//! Tests of logins that meet: of two processes with one store, and of one process again and again.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use serde_json::json;
use tokio::sync::Semaphore;
use tower_layer::Layer as _;
use tower_service::Service;
use turnbuckle_types::UserWait;

use super::super::interaction::{LoginUi, NoLogin, PendingLogin};
use super::super::store::{BoxFuture, FileStore, MemoryStore};
use super::super::{OAuth, settle_token_requests};
use super::support::{
    McpEndpoint, User, authorization_server, client, failure, post, requests_to, resource_metadata,
    server_metadata, servers,
};
use crate::Challenge;
use crate::error::{AuthError, AuthErrorKind};
use crate::test_http::{Reply, ScriptedServer};

/// A user who needs a while for each login: until a permit is there.
#[derive(Clone)]
struct SlowUser {
    user: User,
    permits: Arc<Semaphore>,
    has_opened: Arc<Semaphore>,
    has_waited: Arc<Semaphore>,
}

impl SlowUser {
    fn new() -> Self {
        Self {
            user: User::default(),
            permits: Arc::new(Semaphore::new(0)),
            has_opened: Arc::new(Semaphore::new(0)),
            has_waited: Arc::new(Semaphore::new(0)),
        }
    }
}

struct SlowLogin {
    inner: Box<dyn PendingLogin>,
    user: SlowUser,
}

impl LoginUi for SlowUser {
    fn prepare<'a>(
        &'a self,
        preferred_redirect: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Box<dyn PendingLogin>, AuthError>> {
        Box::pin(async move {
            let inner = self.user.prepare(preferred_redirect).await?;
            let user = self.clone();
            Ok(Box::new(SlowLogin { inner, user }) as Box<dyn PendingLogin>)
        })
    }

    fn announce_wait(&self) -> Result<(), AuthError> {
        self.has_waited.add_permits(1);
        Ok(())
    }
}

impl PendingLogin for SlowLogin {
    fn redirect_uri(&self) -> &str {
        self.inner.redirect_uri()
    }

    fn open<'a>(
        self: Box<Self>,
        authorization_url: &'a str,
    ) -> BoxFuture<'a, Result<String, AuthError>> {
        Box::pin(async move {
            self.user.has_opened.add_permits(1);
            self.user.permits.acquire().await.unwrap().forget();
            self.inner.open(authorization_url).await
        })
    }
}

/// A directory that is removed with this value.
struct Directory(std::path::PathBuf);

impl Directory {
    fn new(name: &str) -> Self {
        let name = format!("turnbuckle-{name}-{}", std::process::id());
        Self(std::env::temp_dir().join(name))
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[tokio::test]
async fn a_login_that_meets_another_waits_for_it_and_uses_its_credentials() {
    let (auth, mcp) = servers(None).await;
    let (url, directory) = (mcp.url("/mcp"), Directory::new("two-logins"));
    let user = SlowUser::new();
    // Two stores that share their files only, as two processes do.
    let session = || {
        let store = FileStore::open(&directory.0).unwrap();
        client(&url, store, user.clone())
    };
    let (first, second) = (session(), session());
    let request = |oauth: OAuth| {
        let url = url.clone();
        let endpoint = McpEndpoint::accepting("token-1");
        tokio::spawn(async move { post(&oauth, &endpoint, &url).await.status() })
    };
    let first_request = request(first.clone());
    user.has_opened.acquire().await.unwrap().forget();
    // The store is free meanwhile: for one that must not log in, and for one that logs out.
    let store = FileStore::open(&directory.0).unwrap();
    let stored_only = client(&url, store, NoLogin::new());
    let response = post(&stored_only, &McpEndpoint::accepting("token-1"), &url).await;
    assert!(failure(&response).contains("a login is required"));
    assert!(!stored_only.log_out().await.unwrap());

    let second_request = request(second.clone());
    user.has_waited.acquire().await.unwrap().forget();
    user.permits.add_permits(1);
    assert_eq!(first_request.await.unwrap(), 200);
    assert_eq!(second_request.await.unwrap(), 200);
    assert_eq!(user.user.opened_pages().len(), 1);
    assert_eq!(requests_to(&auth.requests(), "/token").len(), 1);
    let steps = second.transcript().steps;
    assert!(steps.iter().any(|step| step.decision == "wait for it"));
}

#[tokio::test]
async fn a_token_is_refreshed_while_another_process_logs_in() {
    let (auth, mcp) = servers(Some("refresh")).await;
    let (user, url, store) = (SlowUser::new(), mcp.url("/mcp"), MemoryStore::new());
    let session = || client(&url, store.clone(), user.clone());
    user.permits.add_permits(1);
    session().log_in().await.unwrap();
    user.has_opened.acquire().await.unwrap().forget();
    let slow = session();
    let login = tokio::spawn(async move { slow.log_in().await });
    user.has_opened.acquire().await.unwrap().forget();
    let endpoint = McpEndpoint::accepting("token-2");
    assert_eq!(post(&session(), &endpoint, &url).await.status(), 200);
    let requests = auth.requests();
    let refresh = requests_to(&requests, "/token")[1];
    assert_eq!(refresh.form("grant_type").unwrap(), "refresh_token");
    // The login is the newest, and what the store has in the end.
    user.permits.add_permits(1);
    login.await.unwrap().unwrap();
    let token = session().access_token().await.unwrap();
    assert_eq!(token.expose(), "token-3");
}

#[tokio::test]
async fn a_login_that_never_ends_is_not_waited_for_longer_than_six_minutes() {
    let (_auth, mcp) = servers(None).await;
    let (user, url, store) = (SlowUser::new(), mcp.url("/mcp"), MemoryStore::new());
    let session = || client(&url, store.clone(), user.clone());
    let (first, second) = (session(), session());
    let login = tokio::spawn(async move { first.log_in().await });
    user.has_opened.acquire().await.unwrap().forget();
    let waiting = tokio::spawn(async move { second.log_in().await });
    user.has_waited.acquire().await.unwrap().forget();
    tokio::time::pause();
    let start = tokio::time::Instant::now();
    let error = waiting.await.unwrap().unwrap_err();
    assert_eq!(error.kind(), AuthErrorKind::LoginRequired);
    let text = error.to_string();
    assert!(
        text.contains("logs in at this server, since 360 s"),
        "{text}"
    );
    assert!(start.elapsed().as_secs() < 362, "{:?}", start.elapsed());
    login.abort();
}

#[tokio::test]
async fn a_server_that_refuses_every_token_opens_one_login_until_the_program_asks_for_another() {
    let (auth, mcp) = servers(Some("refresh")).await;
    let (user, url) = (User::default(), mcp.url("/mcp"));
    let oauth = client(&url, MemoryStore::new(), user.clone());
    let refuses = Arc::new(AtomicBool::new(true));
    let does_refuse = refuses.clone();
    let endpoint = McpEndpoint::new(move |authorization| match authorization {
        Some(_) if !does_refuse.load(Ordering::Relaxed) => (200, None),
        _ => (401, None),
    });
    let mut steps = None;
    for _ in 0..3 {
        let response = post(&oauth, &endpoint, &url).await;
        assert_eq!(response.status(), 401);
        let text = failure(&response);
        assert!(
            text.contains("refuses the token") && text.contains(&auth.origin()),
            "{text}"
        );
        let now = oauth.transcript().steps.len();
        assert_eq!(*steps.get_or_insert(now), now);
    }
    assert_eq!(user.opened_pages().len(), 1);
    assert_eq!(requests_to(&auth.requests(), "/token").len(), 1);
    // The user asks for it. A token that was accepted before is replaced as ever.
    oauth.log_in().await.unwrap();
    assert_eq!(user.opened_pages().len(), 2);
    refuses.store(false, Ordering::Relaxed);
    assert_eq!(post(&oauth, &endpoint, &url).await.status(), 200);
    let once = AtomicBool::new(true);
    let endpoint = McpEndpoint::new(move |_| match once.swap(false, Ordering::Relaxed) {
        true => (401, None),
        false => (200, None),
    });
    assert_eq!(post(&oauth, &endpoint, &url).await.status(), 200);
    let requests = auth.requests();
    let last = requests_to(&requests, "/token").pop().unwrap();
    assert_eq!(last.form("grant_type").unwrap(), "refresh_token");
}

#[tokio::test]
async fn a_program_that_ends_can_wait_until_tokens_are_stored() {
    let asked = Arc::new(Semaphore::new(0));
    let was_asked = asked.clone();
    let auth = ScriptedServer::start(move |request| match request.path.as_str() {
        "/token" => {
            was_asked.add_permits(1);
            let answer = json!({"access_token": "token-1", "token_type": "Bearer"});
            Reply::json(answer).delay(Duration::from_millis(300))
        }
        "/register" => Reply::status(201).with_json(json!({"client_id": "client-1"})),
        _ => Reply::json(server_metadata(&request.origin())),
    })
    .await;
    let mcp = resource_metadata(&Arc::new(Mutex::new(auth.origin()))).await;
    let (url, store) = (mcp.url("/mcp"), MemoryStore::new());
    let oauth = client(&url, store.clone(), User::default());
    let request = tokio::spawn(async move { oauth.log_in().await });
    asked.acquire().await.unwrap().forget();
    request.abort();
    assert!(!settle_token_requests(Duration::from_millis(1)).await);
    assert!(settle_token_requests(Duration::from_secs(30)).await);
    let stored_only = client(&url, store, NoLogin::new());
    assert!(stored_only.access_token().await.is_some());
    assert!(settle_token_requests(Duration::ZERO).await);
}

#[tokio::test]
async fn a_server_that_answers_some_requests_anonymously_still_logs_in() {
    let auth = authorization_server(None).await;
    let issuer = auth.origin();
    let mcp = ScriptedServer::start(move |request| match request.path.as_str() {
        "/hidden-metadata" => Reply::json(json!({
            "resource": format!("{}/mcp", request.origin()),
            "authorization_servers": [issuer],
        })),
        "/mcp" => Reply::status(400),
        _ => Reply::status(404),
    })
    .await;
    let (user, url) = (User::default(), mcp.url("/mcp"));
    let oauth = client(&url, MemoryStore::new(), user.clone());
    let error = oauth.log_in().await.unwrap_err();
    assert!(error.to_string().contains("OAuth::log_in_with"), "{error}");
    assert_eq!(oauth.ensure_logged_in().await.unwrap(), None);
    let challenge = Challenge::new("Bearer")
        .with("resource_metadata", mcp.url("/hidden-metadata"))
        .with("scope", "read");
    let before = requests_to(&mcp.requests(), "/mcp").len();
    let status = oauth.log_in_with(challenge).await.unwrap();
    assert_eq!(status.scopes, ["read"]);
    assert_eq!(requests_to(&mcp.requests(), "/mcp").len(), before);
}

#[tokio::test]
async fn each_request_that_waits_for_a_login_reports_that() {
    let issuer = authorization_server(None).await;
    let resource = resource_metadata(&Arc::new(Mutex::new(issuer.origin()))).await;
    let url = resource.url("/mcp");
    let user = SlowUser::new();
    let oauth = client(&url, MemoryStore::new(), user.clone());
    let waiting = Arc::new(AtomicUsize::new(0));
    let endpoint = ReportingEndpoint {
        inner: McpEndpoint::accepting("token-1"),
        waiting: waiting.clone(),
        begun: Arc::new(Semaphore::new(0)),
    };
    let send = || {
        let request = http::Request::post(&url).body(()).unwrap();
        let mut service = oauth.layer(endpoint.clone());
        tokio::spawn(async move { service.call(request).await.unwrap().status() })
    };
    let (first, second) = (send(), send());
    endpoint.begun.acquire_many(2).await.unwrap().forget();
    assert_eq!(waiting.load(Ordering::Relaxed), 2);
    // A request that comes during the login waits with the others.
    let third = send();
    endpoint.begun.acquire().await.unwrap().forget();
    user.permits.add_permits(1);
    for request in [first, second, third] {
        assert_eq!(request.await.unwrap(), http::StatusCode::OK);
    }
    assert_eq!(waiting.load(Ordering::Relaxed), 0);
    assert_eq!(user.user.opened_pages().len(), 1);
}

/// An endpoint that counts the requests that report that they wait for the user.
#[derive(Clone)]
struct ReportingEndpoint {
    inner: McpEndpoint,
    waiting: Arc<AtomicUsize>,
    /// A permit for each wait that has begun.
    begun: Arc<Semaphore>,
}

impl Service<http::Request<()>> for ReportingEndpoint {
    type Response = http::Response<()>;
    type Error = std::convert::Infallible;
    type Future = std::future::Ready<Result<http::Response<()>, Self::Error>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: http::Request<()>) -> Self::Future {
        let (waiting, begun) = (self.waiting.clone(), self.begun.clone());
        let reporter = UserWait::new(move |begins| {
            if begins {
                waiting.fetch_add(1, Ordering::Relaxed);
                begun.add_permits(1);
            } else {
                waiting.fetch_sub(1, Ordering::Relaxed);
            }
        });
        let Ok(mut response) = self.inner.call(request).into_inner();
        response.extensions_mut().insert(reporter);
        std::future::ready(Ok(response))
    }
}
