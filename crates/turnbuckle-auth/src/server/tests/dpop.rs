//! Tokens that are bound to a key.

use serde_json::json;
use turnbuckle_types::KeyRing;
use url::Url;

use super::support::{Answer, Fixture, RESOURCE, TestIssuer, request, status};
use crate::dpop::DpopKey;
use crate::server::{DpopMode, ResourceServerBuilder};

struct BoundClient {
    key: DpopKey,
    token: String,
}

impl BoundClient {
    fn new(issuer: &TestIssuer) -> Self {
        let key = DpopKey::generate().unwrap();
        let token = issuer.token_with("cnf", json!({"jkt": key.thumbprint()}));
        Self { key, token }
    }

    fn proof_for(&self, method: &str, url: &str, nonce: Option<&str>, now: u64) -> String {
        let url = Url::parse(url).unwrap();
        self.key
            .proof(method, &url, Some(&self.token), nonce, now)
            .unwrap()
    }

    fn proof(&self, fixture: &Fixture) -> String {
        self.proof_for("POST", RESOURCE, None, fixture.now())
    }

    async fn send(&self, fixture: &Fixture, proof: &str) -> Answer {
        let authorization = format!("DPoP {}", self.token);
        fixture
            .post(&[("authorization", &authorization), ("dpop", proof)])
            .await
    }
}

#[tokio::test]
async fn a_bound_token_is_admitted_with_a_proof_for_each_request() {
    let issuer = TestIssuer::start().await;
    let fixture = Fixture::for_issuer(&issuer);
    let client = BoundClient::new(&issuer);
    for _ in 0..3 {
        let answer = client.send(&fixture, &client.proof(&fixture)).await;
        assert_eq!(answer.status, 200, "{answer:?}");
    }
    assert!(
        fixture
            .requests()
            .iter()
            .all(|seen| seen.headers.is_empty() && seen.principal.is_some())
    );
}

#[tokio::test]
async fn a_replayed_proof() {
    let issuer = TestIssuer::start().await;
    let fixture = Fixture::for_issuer(&issuer);
    let client = BoundClient::new(&issuer);
    let proof = client.proof(&fixture);
    assert_eq!(client.send(&fixture, &proof).await.status, 200);
    for seconds in [0, 1, 30, 29, 1] {
        fixture.advance(seconds);
        let answer = client.send(&fixture, &proof).await;
        assert_eq!(answer.status, 401);
        assert_eq!(answer.error().as_deref(), Some("invalid_dpop_proof"));
    }
    assert_eq!(fixture.requests().len(), 1);
}

#[tokio::test]
async fn a_bound_token_that_is_sent_as_bearer() {
    let issuer = TestIssuer::start().await;
    let client = BoundClient::new(&issuer);
    for mode in [DpopMode::Off, DpopMode::Optional, DpopMode::Required] {
        let fixture = Fixture::new(|it| it.issuer(issuer.issuer()).dpop(mode));
        fixture.assert_refused(&client.token).await;
        // Not even with a good proof, and not from the cache.
        let authorization = format!("Bearer {}", client.token);
        let proof = client.proof(&fixture);
        for _ in 0..2 {
            let answer = fixture
                .post(&[("authorization", &authorization), ("dpop", &proof)])
                .await;
            assert_eq!(answer.status, 401);
        }
    }
}

#[tokio::test]
async fn a_bearer_token_that_is_sent_with_dpop() {
    let issuer = TestIssuer::start().await;
    let fixture = Fixture::for_issuer(&issuer);
    let client = BoundClient {
        token: issuer.token(),
        ..BoundClient::new(&issuer)
    };
    let answer = client.send(&fixture, &client.proof(&fixture)).await;
    assert_eq!(
        (answer.status, answer.error().as_deref()),
        (401, Some("invalid_token"))
    );
}

