//! The responses to requests that are not admitted, and the responses of the inner service itself.

use http::HeaderValue;

use super::support::{Fixture, RESOURCE, TestIssuer, request, status};

const METADATA_URL: &str = "https://mcp.example.com/.well-known/oauth-protected-resource/mcp";

// requirement: 28f26ebdccb9 3d688b1cae23 55e7ce2cfa26 60c9fa53da47 6250088fb1a9 8f44fa585c91
// requirement: b31c9281a31f c39b0c152282 cb2bd668084c f19141707e1e
#[tokio::test]
async fn a_request_without_a_token_gets_401_that_names_the_metadata() {
    let issuer = TestIssuer::start().await;
    let fixture = Fixture::new(|it| it.issuer(issuer.issuer()).required_scopes(["mcp", "read"]));
    let answer = fixture.post(&[]).await;
    assert_eq!(answer.status, 401);
    let challenges = answer.challenges();
    assert_eq!(challenges.len(), 1);
    assert_eq!(challenges[0].scheme(), "Bearer");
    assert_eq!(challenges[0].resource_metadata(), Some(METADATA_URL));
    assert_eq!(challenges[0].scope().unwrap(), ["mcp", "read"]);
    // No error code for a client that did not know that it needs a token.
    assert_eq!(challenges[0].error(), None);
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    assert!(fixture.requests().is_empty());
}

#[tokio::test]
async fn without_required_scopes_the_challenge_names_none() {
    let issuer = TestIssuer::start().await;
    let answer = Fixture::for_issuer(&issuer).post(&[]).await;
    assert_eq!(answer.challenges()[0].scope(), None);
}

#[tokio::test]
async fn an_unknown_authorization_scheme_is_refused() {
    let issuer = TestIssuer::start().await;
    let answer = Fixture::for_issuer(&issuer)
        .post(&[("authorization", "Basic eDp5")])
        .await;
    assert_eq!((answer.status, answer.error()), (401, None));
}

// requirement: 8ed3afdf3680 b31c9281a31f ba16b4303415 cb2bd668084c f19141707e1e
#[tokio::test]
async fn a_malformed_header_gets_400() {
    let issuer = TestIssuer::start().await;
    let fixture = Fixture::for_issuer(&issuer);
    for value in ["Bearer", "Bearer ", "Bearer a b", "Bearer a,b", "Bearer {}"] {
        let answer = fixture.post(&[("authorization", value)]).await;
        assert_eq!(answer.status, 400, "{value}");
        assert_eq!(answer.error().as_deref(), Some("invalid_request"));
        assert_eq!(
            answer.challenges()[0].resource_metadata(),
            Some(METADATA_URL)
        );
    }
}

#[tokio::test]
async fn the_reason_is_not_told_to_the_client() {
    let issuer = TestIssuer::start().await;
    let fixture = Fixture::for_issuer(&issuer);
    let mut bodies = Vec::new();
    for (name, value) in [("aud", "https://x.example"), ("iss", "https://x.example")] {
        let answer = fixture
            .post_token(&issuer.token_with(name, value.into()))
            .await;
        bodies.push((answer.body, answer.headers));
    }
    bodies.push({
        let answer = fixture.post_token("garbage").await;
        (answer.body, answer.headers)
    });
    assert!(
        bodies.windows(2).all(|pair| pair[0] == pair[1]),
        "{bodies:?}"
    );
}

// requirement: 3ae52de09483 4edb6a87e900 93a52234bbcb a93ce58267b6
#[tokio::test]
async fn a_session_never_authenticates() {
    let issuer = TestIssuer::start().await;
    let fixture = Fixture::for_issuer(&issuer);
    fixture.assert_admitted(&issuer.token()).await;
    let answer = fixture
        .post(&[("mcp-session-id", "of-the-request-before")])
        .await;
    assert_eq!(answer.status, 401);
    for method in ["GET", "POST", "DELETE", "PUT", "HEAD"] {
        assert_eq!(
            fixture.send(request(method, "/mcp", &[])).await.status,
            401,
            "{method}"
        );
    }
    assert_eq!(fixture.requests().len(), 1);
}

#[tokio::test]
async fn a_preflight_request_passes_without_token_and_without_principal() {
    let issuer = TestIssuer::start().await;
    let fixture = Fixture::for_issuer(&issuer);
    let headers = [
        ("origin", "https://page.example"),
        ("authorization", "Bearer x"),
    ];
    let mut preflight = request("OPTIONS", "/mcp", &headers);
    let forged = turnbuckle_types::Principal::new("evil", "root");
    preflight
        .extensions_mut()
        .insert(std::sync::Arc::new(forged));
    assert_eq!(fixture.send(preflight).await.status, 200);
    let seen = &fixture.requests()[0];
    assert!(seen.principal.is_none() && !seen.headers.contains_key("authorization"));
}

#[tokio::test]
async fn a_page_can_read_the_challenge() {
    let issuer = TestIssuer::start().await;
    let answer = Fixture::for_issuer(&issuer)
        .post(&[("origin", "https://page.example")])
        .await;
    assert_eq!(answer.header("access-control-allow-origin"), Some("*"));
    let exposed = answer.header("access-control-expose-headers").unwrap();
    assert!(exposed.contains("WWW-Authenticate"));
}

#[tokio::test]
async fn a_401_or_403_of_the_application_stays_as_it_is() {
    let issuer = TestIssuer::start().await;
    for code in [401, 403, 404, 500] {
        let fixture = Fixture::for_issuer(&issuer).respond(move || status(code));
        let answer = fixture.post_token(&issuer.token()).await;
        assert_eq!((answer.status, answer.body.as_str()), (code, "inner"));
        assert!(answer.headers.is_empty(), "{answer:?}");
        let fixture = fixture.respond(move || {
            let mut response = status(code);
            let own = HeaderValue::from_static("Bearer realm=\"own\"");
            response.headers_mut().insert("www-authenticate", own);
            response
        });
        let answer = fixture.post_token(&issuer.token()).await;
        assert_eq!(
            answer.header("www-authenticate"),
            Some("Bearer realm=\"own\"")
        );
        assert_eq!(answer.challenges().len(), 1);
    }
}

// requirement: d4a3005447e4 ffdbb4924039
#[tokio::test]
async fn the_canonical_uri_is_the_audience() {
    let issuer = TestIssuer::start().await;
    let fixture = Fixture::for_issuer(&issuer);
    assert_eq!(fixture.server.resource(), RESOURCE);
    fixture
        .assert_admitted(&issuer.token_with("aud", "https://MCP.EXAMPLE.COM/mcp/".into()))
        .await;
}

#[tokio::test]
async fn a_receiver_of_audit_records_that_panics_changes_no_response() {
    let fixture = Fixture::new(|it| {
        let it = it.static_token("ci", "a-long-random-token-of-a-test", ["x"]);
        it.audit(|_: &turnbuckle_types::AuditRecord<'_>| panic!("a bug"))
    });
    assert_eq!(fixture.post(&[]).await.status, 401);
    assert!(fixture.requests().is_empty());
}
