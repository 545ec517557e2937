//! Opening a connection, and who may.

use http::Method as Verb;
use serde_json::json;
use turnbuckle_http::HttpServerOptions;
use turnbuckle_it::web::Web;

use super::SseConnection;
use crate::servers::echo;
use crate::support::assert_random;

fn web() -> Web {
    Web::sse(&echo(), HttpServerOptions::new())
}

// requirement: 0320748ec39b 0b96a071b2d9
#[tokio::test(start_paused = true)]
async fn the_first_event_says_where_to_post() {
    let web = web();
    let mut ids = Vec::new();
    for _ in 0..100 {
        let got = web.ask(Verb::GET).to("/sse").send().await;
        assert_eq!(got.header("cache-control"), Some("no-cache, no-transform"));
        let first = got.events().next().await.unwrap();
        assert_eq!(first.kind.as_deref(), Some("endpoint"));
        let data = first.data.unwrap();
        let id = data.strip_prefix("/messages?sessionId=").unwrap();
        ids.push(id.to_owned());
    }
    assert_random(&ids);
}

#[tokio::test(start_paused = true)]
async fn then_come_messages() {
    let mut connection = SseConnection::open(&echo()).await;
    connection.request(1, "ping", json!({})).await;
    let (event, message) = connection.stream.next_message().await.unwrap();
    assert_eq!(event.kind.as_deref(), Some("message"));
    assert_eq!(event.id, None, "there is nothing to come back to");
    assert_eq!(message, json!({"jsonrpc": "2.0", "id": 1, "result": {}}));
}

#[tokio::test(start_paused = true)]
async fn a_stream_has_to_be_acceptable() {
    for (accept, status) in [
        ("text/event-stream", 200),
        ("*/*", 200),
        ("text/*;q=0.5, text/html", 200),
        ("application/json", 406),
    ] {
        let ask = web().ask(Verb::GET).to("/sse").header("accept", accept);
        assert_eq!(ask.send().await.status, status, "{accept}");
    }
}

// What a client sends first that does not know which transport it is: it goes on with a GET.
#[tokio::test(start_paused = true)]
async fn other_methods_are_405() {
    let connection = SseConnection::connect(web()).await;
    for (target, wrong, allow) in [
        ("/sse", Verb::POST, "GET, OPTIONS"),
        ("/sse", Verb::DELETE, "GET, OPTIONS"),
        (&*connection.messages, Verb::GET, "POST, OPTIONS"),
        (&connection.messages, Verb::PUT, "POST, OPTIONS"),
    ] {
        let got = connection.web.ask(wrong.clone()).to(target).send().await;
        assert_eq!(got.status, 405, "{wrong} {target}");
        assert_eq!(got.header("allow"), Some(allow));
    }
}

// requirement: 81e3ba44c553
#[tokio::test(start_paused = true)]
async fn strangers_are_403() {
    let connection = SseConnection::connect(web()).await;
    for (verb, target) in [
        (Verb::GET, "/sse"),
        (Verb::POST, &*connection.messages),
        (Verb::OPTIONS, "/sse"),
        (Verb::PUT, "/sse"),
    ] {
        let ask = || connection.web.ask(verb.clone()).to(target);
        for asked in [
            ask().header("origin", "http://evil.example"),
            ask().header("origin", "null"),
            ask().header("host", "evil.example"),
            ask().without("host"),
            ask().and_header("host", "localhost"),
        ] {
            let got = asked.send().await;
            assert_eq!(got.status, 403, "{verb}");
            assert!(got.header("access-control-allow-origin").is_none());
            let error = got.json().await["error"]["message"].to_string();
            assert!(error.contains("HttpServerOptions::allowed_"), "{error}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_page_of_an_allowed_origin_may_use_it() {
    let origin = "http://localhost";
    let web = web();
    let got = web.ask(Verb::GET).to("/sse").header("origin", origin);
    let got = got.send().await;
    assert_eq!(got.header("access-control-allow-origin"), Some(origin));
    let connection = SseConnection::from_stream(web.clone(), got.events()).await;
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}).to_string();
    let got = connection.post(ping).header("origin", origin).send().await;
    assert_eq!(got.status, 202);
    assert_eq!(got.header("access-control-allow-origin"), Some(origin));
    for (target, methods) in [
        ("/sse", "GET, OPTIONS"),
        (&connection.messages, "POST, OPTIONS"),
    ] {
        let ask = web.ask(Verb::OPTIONS).to(target).header("origin", origin);
        let ask = ask.header("access-control-request-headers", "content-type");
        let got = ask.send().await;
        assert_eq!(got.status, 204);
        assert_eq!(got.header("access-control-allow-methods"), Some(methods));
        let headers = got.header("access-control-allow-headers");
        assert_eq!(headers, Some("content-type"));
    }
}
