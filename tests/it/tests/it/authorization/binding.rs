//! Sessions, streams, state and subscriptions belong to the principal that began them.

use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use serde_json::{Value, json};
use turnbuckle::auth::client::store::MemoryStore;
use turnbuckle::client::ChangeFilter;
use turnbuckle::prelude::*;
use turnbuckle::{Ask, Resource};

use super::harness::{Reply, TIMEOUT, User, Wire, World, modern, open, post, send};

/// A confirmation.
#[data]
struct Confirm {
    sure: bool,
}

fn server() -> Server {
    let slow = Tool::builder("slow").handler(async |(): (), context: HandlerContext| {
        context.progress(1, None).await;
        "done"
    });
    let asks = Tool::builder("asks").handler(async |ask: Ask| {
        let answer: Confirm = ask.form("Sure?").await?;
        Ok::<_, Failure>(answer.sure.to_string())
    });
    Server::new("bound", "1.0.0")
        .tool(slow)
        .tool(asks)
        .resource(Resource::builder("test://one", "one").handler(async || "1"))
        .build()
        .unwrap()
}

async fn world(wire: Wire) -> World {
    World::serving(
        wire,
        server(),
        |it| it,
        |it, server| it.issuer(server.issuer()),
    )
    .await
}

/// Opens a session and returns its id.
async fn session(world: &World, token: &str) -> String {
    let params = json!({
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    });
    let message = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
    let opened = send(post(&world.url, Some(token), &message)).await;
    assert_eq!(opened.status, 200);
    let id = opened.header("mcp-session-id").unwrap().to_owned();
    let message = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let accepted = send(in_session(post(&world.url, Some(token), &message), &id)).await;
    assert_eq!(accepted.status, 202);
    id
}

fn in_session(mut request: Request<Full<Bytes>>, id: &str) -> Request<Full<Bytes>> {
    let headers = request.headers_mut();
    headers.insert("mcp-session-id", id.parse().unwrap());
    headers.insert("mcp-protocol-version", "2025-11-25".parse().unwrap());
    request
}

fn without_body(method: Method, url: &str, token: &str) -> Request<Full<Bytes>> {
    Request::builder()
        .method(method)
        .uri(url)
        .header("accept", "text/event-stream")
        .header("authorization", format!("Bearer {token}"))
        .body(Full::default())
        .unwrap()
}

/// Reads a stream until its text has this.
async fn read_until(response: &mut Response<Incoming>, end: &str) -> String {
    let mut text = String::new();
    while !text.contains(end) {
        let frame = tokio::time::timeout(TIMEOUT, response.body_mut().frame());
        let frame = frame.await.unwrap().expect("more").unwrap();
        text.push_str(std::str::from_utf8(&frame.into_data().unwrap()).unwrap());
    }
    text
}

/// Returns the parts of a reply that a caller can see, without those that differ by chance.
fn visible(reply: &Reply, id: &str) -> (u16, Vec<(String, String)>, String) {
    let mut headers: Vec<_> = reply
        .headers
        .iter()
        .filter(|(name, _)| *name != "date")
        .map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned()))
        .collect();
    headers.sort();
    (
        reply.status,
        headers,
        String::from_utf8_lossy(&reply.body).replace(id, "ID"),
    )
}

