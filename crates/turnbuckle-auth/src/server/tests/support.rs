//! An issuer with keys, a clock that stands still, and an inner service that records its requests.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use http::{HeaderMap, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full};
use jsonwebtoken::jwk::Jwk;
use jsonwebtoken::{Algorithm, EncodingKey};
use p256::ecdsa::SigningKey;
use p256::pkcs8::{EncodePrivateKey as _, LineEnding};
use serde_json::{Value, json};
use tower_layer::Layer as _;
use tower_service::Service;
use turnbuckle_types::{ClientAddress, Principal};

use crate::challenge::Challenge;
use crate::clock::Clock;
use crate::server::body::ResourceServerBody;
use crate::server::{ResourceServer, ResourceServerBuilder};
use crate::test_http::{RecordedRequest, Reply, ScriptedServer};

pub(super) const RESOURCE: &str = "https://mcp.example.com/mcp";
pub(super) const NOW: u64 = 1_800_000_000;
pub(super) const RSA_PEM: &str = include_str!("data/rsa.pem");
pub(super) const RSA_PUBLIC_PEM: &str = include_str!("data/rsa-public.pem");
pub(super) const ED25519_PEM: &str = include_str!("data/ed25519.pem");

/// A key that signs tokens.
#[derive(Clone)]
pub(super) struct TestKey {
    pub(super) id: String,
    pub(super) algorithm: Algorithm,
    pub(super) key: EncodingKey,
    pub(super) jwk: Value,
}

impl TestKey {
    pub(super) fn es256(id: &str, seed: u8) -> Self {
        let key = SigningKey::from_slice(&[seed; 32]).unwrap();
        let pem = key.to_pkcs8_pem(LineEnding::LF).unwrap();
        let key = EncodingKey::from_ec_pem(pem.as_bytes()).unwrap();
        Self::new(id, Algorithm::ES256, key)
    }

    pub(super) fn rsa(id: &str, algorithm: Algorithm) -> Self {
        let key = EncodingKey::from_rsa_pem(RSA_PEM.as_bytes()).unwrap();
        Self::new(id, algorithm, key)
    }

    pub(super) fn ed25519(id: &str) -> Self {
        let key = EncodingKey::from_ed_pem(ED25519_PEM.as_bytes()).unwrap();
        Self::new(id, Algorithm::EdDSA, key)
    }

    fn new(id: &str, algorithm: Algorithm, key: EncodingKey) -> Self {
        let jwk = Jwk::from_encoding_key(&key, algorithm).unwrap();
        let mut jwk = serde_json::to_value(jwk).unwrap();
        jwk["kid"] = json!(id);
        Self {
            id: id.to_owned(),
            algorithm,
            key,
            jwk,
        }
    }

    pub(super) fn header(&self) -> Value {
        json!({"alg": format!("{:?}", self.algorithm), "typ": "at+jwt", "kid": self.id})
    }

    /// Signs claims with the header of the key.
    pub(super) fn sign(&self, claims: &Value) -> String {
        self.sign_with(&self.header(), claims)
    }

    /// Signs claims with any header.
    pub(super) fn sign_with(&self, header: &Value, claims: &Value) -> String {
        sign(header, &claims.to_string(), &self.key, self.algorithm)
    }
}

/// Signs a text of claims.
pub(super) fn sign(
    header: &Value,
    claims: &str,
    key: &EncodingKey,
    algorithm: Algorithm,
) -> String {
    let header = URL_SAFE_NO_PAD.encode(header.to_string());
    let message = format!("{header}.{}", URL_SAFE_NO_PAD.encode(claims));
    let signature = jsonwebtoken::crypto::sign(message.as_bytes(), key, algorithm).unwrap();
    format!("{message}.{signature}")
}

/// The answers of an issuer. They can be changed while it runs.
pub(super) struct IssuerState {
    pub(super) jwks: Reply,
    pub(super) metadata: Option<Reply>,
    pub(super) introspection: Reply,
}

/// An authorization server: metadata, keys and introspection.
pub(super) struct TestIssuer {
    pub(super) server: ScriptedServer,
    pub(super) state: Arc<Mutex<IssuerState>>,
    pub(super) key: TestKey,
}

