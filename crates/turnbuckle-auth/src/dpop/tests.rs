//! Keys, proofs and nonces.

mod attacks;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::{HeaderMap, HeaderValue};
use jsonwebtoken::crypto::rust_crypto::DEFAULT_PROVIDER;
use jsonwebtoken::{Algorithm, EncodingKey};
use serde_json::{Value, json};
use url::Url;

use super::*;
use crate::pkce::sha256_base64url;
use crate::secret::Secret;

const URL: &str = "https://mcp.example.com/mcp";
const TOKEN: &str = "token-of-the-user";
const NOW: u64 = 1_700_000_000;
const EC_PEM: &str = include_str!("../client/token_endpoint/test_keys/p256.pem");
const EC384_PEM: &str = include_str!("../client/token_endpoint/test_keys/p384.pem");
const ED_PEM: &str = include_str!("../client/token_endpoint/test_keys/ed25519.pem");
const RSA_PEM: &str = include_str!("../client/token_endpoint/test_keys/rsa.pem");

fn expectation() -> ProofExpectation<'static> {
    ProofExpectation {
        method: "POST",
        url: URL,
        access_token: Some(TOKEN),
        nonces: None,
        now: NOW,
        leeway: 60,
    }
}

fn url(text: &str) -> Url {
    Url::parse(text).unwrap()
}

fn key() -> DpopKey {
    DpopKey::from_pem(&EC_PEM.into()).unwrap()
}

/// Returns an honest proof for [`expectation`].
fn honest_proof() -> String {
    key()
        .proof("POST", &url(URL), Some(TOKEN), None, NOW)
        .unwrap()
}

fn honest_header() -> Value {
    json!({ "typ": "dpop+jwt", "alg": "ES256", "jwk": key().jwk() })
}

fn honest_claims() -> Value {
    json!({
        "jti": "one",
        "htm": "POST",
        "htu": URL,
        "iat": NOW,
        "ath": sha256_base64url(TOKEN),
    })
}

/// Signs any header and claims with the P-256 key, also wrong ones.
fn sign(header: &Value, claims: &Value) -> String {
    let key = EncodingKey::from_ec_pem(EC_PEM.as_bytes()).unwrap();
    sign_with(header, claims, Algorithm::ES256, &key)
}

fn sign_with(header: &Value, claims: &Value, algorithm: Algorithm, key: &EncodingKey) -> String {
    let encode = |part: &Value| URL_SAFE_NO_PAD.encode(part.to_string());
    let message = format!("{}.{}", encode(header), encode(claims));
    let signer = (DEFAULT_PROVIDER.signer_factory)(&algorithm, key).unwrap();
    let signature = signer.try_sign(message.as_bytes()).unwrap();
    format!("{message}.{}", URL_SAFE_NO_PAD.encode(signature))
}

#[test]
fn an_honest_proof_is_accepted() {
    let verified = verify_proof(&honest_proof(), &expectation()).unwrap();
    assert_eq!(verified.thumbprint, key().thumbprint());
    assert_eq!(verified.iat, NOW);
    assert!(verified.jti.len() >= 32);
    let proof = sign(&honest_header(), &honest_claims());
    assert_eq!(verify_proof(&proof, &expectation()).unwrap().jti, "one");
}

#[test]
fn each_proof_has_its_own_jti() {
    let jti = |proof: &str| verify_proof(proof, &expectation()).unwrap().jti;
    assert_ne!(jti(&honest_proof()), jti(&honest_proof()));
}

