//! Streams that outlive their connections: ids, priming, replay, and streams that a client polls.

use std::collections::HashSet;
use std::time::Duration;

use serde_json::json;
use turnbuckle_http::{HttpLimits, HttpServerOptions, ReplayLimits};
use turnbuckle_it::web::{Event, Session, Web, sessions};
use turnbuckle_session::handler::{Limits, Rate};
use turnbuckle_wire::revision::Revision;

use crate::http::{busy, step_of};
use crate::servers::full_server;

fn polling() -> impl Iterator<Item = Revision> {
    sessions()
        .into_iter()
        .filter(|revision| revision.features().polling_streams)
}

/// Calls the counting tool, reads that many of its steps and loses the connection: the id of the
/// last event.
async fn broken_off(session: &Session, id: u32, after: usize) -> String {
    let call = session.call_tool(id, "count", &json!({"to": 5, "seconds": 2}));
    let mut events = call.events().await;
    let mut last = None;
    let mut steps = 0;
    while steps < after {
        let (event, message) = events.next_message().await.expect("a step");
        steps += usize::from(step_of(&message).is_some());
        last = event.id;
    }
    last.expect("an id")
}

fn steps(events: &[Event]) -> Vec<u64> {
    let messages = events.iter().filter_map(Event::message);
    messages.filter_map(|it| step_of(&it)).collect()
}

// requirement: e933c8c55fad
#[tokio::test(start_paused = true)]
async fn a_stream_is_primed() {
    for revision in sessions() {
        let session = Web::new(&busy()).open(revision).await;
        let call = session.call_tool(1, "sleep", &json!({"seconds": 5}));
        let of_post = call.events().await.next().await.unwrap();
        let mut get = session.get().events().await;
        let first = get.within(Duration::from_secs(3)).await.into_iter().next();
        let of_get = first.map(|event| event.expect("it goes on"));
        if revision.features().priming_event {
            for event in [of_post, of_get.unwrap()] {
                assert!(event.id.is_some() && event.retry.is_some(), "{event:?}");
                assert_eq!(event.data.as_deref(), Some(""));
            }
        } else {
            // Older clients take every event for a message.
            assert!(of_post.message().is_some(), "{revision}");
            assert_eq!(of_get, None, "{revision}");
        }
    }
}

// requirement: 8069a11f51e7
#[tokio::test(start_paused = true)]
async fn event_ids_are_unique_in_a_session() {
    for revision in sessions() {
        let session = Web::new(&full_server()).open(revision).await;
        let mut seen = HashSet::new();
        let mut count = 0;
        for round in 0..4 {
            let mut gets = [session.get().events().await, session.get().events().await];
            let call = session.call_tool(round, "talk", &json!({}));
            let mut events = call.events().await.rest().await;
            for get in &mut gets {
                let more = get.within(Duration::from_secs(1)).await;
                events.extend(more.into_iter().flatten());
            }
            for id in events.into_iter().filter_map(|event| event.id) {
                count += 1;
                assert!(seen.insert(id.clone()), "{revision}: {id} twice");
            }
        }
        assert!(count >= 4 * 6, "{count}");
    }
}

// requirement: f21c7d61a193
#[tokio::test(start_paused = true)]
async fn an_event_id_names_its_stream() {
    for revision in sessions() {
        let session = Web::new(&busy()).open(revision).await;
        let mut last = Vec::new();
        for id in 1..=3 {
            last.push((id, broken_off(&session, id, 1).await));
        }
        for (id, last) in last.into_iter().rev() {
            let messages = session.resume(&last).events().await.messages().await;
            assert_eq!(messages.last().unwrap()["id"], id, "{revision}");
        }
    }
}

