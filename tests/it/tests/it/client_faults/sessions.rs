//! Sessions that die, and servers that send their client elsewhere.

use std::sync::Mutex;
use std::time::Duration;

use turnbuckle_client::Error;
use turnbuckle_it::peer::{Peer, ReceivedMessage, Step};
use turnbuckle_session::transport::LinkError;
use turnbuckle_wire::revision::Revision;

use super::{FAULTY, LEGACY, PeerTransport, fault, faulty, is_violation, text_of};

fn not_found() -> Vec<Step> {
    vec![Step::Head(404, Vec::new())]
}

/// Creates a server that forgets the first `sessions` sessions once they have been opened.
fn forgetful(sessions: usize) -> Peer {
    Peer::new(LEGACY, move |heard| {
        let asks = matches!(
            heard.method(),
            "tools/call" | "resources/read" | "tools/list"
        );
        (asks && heard.connection <= sessions).then(not_found)
    })
}

fn is_gone(error: &Error) -> bool {
    let text = error.to_string();
    matches!(
        error,
        Error::ConnectionLost {
            sent: false,
            reason: LinkError::SessionNotFound
        }
    ) && text == "the server no longer knows the session; the request was not acted upon"
}

#[tokio::test(start_paused = true)]
async fn a_lost_session_is_reopened_once_for_safe_requests() {
    let peer = forgetful(1);
    let client = PeerTransport::Web.connect(&peer).await;
    client.read_resource("a:b").await.unwrap();
    let calls = peer.messages_of("resources/read");
    let sessions: Vec<_> = calls.iter().map(|heard| heard.connection).collect();
    assert_eq!((sessions, peer.connection_count()), (vec![1, 2], 2));
    assert_eq!(client.in_flight(), Default::default());
}

