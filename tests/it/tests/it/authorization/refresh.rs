//! Refreshing a token: when, by whom, and what follows when it fails.

use std::time::Duration;

use turnbuckle::auth::AuthErrorKind;
use turnbuckle::auth::client::StepKind;
use turnbuckle::auth::client::store::MemoryStore;
use turnbuckle_auth_testing::{FailedRequests, TestAuthorizationServer};

use super::harness::{
    User, Wire, World, age, auth_error, call, credentials, edit_credentials, failing_call,
    first_calls, logged_in, settle,
};

#[tokio::test]
async fn fifty_requests_at_the_end_of_a_token_refresh_it_once() {
    for wire in Wire::ALL {
        let world = World::start(wire).await;
        let store = logged_in(&world).await;
        age(&store, 30).await;
        let old = credentials(&store).await;
        let user = User::new();
        let calls = first_calls(&world, &world.oauth(&user, &store), 50);
        for call in calls {
            assert_eq!(call.await.unwrap().unwrap(), "alice", "{wire:?}");
        }
        let refreshes = world.token_requests("refresh_token");
        assert_eq!(refreshes.len(), 1, "{wire:?} {refreshes:?}");
        assert_eq!(
            (user.logins(), world.exchanges(401).len()),
            (0, 1),
            "{wire:?}"
        );
        let new = credentials(&store).await;
        assert_ne!(new["access_token"], old["access_token"], "{wire:?}");
        assert_ne!(new["refresh_token"], old["refresh_token"], "{wire:?}");
    }
}

#[tokio::test]
async fn a_token_shorter_than_the_margin_is_not_refreshed_on_every_call() {
    let ttl = Duration::from_secs(30);
    let world = World::with(Wire::Modern, |it| it.token_ttl(ttl)).await;
    let store = MemoryStore::new();
    let client = world.connect(&world.oauth(&User::new(), &store)).await;
    let client = client.unwrap();
    for _ in 0..20 {
        call(&client, "whoami").await.unwrap();
    }
    assert_eq!(world.refreshes(), 0);
}

#[tokio::test]
async fn a_refresh_sends_no_scope_and_keeps_the_resource() {
    let world = World::start(Wire::Modern).await;
    let store = MemoryStore::new();
    let oauth = world
        .oauth_builder(&User::new(), &store)
        .scopes(["orders:read"])
        .build()
        .unwrap();
    oauth.log_in().await.unwrap();
    age(&store, 10).await;
    let oauth = world
        .oauth_builder(&User::new(), &store)
        .scopes(["orders:read"])
        .build()
        .unwrap();
    let client = world.connect(&oauth).await.unwrap();
    assert_eq!(call(&client, "read_orders").await.unwrap(), "three orders");
    let refreshes = world.token_requests("refresh_token");
    assert_eq!(refreshes.len(), 1);
    assert_eq!(refreshes[0].scope, None);
    assert!(
        !refreshes[0]
            .parameter_names
            .iter()
            .any(|name| name == "scope")
    );
    assert_eq!(refreshes[0].resource.as_ref(), Some(&world.resource));
    assert_eq!(oauth.status().await.unwrap().scopes, ["orders:read"]);
}

#[tokio::test]
async fn a_request_that_is_dropped_during_a_refresh_loses_nothing() {
    for wire in Wire::STREAMABLE {
        let world = World::start(wire).await;
        let store = logged_in(&world).await;
        age(&store, 10).await;
        let old = credentials(&store).await;
        let user = User::new();
        let oauth = world.oauth(&user, &store);
        world
            .authorization_server
            .set_faults(|it| it.delay = Duration::from_millis(200));
        let dropped = first_calls(&world, &oauth, 1).remove(0);
        while world.refreshes() == 0 {
            tokio::task::yield_now().await;
        }
        dropped.abort();
        assert!(dropped.await.unwrap_err().is_cancelled());
        world.authorization_server.reset_faults();
        let client = world.connect(&oauth).await.unwrap();
        assert_eq!(call(&client, "whoami").await.unwrap(), "alice", "{wire:?}");
        let refreshes = world.token_requests("refresh_token");
        assert_eq!(refreshes.len(), 1, "{wire:?} {refreshes:?}");
        assert_eq!(refreshes[0].status, 200, "{wire:?}");
        // The refresh goes on beside requests with the old token, which is still valid.
        let mut new = credentials(&store).await;
        while new["refresh_token"] == old["refresh_token"] {
            tokio::task::yield_now().await;
            new = credentials(&store).await;
        }
        while oauth.access_token().await.unwrap().expose() != new["access_token"] {
            tokio::task::yield_now().await;
        }
        assert_eq!(user.logins(), 0, "{wire:?}");
    }
}

