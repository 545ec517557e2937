//! Client credentials, JWT assertions and token exchange.

use std::time::Duration;

use serde_json::{Value, json};

use super::super::TestAuthorizationServer;
use super::super::grants::{JWT_BEARER, TOKEN_EXCHANGE};
use super::super::keys::SigningKeys;
use super::{CLIENT, RESOURCE, Script, basic, builder, claims, header, now};

const ID_JAG: &str = "urn:ietf:params:oauth:token-type:id-jag";
const ID_TOKEN: &str = "urn:ietf:params:oauth:token-type:id_token";

async fn post(script: &Script, form: &[(&str, &str)]) -> super::Answer {
    let authorization = basic("web", "s3cret");
    script
        .post("/token", form, &[("authorization", authorization.as_str())])
        .await
}

#[tokio::test]
async fn client_credentials_give_a_token_without_a_refresh_token() {
    let script = Script::start(builder()).await;
    let form = [
        ("grant_type", "client_credentials"),
        ("resource", RESOURCE),
        ("scope", "read"),
    ];
    let body = post(&script, &form).await.ok();
    assert!(body.get("refresh_token").is_none());
    let claims = claims(body["access_token"].as_str().unwrap());
    assert_eq!(
        (&claims["sub"], &claims["aud"]),
        (&json!("web"), &json!(RESOURCE))
    );
    post(&script, &form[..1])
        .await
        .assert_error(400, "invalid_target");
    let admin = [form[0], form[1], ("scope", "admin")];
    post(&script, &admin)
        .await
        .assert_error(400, "invalid_scope");
    let unknown = [("grant_type", "password"), ("resource", RESOURCE)];
    post(&script, &unknown)
        .await
        .assert_error(400, "unsupported_grant_type");
    post(&script, &[])
        .await
        .assert_error(400, "invalid_request");
    let twice = [form[0], form[1], ("scope", "read"), ("scope", "write")];
    post(&script, &twice)
        .await
        .assert_error(400, "invalid_request");
}

#[tokio::test]
async fn an_assertion_of_a_trusted_issuer_becomes_a_token_of_its_subject() {
    let keys = SigningKeys::generate().unwrap();
    let trusted = "https://workloads.example";
    let script = Script::start(builder().trusted_keys(trusted, &keys.jwks())).await;
    let right = json!({
        "iss": trusted, "sub": "job-1", "aud": script.server.issuer(), "exp": now() + 60,
    });
    let send = |assertion: String| {
        let script = &script;
        async move {
            let form = [
                ("grant_type", JWT_BEARER),
                ("assertion", assertion.as_str()),
                ("resource", RESOURCE),
                ("scope", "read"),
            ];
            script.token(&form).await
        }
    };
    let answer = send(keys.sign("JWT", &right).unwrap()).await;
    assert_eq!(claims(&answer.text("access_token"))["sub"], "job-1");
    assert!(answer.ok().get("refresh_token").is_none());
    let with = |name: &str, value: Value| {
        let mut claims = right.clone();
        claims[name] = value;
        claims
    };
    let once = keys.sign("JWT", &with("jti", json!("1"))).unwrap();
    send(once.clone()).await.ok();
    for bad in [
        once,
        keys.sign("JWT", &with("aud", json!("https://other.example")))
            .unwrap(),
        keys.sign("JWT", &with("exp", json!(now() - 1))).unwrap(),
        keys.sign("JWT", &with("iss", json!("https://evil.example")))
            .unwrap(),
        keys.sign("JWT", &with("sub", json!(null))).unwrap(),
        keys.sign("at+jwt", &right).unwrap(),
        SigningKeys::generate()
            .unwrap()
            .sign("JWT", &right)
            .unwrap(),
        script
            .server
            .issue_token("a", "b", script.server.issuer(), ["read"], Duration::MAX)
            .unwrap(),
    ] {
        send(bad).await.assert_error(400, "invalid_grant");
    }
}

