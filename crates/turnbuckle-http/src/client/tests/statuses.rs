//! What each status and each body means.

use super::*;

/// What became of a request that is answered so, and what the inbox got.
async fn ask(reply: Reply) -> (Result<(), LinkError>, Vec<String>) {
    let script = Script::new([reply]);
    let joined = Joined::to(&script.connector()).await;
    let carried = joined.request(1).await;
    assert_eq!(script.open_bodies(), 0);
    (carried, joined.inbox.frames())
}

async fn fault(reply: Reply) -> LinkError {
    let (carried, frames) = ask(reply).await;
    assert_eq!(frames, [""; 0]);
    carried.unwrap_err()
}

#[tokio::test(start_paused = true)]
async fn a_request_is_posted_with_its_headers_and_answered() {
    let script = Script::new([Reply::json(200, answer(1))]);
    let connector = script
        .connector()
        .header("Authorization", "Bearer s3cret")
        .unwrap()
        .header("accept", "text/html")
        .unwrap();
    assert!(!format!("{connector:?}").contains("s3cret"));
    assert_eq!(connector.describe(), "http://server.example/mcp");
    let joined = Joined::to(&connector).await;
    joined.request(1).await.unwrap();
    assert_eq!(joined.inbox.frames(), [answer(1)]);
    assert_eq!(joined.inbox.exchanges(), [Some(RequestId::from(1))]);
    let seen = &script.seen()[0];
    assert_eq!((&seen.method, &*seen.uri), (&Method::POST, URL));
    assert_eq!(seen.header("content-type"), Some("application/json"));
    let accept = Some("application/json, text/event-stream");
    assert_eq!(seen.header("accept"), accept);
    assert_eq!(seen.header("mcp-method"), Some("m"));
    assert_eq!(seen.header("authorization"), Some("Bearer s3cret"));
    assert_eq!(seen.header("mcp-session-id"), None);
    assert!(seen.body.starts_with(b"{\"jsonrpc\""));
}

#[tokio::test(start_paused = true)]
async fn what_is_no_answer_is_a_violation() {
    for (reply, said) in [
        (Reply::new(202), "not answered"),
        (Reply::new(204), "not answered"),
        (Reply::new(200), "does not say of which type"),
        (
            Reply::new(200)
                .header("content-type", "text/html; charset=utf-8")
                .text("<html>"),
            "type text/html,",
        ),
    ] {
        let error = fault(reply).await;
        assert!(matches!(error, LinkError::Violation { .. }), "{error}");
        assert!(error.to_string().contains(said), "{error}");
    }
    let (carried, frames) = ask(Reply::json(200, answer(2))).await;
    assert!(matches!(carried, Err(LinkError::Violation { .. })));
    assert_eq!(frames, [answer(2)]);
}

#[tokio::test(start_paused = true)]
async fn a_status_without_an_error_of_the_protocol_is_told_with_its_beginning() {
    for (status, body, shown) in [
        (400, "", ""),
        (
            404,
            "<html>not\x1b[31m found\n</html>",
            "<html>not[31m found</html>",
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
        let error = fault(Reply::new(status).text(body)).await;
        let LinkError::Status { status: said, body } = error else {
            panic!("{error}");
        };
        assert_eq!((said, &*body), (status, shown));
    }
    let long = "é".repeat(5000);
    let LinkError::Status { body, .. } = fault(Reply::new(500).text(long)).await else {
        panic!();
    };
    assert_eq!(body.chars().count(), 512);
    // A body that does not come is not waited for.
    let error = fault(Reply::new(502).text("half").then(Piece::Hang)).await;
    assert!(
        matches!(error, LinkError::Status { status: 502, .. }),
        "{error}"
    );
    // A body without an end is read no further than is shown.
    let endless = (0..100).fold(Reply::new(500), |reply, _| reply.text("x".repeat(4096)));
    let error = fault(endless.then(Piece::Hang)).await;
    assert!(
        matches!(error, LinkError::Status { status: 500, .. }),
        "{error}"
    );
}

#[tokio::test(start_paused = true)]
async fn an_error_of_the_protocol_is_an_answer_under_any_status() {
    for status in [400, 404, 405, 406, 429, 500, 503] {
        for error in [
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}"#,
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"no"}}"#,
            r#"{"jsonrpc":"2.0","error":{"code":-32000,"message":"no"}}"#,
        ] {
            let (carried, frames) = ask(Reply::json(status, error)).await;
            carried.unwrap();
            assert_eq!(frames, [error]);
        }
    }
    // One that is about something else answers nothing.
    let other = r#"{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"no"}}"#;
    let (carried, frames) = ask(Reply::json(400, other)).await;
    assert!(matches!(
        carried,
        Err(LinkError::Status { status: 400, .. })
    ));
    assert_eq!(frames, [other]);
}

