//! Tokens of a trusted issuer that are no access tokens.

use serde_json::{Value, json};

use super::support::{Fixture, TestIssuer};

/// Signs claims with an additional one, and this `typ` in the header.
fn token(issuer: &TestIssuer, typ: Value, claims: &[(&str, &str)]) -> String {
    let mut header = issuer.key.header();
    header["typ"] = typ;
    let mut all = issuer.claims();
    for (name, value) in claims {
        all[*name] = json!(value);
    }
    issuer.key.sign_with(&header, &all)
}

#[tokio::test]
async fn an_id_token_is_refused_as_an_access_token() {
    let issuer = TestIssuer::start().await;
    // The worst case: the client's id, the audience of ID tokens, is accepted as an audience.
    let fixture = Fixture::new(|it| it.issuer(issuer.issuer()).audience("app"));
    let jwt = || json!("JWT");
    for claims in [
        &[("nonce", "n")][..],
        &[("at_hash", "h")],
        &[("c_hash", "h")],
        &[("token_use", "id")],
        &[("typ", "ID")],
        &[("typ", "Refresh")],
        &[("typ", "Bearer"), ("token_use", "id")],
        &[("typ", "JWT"), ("nonce", "n")],
        &[("typ", "Offline")],
        &[("typ", "rt+jwt")],
        &[("token_use", "refresh_token")],
        &[("token_type", "refresh")],
        &[("token_type", "Refresh-Token")],
        &[("token_type", "idToken")],
        &[("tokenType", "refresh_token")],
        &[("type", "refresh")],
        &[("kind", "refresh_token")],
        &[("events", "")],
    ] {
        let claims = [claims, &[("aud", "app")]].concat();
        fixture
            .assert_refused(&token(&issuer, jwt(), &claims))
            .await;
        fixture
            .assert_refused(&token(&issuer, Value::Null, &claims))
            .await;
    }
    for typ in [
        "dpop+jwt",
        "logout+jwt",
        "id_token+jwt",
        "refresh+jwt",
        "rt+jwt",
        "refresh_token",
    ] {
        fixture
            .assert_refused(&token(&issuer, json!(typ), &[]))
            .await;
    }
    // `typ` of RFC 9068 does not make an ID token of a claim that says so.
    let token = token(&issuer, json!("at+jwt"), &[("token_use", "id")]);
    fixture.assert_refused(&token).await;
}

#[tokio::test]
async fn an_access_token_that_says_so_may_have_a_nonce() {
    let issuer = TestIssuer::start().await;
    let fixture = Fixture::for_issuer(&issuer);
    for (typ, claims) in [
        (json!("at+jwt"), &[("nonce", "n")][..]),
        (json!("application/at+jwt"), &[("at_hash", "h")]),
        (json!("JWT"), &[("nonce", "n"), ("typ", "Bearer")]),
        (json!("JWT"), &[("nonce", "n"), ("token_use", "access")]),
        (Value::Null, &[("typ", "DPoP")]),
        (json!("JWT"), &[]),
        (json!("JWT"), &[("type", "access"), ("kind", "user")]),
        (
            json!("JWT"),
            &[("token_type", "access"), ("tokenType", "Bearer")],
        ),
    ] {
        fixture.assert_admitted(&token(&issuer, typ, claims)).await;
    }
}