// requirement: d093cb4c0642
#[tokio::test(start_paused = true)]
async fn a_replay_stays_on_its_stream() {
    for revision in sessions() {
        let session = Web::new(&busy()).open(revision).await;
        let one = broken_off(&session, 1, 2).await;
        let two = broken_off(&session, 2, 3).await;
        for (id, last, expected) in [
            (1, &one, &[3, 4, 5][..]),
            (2, &two, &[4, 5]),
            (1, &one, &[3, 4, 5]),
        ] {
            let rest = session.resume(last).events().await.rest().await;
            assert_eq!(steps(&rest), expected, "{revision}");
            let messages: Vec<_> = rest.iter().filter_map(Event::message).collect();
            let own = |it: &serde_json::Value| {
                it["id"] == id
                    || it["params"]["progressToken"] == id
                    || it["method"] == "notifications/message"
            };
            assert!(messages.iter().all(own), "{messages:?}");
        }
        // Another session has no such stream.
        let other = Web::new(&busy()).open(revision).await;
        assert_eq!(other.resume(&one).send().await.status, 400);
    }
}

#[tokio::test(start_paused = true)]
async fn an_event_that_is_not_known_is_400() {
    let web = Web::with(
        &busy(),
        HttpServerOptions::new().replay(ReplayLimits::new().max_stream_events(4)),
    );
    let session = web.open(Revision::NEWEST_LEGACY).await;
    let last = broken_off(&session, 1, 1).await;
    let (stream, _) = last.split_once('-').unwrap();
    let beyond = format!("{stream}-99");
    for unknown in ["", "x", "77-1", "-", "1", "0-9", &beyond] {
        assert_eq!(
            session.resume(unknown).send().await.status,
            400,
            "{unknown:?}"
        );
    }
    let twice = session.resume(&last).and_header("last-event-id", &last);
    assert_eq!(twice.send().await.status, 400);
    // It goes on with nobody there, until what came after that event is no longer kept.
    tokio::time::sleep(Duration::from_secs(20)).await;
    assert_eq!(session.resume(&last).send().await.status, 400);
    let kept = format!("{stream}-9");
    let rest = session.resume(&kept).events().await.messages().await;
    assert_eq!(rest.last().unwrap()["id"], 1);
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_has_ended_is_kept_for_a_while() {
    let options =
        HttpServerOptions::new().replay(ReplayLimits::new().stream_ttl(Duration::from_secs(30)));
    let session = Web::with(&busy(), options)
        .open(Revision::NEWEST_LEGACY)
        .await;
    let last = broken_off(&session, 1, 5).await;
    tokio::time::sleep(Duration::from_secs(20)).await;
    for _ in 0..2 {
        let rest = session.resume(&last).events().await.messages().await;
        assert_eq!(rest.last().unwrap()["id"], 1);
    }
    tokio::time::sleep(Duration::from_secs(40)).await;
    assert_eq!(session.resume(&last).send().await.status, 400);
}

#[tokio::test(start_paused = true)]
async fn the_replay_log_of_a_session_is_limited() {
    let streams = HttpServerOptions::new().http_limits(HttpLimits::new().max_streams(3));
    let bytes = HttpServerOptions::new().replay(ReplayLimits::new().max_session_bytes(1500));
    for options in [streams, bytes] {
        let session = Web::with(&busy(), options)
            .open(Revision::NEWEST_LEGACY)
            .await;
        let mut last = Vec::new();
        for id in 1..=10 {
            let call = session.call_tool(id, "count", &json!({"to": 2}));
            let rest = call.events().await.rest().await;
            last.push(rest[0].id.clone().expect("primed"));
        }
        let mut kept = Vec::new();
        for id in &last {
            kept.push(session.resume(id).send().await.status == 200);
        }
        // Those that ended last are kept.
        assert_eq!(kept, [vec![false; 7], vec![true; 3]].concat());
    }
}

#[tokio::test(start_paused = true)]
async fn the_general_stream_goes_on_where_it_broke_off() {
    for revision in sessions() {
        let session = Web::new(&full_server()).open(revision).await;
        let mut general = session.get().events().await;
        session.call_tool(1, "talk", &json!({})).send().await;
        let (event, first) = general.next_message().await.unwrap();
        drop(general);
        let last = event.id.unwrap();
        let mut again = session.resume(&last).events().await;
        let messages = again.within(Duration::from_secs(3)).await;
        let messages: Vec<_> = messages
            .iter()
            .flatten()
            .filter_map(Event::message)
            .collect();
        assert_eq!(messages.len(), 2, "{revision}");
        assert!(!messages.contains(&first));
    }
}

// requirement: 43f7b73074ef 6ef6db4cd07b
#[tokio::test(start_paused = true)]
async fn retry_goes_before_an_early_close() {
    let options = HttpServerOptions::new()
        .replay(ReplayLimits::new().reconnect_delay(Duration::from_millis(700)));
    let web = Web::with(&busy(), options);
    for revision in polling() {
        let session = web.open(revision).await;
        let call = session.call_tool(1, "later", &json!({}));
        let closed = call.events().await.rest().await;
        assert_eq!(closed.len(), 1, "{closed:?}");
        assert_eq!(closed[0].retry, Some(700));
        let id = closed[0].id.clone().unwrap();
        // What came while nobody was there, and the answer, are there for who comes back.
        let rest = session.resume(&id).events().await.rest().await;
        assert_eq!(rest[0].retry, Some(700));
        assert_eq!(steps(&rest), [1]);
        let answer = rest.last().and_then(Event::message).unwrap();
        assert_eq!(answer["result"]["content"][0]["text"], "later");
        let general = session.get().events().await.next().await.unwrap();
        assert_eq!(general.retry, Some(700));
    }
    for revision in sessions() {
        if polling().any(|it| it == revision) {
            continue;
        }
        // Where a client would not come back its stream stays.
        let call = web.open(revision).await.call_tool(1, "later", &json!({}));
        let events = call.events().await.rest().await;
        assert!(events.iter().all(|event| event.retry.is_none()));
        assert_eq!(steps(&events), [1], "{revision}");
    }
}

#[tokio::test(start_paused = true)]
async fn one_stream_more_than_are_kept_is_served_and_forgotten() {
    for revision in sessions() {
        let web = Web::with(
            &busy(),
            HttpServerOptions::new().http_limits(HttpLimits::new().max_streams(2)),
        );
        let session = web.open(revision).await;
        let mut last = Vec::new();
        for id in 1..=3 {
            last.push(broken_off(&session, id, 1).await);
        }
        for kept in &last[..2] {
            assert_eq!(session.resume(kept).send().await.status, 200, "{revision}");
        }
        let refused = session.resume(&last[2]).send().await;
        assert_eq!(refused.status, 400, "{revision}");
        let error = refused.json().await["error"]["message"].to_string();
        assert!(error.contains("max_streams"), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_cannot_be_kept_is_not_closed_early() {
    let web = Web::with(
        &busy(),
        HttpServerOptions::new().http_limits(HttpLimits::new().max_streams(1)),
    );
    for revision in polling() {
        let session = web.open(revision).await;
        let nap = session.call_tool(1, "sleep", &json!({"seconds": 60}));
        let napping = nap.events().await;
        let call = session.call_tool(2, "later", &json!({}));
        let messages = call.events().await.messages().await;
        assert_eq!(messages.last().unwrap()["id"], 2);
        drop(napping);
    }
}

/// A client that reads nothing holds its handler up, and not more than the bound is kept for it.
#[tokio::test(start_paused = true)]
async fn a_slow_reader_loses_nothing() {
    let limits = Limits::new().progress_rate(Rate::UNLIMITED);
    let options = HttpServerOptions::new()
        .replay(ReplayLimits::new().max_stream_events(8))
        .limits(limits);
    for revision in sessions() {
        let session = Web::with(&busy(), options.clone()).open(revision).await;
        let events = session
            .call_tool(1, "count", &json!({"to": 300}))
            .events()
            .await;
        tokio::time::sleep(Duration::from_secs(600)).await;
        let rest = events.rest().await;
        assert!(steps(&rest).into_iter().eq(1..=300), "{revision}");
    }
}
