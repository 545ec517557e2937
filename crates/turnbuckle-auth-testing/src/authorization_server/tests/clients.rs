//! Clients: their authentication, registration and metadata documents.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use super::super::keys::SigningKeys;
use super::{Answer, CLIENT, REDIRECT, RESOURCE, Script, basic, builder, now};

pub(super) async fn register(script: &Script, document: &Value) -> Answer {
    let request = script
        .http
        .post(script.url("/register"))
        .header("content-type", "application/json")
        .body(document.to_string());
    Answer::read(request.send().await.unwrap()).await
}

#[tokio::test]
async fn a_secret_goes_into_the_header_or_the_form_but_not_both() {
    let script = Script::start(builder().client("a b", "p+q:%", [REDIRECT])).await;
    let form = [("grant_type", "client_credentials"), ("resource", RESOURCE)];
    let send = |extra: Vec<(&'static str, &'static str)>, header: Option<String>| {
        let form = [form.to_vec(), extra].concat();
        let script = &script;
        async move {
            let headers: Vec<_> = header
                .iter()
                .map(|value| ("authorization", value.as_str()))
                .collect();
            script.post("/token", &form, &headers).await
        }
    };
    send(vec![], Some(basic("web", "s3cret"))).await.ok();
    send(vec![("client_id", "web")], Some(basic("web", "s3cret")))
        .await
        .ok();
    send(
        vec![("client_id", "web"), ("client_secret", "s3cret")],
        None,
    )
    .await
    .ok();
    // Both parts are encoded as in a form (RFC 6749, section 2.3.1).
    send(vec![], Some(basic("a+b", "p%2Bq%3A%25"))).await.ok();

    for (extra, header) in [
        (vec![], Some(basic("web", "wrong"))),
        (vec![], Some(basic("web", ""))),
        (vec![], Some(basic("unknown", "s3cret"))),
        (vec![], Some("Basic !".to_owned())),
        (vec![], Some("Bearer x".to_owned())),
        (vec![], Some(basic(CLIENT, ""))),
        (vec![("client_id", "web"), ("client_secret", "wrong")], None),
        (vec![("client_id", "web")], None),
        (vec![], None),
    ] {
        let answer = send(extra, header).await;
        answer.assert_error(401, "invalid_client");
        assert!(answer.header("www-authenticate").starts_with("Basic"));
    }
    let both = vec![("client_id", "web"), ("client_secret", "s3cret")];
    send(both, Some(basic("web", "s3cret")))
        .await
        .assert_error(400, "invalid_request");
    let other = vec![("client_id", CLIENT)];
    send(other, Some(basic("web", "s3cret")))
        .await
        .assert_error(400, "invalid_request");
    let public = vec![("client_id", CLIENT)];
    send(public, None)
        .await
        .assert_error(400, "unauthorized_client");
}

#[tokio::test]
async fn private_key_jwt_needs_a_fresh_assertion_of_the_right_key_for_this_server() {
    let keys = SigningKeys::generate().unwrap();
    let foreign = SigningKeys::generate().unwrap();
    let script = Script::start(builder().client_with_keys("robot", &keys.jwks(), [REDIRECT])).await;
    let issuer = script.server.issuer().to_owned();
    let right = json!({
        "iss": "robot", "sub": "robot", "aud": issuer, "exp": now() + 60, "jti": "1",
    });
    let send = |assertion: String| {
        let script = &script;
        async move {
            let form = [
                ("grant_type", "client_credentials"),
                ("resource", RESOURCE),
                (
                    "client_assertion_type",
                    "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
                ),
                ("client_assertion", &assertion),
            ];
            script.post("/token", &form, &[]).await
        }
    };
    let sign = |name: &str, value: Value| {
        let mut claims = right.clone();
        claims[name] = value;
        keys.sign("JWT", &claims).unwrap()
    };
    let assertion = sign("jti", json!("2"));
    send(assertion.clone()).await.ok();
    assert_eq!(
        script.server.events().last().unwrap().client_id.as_deref(),
        Some("robot")
    );
    send(sign("aud", json!([format!("{issuer}/token")])))
        .await
        .ok();
    for bad in [
        assertion,
        sign("aud", json!("https://other.example")),
        sign("exp", json!(now() - 1)),
        sign("exp", json!(null)),
        sign("nbf", json!(now() + 600)),
        sign("iss", json!("other")),
        sign("sub", json!("web")),
        sign("jti", json!(null)),
        foreign.sign("JWT", &right).unwrap(),
        "eyJhbGciOiJub25lIn0.e30.".to_owned(),
        "x".to_owned(),
    ] {
        send(bad).await.assert_error(401, "invalid_client");
    }
}

