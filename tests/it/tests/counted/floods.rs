//! More than anybody asked for: notifications, bytes, events, comments.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use serde_json::json;
use tokio::time::Instant;
use turnbuckle_client::{Client, Error};
use turnbuckle_it::peer::Step;
use turnbuckle_session::transport::{LinkError, TimeoutKind};
use turnbuckle_wire::revision::Revision;

use super::{
    Clock, FAULTY, LEGACY, PEER_CASES, PeerTransport, alone, fault, faulty, is_silence, text_of,
};

const MANY: usize = 100_000;

/// Returns the peak memory of this process, in KiB.
fn peak() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with("VmHWM:"))
        .unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

fn frame_text(way: PeerTransport, text: &str) -> Bytes {
    match way {
        PeerTransport::Lines => format!("{text}\n").into(),
        PeerTransport::Web => format!("data: {text}\n\n").into(),
    }
}

fn events() -> Step {
    Step::Head(200, vec![("content-type", "text/event-stream".into())])
}

/// Returns the steps that an answer begins with on a transport, if any.
fn begin(way: PeerTransport) -> Vec<Step> {
    match way {
        PeerTransport::Lines => Vec::new(),
        PeerTransport::Web => vec![events()],
    }
}

#[test]
fn a_flood_of_notifications_costs_no_memory_and_no_answer() {
    alone(Clock::Paused, async {
        for (way, revision) in PEER_CASES {
            for method in [
                "message",
                "progress",
                "tools/list_changed",
                "no/such/thing",
                "cancelled",
            ] {
                let many = match (way, revision == LEGACY, method) {
                    (PeerTransport::Lines, true, "message") => MANY,
                    (PeerTransport::Web, false, "message") => MANY / 5,
                    _ => MANY / 100,
                };
                let heard_logs = Arc::new(AtomicUsize::new(0));
                let logs = heard_logs.clone();
                let peer = faulty(revision, move |heard| {
                    let token = &heard.message["params"]["_meta"]["progressToken"];
                    let notice = json!({"jsonrpc": "2.0", "method": format!("notifications/{method}"),
                    "params": {"level": "error", "data": "x".repeat(100), "progress": 1,
                        "progressToken": token, "requestId": 77}});
                    let mut steps = begin(way);
                    let notice = frame_text(way, &notice.to_string());
                    steps.push(Step::Repeat(notice, many, Duration::ZERO));
                    steps.push(heard.text("at last"));
                    steps
                });
                let builder = Client::builder("c", "1").on_log(move |_| {
                    logs.fetch_add(1, Ordering::Relaxed);
                });
                let client = way.connect_by(&peer, builder).await;
                let before = peak();
                // A reader of the progress that does not read.
                let (call, _progress) = client.call_tool(FAULTY, &()).with_progress();
                call.await.unwrap();
                let grown = peak() - before;
                assert!(grown < 16 << 10, "{way:?} {revision} {method}: {grown} KiB");
                let logged = heard_logs.load(Ordering::Relaxed);
                assert_eq!(logged, if method == "message" { many } else { 0 });
                assert_eq!(client.in_flight(), Default::default());
            }
        }
    });
}

#[test]
fn a_hundred_thousand_lines_of_noise_are_counted_and_passed_over() {
    alone(Clock::Paused, async {
        let noises = Arc::new(AtomicUsize::new(0));
        let count = noises.clone();
        let peer = faulty(LEGACY, |heard| {
            let noise = Bytes::from_static(b"listening on port 1\n");
            vec![
                Step::Repeat(noise, MANY, Duration::ZERO),
                heard.text("at last"),
            ]
        });
        let builder = Client::builder("c", "1").on_invalid_message(move |so_far, beginning| {
            assert_eq!(beginning, "listening on port 1");
            count.store(usize::try_from(so_far).unwrap(), Ordering::Relaxed);
        });
        let client = PeerTransport::Lines.connect_by(&peer, builder).await;
        assert_eq!(text_of(&client, FAULTY).await.unwrap(), "at last");
        assert_eq!(noises.load(Ordering::Relaxed), MANY);
    });
}