#[tokio::test]
async fn a_proof_of_another_key_request_token_or_time() {
    let issuer = TestIssuer::start().await;
    let fixture = Fixture::for_issuer(&issuer);
    let client = BoundClient::new(&issuer);
    let thief = BoundClient {
        token: client.token.clone(),
        ..BoundClient::new(&issuer)
    };
    let other = BoundClient {
        token: issuer.token(),
        key: client.key.clone(),
    };
    let now = fixture.now();
    for proof in [
        thief.proof(&fixture),
        other.proof(&fixture),
        client.proof_for("GET", RESOURCE, None, now),
        client.proof_for("POST", "https://mcp.example.com/other", None, now),
        client.proof_for("POST", "https://evil.example/mcp", None, now),
        client.proof_for("POST", RESOURCE, None, now - 61),
        client.proof_for("POST", RESOURCE, None, now + 61),
        "garbage".to_owned(),
        String::new(),
        client.token.clone(),
    ] {
        let answer = client.send(&fixture, &proof).await;
        assert_eq!(answer.status, 401, "{proof}");
        assert_eq!(answer.error().as_deref(), Some("invalid_dpop_proof"));
        assert_eq!(answer.challenges()[0].scheme(), "DPoP");
        assert!(
            answer.challenges()[0]
                .param("algs")
                .unwrap()
                .contains("ES256")
        );
    }
    let authorization = format!("DPoP {}", client.token);
    let answer = fixture.post(&[("authorization", &authorization)]).await;
    assert_eq!(answer.error().as_deref(), Some("invalid_dpop_proof"));
    let proof = client.proof(&fixture);
    let headers = [
        ("authorization", authorization.as_str()),
        ("dpop", &proof),
        ("dpop", &proof),
    ];
    assert_eq!(fixture.post(&headers).await.status, 400);
    assert!(fixture.requests().is_empty());
}

#[tokio::test]
async fn a_proof_is_for_the_path_of_the_request() {
    let issuer = TestIssuer::start().await;
    let fixture = Fixture::for_issuer(&issuer);
    let client = BoundClient::new(&issuer);
    let authorization = format!("DPoP {}", client.token);
    let now = fixture.now();
    for (url, path, status) in [
        (
            "https://mcp.example.com/messages?id=1",
            "/messages?id=2",
            200,
        ),
        ("https://mcp.example.com/messages", "/mcp", 401),
        ("https://mcp.example.com/mcp", "/", 200),
        ("https://mcp.example.com/mcp", "/messages", 401),
    ] {
        let proof = client.proof_for("POST", url, None, now);
        let headers = [("authorization", authorization.as_str()), ("dpop", &proof)];
        let answer = fixture.send(request("POST", path, &headers)).await;
        assert_eq!(answer.status, status, "{url} {path}");
    }
}

#[tokio::test]
async fn dpop_can_be_required_or_off() {
    let issuer = TestIssuer::start().await;
    let fixture = Fixture::new(|it| it.issuer(issuer.issuer()).dpop(DpopMode::Required));
    let client = BoundClient::new(&issuer);
    assert_eq!(
        client.send(&fixture, &client.proof(&fixture)).await.status,
        200
    );
    fixture.assert_refused(&issuer.token()).await;
    let answer = fixture.post(&[]).await;
    assert_eq!(answer.challenges()[0].scheme(), "DPoP");
    assert!(answer.challenges()[0].resource_metadata().is_some());
    assert!(
        fixture
            .server
            .metadata()
            .unwrap()
            .dpop_bound_access_tokens_required
    );

    let fixture = Fixture::new(|it| it.issuer(issuer.issuer()).dpop(DpopMode::Off));
    let answer = client.send(&fixture, &client.proof(&fixture)).await;
    assert_eq!(answer.status, 401);
    assert_eq!(answer.challenges()[0].scheme(), "Bearer");
    assert!(!answer.header("www-authenticate").unwrap().contains("algs"));
    fixture.assert_admitted(&issuer.token()).await;
}

#[tokio::test]
async fn nonces_are_demanded_if_configured() {
    let issuer = TestIssuer::start().await;
    let fixture = Fixture::new(|it| it.issuer(issuer.issuer()).dpop_nonces(true));
    let client = BoundClient::new(&issuer);
    let answer = client.send(&fixture, &client.proof(&fixture)).await;
    assert_eq!(
        (answer.status, answer.error().as_deref()),
        (401, Some("use_dpop_nonce"))
    );
    let nonce = answer.header("dpop-nonce").unwrap().to_owned();
    let proof = || client.proof_for("POST", RESOURCE, Some(&nonce), fixture.now());
    let answer = client.send(&fixture, &proof()).await;
    assert_eq!(
        (answer.status, answer.header("dpop-nonce")),
        (200, Some(nonce.as_str()))
    );
    fixture.advance(180);
    let answer = client.send(&fixture, &proof()).await;
    assert_eq!(answer.status, 200);
    assert_ne!(answer.header("dpop-nonce"), Some(nonce.as_str()));
    fixture.advance(180);
    assert_eq!(
        client.send(&fixture, &proof()).await.error().as_deref(),
        Some("use_dpop_nonce")
    );
    // Bearer tokens need none.
    fixture.assert_admitted(&issuer.token()).await;
}

