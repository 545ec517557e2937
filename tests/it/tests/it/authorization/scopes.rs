//! Scopes: step-up, its limits, and who sees which items.

use turnbuckle::auth::AuthErrorKind;
use turnbuckle::auth::OAuth;
use turnbuckle::auth::client::store::MemoryStore;
use turnbuckle::prelude::*;
use turnbuckle_auth_testing::{Endpoint, TestAuthorizationServer};

use super::harness::{
    User, Wire, World, auth_error_kind, call, failing_call, logged_in, modern, refusing, send,
    shop, shop_builder,
};
use serde_json::json;

fn words(text: Option<String>) -> Vec<String> {
    let mut words: Vec<String> = text.unwrap().split(' ').map(str::to_owned).collect();
    words.sort();
    words
}

#[tokio::test]
async fn a_step_up_asks_once_for_all_scopes_and_keeps_those_before() {
    for wire in Wire::STREAMABLE {
        let world = World::start(wire).await;
        let (user, store) = (User::new(), MemoryStore::new());
        let oauth = world
            .oauth_builder(&user, &store)
            .scopes(["profile"])
            .build()
            .unwrap();
        let client = world.connect(&oauth).await.unwrap();
        assert_eq!(call(&client, "whoami").await.unwrap(), "alice");
        assert_eq!(words(user.parameter("scope")), ["profile"], "{wire:?}");

        assert_eq!(call(&client, "add_order").await.unwrap(), "four orders");
        let refused = world.exchanges(403);
        assert_eq!(refused.len(), 1, "{wire:?}");
        let challenge = refused[0].challenge.as_ref().unwrap();
        for part in [
            "insufficient_scope",
            "orders:read",
            "orders:write",
            "resource_metadata",
        ] {
            assert!(challenge.contains(part), "{challenge}");
        }
        assert_eq!(user.logins(), 2, "{wire:?}");
        let asked = words(user.parameter("scope"));
        assert_eq!(
            asked,
            ["orders:read", "orders:write", "profile"],
            "{wire:?}"
        );

        // What was granted suffices from now on.
        assert_eq!(call(&client, "read_orders").await.unwrap(), "three orders");
        assert_eq!(user.logins(), 2, "{wire:?}");
        assert_eq!(call(&client, "remove_orders").await.unwrap(), "no orders");
        let asked = words(user.parameter("scope"));
        assert_eq!(
            asked,
            ["orders:admin", "orders:read", "orders:write", "profile"]
        );
        assert_eq!(
            (user.logins(), world.exchanges(403).len()),
            (3, 2),
            "{wire:?}"
        );
    }
}

#[tokio::test]
async fn a_login_asks_for_the_scopes_of_the_items_by_default() {
    let world = World::start(Wire::Modern).await;
    let (user, store) = (User::new(), MemoryStore::new());
    let client = world.connect(&world.oauth(&user, &store)).await.unwrap();
    call(&client, "add_order").await.unwrap();
    let asked = words(user.parameter("scope"));
    assert_eq!(asked, ["orders:admin", "orders:read", "orders:write"]);
    assert_eq!((user.logins(), world.exchanges(403).len()), (1, 0));
}

#[tokio::test]
async fn a_scope_that_the_authorization_server_does_not_grant_ends_the_step_up() {
    let world = World::with(Wire::Modern, |it| {
        it.scopes(["orders:read", "orders:write"])
    })
    .await;
    let (user, store) = (User::new(), MemoryStore::new());
    let oauth = world
        .oauth_builder(&user, &store)
        .scopes(["orders:read"])
        .build()
        .unwrap();
    let client = world.connect(&oauth).await.unwrap();
    assert_eq!(call(&client, "read_orders").await.unwrap(), "three orders");
    let error = call(&client, "remove_orders").await.unwrap_err();
    assert_eq!(auth_error_kind(&error), AuthErrorKind::Denied, "{error:?}");
    // The token that the client has stays usable.
    assert_eq!(call(&client, "read_orders").await.unwrap(), "three orders");
    assert_eq!(user.logins(), 2);
}

/// Starts the shop with an authorization server that holds clients to the scopes of their
/// registration. The metadata of the shop name one scope only.
async fn restricted_shop(scopes: &[&str]) -> World {
    World::serving(
        Wire::Modern,
        shop(),
        |it| {
            it.restrict_registered_scopes(true)
                .scopes(scopes.iter().copied())
        },
        |it, server| it.issuer(server.issuer()).scopes_supported(["orders:read"]),
    )
    .await
}

