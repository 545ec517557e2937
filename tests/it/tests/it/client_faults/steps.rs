//! A stream that is closed at every step of a call.

use std::time::Duration;

use turnbuckle_client::Error;
use turnbuckle_it::peer::{PeerConnectors, ReceivedMessage, Step};
use turnbuckle_session::transport::LinkError;
use turnbuckle_wire::revision::Revision;

use super::{FAULTY, LEGACY, PeerTransport, fault, faulty, is_broken, text_of};

/// Part of the answer that was sent before the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sent {
    Nothing,
    Head,
    Priming,
    Progress,
    HalfAnEvent,
    ResultWithoutEnd,
    Result,
}

const STEPS: [Sent; 7] = [
    Sent::Nothing,
    Sent::Head,
    Sent::Priming,
    Sent::Progress,
    Sent::HalfAnEvent,
    Sent::ResultWithoutEnd,
    Sent::Result,
];

/// End of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Cleanly,
    Broken,
}

fn bytes(text: impl Into<String>) -> Step {
    Step::Write(text.into().into())
}

fn events() -> Step {
    Step::Head(200, vec![("content-type", "text/event-stream".into())])
}

/// Returns the text of an event, or of a line.
fn text(step: Step) -> String {
    match step {
        Step::Say(message) => message.to_string(),
        other => unreachable!("{other:?}"),
    }
}

fn web(heard: &ReceivedMessage, sent: Sent, end: End, ids: bool) -> Vec<Step> {
    let answer = text(heard.text("whole"));
    let mut steps = vec![events()];
    if sent == Sent::Nothing {
        return vec![Step::Break];
    }
    if sent >= Sent::Priming && ids {
        steps.push(bytes("id: 1\nretry: 10\ndata:\n\n"));
    }
    if sent >= Sent::Progress {
        steps.push(heard.progress(1));
    }
    let (first, second) = answer.split_at(answer.len() / 2);
    match sent {
        Sent::HalfAnEvent => steps.push(bytes(format!("data: {first}"))),
        Sent::ResultWithoutEnd => steps.push(bytes(format!("data: {first}{second}\n"))),
        Sent::Result => steps.push(bytes(format!("data: {first}{second}\n\n"))),
        _ => {}
    }
    if end == End::Broken {
        steps.push(Step::Break);
    }
    steps
}

impl PartialOrd for Sent {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        let place = |sent| STEPS.iter().position(|step| *step == sent);
        place(*self).partial_cmp(&place(*other))
    }
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_is_closed_at_any_step_without_event_ids_is_lost() {
    for revision in [LEGACY, Revision::NEWEST] {
        for sent in STEPS {
            for end in [End::Cleanly, End::Broken] {
                let peer = faulty(revision, move |heard| web(heard, sent, end, false));
                let client = PeerTransport::Web.connect(&peer).await;
                if sent == Sent::Result {
                    assert_eq!(text_of(&client, FAULTY).await.unwrap(), "whole");
                    continue;
                }
                let (error, took) = fault(&client).await;
                assert!(
                    is_broken(&error, "connection broke"),
                    "{sent:?} {end:?} {error}"
                );
                assert_eq!(took, Duration::ZERO);
                assert_eq!(peer.messages_of("tools/call").len(), 2);
            }
        }
    }
}

