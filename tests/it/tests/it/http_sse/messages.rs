//! Posting messages.

use http::Method as Verb;
use serde_json::json;
use turnbuckle_http::HttpServerOptions;
use turnbuckle_it::web::Web;
use turnbuckle_types::Principal;

use super::{SseConnection, legacy};
use crate::servers::echo;

const PING: &str = r#"{"jsonrpc":"2.0","id":9,"method":"ping"}"#;

// requirement: 5e08caeda516
#[tokio::test(start_paused = true)]
async fn every_kind_of_message_is_accepted_and_answered_on_the_stream() {
    let mut connection = SseConnection::open(&echo()).await;
    for body in [
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":77}}"#,
        r#"{"jsonrpc":"2.0","id":"nobody asked","result":{}}"#,
        // What a notification lacks is told nobody.
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":[]}"#,
        PING,
        "\n { \"jsonrpc\": \"2.0\",\r\n \"id\": 10, \"method\": \"ping\" } \n",
    ] {
        let got = connection.post(body).send().await;
        assert_eq!(got.status, 202, "{body}");
        assert!(got.bytes().await.is_empty());
    }
    assert_eq!(connection.stream.message().await["id"], 9);
    assert_eq!(connection.stream.message().await["id"], 10);
}

#[tokio::test(start_paused = true)]
async fn an_invalid_message_gets_400_and_the_connection_goes_on() {
    let mut connection = SseConnection::open(&echo()).await;
    for (body, code) in [
        (&b""[..], -32700),
        (b"{", -32700),
        (b"\xff\xfe", -32700),
        (b"{} {}", -32700),
        (b"{}", -32600),
        (b"5", -32600),
        (br#"{"jsonrpc":"2.0"}"#, -32600),
    ] {
        let (status, error) = connection.post(body).json().await;
        assert_eq!(status, 400, "{body:?}");
        assert_eq!(error["error"]["code"], code, "{body:?}");
        // Errors of the only revision of this transport always have an id.
        assert!(error.get("id").is_some(), "{body:?}: {error}");
    }
    // What names its id is answered where its sender looks for it.
    connection
        .post(r#"{"jsonrpc":"2.0","id":7,"method":"ping","params":[]}"#)
        .send()
        .await;
    let answer = connection.stream.message().await;
    assert_eq!(
        (&answer["id"], &answer["error"]["code"]),
        (&json!(7), &json!(-32602))
    );
    connection.post(PING).send().await;
    assert_eq!(connection.stream.message().await["result"], json!({}));
}

#[tokio::test(start_paused = true)]
async fn a_batch_is_for_the_revision_that_has_them() {
    let batch = format!("\n[{PING}]");
    for revision in legacy() {
        let features = revision.features();
        let mut connection =
            SseConnection::connect(Web::sse(&echo(), HttpServerOptions::new())).await;
        connection.initialize(revision, json!({})).await;
        assert_eq!(connection.post(batch.clone()).send().await.status, 202);
        let answer = connection.stream.message().await;
        assert_eq!(answer.is_array(), features.batching, "{revision} {answer}");
        assert_eq!(answer.get("error").is_some(), !features.batching);
    }
}

#[tokio::test(start_paused = true)]
async fn an_unknown_session_id_gets_404() {
    let connection = SseConnection::open(&echo()).await;
    let (path, id) = connection.messages.split_once('=').unwrap();
    for target in [
        format!("{path}="),
        format!("{path}={}", "0".repeat(32)),
        format!("{path}={}", id.to_ascii_uppercase() + "0"),
        format!("{path}={id}%20"),
    ] {
        let got = connection.web.post(PING).to(&target).send().await;
        assert_eq!(got.status, 404, "{target}");
    }
    // Whatever else is in the query.
    let target = format!("{path}={id}&more=1").replace('?', "?less=1&");
    assert_eq!(
        connection.web.post(PING).to(&target).send().await.status,
        202
    );
    // The connection of another endpoint.
    let other = SseConnection::open(&echo()).await;
    let got = connection.web.post(PING).to(&other.messages).send().await;
    assert_eq!(got.status, 404);
}

#[tokio::test(start_paused = true)]
async fn a_body_is_json() {
    let connection = SseConnection::open(&echo()).await;
    for (kind, status) in [
        ("application/json", 202),
        ("application/json; charset=utf-8", 202),
        ("text/plain", 415),
    ] {
        let got = connection
            .post(PING)
            .header("content-type", kind)
            .send()
            .await;
        assert_eq!(got.status, status, "{kind}");
    }
    let without = connection.post(PING).without("content-type").send().await;
    assert_eq!(without.status, 415);
    // Nothing comes back that would have to be acceptable.
    let odd = connection
        .post(PING)
        .header("accept", "text/html")
        .send()
        .await;
    assert_eq!(odd.status, 202);
}

#[tokio::test(start_paused = true)]
async fn only_the_owner_of_a_connection_may_post_to_it() {
    let of = |name: &str| Principal::new("https://issuer.example", name);
    let web = Web::sse(&echo(), HttpServerOptions::new());
    let ann = of("ann").scopes(["read"]);
    let opened = web.ask(Verb::GET).principal(ann).events().await;
    let mut connection = SseConnection::from_stream(web, opened).await;
    for stranger in [
        connection.post(PING),
        connection.post(PING).principal(of("bob").scopes(["read"])),
        connection.post(PING).principal(of("ann")),
        connection
            .post(PING)
            .principal(of("ann").scopes(["read", "more"])),
    ] {
        assert_eq!(stranger.send().await.status, 404);
    }
    let own = connection.post(PING).principal(of("ann").scopes(["read"]));
    assert_eq!(own.send().await.status, 202);
    assert_eq!(connection.stream.message().await["id"], 9);
}