#[tokio::test]
async fn a_step_up_beyond_the_registered_scopes_registers_once_more() {
    let world = restricted_shop(&[]).await;
    let (user, store) = (User::new(), MemoryStore::new());
    let client = world.connect(&world.oauth(&user, &store)).await.unwrap();
    assert_eq!(call(&client, "read_orders").await.unwrap(), "three orders");
    assert_eq!(call(&client, "add_order").await.unwrap(), "four orders");
    let registrations = || {
        let mut events = world.authorization_server.events();
        events.retain(|event| event.endpoint == Endpoint::Registration);
        events.len()
    };
    // The page is opened for each of both clients.
    assert_eq!((user.logins(), registrations()), (3, 2));
    assert_eq!(
        words(user.parameter("scope")),
        ["orders:read", "orders:write"]
    );
    // The wider registration is the one that is stored.
    let client = world.connect(&world.oauth(&user, &store)).await.unwrap();
    assert_eq!(call(&client, "add_order").await.unwrap(), "four orders");
    assert_eq!((user.logins(), registrations()), (3, 2));
}

#[tokio::test]
async fn scopes_that_the_authorization_server_does_not_know_register_nothing() {
    let world = restricted_shop(&["orders:read", "other"]).await;
    let (user, store) = (User::new(), MemoryStore::new());
    let client = world.connect(&world.oauth(&user, &store)).await.unwrap();
    assert_eq!(call(&client, "read_orders").await.unwrap(), "three orders");
    let error = call(&client, "add_order").await.unwrap_err();
    assert_eq!(auth_error_kind(&error), AuthErrorKind::Denied, "{error:?}");
    let events = world.authorization_server.events();
    let registrations = events
        .iter()
        .filter(|event| event.endpoint == Endpoint::Registration);
    assert_eq!((user.logins(), registrations.count()), (2, 1));
}

#[tokio::test]
async fn a_server_that_asks_for_the_same_scopes_for_ever_is_left() {
    let authorization_server = TestAuthorizationServer::builder().auto_approve(true);
    let authorization_server = authorization_server.start().await.unwrap();
    let (url, count, _serving) = refusing(authorization_server.issuer(), |number| match number {
        0 => (401, "Bearer".to_owned()),
        _ => (
            403,
            "Bearer error=\"insufficient_scope\", scope=\"more\"".to_owned(),
        ),
    })
    .await;
    let user = User::new();
    let oauth = OAuth::builder(&url, MemoryStore::new())
        .login_ui(user.clone())
        .build()
        .unwrap();
    let error = failing_call(Wire::Modern, &url, &oauth).await;
    assert_eq!(
        auth_error_kind(&error),
        AuthErrorKind::StepUpLimit,
        "{error:?}"
    );
    use std::sync::atomic::Ordering::SeqCst;
    assert_eq!((user.logins(), count.load(SeqCst)), (2, 3));
    // Another call does not ask the user again.
    failing_call(Wire::Modern, &url, &oauth).await;
    assert_eq!(user.logins(), 2);
}

#[tokio::test]
async fn a_server_that_always_asks_for_something_new_is_left() {
    use std::sync::atomic::Ordering::SeqCst;
    let authorization_server = TestAuthorizationServer::builder().auto_approve(true);
    let authorization_server = authorization_server.start().await.unwrap();
    let scopes = |number| format!("Bearer error=\"insufficient_scope\", scope=\"s{number}\"");
    let unauthorized = |_| "Bearer error=\"invalid_token\"".to_owned();
    for (status, challenge) in [
        (
            403,
            Box::new(scopes) as Box<dyn Fn(usize) -> String + Send + Sync>,
        ),
        (401, Box::new(unauthorized)),
    ] {
        let challenge = std::sync::Arc::new(challenge);
        let answer = move |number: usize| (status, challenge(number));
        let (url, count, _serving) = refusing(authorization_server.issuer(), answer).await;
        let user = User::new();
        let oauth = OAuth::builder(&url, MemoryStore::new())
            .login_ui(user.clone())
            .build()
            .unwrap();
        failing_call(Wire::Modern, &url, &oauth).await;
        assert!(user.logins() <= 2, "{status}: {} logins", user.logins());
        assert!(
            count.load(SeqCst) <= 4,
            "{status}: {} requests",
            count.load(SeqCst)
        );
    }
}