#[test]
fn a_line_or_an_event_or_a_body_of_100_mb_is_refused_by_name() {
    alone(Clock::Paused, async {
        const PIECE: usize = 64 << 10;
        let piece = Bytes::from(vec![b'x'; PIECE]);
        for (way, revision) in PEER_CASES {
            for json in [false, true] {
                let peer = faulty(revision, {
                    let piece = piece.clone();
                    move |heard| {
                        let (mut steps, prefix, end) = match (way, json) {
                            (PeerTransport::Lines, _) => (Vec::new(), "", "\"}}\n"),
                            (PeerTransport::Web, false) => (vec![events()], "data: ", "\"}}\n\n"),
                            (PeerTransport::Web, true) => (
                                vec![Step::Head(
                                    200,
                                    vec![("content-type", "application/json".into())],
                                )],
                                "",
                                "\"}}",
                            ),
                        };
                        let id = heard.id();
                        let start =
                            format!(r#"{prefix}{{"jsonrpc":"2.0","id":{id},"result":{{"x":""#);
                        steps.push(Step::Write(start.into()));
                        let times = 100_000_000 / PIECE;
                        steps.push(Step::Repeat(piece.clone(), times, Duration::ZERO));
                        steps.push(Step::Write(end.into()));
                        steps
                    }
                });
                let client = way.connect(&peer).await;
                let before = peak();
                let (error, _) = fault(&client).await;
                let limit = match way {
                    PeerTransport::Lines => 1 << 20,
                    PeerTransport::Web => 16 << 20,
                };
                assert!(
                    matches!(&error, Error::ConnectionLost { sent: true, reason: LinkError::MessageTooLarge { limit: cap } } if *cap == limit),
                    "{error:?}"
                );
                assert!(
                    error.to_string().starts_with(&format!(
                        "the server sent a message of more than {limit} bytes (Command::max_message_bytes, HttpClientOptions::max_message_bytes)"
                    )),
                    "{error}"
                );
                let grown = peak() - before;
                assert!(grown < 64 << 10, "{way:?} {json}: {grown} KiB");
                if way == PeerTransport::Lines {
                    assert_eq!(peer.connection_count(), 1, "the connection is fine");
                }
            }
        }
    });
}

#[test]
fn a_line_that_is_too_long_ends_no_call_when_two_wait() {
    alone(Clock::Paused, async {
        let peer = faulty(LEGACY, |heard| {
            if heard.message["params"]["arguments"]["first"] == true {
                return vec![Step::Hang];
            }
            let long = Bytes::from(vec![b'x'; 2 << 20]);
            vec![
                Step::Write(long),
                Step::Write("\n".into()),
                heard.text("fine"),
            ]
        });
        let client = PeerTransport::Lines.connect(&peer).await;
        let first = client.call_tool(FAULTY, &json!({"first": true}));
        let first = tokio::spawn(async move { first.send().await.unwrap_err() });
        tokio::task::yield_now().await;
        assert_eq!(text_of(&client, FAULTY).await.unwrap(), "fine");
        // Whose it was cannot be told: the one without an answer waits until its deadline.
        assert!(is_silence(&first.await.unwrap()));
    });
}

#[test]
fn an_endless_event_is_cut_off() {
    alone(Clock::Paused, async {
        for revision in [LEGACY, Revision::NEWEST] {
            for line in [
                "data: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n",
                "no end of this line ",
            ] {
                let line = Bytes::from(line.repeat(1000));
                let peer = faulty(revision, move |_| {
                    let data = Step::Write("data: ".into());
                    let endless = Step::Repeat(line.clone(), usize::MAX, Duration::from_millis(1));
                    vec![events(), data, endless]
                });
                let client = PeerTransport::Web.connect(&peer).await;
                let (error, took) = fault(&client).await;
                assert!(
                    matches!(
                        &error,
                        Error::ConnectionLost {
                            reason: LinkError::MessageTooLarge { .. },
                            ..
                        }
                    ),
                    "{error}"
                );
                assert!(took < Duration::from_secs(60));
                assert_eq!(peer.open_count(), 0);
            }
        }
    });
}

#[test]
fn endless_comments_do_not_renew_the_deadline() {
    alone(Clock::Paused, async {
        for revision in [LEGACY, Revision::NEWEST] {
            for comment in [
                ":\n\n",
                ": still here\n",
                "event: ping\ndata: {}\n\n",
                "\n",
                "id: 7\n\n",
            ] {
                let peer = faulty(revision, move |_| {
                    let comment = Bytes::from_static(comment.as_bytes());
                    vec![
                        events(),
                        Step::Repeat(comment, usize::MAX, Duration::from_millis(700)),
                    ]
                });
                let client = PeerTransport::Web.connect(&peer).await;
                let (error, took) = fault(&client).await;
                assert!(is_silence(&error), "{comment:?} {error}");
                assert_eq!(took, Duration::from_secs(60));
            }
        }
    });
}

#[test]
fn endless_progress_ends_at_the_deadline_for_all() {
    alone(Clock::Paused, async {
        for (way, revision) in PEER_CASES {
            let peer = faulty(revision, move |heard| {
                let Step::Say(notice) = heard.progress(1) else {
                    unreachable!()
                };
                let notice = frame_text(way, &notice.to_string());
                let mut steps = begin(way);
                // A pipe has one server that does one thing after the other.
                steps.push(Step::Repeat(notice, 400, Duration::from_secs(10)));
                steps
            });
            let client = way.connect(&peer).await;
            let began = Instant::now();
            let error = client.call_tool(FAULTY, &()).await.unwrap_err();
            assert!(
                matches!(error, Error::TimedOut(TimeoutKind::Total(_))),
                "{error}"
            );
            assert_eq!(
                error.to_string(),
                "no answer within 3600s (Timeouts::total_timeout)"
            );
            assert_eq!(began.elapsed(), Duration::from_secs(3600));
            assert_eq!(client.in_flight(), Default::default());
        }
    });
}

#[test]
fn endless_pieces_of_a_json_body_end_at_the_deadline() {
    alone(Clock::Paused, async {
        for revision in [LEGACY, Revision::NEWEST] {
            let peer = faulty(revision, |_| {
                let json = Step::Head(200, vec![("content-type", "application/json".into())]);
                vec![
                    json,
                    Step::Repeat(" ".into(), usize::MAX, Duration::from_secs(1)),
                ]
            });
            let client = PeerTransport::Web.connect(&peer).await;
            let (error, took) = fault(&client).await;
            assert!(is_silence(&error), "{error}");
            assert_eq!((took, peer.open_count()), (Duration::from_secs(60), 0));
        }
    });
}
