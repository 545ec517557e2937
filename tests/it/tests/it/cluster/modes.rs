//! The four ways in which sessions are kept, and what each can do.

use std::sync::Arc;
use std::time::Duration;

use http::Method;
use serde_json::json;
use tokio::sync::Semaphore;
use turnbuckle_http::{HttpLimits, HttpServer, HttpServerOptions, HttpTimeouts, Sessions};
use turnbuckle_it::web::{Event, Session, Web, sessions};
use turnbuckle_store::MemoryStore;
use turnbuckle_types::{KeyRing, SecretKey};
use turnbuckle_wire::revision::Revision;

use super::{builder, call, instance, instance_with, keys, ping, two};
use crate::servers::echo;
use crate::support::principal;

const LEGACY: Revision = Revision::NEWEST_LEGACY;

/// Returns an endpoint of another process, which keeps sessions in that way.
fn web(keys: KeyRing, sessions: Sessions) -> Web {
    let server = builder(&Arc::new(Semaphore::new(0))).keys(keys).build();
    Web::with(
        &server.unwrap(),
        HttpServerOptions::new().sessions(sessions),
    )
}

#[tokio::test(start_paused = true)]
async fn a_stored_session_is_served_by_any_instance() {
    for revision in sessions() {
        let (one, two) = two().await;
        let session = one.web.open_able(revision, json!({"roots": {}})).await;
        assert_eq!(session.id.len(), 32);
        let there = session.with_web(&two.web);
        assert_eq!(
            call(&there, "client").await,
            "tester roots:true",
            "{revision}"
        );
        drop(one);
        assert_eq!(
            call(&there, "client").await,
            "tester roots:true",
            "{revision}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_with_a_store_stores_its_sessions_unless_it_is_told_otherwise() {
    let store = MemoryStore::new();
    let one = instance(&store).await;
    let local = instance_with(&store, HttpServerOptions::new().sessions(Sessions::Local)).await;
    let session = one.web.open(LEGACY).await;
    assert_eq!(
        ping(&session.with_web(&instance(&store).await.web)).await.0,
        200
    );
    assert_eq!(ping(&session.with_web(&local.web)).await.0, 404);
    let session = local.web.open(LEGACY).await;
    assert_eq!(ping(&session).await.0, 200);
    assert_eq!(ping(&session.with_web(&one.web)).await.0, 404);
}

#[tokio::test(start_paused = true)]
async fn a_session_is_ended_everywhere_by_a_delete_anywhere() {
    let (one, two) = two().await;
    let session = one.web.open(LEGACY).await;
    let there = session.with_web(&two.web);
    assert_eq!(ping(&there).await.0, 200);
    assert_eq!(there.delete().send().await.status, 204);
    tokio::time::sleep(Duration::from_millis(10)).await;
    for session in [&session, &there] {
        assert_eq!(ping(session).await.0, 404);
        assert_eq!(session.delete().send().await.status, 404);
    }
}

#[tokio::test(start_paused = true)]
async fn changes_of_a_session_reach_other_instances_before_their_answer() {
    let (one, two) = two().await;
    let session = one.web.open(LEGACY).await;
    let there = session.with_web(&two.web);
    assert_eq!(ping(&there).await.0, 200, "both know the session");
    let level = json!({"level": "emergency"});
    assert_eq!(
        session
            .request(2, "logging/setLevel", &level)
            .send()
            .await
            .status,
        200
    );
    let subscribe = json!({"uri": "test://one"});
    assert_eq!(
        session
            .request(3, "resources/subscribe", &subscribe)
            .send()
            .await
            .status,
        200
    );
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert_eq!(ping(&there).await.0, 200);
    assert_eq!(two.server.subscribed_resources(), ["test://one"]);
    assert_eq!(
        there
            .request(4, "resources/unsubscribe", &subscribe)
            .send()
            .await
            .status,
        200
    );
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert_eq!(ping(&session).await.0, 200);
    assert!(one.server.subscribed_resources().is_empty());
}

#[tokio::test(start_paused = true)]
async fn what_a_client_concludes_at_one_instance_is_concluded_at_all() {
    let (one, two) = two().await;
    let opened = one
        .web
        .initialize(LEGACY, json!({"roots": {}}))
        .send()
        .await;
    let id = opened.header("mcp-session-id").unwrap().to_owned();
    let concluded = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let post = |web: &Web, body: &serde_json::Value| {
        web.post(body.to_string()).header("mcp-session-id", &id)
    };
    assert_eq!(post(&two.web, &concluded).send().await.status, 202);
    // The question waits for the end of the handshake.
    let ask =
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "roots"}});
    let mut events = post(&one.web, &ask).events().await;
    assert_eq!(events.message().await["method"], "roots/list");
}

#[tokio::test(start_paused = true)]
async fn sessions_beyond_the_table_are_forgotten_and_restored() {
    let store = MemoryStore::new();
    let options = HttpServerOptions::new().http_limits(HttpLimits::new().max_sessions(4));
    let one = instance_with(&store, options.clone()).await;
    let mut opened: Vec<Session> = Vec::new();
    for _ in 0..12 {
        opened.push(one.web.open(LEGACY).await);
    }
    for session in &opened {
        assert_eq!(ping(session).await.0, 200);
    }
    // Nothing that runs is forgotten.
    let hold = opened[0].call_tool(7, "hold", &json!({})).events().await;
    for session in &opened {
        assert_eq!(ping(session).await.0, 200);
    }
    let again = opened[0].call_tool(7, "hold", &json!({})).json().await.1;
    let message = again["error"]["message"].as_str().unwrap();
    assert!(message.contains("still in flight"), "{message}");
    drop(hold);
}

