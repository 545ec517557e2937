//! Tests of the test server: a scripted client over each flow and each refusal.

mod authorize;
mod auto_login;
mod clients;
mod conformance;
mod consent;
mod documents;
mod dpop;
mod faults;
mod grants;
mod refresh;
mod transport;

use std::collections::HashMap;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::HeaderMap;
use reqwest::redirect::Policy;
use serde_json::{Value, json};
use url::Url;

use super::state::hash;
use super::{TestAuthorizationServer, TestAuthorizationServerBuilder};

const CLIENT: &str = "app";
const REDIRECT: &str = "http://127.0.0.1/callback";
const RESOURCE: &str = "http://127.0.0.1:9999/mcp";
const VERIFIER: &str = "0123456789012345678901234567890123456789-._~abc";

/// An answer with its whole body.
struct Answer {
    status: u16,
    headers: HeaderMap,
    body: String,
}

impl Answer {
    async fn read(response: reqwest::Response) -> Self {
        let status = response.status().as_u16();
        let headers = response.headers().clone();
        Self {
            status,
            headers,
            body: response.text().await.unwrap(),
        }
    }

    fn header(&self, name: &str) -> &str {
        self.headers
            .get(name)
            .map(|value| value.to_str().unwrap())
            .unwrap_or_default()
    }

    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("no JSON: {}", self.body))
    }

    #[track_caller]
    fn ok(&self) -> Value {
        assert_eq!(self.status, 200, "{}", self.body);
        self.json()
    }

    #[track_caller]
    fn text(&self, name: &str) -> String {
        self.ok()[name]
            .as_str()
            .unwrap_or_else(|| panic!("no {name}: {}", self.body))
            .to_owned()
    }

    #[track_caller]
    fn assert_error(&self, status: u16, error: &str) {
        assert_eq!(
            (self.status, self.json()["error"].as_str()),
            (status, Some(error)),
            "{}",
            self.body
        );
        assert_eq!(self.header("cache-control"), "no-store");
    }

    /// Returns the parameters of a redirect to the client.
    #[track_caller]
    fn redirect(&self) -> HashMap<String, String> {
        assert!(
            matches!(self.status, 302 | 303),
            "{} {}",
            self.status,
            self.body
        );
        let url = Url::parse(self.header("location")).unwrap();
        assert_eq!(
            (url.host_str(), url.path()),
            (Some("127.0.0.1"), "/callback")
        );
        let count = url.query_pairs().count();
        let pairs: HashMap<_, _> = url.query_pairs().into_owned().collect();
        assert_eq!(count, pairs.len(), "no parameter is repeated");
        pairs
    }

    /// Checks that the answer is a page that leads nowhere.
    #[track_caller]
    fn assert_page(&self, status: u16, text: &str) {
        assert_eq!(self.status, status, "{}", self.body);
        assert!(self.headers.get("location").is_none());
        assert!(self.header("content-type").starts_with("text/html"));
        assert!(self.body.contains(text), "{}", self.body);
        assert!(self.body.contains("Never use it in production"));
    }
}

fn http_client() -> reqwest::Client {
    _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder()
        .redirect(Policy::none())
        .no_proxy()
        .timeout(Duration::from_secs(20))
        .build()
        .unwrap()
}

fn builder() -> TestAuthorizationServerBuilder {
    TestAuthorizationServer::builder()
        .auto_approve(true)
        .user("alice")
        .public_client(CLIENT, [REDIRECT])
        .client("web", "s3cret", [REDIRECT])
        .resource(RESOURCE)
        .scopes(["read", "write"])
}

/// A client that speaks to a server by hand.
struct Script {
    server: TestAuthorizationServer,
    http: reqwest::Client,
}