#[tokio::test]
async fn lists_can_hide_items_whose_scope_the_caller_lacks() {
    for wire in Wire::ALL {
        for (scopes, visible) in [
            (vec!["other"], vec!["whoami"]),
            (vec!["orders:read"], vec!["read_orders", "whoami"]),
            (
                vec!["orders:read", "orders:write"],
                vec!["add_order", "read_orders", "whoami"],
            ),
        ] {
            let world = World::serving(
                wire,
                shop_builder().hide_without_scopes().build().unwrap(),
                |it| it,
                |it, server| it.issuer(server.issuer()),
            )
            .await;
            let oauth = world
                .oauth_builder(&User::new(), &MemoryStore::new())
                .scopes(scopes)
                .build()
                .unwrap();
            let client = world.connect(&oauth).await.unwrap();
            call(&client, "whoami").await.unwrap();
            let tools = client.list_tools().fetch_all().await.unwrap();
            let mut names: Vec<String> = tools.iter().map(|tool| tool.name.to_string()).collect();
            names.sort();
            assert_eq!(names, visible, "{wire:?}");
        }
    }
}

#[tokio::test]
async fn an_item_is_listed_without_its_scope_and_still_needs_it() {
    let teaser = Tool::builder("teaser")
        .scope("orders:read")
        .handler(|| "shown");
    let hidden = Tool::builder("hidden")
        .scope("orders:read")
        .hide_without_scopes()
        .handler(|| "hidden");
    let group = Group::new().hide_without_scopes().tool(
        Tool::builder("grouped")
            .scope("orders:read")
            .handler(|| "hidden"),
    );
    let server = Server::new("shop", "1.0.0")
        .tool(teaser)
        .tool(hidden)
        .group(group)
        .build()
        .unwrap();
    let world = World::serving(
        Wire::Modern,
        server,
        |it| it,
        |it, server| it.issuer(server.issuer()),
    )
    .await;
    let user = User::new();
    let oauth = world
        .oauth_builder(&user, &MemoryStore::new())
        .scopes(["other"])
        .build()
        .unwrap();
    let client = world.connect(&oauth).await.unwrap();
    assert_eq!(client.list_tools().fetch_all().await.unwrap().len(), 1);
    assert_eq!(user.logins(), 1);
    assert_eq!(call(&client, "teaser").await.unwrap(), "shown");
    assert_eq!((user.logins(), world.exchanges(403).len()), (2, 1));
}

#[tokio::test]
async fn over_sse_a_missing_scope_is_an_error_of_the_call() {
    let world = World::start(Wire::Sse).await;
    let oauth = world
        .oauth_builder(&User::new(), &MemoryStore::new())
        .scopes(["other"])
        .build()
        .unwrap();
    let client = world.connect(&oauth).await.unwrap();
    assert_eq!(call(&client, "whoami").await.unwrap(), "alice");
    let error = call(&client, "read_orders").await.unwrap_err();
    assert!(error.to_string().contains("orders:read"), "{error}");
}

#[tokio::test]
async fn attack_stripped_scope_in_the_request_grants_nothing() {
    let world = World::serving(
        Wire::Modern,
        shop(),
        |it| it,
        |it, server| it.issuer(server.issuer()).required_scopes(["orders:read"]),
    )
    .await;
    let store = logged_in(&world).await;
    assert!(!store_is_empty(&store).await);
    // A token without any scope, and one with a scope that only looks alike.
    for scopes in [&[][..], &["orders"], &["orders:read2"], &["ORDERS:READ"]] {
        let token = world.token("mallory", scopes);
        let params = json!({"name": "read_orders", "arguments": {}});
        let request = modern(&world.url, Some(&token), "tools/call", &params);
        let reply = send(request).await;
        assert_eq!(reply.status, 403, "{scopes:?}");
        let challenge = reply.header("www-authenticate").unwrap();
        assert!(challenge.contains("scope=\"orders:read\""), "{challenge}");
    }
}

async fn store_is_empty(store: &MemoryStore) -> bool {
    use turnbuckle::auth::client::store::CredentialStore as _;
    store.keys().await.unwrap().is_empty()
}