impl TestIssuer {
    pub(super) async fn start() -> Self {
        let key = TestKey::es256("one", 1);
        let state = Arc::new(Mutex::new(IssuerState {
            jwks: jwks(&[&key]),
            metadata: None,
            introspection: Reply::json(json!({"active": false})),
        }));
        let shared = Arc::clone(&state);
        let server = ScriptedServer::start(move |request| answer(&shared.lock().unwrap(), request));
        let server = server.await;
        Self { server, state, key }
    }

    pub(super) fn issuer(&self) -> String {
        self.server.origin()
    }

    pub(super) fn set_jwks(&self, reply: Reply) {
        self.state.lock().unwrap().jwks = reply;
    }

    pub(super) fn set_introspection(&self, reply: Reply) {
        self.state.lock().unwrap().introspection = reply;
    }

    /// Returns the number of requests to a path.
    pub(super) fn count(&self, path: &str) -> usize {
        self.server
            .paths()
            .iter()
            .filter(|known| *known == path)
            .count()
    }

    /// Waits until there were `count` requests to a path, and their answers were sent.
    pub(super) async fn wait_for(&self, path: &str, count: usize) {
        while self.count(path) < count {
            tokio::task::yield_now().await;
        }
        for _ in 0..1_000 {
            tokio::task::yield_now().await;
        }
    }

    /// Returns claims that are good for an hour.
    pub(super) fn claims(&self) -> Value {
        json!({
            "iss": self.issuer(),
            "sub": "ann",
            "aud": RESOURCE,
            "exp": NOW + 3600,
            "client_id": "app",
            "scope": "read",
        })
    }

    /// Returns a good token.
    pub(super) fn token(&self) -> String {
        self.key.sign(&self.claims())
    }

    /// Returns a token whose claims are good but for one.
    pub(super) fn token_with(&self, name: &str, value: Value) -> String {
        let mut claims = self.claims();
        claims[name] = value;
        self.key.sign(&claims)
    }
}

fn answer(state: &IssuerState, request: &RecordedRequest) -> Reply {
    match request.path.as_str() {
        "/.well-known/oauth-authorization-server" => state.metadata.clone().unwrap_or_else(|| {
            let origin = request.origin();
            Reply::json(json!({"issuer": origin, "jwks_uri": format!("{origin}/jwks")}))
        }),
        "/jwks" => state.jwks.clone(),
        "/introspect" => state.introspection.clone(),
        _ => Reply::status(404),
    }
}

pub(super) fn jwks(keys: &[&TestKey]) -> Reply {
    let keys: Vec<_> = keys.iter().map(|key| key.jwk.clone()).collect();
    Reply::json(json!({ "keys": keys }))
}

/// A request as the inner service saw it.
#[derive(Debug, Clone)]
pub(super) struct Seen {
    pub(super) headers: HeaderMap,
    pub(super) principal: Option<Arc<Principal>>,
}

/// The inner service.
#[derive(Clone)]
pub(super) struct Inner {
    seen: Arc<Mutex<Vec<Seen>>>,
    respond: Arc<dyn Fn() -> Response<Full<Bytes>> + Send + Sync>,
}

impl Service<Request<String>> for Inner {
    type Response = Response<Full<Bytes>>;
    type Error = Infallible;
    type Future = Ready<Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<String>) -> Self::Future {
        self.seen.lock().unwrap().push(Seen {
            headers: request.headers().clone(),
            principal: request.extensions().get::<Arc<Principal>>().cloned(),
        });
        ready(Ok((self.respond)()))
    }
}

/// A response, read to its end.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) headers: HeaderMap,
    pub(super) body: String,
}

impl Answer {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    pub(super) fn challenges(&self) -> Vec<Challenge> {
        let values = self.headers.get_all("www-authenticate").iter();
        Challenge::parse_all(values.map(|value| value.to_str().unwrap()))
    }

    /// Returns the error of the only challenge.
    pub(super) fn error(&self) -> Option<String> {
        let challenges = self.challenges();
        assert_eq!(challenges.len(), 1, "{challenges:?}");
        challenges[0].error().map(str::to_owned)
    }
}

