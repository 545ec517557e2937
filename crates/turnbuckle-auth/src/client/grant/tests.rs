//! The grants without a browser, against a scripted authorization server and identity provider.

mod enterprise;
mod workload;

use serde_json::json;
use url::Url;

use super::*;
use crate::client::discovery::Discovery;
use crate::client::registration::ClientRegistration;
use crate::clock::Clock;
use crate::metadata::AuthorizationServerMetadata;
use crate::outbound::{Outbound, OutboundSettings};
use crate::secret::Secret;
use crate::test_http::{RecordedRequest, Reply, ScriptedServer};
use crate::transcript::Recorder;

const RESOURCE: &str = "https://MCP.example.com/a/";
const ID_JAG: &str = "urn:ietf:params:oauth:token-type:id-jag";
const JWT_BEARER: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";

/// An authorization server at `/token` and an identity provider at `/idp/token`.
struct Fixture {
    http: ScriptedServer,
    outbound: Outbound,
    settings: OutboundSettings,
    discovery: Discovery,
    registration: Option<ClientRegistration>,
    resource: Option<&'static str>,
    scope: Option<&'static str>,
    recorder: Recorder,
}

impl Fixture {
    async fn new(script: impl Fn(&RecordedRequest) -> Reply + Send + Sync + 'static) -> Self {
        let http = ScriptedServer::start(script).await;
        let settings = OutboundSettings::default();
        let server = AuthorizationServerMetadata {
            issuer: http.origin(),
            token_endpoint: Some(http.url("/token")),
            ..AuthorizationServerMetadata::default()
        };
        Self {
            outbound: Outbound::new(&Url::parse(&http.origin()).unwrap(), settings.clone())
                .unwrap(),
            settings,
            discovery: Discovery {
                resource: Some(RESOURCE.to_owned()),
                resource_scopes: None,
                issuer: http.origin(),
                server,
                is_legacy: false,
            },
            registration: None,
            resource: Some(RESOURCE),
            scope: Some("read write"),
            recorder: Recorder::new(),
            http,
        }
    }

    async fn request(&self, grant: &Grant) -> Result<TokenResponse, AuthError> {
        let context = GrantContext {
            outbound: &self.outbound,
            outbound_settings: &self.settings,
            discovery: &self.discovery,
            resource: self.resource,
            scope: self.scope,
            registration: self.registration.as_ref(),
            dpop: None,
            clock: &Clock::system(),
            recorder: &self.recorder,
        };
        let answer = grant.request_token(&context).await;
        answer.map_err(|error| error.with_steps(&self.recorder))
    }

    fn idp(&self) -> EnterpriseIdp {
        EnterpriseIdp::id_token(self.http.url("/idp/token"), |_| async {
            Ok(Secret::new("the-id-token"))
        })
    }

    fn requests<const N: usize>(&self) -> [RecordedRequest; N] {
        self.http.requests().try_into().unwrap()
    }
}

fn token() -> Reply {
    Reply::json(json!({ "access_token": "at", "token_type": "Bearer", "expires_in": 60 }))
}

fn refuse(error: &str) -> Reply {
    let body = json!({ "error": error, "error_description": "because" });
    Reply::status(400).with_json(body)
}

fn client() -> ClientCredentials {
    ClientCredentials::secret("the-client", "the-secret")
}

// requirement: 45decc3ef68f 5916c11c7b47 a7813792e57f dd8ffdfbcd40
#[tokio::test]
async fn client_credentials_name_scope_and_resource() {
    let fixture = Fixture::new(|_| token()).await;
    let grant = Grant::ClientCredentials(client().issuer(fixture.http.origin()));
    let response = fixture.request(&grant).await.unwrap();
    assert_eq!(response.access_token.expose(), "at");
    let [request] = fixture.requests();
    assert_eq!(
        request.form("grant_type").as_deref(),
        Some("client_credentials")
    );
    assert_eq!(request.form("scope").as_deref(), Some("read write"));
    assert_eq!(request.form("resource").as_deref(), Some(RESOURCE));
    assert!(
        request
            .header("authorization")
            .unwrap()
            .starts_with("Basic ")
    );
    let shown = fixture.recorder.transcript().to_string();
    assert!(shown.contains("grant_type=client_credentials"), "{shown}");
    assert!(!shown.contains("the-secret"));
}

