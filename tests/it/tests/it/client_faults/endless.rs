//! Conversations that a server never lets end: rounds of input, pages of a list.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;
use turnbuckle_client::{Client, Error, FormAnswer};
use turnbuckle_it::peer::{Peer, ReceivedMessage, Step};
use turnbuckle_session::transport::ClientLimits;
use turnbuckle_wire::revision::Revision;

use super::{FAULTY, LEGACY, PEER_CASES, PeerTransport, fault, faulty, text_of};

fn asking() -> serde_json::Value {
    json!({"q": {"method": "elicitation/create", "params": {"mode": "form", "message": "More?",
        "requestedSchema": {"type": "object", "properties": {}}}}})
}

#[tokio::test(start_paused = true)]
async fn rounds_of_input_without_end_are_left() {
    for way in [PeerTransport::Lines, PeerTransport::Web] {
        for (requests, state) in [
            (Some(asking()), None),
            (Some(asking()), Some("s")),
            (None, Some("s")),
        ] {
            let peer = faulty(Revision::NEWEST, move |heard| {
                let mut result = json!({"resultType": "input_required"});
                if let Some(requests) = &requests {
                    result["inputRequests"] = requests.clone();
                }
                if let Some(state) = state {
                    result["requestState"] = state.into();
                }
                vec![heard.answer(result)]
            });
            let builder = Client::builder("c", "1")
                .on_form(async |_, _| FormAnswer::accept(std::iter::empty::<(&str, bool)>()));
            let client = way.connect_by(&peer, builder).await;
            let (error, took) = fault(&client).await;
            assert!(
                matches!(error, Error::TooManyInputRounds { limit: 16 }),
                "{error}"
            );
            assert_eq!(
                error.to_string(),
                "the server asked for input more than 16 times (ClientBuilder::max_input_rounds)"
            );
            let calls = peer.messages_of("tools/call");
            assert_eq!(
                calls.len(),
                18,
                "one, sixteen again, and the one that went well"
            );
            assert!(calls.windows(2).all(|pair| pair[0].id() != pair[1].id()));
            assert!(took < Duration::from_secs(120), "{took:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn input_that_asks_for_nothing_or_where_it_must_not_is_invalid() {
    let peer = Peer::new(Revision::NEWEST, |heard| match heard.method() {
        "tools/call" if heard.message["params"]["name"] == FAULTY => {
            Some(vec![heard.answer(json!({"resultType": "input_required"}))])
        }
        "tools/list" => {
            Some(vec![heard.answer(
                json!({"resultType": "input_required", "requestState": "s"}),
            )])
        }
        _ => None,
    });
    let client = PeerTransport::Lines.connect(&peer).await;
    let (error, _) = fault(&client).await;
    assert!(matches!(&error, Error::InvalidResult { .. }), "{error}");
    let error = client.list_tools().fetch_all().await.unwrap_err();
    assert!(matches!(&error, Error::InvalidResult { .. }), "{error}");
    // Without a handler there is nobody to ask.
    let peer = faulty(Revision::NEWEST, |heard| {
        vec![heard.answer(json!({"resultType": "input_required", "inputRequests": asking()}))]
    });
    let client = PeerTransport::Lines.connect(&peer).await;
    let (error, _) = fault(&client).await;
    assert!(matches!(&error, Error::InputUnanswered { .. }), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_list_that_leads_back_into_itself_is_left() {
    for (way, revision) in PEER_CASES {
        for cursors in [["a", "a"], ["a", "b"], ["", ""]] {
            let page = AtomicUsize::new(0);
            let peer = Peer::new(revision, move |heard| {
                let page = page.fetch_add(1, Ordering::Relaxed);
                let result = json!({"resultType": "complete", "tools": [], "ttlMs": 0,
                    "cacheScope": "private", "nextCursor": cursors[page % 2]});
                (heard.method() == "tools/list").then(|| vec![heard.answer(result)])
            });
            let client = way.connect(&peer).await;
            let began = Instant::now();
            let error = client.list_tools().fetch_all().await.unwrap_err();
            assert!(matches!(&error, Error::EndlessList { .. }), "{error}");
            assert_eq!(
                error.to_string(),
                "the list of tools/list does not come to an end (ClientLimits::max_list_pages, max_list_items)"
            );
            assert_eq!(began.elapsed(), Duration::ZERO);
            assert!(peer.messages_of("tools/list").len() <= 4);
            assert_eq!(client.in_flight(), Default::default());
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_list_with_ever_new_cursors_is_left() {
    let page = AtomicUsize::new(0);
    let peer = Peer::new(LEGACY, move |heard| {
        let page = page.fetch_add(1, Ordering::Relaxed);
        let result = json!({"tools": [], "nextCursor": page.to_string()});
        (heard.method() == "tools/list").then(|| vec![heard.answer(result)])
    });
    let client = PeerTransport::Lines.connect(&peer).await;
    let error = client.list_tools().fetch_all().await.unwrap_err();
    assert!(matches!(&error, Error::EndlessList { .. }), "{error}");
    assert_eq!(peer.messages_of("tools/list").len(), 10_000);
    let mut list = client.list_tools();
    let error = list.next().await.unwrap().unwrap_err();
    assert!(matches!(&error, Error::EndlessList { .. }), "{error}");
    assert!(list.next().await.is_none());
}

/// Returns the reaction of a server that says `count` messages about a request before its answer.
fn chatty(
    count: usize,
    message: impl Fn(&ReceivedMessage) -> Step,
) -> impl Fn(&ReceivedMessage) -> Vec<Step> {
    move |heard| {
        let mut steps: Vec<_> = (0..count).map(|_| message(heard)).collect();
        steps.push(heard.text("done"));
        steps
    }
}

#[tokio::test(start_paused = true)]
async fn messages_about_one_request_are_bounded_in_bytes() {
    let log = |_: &ReceivedMessage| {
        Step::Say(json!({"jsonrpc": "2.0", "method": "notifications/message",
            "params": {"level": "info", "data": "x".repeat(400)}}))
    };
    for (way, revision) in PEER_CASES {
        for count in [1, 20] {
            for progress in [true, false] {
                let peer = match progress {
                    true => faulty(revision, chatty(3 * count, |heard| heard.progress(1))),
                    false => faulty(revision, chatty(count, log)),
                };
                let limits = ClientLimits::new().max_request_bytes(2000);
                let client = way
                    .connect_by(&peer, Client::builder("c", "1").limits(limits))
                    .await;
                if count == 1 {
                    client.call_tool(FAULTY, &json!({})).await.unwrap();
                    continue;
                }
                let error = text_of(&client, FAULTY).await.unwrap_err();
                assert!(
                    matches!(error, Error::TooManyBytes { limit: 2000 }),
                    "{error}"
                );
                assert_eq!(
                    error.to_string(),
                    "the server sent more than 2000 bytes of progress, log messages and questions \
                     about one request (ClientLimits::max_request_bytes)"
                );
                assert_eq!(client.in_flight(), Default::default());
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_pages_of_a_list_are_bounded_in_bytes_together() {
    for (way, revision) in PEER_CASES {
        let page = AtomicUsize::new(0);
        let peer = Peer::new(revision, move |heard| {
            let page = page.fetch_add(1, Ordering::Relaxed);
            let tool = json!({"name": page.to_string(), "description": "x".repeat(1000),
                "inputSchema": {"type": "object"}});
            let result = json!({"resultType": "complete", "tools": [tool], "ttlMs": 0,
                "cacheScope": "private", "nextCursor": page.to_string()});
            (heard.method() == "tools/list").then(|| vec![heard.answer(result)])
        });
        let limits = ClientLimits::new().max_list_bytes(10_000);
        let client = way
            .connect_by(&peer, Client::builder("c", "1").limits(limits))
            .await;
        let error = client.list_tools().fetch_all().await.unwrap_err();
        assert_eq!(
            error.to_string(),
            "the list of tools/list has more than 10000 bytes (ClientLimits::max_list_bytes)"
        );
        let pages = peer.messages_of("tools/list").len();
        assert!((8..=10).contains(&pages), "{pages}");
        // The stream collects nothing.
        let mut stream = client.list_tools();
        for _ in 0..20 {
            stream.next().await.unwrap().unwrap();
        }
    }
}
