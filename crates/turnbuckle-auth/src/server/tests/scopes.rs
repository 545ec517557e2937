//! Scopes: those that every request needs, those of one operation, and hierarchies.

use http::HeaderValue;
use serde_json::json;
use turnbuckle_types::RequiredScopes;

use super::support::{Fixture, TestIssuer, status};

// requirement: 1adc64b84896 3d688b1cae23 542ce86814c6 60c9fa53da47 89e59a5e873d a93772b38962
// requirement: b31c9281a31f cb2bd668084c f19141707e1e
#[tokio::test]
async fn a_stripped_scope() {
    let issuer = TestIssuer::start().await;
    let fixture = Fixture::new(|it| it.issuer(issuer.issuer()).required_scopes(["mcp", "read"]));
    for scope in [
        json!("read"),
        json!(""),
        json!(null),
        json!("mcp-read"),
        json!("MCP READ"),
    ] {
        let answer = fixture.post_token(&issuer.token_with("scope", scope)).await;
        assert_eq!(answer.status, 403);
        assert_eq!(answer.error().as_deref(), Some("insufficient_scope"));
        assert_eq!(answer.challenges()[0].scope().unwrap(), ["mcp", "read"]);
        assert!(answer.challenges()[0].resource_metadata().is_some());
    }
    assert!(fixture.requests().is_empty());
    // The same from the cache.
    let token = issuer.token();
    for _ in 0..2 {
        assert_eq!(fixture.post_token(&token).await.status, 403);
    }
    fixture
        .assert_admitted(&issuer.token_with("scope", json!("read mcp more")))
        .await;
    fixture
        .assert_admitted(&issuer.token_with("scp", json!(["mcp"])))
        .await;
}

// requirement: 119755921074 1adc64b84896 3770af94b120 542ce86814c6 89e59a5e873d a93772b38962
// requirement: b5cdbcb25aca c4be26a04fcc e30af2b41bbd f9d06f468e02
#[tokio::test]
async fn an_operation_that_needs_more_gets_403_with_all_scopes() {
    let issuer = TestIssuer::start().await;
    let fixture = Fixture::new(|it| it.issuer(issuer.issuer()).required_scopes(["read"]));
    let fixture = fixture.respond(|| {
        let mut response = status(403);
        let origin = HeaderValue::from_static("https://page.example");
        response
            .headers_mut()
            .insert("access-control-allow-origin", origin);
        let scopes = ["orders:write", "read", "users", "offline_access"];
        response
            .extensions_mut()
            .insert(RequiredScopes::new(scopes));
        response
    });
    let token = issuer.token();
    for _ in 0..2 {
        let answer = fixture.post_token(&token).await;
        // The body, which may be a JSON-RPC error, and the status stay.
        assert_eq!((answer.status, answer.body.as_str()), (403, "inner"));
        let challenges = answer.challenges();
        assert_eq!(challenges.len(), 1);
        assert_eq!(challenges[0].error(), Some("insufficient_scope"));
        assert_eq!(
            challenges[0].scope().unwrap(),
            ["read", "orders:write", "users"]
        );
        assert!(challenges[0].resource_metadata().is_some());
        assert!(challenges[0].error_description().is_some());
        assert_eq!(
            answer.header("access-control-expose-headers"),
            Some("WWW-Authenticate")
        );
    }
}

// requirement: f15f195aed7c
#[tokio::test]
async fn a_broad_scope_implies_narrower_ones() {
    let issuer = TestIssuer::start().await;
    let fixture = Fixture::new(|it| {
        it.issuer(issuer.issuer())
            .required_scopes(["orders:read"])
            .scope_implies("admin", ["orders:write"])
            .scope_implies("orders:write", ["orders:read"])
    });
    fixture
        .assert_admitted(&issuer.token_with("scope", json!("admin")))
        .await;
    let principal = fixture.requests()[0].principal.clone().unwrap();
    assert_eq!(principal.scopes, ["admin", "orders:write", "orders:read"]);
    let answer = fixture
        .post_token(&issuer.token_with("scope", json!("read")))
        .await;
    assert_eq!(answer.status, 403);
}