#[tokio::test]
async fn an_id_token_becomes_an_id_jag_becomes_an_access_token() {
    let idp = Script::start(
        TestAuthorizationServer::builder()
            .client("web", "x", [""; 0])
            .client_id_at("web", "https://as.example", "web-at-as"),
    )
    .await;
    let trusting = builder().trusted_issuer(idp.server.issuer(), idp.server.jwks_uri());
    let script = Script::start(trusting).await;
    let issuer = script.server.issuer().to_owned();

    let ttl = Duration::from_secs(60);
    let id_token = idp.server.issue_id_token("alice", "web", ttl).unwrap();
    let exchange = |changes: Vec<(&'static str, String)>| {
        let (idp, issuer, id_token) = (&idp, &issuer, &id_token);
        async move {
            let right = [
                ("grant_type", TOKEN_EXCHANGE),
                ("requested_token_type", ID_JAG),
                ("audience", issuer),
                ("resource", RESOURCE),
                ("scope", "read"),
                ("subject_token", id_token),
                ("subject_token_type", ID_TOKEN),
                ("client_id", "web"),
                ("client_secret", "x"),
            ];
            let changes: Vec<_> = changes
                .iter()
                .map(|(name, value)| (*name, value.as_str()))
                .collect();
            idp.token(&super::changed(&right, &changes)).await
        }
    };
    let answer = exchange(vec![]).await;
    let body = answer.ok();
    assert_eq!(
        (&body["token_type"], &body["issued_token_type"]),
        (&json!("N_A"), &json!(ID_JAG))
    );
    let id_jag = answer.text("access_token");
    assert_eq!(header(&id_jag)["typ"], "oauth-id-jag+jwt");
    let found = claims(&id_jag);
    assert_eq!(found["iss"], idp.server.issuer());
    for (name, value) in [
        ("sub", "alice"),
        ("aud", &issuer),
        ("client_id", "web"),
        ("resource", RESOURCE),
    ] {
        assert_eq!(found[name], value);
    }

    // The client can have another id at another server.
    let elsewhere = exchange(vec![("audience", "https://as.example".to_owned())]).await;
    assert_eq!(
        claims(&elsewhere.text("access_token"))["client_id"],
        "web-at-as"
    );

    let form = |assertion| [("grant_type", JWT_BEARER), ("assertion", assertion)];
    let token = post(&script, &form(&id_jag)).await.text("access_token");
    let found = claims(&token);
    for (name, value) in [
        ("sub", "alice"),
        ("aud", RESOURCE),
        ("client_id", "web"),
        ("scope", "read"),
    ] {
        assert_eq!(found[name], value);
    }
    // Replayed, by another client, with more scopes.
    post(&script, &form(&id_jag))
        .await
        .assert_error(400, "invalid_grant");
    let id_jag = exchange(vec![]).await.text("access_token");
    let public = [form(&id_jag)[0], form(&id_jag)[1], ("client_id", CLIENT)];
    script
        .token(&public)
        .await
        .assert_error(400, "invalid_grant");
    script
        .token(&form(&id_jag))
        .await
        .assert_error(401, "invalid_client");
    let wide = [form(&id_jag)[0], form(&id_jag)[1], ("scope", "read write")];
    post(&script, &wide)
        .await
        .assert_error(400, "invalid_scope");
    let other = [
        form(&id_jag)[0],
        form(&id_jag)[1],
        ("resource", "http://other.example"),
    ];
    post(&script, &other)
        .await
        .assert_error(400, "invalid_target");

    // Keys are fetched anew, so rotation is no problem.
    idp.server.replace_keys().unwrap();
    post(&script, &form(&id_jag))
        .await
        .assert_error(400, "invalid_grant");
    let fresh = idp.server.issue_id_token("alice", "web", ttl).unwrap();
    idp.server.set_faults(|it| it.omit_id_jag_resource = true);
    let id_jag = exchange(vec![("subject_token", fresh.clone())])
        .await
        .text("access_token");
    assert!(claims(&id_jag).get("resource").is_none());
    let token = post(&script, &form(&id_jag)).await.text("access_token");
    assert_eq!(claims(&token)["aud"], RESOURCE);

    let foreign = idp.server.issue_id_token("alice", "other", ttl).unwrap();
    let access = idp
        .server
        .issue_token("alice", "x", "web", ["a"], ttl)
        .unwrap();
    for (name, value, error) in [
        ("subject_token", foreign, "invalid_grant"),
        ("subject_token", access, "invalid_grant"),
        ("subject_token", id_token.clone(), "invalid_grant"),
        (
            "subject_token_type",
            "urn:ietf:params:oauth:token-type:saml2".into(),
            "invalid_request",
        ),
        ("requested_token_type", "x".into(), "invalid_request"),
        ("audience", String::new(), "invalid_request"),
        ("resource", String::new(), "invalid_request"),
    ] {
        let mut changes = vec![(name, value)];
        if name != "subject_token" {
            changes.push(("subject_token", fresh.clone()));
        }
        exchange(changes).await.assert_error(400, error);
    }
}
