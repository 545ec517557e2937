//! Futures that are dropped: at every point where they wait, once, and for good.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Mutex;
use std::task::Poll;
use std::time::Duration;

use serde_json::Value;
use turnbuckle_client::{Client, EraPreference, Error};
use turnbuckle_it::peer::{Peer, PeerConnectors, Step};

use turnbuckle_wire::revision::{EraKind, Revision};

use super::{FAULTY, LEGACY, PEER_CASES, PeerTransport, faulty, is_silence, text_of};

/// Polls a future so many times at most, and drops it where it waits after the last of them.
async fn poll_times<F: Future>(future: F, mut times: usize) -> Option<F::Output> {
    let mut future = pin!(future);
    poll_fn(|cx| {
        if times == 0 {
            return Poll::Ready(None);
        }
        times -= 1;
        match future.as_mut().poll(cx) {
            Poll::Ready(output) => Poll::Ready(Some(output)),
            Poll::Pending if times == 0 => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}

async fn settle() {
    tokio::time::sleep(Duration::from_secs(5)).await;
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_dropped_is_taken_back_exactly_once_wherever_it_waits() {
    for (way, revision) in PEER_CASES {
        let mut waits = 0;
        for times in 0.. {
            let peer = faulty(revision, |heard| {
                let second = Step::Wait(Duration::from_secs(1));
                let progress = [1, 2, 3].map(|n| heard.progress(n));
                let [first, then, last] = progress;
                vec![
                    second.clone(),
                    first,
                    second.clone(),
                    then,
                    last,
                    second,
                    heard.text("done"),
                ]
            });
            let client = way.connect(&peer).await;
            let outcome = poll_times(client.call_tool(FAULTY, &()).send(), times).await;
            if let Some(outcome) = outcome {
                outcome.unwrap();
                break;
            }
            assert_eq!(
                client.in_flight(),
                Default::default(),
                "{way:?} {revision} {times}"
            );
            settle().await;
            let calls = peer.messages_of("tools/call");
            let cancelled = peer.messages_of("notifications/cancelled");
            let case = format!("{way:?} {revision} after {times}");
            assert_eq!(calls.len(), times.min(1), "{case}");
            if way == PeerTransport::Web && revision == Revision::NEWEST {
                assert!(cancelled.is_empty(), "{case}");
            } else {
                let ids: Vec<_> = cancelled
                    .iter()
                    .map(|heard| &heard.message["params"]["requestId"])
                    .collect();
                assert_eq!(
                    ids,
                    calls.iter().map(|heard| heard.id()).collect::<Vec<_>>(),
                    "{case}"
                );
            }
            let connections = usize::from(way == PeerTransport::Lines);
            assert_eq!(
                peer.open_count(),
                connections,
                "{case}: an exchange that is given up is closed"
            );
            assert_eq!(text_of(&client, "other").await.unwrap(), "sound");
            waits += 1;
        }
        assert!(waits >= 2, "{way:?} {revision}: {waits}");
    }
}

#[tokio::test(start_paused = true)]
async fn connecting_that_is_dropped_leaves_nothing_wherever_it_waits() {
    let tasks = || {
        tokio::runtime::Handle::current()
            .metrics()
            .num_alive_tasks()
    };
    for (way, revision) in PEER_CASES {
        for times in 0.. {
            let before = tasks();
            let slow = move |heard: &turnbuckle_it::peer::ReceivedMessage| {
                let opens = matches!(heard.method(), "initialize" | "server/discover");
                (opens && revision.features().era == EraKind::Modern).then(|| {
                    let result = serde_json::json!({"resultType": "complete", "ttlMs": 0,
                        "cacheScope": "private", "capabilities": {"tools": {}, "resources": {}, "prompts": {}},
                        "supportedVersions": [revision.as_str()]});
                    vec![Step::Wait(Duration::from_millis(100)), heard.answer(result)]
                })
            };
            let peer = Peer::new(revision, slow);
            let builder = Client::builder("c", "1").era(EraPreference::Auto);
            let outcome = match way {
                PeerTransport::Lines => poll_times(builder.connect(peer.lines()), times).await,
                PeerTransport::Web => poll_times(builder.connect(peer.web()), times).await,
            };
            let connected = outcome.is_some();
            drop(outcome.map(Result::unwrap));
            settle().await;
            assert_eq!(
                (tasks(), peer.open_count()),
                (before, 0),
                "{way:?} {revision} {times}"
            );
            if connected {
                assert!(times >= 2);
                break;
            }
        }
    }
}

// requirement: 269126eb703e 5bebb3e9691b e993277c3def
#[tokio::test(start_paused = true)]
async fn a_late_answer_is_ignored() {
    for revision in [LEGACY, Revision::NEWEST] {
        let late = Mutex::new(Value::Null);
        let peer = faulty(revision, move |heard| {
            let mut late = late.lock().unwrap();
            if late.is_null() {
                *late = heard.id().clone();
                return vec![Step::Hang];
            }
            let mut too_late = heard.clone();
            too_late.message["id"] = late.clone();
            vec![
                too_late.progress(9),
                too_late.text("too late"),
                heard.text("in time"),
            ]
        });
        let client = PeerTransport::Lines.connect(&peer).await;
        let error = client.call_tool(FAULTY, &()).await.unwrap_err();
        assert!(is_silence(&error), "{error}");
        assert_eq!(text_of(&client, FAULTY).await.unwrap(), "in time");
        assert_eq!(
            (client.in_flight(), peer.connection_count()),
            (Default::default(), 1)
        );
        settle().await;
        assert_eq!(peer.messages_of("notifications/cancelled").len(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_is_dropped_ends_its_connection() {
    let tasks = || {
        tokio::runtime::Handle::current()
            .metrics()
            .num_alive_tasks()
    };
    for (way, revision) in PEER_CASES {
        let before = tasks();
        let peer = faulty(revision, |_| vec![Step::Hang]);
        let client = way.connect(&peer).await;
        let call = client.call_tool(FAULTY, &());
        let waiting = tokio::spawn(async move { call.send().await });
        tokio::task::yield_now().await;
        // A call is a hold on its client.
        drop(client);
        tokio::task::yield_now().await;
        waiting.abort();
        assert!(waiting.await.is_err());
        settle().await;
        assert_eq!(
            (tasks(), peer.open_count()),
            (before, 0),
            "{way:?} {revision}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn more_calls_than_may_wait_are_refused_by_name() {
    for (way, revision) in PEER_CASES {
        let peer = faulty(revision, |_| vec![Step::Hang]);
        let client = way.connect(&peer).await;
        let calls: Vec<_> = (0..1024)
            .map(|_| {
                let call = client.call_tool(FAULTY, &());
                tokio::spawn(async move { call.send().await })
            })
            .collect();
        settle().await;
        let error = client.call_tool("other", &()).await.unwrap_err();
        assert!(
            matches!(error, Error::TooManyRequests { limit: 1024 }),
            "{error}"
        );
        assert_eq!(
            error.to_string(),
            "more than 1024 requests wait for the server (ClientLimits::max_outgoing_requests)"
        );
        for call in &calls {
            call.abort();
        }
        for call in calls {
            assert!(call.await.is_err());
        }
        assert_eq!(client.in_flight(), Default::default());
        settle().await;
        assert_eq!(text_of(&client, "other").await.unwrap(), "sound");
    }
}