#[tokio::test]
async fn attack_session_hijack_by_id_gets_the_answer_for_an_unknown_id() {
    let world = world(Wire::Legacy).await;
    let ann = world.token("ann", &[]);
    let known = session(&world, &ann).await;
    let unknown: String = known.chars().rev().collect();
    assert_ne!(known, unknown);
    let same_person_other_client = world
        .authorization_server
        .issue_token("ann", "another-client", &world.resource, [""; 0], TIMEOUT)
        .unwrap();
    for stranger in [world.token("bob", &[]), same_person_other_client] {
        let call = json!({"jsonrpc": "2.0", "id": 5, "method": "tools/list"});
        let note = json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
            "params": {"requestId": 1}});
        let answer = json!({"jsonrpc": "2.0", "id": 1, "result": {}});
        let resume = |token: &str| {
            let mut request = without_body(Method::GET, &world.url, token);
            request
                .headers_mut()
                .insert("last-event-id", "0".parse().unwrap());
            request
        };
        let url = &world.url;
        let requests: [&dyn Fn() -> Request<Full<Bytes>>; 6] = [
            &|| post(url, Some(&stranger), &call),
            &|| post(url, Some(&stranger), &note),
            &|| post(url, Some(&stranger), &answer),
            &|| without_body(Method::GET, url, &stranger),
            &|| resume(&stranger),
            &|| without_body(Method::DELETE, url, &stranger),
        ];
        for request in requests {
            let hijack = send(in_session(request(), &known)).await;
            let missing = send(in_session(request(), &unknown)).await;
            assert_eq!(hijack.status, 404);
            assert_eq!(visible(&hijack, &known), visible(&missing, &unknown));
        }
    }
    // The owner's session is untouched, also with a newer token of more scopes.
    let newer = world.token("ann", &["more"]);
    for token in [&ann, &newer] {
        let call = json!({"jsonrpc": "2.0", "id": 6, "method": "tools/list"});
        let reply = send(in_session(post(&world.url, Some(token), &call), &known)).await;
        assert_eq!(reply.status, 200);
    }
}

#[tokio::test]
async fn attack_resuming_the_stream_of_another_principal() {
    let world = world(Wire::Legacy).await;
    let (ann, bob) = (world.token("ann", &[]), world.token("bob", &[]));
    let known = session(&world, &ann).await;
    let call = json!({"jsonrpc": "2.0", "id": 5, "method": "tools/call",
        "params": {"name": "slow", "arguments": {}, "_meta": {"progressToken": 1}}});
    let mut stream = open(in_session(post(&world.url, Some(&ann), &call), &known)).await;
    let text = read_until(&mut stream, "\"done\"").await;
    let last = text
        .lines()
        .find_map(|line| line.strip_prefix("id:"))
        .expect("an event id");
    let last = last.trim();
    let resume = |token: &str, session: &str| {
        let mut request = without_body(Method::GET, &world.url, token);
        request
            .headers_mut()
            .insert("last-event-id", last.parse().unwrap());
        in_session(request, session)
    };
    let own_session = session(&world, &bob).await;
    let unknown: String = known.chars().rev().collect();
    let hijack = send(resume(&bob, &known)).await;
    let missing = send(resume(&bob, &unknown)).await;
    assert_eq!(visible(&hijack, &known), visible(&missing, &unknown));
    // The event's id in a session of his own leads to nothing of hers.
    let stolen = send_briefly(resume(&bob, &own_session)).await;
    assert!(
        !stolen.contains("done") && !stolen.contains("progress"),
        "{stolen}"
    );
    // The owner gets the rest.
    let mut own = open(resume(&ann, &known)).await;
    assert!(read_until(&mut own, "\"done\"").await.contains("done"));
}

/// Returns what a response and its first event hold, if the event comes soon.
async fn send_briefly(request: Request<Full<Bytes>>) -> String {
    let mut response = open(request).await;
    let mut text = String::new();
    let soon = Duration::from_millis(300);
    while let Ok(Some(Ok(frame))) = tokio::time::timeout(soon, response.body_mut().frame()).await {
        let data = frame.into_data().unwrap_or_default();
        text.push_str(&String::from_utf8_lossy(&data));
    }
    text
}

#[tokio::test]
async fn attack_request_state_of_another_principal() {
    let world = world(Wire::Modern).await;
    let (ann, bob) = (world.token("ann", &[]), world.token("bob", &[]));
    let params = json!({"name": "asks", "arguments": {}});
    let asked = send(modern(&world.url, Some(&ann), "tools/call", &params))
        .await
        .json();
    let result = &asked["result"];
    assert_eq!(result["resultType"], "input_required", "{asked}");
    let mut again = params.clone();
    again["requestState"] = result["requestState"].clone();
    let keys: Vec<String> = result["inputRequests"]
        .as_object()
        .unwrap()
        .keys()
        .cloned()
        .collect();
    for key in keys {
        again["inputResponses"][key] = json!({"action": "accept", "content": {"sure": true}});
    }
    let stolen = send(modern(&world.url, Some(&bob), "tools/call", &again))
        .await
        .json();
    assert_eq!(stolen["error"]["code"], -32602, "{stolen}");
    // The same as for her own state with another request: nothing about whose it is.
    let mut other = again.clone();
    other["name"] = "slow".into();
    let misplaced = send(modern(&world.url, Some(&ann), "tools/call", &other))
        .await
        .json();
    assert_eq!(stolen["error"], misplaced["error"]);
    let own = send(modern(&world.url, Some(&ann), "tools/call", &again))
        .await
        .json();
    assert_eq!(own["result"]["content"][0]["text"], "true", "{own}");
}