#[tokio::test]
async fn a_registered_client_logs_in_by_its_own_method() {
    let script = Script::start(builder()).await;
    let document = json!({
        "client_name": "App",
        "application_type": "native",
        "redirect_uris": [REDIRECT],
        "grant_types": ["authorization_code", "refresh_token"],
        "token_endpoint_auth_method": "client_secret_post",
        "software_id": "x",
    });
    let answer = register(&script, &document).await;
    assert_eq!(answer.status, 201);
    assert_eq!(answer.header("cache-control"), "no-store");
    let body = answer.json();
    for name in [
        "client_name",
        "application_type",
        "redirect_uris",
        "grant_types",
        "software_id",
    ] {
        assert_eq!(body[name], document[name]);
    }
    assert_eq!(body["client_secret_expires_at"], 0);
    let (id, secret) = (
        body["client_id"].as_str().unwrap(),
        body["client_secret"].as_str().unwrap(),
    );
    let code = script.code(&[("client_id", id)]).await;
    script
        .exchange(&code, &[("client_id", id)])
        .await
        .assert_error(401, "invalid_client");
    let changes = [("client_id", id), ("client_secret", secret)];
    let refresh = script.exchange(&code, &changes).await.text("refresh_token");
    script.refresh(&refresh, &changes).await.ok();
    let form = [
        ("grant_type", "client_credentials"),
        ("client_id", id),
        ("client_secret", secret),
    ];
    script
        .token(&form)
        .await
        .assert_error(400, "unauthorized_client");
}

#[tokio::test]
async fn a_client_that_did_not_register_refreshing_gets_no_refresh_token() {
    let script = Script::start(builder()).await;
    let document = json!({ "redirect_uris": [REDIRECT], "token_endpoint_auth_method": "none" });
    let answer = register(&script, &document).await.json();
    assert!(answer.get("client_secret").is_none());
    let id = answer["client_id"].as_str().unwrap();
    let code = script.code(&[("client_id", id)]).await;
    let body = script.exchange(&code, &[("client_id", id)]).await.ok();
    assert!(body.get("refresh_token").is_none());
}

#[tokio::test]
async fn registrations_that_break_a_rule_are_refused() {
    let script = Script::start(builder()).await;
    for (name, value, error) in [
        ("redirect_uris", json!([]), "invalid_redirect_uri"),
        ("redirect_uris", json!("x"), "invalid_client_metadata"),
        (
            "redirect_uris",
            json!(["http://app.example/cb"]),
            "invalid_redirect_uri",
        ),
        (
            "redirect_uris",
            json!(["javascript:alert(1)"]),
            "invalid_redirect_uri",
        ),
        ("redirect_uris", json!(["app:/cb"]), "invalid_redirect_uri"),
        (
            "redirect_uris",
            json!(vec![REDIRECT; 21]),
            "invalid_redirect_uri",
        ),
        ("application_type", json!("web"), "invalid_redirect_uri"),
        (
            "application_type",
            json!("other"),
            "invalid_client_metadata",
        ),
        (
            "token_endpoint_auth_method",
            json!("tls_client_auth"),
            "invalid_client_metadata",
        ),
        (
            "token_endpoint_auth_method",
            json!("private_key_jwt"),
            "invalid_client_metadata",
        ),
        (
            "grant_types",
            json!(["implicit"]),
            "invalid_client_metadata",
        ),
        (
            "response_types",
            json!(["token"]),
            "invalid_client_metadata",
        ),
    ] {
        let mut document = json!({ "redirect_uris": [REDIRECT] });
        document[name] = value;
        register(&script, &document).await.assert_error(400, error);
    }
    register(&script, &json!([]))
        .await
        .assert_error(400, "invalid_client_metadata");
    let form = script.post("/register", &[("a", "b")], &[]).await;
    form.assert_error(400, "invalid_client_metadata");

    let strict = Script::start(builder().strict_application_type(true)).await;
    let document = json!({ "redirect_uris": [REDIRECT] });
    register(&strict, &document)
        .await
        .assert_error(400, "invalid_redirect_uri");
    let native = json!({ "redirect_uris": [REDIRECT], "application_type": "native" });
    assert_eq!(register(&strict, &native).await.status, 201);

    let none = Script::start(builder().dynamic_registration(false)).await;
    assert_eq!(register(&none, &document).await.status, 404);
}

/// A server with metadata documents of clients, which records the paths of its requests.
struct DocumentServer {
    origin: String,
    paths: Arc<Mutex<Vec<String>>>,
}