impl Script {
    async fn start(builder: TestAuthorizationServerBuilder) -> Self {
        Self {
            server: builder.start().await.unwrap(),
            http: http_client(),
        }
    }

    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.server.issuer())
    }

    async fn get(&self, url: &str) -> Answer {
        Answer::read(self.http.get(url).send().await.unwrap()).await
    }

    /// Sends a form. `headers` are pairs too.
    async fn post(&self, path: &str, form: &[(&str, &str)], headers: &[(&str, &str)]) -> Answer {
        Answer::read(self.try_post(path, form, headers).await.unwrap()).await
    }

    async fn try_post(
        &self,
        path: &str,
        form: &[(&str, &str)],
        headers: &[(&str, &str)],
    ) -> Result<reqwest::Response, reqwest::Error> {
        let body = url::form_urlencoded::Serializer::new(String::new())
            .extend_pairs(form)
            .finish();
        let mut request = self
            .http
            .post(self.url(path))
            .header("content-type", "application/x-www-form-urlencoded")
            .body(body);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.send().await
    }

    async fn token(&self, form: &[(&str, &str)]) -> Answer {
        self.post("/token", form, &[]).await
    }

    /// Opens the authorization endpoint with changes to a right request.
    async fn authorize(&self, changes: &[(&str, &str)]) -> Answer {
        self.get(&self.authorization_url(changes)).await
    }

    fn authorization_url(&self, changes: &[(&str, &str)]) -> String {
        let challenge = hash(VERIFIER);
        let right = [
            ("response_type", "code"),
            ("client_id", CLIENT),
            ("redirect_uri", REDIRECT),
            ("state", "st&te=1"),
            ("code_challenge", &challenge),
            ("code_challenge_method", "S256"),
            ("resource", RESOURCE),
            ("scope", "read write"),
        ];
        let mut url = Url::parse(&self.url("/authorize")).unwrap();
        url.query_pairs_mut().extend_pairs(changed(&right, changes));
        url.into()
    }

    async fn code(&self, changes: &[(&str, &str)]) -> String {
        self.authorize(changes)
            .await
            .redirect()
            .remove("code")
            .unwrap()
    }

    /// Exchanges a code with changes to a right request.
    async fn exchange(&self, code: &str, changes: &[(&str, &str)]) -> Answer {
        let right = [
            ("grant_type", "authorization_code"),
            ("client_id", CLIENT),
            ("code", code),
            ("redirect_uri", REDIRECT),
            ("code_verifier", VERIFIER),
            ("resource", RESOURCE),
        ];
        self.token(&changed(&right, changes)).await
    }

    async fn log_in(&self) -> Answer {
        let code = self.code(&[]).await;
        self.exchange(&code, &[]).await
    }

    async fn refresh(&self, refresh_token: &str, changes: &[(&str, &str)]) -> Answer {
        let right = [
            ("grant_type", "refresh_token"),
            ("client_id", CLIENT),
            ("refresh_token", refresh_token),
            ("resource", RESOURCE),
        ];
        self.token(&changed(&right, changes)).await
    }

    /// Asks whether an access token is active, as the confidential client.
    async fn is_active(&self, token: &str) -> bool {
        let headers = [("authorization", basic("web", "s3cret"))];
        let headers: Vec<_> = headers
            .iter()
            .map(|(name, value)| (*name, value.as_str()))
            .collect();
        let answer = self
            .post("/introspect", &[("token", token)], &headers)
            .await;
        answer.ok()["active"] == json!(true)
    }

    /// Returns the error of the last event.
    fn last_error(&self) -> Option<String> {
        self.server.events().last().unwrap().error.clone()
    }
}

/// Replaces pairs. An empty value removes the pair.
fn changed<'a>(
    right: &[(&'a str, &'a str)],
    changes: &[(&'a str, &'a str)],
) -> Vec<(&'a str, &'a str)> {
    let is_changed = |name: &str| changes.iter().any(|(changed, _)| *changed == name);
    let kept = right.iter().filter(|(name, _)| !is_changed(name));
    kept.chain(changes.iter().filter(|(_, value)| !value.is_empty()))
        .copied()
        .collect()
}

fn basic(id: &str, secret: &str) -> String {
    let encoded = base64::engine::general_purpose::STANDARD.encode(format!("{id}:{secret}"));
    format!("Basic {encoded}")
}

fn part(token: &str, index: usize) -> Value {
    let part = token.split('.').nth(index).unwrap();
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap()
}

fn header(token: &str) -> Value {
    part(token, 0)
}

fn claims(token: &str) -> Value {
    part(token, 1)
}

fn now() -> u64 {
    std::time::UNIX_EPOCH.elapsed().unwrap().as_secs()
}
