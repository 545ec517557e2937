//! Enterprise-managed authorization with a scripted identity provider.

use super::*;
use crate::client::registration::RegistrationSource;

fn enterprise_script(request: &RecordedRequest) -> Reply {
    match request.path.as_str() {
        "/idp/token" => Reply::json(json!({
            "access_token": "the-id-jag", "issued_token_type": ID_JAG, "token_type": "N_A",
            "scope": "read",
        })),
        _ => token(),
    }
}

// requirement: 24f6202d4a83 48ef18fe00cf 85f3bab4c40d 8de50bb8157c 9a0dcf59c4a1 b0fc12a7fdd7
// requirement: be5d9699fcd0 ceb6da7133dc e36815ddae98 f5c5922eb383 fcaabfb37535
#[tokio::test]
async fn an_enterprise_login_becomes_an_access_token() {
    let fixture = Fixture::new(enterprise_script).await;
    let idp = fixture
        .idp()
        .idp_client(ClientCredentials::public("idp-client"))
        .client(client());
    let response = fixture.request(&Grant::Enterprise(idp)).await.unwrap();
    assert_eq!(response.access_token.expose(), "at");
    let [exchange, grant] = fixture.requests();
    assert_eq!(exchange.path, "/idp/token");
    for (name, value) in [
        (
            "grant_type",
            "urn:ietf:params:oauth:grant-type:token-exchange",
        ),
        ("requested_token_type", ID_JAG),
        ("audience", &fixture.http.origin()),
        ("resource", RESOURCE),
        ("scope", "read write"),
        ("subject_token", "the-id-token"),
        (
            "subject_token_type",
            "urn:ietf:params:oauth:token-type:id_token",
        ),
        ("client_id", "idp-client"),
    ] {
        assert_eq!(exchange.form(name).as_deref(), Some(value), "{name}");
    }
    assert_eq!(exchange.header("authorization"), None);
    assert_eq!(grant.path, "/token");
    assert_eq!(grant.form("grant_type").as_deref(), Some(JWT_BEARER));
    assert_eq!(grant.form("assertion").as_deref(), Some("the-id-jag"));
    assert_eq!(
        grant.form("scope").as_deref(),
        Some("read"),
        "what the provider granted"
    );
    assert_eq!(grant.form("resource").as_deref(), Some(RESOURCE));
    assert!(grant.header("authorization").unwrap().starts_with("Basic "));
    let shown = fixture.recorder.transcript().to_string();
    for secret in ["the-id-token", "the-id-jag", "the-secret"] {
        assert!(!shown.contains(secret), "{shown}");
    }
}

// requirement: 48ef18fe00cf 8de50bb8157c
#[tokio::test]
async fn an_id_jag_without_resource_and_a_saml_subject_are_fine() {
    let mut fixture = Fixture::new(enterprise_script).await;
    fixture.resource = None;
    let url = fixture.http.url("/idp/token");
    let idp = EnterpriseIdp::saml2(url, |_| async { Ok("saml".into()) }).client(client());
    fixture.request(&Grant::Enterprise(idp)).await.unwrap();
    let [exchange, grant] = fixture.requests();
    let saml = "urn:ietf:params:oauth:token-type:saml2";
    assert_eq!(exchange.form("subject_token_type").as_deref(), Some(saml));
    assert_eq!(
        (exchange.form("resource"), grant.form("resource")),
        (None, None)
    );
    assert_eq!(
        exchange.form("client_id"),
        None,
        "the provider may know no client"
    );
}

#[tokio::test]
async fn the_client_at_the_identity_provider_has_its_own_credentials() {
    let fixture = Fixture::new(enterprise_script).await;
    let issuer = "https://idp.example.com";
    let idp_client = ClientCredentials::secret("idp-client", "idp-secret").issuer(issuer);
    let idp = fixture
        .idp()
        .issuer(issuer)
        .idp_client(idp_client)
        .client(client());
    fixture.request(&Grant::Enterprise(idp)).await.unwrap();
    let [exchange, grant] = fixture.requests();
    assert_ne!(
        exchange.header("authorization"),
        grant.header("authorization")
    );
    assert!(
        exchange
            .header("authorization")
            .unwrap()
            .starts_with("Basic ")
    );
}

// requirement: 764e900f2bad
#[tokio::test]
async fn another_type_than_an_id_jag_is_refused() {
    for issued in [
        json!(null),
        json!("urn:ietf:params:oauth:token-type:access_token"),
    ] {
        let fixture = Fixture::new(move |_| {
            let body = json!({
                "access_token": "a", "token_type": "Bearer", "issued_token_type": issued,
            });
            Reply::json(body)
        })
        .await;
        let idp = fixture.idp().client(client());
        let error = fixture.request(&Grant::Enterprise(idp)).await.unwrap_err();
        assert!(error.to_string().contains(ID_JAG), "{error}");
        assert_eq!(fixture.http.requests().len(), 1);
    }
}

#[tokio::test]
async fn the_policy_of_the_identity_provider_ends_the_login() {
    let fixture = Fixture::new(|_| refuse("access_denied")).await;
    let idp = fixture.idp().client(client());
    let error = fixture.request(&Grant::Enterprise(idp)).await.unwrap_err();
    assert_eq!(error.kind(), AuthErrorKind::Denied);
    assert_eq!(fixture.http.paths(), ["/idp/token"]);
}

#[tokio::test]
async fn an_enterprise_login_uses_the_registration_or_asks_for_a_client() {
    let mut fixture = Fixture::new(enterprise_script).await;
    let grant = Grant::Enterprise(fixture.idp());
    assert!(grant.needs_registration());
    let error = fixture.request(&grant).await.unwrap_err();
    assert_eq!(error.kind(), AuthErrorKind::Registration);
    assert!(fixture.http.requests().is_empty());
    fixture.registration = Some(ClientRegistration {
        issuer: fixture.http.origin(),
        client_id: "registered".to_owned(),
        client_secret: None,
        secret_expires_at: None,
        auth_method: None,
        redirect_uri: None,
        scopes: None,
        source: RegistrationSource::Dynamic,
    });
    fixture.request(&grant).await.unwrap();
    let [_, token] = fixture.requests();
    assert_eq!(token.form("client_id").as_deref(), Some("registered"));
    assert!(!Grant::Enterprise(fixture.idp().client(client())).needs_registration());
}
