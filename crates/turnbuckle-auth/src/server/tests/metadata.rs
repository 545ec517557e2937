//! The protected resource metadata and its paths.

use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use tower_service::Service as _;

use super::support::{Fixture, TestIssuer, request};
use crate::server::{DpopMode, ResourceServer};

const ROOT: &str = "/.well-known/oauth-protected-resource";

// requirement: 07b3648000a8 119755921074 15cf12af3afd 3cb045f671b0 75cf14dd64d1 fadf8689de39
#[tokio::test]
async fn the_metadata_names_at_least_one_authorization_server() {
    let issuer = TestIssuer::start().await;
    let fixture = Fixture::new(|it| {
        it.issuer(issuer.issuer())
            .authorization_server("https://second.example")
            .scopes_supported(["read", "offline_access", "read"])
            .resource_name("Orders")
            .dpop(DpopMode::Off)
    });
    for path in [format!("{ROOT}/mcp"), ROOT.to_owned()] {
        let answer = fixture.send(request("GET", &path, &[])).await;
        assert_eq!(answer.status, 200);
        assert_eq!(answer.header("content-type"), Some("application/json"));
        assert_eq!(answer.header("access-control-allow-origin"), Some("*"));
        let metadata: Value = serde_json::from_str(&answer.body).unwrap();
        assert_eq!(
            metadata,
            json!({
                "resource": "https://mcp.example.com/mcp",
                "authorization_servers": ["https://second.example", issuer.issuer()],
                // Refresh tokens are no need of a resource.
                "scopes_supported": ["read"],
                "bearer_methods_supported": ["header"],
                "resource_name": "Orders",
            })
        );
    }
    assert!(fixture.requests().is_empty());
    assert_eq!(
        fixture.server.metadata_path(),
        Some("/.well-known/oauth-protected-resource/mcp")
    );
}

// requirement: 15cf12af3afd
#[tokio::test]
async fn the_metadata_is_public_and_read_only() {
    let issuer = TestIssuer::start().await;
    let fixture = Fixture::for_issuer(&issuer);
    let answer = fixture
        .send(request("OPTIONS", ROOT, &[("origin", "https://x.example")]))
        .await;
    assert_eq!(answer.status, 204);
    assert_eq!(answer.header("access-control-allow-origin"), Some("*"));
    assert_eq!(fixture.send(request("HEAD", ROOT, &[])).await.status, 200);
    let answer = fixture.send(request("POST", ROOT, &[])).await;
    assert_eq!(
        (answer.status, answer.header("allow")),
        (405, Some("GET, HEAD, OPTIONS"))
    );
    // A good or a bad token changes nothing.
    let answer = fixture
        .send(request("GET", ROOT, &[("authorization", "Bearer x")]))
        .await;
    assert_eq!(answer.status, 200);
}

#[tokio::test]
async fn only_the_exact_paths_are_public() {
    let issuer = TestIssuer::start().await;
    let fixture = Fixture::for_issuer(&issuer);
    for path in ["/mcp/..", "/other", "/mcp2", "x", "/mcp/", "/"] {
        let answer = fixture
            .send(request("GET", &format!("{ROOT}{path}"), &[]))
            .await;
        assert_eq!(answer.status, 401, "{path}");
    }
}

// requirement: 07b3648000a8 119755921074 3cb045f671b0
#[tokio::test]
async fn a_router_can_mount_the_metadata() {
    let issuer = TestIssuer::start().await;
    let server = ResourceServer::builder("https://h.example/p/mcp")
        .issuer(issuer.issuer())
        .build()
        .unwrap()
        .with_scopes_supported(["a", "offline_access"]);
    assert_eq!(
        server.metadata_path(),
        Some("/.well-known/oauth-protected-resource/p/mcp")
    );
    let mut service = server.metadata_service().unwrap();
    let response = service
        .call(request("GET", "/whatever", &[]))
        .await
        .unwrap();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    let metadata: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(metadata["resource"], "https://h.example/p/mcp");
    assert_eq!(metadata["scopes_supported"], json!(["a"]));
    assert!(metadata["dpop_signing_alg_values_supported"].is_array());
}

#[test]
fn scopes_of_items_are_added_unless_scopes_are_set() {
    let builder = || {
        ResourceServer::builder("https://h.example/mcp")
            .issuer("https://as.example")
            .required_scopes(["mcp"])
    };
    let scopes = |server: ResourceServer| {
        let server = server
            .with_item_scopes(["a", "mcp"])
            .with_item_scopes(["b"]);
        server.metadata().unwrap().scopes_supported.clone()
    };
    let texts = |scopes: &[&str]| Some(scopes.iter().map(|it| (*it).to_owned()).collect());
    let server = builder().build().unwrap();
    assert_eq!(scopes(server.clone()), texts(&["mcp", "a", "b"]));
    assert_eq!(scopes(server.with_scopes_supported(["x"])), texts(&["x"]));
    let server = builder().scopes_supported(["x"]).build().unwrap();
    assert_eq!(scopes(server), texts(&["x"]));
    let server = builder().scopes_supported([""; 0]).build().unwrap();
    assert_eq!(scopes(server), None);
}

#[tokio::test]
async fn static_tokens_alone_have_no_metadata() {
    let token = "a-long-random-token-0123456789";
    let fixture = Fixture::new(|it| it.static_token("ci", token, ["read"]));
    assert!(fixture.server.metadata().is_none() && fixture.server.metadata_service().is_none());
    assert_eq!(fixture.send(request("GET", ROOT, &[])).await.status, 401);
    let answer = fixture.post(&[]).await;
    assert_eq!(answer.challenges()[0].resource_metadata(), None);
    assert_eq!(answer.header("www-authenticate"), Some("Bearer"));
}
