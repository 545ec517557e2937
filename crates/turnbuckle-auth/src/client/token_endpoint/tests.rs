//! Token requests against a scripted server, and the reading of good and bad answers.

mod answers;
mod dpop;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::*;
use crate::client::registration::{ClientRegistration, RegistrationSource};
use crate::outbound::OutboundSettings;
use crate::secret::Secret;
use crate::test_http::{RecordedRequest, Reply, ScriptedServer};

const NOW: u64 = 1_700_000_000;
const FORM: [(&str, &str); 4] = [
    ("grant_type", "authorization_code"),
    ("code", "the-secret-code"),
    ("code_verifier", "the-secret-verifier"),
    ("resource", "https://MCP.example.com:443/a%2fb/"),
];

/// A token endpoint with a script, and the client that asks it.
struct Fixture {
    http: ScriptedServer,
    outbound: Outbound,
    server: AuthorizationServerMetadata,
    client: ClientAuthentication,
    dpop: Option<DpopSession>,
    clock: Clock,
}

impl Fixture {
    async fn new(script: impl Fn(&RecordedRequest) -> Reply + Send + Sync + 'static) -> Self {
        let http = ScriptedServer::start(script).await;
        let server = AuthorizationServerMetadata {
            issuer: http.origin(),
            token_endpoint: Some(http.url("/token")),
            ..AuthorizationServerMetadata::default()
        };
        let url = Url::parse(&http.origin()).unwrap();
        Self {
            outbound: Outbound::new(&url, OutboundSettings::default()).unwrap(),
            client: ClientAuthentication::Registered(registration(&http.origin(), None)),
            dpop: None,
            clock: Clock::from_fn(|| NOW),
            server,
            http,
        }
    }

    fn secret(mut self, secret: &str, auth_method: Option<&str>) -> Self {
        let mut registration = registration(&self.http.origin(), Some(secret));
        registration.auth_method = auth_method.map(str::to_owned);
        self.client = ClientAuthentication::Registered(registration);
        self
    }

    fn methods(mut self, methods: &[&str]) -> Self {
        let methods = methods.iter().map(|&method| method.to_owned()).collect();
        self.server.token_endpoint_auth_methods_supported = Some(methods);
        self
    }

    async fn request(&self) -> Result<TokenResponse, TokenError> {
        self.endpoint().request(&FORM).await
    }

    fn endpoint(&self) -> TokenEndpoint<'_> {
        TokenEndpoint {
            outbound: &self.outbound,
            server: &self.server,
            client: &self.client,
            dpop: self.dpop.as_ref(),
            clock: &self.clock,
        }
    }
}

fn registration(issuer: &str, secret: Option<&str>) -> ClientRegistration {
    ClientRegistration {
        issuer: issuer.to_owned(),
        client_id: "client:1 ä".to_owned(),
        client_secret: secret.map(Secret::new),
        secret_expires_at: None,
        auth_method: None,
        redirect_uri: None,
        scopes: None,
        source: RegistrationSource::PreRegistered,
    }
}

fn token(token_type: &str) -> Reply {
    Reply::json(json!({ "access_token": "at", "token_type": token_type, "expires_in": 3600 }))
}

async fn answer(reply: Reply) -> Result<TokenResponse, TokenError> {
    Fixture::new(move |_| reply.clone()).await.request().await
}

fn refusal(result: Result<TokenResponse, TokenError>) -> (u16, String, Option<String>) {
    match result.unwrap_err() {
        TokenError::Refused {
            status,
            error,
            description,
        } => (status, error, description),
        other => panic!("{other:?}"),
    }
}