#[test]
fn the_thumbprint_and_the_ath_are_those_of_the_rfc() {
    // RFC 9449 section 6.1 and section 7.1.
    let jwk = json!({
        "kty": "EC",
        "crv": "P-256",
        "x": "l8tFrhx-34tV3hRICRDY9zCkDlpBhF42UQUfWVAWBFs",
        "y": "9VE4jf_Ok_o64zbTTlcuNJajHmt6v9TDVrU0CdvGRDA",
    });
    let header = "eyJ0eXAiOiJkcG9wK2p3dCIsImFsZyI6IkVTMjU2IiwiandrIjp7Imt0eSI6IkVDIiwieCI6Imw4\
                  dEZyaHgtMzR0VjNoUklDUkRZOXpDa0RscEJoRjQyVVFVZldWQVdCRnMiLCJ5IjoiOVZFNGpmX09r\
                  X282NHpiVFRsY3VOSmFqSG10NnY5VERWclUwQ2R2R1JEQSIsImNydiI6IlAtMjU2In19";
    let claims = "eyJqdGkiOiJlMWozVl9iS2ljOC1MQUVCIiwiaHRtIjoiR0VUIiwiaHR1IjoiaHR0cHM6Ly9yZXNv\
                  dXJjZS5leGFtcGxlLm9yZy9wcm90ZWN0ZWRyZXNvdXJjZSIsImlhdCI6MTU2MjI2MjYxOCwiYXRo\
                  IjoiZlVIeU8ycjJaM0RaNTNFc05yV0JiMHhXWG9hTnk1OUlpS0NBcWtzbVFFbyJ9";
    let signature =
        "2oW9RP35yRqzhrtNP86L-Ey71EOptxRimPPToA1plemAgR6pxHF8y6-yqyVnmcw6Fy1dqd-jfxSYoMxhAJpLjA";
    let decoded: Value = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(header).unwrap()).unwrap();
    assert_eq!(decoded["jwk"], jwk);
    let expectation = ProofExpectation {
        method: "GET",
        url: "https://resource.example.org/protectedresource",
        access_token: Some("Kz~8mXK1EalYznwH-LC-1fBAo.4Ljp~zsPE_NeO.gxU"),
        now: 1_562_262_618,
        ..expectation()
    };
    let verified = verify_proof(&format!("{header}.{claims}.{signature}"), &expectation);
    let thumbprint = "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I";
    assert_eq!(verified.unwrap().thumbprint, thumbprint);
}

#[test]
fn all_listed_algorithms_are_accepted() {
    let keys = [
        (
            Algorithm::ES384,
            EncodingKey::from_ec_pem(EC384_PEM.as_bytes()).unwrap(),
        ),
        (
            Algorithm::EdDSA,
            EncodingKey::from_ed_pem(ED_PEM.as_bytes()).unwrap(),
        ),
        (
            Algorithm::RS256,
            EncodingKey::from_rsa_pem(RSA_PEM.as_bytes()).unwrap(),
        ),
        (
            Algorithm::PS256,
            EncodingKey::from_rsa_pem(RSA_PEM.as_bytes()).unwrap(),
        ),
    ];
    for (algorithm, key) in keys {
        let jwk = jsonwebtoken::jwk::Jwk::from_encoding_key(&key, algorithm).unwrap();
        let thumbprint = jwk.thumbprint(jsonwebtoken::jwk::ThumbprintHash::SHA256);
        let header = json!({ "typ": "dpop+jwt", "alg": format!("{algorithm:?}"), "jwk": jwk });
        let proof = sign_with(&header, &honest_claims(), algorithm, &key);
        let verified = verify_proof(&proof, &expectation()).unwrap();
        assert_eq!(verified.thumbprint, thumbprint.unwrap(), "{algorithm:?}");
    }
}

#[test]
fn equivalent_urls_are_accepted() {
    for same in [
        "HTTPS://MCP.example.com:443/mcp",
        "https://mcp.example.com/mcp?session=1#top",
        "https://mcp.example.com/a/../mcp",
        "https://mcp.example.com/%6Dc%70",
    ] {
        let mut claims = honest_claims();
        claims["htu"] = same.into();
        let proof = sign(&honest_header(), &claims);
        assert!(verify_proof(&proof, &expectation()).is_ok(), "{same}");
    }
    let with_query = "https://mcp.example.com/mcp?a=b";
    let expectation = ProofExpectation {
        url: with_query,
        ..expectation()
    };
    let proof = key()
        .proof("POST", &url(with_query), Some(TOKEN), None, NOW)
        .unwrap();
    assert!(verify_proof(&proof, &expectation).is_ok());
    let mut claims = honest_claims();
    claims["htu"] = "https://mcp.example.com/mcp%2Fadmin".into();
    let escaped = ProofExpectation {
        url: "https://mcp.example.com/mcp/admin",
        ..expectation
    };
    let proof = sign(&honest_header(), &claims);
    assert_eq!(verify_proof(&proof, &escaped), Err(DpopError::Url));
}

