//! Answers that are streams, and how they are taken up again.

use super::*;

const NOTE: &str = r#"{"jsonrpc":"2.0","method":"note"}"#;

fn data(id: &str, text: &str) -> String {
    format!("id: {id}\ndata: {text}\n\n")
}

/// A link of the legacy era, whose server has no stream of its own.
async fn legacy(replies: impl IntoIterator<Item = Reply>) -> (Script, Joined) {
    legacy_with(HttpClientOptions::new(), replies).await
}

async fn legacy_with(
    options: HttpClientOptions,
    replies: impl IntoIterator<Item = Reply>,
) -> (Script, Joined) {
    let opened = Reply::json(200, answer(0)).header("mcp-session-id", "s1");
    let script = Script::new([opened, Reply::new(405)].into_iter().chain(replies));
    let joined = Joined::to(&script.connector().limits(options)).await;
    joined.initialize().await.unwrap();
    joined.established().await;
    (script, joined)
}

#[tokio::test(start_paused = true)]
async fn a_stream_is_read_until_the_request_is_answered() {
    let reply = Reply::events()
        .text(format!(
            ": hello\n\nevent: message\ndata: {NOTE}\n\nevent: other\ndata: x\n\n"
        ))
        .then(Piece::Wait(1000))
        .text(format!("data: {}\r\n\r\ndata: {NOTE}\n\n", answer(1)))
        .then(Piece::Hang);
    let script = Script::new([reply]);
    let joined = Joined::to(&script.connector()).await;
    joined.request(1).await.unwrap();
    assert_eq!(joined.inbox.frames(), [NOTE.to_owned(), answer(1)]);
    assert_eq!(script.open_bodies(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_stream_of_the_modern_era_is_never_taken_up_again() {
    for end in [None, Some(Piece::Break)] {
        let reply = Reply::events().text(data("7", NOTE));
        let reply = end.into_iter().fold(reply, Reply::then);
        let script = Script::new([reply]);
        let joined = Joined::to(&script.connector()).await;
        joined.link.established(Revision::NEWEST.features()).await;
        let error = joined.request(1).await.unwrap_err();
        assert!(matches!(error, LinkError::Broken { .. }), "{error}");
        assert_eq!(script.seen().len(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_stream_without_ids_cannot_be_taken_up_again() {
    let reply = Reply::events().text(format!("data: {NOTE}\n\n"));
    let (script, joined) = legacy([reply]).await;
    let error = joined.request(1).await.unwrap_err();
    assert!(matches!(error, LinkError::Broken { .. }), "{error}");
    assert_eq!(script.seen().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_stream_is_taken_up_again_when_its_server_says() {
    let (script, joined) = legacy([
        Reply::events()
            .text("id: 7-0\nretry: 500\ndata: \n\n")
            .then(Piece::Wait(50)),
        Reply::events().text(data("7-1", NOTE)).then(Piece::Break),
        Reply::events().text(data("7-2", &answer(1))),
    ])
    .await;
    let begin = Instant::now();
    joined.request(1).await.unwrap();
    assert_eq!(joined.inbox.frames()[1..], [NOTE.to_owned(), answer(1)]);
    assert_eq!(joined.inbox.exchanges()[2], Some(RequestId::from(1)));
    let seen = script.seen();
    let again = &seen[3];
    assert_eq!((&again.method, &*again.uri), (&Method::GET, URL));
    assert_eq!(again.header("accept"), Some("text/event-stream"));
    assert_eq!(again.header("last-event-id"), Some("7-0"));
    assert_eq!(again.header("mcp-session-id"), Some("s1"));
    assert_eq!(again.header("mcp-protocol-version"), Some("2025-11-25"));
    let wait = (again.at - begin).as_millis();
    assert!((550..=601).contains(&wait), "{wait}");
    assert_eq!(seen[4].header("last-event-id"), Some("7-1"));
}

#[tokio::test(start_paused = true)]
async fn when_a_stream_is_taken_up_again_is_settable_where_its_server_does_not_say() {
    let set = HttpClientOptions::new().retry(Duration::from_millis(200));
    let set = set.max_retry(Duration::from_millis(700));
    for (options, retry, wait) in [
        (HttpClientOptions::new(), "", 1000),
        (set.clone(), "", 200),
        (set.clone(), "retry: 600\n", 600),
        (set.clone(), "retry: 700\n", 700),
        (set.clone(), "retry: 701\n", 700),
        (set.retry(Duration::from_secs(9)), "", 700),
    ] {
        let first = Reply::events().text(format!("id: 1\n{retry}data:\n\n"));
        let last = Reply::events().text(data("2", &answer(1)));
        let (_, joined) = legacy_with(options, [first, last]).await;
        let begin = Instant::now();
        joined.request(1).await.unwrap();
        assert_eq!(begin.elapsed(), Duration::from_millis(wait), "{retry}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_always_hangs_up_is_given_up() {
    let set = HttpClientOptions::new().max_fruitless_reconnects(3);
    for (options, most) in [(HttpClientOptions::new(), 10), (set, 3)] {
        for more in [0, 1] {
            let first = Reply::events().text(data("1", NOTE));
            let empty = (0..most - 1 + more).map(|_| Reply::events());
            let last = Reply::events().text(data("2", &answer(1)));
            let replies = [first].into_iter().chain(empty).chain([last]);
            let (script, joined) = legacy_with(options.clone(), replies).await;
            let asked = joined.request(1).await;
            assert_eq!(script.seen().len(), 3 + most);
            let Err(error) = asked else {
                assert_eq!(more, 0);
                continue;
            };
            assert!(matches!(error, LinkError::Broken { .. }), "{error}");
            let said = "times in vain (HttpClientOptions::max_fruitless_reconnects)";
            assert!(error.to_string().contains(said), "{error}");
            assert_eq!(more, 1);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_moves_the_cursor_is_polled_for_long() {
    let primed = |n: usize| Reply::events().text(format!("id: {n}\ndata:\n\n"));
    let last = Reply::events().text(data("last", &answer(1)));
    let replies = (0..200).map(primed).chain([last]);
    let (script, joined) = legacy(replies).await;
    joined.request(1).await.unwrap();
    assert_eq!(script.seen().len(), 2 + 201);
}

#[tokio::test(start_paused = true)]
async fn news_do_not_refill_the_budget_of_a_life() {
    for (news, answered) in [(25, true), (26, false)] {
        let replies = (0..news).map(|n| Reply::events().text(data(&n.to_string(), NOTE)));
        let last = Reply::events().text(data("last", &answer(1)));
        let options = HttpClientOptions::new().max_reconnects(25);
        let (script, joined) = legacy_with(options, replies.chain([last])).await;
        let asked = joined.request(1).await;
        assert_eq!(asked.is_ok(), answered);
        assert_eq!(script.seen().len(), 3 + 25);
        if let Err(error) = asked {
            let said = "taken up again 25 times (HttpClientOptions::max_reconnects)";
            assert!(error.to_string().contains(said), "{error}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_cannot_be_taken_up_again_says_why() {
    let first = || Reply::events().text(data("1", NOTE));
    for (reply, said) in [
        (Reply::new(404), "no longer knows the session"),
        (Reply::new(401), "authorization"),
        (Reply::new(403), "does not allow this"),
        (
            Reply::new(405),
            "cannot be taken up again: the server answered with HTTP 405",
        ),
        (Reply::json(200, "{}"), "JSON where a stream"),
    ] {
        let is_session = said.ends_with("session");
        let (script, joined) = legacy([first(), reply]).await;
        let error = joined.request(1).await.unwrap_err();
        // Its POST was taken.
        assert!(matches!(error, LinkError::Broken { .. }), "{error}");
        assert!(error.to_string().contains(said), "{error}");
        assert_eq!(script.seen().len(), 4);
        let lost = joined.inbox.lost();
        assert_eq!(lost.len(), usize::from(is_session), "{lost:?}");
        assert!(lost.iter().all(|it| it.contains(said)), "{lost:?}");
    }
    // What passes is tried again.
    let (_, joined) = legacy([
        first(),
        Reply::new(503),
        Reply::fails(HttpFailure::unreachable("refused")),
        Reply::new(409),
        Reply::events().text(data("2", &answer(1))),
    ])
    .await;
    joined.request(1).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_event_over_the_cap_ends_the_exchange() {
    let endless = (0..10).fold(Reply::events().text("data: "), |reply, _| {
        reply.text("x".repeat(1024))
    });
    let script = Script::new([endless.then(Piece::Hang)]);
    let options = HttpClientOptions::new().max_message(2048);
    let joined = Joined::to(&script.connector().limits(options)).await;
    let error = joined.request(1).await.unwrap_err();
    assert!(
        matches!(error, LinkError::TooLarge { limit: 2048 }),
        "{error}"
    );
    assert_eq!(script.open_bodies(), 0);
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_came_another_way_ends_the_exchange() {
    let reply = Reply::events()
        .then(Piece::Wait(1000))
        .text(": still here\n\n")
        .then(Piece::Hang);
    let script = Script::new([reply]);
    let joined = Joined::to(&script.connector()).await;
    let (carried, ()) = tokio::join!(joined.request(1), async {
        let frame = Frame::Message(answer(1).into());
        joined.inbox.receive(frame, None);
    });
    carried.unwrap();
}