// requirement: ca7a3ec2b334
#[tokio::test]
async fn a_client_without_a_secret_sends_its_identifier() {
    let fixture = Fixture::new(|_| token("bearer")).await;
    let response = fixture.request().await.unwrap();
    assert_eq!(response.access_token.expose(), "at");
    assert_eq!(response.token_type, "Bearer");
    assert_eq!(response.expires_in, Some(3600));
    let [request] = fixture.http.requests().try_into().unwrap();
    assert_eq!(
        (request.method.as_str(), request.path.as_str()),
        ("POST", "/token")
    );
    assert_eq!(request.header("accept"), Some("application/json"));
    assert_eq!(request.header("authorization"), None);
    assert_eq!(request.form("client_id").as_deref(), Some("client:1 ä"));
    assert_eq!(request.form("client_secret"), None);
    for (name, value) in FORM {
        assert_eq!(request.form(name).as_deref(), Some(value), "byte for byte");
    }
}

// requirement: 5916c11c7b47 ca7a3ec2b334
#[tokio::test]
async fn basic_has_identifier_and_secret_form_encoded() {
    let fixture = Fixture::new(|_| token("Bearer"))
        .await
        .secret("s:e+c/r%t &ö", None);
    fixture.request().await.unwrap();
    let [request] = fixture.http.requests().try_into().unwrap();
    let encoded = "client%3A1+%C3%A4:s%3Ae%2Bc%2Fr%25t+%26%C3%B6";
    let expected = format!("Basic {}", STANDARD.encode(encoded));
    assert_eq!(request.header("authorization"), Some(expected.as_str()));
    assert_eq!(request.form("client_id"), None);
    assert_eq!(request.form("client_secret"), None);
}

#[tokio::test]
async fn the_method_is_that_of_the_registration_or_the_first_that_the_server_lists() {
    let (basic, post, none) = ("client_secret_basic", "client_secret_post", "none");
    let cases: [(Option<&str>, &[&str], &str); 10] = [
        (None, &[], basic),
        (None, &[post], post),
        (None, &[none], none),
        (None, &[none, post, basic], post),
        (None, &[basic, post], basic),
        (None, &["private_key_jwt", none, post], post),
        (Some(post), &[basic], post),
        (Some(basic), &[post], basic),
        (Some(none), &[basic], none),
        (Some(post), &[], post),
    ];
    for (registered, listed, expected) in cases {
        let fixture = Fixture::new(|_| token("Bearer"))
            .await
            .secret("hidden", registered);
        let fixture = fixture.methods(listed);
        fixture.request().await.unwrap();
        let [request] = fixture.http.requests().try_into().unwrap();
        let has_header = request.header("authorization").is_some();
        let has_secret = request.form("client_secret").as_deref() == Some("hidden");
        let has_id = request.form("client_id").is_some();
        let shown = (has_header, has_secret, has_id);
        let expected = (expected == basic, expected == post, expected != basic);
        assert_eq!(shown, expected, "{registered:?} {listed:?}");
    }
}

/// Answers `invalid_client` to every request whose secret is not in the form.
fn takes_post_only(request: &RecordedRequest) -> Reply {
    match request.form("client_secret") {
        Some(_) => token("Bearer"),
        None => Reply::status(401).with_json(json!({ "error": "invalid_client" })),
    }
}

#[tokio::test]
async fn the_other_of_basic_and_post_is_tried_once_after_invalid_client() {
    let fixture = Fixture::new(takes_post_only).await;
    let fixture = fixture.secret("hidden", Some("client_secret_basic"));
    let response = fixture.request().await.unwrap();
    assert_eq!(response.auth_method, Some("client_secret_post"));
    let [first, second] = fixture.http.requests().try_into().unwrap();
    assert!(first.header("authorization").is_some() && first.form("client_id").is_none());
    assert!(second.header("authorization").is_none() && second.form("client_id").is_some());

    let fixture = Fixture::new(|request| match request.header("authorization") {
        Some(_) => token("Bearer"),
        None => Reply::status(401).with_json(json!({ "error": "invalid_client" })),
    });
    let fixture = fixture.await.secret("hidden", Some("client_secret_post"));
    let response = fixture.request().await.unwrap();
    assert_eq!(response.auth_method, Some("client_secret_basic"));
    assert_eq!(fixture.http.requests().len(), 2);
}

