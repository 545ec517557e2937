//! Logins: the first one, its reuse by others, and what the caller learns when it fails.

use serde_json::json;
use turnbuckle::auth::AuthErrorKind;
use turnbuckle::auth::OAuth;
use turnbuckle::auth::client::StepKind;
use turnbuckle::auth::client::store::MemoryStore;
use turnbuckle::client::Error;
use turnbuckle_auth_testing::Endpoint;

use super::harness::{
    REDIRECT_URI, User, Wire, World, age, auth_error, call, failing_call, first_calls,
    query_parameter, serve, settle,
};

#[tokio::test]
async fn the_first_request_logs_in_and_its_answer_comes_back() {
    for wire in Wire::ALL {
        let world = World::start(wire).await;
        let (user, store) = (User::new(), MemoryStore::new());
        let client = world.connect(&world.oauth(&user, &store)).await.unwrap();
        assert_eq!(call(&client, "whoami").await.unwrap(), "alice", "{wire:?}");
        assert_eq!(user.logins(), 1, "{wire:?}");
        assert_eq!(user.parameter("resource").unwrap(), world.resource);
        let exchanged = world.token_requests("authorization_code");
        assert_eq!(exchanged.len(), 1, "{wire:?}");
        assert_eq!(exchanged[0].resource.as_ref(), Some(&world.resource));
        client.close().await;
    }
}

#[tokio::test]
async fn clones_and_other_clients_of_the_store_use_the_same_token() {
    for wire in Wire::ALL {
        let world = World::start(wire).await;
        let (user, store) = (User::new(), MemoryStore::new());
        let oauth = world.oauth(&user, &store);
        for oauth in [&oauth, &oauth.clone(), &world.oauth(&user, &store)] {
            let client = world.connect(oauth).await.unwrap();
            assert_eq!(call(&client, "whoami").await.unwrap(), "alice", "{wire:?}");
            client.close().await;
        }
        let events = world.authorization_server.events();
        let logins = events
            .iter()
            .filter(|it| it.endpoint == Endpoint::Authorization);
        assert_eq!((user.logins(), logins.count()), (1, 1), "{wire:?}");
        assert_eq!(
            (
                world.refreshes(),
                world.token_requests("authorization_code").len()
            ),
            (0, 1)
        );
    }
}

#[tokio::test]
async fn concurrent_first_requests_open_one_login() {
    for wire in Wire::ALL {
        let world = World::start(wire).await;
        let (user, store) = (User::waiting(), MemoryStore::new());
        let calls = first_calls(&world, &world.oauth(&user, &store), 20);
        while world.exchanges(401).len() < 20 {
            tokio::task::yield_now().await;
        }
        user.go_on();
        for call in calls {
            assert_eq!(call.await.unwrap().unwrap(), "alice", "{wire:?}");
        }
        assert_eq!(user.logins(), 1, "{wire:?}");
    }
}

#[tokio::test]
async fn a_login_goes_on_when_the_request_that_began_it_is_dropped() {
    for wire in Wire::ALL {
        let world = World::start(wire).await;
        let (user, store) = (User::waiting(), MemoryStore::new());
        let oauth = world.oauth(&user, &store);
        let dropped = first_calls(&world, &oauth, 1).remove(0);
        while user.logins() == 0 {
            tokio::task::yield_now().await;
        }
        dropped.abort();
        assert!(dropped.await.unwrap_err().is_cancelled());
        user.go_on();
        let client = world.connect(&oauth).await.unwrap();
        assert_eq!(call(&client, "whoami").await.unwrap(), "alice", "{wire:?}");
        assert_eq!(
            user.logins(),
            1,
            "the second client waits for the first login"
        );
    }
}

#[tokio::test]
async fn a_refused_login_is_reported_to_all_that_waited() {
    for wire in Wire::ALL {
        let world = World::start(wire).await;
        world
            .authorization_server
            .set_faults(|it| it.denied_authorizations = 1);
        let (user, store) = (User::waiting(), MemoryStore::new());
        let oauth = world.oauth(&user, &store);
        let calls = first_calls(&world, &oauth, 10);
        while world.exchanges(401).len() < 10 || user.logins() == 0 {
            tokio::task::yield_now().await;
        }
        settle().await;
        user.go_on();
        for call in calls {
            let error = auth_error(&call.await.unwrap().unwrap_err());
            assert_eq!(error.kind(), AuthErrorKind::Denied, "{wire:?} {error}");
        }
        assert_eq!(
            user.logins(),
            1,
            "nobody who waited asks the user again, {wire:?}"
        );
        // A later request may ask again.
        let client = world.connect(&oauth).await.unwrap();
        assert_eq!(call(&client, "whoami").await.unwrap(), "alice", "{wire:?}");
        assert_eq!(user.logins(), 2, "{wire:?}");
    }
}