#[tokio::test(start_paused = true)]
async fn who_is_not_let_in_is_told_the_challenge() {
    let error = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"no"}}"#;
    for status in [401, 403] {
        let reply = Reply::json(status, error)
            .header("www-authenticate", "Bearer a=\"b\"")
            .header("www-authenticate", "Basic");
        let error = fault(reply).await;
        let LinkError::Unauthorized {
            status: said,
            challenge,
        } = error
        else {
            panic!("{error}");
        };
        assert_eq!(said, status);
        assert_eq!(challenge.as_deref(), Some("Bearer a=\"b\", Basic"));
    }
    let error = fault(Reply::new(401)).await;
    assert!(matches!(
        error,
        LinkError::Unauthorized {
            challenge: None,
            ..
        }
    ));
}

#[tokio::test(start_paused = true)]
async fn a_message_over_the_cap_is_not_taken() {
    let limit = 64;
    for (size, fits) in [(limit, true), (limit + 1, false)] {
        let padding = " ".repeat(size - answer(1).len());
        let reply = Reply::json(200, answer(1)).text(padding).then(Piece::Hang);
        let reply = if fits {
            Reply::json(200, answer(1))
        } else {
            reply
        };
        let script = Script::new([reply]);
        let options = HttpClientOptions::new().max_message(limit);
        let joined = Joined::to(&script.connector().limits(options)).await;
        let carried = joined.request(1).await;
        assert_eq!(carried.is_ok(), fits);
        assert!(fits || matches!(carried, Err(LinkError::TooLarge { limit: 64 })));
    }
}