#[tokio::test]
async fn a_secret_that_is_refused_in_both_forms_ends_with_the_first_answer() {
    let fixture = Fixture::new(|request| {
        let has_header = request.header("authorization").is_some();
        let description = if has_header { "wrong" } else { "no header" };
        let body = json!({ "error": "invalid_client", "error_description": description });
        Reply::status(401).with_json(body)
    });
    let fixture = fixture.await.secret("hidden", None);
    let (status, _, description) = refusal(fixture.request().await);
    assert_eq!((status, description.as_deref()), (401, Some("wrong")));
    assert_eq!(fixture.http.requests().len(), 2);
    // Without a secret there is no other way, and another refusal is no matter of the method.
    let reply = Reply::status(401).with_json(json!({ "error": "invalid_client" }));
    let fixture = Fixture::new(move |_| reply.clone()).await;
    fixture.request().await.unwrap_err();
    assert_eq!(fixture.http.requests().len(), 1);
    let reply = Reply::status(400).with_json(json!({ "error": "invalid_grant" }));
    let fixture = Fixture::new(move |_| reply.clone()).await;
    let fixture = fixture.secret("hidden", None);
    fixture.request().await.unwrap_err();
    assert_eq!(fixture.http.requests().len(), 1);
}

#[tokio::test]
async fn methods_that_need_more_than_a_secret_are_refused_before_the_request() {
    for (registered, listed) in [
        (None, &["private_key_jwt", "tls_client_auth"][..]),
        (Some("private_key_jwt"), &[]),
        (Some("client_secret_jwt"), &[]),
    ] {
        let fixture = Fixture::new(|_| token("Bearer"))
            .await
            .secret("hidden", registered);
        let error = fixture.methods(listed).request().await.unwrap_err();
        assert!(
            matches!(&error, TokenError::Invalid(text) if text.contains("jwt")),
            "{error}"
        );
    }
}

// requirement: bec089237ade cf669948fc13
#[tokio::test]
async fn credentials_of_another_issuer_are_not_sent() {
    let mut fixture = Fixture::new(|_| token("Bearer"))
        .await
        .secret("hidden", None);
    fixture.server.issuer.push('/');
    let error = fixture.request().await.unwrap_err();
    assert!(error.to_string().contains("is registered with"), "{error}");
    assert!(fixture.http.requests().is_empty());
    fixture.client = ClientAuthentication::PrivateKeyJwt {
        issuer: Some("https://other.example.com".to_owned()),
        client_id: "c".to_owned(),
        key: SigningKey::from_pem(&include_str!("test_keys/p256.pem").into(), "ES256").unwrap(),
    };
    fixture.request().await.unwrap_err();
    assert!(fixture.http.requests().is_empty());
}

#[tokio::test]
async fn an_anonymous_client_sends_nothing_of_itself() {
    let mut fixture = Fixture::new(|_| token("Bearer")).await;
    fixture.client = ClientAuthentication::Anonymous;
    fixture.request().await.unwrap();
    let [request] = fixture.http.requests().try_into().unwrap();
    assert_eq!(request.header("authorization"), None);
    assert_eq!(request.form("client_id"), None);
}

