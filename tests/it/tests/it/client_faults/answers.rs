//! Answers that are none, are half, come twice, or are somebody else's.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use turnbuckle_client::{Client, Error};
use turnbuckle_it::peer::{ReceivedMessage, Step};
use turnbuckle_session::transport::ClientLimits;
use turnbuckle_wire::revision::Revision;

use super::{
    FAULTY, PEER_CASES, PeerTransport, fault, faulty, id_as_text, is_broken, is_silence,
    is_violation, text_of,
};

use crate::traced::Traced;

const MINUTE: Duration = Duration::from_secs(60);

// requirement: af3dc5ded27b ceeb29a93c45
#[tokio::test(start_paused = true)]
async fn no_answer_ends_at_the_deadline() {
    for (way, revision) in PEER_CASES {
        let peer = faulty(revision, |_| vec![Step::Hang]);
        let client = way.connect(&peer).await;
        let (error, took) = fault(&client).await;
        assert!(is_silence(&error), "{way:?} {error}");
        assert_eq!(took, MINUTE, "{way:?}");
        tokio::time::sleep(Duration::from_secs(1)).await;
        let cancelled = peer.messages_of("notifications/cancelled");
        let by_message = way == PeerTransport::Lines || revision == super::LEGACY;
        assert_eq!(
            cancelled.len(),
            usize::from(by_message),
            "{way:?} {revision}"
        );
    }
}

