//! HTTP+SSE, the transport of the first revision.

use super::*;

const NOTE: &str = r#"{"jsonrpc":"2.0","method":"note"}"#;
const ENDPOINT: &str = "event: endpoint\ndata: /messages?session=s3cret\n\n";

async fn fault(reply: Reply) -> LinkError {
    let script = Script::new([reply]);
    let older = script.connector().older().unwrap();
    let inbox = Arc::new(Memory::default());
    let error = older.open(inbox.clone()).await.err().unwrap();
    assert_eq!((script.open_bodies(), Arc::strong_count(&inbox)), (0, 1));
    assert!(!error.to_string().contains("s3cret"), "{error}");
    error
}

async fn open(stream: Reply, replies: impl IntoIterator<Item = Reply>) -> (Script, Joined) {
    let script = Script::new([stream].into_iter().chain(replies));
    let joined = Joined::to(&*script.connector().older().unwrap()).await;
    (script, joined)
}

#[tokio::test(start_paused = true)]
async fn messages_go_to_the_endpoint_and_come_over_the_stream() {
    let stream = Reply::events()
        .text(format!(
            ": hello\n\n{ENDPOINT}event: message\ndata: {NOTE}\n\n"
        ))
        .then(Piece::Wait(1000))
        .text(format!("event: message\ndata: {}\n\n", answer(1)))
        .then(Piece::Hang);
    let (script, joined) = open(stream, [Reply::new(202).text("Accepted")]).await;
    joined.request(1).await.unwrap();
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(joined.inbox.frames(), [NOTE.to_owned(), answer(1)]);
    assert_eq!(joined.inbox.exchanges(), [None, None]);
    let seen = script.seen();
    assert_eq!((&seen[0].method, &*seen[0].uri), (&Method::GET, URL));
    assert_eq!(seen[0].header("accept"), Some("text/event-stream"));
    let uri = "http://server.example/messages?session=s3cret";
    assert_eq!((&seen[1].method, &*seen[1].uri), (&Method::POST, uri));
    assert_eq!(seen[1].header("content-type"), Some("application/json"));
    let accept = Some("application/json, text/event-stream");
    assert_eq!(seen[1].header("accept"), accept);
    joined.link.close().await;
    assert_eq!(script.open_bodies(), 0);
    assert_eq!(joined.inbox.lost(), [""; 0]);
    assert!(matches!(joined.notify().await, Err(LinkError::Closed)));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_speaks_something_else_is_found_out() {
    for (reply, said) in [
        (
            Reply::new(404).text("nothing here"),
            "HTTP 404: nothing here",
        ),
        (Reply::new(405), "HTTP 405"),
        (Reply::new(401), "authorization"),
        (Reply::json(200, "{}"), "JSON where a stream"),
        (Reply::events(), "ended the stream"),
        (
            Reply::events().text(format!("data: {NOTE}\n\n")),
            "begin with the endpoint",
        ),
        (
            Reply::events().then(Piece::Hang),
            "no endpoint was named within 10s (HttpClientOptions::endpoint_timeout)",
        ),
        (
            Reply::events().text("event: endpoint\ndata: http://evil.example/s3cret\n\n"),
            "another origin (http://evil.example)",
        ),
        (
            Reply::events().text("event: endpoint\ndata: //evil.example/\n\n"),
            "another origin (http://evil.example)",
        ),
    ] {
        let error = fault(reply).await.to_string();
        assert!(error.contains(said), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_endpoint_has_to_be_named_in_time() {
    let limit = Duration::from_secs(3);
    let options = HttpClientOptions::new().endpoint_timeout(limit);
    for (wait, named) in [(2999, true), (3001, false)] {
        let late = Reply::events().then(Piece::Wait(wait)).text(ENDPOINT);
        let script = Script::new([late.then(Piece::Hang)]);
        let older = script.connector().limits(options.clone()).older().unwrap();
        let begin = Instant::now();
        let opened = older.open(Arc::new(Memory::default())).await;
        assert_eq!(opened.is_ok(), named);
        if let Err(error) = opened {
            assert_eq!(begin.elapsed(), limit);
            let said = "no endpoint was named within 3s (HttpClientOptions::endpoint_timeout)";
            assert!(error.to_string().contains(said), "{error}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_end_of_the_stream_is_the_end_of_the_link() {
    for end in [None, Some(Piece::Break)] {
        let stream = Reply::events().text(ENDPOINT).then(Piece::Wait(1000));
        let stream = end.into_iter().fold(stream, Reply::then);
        let (script, joined) = open(stream, []).await;
        // The script has no answer to this.
        let carried = joined.request(1).await;
        assert!(matches!(carried, Err(LinkError::Broken { .. })));
        let later = joined.notify().await.unwrap_err().to_string();
        assert_eq!(joined.inbox.lost(), [later]);
        assert_eq!(script.seen().len(), 2);
    }
}

#[tokio::test(start_paused = true)]
async fn a_message_that_is_not_taken_is_told() {
    for (status, said) in [
        (400, "HTTP 400: no"),
        (403, "not allow"),
        (404, "HTTP 404: no"),
    ] {
        let stream = Reply::events().text(ENDPOINT).then(Piece::Hang);
        let (_, joined) = open(stream, [Reply::new(status).text("no")]).await;
        let error = joined.notify().await.unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn dropping_the_link_drops_the_stream() {
    let stream = Reply::events().text(ENDPOINT).then(Piece::Hang);
    let (script, joined) = open(stream, []).await;
    assert_eq!(script.open_bodies(), 1);
    let Joined { link, inbox } = joined;
    drop(link);
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!((script.open_bodies(), Arc::strong_count(&inbox)), (0, 1));
    assert_eq!(inbox.lost(), [""; 0]);
}
