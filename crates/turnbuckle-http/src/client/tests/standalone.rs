//! The server's own stream.

use super::*;

const NOTE: &str = r#"{"jsonrpc":"2.0","method":"note"}"#;

async fn open(replies: impl IntoIterator<Item = Reply>) -> (Script, Joined) {
    let opened = Reply::json(200, answer(0)).header("mcp-session-id", "s1");
    let script = Script::new([opened].into_iter().chain(replies));
    let joined = Joined::to(&script.connector()).await;
    joined.initialize().await.unwrap();
    joined.established().await;
    (script, joined)
}

/// Time enough for everything that is scheduled.
async fn later() {
    tokio::time::sleep(Duration::from_secs(3600)).await;
}

#[tokio::test(start_paused = true)]
async fn the_servers_own_stream_is_open_when_the_handshake_is_over() {
    let stream = Reply::events()
        .text(format!("id: 1\ndata: {NOTE}\n\n"))
        .then(Piece::Hang);
    let begin = Instant::now();
    let (script, joined) = open([stream, Reply::new(200)]).await;
    assert_eq!(begin.elapsed(), Duration::ZERO);
    let seen = &script.seen()[1];
    assert_eq!(seen.method, Method::GET);
    assert_eq!(seen.header("accept"), Some("text/event-stream"));
    assert_eq!(seen.header("mcp-session-id"), Some("s1"));
    assert_eq!(seen.header("mcp-protocol-version"), Some("2025-11-25"));
    assert_eq!(seen.header("last-event-id"), None);
    later().await;
    assert_eq!(joined.inbox.frames()[1], NOTE);
    assert_eq!(joined.inbox.exchanges()[1], None);
    joined.link.close().await;
    assert_eq!(script.open_bodies(), 0);
    assert_eq!(joined.inbox.lost(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn the_modern_era_has_none() {
    let script = Script::new([]);
    let joined = Joined::to(&script.connector()).await;
    joined.link.established(Revision::NEWEST.features()).await;
    later().await;
    assert!(script.seen().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_server_need_not_have_one() {
    for status in [400, 401, 404, 405, 406] {
        let begin = Instant::now();
        let (script, joined) = open([Reply::new(status)]).await;
        assert_eq!(begin.elapsed(), Duration::ZERO);
        later().await;
        assert_eq!(script.seen().len(), 2, "{status}");
        assert_eq!(joined.inbox.lost(), [""; 0]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_answer_holds_nobody_up() {
    let begin = Instant::now();
    let (_, joined) = open([]).await;
    assert_eq!(begin.elapsed(), Duration::from_millis(500));
    // There is no answer to the goodbye either.
    joined.link.close().await;
    assert_eq!(begin.elapsed(), Duration::from_millis(2500));
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_ends_is_taken_up_again_where_it_was() {
    let (script, joined) = open([
        Reply::events().text("id: 5\nretry: 2000\ndata:\n\n"),
        Reply::new(503),
        Reply::events()
            .text(format!("data: {NOTE}\n\n"))
            .then(Piece::Hang),
    ])
    .await;
    later().await;
    let seen = script.seen();
    let ids: Vec<_> = seen.iter().map(|it| it.header("last-event-id")).collect();
    assert_eq!(ids, [None, None, Some("5"), Some("5")]);
    assert_eq!(seen[2].at - seen[1].at, Duration::from_secs(2));
    assert!(seen[3].at - seen[2].at >= Duration::from_secs(4));
    assert_eq!(joined.inbox.frames()[1], NOTE);
}

#[tokio::test(start_paused = true)]
async fn a_stream_whose_place_was_forgotten_begins_anew() {
    let broken = || Reply::events().text("id: 5\ndata:\n\n");
    for status in [400, 410] {
        let replies = [broken(), Reply::new(status)];
        let (script, joined) = open(replies.into_iter().chain([
            Reply::events().text(format!("data: {NOTE}\n\n")),
            Reply::new(405),
        ]))
        .await;
        later().await;
        let seen = script.seen();
        let ids: Vec<_> = seen.iter().map(|it| it.header("last-event-id")).collect();
        // Refused without a place it is given up.
        assert_eq!(ids, [None, None, Some("5"), None, None], "{status}");
        assert!(
            seen[3].at - seen[2].at >= Duration::from_secs(2),
            "{status}"
        );
        assert_eq!(joined.inbox.frames()[1], NOTE);
        assert_eq!(joined.inbox.lost(), [""; 0]);
    }
    let (script, _joined) = open([broken(), Reply::new(401)]).await;
    later().await;
    assert_eq!(script.seen().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_session_that_ends_meanwhile_is_told() {
    let (_, joined) = open([Reply::events(), Reply::new(404)]).await;
    later().await;
    assert_eq!(
        joined.inbox.lost(),
        ["the server no longer knows the session"]
    );
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_always_ends_is_given_up() {
    let (script, joined) = open((0..100).map(|_| Reply::events())).await;
    later().await;
    assert_eq!(script.seen().len(), 2 + 10);
    assert_eq!(joined.inbox.lost(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_quiet_stream_that_stands_long_is_worth_taking_up() {
    let minute = || Reply::events().then(Piece::Wait(60_000));
    let last = Reply::events().text(format!("data: {NOTE}\n\n"));
    let replies = (0..30).map(|_| minute()).chain([last]);
    let (_, joined) = open(replies).await;
    later().await;
    assert_eq!(joined.inbox.frames()[1], NOTE);
}

#[tokio::test(start_paused = true)]
async fn an_event_over_the_cap_is_skipped() {
    let long = format!("data: {}\n\ndata: {NOTE}\n\n", "x".repeat(5000));
    let opened = Reply::json(200, answer(0));
    let script = Script::new([opened, Reply::events().text(long).then(Piece::Hang)]);
    let options = HttpClientOptions::new().max_message(2048);
    let joined = Joined::to(&script.connector().limits(options)).await;
    joined.initialize().await.unwrap();
    joined.established().await;
    later().await;
    assert_eq!(joined.inbox.frames()[1..], ["(over 2048)", NOTE]);
}

#[tokio::test(start_paused = true)]
async fn dropping_the_link_drops_the_stream() {
    let (script, joined) = open([Reply::events().then(Piece::Hang)]).await;
    assert_eq!(script.open_bodies(), 1);
    let Joined { link, inbox } = joined;
    drop(link);
    later().await;
    assert_eq!(script.open_bodies(), 0);
    assert_eq!(Arc::strong_count(&inbox), 1);
    assert_eq!(script.seen().len(), 2);
}
