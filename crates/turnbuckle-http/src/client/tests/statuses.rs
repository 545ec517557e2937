//! Tests of statuses, sessions, redirects, and the end of a link.

use super::*;

/// Sends a request with this response. Returns the outcome and the frames of the inbox.
async fn ask(reply: ScriptedResponse) -> (Result<(), LinkError>, Vec<String>) {
    let server = ScriptedServer::new([reply]);
    let opened = OpenedLink::to(&server.connector()).await;
    let sent = opened.request(1).await;
    assert_eq!(server.open_bodies(), 0);
    (sent, opened.inbox.frames())
}

async fn fault(reply: ScriptedResponse) -> LinkError {
    let (sent, frames) = ask(reply).await;
    assert_eq!(frames, [""; 0]);
    sent.unwrap_err()
}

#[tokio::test(start_paused = true)]
async fn a_request_is_posted_with_its_headers_and_answered() {
    let server = ScriptedServer::new([ScriptedResponse::json(200, answer(1))]);
    let connector = server
        .connector()
        .options(HttpClientOptions::new().allow_unencrypted_headers(true))
        .header("Authorization", "Bearer s3cret")
        .unwrap()
        .header("accept", "text/html")
        .unwrap();
    assert!(!format!("{connector:?}").contains("s3cret"));
    assert_eq!(connector.description(), "http://server.example/mcp");
    let opened = OpenedLink::to(&connector).await;
    opened.request(1).await.unwrap();
    assert_eq!(opened.inbox.frames(), [answer(1)]);
    assert_eq!(opened.inbox.exchanges(), [Some(RequestId::from(1))]);
    let received = &server.received_requests()[0];
    assert_eq!((&received.method, &*received.uri), (&Method::POST, URL));
    assert_eq!(received.header("content-type"), Some("application/json"));
    let accept = Some("application/json, text/event-stream");
    assert_eq!(received.header("accept"), accept);
    assert_eq!(received.header("mcp-method"), Some("m"));
    assert_eq!(received.header("authorization"), Some("Bearer s3cret"));
    assert_eq!(received.header("mcp-session-id"), None);
    assert!(received.body.starts_with(b"{\"jsonrpc\""));
}

#[tokio::test(start_paused = true)]
async fn a_response_that_is_not_an_answer_is_a_protocol_violation() {
    for (reply, expected) in [
        (ScriptedResponse::new(202), "not answered"),
        (ScriptedResponse::new(204), "not answered"),
        (ScriptedResponse::new(200), "does not say of which type"),
        (
            ScriptedResponse::new(200)
                .header("content-type", "text/html; charset=utf-8")
                .text("<html>"),
            "type text/html,",
        ),
    ] {
        let error = fault(reply).await;
        assert!(
            matches!(error, LinkError::ProtocolViolation { .. }),
            "{error}"
        );
        assert!(error.to_string().contains(expected), "{error}");
    }
    let (sent, frames) = ask(ScriptedResponse::json(200, answer(2))).await;
    assert!(matches!(sent, Err(LinkError::ProtocolViolation { .. })));
    assert_eq!(frames, [answer(2)]);
}

#[tokio::test(start_paused = true)]
async fn an_error_status_is_reported_with_the_beginning_of_its_body() {
    for (status, body, shown) in [
        (400, "", ""),
        (
            404,
            "<html>not\x1b[31m found\u{202e}\n</html>",
            "<html>not [31m found\\u{202e} </html>",
        ),
        (405, "{}", "{}"),
        (
            500,
            r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
        ),
        (502, " gateway ", "gateway"),
        (304, "", ""),
    ] {
        let error = fault(ScriptedResponse::new(status).text(body)).await;
        let LinkError::HttpStatus {
            status: received,
            body,
        } = error
        else {
            panic!("{error}");
        };
        assert_eq!((received, &*body), (status, shown));
    }
    let long = "é".repeat(5000);
    let LinkError::HttpStatus { body, .. } = fault(ScriptedResponse::new(500).text(long)).await
    else {
        panic!();
    };
    assert_eq!(body.chars().count(), 512);
    // A body that does not come is not waited for.
    let error = fault(ScriptedResponse::new(502).text("half").then(BodyPart::Hang)).await;
    assert!(
        matches!(error, LinkError::HttpStatus { status: 502, .. }),
        "{error}"
    );
    // A body without an end is read no further than is shown.
    let endless = (0..100).fold(ScriptedResponse::new(500), |reply, _| {
        reply.text("x".repeat(4096))
    });
    let error = fault(endless.then(BodyPart::Hang)).await;
    assert!(
        matches!(error, LinkError::HttpStatus { status: 500, .. }),
        "{error}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_jsonrpc_error_is_an_answer_under_any_status() {
    for status in [400, 404, 405, 406, 429, 500, 503] {
        for error in [
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}"#,
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"no"}}"#,
            r#"{"jsonrpc":"2.0","error":{"code":-32000,"message":"no"}}"#,
        ] {
            let (sent, frames) = ask(ScriptedResponse::json(status, error)).await;
            sent.unwrap();
            assert_eq!(frames, [error]);
        }
    }
    // One that is about something else answers nothing.
    let other = r#"{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"no"}}"#;
    let (sent, frames) = ask(ScriptedResponse::json(400, other)).await;
    assert!(matches!(
        sent,
        Err(LinkError::HttpStatus { status: 400, .. })
    ));
    assert_eq!(frames, [other]);
}