// requirement: a7813792e57f c093c85b9306
#[tokio::test]
async fn client_credentials_with_a_key_or_with_post() {
    let fixture = Fixture::new(|_| token()).await;
    let pem = include_str!("../token_endpoint/test_keys/p256.pem");
    let signed = ClientCredentials::private_key_jwt("the-client", pem, "ES256").unwrap();
    fixture
        .request(&Grant::ClientCredentials(signed.key_id("k")))
        .await
        .unwrap();
    let post = client().auth_method("client_secret_post");
    fixture
        .request(&Grant::ClientCredentials(post))
        .await
        .unwrap();
    let [signed, post] = fixture.requests();
    assert!(signed.form("client_assertion").is_some());
    assert_eq!(signed.form("client_secret"), None);
    assert_eq!(post.form("client_secret").as_deref(), Some("the-secret"));
    assert!(ClientCredentials::private_key_jwt("c", "no key", "ES256").is_err());
}

#[tokio::test]
async fn absent_scope_and_resource_are_left_out() {
    let mut fixture = Fixture::new(|_| token()).await;
    (fixture.scope, fixture.resource) = (None, None);
    fixture
        .request(&Grant::ClientCredentials(client()))
        .await
        .unwrap();
    fixture.scope = Some("");
    fixture
        .request(&Grant::ClientCredentials(client()))
        .await
        .unwrap();
    for request in fixture.requests::<2>() {
        assert_eq!(
            (request.form("scope"), request.form("resource")),
            (None, None)
        );
    }
}

// requirement: dd8ffdfbcd40
#[tokio::test]
async fn the_secret_is_not_sent_to_another_issuer() {
    let fixture = Fixture::new(|_| token()).await;
    let client = client().issuer("https://as.example.com");
    let error = fixture
        .request(&Grant::ClientCredentials(client.clone()))
        .await
        .unwrap_err();
    assert!(
        error.to_string().contains("https://as.example.com"),
        "{error}"
    );
    let workload = WorkloadIdentity::from_fn(|_| async { Ok("the-assertion".into()) });
    let error = fixture
        .request(&Grant::WorkloadIdentity(workload.client(client)))
        .await;
    assert_eq!(error.unwrap_err().kind(), AuthErrorKind::Token);
    assert!(fixture.http.requests().is_empty());
}

#[tokio::test]
async fn client_credentials_without_a_secret_are_an_error() {
    let fixture = Fixture::new(|_| token()).await;
    let grant = Grant::ClientCredentials(ClientCredentials::public("the-client"));
    let error = fixture.request(&grant).await.unwrap_err();
    assert_eq!(error.kind(), AuthErrorKind::Registration);
    assert!(fixture.http.requests().is_empty());
}

#[tokio::test]
async fn a_refusal_has_advice_and_is_not_retried() {
    for (code, kind, advice) in [
        (
            "invalid_client",
            AuthErrorKind::Token,
            "check the client id",
        ),
        ("invalid_scope", AuthErrorKind::Token, "allow these scopes"),
        (
            "unauthorized_client",
            AuthErrorKind::Token,
            "allow this grant",
        ),
        ("access_denied", AuthErrorKind::Denied, "see the answer"),
        (
            "temporarily_unavailable",
            AuthErrorKind::Network,
            "try again later",
        ),
    ] {
        let fixture = Fixture::new(move |_| refuse(code)).await;
        let error = fixture
            .request(&Grant::ClientCredentials(client()))
            .await
            .unwrap_err();
        assert_eq!(error.kind(), kind, "{code}");
        let text = error.to_string();
        assert!(
            text.contains(code) && text.contains("because") && text.contains(advice),
            "{text}"
        );
        assert!(error.transcript().to_string().contains(advice));
        // Only the other way to send the secret is tried.
        let count = if code == "invalid_client" { 2 } else { 1 };
        assert_eq!(fixture.http.requests().len(), count);
    }
}

#[tokio::test]
async fn the_authorization_code_grant_needs_the_user() {
    let fixture = Fixture::new(|_| token()).await;
    let grant = Grant::default();
    assert!(grant.is_interactive() && grant.needs_registration());
    let error = fixture.request(&grant).await.unwrap_err();
    assert_eq!(error.kind(), AuthErrorKind::LoginRequired);
}

// requirement: c054f64bf4c7 ff46d9735c02
#[test]
fn debug_output_holds_no_secrets() {
    let idp = EnterpriseIdp::id_token("https://idp.example.com/token", |_| async {
        Ok("the-id-token".into())
    });
    let idp = idp.client(client()).idp_client(client());
    let pem = include_str!("../token_endpoint/test_keys/p256.pem");
    let signed = ClientCredentials::private_key_jwt("c", pem, "ES256").unwrap();
    let shown = format!(
        "{idp:?} {signed:?} {:?}",
        Grant::ClientCredentials(client())
    );
    assert!(
        !shown.contains("the-secret") && !shown.contains("MIG"),
        "{shown}"
    );
}