impl DocumentServer {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        let paths = Arc::new(Mutex::new(Vec::new()));
        let (own_origin, recorded) = (origin.clone(), Arc::clone(&paths));
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut head = Vec::new();
                while !head.ends_with(b"\r\n\r\n") {
                    assert_ne!(stream.read_buf(&mut head).await.unwrap(), 0);
                }
                let head = String::from_utf8(head).unwrap();
                let path = head.split(' ').nth(1).unwrap().to_owned();
                let answer = Self::answer(&own_origin, &path);
                recorded.lock().unwrap().push(path);
                stream.write_all(answer.as_bytes()).await.unwrap();
            }
        });
        Self { origin, paths }
    }

    fn answer(origin: &str, path: &str) -> String {
        let document = |id: &str| json!({ "client_id": id, "client_name": "Documented", "redirect_uris": [REDIRECT] });
        let (status, body) = match path {
            "/client.json" => ("200 OK", document(&format!("{origin}{path}"))),
            "/foreign.json" => ("200 OK", document("https://other.example/client.json")),
            "/moved.json" => ("302 Found\r\nlocation: /client.json", Value::Null),
            "/text" => ("200 OK", json!("no object")),
            _ => ("404 Not Found", Value::Null),
        };
        let body = body.to_string();
        let length = body.len();
        format!(
            "HTTP/1.1 {status}\r\nconnection: close\r\ncontent-type: application/json\r\n\
             content-length: {length}\r\n\r\n{body}"
        )
    }

    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.origin)
    }
}

#[tokio::test]
async fn a_metadata_document_makes_its_url_a_client() {
    let documents = DocumentServer::start().await;
    let script = Script::start(builder().auto_approve(false).allow_http_client_ids(true)).await;
    let id = documents.url("/client.json");
    let page = script.authorize(&[("client_id", &id)]).await;
    page.assert_page(200, "Documented");
    assert!(page.body.contains(&id));
    let other = [
        ("client_id", id.as_str()),
        ("redirect_uri", "https://evil.example/cb"),
    ];
    script
        .authorize(&other)
        .await
        .assert_page(400, "none that the client");
    for path in ["/foreign.json", "/moved.json", "/text", "/missing.json"] {
        let answer = script
            .authorize(&[("client_id", &documents.url(path))])
            .await;
        answer.assert_page(400, "metadata document");
    }
    // The document is kept for a while.
    let paths = documents.paths.lock().unwrap().clone();
    let asked = paths.iter().filter(|path| *path == "/client.json").count();
    assert!(asked <= 2, "asked {asked} times");

    let script = Script::start(builder().allow_http_client_ids(true)).await;
    let code = script.code(&[("client_id", &id)]).await;
    let token = script
        .exchange(&code, &[("client_id", &id)])
        .await
        .text("access_token");
    assert_eq!(super::claims(&token)["client_id"], id.as_str());

    let strict = Script::start(builder()).await;
    strict
        .authorize(&[("client_id", &id)])
        .await
        .assert_page(400, "no https URL");
    let off = Script::start(builder().client_metadata_documents(false)).await;
    off.authorize(&[("client_id", &id)])
        .await
        .assert_page(400, "no such client");
}

#[tokio::test]
async fn the_client_id_can_be_required_in_the_form() {
    let methods = ["client_secret_post", "client_secret_basic"];
    let builder = builder()
        .token_auth_methods(methods)
        .require_form_client_id(true);
    let script = Script::start(builder).await;
    let url = script.url("/.well-known/oauth-authorization-server");
    let metadata = script.get(&url).await.ok();
    assert_eq!(
        metadata["token_endpoint_auth_methods_supported"],
        json!(methods)
    );
    let header = basic("web", "s3cret");
    let headers = [("authorization", &*header)];
    let form = [("grant_type", "client_credentials"), ("resource", RESOURCE)];
    let refused = script.post("/token", &form, &headers).await;
    refused.assert_error(401, "invalid_client");
    let named = [&form[..], &[("client_id", "web")]].concat();
    script.post("/token", &named, &headers).await.ok();
}

#[tokio::test]
async fn a_client_can_be_held_to_the_scopes_of_its_registration() {
    let script = Script::start(builder().restrict_registered_scopes(true)).await;
    for (registered, asked, is_allowed) in [
        (json!("read"), "read", true),
        (json!("read"), "read write", false),
        (json!("read write"), "read write", true),
        (Value::Null, "read write", true),
    ] {
        let document = json!({
            "redirect_uris": [REDIRECT],
            "token_endpoint_auth_method": "none",
            "scope": registered,
        });
        let client = register(&script, &document).await.json();
        let client = client["client_id"].as_str().unwrap();
        let changes = [("client_id", client), ("scope", asked)];
        let redirect = script.authorize(&changes).await.redirect();
        let error = redirect.get("error").map(String::as_str);
        let expected = (!is_allowed).then_some("invalid_scope");
        assert_eq!(error, expected, "{registered} {asked}");
    }
}
