//! Forged, stolen and misused tokens.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::{Algorithm, EncodingKey};
use serde_json::{Value, json};

use super::support::{Fixture, NOW, RSA_PUBLIC_PEM, TestIssuer, TestKey, jwks, request, sign};

// requirement: 5c8fbef1db1c b5ded2b781b3 ddbb4809f13d
#[tokio::test]
async fn a_good_token_is_admitted() {
    let issuer = TestIssuer::start().await;
    let fixture = Fixture::for_issuer(&issuer);
    fixture.assert_admitted(&issuer.token()).await;
    let principal = fixture.requests()[0].principal.clone().unwrap();
    assert_eq!(principal.issuer, issuer.issuer());
    assert_eq!(principal.subject, "ann");
    assert_eq!(principal.client.as_deref(), Some("app"));
    assert_eq!(principal.scopes, ["read"]);
    let claims: Value = principal.claims.as_ref().unwrap().decode().unwrap();
    assert_eq!(claims, issuer.claims());
}

#[tokio::test]
async fn every_asymmetric_algorithm_is_verified() {
    let issuer = TestIssuer::start().await;
    for key in [
        TestKey::rsa("k", Algorithm::RS256),
        TestKey::rsa("k", Algorithm::RS512),
        TestKey::rsa("k", Algorithm::PS256),
        TestKey::ed25519("k"),
    ] {
        issuer.set_jwks(jwks(&[&key]));
        let fixture = Fixture::for_issuer(&issuer);
        fixture.assert_admitted(&key.sign(&issuer.claims())).await;
        let mut forged = key.sign(&issuer.claims());
        let end = forged.pop().unwrap();
        forged.insert(forged.len() - 20, if end == 'A' { 'B' } else { 'A' });
        fixture.assert_refused(&forged).await;
    }
}

// requirement: 191fec6b8487 2b577b0c8903 3a0c49d30514 4c23ed895e37 5f2fb62faae3 6250088fb1a9
// requirement: 6746d7f83be7 6cd185751b6f 772a89216815 8c66547c0824 9a20eba2434e ffdbb4924039
#[tokio::test]
async fn wrong_audience() {
    let issuer = TestIssuer::start().await;
    let fixture = Fixture::for_issuer(&issuer);
    for audience in [
        json!("https://other.example.com/mcp"),
        json!("https://mcp.example.com"),
        json!(["https://a.example", "https://b.example"]),
        json!([]),
        json!(null),
        json!(""),
    ] {
        fixture
            .assert_refused(&issuer.token_with("aud", audience))
            .await;
    }
    let mut claims = issuer.claims();
    claims.as_object_mut().unwrap().remove("aud");
    fixture.assert_refused(&issuer.key.sign(&claims)).await;
    fixture
        .assert_admitted(&issuer.token_with("aud", json!(["x", "HTTPS://MCP.example.com/mcp/"])))
        .await;
}

#[tokio::test]
async fn an_extra_audience_is_accepted_if_configured() {
    let issuer = TestIssuer::start().await;
    let fixture = Fixture::new(|it| it.issuer(issuer.issuer()).audience("api://mcp"));
    fixture
        .assert_admitted(&issuer.token_with("aud", json!("api://mcp")))
        .await;
    fixture
        .assert_refused(&issuer.token_with("aud", json!("api://mcp2")))
        .await;
}

// requirement: 3a0c49d30514 5c8fbef1db1c 6cd185751b6f b5ded2b781b3 ddbb4809f13d
#[tokio::test]
async fn wrong_issuer() {
    let issuer = TestIssuer::start().await;
    let other = TestIssuer::start().await;
    let fixture = Fixture::for_issuer(&issuer);
    fixture.assert_refused(&other.token()).await;
    for name in ["https://evil.example", &format!("{}/", issuer.issuer()), ""] {
        fixture
            .assert_refused(&issuer.token_with("iss", json!(name)))
            .await;
    }
    fixture
        .assert_refused(&issuer.token_with("iss", json!(null)))
        .await;
    // A token of an unknown issuer reaches no authorization server.
    assert!(issuer.server.requests().is_empty() && other.server.requests().is_empty());
}