#[tokio::test]
async fn two_instances_with_the_same_keys_accept_each_others_nonces() {
    let issuer = TestIssuer::start().await;
    let instance = || Fixture::new(|it| it.issuer(issuer.issuer()).dpop_nonces(true));
    let client = BoundClient::new(&issuer);
    let ring = KeyRing::generate().unwrap();
    // The keys of the protected server, and keys that the resource server has itself.
    let protecting = || instance().map_server(|it| it.with_server_keys(Some(&ring)));
    let own = || {
        let configure = |it: ResourceServerBuilder| it.keys(ring.clone());
        Fixture::new(|it| configure(it.issuer(issuer.issuer()).dpop_nonces(true)))
            .map_server(|it| it.with_server_keys(KeyRing::generate().ok().as_ref()))
    };
    for (instances, status) in [
        ([instance(), instance()], 401),
        ([protecting(), protecting()], 200),
        ([own(), own()], 200),
        ([own(), protecting()], 200),
    ] {
        let answer = client
            .send(&instances[0], &client.proof(&instances[0]))
            .await;
        let mut nonce = answer.header("dpop-nonce").unwrap().to_owned();
        for turn in 1..6 {
            let instance = &instances[turn % 2];
            let proof = client.proof_for("POST", RESOURCE, Some(&nonce), instance.now());
            let answer = client.send(instance, &proof).await;
            assert_eq!(answer.status, status, "{turn}");
            nonce = answer.header("dpop-nonce").unwrap().to_owned();
        }
    }
}

#[tokio::test]
async fn behind_a_proxy_that_changes_paths_a_proof_is_for_the_public_url() {
    let issuer = TestIssuer::start().await;
    let fixture = Fixture::new(|it| {
        it.issuer(issuer.issuer())
            .public_base_url("https://mcp.example.com/shop/")
    });
    let client = BoundClient::new(&issuer);
    let authorization = format!("DPoP {}", client.token);
    for (url, status) in [
        ("https://mcp.example.com/shop/mcp", 200),
        // A trailing slash does not matter, nor does the case of the host or an escape.
        ("https://MCP.example.com/shop/%6Dcp/", 200),
        ("https://mcp.example.com/mcp", 401),
        ("https://mcp.example.com/shop", 401),
    ] {
        let proof = client.proof_for("POST", url, None, fixture.now());
        let headers = [("authorization", authorization.as_str()), ("dpop", &proof)];
        let answer = fixture.send(request("POST", "/mcp", &headers)).await;
        assert_eq!(answer.status, status, "{url}");
    }
}

#[tokio::test]
async fn a_page_can_read_the_nonce_of_a_successful_response() {
    let issuer = TestIssuer::start().await;
    let respond = || {
        let mut response = status(200);
        let headers = response.headers_mut();
        headers.insert(
            "access-control-allow-origin",
            "https://app".parse().unwrap(),
        );
        headers.insert(
            "access-control-expose-headers",
            "Mcp-Session-Id".parse().unwrap(),
        );
        response
    };
    let fixture = Fixture::new(|it| it.issuer(issuer.issuer()).dpop_nonces(true)).respond(respond);
    let client = BoundClient::new(&issuer);
    let answer = client.send(&fixture, &client.proof(&fixture)).await;
    let nonce = answer.header("dpop-nonce").unwrap().to_owned();
    let proof = client.proof_for("POST", RESOURCE, Some(&nonce), fixture.now());
    let answer = client.send(&fixture, &proof).await;
    assert_eq!(answer.status, 200);
    let exposed = answer.headers.get_all("access-control-expose-headers");
    let exposed: Vec<_> = exposed.iter().map(|it| it.to_str().unwrap()).collect();
    assert_eq!(exposed, ["Mcp-Session-Id", "DPoP-Nonce"]);
}