#[tokio::test(start_paused = true)]
async fn an_unauthorized_client_gets_the_challenge() {
    let error = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"no"}}"#;
    for status in [401, 403] {
        let reply = ScriptedResponse::json(status, error)
            .header("www-authenticate", "Bearer a=\"b\"")
            .header("www-authenticate", "Basic");
        let error = fault(reply).await;
        let LinkError::Unauthorized {
            status: received,
            challenge,
            body,
            ..
        } = error
        else {
            panic!("{error}");
        };
        assert_eq!(received, status);
        assert_eq!(challenge.as_deref(), Some("Bearer a=\"b\", Basic"));
        assert!(body.contains("-32000"), "{body}");
    }
    let error = fault(ScriptedResponse::new(401)).await;
    assert!(matches!(
        error,
        LinkError::Unauthorized {
            challenge: None,
            ..
        }
    ));
}

#[tokio::test(start_paused = true)]
async fn a_message_over_the_limit_is_refused() {
    let limit = 64;
    for (size, fits) in [(limit, true), (limit + 1, false)] {
        let padding = " ".repeat(size - answer(1).len());
        let reply = ScriptedResponse::json(200, answer(1))
            .text(padding)
            .then(BodyPart::Hang);
        let reply = if fits {
            ScriptedResponse::json(200, answer(1))
        } else {
            reply
        };
        let server = ScriptedServer::new([reply]);
        let options = HttpClientOptions::new().max_message_bytes(limit);
        let opened = OpenedLink::to(&server.connector().options(options)).await;
        let sent = opened.request(1).await;
        assert_eq!(sent.is_ok(), fits);
        assert!(fits || matches!(sent, Err(LinkError::MessageTooLarge { limit: 64 })));
    }
}

