//! Proofs that verification must refuse, one test per rule.

use super::*;

fn refusal_of_header(change: impl FnOnce(&mut Value)) -> DpopError {
    let mut header = honest_header();
    change(&mut header);
    let proof = sign(&header, &honest_claims());
    verify_proof(&proof, &expectation()).unwrap_err()
}

fn refusal_of_claims(change: impl FnOnce(&mut Value)) -> DpopError {
    let mut claims = honest_claims();
    change(&mut claims);
    let proof = sign(&honest_header(), &claims);
    verify_proof(&proof, &expectation()).unwrap_err()
}

#[test]
fn another_method_is_refused() {
    assert_eq!(
        refusal_of_claims(|claims| claims["htm"] = "GET".into()),
        DpopError::Method
    );
    assert_eq!(
        refusal_of_claims(|claims| claims["htm"] = "post".into()),
        DpopError::Method
    );
}

#[test]
fn another_url_is_refused() {
    for other in [
        "https://evil.example.com/mcp",
        "http://mcp.example.com/mcp",
        "https://mcp.example.com:8443/mcp",
        "https://mcp.example.com/mcp/admin",
        "https://mcp.example.com/",
        "https://mcp.example.com@evil.example.com/mcp",
        "https://user@mcp.example.com/mcp",
        "/mcp",
        "",
    ] {
        let refusal = refusal_of_claims(|claims| claims["htu"] = other.into());
        assert_eq!(refusal, DpopError::Url, "{other}");
    }
}

#[test]
fn a_proof_for_another_token_is_refused() {
    let other = sha256_base64url("another token");
    assert_eq!(
        refusal_of_claims(|claims| claims["ath"] = other.into()),
        DpopError::AccessToken
    );
    assert_eq!(
        refusal_of_claims(|claims| claims["ath"] = Value::Null),
        DpopError::AccessToken
    );
    let at_token_endpoint = key().proof("POST", &url(URL), None, None, NOW).unwrap();
    let refusal = verify_proof(&at_token_endpoint, &expectation());
    assert_eq!(refusal, Err(DpopError::AccessToken));
    let expectation = ProofExpectation {
        access_token: None,
        ..expectation()
    };
    assert!(verify_proof(&at_token_endpoint, &expectation).is_ok());
}

#[test]
fn an_old_proof_is_refused() {
    assert_eq!(
        refusal_of_claims(|claims| claims["iat"] = (NOW - 61).into()),
        DpopError::IssuedAt
    );
    assert_eq!(
        refusal_of_claims(|claims| claims["iat"] = 0.into()),
        DpopError::IssuedAt
    );
    assert_eq!(
        refusal_of_claims(|claims| claims["iat"] = (-1).into()),
        DpopError::IssuedAt
    );
}

#[test]
fn a_proof_from_the_future_is_refused() {
    assert_eq!(
        refusal_of_claims(|claims| claims["iat"] = (NOW + 61).into()),
        DpopError::IssuedAt
    );
    assert_eq!(
        refusal_of_claims(|claims| claims["iat"] = u64::MAX.into()),
        DpopError::IssuedAt
    );
    assert_eq!(
        refusal_of_claims(|claims| claims["iat"] = 1e300.into()),
        DpopError::IssuedAt
    );
}

#[test]
fn the_algorithm_none_is_refused() {
    for none in ["none", "None", ""] {
        assert_eq!(
            refusal_of_header(|header| header["alg"] = none.into()),
            DpopError::Algorithm
        );
    }
    let encode = |part: &Value| URL_SAFE_NO_PAD.encode(part.to_string());
    let header = json!({ "typ": "dpop+jwt", "alg": "none", "jwk": key().jwk() });
    let proof = format!("{}.{}.", encode(&header), encode(&honest_claims()));
    assert_eq!(
        verify_proof(&proof, &expectation()),
        Err(DpopError::Algorithm)
    );
}

#[test]
fn a_symmetric_algorithm_is_refused() {
    let secret = b"the public key or any other bytes";
    let mut header = honest_header();
    header["alg"] = "HS256".into();
    let key = EncodingKey::from_secret(secret);
    let proof = sign_with(&header, &honest_claims(), Algorithm::HS256, &key);
    assert_eq!(
        verify_proof(&proof, &expectation()),
        Err(DpopError::Algorithm)
    );
    header["jwk"] = json!({ "kty": "oct", "k": URL_SAFE_NO_PAD.encode(secret) });
    let proof = sign_with(&header, &honest_claims(), Algorithm::HS256, &key);
    assert_eq!(
        verify_proof(&proof, &expectation()),
        Err(DpopError::Algorithm)
    );
}

#[test]
fn a_private_key_in_the_jwk_is_refused() {
    for member in ["d", "p", "q", "dp", "dq", "qi", "oth", "k"] {
        let refusal = refusal_of_header(|header| header["jwk"][member] = "AAAA".into());
        assert_eq!(refusal, DpopError::PrivateKey);
    }
}

#[test]
fn another_type_is_refused() {
    for other in ["JWT", "at+jwt", "dpop", ""] {
        assert_eq!(
            refusal_of_header(|header| header["typ"] = other.into()),
            DpopError::WrongType
        );
    }
    let without = |header: &mut Value| {
        header.as_object_mut().unwrap().remove("typ");
    };
    assert_eq!(refusal_of_header(without), DpopError::Malformed);
}