#[tokio::test(start_paused = true)]
async fn a_call_refused_for_an_unknown_session_is_sent_again_once_in_a_new_one() {
    let peer = forgetful(1);
    let client = PeerTransport::Web.connect(&peer).await;
    assert_eq!(text_of(&client, "write").await.unwrap(), "sound");
    let calls = peer.messages_of("tools/call");
    let sessions: Vec<_> = calls.iter().map(|heard| heard.connection).collect();
    assert_eq!((sessions, peer.connection_count()), (vec![1, 2], 2));

    let peer = forgetful(2);
    let client = PeerTransport::Web.connect(&peer).await;
    let error = client.call_tool("write", &()).await.unwrap_err();
    assert!(is_gone(&error), "{error}");
    assert_eq!(
        (
            peer.messages_of("tools/call").len(),
            peer.connection_count()
        ),
        (2, 2)
    );
    assert_eq!(text_of(&client, "write").await.unwrap(), "sound");
    assert_eq!(peer.connection_count(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_knows_no_session_ever_comes_to_an_end() {
    let peer = forgetful(usize::MAX);
    let client = PeerTransport::Web.connect(&peer).await;
    let mut given_up = 0;
    for _ in 0..10 {
        match client.read_resource("a:b").await.unwrap_err() {
            Error::ReconnectsExhausted { last_error, .. } => {
                assert!(
                    last_error.contains("no longer knows the session"),
                    "{last_error}"
                );
                given_up += 1;
            }
            error => assert!(is_gone(&error), "{error}"),
        }
    }
    // Two sessions for each of three, and then no more.
    assert_eq!(given_up, 7);
    assert_eq!(
        peer.connection_count(),
        6,
        "the first, and as many again as the budget has"
    );
    assert!(peer.messages().len() < 50, "{}", peer.messages().len());
}

#[tokio::test(start_paused = true)]
async fn a_session_that_dies_takes_every_call_along() {
    let peer = Peer::new(LEGACY, |heard| {
        match heard.message["params"]["name"].as_str() {
            Some("slow") => Some(vec![
                Step::Head(200, vec![("content-type", "text/event-stream".into())]),
                Step::Hang,
            ]),
            Some("last") => Some(not_found()),
            _ => None,
        }
    });
    let client = PeerTransport::Web.connect(&peer).await;
    let slow: Vec<_> = (0..10)
        .map(|_| {
            let call = client.call_tool("slow", &());
            tokio::spawn(async move { call.send().await.unwrap_err() })
        })
        .collect();
    tokio::task::yield_now().await;
    let error = client.call_tool("last", &()).await.unwrap_err();
    assert!(is_gone(&error), "{error}");
    for slow in slow {
        let error = slow.await.unwrap();
        assert!(
            matches!(
                error,
                Error::ConnectionLost {
                    reason: LinkError::SessionNotFound,
                    ..
                }
            ),
            "{error}"
        );
    }
    assert_eq!(client.in_flight(), Default::default());
    tokio::task::yield_now().await;
    assert_eq!(peer.open_count(), 0);
}

fn redirect(status: u16, location: &str) -> Vec<Step> {
    vec![Step::Head(status, vec![("location", location.to_owned())])]
}

#[tokio::test(start_paused = true)]
async fn a_redirect_loop_is_left_and_named() {
    for revision in [LEGACY, Revision::NEWEST] {
        for status in [307, 308] {
            let peer = faulty(revision, move |_| redirect(status, "/mcp"));
            let client = PeerTransport::Web.connect(&peer).await;
            let (error, took) = fault(&client).await;
            assert!(is_violation(&error, "more than 5 redirects"), "{error}");
            assert_eq!(took, Duration::ZERO);
            let tries = |heard: &ReceivedMessage| heard.message["params"]["name"] == FAULTY;
            assert_eq!(
                peer.messages().iter().filter(|heard| tries(heard)).count(),
                6
            );
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_redirect_elsewhere_is_not_followed() {
    for revision in [LEGACY, Revision::NEWEST] {
        for (status, location, why) in [
            (307, "http://elsewhere.example/mcp", "not followed"),
            (308, "https://peer.example/mcp", "not followed"),
            (307, "http://peer.example:81/mcp", "not followed"),
            (307, "//elsewhere.example/mcp", "not followed"),
            (307, "ftp://peer.example/", "not followed"),
            (307, "http://user:hunter2@peer.example/mcp", "not followed"),
            (302, "/mcp", "into a GET"),
            (303, "/mcp", "into a GET"),
        ] {
            let peer = faulty(revision, move |_| redirect(status, location));
            let client = PeerTransport::Web.connect(&peer).await;
            let (error, _) = fault(&client).await;
            assert!(is_violation(&error, why), "{location} {error}");
            assert!(!error.to_string().contains("hunter2"), "{error}");
            let tries = |heard: &ReceivedMessage| heard.message["params"]["name"] == FAULTY;
            assert_eq!(
                peer.messages().iter().filter(|heard| tries(heard)).count(),
                1
            );
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_legacy_stream_whose_session_dies_while_it_is_taken_up_again_is_told() {
    let begun = Mutex::new(false);
    let peer = Peer::new(LEGACY, move |heard| {
        let mut begun = begun.lock().unwrap();
        if heard.message["params"]["name"] == FAULTY {
            *begun = true;
            return Some(vec![
                Step::Head(200, vec![("content-type", "text/event-stream".into())]),
                Step::Write("id: 1\nretry: 10\ndata:\n\n".into()),
            ]);
        }
        (heard.verb == "GET" && *begun).then(not_found)
    });
    let client = PeerTransport::Web.connect(&peer).await;
    let (error, _) = fault(&client).await;
    // Its POST was taken: it may have been acted upon.
    assert!(
        matches!(error, Error::ConnectionLost { sent: true, .. }),
        "{error:?}"
    );
    let text = error.to_string();
    assert!(text.contains("no longer knows the session"), "{text}");
    assert_eq!(peer.connection_count(), 2);
}