/// A resource server with its inner service and clock.
pub(super) struct Fixture {
    pub(super) server: ResourceServer,
    pub(super) inner: Inner,
    now: Arc<AtomicU64>,
}

impl Fixture {
    pub(super) fn new(
        configure: impl FnOnce(ResourceServerBuilder) -> ResourceServerBuilder,
    ) -> Self {
        let now = Arc::new(AtomicU64::new(NOW));
        let shared = Arc::clone(&now);
        let clock = Clock::from_fn(move || shared.load(Ordering::SeqCst));
        let builder = ResourceServer::builder(RESOURCE).clock(clock);
        let inner = Inner {
            seen: Arc::default(),
            respond: Arc::new(|| Response::new(Full::new(Bytes::from_static(b"inner")))),
        };
        Self {
            server: configure(builder).build().unwrap(),
            inner,
            now,
        }
    }

    pub(super) fn for_issuer(issuer: &TestIssuer) -> Self {
        Self::new(|builder| builder.issuer(issuer.issuer()))
    }

    /// Replaces the server.
    pub(super) fn map_server(mut self, map: impl FnOnce(ResourceServer) -> ResourceServer) -> Self {
        self.server = map(self.server);
        self
    }

    /// Sets the response of the inner service.
    pub(super) fn respond(
        mut self,
        respond: impl Fn() -> Response<Full<Bytes>> + Send + Sync + 'static,
    ) -> Self {
        self.inner.respond = Arc::new(respond);
        self
    }

    pub(super) fn advance(&self, seconds: u64) {
        self.now.fetch_add(seconds, Ordering::SeqCst);
    }

    pub(super) fn now(&self) -> u64 {
        self.now.load(Ordering::SeqCst)
    }

    /// Returns the requests that the inner service has seen.
    pub(super) fn requests(&self) -> Vec<Seen> {
        self.inner.seen.lock().unwrap().clone()
    }

    pub(super) async fn send(&self, request: Request<String>) -> Answer {
        let mut service = self.server.layer(self.inner.clone());
        let response = service.call(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        Answer {
            status: parts.status.as_u16(),
            headers: parts.headers,
            body: String::from_utf8(body.to_vec()).unwrap(),
        }
    }

    /// Sends a POST to the resource with these headers.
    pub(super) async fn post(&self, headers: &[(&str, &str)]) -> Answer {
        self.send(request("POST", "/mcp", headers)).await
    }

    /// Begins to send a POST with a token from a client address.
    pub(super) fn start_from(
        &self,
        address: &str,
        token: &str,
    ) -> impl Future<Output = Response<ResourceServerBody<Full<Bytes>>>> + Send + 'static {
        let authorization = format!("Bearer {token}");
        let mut request = request("POST", "/mcp", &[("authorization", &authorization)]);
        let address = ClientAddress(address.parse().unwrap());
        request.extensions_mut().insert(address);
        let response = self.server.layer(self.inner.clone()).call(request);
        async { response.await.unwrap() }
    }

    pub(super) async fn post_token(&self, token: &str) -> Answer {
        self.post(&[("authorization", &format!("Bearer {token}"))])
            .await
    }

    /// Asserts that a token is refused as invalid and that the inner service sees nothing.
    pub(super) async fn assert_refused(&self, token: &str) {
        let before = self.requests().len();
        let answer = self.post_token(token).await;
        assert_eq!(answer.status, 401, "{answer:?}");
        assert_eq!(answer.error().as_deref(), Some("invalid_token"));
        assert!(!answer.body.contains(token) && !format!("{:?}", answer.headers).contains(token));
        assert_eq!(self.requests().len(), before);
    }

    pub(super) async fn assert_admitted(&self, token: &str) {
        let answer = self.post_token(token).await;
        assert_eq!(
            (answer.status, answer.body.as_str()),
            (200, "inner"),
            "{answer:?}"
        );
    }
}

pub(super) fn request(method: &str, uri: &str, headers: &[(&str, &str)]) -> Request<String> {
    let mut request = Request::builder().method(method).uri(uri);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(String::new()).unwrap()
}

pub(super) fn status(code: u16) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from_static(b"inner")));
    *response.status_mut() = StatusCode::from_u16(code).unwrap();
    response
}