#[tokio::test(start_paused = true)]
async fn what_happened_below_is_told_apart() {
    let error = fault(Reply::fails(HttpFailure::unreachable("refused"))).await;
    assert!(matches!(error, LinkError::Unreachable { .. }), "{error}");
    let error = fault(Reply::fails(HttpFailure::broken("reset"))).await;
    assert!(matches!(error, LinkError::Broken { .. }), "{error}");
    let half = Reply::json(200, "{\"jsonrpc\":").then(Piece::Break);
    let error = fault(half).await;
    assert!(matches!(error, LinkError::Broken { .. }), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_notification_wants_no_answer() {
    for reply in [
        Reply::new(202),
        Reply::new(204),
        Reply::new(200).text("Accepted"),
        Reply::json(200, answer(1)),
        Reply::events().then(Piece::Hang),
        Reply::new(202).then(Piece::Hang),
    ] {
        let script = Script::new([reply]);
        let joined = Joined::to(&script.connector()).await;
        joined.notify().await.unwrap();
        assert_eq!(joined.inbox.frames(), [""; 0]);
        assert_eq!(script.open_bodies(), 0);
    }
    let refused = r#"{"jsonrpc":"2.0","error":{"code":-32000,"message":"no"}}"#;
    let script = Script::new([Reply::json(400, refused)]);
    let joined = Joined::to(&script.connector()).await;
    let error = joined.notify().await.unwrap_err();
    assert!(
        matches!(error, LinkError::Status { status: 400, .. }),
        "{error}"
    );
    assert_eq!(joined.inbox.frames(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn the_session_travels_with_everything_after_the_handshake() {
    let opened = Reply::json(200, answer(0)).header("mcp-session-id", "s1");
    let script = Script::new([
        opened.clone(),
        Reply::json(200, answer(1)).header("mcp-session-id", "s2"),
        Reply::json(
            404,
            r#"{"jsonrpc":"2.0","error":{"code":-32001,"message":"gone"}}"#,
        ),
        Reply::json(200, answer(0)),
        Reply::new(202),
    ]);
    let joined = Joined::to(&script.connector()).await;
    joined.initialize().await.unwrap();
    joined.request(1).await.unwrap();
    let error = joined.request(2).await.unwrap_err();
    assert!(matches!(error, LinkError::SessionGone), "{error}");
    joined.initialize().await.unwrap();
    joined.notify().await.unwrap();
    let sent: Vec<_> = script.seen();
    let sent: Vec<_> = sent.iter().map(|it| it.header("mcp-session-id")).collect();
    assert_eq!(sent, [None, Some("s1"), Some("s1"), None, None]);
}

#[tokio::test(start_paused = true)]
async fn a_session_id_that_is_no_word_is_refused() {
    for id in ["", "a b", "caf\u{e9}", "a\tb"] {
        let script = Script::new([Reply::json(200, answer(0)).header("mcp-session-id", id)]);
        let joined = Joined::to(&script.connector()).await;
        let error = joined.initialize().await.unwrap_err();
        assert!(error.to_string().contains("session id"), "{error}");
        assert_eq!(joined.inbox.frames(), [""; 0]);
    }
    let twice = Reply::json(200, answer(0))
        .header("mcp-session-id", "a")
        .header("mcp-session-id", "b");
    let joined = Joined::to(&Script::new([twice]).connector()).await;
    assert!(joined.initialize().await.is_err());
}

// requirement: 97f9f9a880c6
#[tokio::test(start_paused = true)]
async fn redirects_stay_within_the_origin_and_the_method() {
    let to = |status, location: &str| Reply::new(status).header("location", location);
    let script = Script::new([
        to(307, "/mcp/?key=s3cret"),
        to(308, "http://server.example/other"),
        Reply::json(200, answer(1)),
    ]);
    let joined = Joined::to(&script.connector()).await;
    joined.request(1).await.unwrap();
    let seen = script.seen();
    assert_eq!(seen[2].uri, "http://server.example/other");
    assert_eq!(
        (&seen[2].method, &seen[2].body),
        (&Method::POST, &seen[0].body)
    );
    for (reply, said) in [
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
        (Reply::new(307), "leads nowhere"),
    ] {
        let error = fault(reply).await.to_string();
        assert!(error.contains(said), "{error}");
        assert!(!error.contains("s3cret"), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn so_many_redirects_are_followed() {
    for (options, most) in [
        (HttpClientOptions::new(), 5),
        (HttpClientOptions::new().max_redirects(2), 2),
        (HttpClientOptions::new().max_redirects(0), 0),
    ] {
        for more in [0, 1] {
            let moved = || Reply::new(307).header("location", "/mcp");
            let replies = (0..most + more).map(|_| moved());
            let script = Script::new(replies.chain([Reply::json(200, answer(1))]));
            let joined = Joined::to(&script.connector().limits(options.clone())).await;
            let asked = joined.request(1).await;
            assert_eq!(script.seen().len(), most + 1);
            match asked {
                Ok(()) => assert_eq!(more, 0),
                Err(error) => {
                    assert_eq!(more, 1);
                    let said =
                        format!("more than {most} redirects (HttpClientOptions::max_redirects)");
                    assert!(error.to_string().contains(&said), "{error}");
                }
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn dropping_a_carrying_closes_its_exchange_at_once() {
    let script = Script::new([Reply::events().then(Piece::Hang)]);
    let joined = Joined::to(&script.connector()).await;
    let mut carrying = Box::pin(joined.request(1));
    let soon = tokio::time::timeout(Duration::from_secs(1), carrying.as_mut()).await;
    assert!(soon.is_err());
    assert_eq!(script.open_bodies(), 1);
    drop(carrying);
    assert_eq!(script.open_bodies(), 0);
}

#[tokio::test(start_paused = true)]
async fn dropping_the_link_ends_what_is_carried() {
    let script = Script::new([Reply::events().then(Piece::Hang)]);
    let joined = Joined::to(&script.connector()).await;
    let id = RequestId::from(1);
    joined.inbox.expect(id.clone());
    let carrying = joined.link.carry(parcel(ParcelKind::Request(id)));
    let (carried, ()) = tokio::join!(carrying, async move {
        tokio::time::sleep(Duration::from_secs(1)).await;
        drop(joined);
    });
    assert!(matches!(carried, Err(LinkError::Closed)));
    assert_eq!(script.open_bodies(), 0);
}

#[tokio::test(start_paused = true)]
async fn taking_leave_takes_so_long_at_most() {
    let limit = Duration::from_secs(5);
    let just_in_time = limit - Duration::from_millis(1);
    let opened = || Reply::json(200, answer(0)).header("mcp-session-id", "s1");
    for (goodbye, took) in [
        (Some(Reply::new(200).after(just_in_time)), just_in_time),
        (Some(Reply::new(200).after(2 * limit)), limit),
        (None, limit),
    ] {
        let script = Script::new([opened()].into_iter().chain(goodbye));
        let options = HttpClientOptions::new().close_timeout(limit);
        let joined = Joined::to(&script.connector().limits(options)).await;
        joined.initialize().await.unwrap();
        let begin = Instant::now();
        joined.link.close().await;
        assert_eq!(begin.elapsed(), took);
        assert_eq!(script.seen()[1].method, Method::DELETE);
    }
}

#[tokio::test(start_paused = true)]
async fn closing_ends_what_is_carried_and_the_session() {
    let opened = Reply::json(200, answer(0)).header("mcp-session-id", "s1");
    let stuck = Reply::events().then(Piece::Hang);
    for goodbye in [Some(Reply::new(200)), Some(Reply::new(405)), None] {
        let script = Script::new([opened.clone(), stuck.clone()].into_iter().chain(goodbye));
        let joined = Joined::to(&script.connector()).await;
        joined.initialize().await.unwrap();
        let begin = Instant::now();
        let (carried, ()) = tokio::join!(joined.request(1), async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            joined.link.close().await;
        });
        assert!(matches!(carried, Err(LinkError::Closed)));
        assert!(begin.elapsed() <= Duration::from_secs(3));
        let last = script.seen().pop().unwrap();
        assert_eq!(last.method, Method::DELETE);
        assert_eq!(last.header("mcp-session-id"), Some("s1"));
        assert!(matches!(joined.notify().await, Err(LinkError::Closed)));
        joined.link.close().await;
        assert_eq!((script.seen().len(), script.open_bodies()), (3, 0));
    }
    let script = Script::new([]);
    let joined = Joined::to(&script.connector()).await;
    joined.link.close().await;
    assert!(script.seen().is_empty());
}