#[tokio::test]
async fn stored_only_fails_with_login_required_and_the_transcript() {
    for wire in Wire::ALL {
        let world = World::start(wire).await;
        let oauth = world
            .oauth_builder(&User::new(), &MemoryStore::new())
            .stored_only()
            .build()
            .unwrap();
        let error = failing_call(wire, &world.url, &oauth).await;
        let failure = auth_error(&error);
        assert_eq!(
            failure.kind(),
            AuthErrorKind::LoginRequired,
            "{wire:?} {failure}"
        );
        let steps = &failure.transcript().steps;
        let kinds: Vec<StepKind> = steps.iter().map(|step| step.step).collect();
        assert_eq!(kinds.first(), Some(&StepKind::Challenge), "{wire:?}");
        assert_eq!(kinds.last(), Some(&StepKind::Authorization), "{wire:?}");
        assert!(
            kinds.contains(&StepKind::ResourceMetadata),
            "{wire:?} {kinds:?}"
        );
        assert!(!steps.last().unwrap().succeeded && steps.last().unwrap().advice.is_some());
        let registered = world.authorization_server.events();
        let registered = registered
            .iter()
            .any(|it| it.endpoint == Endpoint::Registration);
        assert!(!registered, "nothing is registered for nobody");
        // Whoever catches the error sees all of it.
        let Error::Unauthorized {
            status, challenge, ..
        } = &error
        else {
            panic!("{error:?}");
        };
        assert_eq!(*status, 401);
        assert!(
            challenge.as_ref().unwrap().contains("resource_metadata="),
            "{challenge:?}"
        );
        assert!(error.to_string().contains("(HTTP 401)"), "{error}");
        let failure = std::error::Error::source(&error).unwrap();
        let source = failure.source().unwrap();
        assert!(
            source
                .downcast_ref::<turnbuckle::auth::AuthError>()
                .is_some()
        );
    }
}

#[tokio::test]
async fn a_401_or_403_with_a_json_rpc_error_keeps_its_status() {
    use axum::http::StatusCode;
    use axum::response::IntoResponse as _;
    for status in [StatusCode::UNAUTHORIZED, StatusCode::FORBIDDEN] {
        let body = json!({"jsonrpc": "2.0", "id": 1, "error": {"code": -32000, "message": "no"}});
        let answer = move || async move {
            let headers = [
                ("content-type", "application/json"),
                ("www-authenticate", "Basic realm=\"x\""),
            ];
            (status, headers, body.to_string()).into_response()
        };
        let router = axum::Router::new().fallback(axum::routing::any(answer));
        let (origin, _serving) = serve(router).await;
        let url = format!("{origin}/mcp");
        for wire in Wire::STREAMABLE {
            let oauth = OAuth::builder(&url, MemoryStore::new())
                .stored_only()
                .build()
                .unwrap();
            let error = failing_call(wire, &url, &oauth).await;
            let Error::Unauthorized {
                status: found,
                challenge,
                ..
            } = &error
            else {
                panic!("{wire:?} {error:?}");
            };
            assert_eq!(*found, status.as_u16(), "{wire:?}");
            assert_eq!(challenge.as_deref(), Some("Basic realm=\"x\""), "{wire:?}");
        }
    }
}

#[tokio::test]
async fn a_login_by_hand_works_before_any_request_and_ends_by_logging_out() {
    let world = World::start(Wire::Modern).await;
    let (user, store) = (User::new(), MemoryStore::new());
    let oauth = world
        .oauth_builder(&user, &store)
        .scopes(["orders:read"])
        .build()
        .unwrap();
    assert_eq!(oauth.status().await, None);
    let status = oauth.log_in().await.unwrap();
    assert_eq!(status.issuer, world.authorization_server.issuer());
    assert!(status.is_valid && status.can_refresh && !status.is_key_bound);
    assert_eq!(status.scopes, ["orders:read"]);
    assert_eq!(user.parameter("scope").as_deref(), Some("orders:read"));
    let client = world.connect(&oauth).await.unwrap();
    assert_eq!(call(&client, "read_orders").await.unwrap(), "three orders");
    assert_eq!(user.logins(), 1);
    oauth.log_out().await.unwrap();
    assert_eq!(oauth.status().await, None);
    call(&client, "whoami").await.unwrap();
    assert_eq!(user.logins(), 2, "the token is forgotten");
    let redirects = user.redirects();
    assert!(query_parameter(&redirects[0], "iss").is_some());
}

#[tokio::test]
async fn a_login_works_where_the_client_id_must_be_in_the_form() {
    // As authorization servers made with the Python SDK: Post stands first in their list. Others list
    // Basic alone and take Post.
    for (methods, expected) in [
        (&["client_secret_post", "client_secret_basic"][..], 1),
        (&["client_secret_basic"], 2),
    ] {
        for by_hand in [false, true] {
            let world = World::with(Wire::Modern, |it| {
                it.token_auth_methods(methods.iter().copied())
                    .require_form_client_id(true)
                    .client("by-hand", "hidden", [REDIRECT_URI])
            })
            .await;
            let (user, store) = (User::new(), MemoryStore::new());
            // A registered client is held to its method by the test server.
            if !by_hand && expected > 1 {
                continue;
            }
            let oauth = || {
                let oauth = world.oauth_builder(&user, &store);
                let oauth = match by_hand {
                    true => oauth.client_id("by-hand", Some("hidden".into())),
                    false => oauth,
                };
                oauth.build().unwrap()
            };
            let client = world.connect(&oauth()).await.unwrap();
            assert_eq!(call(&client, "whoami").await.unwrap(), "alice");
            let exchanged = world.token_requests("authorization_code");
            assert_eq!(exchanged.len(), expected, "{methods:?} {by_hand}");
            // A refresh begins with the method that worked.
            age(&store, 1).await;
            let client = world.connect(&oauth()).await.unwrap();
            assert_eq!(call(&client, "whoami").await.unwrap(), "alice");
            assert_eq!(
                (user.logins(), world.refreshes()),
                (1, 1),
                "{methods:?} {by_hand}"
            );
        }
    }
}