#[tokio::test]
async fn an_issuer_cannot_sign_for_another() {
    let issuer = TestIssuer::start().await;
    let other = TestIssuer::start().await;
    *other.state.lock().unwrap() = super::support::IssuerState {
        jwks: jwks(&[&TestKey::es256("one", 9)]),
        metadata: None,
        introspection: crate::test_http::Reply::status(404),
    };
    let fixture = Fixture::new(|it| it.issuer(issuer.issuer()).issuer(other.issuer()));
    let key = TestKey::es256("one", 9);
    let mut claims = issuer.claims();
    fixture.assert_refused(&key.sign(&claims)).await;
    claims["iss"] = json!(other.issuer());
    fixture.assert_admitted(&key.sign(&claims)).await;
}

#[tokio::test]
async fn alg_none() {
    let issuer = TestIssuer::start().await;
    let fixture = Fixture::for_issuer(&issuer);
    let claims = URL_SAFE_NO_PAD.encode(issuer.claims().to_string());
    for name in ["none", "None", "NONE", "nOnE", ""] {
        let header = json!({"alg": name, "typ": "at+jwt", "kid": "one"}).to_string();
        let header = URL_SAFE_NO_PAD.encode(header);
        fixture.assert_refused(&format!("{header}.{claims}.")).await;
        fixture
            .assert_refused(&format!("{header}.{claims}.AAAA"))
            .await;
    }
}

#[tokio::test]
async fn a_symmetric_algorithm_with_a_public_key_as_its_secret() {
    let issuer = TestIssuer::start().await;
    let rsa = TestKey::rsa("rsa", Algorithm::RS256);
    issuer.set_jwks(jwks(&[&rsa, &issuer.key]));
    let fixture = Fixture::for_issuer(&issuer);
    let member =
        |jwk: &Value, name: &str| URL_SAFE_NO_PAD.decode(jwk[name].as_str().unwrap()).unwrap();
    let secrets = [
        RSA_PUBLIC_PEM.as_bytes().to_vec(),
        RSA_PUBLIC_PEM.trim().as_bytes().to_vec(),
        member(&rsa.jwk, "n"),
        rsa.jwk.to_string().into_bytes(),
        [
            vec![4],
            member(&issuer.key.jwk, "x"),
            member(&issuer.key.jwk, "y"),
        ]
        .concat(),
        Vec::new(),
    ];
    for secret in secrets {
        let key = EncodingKey::from_secret(&secret);
        for kid in ["rsa", "one"] {
            for (name, algorithm) in [("HS256", Algorithm::HS256), ("HS512", Algorithm::HS512)] {
                let header = json!({"alg": name, "kid": kid});
                let token = sign(&header, &issuer.claims().to_string(), &key, algorithm);
                fixture.assert_refused(&token).await;
            }
        }
    }
}

#[tokio::test]
async fn a_symmetric_key_in_the_key_set() {
    let issuer = TestIssuer::start().await;
    let secret = [7; 32];
    let jwk =
        json!({"kty": "oct", "kid": "s", "alg": "HS256", "k": URL_SAFE_NO_PAD.encode(secret)});
    issuer.set_jwks(crate::test_http::Reply::json(json!({"keys": [jwk]})));
    let fixture = Fixture::for_issuer(&issuer);
    let key = EncodingKey::from_secret(&secret);
    let header = json!({"alg": "HS256", "kid": "s"});
    let token = sign(
        &header,
        &issuer.claims().to_string(),
        &key,
        Algorithm::HS256,
    );
    fixture.assert_refused(&token).await;
}

