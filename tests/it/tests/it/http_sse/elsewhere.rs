//! Messages that come to another instance than the one that has the connection.

use serde_json::json;
use turnbuckle_http::HttpServerOptions;
use turnbuckle_it::faulty_store::Fault;
use turnbuckle_it::web::Web;
use turnbuckle_store::{MemoryStore, StoreErrorKind};

use super::SseConnection;
use crate::cluster::{Instance, instance};
use crate::support::principal;

fn sse(instance: &Instance) -> Web {
    Web::sse(&instance.server, HttpServerOptions::new())
}

/// Returns a call of `echo` with a text of that length.
fn call(length: usize) -> String {
    let params = json!({"name": "echo", "arguments": {"text": "t".repeat(length)}});
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string()
}

#[tokio::test(start_paused = true)]
async fn a_message_reaches_its_connection_through_any_instance() {
    let store = MemoryStore::new();
    let (one, two) = (instance(&store).await, instance(&store).await);
    let (here, there) = (sse(&one), sse(&two));
    let mut connection = SseConnection::connect(here).await;
    let revision = turnbuckle_wire::revision::Revision::ALL[0];
    connection.initialize(revision, json!({})).await;
    // A long message does not fit into a message of the store.
    for length in [1, 100_000] {
        let post = there.post(call(length)).to(&connection.messages);
        assert_eq!(post.send().await.status, 202);
        let answer = connection.stream.message().await;
        let text = answer["result"]["content"][0]["text"].as_str().unwrap();
        assert_eq!(text.len(), length);
    }
    let messages = connection.messages.clone();
    drop(connection);
    assert_eq!(there.post(call(1)).to(&messages).send().await.status, 404);
}

#[tokio::test(start_paused = true)]
async fn a_connection_is_its_principal_s_through_any_instance() {
    let store = MemoryStore::new();
    let (one, two) = (instance(&store).await, instance(&store).await);
    let (here, there) = (sse(&one), sse(&two));
    let ann = || principal("ann").scopes(["read"]);
    let get = here.ask(http::Method::GET).to("/sse").principal(ann());
    let connection = SseConnection::from_stream(here.clone(), get.events().await).await;
    let post = || there.post(call(1)).to(&connection.messages);
    let narrow = post().principal(principal("ann"));
    for stranger in [
        post(),
        post().principal(principal("bob").scopes(["read"])),
        narrow,
    ] {
        assert_eq!(stranger.send().await.status, 404);
    }
    assert_eq!(post().principal(ann()).send().await.status, 202);
}

#[tokio::test(start_paused = true)]
async fn a_message_that_cannot_be_passed_on_is_503() {
    let store = MemoryStore::new();
    let (one, two) = (instance(&store).await, instance(&store).await);
    let (here, there) = (sse(&one), sse(&two));
    let connection = SseConnection::connect(here).await;
    two.line
        .fail("publish", Fault::Error(StoreErrorKind::Unavailable));
    let post = there.post(call(1)).to(&connection.messages);
    assert_eq!(post.send().await.status, 503);
    for id in ["abcdefgh.1", "ABCDEFGH.1", "abcdefgh", ".", "abcdefghi.1"] {
        let target = format!("/messages?sessionId={id}");
        let status = there.post(call(1)).to(&target).send().await.status;
        assert!([404, 503].contains(&status), "{id}: {status}");
    }
}
