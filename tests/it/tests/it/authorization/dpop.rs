//! Tokens that are bound to a key (DPoP), with the nonces of both servers.

use serde_json::json;
use turnbuckle::auth::client::store::MemoryStore;
use turnbuckle::auth::server::DpopMode;

use super::harness::{User, Wire, World, age, call, credentials, modern, send, shop};

async fn world(wire: Wire) -> World {
    let settings = |it: turnbuckle_auth_testing::TestAuthorizationServerBuilder| {
        it.require_dpop(true).require_dpop_nonce(true)
    };
    World::serving(wire, shop(), settings, |it, server| {
        it.issuer(server.issuer())
            .dpop(DpopMode::Required)
            .dpop_nonces(true)
    })
    .await
}

#[tokio::test]
async fn a_login_binds_its_token_and_answers_the_nonces_of_both_servers() {
    for wire in Wire::ALL {
        let world = world(wire).await;
        let (user, store) = (User::new(), MemoryStore::new());
        let oauth = world.oauth_builder(&user, &store).dpop().build().unwrap();
        let client = world.connect(&oauth).await.unwrap();
        for _ in 0..3 {
            assert_eq!(call(&client, "whoami").await.unwrap(), "alice", "{wire:?}");
        }
        assert!(oauth.status().await.unwrap().is_key_bound);
        assert!(user.parameter("dpop_jkt").is_some());
        let exchanged = world.token_requests("authorization_code");
        assert!(
            exchanged.iter().all(|event| event.has_dpop_proof),
            "{wire:?}"
        );
        assert_eq!(
            exchanged.len(),
            2,
            "once without the nonce, once with it, {wire:?}"
        );
        assert_eq!(
            world.exchanges(401).len(),
            2,
            "no token, then no nonce, {wire:?}"
        );
    }
}

#[tokio::test]
async fn a_refresh_keeps_the_key_and_survives_a_new_nonce() {
    for wire in Wire::STREAMABLE {
        let world = world(wire).await;
        let store = MemoryStore::new();
        let oauth = world
            .oauth_builder(&User::new(), &store)
            .dpop()
            .build()
            .unwrap();
        oauth.log_in().await.unwrap();
        let key = credentials(&store).await["dpop_key"].clone();
        age(&store, 10).await;
        world.authorization_server.replace_dpop_nonce().unwrap();
        let user = User::new();
        let oauth = world.oauth_builder(&user, &store).dpop().build().unwrap();
        let client = world.connect(&oauth).await.unwrap();
        assert_eq!(call(&client, "whoami").await.unwrap(), "alice", "{wire:?}");
        assert_eq!(user.logins(), 0, "{wire:?}");
        let refreshed = world.token_requests("refresh_token");
        assert_eq!(refreshed.last().unwrap().status, 200, "{wire:?}");
        assert_eq!(credentials(&store).await["dpop_key"], key);
    }
}

#[tokio::test]
async fn attack_replayed_dpop_proof_and_stolen_bound_token() {
    let world = world(Wire::Modern).await;
    let store = MemoryStore::new();
    let oauth = world
        .oauth_builder(&User::new(), &store)
        .dpop()
        .build()
        .unwrap();
    let client = world.connect(&oauth).await.unwrap();
    call(&client, "whoami").await.unwrap();
    let overheard = world.exchanges(200).pop().unwrap().headers;
    let params = json!({"name": "whoami", "arguments": {}});
    let attempt = |authorization: Option<String>, proof: bool| {
        let mut request = modern(&world.url, None, "tools/call", &params);
        if let Some(value) = authorization {
            request
                .headers_mut()
                .insert("authorization", value.parse().unwrap());
        }
        if proof {
            request
                .headers_mut()
                .insert("dpop", overheard["dpop"].clone());
        }
        send(request)
    };
    let scheme = overheard["authorization"].to_str().unwrap();
    assert!(scheme.starts_with("DPoP "));
    let token = scheme.trim_start_matches("DPoP ");
    for (authorization, proof) in [
        (scheme.to_owned(), true),
        (scheme.to_owned(), false),
        (format!("Bearer {token}"), true),
        (format!("Bearer {token}"), false),
    ] {
        let reply = attempt(Some(authorization.clone()), proof).await;
        assert_eq!(
            reply.status,
            401,
            "{} {proof}",
            authorization.get(..6).unwrap()
        );
        assert!(reply.header("www-authenticate").is_some());
    }
    // The client itself goes on.
    assert_eq!(call(&client, "whoami").await.unwrap(), "alice");
}