// requirement: c093c85b9306
#[tokio::test]
async fn a_private_key_signs_an_assertion_for_the_issuer() {
    let mut fixture = Fixture::new(|_| token("Bearer")).await;
    let pem = include_str!("test_keys/p256.pem");
    let mut key = SigningKey::from_pem(&pem.into(), "ES256").unwrap();
    key.set_key_id("key-1");
    let client_id = "c".to_owned();
    fixture.client = ClientAuthentication::PrivateKeyJwt {
        issuer: None,
        client_id,
        key,
    };
    fixture.request().await.unwrap();
    fixture.request().await.unwrap();
    let [first, second] = fixture.http.requests().try_into().unwrap();
    assert_eq!(
        first.form("client_assertion_type").as_deref(),
        Some("urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
    );
    assert_eq!(first.form("client_id"), None);
    let public = include_str!("test_keys/p256-public.pem");
    let public = jsonwebtoken::DecodingKey::from_ec_pem(public.as_bytes()).unwrap();
    let mut validation = jsonwebtoken::Validation::new(jsonwebtoken::Algorithm::ES256);
    validation.validate_exp = false;
    validation.set_audience(&[fixture.http.origin()]);
    let decode = |request: &RecordedRequest| {
        let assertion = request.form("client_assertion").unwrap();
        jsonwebtoken::decode::<Value>(&assertion, &public, &validation).unwrap()
    };
    let (first, second) = (decode(&first), decode(&second));
    assert_eq!(first.header.kid.as_deref(), Some("key-1"));
    let claims = first.claims;
    assert_eq!((&claims["iss"], &claims["sub"]), (&json!("c"), &json!("c")));
    assert_eq!(claims["aud"], json!(fixture.http.origin()));
    assert_eq!(claims["iat"], json!(NOW));
    assert!((60..=300).contains(&(claims["exp"].as_u64().unwrap() - NOW)));
    assert_ne!(claims["jti"], second.claims["jti"]);
}

#[tokio::test]
async fn an_algorithm_that_the_server_does_not_list_is_refused_before_the_request() {
    let mut fixture = Fixture::new(|_| token("Bearer")).await;
    fixture
        .server
        .token_endpoint_auth_signing_alg_values_supported = Some(vec!["RS256".to_owned()]);
    let pem = include_str!("test_keys/p256.pem");
    let key = SigningKey::from_pem(&pem.into(), "ES256").unwrap();
    let client_id = "c".to_owned();
    fixture.client = ClientAuthentication::PrivateKeyJwt {
        issuer: None,
        client_id,
        key,
    };
    let error = fixture.request().await.unwrap_err();
    assert!(error.to_string().contains("accepts only RS256"), "{error}");
    assert!(fixture.http.requests().is_empty());
}

#[test]
fn keys_of_all_kinds_sign_with_their_algorithms_only() {
    let p256 = include_str!("test_keys/p256.pem");
    let one_line = p256.replace('\n', "\\n");
    let good = [
        (p256, "ES256"),
        (one_line.as_str(), "ES256"),
        (include_str!("test_keys/p256-sec1.pem"), "ES256"),
        (include_str!("test_keys/p384.pem"), "ES384"),
        (include_str!("test_keys/ed25519.pem"), "EdDSA"),
        (include_str!("test_keys/rsa.pem"), "RS256"),
        (include_str!("test_keys/rsa.pem"), "PS256"),
        (include_str!("test_keys/rsa-pkcs1.pem"), "RS256"),
    ];
    for (pem, algorithm) in good {
        let key = SigningKey::from_pem(&pem.into(), algorithm).unwrap();
        assert_eq!(key.algorithm(), algorithm);
        assert!(!format!("{key:?}").contains("MIG"));
    }
    let bad = [
        (p256, "HS256"),
        (p256, "none"),
        (p256, "ES384"),
        (p256, "RS256"),
        (include_str!("test_keys/p384.pem"), "ES256"),
        (include_str!("test_keys/rsa.pem"), "EdDSA"),
        (include_str!("test_keys/p256-public.pem"), "ES256"),
        ("", "ES256"),
    ];
    for (pem, algorithm) in bad {
        let error = SigningKey::from_pem(&pem.into(), algorithm).unwrap_err();
        assert!(error.to_string().contains(algorithm), "{error}");
    }
}

#[tokio::test]
async fn a_server_without_a_token_endpoint_is_an_error() {
    let mut fixture = Fixture::new(|_| token("Bearer")).await;
    fixture.server.token_endpoint = None;
    assert!(matches!(
        fixture.request().await,
        Err(TokenError::Invalid(_))
    ));
    fixture.server.token_endpoint = Some("http://[".to_owned());
    assert!(matches!(
        fixture.request().await,
        Err(TokenError::Invalid(_))
    ));
}
