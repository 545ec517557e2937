//! Answers that are streams, and how they are taken up again.

use super::*;

const NOTE: &str = r#"{"jsonrpc":"2.0","method":"note"}"#;

fn data(id: &str, text: &str) -> String {
    format!("id: {id}\ndata: {text}\n\n")
}

/// Opens a link of the legacy era to a server without a stream of its own.
async fn legacy(
    replies: impl IntoIterator<Item = ScriptedResponse>,
) -> (ScriptedServer, OpenedLink) {
    legacy_with(HttpClientOptions::new(), replies).await
}

async fn legacy_with(
    options: HttpClientOptions,
    replies: impl IntoIterator<Item = ScriptedResponse>,
) -> (ScriptedServer, OpenedLink) {
    let opened = ScriptedResponse::json(200, answer(0)).header("mcp-session-id", "s1");
    let server = ScriptedServer::new(
        [opened, ScriptedResponse::new(405)]
            .into_iter()
            .chain(replies),
    );
    let opened = OpenedLink::to(&server.connector().options(options)).await;
    opened.initialize().await.unwrap();
    opened.complete_handshake().await;
    (server, opened)
}

#[tokio::test(start_paused = true)]
async fn a_stream_is_read_until_the_request_is_answered() {
    let reply = ScriptedResponse::events()
        .text(format!(
            ": hello\n\nevent: message\ndata: {NOTE}\n\nevent: other\ndata: x\n\n"
        ))
        .then(BodyPart::Wait(1000))
        .text(format!("data: {}\r\n\r\ndata: {NOTE}\n\n", answer(1)))
        .then(BodyPart::Hang);
    let server = ScriptedServer::new([reply]);
    let opened = OpenedLink::to(&server.connector()).await;
    opened.request(1).await.unwrap();
    assert_eq!(opened.inbox.frames(), [NOTE.to_owned(), answer(1)]);
    assert_eq!(server.open_bodies(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_stream_of_the_modern_era_is_never_resumed() {
    for end in [None, Some(BodyPart::Break)] {
        let reply = ScriptedResponse::events().text(data("7", NOTE));
        let reply = end.into_iter().fold(reply, ScriptedResponse::then);
        let server = ScriptedServer::new([reply]);
        let opened = OpenedLink::to(&server.connector()).await;
        opened
            .link
            .complete_handshake(Revision::NEWEST.features())
            .await;
        let error = opened.request(1).await.unwrap_err();
        assert!(matches!(error, LinkError::ConnectionLost { .. }), "{error}");
        assert_eq!(server.received_requests().len(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_stream_without_ids_cannot_be_resumed() {
    let reply = ScriptedResponse::events().text(format!("data: {NOTE}\n\n"));
    let (server, opened) = legacy([reply]).await;
    let error = opened.request(1).await.unwrap_err();
    assert!(matches!(error, LinkError::ConnectionLost { .. }), "{error}");
    assert_eq!(server.received_requests().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_stream_is_resumed_after_the_delay_of_its_server() {
    let (server, opened) = legacy([
        ScriptedResponse::events()
            .text("id: 7-0\nretry: 500\ndata: \n\n")
            .then(BodyPart::Wait(50)),
        ScriptedResponse::events()
            .text(data("7-1", NOTE))
            .then(BodyPart::Break),
        ScriptedResponse::events().text(data("7-2", &answer(1))),
    ])
    .await;
    let begin = Instant::now();
    opened.request(1).await.unwrap();
    assert_eq!(opened.inbox.frames()[1..], [NOTE.to_owned(), answer(1)]);
    assert_eq!(opened.inbox.exchanges()[2], Some(RequestId::from(1)));
    let received = server.received_requests();
    let again = &received[3];
    assert_eq!((&again.method, &*again.uri), (&Method::GET, URL));
    assert_eq!(again.header("accept"), Some("text/event-stream"));
    assert_eq!(again.header("last-event-id"), Some("7-0"));
    assert_eq!(again.header("mcp-session-id"), Some("s1"));
    assert_eq!(again.header("mcp-protocol-version"), Some("2025-11-25"));
    let wait = (again.at - begin).as_millis();
    assert!((550..=601).contains(&wait), "{wait}");
    assert_eq!(received[4].header("last-event-id"), Some("7-1"));
}

#[tokio::test(start_paused = true)]
async fn the_reconnect_delay_applies_where_the_server_names_none() {
    let set = HttpClientOptions::new().reconnect_delay(Duration::from_millis(200));
    let set = set.max_reconnect_delay(Duration::from_millis(700));
    for (options, retry, wait) in [
        (HttpClientOptions::new(), "", 1000),
        (set.clone(), "", 200),
        (set.clone(), "retry: 600\n", 600),
        (set.clone(), "retry: 700\n", 700),
        (set.clone(), "retry: 701\n", 700),
        (set.reconnect_delay(Duration::from_secs(9)), "", 700),
    ] {
        let first = ScriptedResponse::events().text(format!("id: 1\n{retry}data:\n\n"));
        let last = ScriptedResponse::events().text(data("2", &answer(1)));
        let (_, opened) = legacy_with(options, [first, last]).await;
        let begin = Instant::now();
        opened.request(1).await.unwrap();
        assert_eq!(begin.elapsed(), Duration::from_millis(wait), "{retry}");
    }
}

#[tokio::test(start_paused = true)]
async fn reconnects_without_progress_are_limited() {
    let set = HttpClientOptions::new().max_fruitless_reconnects(3);
    for (options, most) in [(HttpClientOptions::new(), 10), (set, 3)] {
        for more in [0, 1] {
            let first = ScriptedResponse::events().text(data("1", NOTE));
            let empty = (0..most - 1 + more).map(|_| ScriptedResponse::events());
            let last = ScriptedResponse::events().text(data("2", &answer(1)));
            let replies = [first].into_iter().chain(empty).chain([last]);
            let (server, opened) = legacy_with(options.clone(), replies).await;
            let asked = opened.request(1).await;
            assert_eq!(server.received_requests().len(), 3 + most);
            let Err(error) = asked else {
                assert_eq!(more, 0);
                continue;
            };
            assert!(matches!(error, LinkError::ConnectionLost { .. }), "{error}");
            let expected = "times in vain (HttpClientOptions::max_fruitless_reconnects)";
            assert!(error.to_string().contains(expected), "{error}");
            assert_eq!(more, 1);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn new_event_ids_count_as_progress() {
    let primed = |n: usize| ScriptedResponse::events().text(format!("id: {n}\ndata:\n\n"));
    let last = ScriptedResponse::events().text(data("last", &answer(1)));
    let replies = (0..200).map(primed).chain([last]);
    let (server, opened) = legacy(replies).await;
    opened.request(1).await.unwrap();
    assert_eq!(server.received_requests().len(), 2 + 201);
}

#[tokio::test(start_paused = true)]
async fn reconnects_of_one_stream_are_limited_in_total() {
    for (news, answered) in [(25, true), (26, false)] {
        let replies =
            (0..news).map(|n| ScriptedResponse::events().text(data(&n.to_string(), NOTE)));
        let last = ScriptedResponse::events().text(data("last", &answer(1)));
        let options = HttpClientOptions::new().max_reconnects(25);
        let (server, opened) = legacy_with(options, replies.chain([last])).await;
        let asked = opened.request(1).await;
        assert_eq!(asked.is_ok(), answered);
        assert_eq!(server.received_requests().len(), 3 + 25);
        if let Err(error) = asked {
            let expected = "taken up again 25 times (HttpClientOptions::max_reconnects)";
            assert!(error.to_string().contains(expected), "{error}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_cannot_be_resumed_reports_why() {
    let first = || ScriptedResponse::events().text(data("1", NOTE));
    for (reply, expected) in [
        (ScriptedResponse::new(404), "no longer knows the session"),
        (ScriptedResponse::new(401), "authorization"),
        (ScriptedResponse::new(403), "does not allow this"),
        (
            ScriptedResponse::new(405),
            "cannot be taken up again: the server answered with HTTP 405",
        ),
        (ScriptedResponse::json(200, "{}"), "JSON where a stream"),
    ] {
        let is_session = expected.ends_with("session");
        let (server, opened) = legacy([first(), reply]).await;
        let error = opened.request(1).await.unwrap_err();
        // Its POST was taken.
        assert!(matches!(error, LinkError::ConnectionLost { .. }), "{error}");
        assert!(error.to_string().contains(expected), "{error}");
        assert_eq!(server.received_requests().len(), 4);
        let failures = opened.inbox.failures();
        assert_eq!(failures.len(), usize::from(is_session), "{failures:?}");
        assert!(
            failures.iter().all(|it| it.contains(expected)),
            "{failures:?}"
        );
    }
    // What passes is tried again.
    let (_, opened) = legacy([
        first(),
        ScriptedResponse::new(503),
        ScriptedResponse::fails(HttpClientError::unreachable("refused")),
        ScriptedResponse::new(409),
        ScriptedResponse::events().text(data("2", &answer(1))),
    ])
    .await;
    opened.request(1).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_event_over_the_limit_ends_the_exchange() {
    let endless = (0..10).fold(ScriptedResponse::events().text("data: "), |reply, _| {
        reply.text("x".repeat(1024))
    });
    let server = ScriptedServer::new([endless.then(BodyPart::Hang)]);
    let options = HttpClientOptions::new().max_message_bytes(2048);
    let opened = OpenedLink::to(&server.connector().options(options)).await;
    let error = opened.request(1).await.unwrap_err();
    assert!(
        matches!(error, LinkError::MessageTooLarge { limit: 2048 }),
        "{error}"
    );
    assert_eq!(server.open_bodies(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_response_on_another_stream_ends_the_exchange() {
    let reply = ScriptedResponse::events()
        .then(BodyPart::Wait(1000))
        .text(": still here\n\n")
        .then(BodyPart::Hang);
    let server = ScriptedServer::new([reply]);
    let opened = OpenedLink::to(&server.connector()).await;
    let (carried, ()) = tokio::join!(opened.request(1), async {
        let frame = Frame::Message(answer(1).into());
        opened.inbox.receive(frame, None);
    });
    carried.unwrap();
}
