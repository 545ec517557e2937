//! A server that moves to another authorization server.

use std::net::SocketAddr;

use turnbuckle::Authorize as _;
use turnbuckle::auth::AuthErrorKind;
use turnbuckle::auth::client::store::MemoryStore;
use turnbuckle::auth::{OAuth, ResourceServer};
use turnbuckle::http::{HttpServer, HttpServerOptions};
use turnbuckle_auth_testing::{Endpoint, TestAuthorizationServer};

use super::harness::{
    REDIRECT_URI, Running, User, Wire, auth_error_kind, call, connect, failing_call, shop,
};

/// Serves the shop at an address for tokens of this authorization server.
async fn serve_at(address: &str, issuer: &str) -> (SocketAddr, Running) {
    let http = loop {
        // The server that was there before may still be ending.
        match HttpServer::bind(shop(), address, HttpServerOptions::new()).await {
            Ok(http) => break http,
            Err(_) => tokio::task::yield_now().await,
        }
    };
    let http = http.path("/mcp");
    let address = http.local_addr().unwrap();
    let resource = format!("http://{address}/mcp");
    let auth = ResourceServer::builder(resource).issuer(issuer).build();
    let http = http.auth(auth.unwrap());
    (
        address,
        Running::spawn(async move { http.serve().await.unwrap() }),
    )
}

async fn authorization_server(client: &str) -> TestAuthorizationServer {
    let builder = TestAuthorizationServer::builder().auto_approve(true);
    let builder = builder.public_client(client, [REDIRECT_URI]);
    builder.start().await.unwrap()
}

#[tokio::test]
async fn after_a_migration_the_client_registers_anew_and_shows_no_old_id_or_token() {
    for wire in Wire::STREAMABLE {
        let old = authorization_server("unused").await;
        let new = authorization_server("unused").await;
        let (address, serving) = serve_at("127.0.0.1:0", old.issuer()).await;
        let url = format!("http://{address}/mcp");
        let (user, store) = (User::new(), MemoryStore::new());
        let oauth = OAuth::builder(&url, store.clone())
            .login_ui(user.clone())
            .build()
            .unwrap();
        let client = connect(wire, &url, &oauth).await.unwrap();
        assert_eq!(call(&client, "whoami").await.unwrap(), "alice", "{wire:?}");
        let old_id = oauth.status().await.unwrap().client_id.unwrap();
        client.close().await;
        drop(serving);

        let (_, _serving) = serve_at(&address.to_string(), new.issuer()).await;
        old.clear_events();
        let client = connect(wire, &url, &oauth).await.unwrap();
        assert_eq!(call(&client, "whoami").await.unwrap(), "alice", "{wire:?}");
        let status = oauth.status().await.unwrap();
        assert_eq!(status.issuer, new.issuer(), "{wire:?}");
        assert_ne!(status.client_id.as_ref(), Some(&old_id), "{wire:?}");
        let events = new.events();
        assert!(
            events
                .iter()
                .all(|event| event.client_id.as_ref() != Some(&old_id))
        );
        let refreshes = |server: &TestAuthorizationServer| {
            let events = server.events().into_iter();
            events
                .filter(|it| it.grant_type.as_deref() == Some("refresh_token"))
                .count()
        };
        assert_eq!((refreshes(&old), refreshes(&new)), (0, 0), "{wire:?}");
        assert_eq!(user.logins(), 2, "{wire:?}");
    }
}

#[tokio::test]
async fn after_a_migration_a_configured_client_id_is_not_shown_to_the_new_server() {
    for is_bound_by_hand in [true, false] {
        let old = authorization_server("configured").await;
        let new = authorization_server("configured").await;
        let (address, serving) = serve_at("127.0.0.1:0", old.issuer()).await;
        let url = format!("http://{address}/mcp");
        let (user, store) = (User::new(), MemoryStore::new());
        let oauth = OAuth::builder(&url, store.clone()).login_ui(user.clone());
        let oauth = match is_bound_by_hand {
            true => oauth.registered_client(old.issuer(), "configured", None),
            false => oauth.client_id("configured", None),
        };
        let oauth = oauth.build().unwrap();
        let client = connect(Wire::Modern, &url, &oauth).await.unwrap();
        assert_eq!(call(&client, "whoami").await.unwrap(), "alice");
        drop(serving);

        let (_, _serving) = serve_at(&address.to_string(), new.issuer()).await;
        let error = failing_call(Wire::Modern, &url, &oauth).await;
        assert_eq!(
            auth_error_kind(&error),
            AuthErrorKind::Registration,
            "{error:?}"
        );
        assert!(error.to_string().contains(new.issuer()), "{error}");
        let events = new.events();
        assert!(
            events.iter().all(|event| event.client_id.is_none()),
            "{events:?}"
        );
        let asked = |it: &Endpoint| matches!(it, Endpoint::Token | Endpoint::Authorization);
        assert!(
            !events.iter().any(|event| asked(&event.endpoint)),
            "{events:?}"
        );
        assert_eq!(user.logins(), 1);
    }
}