#[test]
fn clocks_may_differ_within_the_leeway() {
    for iat in [json!(NOW - 60), json!(NOW + 60), json!(1_700_000_000.5)] {
        let mut claims = honest_claims();
        claims["iat"] = iat;
        assert!(verify_proof(&sign(&honest_header(), &claims), &expectation()).is_ok());
    }
}

#[test]
fn a_key_survives_its_pem() {
    let key = DpopKey::generate().unwrap();
    let pem = key.to_pem().unwrap();
    assert_eq!(
        DpopKey::from_pem(&pem).unwrap().thumbprint(),
        key.thumbprint()
    );
    assert!(DpopKey::from_pem(&Secret::new("no key")).is_err());
    assert!(DpopKey::from_pem(&RSA_PEM.into()).is_err());
    assert!(!format!("{key:?}").contains(&pem.expose()[40..80]));
}

fn nonce_headers(nonce: &str) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert("dpop-nonce", HeaderValue::from_str(nonce).unwrap());
    headers
}

fn nonce_in(proof: &HeaderValue) -> Option<String> {
    let claims = proof.to_str().unwrap().split('.').nth(1).unwrap();
    let claims: Value = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(claims).unwrap()).unwrap();
    claims
        .get("nonce")
        .map(|nonce| nonce.as_str().unwrap().to_owned())
}

#[test]
fn nonces_are_kept_per_origin_and_replaced() {
    let session = DpopSession::new(key());
    let (server, issuer) = (url(URL), url("https://as.example.com/token"));
    let nonce = |url: &Url| nonce_in(&session.proof("POST", url, None, NOW).unwrap());
    assert_eq!(nonce(&server), None);
    assert!(session.store_nonce(&server, &nonce_headers("a")));
    assert!(session.store_nonce(&issuer, &nonce_headers("b")));
    assert_eq!(
        nonce(&url("https://mcp.example.com/other")).as_deref(),
        Some("a")
    );
    assert_eq!(nonce(&issuer).as_deref(), Some("b"));
    assert!(session.store_nonce(&server, &nonce_headers("c")));
    assert!(!session.store_nonce(&server, &HeaderMap::new()));
    assert!(!session.store_nonce(&server, &nonce_headers("with \"quotes\"")));
    assert!(!session.store_nonce(&server, &nonce_headers(&"a".repeat(2000))));
    assert_eq!(nonce(&server).as_deref(), Some("c"));
    for number in 0..100 {
        let other = url(&format!("https://{number}.example.com/"));
        assert!(session.store_nonce(&other, &nonce_headers("x")));
    }
    assert_eq!(nonce(&server), None, "the number of nonces is bounded");
}

#[test]
fn a_resource_servers_challenge_for_a_nonce_is_recognized() {
    let is_challenge = |status, value: &str| {
        let mut headers = HeaderMap::new();
        headers.insert("www-authenticate", HeaderValue::from_str(value).unwrap());
        DpopSession::is_nonce_challenge(status, &headers)
    };
    assert!(is_challenge(
        401,
        r#"DPoP error="use_dpop_nonce", resource_metadata="https://a""#
    ));
    assert!(is_challenge(
        401,
        r#"Bearer realm="x", dpop error=use_dpop_nonce"#
    ));
    assert!(!is_challenge(403, r#"DPoP error="use_dpop_nonce""#));
    assert!(!is_challenge(401, r#"Bearer error="use_dpop_nonce""#));
    assert!(!is_challenge(401, r#"DPoP error="invalid_token""#));
}