/// In the legacy era the rest of a stream whose events have ids is fetched: from its last event on.
#[tokio::test(start_paused = true)]
async fn a_legacy_stream_with_event_ids_is_taken_up_again_at_any_step() {
    for sent in [
        Sent::Priming,
        Sent::Progress,
        Sent::HalfAnEvent,
        Sent::ResultWithoutEnd,
    ] {
        for end in [End::Cleanly, End::Broken] {
            let wanted = std::sync::Mutex::new(None);
            let peer = turnbuckle_it::peer::Peer::new(LEGACY, move |heard| {
                let mut wanted = wanted.lock().unwrap();
                if heard.message["params"]["name"] == FAULTY {
                    *wanted = Some(heard.clone());
                    return Some(web(heard, sent, end, true));
                }
                if heard.verb != "GET" {
                    return None;
                }
                // The stream of the session's own is refused; the rest of the call's is there.
                let call = wanted.as_ref()?;
                Some(vec![events(), call.progress(2), call.text("the rest")])
            });
            let client = PeerTransport::Web.connect(&peer).await;
            assert_eq!(
                text_of(&client, FAULTY).await.unwrap(),
                "the rest",
                "{sent:?} {end:?}"
            );
            assert_eq!(peer.messages_of("tools/call").len(), 1);
            assert_eq!(client.in_flight(), Default::default());
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_legacy_stream_that_is_taken_up_for_ever_ends_at_the_deadline_or_the_budget() {
    for (budget, silent) in [(3, false), (1000, true)] {
        let peer = turnbuckle_it::peer::Peer::new(LEGACY, move |heard| {
            if heard.message["params"]["name"] == FAULTY || heard.verb == "GET" {
                return Some(vec![events(), bytes("id: 1\nretry: 1000\ndata:\n\n")]);
            }
            None
        });
        let options = turnbuckle_http::HttpClientOptions::new().max_fruitless_reconnects(budget);
        let client = turnbuckle_client::Client::builder("c", "1")
            .era(turnbuckle_client::EraPreference::Only(LEGACY))
            .connect(peer.web().options(options))
            .await
            .unwrap();
        let began = tokio::time::Instant::now();
        let error = text_of(&client, FAULTY).await.unwrap_err();
        match silent {
            true => assert!(super::is_silence(&error), "{error}"),
            false => {
                assert!(is_broken(&error, "the server ended the stream"), "{error}");
                assert!(began.elapsed() < Duration::from_secs(60));
            }
        }
        assert_eq!(client.in_flight(), Default::default());
        client.close().await;
        assert_eq!(peer.open_count(), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn the_modern_era_takes_no_stream_up_again() {
    let peer = faulty(Revision::NEWEST, |heard| {
        web(heard, Sent::Progress, End::Broken, true)
    });
    let client = PeerTransport::Web.connect(&peer).await;
    let (error, _) = fault(&client).await;
    assert!(is_broken(&error, "cut off under way"), "{error}");
    assert!(peer.messages().iter().all(|heard| heard.verb == "POST"));
}

#[tokio::test(start_paused = true)]
async fn a_line_that_is_cut_at_any_byte_is_not_an_answer() {
    for revision in [LEGACY, Revision::NEWEST] {
        let whole = r#"{"jsonrpc":"2.0","id":1,"result":{"content":[]}}"#.len() - 1;
        for cut in [0, 1, 2, 10, 20, 30, 40, whole] {
            let peer = faulty(revision, move |heard| {
                let answer = text(heard.answer(serde_json::json!({"content": []})));
                vec![
                    heard.progress(1),
                    bytes(&answer[..cut.min(answer.len() - 1)]),
                    Step::Break,
                ]
            });
            let client = PeerTransport::Lines.connect(&peer).await;
            let (error, took) = fault(&client).await;
            assert!(
                is_broken(&error, "the server closed its output"),
                "{cut} {error}"
            );
            assert_eq!((took, peer.connection_count()), (Duration::ZERO, 2));
        }
        // A line without its end, and then the end of all.
        let peer = faulty(revision, |heard| {
            vec![bytes(text(heard.text("whole"))), Step::Break]
        });
        let client = PeerTransport::Lines.connect(&peer).await;
        match text_of(&client, FAULTY).await {
            Ok(text) => assert_eq!(text, "whole"),
            Err(error) => assert!(is_broken(&error, "the server closed its output"), "{error}"),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_status_without_an_answer_is_named() {
    for revision in [LEGACY, Revision::NEWEST] {
        for (status, body) in [
            (500, "<h1>Oh no</h1>"),
            (502, ""),
            (400, "bad"),
            (418, "tea"),
            (503, ""),
        ] {
            let peer = faulty(revision, move |_| {
                vec![
                    Step::Head(status, vec![("content-type", "text/html".into())]),
                    bytes(body),
                ]
            });
            let client = PeerTransport::Web.connect(&peer).await;
            let (error, _) = fault(&client).await;
            let Error::ConnectionLost {
                sent,
                reason: LinkError::HttpStatus { status: told, .. },
            } = &error
            else {
                panic!("{error}")
            };
            assert_eq!((*told, *sent), (status, status >= 500));
            assert!(
                error.to_string().contains(&format!("HTTP {status}")),
                "{error}"
            );
        }
        for status in [202, 204] {
            let peer = faulty(revision, move |_| vec![Step::Head(status, vec![])]);
            let client = PeerTransport::Web.connect(&peer).await;
            let (error, _) = fault(&client).await;
            assert!(super::is_violation(&error, "not answered"), "{error}");
        }
        for status in [401, 403] {
            let challenge = vec![("www-authenticate", "Bearer scope=\"a\"".to_owned())];
            let peer = faulty(revision, move |_| {
                vec![Step::Head(status, challenge.clone())]
            });
            let client = PeerTransport::Web.connect(&peer).await;
            let (error, _) = fault(&client).await;
            assert!(
                matches!(&error, Error::Unauthorized { status: told, challenge: Some(_), .. } if *told == status),
                "{error}"
            );
        }
    }
}