#[tokio::test]
async fn an_algorithm_that_the_key_or_the_server_does_not_allow() {
    let issuer = TestIssuer::start().await;
    let key = TestKey::rsa("rsa", Algorithm::RS256);
    issuer.set_jwks(jwks(&[&key]));
    // The key is for RS256 alone.
    let other = TestKey::rsa("rsa", Algorithm::PS256);
    let fixture = Fixture::for_issuer(&issuer);
    fixture.assert_refused(&other.sign(&issuer.claims())).await;
    let fixture = Fixture::new(|it| it.issuer(issuer.issuer()).algorithms(["ES256"]));
    fixture.assert_refused(&key.sign(&issuer.claims())).await;
}

#[tokio::test]
async fn a_key_inside_the_token() {
    let issuer = TestIssuer::start().await;
    let fixture = Fixture::for_issuer(&issuer);
    let forger = TestKey::es256("one", 5);
    let mut header = forger.header();
    header["jwk"] = forger.jwk.clone();
    header["jku"] = json!("https://evil.example/jwks");
    header["x5u"] = json!("https://evil.example/cert");
    fixture
        .assert_refused(&forger.sign_with(&header, &issuer.claims()))
        .await;
}

// requirement: 4558ad02d0ea 5c8fbef1db1c 8737805f5d74 b5ded2b781b3 ddbb4809f13d
#[tokio::test]
async fn expired() {
    let issuer = TestIssuer::start().await;
    let fixture = Fixture::for_issuer(&issuer);
    fixture
        .assert_refused(&issuer.token_with("exp", json!(NOW - 60)))
        .await;
    fixture
        .assert_refused(&issuer.token_with("exp", json!(0)))
        .await;
    fixture
        .assert_refused(&issuer.token_with("exp", json!(-5)))
        .await;
    // Within the leeway.
    fixture
        .assert_admitted(&issuer.token_with("exp", json!(NOW - 59)))
        .await;
    let answer = fixture
        .post_token(&issuer.token_with("exp", json!(1)))
        .await;
    assert_eq!(
        answer.challenges()[0].error_description(),
        Some("The access token expired")
    );
}

// requirement: 8737805f5d74
#[tokio::test]
async fn a_token_expires_in_the_cache() {
    let issuer = TestIssuer::start().await;
    let fixture = Fixture::for_issuer(&issuer);
    let token = issuer.token_with("exp", json!(NOW + 100));
    fixture.assert_admitted(&token).await;
    fixture.advance(159);
    fixture.assert_admitted(&token).await;
    fixture.advance(1);
    fixture.assert_refused(&token).await;
}

#[tokio::test]
async fn a_token_that_never_expires() {
    let issuer = TestIssuer::start().await;
    let fixture = Fixture::for_issuer(&issuer);
    let mut claims = issuer.claims();
    claims.as_object_mut().unwrap().remove("exp");
    fixture.assert_refused(&issuer.key.sign(&claims)).await;
    fixture
        .assert_refused(&issuer.token_with("exp", json!("never")))
        .await;
}

#[tokio::test]
async fn not_yet_valid() {
    let issuer = TestIssuer::start().await;
    let fixture = Fixture::for_issuer(&issuer);
    let token = issuer.token_with("nbf", json!(NOW + 100));
    fixture.assert_refused(&token).await;
    fixture.advance(40);
    fixture.assert_admitted(&token).await;
}

#[tokio::test]
async fn a_jwt_of_another_kind() {
    let issuer = TestIssuer::start().await;
    let fixture = Fixture::for_issuer(&issuer);
    for typ in [
        "dpop+jwt",
        "logout+jwt",
        "oauth-id-jag+jwt",
        "secevent+jwt",
        "",
    ] {
        let mut header = issuer.key.header();
        header["typ"] = json!(typ);
        fixture
            .assert_refused(&issuer.key.sign_with(&header, &issuer.claims()))
            .await;
    }
    for typ in [
        json!("JWT"),
        json!("application/at+jwt"),
        json!("AT+JWT"),
        json!(null),
    ] {
        let mut header = issuer.key.header();
        header["typ"] = typ;
        fixture
            .assert_admitted(&issuer.key.sign_with(&header, &issuer.claims()))
            .await;
    }
    let mut header = issuer.key.header();
    header["crit"] = json!(["exp"]);
    fixture
        .assert_refused(&issuer.key.sign_with(&header, &issuer.claims()))
        .await;
}