#[tokio::test]
async fn attack_posting_into_the_connection_of_another_principal_over_sse() {
    let world = world(Wire::Sse).await;
    let (ann, bob) = (world.token("ann", &[]), world.token("bob", &[]));
    let mut stream = open(without_body(Method::GET, &world.url, &ann)).await;
    let text = read_until(&mut stream, "\n\n").await;
    let endpoint = text
        .lines()
        .find_map(|line| line.strip_prefix("data:"))
        .unwrap();
    let endpoint = format!("{}{}", world.resource, endpoint.trim());
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    let (head, id) = endpoint.split_once('=').unwrap();
    let reversed: String = id.chars().rev().collect();
    let unknown = format!("{head}={reversed}");
    let hijack = send(post(&endpoint, Some(&bob), &ping)).await;
    let missing = send(post(&unknown, Some(&bob), &ping)).await;
    assert_eq!(hijack.status, 404, "{hijack:?}");
    assert_eq!(visible(&hijack, id), visible(&missing, &reversed));
    let without = send(post(&endpoint, None, &ping)).await;
    assert_eq!(without.status, 401);
    let own = send(post(&endpoint, Some(&ann), &ping)).await;
    assert_eq!(own.status, 202);
}

#[tokio::test]
async fn attack_cancelling_the_subscription_of_another_principal() {
    let world = world(Wire::Modern).await;
    let (ann, bob) = (world.token("ann", &[]), world.token("bob", &[]));
    let params = json!({"notifications": {"resourceSubscriptions": ["test://one"]}});
    let request = modern(&world.url, Some(&ann), "subscriptions/listen", &params);
    let mut stream = open(request).await;
    assert_eq!(stream.status(), 200);
    let acknowledged = read_until(&mut stream, "\n\n").await;
    assert!(acknowledged.contains("acknowledged"), "{acknowledged}");
    // The same request id means another request for another principal.
    let message: Value = json!({"requestId": 1});
    let note = modern(&world.url, Some(&bob), "notifications/cancelled", &message);
    let _ = send(note).await;
    let rest = tokio::time::timeout(Duration::from_millis(300), stream.body_mut().frame());
    assert!(rest.await.is_err(), "the stream goes on");
}

#[tokio::test]
async fn a_stream_ends_with_its_token_and_the_client_goes_on_with_the_next_one() {
    // Over HTTP+SSE, the stream is the session: the client begins another one.
    for wire in [Wire::Modern, Wire::Sse] {
        let server = server();
        let ttl = Duration::from_secs(2);
        let world = World::serving(
            wire,
            server.clone(),
            |it| it.token_ttl(ttl),
            |it, login| it.issuer(login.issuer()).leeway(Duration::ZERO),
        )
        .await;
        let client = world
            .connect(&world.oauth(&User::new(), &MemoryStore::new()))
            .await;
        let client = client.unwrap();
        let mut changes = client.subscribe(ChangeFilter::new().tools()).await.unwrap();
        // Nothing has changed: the client says so because it may have missed something.
        let change = tokio::time::timeout(TIMEOUT, changes.next()).await.unwrap();
        assert!(change.is_some(), "{wire:?}: {:?}", changes.close_reason());
        assert!(world.refreshes() > 0, "{wire:?}");
        server.notify_tools_changed();
        let change = tokio::time::timeout(TIMEOUT, changes.next()).await.unwrap();
        assert!(change.is_some(), "{wire:?}: {:?}", changes.close_reason());
        client.close().await;
    }
}