#[test]
fn unknown_critical_headers_are_refused() {
    let refusal = refusal_of_header(|header| header["crit"] = json!(["b64"]));
    assert_eq!(refusal, DpopError::Malformed);
}

#[test]
fn a_huge_proof_is_refused_unread() {
    let huge = "a".repeat(9000);
    assert_eq!(
        refusal_of_claims(|claims| claims["x"] = huge.into()),
        DpopError::TooLong
    );
    let long_jti = "a".repeat(257);
    assert_eq!(
        refusal_of_claims(|claims| claims["jti"] = long_jti.into()),
        DpopError::Malformed
    );
}

#[test]
fn a_proof_signed_by_another_key_is_refused() {
    let other = DpopKey::generate().unwrap();
    let refusal = refusal_of_header(|header| header["jwk"] = other.jwk().clone());
    assert_eq!(refusal, DpopError::Signature);
    let (message, _) = honest_proof()
        .rsplit_once('.')
        .map(|(a, b)| (a.to_owned(), b.len()))
        .unwrap();
    for signature in [String::new(), URL_SAFE_NO_PAD.encode([0; 64])] {
        let refusal = verify_proof(&format!("{message}.{signature}"), &expectation());
        assert_eq!(refusal, Err(DpopError::Signature));
    }
}

#[test]
fn keys_that_do_not_fit_the_algorithm_are_refused() {
    let short = URL_SAFE_NO_PAD.encode([1; 31]);
    let long = URL_SAFE_NO_PAD.encode([1; 33]);
    let point = URL_SAFE_NO_PAD.encode([1; 32]);
    for (algorithm, jwk) in [
        ("ES256", Value::Null),
        ("ES256", json!("key")),
        (
            "ES256",
            json!({ "kty": "EC", "crv": "P-256", "x": short, "y": long }),
        ),
        // Not on the curve.
        (
            "ES256",
            json!({ "kty": "EC", "crv": "P-256", "x": point, "y": point }),
        ),
        (
            "ES256",
            json!({ "kty": "EC", "crv": "P-384", "x": point, "y": point }),
        ),
        ("ES384", key().jwk().clone()),
        ("RS256", key().jwk().clone()),
        ("EdDSA", json!({ "kty": "OKP", "crv": "Ed25519", "x": "" })),
        (
            "EdDSA",
            json!({ "kty": "OKP", "crv": "Ed25519", "x": short }),
        ),
        (
            "EdDSA",
            json!({ "kty": "OKP", "crv": "Ed25519", "x": long }),
        ),
        (
            "EdDSA",
            json!({ "kty": "OKP", "crv": "X25519", "x": point }),
        ),
        ("RS256", json!({ "kty": "RSA", "n": point, "e": "AQAB" })),
        ("RS256", json!({ "kty": "RSA", "n": "", "e": "" })),
        (
            "ES256",
            json!({ "kty": "EC", "crv": "P-256", "x": "\",\"a\":\"", "y": point }),
        ),
    ] {
        let refusal = refusal_of_header(|header| {
            header["alg"] = algorithm.into();
            header["jwk"] = jwk.clone();
        });
        assert_eq!(refusal, DpopError::Key, "{algorithm} {jwk}");
    }
}

#[test]
fn malformed_proofs_are_refused() {
    let honest = honest_proof();
    for text in [
        "",
        ".",
        "..",
        "...",
        "a.b.c",
        "e30.e30.",
        "W10.W10.",
        &format!("{honest}."),
        &format!("{honest}=="),
        &format!("{honest}, {honest}"),
        "\u{0}\u{ff}",
    ] {
        assert_eq!(
            verify_proof(text, &expectation()),
            Err(DpopError::Malformed),
            "{text}"
        );
    }
    for claim in ["jti", "htm", "htu", "iat"] {
        let refusal = refusal_of_claims(|claims| {
            claims.as_object_mut().unwrap().remove(claim);
        });
        assert_eq!(refusal, DpopError::Malformed, "{claim}");
    }
    assert_eq!(
        refusal_of_claims(|claims| claims["jti"] = "".into()),
        DpopError::Malformed
    );
    assert_eq!(
        refusal_of_claims(|claims| claims["iat"] = "1".into()),
        DpopError::Malformed
    );
}

#[test]
fn a_missing_or_old_nonce_is_refused_if_nonces_are_needed() {
    let nonces = ["new", "previous"];
    let expectation = ProofExpectation {
        nonces: Some(&nonces),
        ..expectation()
    };
    assert_eq!(
        verify_proof(&honest_proof(), &expectation),
        Err(DpopError::Nonce)
    );
    assert_eq!(DpopError::Nonce.code(), "use_dpop_nonce");
    assert_eq!(DpopError::Url.code(), "invalid_dpop_proof");
    let proof = |nonce| {
        key()
            .proof("POST", &url(URL), Some(TOKEN), Some(nonce), NOW)
            .unwrap()
    };
    assert_eq!(
        verify_proof(&proof("ancient"), &expectation),
        Err(DpopError::Nonce)
    );
    assert!(verify_proof(&proof("new"), &expectation).is_ok());
    assert!(verify_proof(&proof("previous"), &expectation).is_ok());
}
