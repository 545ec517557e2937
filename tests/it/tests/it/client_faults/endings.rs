//! Connections that end, from either side, while calls wait.

use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::Instant;
use turnbuckle_client::{Client, Error};
use turnbuckle_it::peer::{Peer, PeerConnectors, Step};
use turnbuckle_session::transport::LinkError;
use turnbuckle_wire::revision::Revision;

use super::{FAULTY, LEGACY, PEER_CASES, PeerTransport, fault, faulty, is_broken, text_of};

// requirement: 591564f16e4d
#[tokio::test(start_paused = true)]
async fn an_end_during_a_call_is_told_at_once_and_the_next_call_has_another_connection() {
    for (way, revision) in PEER_CASES {
        let peer = faulty(revision, |_| vec![Step::Break]);
        let client = way.connect(&peer).await;
        let (error, took) = fault(&client).await;
        let what = match way {
            PeerTransport::Lines => "the server closed its output",
            PeerTransport::Web => "cut off before an answer",
        };
        assert!(is_broken(&error, what), "{error}");
        assert_eq!(took, Duration::ZERO);
        if way == PeerTransport::Lines {
            assert_eq!(peer.connection_count(), 2);
        }
        assert_eq!(
            peer.messages_of("tools/call").len(),
            2,
            "nothing was made again"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn safe_requests_are_sent_again_once() {
    for (way, revision) in PEER_CASES {
        for (deaths, ends_well) in [(1, true), (2, false)] {
            let peer = dying(revision, deaths);
            let client = way.connect(&peer).await;
            let outcome = client.read_resource("a:b").await;
            assert_eq!(
                peer.messages_of("resources/read").len(),
                2,
                "{way:?} {revision}"
            );
            match outcome {
                Ok(_) => assert!(ends_well),
                Err(error) => assert!(!ends_well && error.is_connection_lost(), "{error}"),
            }
            assert_eq!(client.in_flight(), Default::default());
        }
    }
}

/// Creates a server that breaks off the first `times` requests and is correct from then on.
fn dying(revision: Revision, times: usize) -> Peer {
    let left = std::sync::atomic::AtomicUsize::new(times);
    Peer::new(revision, move |heard| {
        use std::sync::atomic::Ordering::Relaxed;
        if !matches!(heard.method(), "tools/call" | "resources/read") {
            return None;
        }
        let dies = left.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1));
        dies.is_ok().then(|| vec![Step::Break])
    })
}

#[tokio::test(start_paused = true)]
async fn a_call_is_made_again_only_where_the_caller_says_so() {
    for (way, revision) in PEER_CASES {
        let peer = dying(revision, 2);
        let client = way.connect(&peer).await;
        let call = client.call_tool("write", &());
        let error = call.send().await.unwrap_err();
        assert!(error.is_connection_lost(), "{error}");
        assert_eq!(peer.messages_of("tools/call").len(), 1);
        // By hand, and by word: each time under an id of its own.
        call.clone().allow_retry().send().await.unwrap();
        call.send().await.unwrap();
        let told = peer.messages_of("tools/call");
        assert_eq!(told.len(), 4);
        for (index, one) in told.iter().enumerate() {
            for other in &told[index + 1..] {
                let same = one.connection == other.connection && one.id() == other.id();
                assert!(!same || way == PeerTransport::Lines, "{one:?} {other:?}");
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn every_call_ends_when_the_server_does() {
    let peer = faulty(LEGACY, |heard| {
        let last = heard.message["params"]["arguments"]["last"] == true;
        vec![if last { Step::Break } else { Step::Hang }]
    });
    let client = PeerTransport::Lines.connect(&peer).await;
    let mut calls = JoinSet::new();
    for index in 0..200 {
        let call = client.call_tool(FAULTY, &serde_json::json!({"last": index == 199}));
        calls.spawn(async move { call.send().await.unwrap_err() });
    }
    let began = Instant::now();
    while let Some(error) = calls.join_next().await {
        assert!(is_broken(&error.unwrap(), "the server closed its output"));
    }
    assert_eq!(began.elapsed(), Duration::ZERO);
    assert_eq!(
        (
            client.in_flight(),
            peer.connection_count(),
            peer.open_count()
        ),
        (Default::default(), 1, 0)
    );
    assert_eq!(text_of(&client, "other").await.unwrap(), "sound");
}

#[tokio::test(start_paused = true)]
async fn closing_ends_every_call_and_opens_nothing_again() {
    for (way, revision) in PEER_CASES {
        let peer = faulty(revision, |_| vec![Step::Hang]);
        let client = way.connect(&peer).await;
        let mut calls = JoinSet::new();
        for _ in 0..20 {
            let call = client.call_tool(FAULTY, &());
            calls.spawn(async move { call.send().await.unwrap_err() });
            let read = client.read_resource("a:b");
            calls.spawn(async move { read.send().await.err().unwrap_or(Error::Closed) });
        }
        tokio::task::yield_now().await;
        let began = Instant::now();
        client.close().await;
        assert!(began.elapsed() <= Duration::from_secs(2), "{way:?}");
        while let Some(error) = calls.join_next().await {
            let error = error.unwrap();
            let closed = LinkError::Closed.to_string();
            assert!(
                matches!(error, Error::Closed)
                    || error.is_connection_lost() && error.to_string().starts_with(&closed),
                "{error}"
            );
        }
        assert_eq!(
            (client.in_flight(), peer.open_count()),
            (Default::default(), 0),
            "{way:?} {revision}"
        );
        assert!(matches!(
            client.call_tool("other", &()).await,
            Err(Error::Closed)
        ));
        assert!(matches!(
            client.read_resource("a:b").await,
            Err(Error::Closed)
        ));
        assert!(peer.connection_count() <= 1);
        // Once is enough, and twice is no harm.
        client.close().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_keeps_dying_is_given_up() {
    let peer = faulty(LEGACY, |_| vec![Step::Break]);
    let client = PeerTransport::Lines.connect(&peer).await;
    let began = Instant::now();
    for call in 0..6 {
        let error = client.call_tool(FAULTY, &()).await.unwrap_err();
        assert!(
            is_broken(&error, "the server closed its output"),
            "{call} {error}"
        );
    }
    // The first connection, and five more; the waits between these grow.
    assert_eq!(
        (peer.connection_count(), began.elapsed().as_millis()),
        (6, 100 + 200 + 400 + 800)
    );
    for _ in 0..3 {
        let error = client.call_tool(FAULTY, &()).await.unwrap_err();
        assert!(
            matches!(error, Error::ReconnectsExhausted { attempts: 5, .. }),
            "{error}"
        );
        assert_eq!(
            error.to_string(),
            "given up after 5 connections within 60s (ClientBuilder::reconnect_policy); the last one: the \
             connection broke: the server closed its output"
        );
    }
    assert_eq!(peer.connection_count(), 6);
    // A minute later it may be better.
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(text_of(&client, "other").await.unwrap(), "sound");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_dies_in_every_handshake_is_given_up_or_named() {
    for break_at in ["initialize", "server/discover"] {
        for (way, revision) in PEER_CASES {
            let peer = Peer::new(revision, move |heard| {
                (heard.method() == break_at).then(|| vec![Step::Break])
            });
            let builder = Client::builder("c", "1");
            let outcome = match way {
                PeerTransport::Lines => builder.connect(peer.lines()).await,
                PeerTransport::Web => builder.connect(peer.web()).await,
            };
            if let Err(error) = &outcome {
                let text = error.to_string();
                // A server that died once may be of either era, and refuses the other's opening.
                let refused = matches!(error, Error::ErrorResponse(error) if error.code == -32601);
                assert!(
                    refused || error.is_connection_lost() && text.contains("connection broke"),
                    "{error:?}"
                );
            }
            drop(outcome);
            tokio::time::sleep(Duration::from_secs(2)).await;
            assert_eq!(peer.open_count(), 0, "{break_at} {way:?} {revision}");
            assert!(peer.connection_count() <= 2);
        }
    }
}