// requirement: 4558ad02d0ea 5c8fbef1db1c b5ded2b781b3 ddbb4809f13d
#[tokio::test]
async fn an_altered_token() {
    let issuer = TestIssuer::start().await;
    let fixture = Fixture::for_issuer(&issuer);
    let token = issuer.token();
    fixture.assert_admitted(&token).await;
    let parts: Vec<&str> = token.split('.').collect();
    let mut claims = issuer.claims();
    claims["sub"] = json!("root");
    let altered = URL_SAFE_NO_PAD.encode(claims.to_string());
    fixture
        .assert_refused(&format!("{}.{altered}.{}", parts[0], parts[2]))
        .await;
    fixture
        .assert_refused(&format!("{}.{}.", parts[0], parts[1]))
        .await;
    fixture
        .assert_refused(&format!("{}.{}", parts[0], parts[1]))
        .await;
    fixture.assert_refused(&format!("{token}.x")).await;
    fixture.assert_refused(&format!("{token}A")).await;
    fixture.assert_refused(&format!("{token}=")).await;
    for end in (0..token.len()).step_by(7).skip(1) {
        fixture.assert_refused(&token[..end]).await;
    }
}

#[tokio::test]
async fn a_repeated_claim() {
    let issuer = TestIssuer::start().await;
    let fixture = Fixture::for_issuer(&issuer);
    let claims = issuer
        .claims()
        .to_string()
        .replacen('{', "{\"sub\":\"root\",", 1);
    let key = &issuer.key;
    fixture
        .assert_refused(&sign(&key.header(), &claims, &key.key, key.algorithm))
        .await;
}

// requirement: 4c23ed895e37 5545d04935b0 6746d7f83be7 8ed3afdf3680 9a20eba2434e ba16b4303415
#[tokio::test]
async fn token_in_the_query() {
    let issuer = TestIssuer::start().await;
    let fixture = Fixture::for_issuer(&issuer);
    let token = issuer.token();
    let uri = format!("/mcp?access_token={token}");
    let authorization = format!("Bearer {token}");
    for headers in [&[][..], &[("authorization", authorization.as_str())]] {
        let answer = fixture.send(request("POST", &uri, headers)).await;
        assert_eq!(answer.status, 400);
        assert_eq!(answer.error().as_deref(), Some("invalid_request"));
    }
    assert!(fixture.requests().is_empty());
}

#[tokio::test]
async fn two_authorization_headers() {
    let issuer = TestIssuer::start().await;
    let fixture = Fixture::for_issuer(&issuer);
    let good = format!("Bearer {}", issuer.token());
    for other in [good.as_str(), "Bearer other", "Basic eDp5"] {
        for headers in [[good.as_str(), other], [other, good.as_str()]] {
            let headers = headers.map(|value| ("authorization", value));
            let answer = fixture.post(&headers).await;
            assert_eq!(answer.status, 400);
            assert_eq!(answer.error().as_deref(), Some("invalid_request"));
        }
    }
    assert!(fixture.requests().is_empty());
}

#[tokio::test]
async fn a_huge_token() {
    let issuer = TestIssuer::start().await;
    let fixture = Fixture::for_issuer(&issuer);
    let answer = fixture.post_token(&"a".repeat(1 << 20)).await;
    assert_eq!(answer.status, 400);
    fixture.assert_refused(&"a".repeat(16 << 10)).await;
    assert!(issuer.server.requests().is_empty());
}

#[tokio::test]
async fn nested_claims_do_not_exhaust_the_stack() {
    let issuer = TestIssuer::start().await;
    let fixture = Fixture::for_issuer(&issuer);
    let deep = format!(
        "{{\"iss\":\"{}\",\"x\":{}",
        issuer.issuer(),
        "[".repeat(10_000)
    );
    let key = &issuer.key;
    fixture
        .assert_refused(&sign(&key.header(), &deep, &key.key, key.algorithm))
        .await;
}
