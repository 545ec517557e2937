//! HTTP+SSE, the transport of the first revision.

use super::*;

const NOTE: &str = r#"{"jsonrpc":"2.0","method":"note"}"#;
const ENDPOINT: &str = "event: endpoint\ndata: /messages?session=s3cret\n\n";

async fn fault(reply: ScriptedResponse) -> LinkError {
    let server = ScriptedServer::new([reply]);
    let older = server.connector().fallback().unwrap();
    let inbox = Arc::new(RecordingInbox::default());
    let error = older.open(inbox.clone()).await.err().unwrap();
    assert_eq!((server.open_bodies(), Arc::strong_count(&inbox)), (0, 1));
    assert!(!error.to_string().contains("s3cret"), "{error}");
    error
}

async fn open(
    stream: ScriptedResponse,
    replies: impl IntoIterator<Item = ScriptedResponse>,
) -> (ScriptedServer, OpenedLink) {
    let server = ScriptedServer::new([stream].into_iter().chain(replies));
    let opened = OpenedLink::to(&*server.connector().fallback().unwrap()).await;
    (server, opened)
}

#[tokio::test(start_paused = true)]
async fn messages_go_to_the_endpoint_and_come_over_the_stream() {
    let stream = ScriptedResponse::events()
        .text(format!(
            ": hello\n\n{ENDPOINT}event: message\ndata: {NOTE}\n\n"
        ))
        .then(BodyPart::Wait(1000))
        .text(format!("event: message\ndata: {}\n\n", answer(1)))
        .then(BodyPart::Hang);
    let (server, opened) = open(stream, [ScriptedResponse::new(202).text("Accepted")]).await;
    opened.request(1).await.unwrap();
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(opened.inbox.frames(), [NOTE.to_owned(), answer(1)]);
    assert_eq!(opened.inbox.exchanges(), [None, None]);
    let received = server.received_requests();
    assert_eq!(
        (&received[0].method, &*received[0].uri),
        (&Method::GET, URL)
    );
    assert_eq!(received[0].header("accept"), Some("text/event-stream"));
    let uri = "http://server.example/messages?session=s3cret";
    assert_eq!(
        (&received[1].method, &*received[1].uri),
        (&Method::POST, uri)
    );
    assert_eq!(received[1].header("content-type"), Some("application/json"));
    let accept = Some("application/json, text/event-stream");
    assert_eq!(received[1].header("accept"), accept);
    opened.link.close().await;
    assert_eq!(server.open_bodies(), 0);
    assert_eq!(opened.inbox.failures(), [""; 0]);
    assert!(matches!(opened.notify().await, Err(LinkError::Closed)));
}

#[tokio::test(start_paused = true)]
async fn a_server_without_sse_is_detected() {
    for (reply, expected) in [
        (
            ScriptedResponse::new(404).text("nothing here"),
            "HTTP 404: nothing here",
        ),
        (ScriptedResponse::new(405), "HTTP 405"),
        (ScriptedResponse::new(401), "authorization"),
        (ScriptedResponse::json(200, "{}"), "JSON where a stream"),
        (ScriptedResponse::events(), "ended the stream"),
        (
            ScriptedResponse::events().text(format!("data: {NOTE}\n\n")),
            "begin with the endpoint",
        ),
        (
            ScriptedResponse::events().then(BodyPart::Hang),
            "no endpoint was named within 10s (HttpClientOptions::endpoint_timeout)",
        ),
        (
            ScriptedResponse::events()
                .text("event: endpoint\ndata: http://evil.example/s3cret\n\n"),
            "another origin (http://evil.example)",
        ),
        (
            ScriptedResponse::events().text("event: endpoint\ndata: //evil.example/\n\n"),
            "another origin (http://evil.example)",
        ),
    ] {
        let error = fault(reply).await.to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_endpoint_has_a_timeout() {
    let limit = Duration::from_secs(3);
    let options = HttpClientOptions::new().endpoint_timeout(limit);
    for (wait, named) in [(2999, true), (3001, false)] {
        let late = ScriptedResponse::events()
            .then(BodyPart::Wait(wait))
            .text(ENDPOINT);
        let server = ScriptedServer::new([late.then(BodyPart::Hang)]);
        let older = server
            .connector()
            .options(options.clone())
            .fallback()
            .unwrap();
        let begin = Instant::now();
        let opened = older.open(Arc::new(RecordingInbox::default())).await;
        assert_eq!(opened.is_ok(), named);
        if let Err(error) = opened {
            assert_eq!(begin.elapsed(), limit);
            let expected = "no endpoint was named within 3s (HttpClientOptions::endpoint_timeout)";
            assert!(error.to_string().contains(expected), "{error}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_end_of_the_stream_is_the_end_of_the_link() {
    for end in [None, Some(BodyPart::Break)] {
        let stream = ScriptedResponse::events()
            .text(ENDPOINT)
            .then(BodyPart::Wait(1000));
        let stream = end.into_iter().fold(stream, ScriptedResponse::then);
        let (server, opened) = open(stream, []).await;
        // The script has no answer to this.
        let sent = opened.request(1).await;
        assert!(matches!(sent, Err(LinkError::ConnectionLost { .. })));
        let later = opened.notify().await.unwrap_err().to_string();
        assert_eq!(opened.inbox.failures(), [later]);
        assert_eq!(server.received_requests().len(), 2);
    }
}

#[tokio::test(start_paused = true)]
async fn a_refused_message_is_reported() {
    for (status, expected) in [
        (400, "HTTP 400: no"),
        (403, "not allow"),
        (404, "HTTP 404: no"),
    ] {
        let stream = ScriptedResponse::events()
            .text(ENDPOINT)
            .then(BodyPart::Hang);
        let (_, opened) = open(stream, [ScriptedResponse::new(status).text("no")]).await;
        let error = opened.notify().await.unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn dropping_the_link_drops_the_stream() {
    let stream = ScriptedResponse::events()
        .text(ENDPOINT)
        .then(BodyPart::Hang);
    let (server, opened) = open(stream, []).await;
    assert_eq!(server.open_bodies(), 1);
    let OpenedLink { link, inbox } = opened;
    drop(link);
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!((server.open_bodies(), Arc::strong_count(&inbox)), (0, 1));
    assert_eq!(inbox.failures(), [""; 0]);
}
