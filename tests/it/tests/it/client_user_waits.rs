//! Requests that wait for the user's login: the timeouts of a client do not run meanwhile.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use axum::Router;
use axum::middleware::{Next, from_fn};
use axum::response::IntoResponse as _;
use http::{Request, Response, StatusCode};
use tokio::time::{Instant, sleep};
use tower::Service as _;
use turnbuckle_client::{Client, EraPreference, Error};
use turnbuckle_http::{
    ClientRequestBody, ClientResponseBody, HttpClient, HttpClientError, HttpConnector,
    HttpServerOptions, HttpSse, SseConnector, StreamableHttp,
};
use turnbuckle_server::{Resource, Server, Tool};
use turnbuckle_session::transport::{Connector, TimeoutKind, Timeouts};
use turnbuckle_types::{CacheScope, ResourceContents, UserWait};
use turnbuckle_wire::revision::Revision;

/// The timeouts of the client.
const TIMEOUT: Duration = Duration::from_secs(5);

/// The time that the user needs for a login.
const LOGIN: Duration = Duration::from_secs(600);

/// A login that the server demands until the user has finished it.
#[derive(Clone, Default)]
struct Login(Arc<AtomicBool>);

impl Login {
    fn is_done(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    fn set_done(&self, is_done: bool) {
        self.0.store(is_done, Ordering::Relaxed);
    }

    /// Returns a connector whose requests wait for the login when the server refuses them.
    fn connector(&self, revision: Revision) -> Arc<dyn Connector> {
        let server = Server::new("careful", "1.0.0")
            .tool(Tool::builder("add").handler(async |(): ()| "done"))
            .resource(counting("test://private", CacheScope::Private))
            .resource(counting("test://public", CacheScope::Public))
            .tool(
                Tool::builder("hang").handler(async |(): ()| std::future::pending::<&str>().await),
            )
            .build()
            .unwrap();
        let is_sse = revision == Revision::ALL[0];
        let options = HttpServerOptions::new();
        let router = match is_sse {
            true => Router::new().fallback_service(HttpSse::new(server, options)),
            false => Router::new().fallback_service(StreamableHttp::new(server, options)),
        };
        let login = self.clone();
        let router = router.layer(from_fn(move |request, next: Next| {
            let login = login.clone();
            async move {
                match login.is_done() {
                    true => next.run(request).await,
                    false => StatusCode::UNAUTHORIZED.into_response(),
                }
            }
        }));
        let path = if is_sse { "/sse" } else { "/mcp" };
        let login = self.clone();
        let connector = HttpConnector::new(&format!("http://localhost{path}"))
            .unwrap()
            .http_client(router)
            .layer(tower::layer::layer_fn(move |inner: HttpClient| {
                let login = login.clone();
                tower::service_fn(move |request| login.clone().send(inner.clone(), request))
            }));
        match is_sse {
            true => Arc::new(SseConnector::new(connector)),
            false => Arc::new(connector),
        }
    }

    async fn send(
        self,
        mut client: HttpClient,
        request: Request<ClientRequestBody>,
    ) -> Result<Response<ClientResponseBody>, HttpClientError> {
        let response = client.call(request.clone()).await?;
        if response.status() != StatusCode::UNAUTHORIZED {
            return Ok(response);
        }
        let wait = response.extensions().get::<UserWait>().unwrap().begin();
        sleep(LOGIN).await;
        drop(wait);
        self.set_done(true);
        client.call(request).await
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_that_waits_for_the_users_login_does_not_time_out() {
    for revision in Revision::ALL {
        let login = Login::default();
        let began = Instant::now();
        let client = Client::builder("tester", "1.0.0")
            .connect_timeout(TIMEOUT)
            .timeouts(Timeouts::uniform(TIMEOUT))
            .era(EraPreference::Only(revision))
            .connect(login.connector(revision))
            .await
            .unwrap_or_else(|error| panic!("{revision}: {error}"));
        assert!(began.elapsed() >= LOGIN, "{revision}");

        login.set_done(false);
        let result = client.call_tool("add", &()).await;
        assert_eq!(result.unwrap().text(), "done", "{revision}");

        // The time after a login counts.
        login.set_done(false);
        let began = Instant::now();
        let error = client.call_tool("hang", &()).await.unwrap_err();
        let kinds = [TimeoutKind::Idle(TIMEOUT), TimeoutKind::Total(TIMEOUT)];
        let is_late = matches!(&error, Error::TimedOut(kind) if kinds.contains(kind));
        assert!(is_late, "{revision}: {error}");
        assert!(began.elapsed() >= LOGIN + TIMEOUT, "{revision}");
        assert!(began.elapsed() < LOGIN + 2 * TIMEOUT, "{revision}");
        client.close().await;
    }
}

/// Returns a resource that counts how often it is read. The result may be cached.
fn counting(uri: &'static str, scope: CacheScope) -> Resource {
    let reads = AtomicUsize::new(0);
    let handler = move || (reads.fetch_add(1, Ordering::Relaxed) + 1).to_string();
    Resource::builder(uri, uri)
        .cache(Duration::from_secs(100_000), scope)
        .handler(handler)
}

#[tokio::test(start_paused = true)]
async fn private_cached_results_are_not_used_after_another_login() {
    let login = Login::default();
    let client = Client::builder("tester", "1.0.0")
        .era(EraPreference::Modern)
        .connect(login.connector(Revision::NEWEST))
        .await
        .unwrap();
    let read = async |uri: &str| match client.read_resource(uri).await.unwrap().contents.remove(0) {
        ResourceContents::Text(contents) => contents.text,
        other => panic!("{other:?}"),
    };
    for _ in 0..2 {
        assert_eq!(read("test://private").await, "1");
        assert_eq!(read("test://public").await, "1");
    }
    login.set_done(false);
    client.call_tool("add", &()).await.unwrap();
    assert_eq!(read("test://private").await, "2");
    assert_eq!(read("test://public").await, "1");
}