#[tokio::test]
async fn a_refused_refresh_leads_to_a_new_login() {
    for wire in Wire::ALL {
        let world = World::start(wire).await;
        let store = logged_in(&world).await;
        age(&store, -10).await;
        world
            .authorization_server
            .set_faults(|it| it.failed_refreshes = FailedRequests::new(10, 400, "invalid_grant"));
        let user = User::new();
        let oauth = world.oauth(&user, &store);
        let client = world.connect(&oauth).await.unwrap();
        assert_eq!(call(&client, "whoami").await.unwrap(), "alice", "{wire:?}");
        assert_eq!(user.logins(), 1, "{wire:?}");
        let refreshes = world.refreshes();
        assert!((1..=2).contains(&refreshes), "{wire:?} {refreshes}");
        // And it stays logged in.
        world.authorization_server.reset_faults();
        for _ in 0..3 {
            call(&client, "whoami").await.unwrap();
        }
        assert_eq!(
            (user.logins(), world.refreshes()),
            (1, refreshes),
            "{wire:?}"
        );
    }
}

#[tokio::test]
async fn the_transcript_says_why_a_refresh_failed() {
    let world = World::start(Wire::Modern).await;
    let store = logged_in(&world).await;
    age(&store, -10).await;
    world
        .authorization_server
        .set_faults(|it| it.failed_refreshes = FailedRequests::new(10, 400, "invalid_grant"));
    let oauth = world
        .oauth_builder(&User::new(), &store)
        .stored_only()
        .build()
        .unwrap();
    let error = auth_error(&failing_call(world.wire, &world.url, &oauth).await);
    assert_eq!(error.kind(), AuthErrorKind::LoginRequired);
    let steps = &error.transcript().steps;
    let refresh = steps
        .iter()
        .find(|step| step.step == StepKind::Refresh)
        .unwrap();
    assert!(
        !refresh.succeeded && refresh.response.contains("invalid_grant"),
        "{refresh:?}"
    );
    assert!(
        refresh.advice.as_ref().unwrap().contains("revoked"),
        "{refresh:?}"
    );
}

