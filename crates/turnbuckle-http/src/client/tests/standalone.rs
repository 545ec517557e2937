//! The server's own stream.

use super::*;

const NOTE: &str = r#"{"jsonrpc":"2.0","method":"note"}"#;

async fn open(replies: impl IntoIterator<Item = ScriptedResponse>) -> (ScriptedServer, OpenedLink) {
    let opened = ScriptedResponse::json(200, answer(0)).header("mcp-session-id", "s1");
    let server = ScriptedServer::new([opened].into_iter().chain(replies));
    let opened = OpenedLink::to(&server.connector()).await;
    opened.initialize().await.unwrap();
    opened.complete_handshake().await;
    (server, opened)
}

/// Waits until everything that is scheduled has happened.
async fn later() {
    tokio::time::sleep(Duration::from_secs(3600)).await;
}

#[tokio::test(start_paused = true)]
async fn the_servers_own_stream_is_open_when_the_handshake_is_over() {
    let stream = ScriptedResponse::events()
        .text(format!("id: 1\ndata: {NOTE}\n\n"))
        .then(BodyPart::Hang);
    let begin = Instant::now();
    let (server, opened) = open([stream, ScriptedResponse::new(200)]).await;
    assert_eq!(begin.elapsed(), Duration::ZERO);
    let received = &server.received_requests()[1];
    assert_eq!(received.method, Method::GET);
    assert_eq!(received.header("accept"), Some("text/event-stream"));
    assert_eq!(received.header("mcp-session-id"), Some("s1"));
    assert_eq!(received.header("mcp-protocol-version"), Some("2025-11-25"));
    assert_eq!(received.header("last-event-id"), None);
    later().await;
    assert_eq!(opened.inbox.frames()[1], NOTE);
    assert_eq!(opened.inbox.exchanges()[1], None);
    opened.link.close().await;
    assert_eq!(server.open_bodies(), 0);
    assert_eq!(opened.inbox.failures(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn the_modern_era_has_no_standalone_stream() {
    let server = ScriptedServer::new([]);
    let opened = OpenedLink::to(&server.connector()).await;
    opened
        .link
        .complete_handshake(Revision::NEWEST.features())
        .await;
    later().await;
    assert!(server.received_requests().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_server_may_offer_no_standalone_stream() {
    for status in [400, 401, 404, 405, 406] {
        let begin = Instant::now();
        let (server, opened) = open([ScriptedResponse::new(status)]).await;
        assert_eq!(begin.elapsed(), Duration::ZERO);
        later().await;
        assert_eq!(server.received_requests().len(), 2, "{status}");
        assert_eq!(opened.inbox.failures(), [""; 0]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_answer_does_not_block_the_handshake() {
    let begin = Instant::now();
    let (_, opened) = open([]).await;
    assert_eq!(begin.elapsed(), Duration::from_millis(500));
    // There is no answer to the goodbye either.
    opened.link.close().await;
    assert_eq!(begin.elapsed(), Duration::from_millis(2500));
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_ends_is_resumed_after_the_last_event() {
    let (server, opened) = open([
        ScriptedResponse::events().text("id: 5\nretry: 2000\ndata:\n\n"),
        ScriptedResponse::new(503),
        ScriptedResponse::events()
            .text(format!("data: {NOTE}\n\n"))
            .then(BodyPart::Hang),
    ])
    .await;
    later().await;
    let received = server.received_requests();
    let ids: Vec<_> = received
        .iter()
        .map(|it| it.header("last-event-id"))
        .collect();
    assert_eq!(ids, [None, None, Some("5"), Some("5")]);
    assert_eq!(received[2].at - received[1].at, Duration::from_secs(2));
    assert!(received[3].at - received[2].at >= Duration::from_secs(4));
    assert_eq!(opened.inbox.frames()[1], NOTE);
}

#[tokio::test(start_paused = true)]
async fn a_stream_whose_last_event_was_forgotten_starts_anew() {
    let broken = || ScriptedResponse::events().text("id: 5\ndata:\n\n");
    for status in [400, 410] {
        let replies = [broken(), ScriptedResponse::new(status)];
        let (server, opened) = open(replies.into_iter().chain([
            ScriptedResponse::events().text(format!("data: {NOTE}\n\n")),
            ScriptedResponse::new(405),
        ]))
        .await;
        later().await;
        let received = server.received_requests();
        let ids: Vec<_> = received
            .iter()
            .map(|it| it.header("last-event-id"))
            .collect();
        // Refused without a place it is given up.
        assert_eq!(ids, [None, None, Some("5"), None, None], "{status}");
        assert!(
            received[3].at - received[2].at >= Duration::from_secs(2),
            "{status}"
        );
        assert_eq!(opened.inbox.frames()[1], NOTE);
        assert_eq!(opened.inbox.failures(), [""; 0]);
    }
    let (server, _joined) = open([broken(), ScriptedResponse::new(401)]).await;
    later().await;
    assert_eq!(server.received_requests().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_session_that_ends_is_reported() {
    let (_, opened) = open([ScriptedResponse::events(), ScriptedResponse::new(404)]).await;
    later().await;
    assert_eq!(
        opened.inbox.failures(),
        ["the server no longer knows the session"]
    );
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_always_ends_is_abandoned() {
    let (server, opened) = open((0..100).map(|_| ScriptedResponse::events())).await;
    later().await;
    assert_eq!(server.received_requests().len(), 2 + 10);
    assert_eq!(opened.inbox.failures(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_long_quiet_stream_counts_as_progress() {
    let minute = || ScriptedResponse::events().then(BodyPart::Wait(60_000));
    let last = ScriptedResponse::events().text(format!("data: {NOTE}\n\n"));
    let replies = (0..30).map(|_| minute()).chain([last]);
    let (_, opened) = open(replies).await;
    later().await;
    assert_eq!(opened.inbox.frames()[1], NOTE);
}

#[tokio::test(start_paused = true)]
async fn an_event_over_the_limit_is_skipped() {
    let long = format!("data: {}\n\ndata: {NOTE}\n\n", "x".repeat(5000));
    let opened = ScriptedResponse::json(200, answer(0));
    let server = ScriptedServer::new([
        opened,
        ScriptedResponse::events().text(long).then(BodyPart::Hang),
    ]);
    let options = HttpClientOptions::new().max_message_bytes(2048);
    let opened = OpenedLink::to(&server.connector().options(options)).await;
    opened.initialize().await.unwrap();
    opened.complete_handshake().await;
    later().await;
    assert_eq!(opened.inbox.frames()[1..], ["(over 2048)", NOTE]);
}

#[tokio::test(start_paused = true)]
async fn dropping_the_link_drops_the_stream() {
    let (server, opened) = open([ScriptedResponse::events().then(BodyPart::Hang)]).await;
    assert_eq!(server.open_bodies(), 1);
    let OpenedLink { link, inbox } = opened;
    drop(link);
    later().await;
    assert_eq!(server.open_bodies(), 0);
    assert_eq!(Arc::strong_count(&inbox), 1);
    assert_eq!(server.received_requests().len(), 2);
}
