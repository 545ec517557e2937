//! Tokens that are bound to a key.

use serde_json::json;
use turnbuckle_types::base::random;

use super::super::keys::Key;
use super::{Answer, CLIENT, REDIRECT, RESOURCE, Script, VERIFIER, builder, claims, now};

async fn send(script: &Script, form: &[(&str, &str)], proof: &str) -> Answer {
    script.post("/token", form, &[("dpop", proof)]).await
}

fn exchange_form(code: &str) -> [(&str, &str); 6] {
    [
        ("grant_type", "authorization_code"),
        ("client_id", CLIENT),
        ("code", code),
        ("redirect_uri", REDIRECT),
        ("code_verifier", VERIFIER),
        ("resource", RESOURCE),
    ]
}

fn refresh_form(token: &str) -> [(&str, &str); 4] {
    [
        ("grant_type", "refresh_token"),
        ("client_id", CLIENT),
        ("refresh_token", token),
        ("resource", RESOURCE),
    ]
}

fn proof(script: &Script, key: &Key, nonce: Option<&str>) -> String {
    let header = json!({ "typ": "dpop+jwt", "alg": "ES256", "jwk": key.jwk });
    let mut claims = json!({
        "jti": random::secret().unwrap(),
        "htm": "POST",
        "htu": script.url("/token"),
        "iat": now(),
    });
    if let Some(nonce) = nonce {
        claims["nonce"] = nonce.into();
    }
    key.sign(&header, &claims).unwrap()
}

#[tokio::test]
async fn tokens_of_a_public_client_stay_with_its_key() {
    let script = Script::start(builder()).await;
    let (key, other) = (Key::generate().unwrap(), Key::generate().unwrap());
    let code = script.code(&[]).await;
    let answer = send(&script, &exchange_form(&code), &proof(&script, &key, None)).await;
    assert_eq!(answer.ok()["token_type"], "DPoP");
    let token = answer.text("access_token");
    assert_eq!(claims(&token)["cnf"]["jkt"], key.id.as_str());
    assert!(script.server.events().last().unwrap().has_dpop_proof);

    let refresh = answer.text("refresh_token");
    let wrong = send(
        &script,
        &refresh_form(&refresh),
        &proof(&script, &other, None),
    )
    .await;
    wrong.assert_error(400, "invalid_grant");
    script
        .refresh(&refresh, &[])
        .await
        .assert_error(400, "invalid_grant");
    let used = proof(&script, &key, None);
    let answer = send(&script, &refresh_form(&refresh), &used).await;
    let refresh = answer.text("refresh_token");
    // A proof works once.
    send(&script, &refresh_form(&refresh), &used)
        .await
        .assert_error(400, "invalid_dpop_proof");
    send(&script, &refresh_form(&refresh), "x")
        .await
        .assert_error(400, "invalid_dpop_proof");
}

#[tokio::test]
async fn a_code_can_be_bound_to_a_key() {
    let script = Script::start(builder()).await;
    let (key, other) = (Key::generate().unwrap(), Key::generate().unwrap());
    let code = script.code(&[("dpop_jkt", key.id.as_str())]).await;
    let answer = send(
        &script,
        &exchange_form(&code),
        &proof(&script, &other, None),
    )
    .await;
    answer.assert_error(400, "invalid_grant");
    let code = script.code(&[("dpop_jkt", key.id.as_str())]).await;
    send(&script, &exchange_form(&code), &proof(&script, &key, None))
        .await
        .ok();
}

#[tokio::test]
async fn a_nonce_can_be_required_and_changed() {
    let script = Script::start(builder().require_dpop_nonce(true)).await;
    let key = Key::generate().unwrap();
    let code = script.code(&[]).await;
    let refused = send(&script, &exchange_form(&code), &proof(&script, &key, None)).await;
    refused.assert_error(400, "use_dpop_nonce");
    let nonce = refused.header("dpop-nonce");
    assert!(!nonce.is_empty());
    // The refusal did not spend the code.
    let answer = send(
        &script,
        &exchange_form(&code),
        &proof(&script, &key, Some(nonce)),
    )
    .await;
    let refresh = answer.text("refresh_token");
    script.server.replace_dpop_nonce().unwrap();
    let old = proof(&script, &key, Some(nonce));
    let refused = send(&script, &refresh_form(&refresh), &old).await;
    refused.assert_error(400, "use_dpop_nonce");
    let nonce = refused.header("dpop-nonce");
    let fresh = proof(&script, &key, Some(nonce));
    send(&script, &refresh_form(&refresh), &fresh).await.ok();
}

#[tokio::test]
async fn proofs_can_be_required() {
    let script = Script::start(builder().require_dpop(true)).await;
    script
        .log_in()
        .await
        .assert_error(400, "invalid_dpop_proof");
    let key = Key::generate().unwrap();
    let code = script.code(&[]).await;
    send(&script, &exchange_form(&code), &proof(&script, &key, None))
        .await
        .ok();
}