/// Asserts that the client ignores an answer that does not match the request: a line is skipped, a
/// JSON body violates the protocol, and a stream of events ends without an answer.
async fn is_passed_over(of: impl Fn(&ReceivedMessage) -> Value + Clone + Send + Sync + 'static) {
    for (way, revision) in PEER_CASES {
        let say = of.clone();
        let peer = faulty(revision, move |heard| vec![Step::Say(say(heard))]);
        let client = way.connect(&peer).await;
        let (error, took) = fault(&client).await;
        match way {
            PeerTransport::Lines => assert!(is_silence(&error) && took == MINUTE, "{error}"),
            PeerTransport::Web => {
                assert!(is_violation(&error, "does not answer it"), "{error}");
                assert_eq!(took, Duration::ZERO);
            }
        }
        let PeerTransport::Web = way else { continue };
        let say = of.clone();
        let peer = faulty(revision, move |heard| {
            vec![Step::Say(say(heard)), Step::Wait(Duration::ZERO)]
        });
        let client = way.connect(&peer).await;
        let (error, _) = fault(&client).await;
        assert!(is_broken(&error, "the server ended the stream"), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_to_another_id_answers_nothing() {
    is_passed_over(|_| json!({"jsonrpc": "2.0", "id": 4711, "result": {"content": []}})).await;
    is_passed_over(|_| json!({"jsonrpc": "2.0", "id": -1, "result": {"content": []}})).await;
}

#[tokio::test(start_paused = true)]
async fn an_id_of_another_type_answers_nothing() {
    is_passed_over(|heard| json!({"jsonrpc": "2.0", "id": id_as_text(heard), "result": {}})).await;
    for id in [json!(true), json!([]), json!({}), json!(2.5), Value::Null] {
        is_passed_over(move |_| json!({"jsonrpc": "2.0", "id": id, "result": {}})).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_message_that_is_none_answers_nothing() {
    for message in [
        json!({}),
        json!({"jsonrpc": "2.0"}),
        json!("text"),
        json!([]),
        json!([1, 2]),
        json!({"jsonrpc": "2.0", "id": 2, "result": {}, "error": {"code": 1, "message": ""}}),
    ] {
        is_passed_over(move |_| message.clone()).await;
    }
}

#[tokio::test(start_paused = true)]
async fn half_an_answer_is_skipped_or_named() {
    for (way, revision) in PEER_CASES {
        for half in [
            &br#"{"jsonrpc":"2.0","id":2,"resu"#[..],
            b"\xFF\xFE{}",
            b"{\"id\":\"\xC3\"}",
        ] {
            let (frame, end) = match way {
                PeerTransport::Lines => (half.to_vec(), &b"\n"[..]),
                PeerTransport::Web => ([&b"data: "[..], half].concat(), &b"\n\n"[..]),
            };
            let frame = [frame.as_slice(), end].concat();
            let peer = faulty(revision, move |_| vec![Step::Write(frame.clone().into())]);
            let client = way.connect(&peer).await;
            let (error, took) = fault(&client).await;
            match way {
                PeerTransport::Lines => assert!(is_silence(&error) && took == MINUTE, "{error}"),
                PeerTransport::Web => assert!(is_broken(&error, "ended the stream"), "{error}"),
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_json_body_that_is_half_or_no_text_is_named() {
    for revision in [super::LEGACY, Revision::NEWEST] {
        for half in [
            &br#"{"jsonrpc":"2.0","id":2,"resu"#[..],
            b"\xFF\xFE",
            b"",
            b"<html>",
        ] {
            let head = Step::Head(200, vec![("content-type", "application/json".into())]);
            let peer = faulty(revision, move |_| {
                vec![head.clone(), Step::Write(bytes::Bytes::from_static(half))]
            });
            let client = PeerTransport::Web.connect(&peer).await;
            let (error, _) = fault(&client).await;
            assert!(is_violation(&error, "does not answer it"), "{error}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_second_answer_is_ignored() {
    for (way, revision) in PEER_CASES {
        let peer = faulty(revision, |heard| {
            vec![heard.text("first"), heard.text("second")]
        });
        let client = way.connect(&peer).await;
        for _ in 0..3 {
            assert_eq!(text_of(&client, FAULTY).await.unwrap(), "first");
            assert_eq!(text_of(&client, "other").await.unwrap(), "sound");
        }
        assert_eq!(client.in_flight(), Default::default());
    }
}

#[tokio::test(start_paused = true)]
async fn an_error_without_an_id_belongs_to_its_exchange_or_to_no_request() {
    for (way, revision) in PEER_CASES {
        for error in [
            json!({"jsonrpc": "2.0", "error": {"code": -32700, "message": "what?"}}),
            json!({"jsonrpc": "2.0", "id": null, "error": {"code": -32700, "message": "what?"}}),
        ] {
            let peer = faulty(revision, move |_| vec![Step::Say(error.clone())]);
            let client = way.connect(&peer).await;
            let (error, took) = fault(&client).await;
            match way {
                PeerTransport::Lines => assert!(is_silence(&error) && took == MINUTE, "{error}"),
                PeerTransport::Web => {
                    assert!(matches!(&error, Error::ErrorResponse(error) if error.code == -32700));
                    assert_eq!(error.to_string(), "the server refused: what? (-32700)");
                }
            }
        }
    }
}

// requirement: 6c3f08424876
#[tokio::test(start_paused = true)]
async fn a_result_that_is_not_an_object_or_has_an_unknown_type_is_invalid() {
    for (way, revision) in PEER_CASES {
        for result in [
            json!(null),
            json!([]),
            json!("text"),
            json!(1),
            json!({"content": 1}),
        ] {
            let peer = faulty(revision, move |heard| vec![heard.answer(result.clone())]);
            let client = way.connect(&peer).await;
            let (error, _) = fault(&client).await;
            assert!(
                matches!(&error, Error::InvalidResult { method, .. } if method == "tools/call"),
                "{error:?}"
            );
            let text = error.to_string();
            assert!(
                text.starts_with("the server's result of tools/call is not valid: "),
                "{text}"
            );
        }
    }
    for way in [PeerTransport::Lines, PeerTransport::Web] {
        for kind in [json!("perhaps"), json!(""), json!(1), json!(null)] {
            let peer = faulty(Revision::NEWEST, move |heard| {
                vec![heard.answer(json!({"resultType": kind, "content": []}))]
            });
            let client = way.connect(&peer).await;
            let (error, _) = fault(&client).await;
            assert!(matches!(&error, Error::InvalidResult { .. }), "{error}");
        }
    }
}

/// Deep enough to end a stack that is asked to follow.
const DEEP: usize = 100_000;

#[tokio::test(start_paused = true)]
async fn nesting_without_end_does_not_end_the_client() {
    let nested = [&vec![b'['; DEEP][..], &vec![b']'; DEEP][..]].concat();
    let nested: Arc<str> = String::from_utf8(nested).unwrap().into();
    for (way, revision) in PEER_CASES {
        for (before, after) in [
            (r#"{"content":[],"structuredContent":{"a":"#, "}}"),
            (r#"{"content":[],"_meta":{"a":"#, "}}"),
            (r#"{"content":["#, "]}"),
            (r#"{"content":[],"unknown":"#, "}"),
            ("", ""),
        ] {
            let nested = nested.clone();
            let peer = faulty(revision, move |heard| {
                let mut text = format!(
                    r#"{{"jsonrpc":"2.0","id":{},"result":{before}{nested}{after}}}"#,
                    heard.id()
                );
                text = match way {
                    PeerTransport::Lines => text + "\n",
                    PeerTransport::Web => format!("data: {text}\n\n"),
                };
                vec![Step::Write(text.into())]
            });
            let client = way.connect(&peer).await;
            match text_of(&client, FAULTY).await {
                Ok(_) => {}
                Err(Error::InvalidResult { .. }) => {}
                Err(error) => panic!("{way:?} {before} {error}"),
            }
            assert_eq!(text_of(&client, "other").await.unwrap(), "sound");
        }
        let peer = faulty(revision, {
            let nested = nested.clone();
            move |_| match way {
                PeerTransport::Lines => vec![Step::Write(format!("{nested}\n").into())],
                PeerTransport::Web => vec![Step::Write(format!("data: {nested}\n\n").into())],
            }
        });
        let client = way.connect(&peer).await;
        let (error, _) = fault(&client).await;
        assert!(
            is_silence(&error) || is_broken(&error, "ended the stream"),
            "{error}"
        );
    }
}

// requirement: 113502c8a07a
#[tokio::test(start_paused = true)]
async fn arrays_of_a_revision_with_batches_are_taken_apart() {
    let revision = Revision::parse("2025-03-26").unwrap();
    for way in [PeerTransport::Lines, PeerTransport::Web] {
        let peer = faulty(revision, |heard| {
            let (Step::Say(progress), Step::Say(answer), Step::Say(again)) = (
                heard.progress(1),
                heard.text("batched"),
                heard.text("again"),
            ) else {
                unreachable!()
            };
            let stray = json!({"jsonrpc": "2.0", "id": 4711, "result": {}});
            vec![Step::Say(json!([1, stray, progress, answer, again]))]
        });
        let client = way.connect(&peer).await;
        let (call, mut progress) = client.call_tool(FAULTY, &()).with_progress();
        let result = call.await.unwrap();
        assert_eq!(
            serde_json::to_value(&result.content).unwrap()[0]["text"],
            "batched"
        );
        assert_eq!(progress.next().await.unwrap().progress.to_string(), "1");
        assert!(progress.next().await.is_none());
    }
}

#[tokio::test(start_paused = true)]
async fn a_batch_of_a_server_has_so_many_messages() {
    let traced = Traced::start();
    let revision = Revision::parse("2025-03-26").unwrap();
    for (way, bound) in [PeerTransport::Lines, PeerTransport::Web]
        .into_iter()
        .flat_map(|way| [(way, 100), (way, 3)])
    {
        let of = async |messages: usize| {
            let limits = match bound {
                // The default.
                100 => ClientLimits::new(),
                bound => ClientLimits::new().max_batch_messages(bound),
            };
            let peer = faulty(revision, move |heard| {
                let Step::Say(answer) = heard.text("batched") else {
                    unreachable!()
                };
                vec![Step::Say(Value::Array(vec![answer; messages]))]
            });
            let builder = Client::builder("c", "1").limits(limits);
            way.connect_by(&peer, builder).await
        };
        assert_eq!(text_of(&of(bound).await, FAULTY).await.unwrap(), "batched");
        let logged = || traced.with("(ClientLimits::max_batch_messages)").len();
        let before = logged();
        let (error, _) = fault(&of(bound + 1).await).await;
        assert!(
            is_silence(&error) || is_violation(&error, "does not answer it"),
            "{error}"
        );
        assert_eq!(logged(), before + 1);
    }
}