#[tokio::test]
async fn a_valid_token_outlives_an_authorization_server_that_is_down() {
    for wire in Wire::ALL {
        let world = World::start(wire).await;
        let store = logged_in(&world).await;
        age(&store, 2).await;
        world.authorization_server.set_faults(|it| {
            it.failed_refreshes = FailedRequests::new(u32::MAX, 503, "temporarily_unavailable")
        });
        let user = User::new();
        let oauth = world.oauth(&user, &store);
        let client = world.connect(&oauth).await.unwrap();
        for _ in 0..5 {
            assert_eq!(call(&client, "whoami").await.unwrap(), "alice", "{wire:?}");
        }
        assert_eq!(
            world.refreshes(),
            1,
            "it is not asked again for every call, {wire:?}"
        );
        // Then the token ends, and the server is back.
        world.authorization_server.reset_faults();
        while oauth.status().await.unwrap().is_valid {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        assert_eq!(call(&client, "whoami").await.unwrap(), "alice", "{wire:?}");
        assert_eq!((user.logins(), world.refreshes()), (0, 2), "{wire:?}");
    }
}

#[tokio::test]
async fn an_ended_token_and_a_server_that_is_down_is_a_network_error_that_recovers() {
    for wire in Wire::STREAMABLE {
        let world = World::start(wire).await;
        let store = logged_in(&world).await;
        let user = User::new();
        age(&store, -10).await;
        let oauth = world.oauth(&user, &store);
        world.authorization_server.set_faults(|it| {
            it.failed_refreshes = FailedRequests::new(u32::MAX, 503, "temporarily_unavailable")
        });
        world.authorization_server.set_faults(|it| {
            it.failed_metadata_requests = FailedRequests::new(u32::MAX, 503, "server_error")
        });
        let refresh_token = credentials(&store).await["refresh_token"].clone();
        for _ in 0..3 {
            let error = auth_error(&failing_call(wire, &world.url, &oauth).await);
            assert_eq!(error.kind(), AuthErrorKind::Network, "{wire:?} {error:?}");
            assert_eq!(credentials(&store).await["refresh_token"], refresh_token);
        }
        world.authorization_server.reset_faults();
        let client = world.connect(&oauth).await.unwrap();
        assert_eq!(call(&client, "whoami").await.unwrap(), "alice", "{wire:?}");
        assert_eq!(user.logins(), 0, "{wire:?}");
    }
}

#[tokio::test]
async fn an_authorization_server_that_does_not_listen_is_a_network_error_too() {
    for wire in Wire::STREAMABLE {
        let world = World::start(wire).await;
        let store = logged_in(&world).await;
        age(&store, -10).await;
        let refresh_token = credentials(&store).await["refresh_token"].clone();
        let user = User::new();
        let oauth = world.oauth(&user, &store);
        world.authorization_server.shutdown().await;
        let error = auth_error(&failing_call(wire, &world.url, &oauth).await);
        assert_eq!(error.kind(), AuthErrorKind::Network, "{wire:?} {error:?}");
        assert_eq!(
            credentials(&store).await["refresh_token"],
            refresh_token,
            "{wire:?}"
        );
        assert_eq!(user.logins(), 0, "{wire:?}");
    }
}

#[tokio::test]
async fn a_token_endpoint_that_moved_is_found_by_the_metadata() {
    let world = World::start(Wire::Modern).await;
    let store = logged_in(&world).await;
    // The port of a server that stopped.
    let gone = TestAuthorizationServer::builder().start().await.unwrap();
    let issuer = gone.issuer().to_owned();
    gone.shutdown().await;
    age(&store, -10).await;
    edit_credentials(&store, |credentials| {
        credentials["server"]["token_endpoint"] = format!("{issuer}/token").into();
    })
    .await;
    let user = User::new();
    let client = world.connect(&world.oauth(&user, &store)).await.unwrap();
    assert_eq!(call(&client, "whoami").await.unwrap(), "alice");
    assert_eq!((user.logins(), world.refreshes()), (0, 1));
}

#[tokio::test]
async fn a_lost_answer_to_a_refresh_leads_to_one_login() {
    let world = World::start(Wire::Modern).await;
    let store = logged_in(&world).await;
    age(&store, -10).await;
    world
        .authorization_server
        .set_faults(|it| it.dropped_refresh_answers = 1);
    let user = User::new();
    let oauth = world.oauth(&user, &store);
    let client = match world.connect(&oauth).await {
        Ok(client) => client,
        // The answer was lost on the way: that may be a failure of the network.
        Err(error) => {
            assert_eq!(auth_error(&error).kind(), AuthErrorKind::Network);
            world.connect(&oauth).await.unwrap()
        }
    };
    settle().await;
    for _ in 0..3 {
        assert_eq!(call(&client, "whoami").await.unwrap(), "alice");
    }
    assert_eq!(user.logins(), 1);
}

#[tokio::test]
async fn a_token_that_the_server_refuses_is_refreshed_once_and_the_request_repeated() {
    for wire in Wire::ALL {
        let world = World::start(wire).await;
        let store = logged_in(&world).await;
        edit_credentials(&store, |credentials| {
            let token = credentials["access_token"].as_str().unwrap();
            credentials["access_token"] = format!("{token}x").into();
        })
        .await;
        let user = User::new();
        let client = world.connect(&world.oauth(&user, &store)).await.unwrap();
        assert_eq!(call(&client, "whoami").await.unwrap(), "alice", "{wire:?}");
        assert_eq!((user.logins(), world.refreshes()), (0, 1), "{wire:?}");
    }
}

#[tokio::test]
async fn without_rotation_the_refresh_token_is_kept() {
    let world = World::with(Wire::Modern, |it| it.rotate_refresh_tokens(false)).await;
    let store = logged_in(&world).await;
    let first = credentials(&store).await["refresh_token"].clone();
    for round in 1..4 {
        age(&store, 10).await;
        let user = User::new();
        let client = world.connect(&world.oauth(&user, &store)).await.unwrap();
        call(&client, "whoami").await.unwrap();
        assert_eq!((user.logins(), world.refreshes()), (0, round));
        assert_eq!(credentials(&store).await["refresh_token"], first);
    }
}