#[tokio::test(start_paused = true)]
async fn an_idle_session_ends_on_all_instances_together() {
    let store = MemoryStore::new();
    let idle = Duration::from_secs(100);
    let timeouts = HttpTimeouts::new().session_idle_timeout(idle);
    let options = HttpServerOptions::new().timeouts(timeouts);
    let one = instance_with(&store, options.clone()).await;
    let two = instance_with(&store, options).await;
    let session = one.web.open(LEGACY).await;
    let there = session.with_web(&two.web);
    // It is used at one instance alone, and stays known at the other.
    for _ in 0..8 {
        tokio::time::sleep(idle / 2).await;
        assert_eq!(ping(&session).await.0, 200);
    }
    assert_eq!(ping(&there).await.0, 200);
    tokio::time::sleep(2 * idle).await;
    for session in [&session, &there] {
        assert_eq!(ping(session).await.0, 404);
    }
}

#[tokio::test(start_paused = true)]
async fn a_sealed_session_needs_keys_alone() {
    for revision in sessions() {
        let (one, two) = (web(keys(), Sessions::Sealed), web(keys(), Sessions::Sealed));
        let session = one.open_able(revision, json!({"roots": {}})).await;
        assert!(session.id.starts_with("s1.") && session.id.len() <= 2048);
        for web in [&two, &one] {
            let session = session.with_web(web);
            assert_eq!(
                call(&session, "client").await,
                "tester roots:true",
                "{revision}"
            );
            // Nothing is asked whose answer could come to another instance.
            let asked = call(&session, "roots").await;
            assert!(!asked.contains("{"), "{revision}: {asked}");
            assert_eq!(session.get().send().await.status, 405);
            assert_eq!(session.delete().send().await.status, 405);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_sealed_session_is_offered_nothing_that_needs_memory() {
    let offered = async |sessions| {
        let opened = web(keys(), sessions)
            .initialize(LEGACY, json!({}))
            .json()
            .await;
        opened.1["result"]["capabilities"].to_string()
    };
    let (local, sealed) = (
        offered(Sessions::Local).await,
        offered(Sessions::Sealed).await,
    );
    for capability in ["logging", "listChanged", "subscribe"] {
        assert!(local.contains(capability), "{local}");
        assert!(!sealed.contains(capability), "{sealed}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_streams_of_a_sealed_session_cannot_be_resumed() {
    let web = web(keys(), Sessions::Sealed);
    let session = web.open(LEGACY).await;
    let sleep = json!({"seconds": 5});
    let events = session
        .call_tool(1, "sleep", &sleep)
        .events()
        .await
        .rest()
        .await;
    let is_plain = |event: &Event| event.id.is_none() && event.retry.is_none();
    assert!(events.iter().all(is_plain), "{events:?}");
    let answer = events.last().unwrap().message().unwrap();
    assert_eq!(answer["result"]["content"][0]["text"], "slept");
}

#[tokio::test(start_paused = true)]
async fn a_sealed_session_opens_for_its_principal_and_its_keys_alone() {
    let one = web(keys(), Sessions::Sealed);
    let opened = one
        .initialize(LEGACY, json!({}))
        .principal(principal("ann"));
    let opened = opened.send().await;
    let id = opened.header("mcp-session-id").unwrap().to_owned();
    let other_keys = KeyRing::new(SecretKey::from_bytes([8; 32]));
    let other = web(other_keys.clone(), Sessions::Sealed);
    let rotated = web(
        other_keys.with_previous(SecretKey::from_bytes([7; 32])),
        Sessions::Sealed,
    );
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).to_string();
    let status = async |web: &Web, name: &str| {
        let post = web.post(list.clone()).header("mcp-session-id", &id);
        post.principal(principal(name)).send().await.status
    };
    for (web, name, expected) in [
        (&one, "ann", 200),
        (&one, "bob", 404),
        (&one, "ann", 200),
        (&other, "ann", 404),
        (&rotated, "ann", 200),
    ] {
        assert_eq!(status(web, name).await, expected, "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_handshake_that_is_too_long_for_a_sealed_id_is_refused_by_name() {
    let web = web(keys(), Sessions::Sealed);
    let long = json!({"extensions": {"a.b/c": {"k": "x".repeat(3000)}}});
    let (status, answer) = web.initialize(LEGACY, long).json().await;
    assert_eq!(status, 400);
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(message.contains("Sessions::Sealed"), "{message}");
}

#[tokio::test(start_paused = true)]
async fn a_setting_without_what_it_needs_is_refused_by_name() {
    for (sessions, missing) in [
        (Sessions::Sealed, "ServerBuilder::keys"),
        (Sessions::Stored, "ServerBuilder::store"),
    ] {
        let options = HttpServerOptions::new().sessions(sessions);
        let bound = HttpServer::bind(echo(), "127.0.0.1:0", options.clone()).await;
        let error = bound.unwrap_err().to_string();
        assert!(error.contains(missing), "{error}");
        let web = Web::with(&echo(), options);
        let (status, answer) = web.initialize(LEGACY, json!({})).json().await;
        let message = answer["error"]["message"].as_str().unwrap();
        assert!(status == 500 && message.contains(missing), "{message}");
        assert_eq!(
            web.call_tool("echo", json!({"text": "t"}))
                .send()
                .await
                .status,
            200
        );
        assert_eq!(web.ask(Method::OPTIONS).send().await.status, 204);
    }
}