#[tokio::test(start_paused = true)]
async fn errors_of_the_http_client_say_whether_the_request_was_sent() {
    let error = fault(ScriptedResponse::fails(HttpClientError::unreachable(
        "refused",
    )))
    .await;
    assert!(matches!(error, LinkError::Unreachable { .. }), "{error}");
    let error = fault(ScriptedResponse::fails(HttpClientError::connection_lost(
        "reset",
    )))
    .await;
    assert!(matches!(error, LinkError::ConnectionLost { .. }), "{error}");
    let half = ScriptedResponse::json(200, "{\"jsonrpc\":").then(BodyPart::Break);
    let error = fault(half).await;
    assert!(matches!(error, LinkError::ConnectionLost { .. }), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_notification_needs_no_response() {
    for reply in [
        ScriptedResponse::new(202),
        ScriptedResponse::new(204),
        ScriptedResponse::new(200).text("Accepted"),
        ScriptedResponse::json(200, answer(1)),
        ScriptedResponse::events().then(BodyPart::Hang),
        ScriptedResponse::new(202).then(BodyPart::Hang),
    ] {
        let server = ScriptedServer::new([reply]);
        let opened = OpenedLink::to(&server.connector()).await;
        opened.notify().await.unwrap();
        assert_eq!(opened.inbox.frames(), [""; 0]);
        assert_eq!(server.open_bodies(), 0);
    }
    let refused = r#"{"jsonrpc":"2.0","error":{"code":-32000,"message":"no"}}"#;
    let server = ScriptedServer::new([ScriptedResponse::json(400, refused)]);
    let opened = OpenedLink::to(&server.connector()).await;
    let error = opened.notify().await.unwrap_err();
    assert!(
        matches!(error, LinkError::HttpStatus { status: 400, .. }),
        "{error}"
    );
    assert_eq!(opened.inbox.frames(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn every_request_after_the_handshake_carries_the_session_id() {
    let opened = ScriptedResponse::json(200, answer(0)).header("mcp-session-id", "s1");
    let server = ScriptedServer::new([
        opened.clone(),
        ScriptedResponse::json(200, answer(1)).header("mcp-session-id", "s2"),
        ScriptedResponse::json(
            404,
            r#"{"jsonrpc":"2.0","error":{"code":-32001,"message":"gone"}}"#,
        ),
        ScriptedResponse::json(200, answer(0)),
        ScriptedResponse::new(202),
    ]);
    let opened = OpenedLink::to(&server.connector()).await;
    opened.initialize().await.unwrap();
    opened.request(1).await.unwrap();
    let error = opened.request(2).await.unwrap_err();
    assert!(matches!(error, LinkError::SessionNotFound), "{error}");
    opened.initialize().await.unwrap();
    opened.notify().await.unwrap();
    let sent: Vec<_> = server.received_requests();
    let sent: Vec<_> = sent.iter().map(|it| it.header("mcp-session-id")).collect();
    assert_eq!(sent, [None, Some("s1"), Some("s1"), None, None]);
}

#[tokio::test(start_paused = true)]
async fn an_invalid_session_id_is_refused() {
    for id in ["", "a b", "caf\u{e9}", "a\tb"] {
        let server = ScriptedServer::new([
            ScriptedResponse::json(200, answer(0)).header("mcp-session-id", id)
        ]);
        let opened = OpenedLink::to(&server.connector()).await;
        let error = opened.initialize().await.unwrap_err();
        assert!(error.to_string().contains("session id"), "{error}");
        assert_eq!(opened.inbox.frames(), [""; 0]);
    }
    let twice = ScriptedResponse::json(200, answer(0))
        .header("mcp-session-id", "a")
        .header("mcp-session-id", "b");
    let opened = OpenedLink::to(&ScriptedServer::new([twice]).connector()).await;
    assert!(opened.initialize().await.is_err());
}

// requirement: 97f9f9a880c6
#[tokio::test(start_paused = true)]
async fn redirects_stay_within_the_origin_and_the_method() {
    let to = |status, location: &str| ScriptedResponse::new(status).header("location", location);
    let server = ScriptedServer::new([
        to(307, "/mcp/?key=s3cret"),
        to(308, "http://server.example/other"),
        ScriptedResponse::json(200, answer(1)),
    ]);
    let opened = OpenedLink::to(&server.connector()).await;
    opened.request(1).await.unwrap();
    let received = server.received_requests();
    assert_eq!(received[2].uri, "http://server.example/other");
    assert_eq!(
        (&received[2].method, &received[2].body),
        (&Method::POST, &received[0].body)
    );
    for (reply, expected) in [
        (
            to(307, "https://server.example/mcp"),
            "another origin (https://server.example)",
        ),
        (
            to(308, "http://evil.example/?s3cret"),
            "another origin (http://evil.example)",
        ),
        (to(302, "/mcp/"), "POST into a GET"),
        (to(303, "/mcp/"), "POST into a GET"),
        (ScriptedResponse::new(307), "leads nowhere"),
    ] {
        let error = fault(reply).await.to_string();
        assert!(error.contains(expected), "{error}");
        assert!(!error.contains("s3cret"), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn redirects_are_limited() {
    for (options, most) in [
        (HttpClientOptions::new(), 5),
        (HttpClientOptions::new().max_redirects(2), 2),
        (HttpClientOptions::new().max_redirects(0), 0),
    ] {
        for more in [0, 1] {
            let moved = || ScriptedResponse::new(307).header("location", "/mcp");
            let replies = (0..most + more).map(|_| moved());
            let server =
                ScriptedServer::new(replies.chain([ScriptedResponse::json(200, answer(1))]));
            let opened = OpenedLink::to(&server.connector().options(options.clone())).await;
            let asked = opened.request(1).await;
            assert_eq!(server.received_requests().len(), most + 1);
            match asked {
                Ok(()) => assert_eq!(more, 0),
                Err(error) => {
                    assert_eq!(more, 1);
                    let expected =
                        format!("more than {most} redirects (HttpClientOptions::max_redirects)");
                    assert!(error.to_string().contains(&expected), "{error}");
                }
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn dropping_a_send_closes_its_exchange_at_once() {
    let server = ScriptedServer::new([ScriptedResponse::events().then(BodyPart::Hang)]);
    let opened = OpenedLink::to(&server.connector()).await;
    let mut carrying = Box::pin(opened.request(1));
    let soon = tokio::time::timeout(Duration::from_secs(1), carrying.as_mut()).await;
    assert!(soon.is_err());
    assert_eq!(server.open_bodies(), 1);
    drop(carrying);
    assert_eq!(server.open_bodies(), 0);
}

#[tokio::test(start_paused = true)]
async fn dropping_the_link_ends_its_exchanges() {
    let server = ScriptedServer::new([ScriptedResponse::events().then(BodyPart::Hang)]);
    let opened = OpenedLink::to(&server.connector()).await;
    let id = RequestId::from(1);
    opened.inbox.expect(id.clone());
    let carrying = opened.link.send(message(OutboundKind::Request(id)));
    let (sent, ()) = tokio::join!(carrying, async move {
        tokio::time::sleep(Duration::from_secs(1)).await;
        drop(opened);
    });
    assert!(matches!(sent, Err(LinkError::Closed)));
    assert_eq!(server.open_bodies(), 0);
}

#[tokio::test(start_paused = true)]
async fn closing_takes_no_longer_than_its_timeout() {
    let limit = Duration::from_secs(5);
    let just_in_time = limit - Duration::from_millis(1);
    let opened = || ScriptedResponse::json(200, answer(0)).header("mcp-session-id", "s1");
    for (goodbye, took) in [
        (
            Some(ScriptedResponse::new(200).after(just_in_time)),
            just_in_time,
        ),
        (Some(ScriptedResponse::new(200).after(2 * limit)), limit),
        (None, limit),
    ] {
        let server = ScriptedServer::new([opened()].into_iter().chain(goodbye));
        let options = HttpClientOptions::new().close_timeout(limit);
        let opened = OpenedLink::to(&server.connector().options(options)).await;
        opened.initialize().await.unwrap();
        let begin = Instant::now();
        opened.link.close().await;
        assert_eq!(begin.elapsed(), took);
        assert_eq!(server.received_requests()[1].method, Method::DELETE);
    }
}

#[tokio::test(start_paused = true)]
async fn closing_ends_the_exchanges_and_the_session() {
    let opened = ScriptedResponse::json(200, answer(0)).header("mcp-session-id", "s1");
    let stuck = ScriptedResponse::events().then(BodyPart::Hang);
    for goodbye in [
        Some(ScriptedResponse::new(200)),
        Some(ScriptedResponse::new(405)),
        None,
    ] {
        let server =
            ScriptedServer::new([opened.clone(), stuck.clone()].into_iter().chain(goodbye));
        let opened = OpenedLink::to(&server.connector()).await;
        opened.initialize().await.unwrap();
        let begin = Instant::now();
        let (sent, ()) = tokio::join!(opened.request(1), async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            opened.link.close().await;
        });
        assert!(matches!(sent, Err(LinkError::Closed)));
        assert!(begin.elapsed() <= Duration::from_secs(3));
        let last = server.received_requests().pop().unwrap();
        assert_eq!(last.method, Method::DELETE);
        assert_eq!(last.header("mcp-session-id"), Some("s1"));
        assert!(matches!(opened.notify().await, Err(LinkError::Closed)));
        opened.link.close().await;
        assert_eq!(
            (server.received_requests().len(), server.open_bodies()),
            (3, 0)
        );
    }
    let server = ScriptedServer::new([]);
    let opened = OpenedLink::to(&server.connector()).await;
    opened.link.close().await;
    assert!(server.received_requests().is_empty());
}

#[tokio::test(start_paused = true)]
async fn headers_of_the_user_are_not_sent_to_another_machine_without_encryption() {
    for (url, refused) in [
        ("http://203.0.113.1/mcp", true),
        ("HTTP:/\\203.0.113.1/mcp", true),
        ("http://localhost.example/mcp", true),
        ("https://203.0.113.1/mcp", false),
        ("http://127.0.0.1:1/mcp", false),
        ("http://localhost:1/mcp", false),
    ] {
        let connector = HttpConnector::new(url).unwrap();
        assert_eq!(connector.is_unencrypted_remote(), refused, "{url}");
        let agent = connector.clone().header("user-agent", "me/1.0").unwrap();
        let secret = connector.header("x-key", "s3cret").unwrap();
        let allowed = HttpClientOptions::new().allow_unencrypted_headers(true);
        let inbox = || Arc::new(RecordingInbox::default());
        assert!(agent.open(inbox()).await.is_ok(), "{url}");
        assert!(
            secret.clone().options(allowed).open(inbox()).await.is_ok(),
            "{url}"
        );
        match secret.open(inbox()).await {
            Ok(_) => assert!(!refused, "{url}"),
            Err(error) => {
                assert!(refused, "{url}");
                let text = error.to_string();
                assert!(text.contains("x-key") && !text.contains("s3cret"), "{text}");
            }
        }
    }
}
