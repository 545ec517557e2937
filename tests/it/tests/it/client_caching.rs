//! Caching of results in our client, and the pages of lists.

use std::time::Duration;

use serde_json::{Value, json};
use turnbuckle_client::{Client, Error};
use turnbuckle_it::coupled::{Coupled, connect_to};
use turnbuckle_it::peer::{Peer, ReceivedMessage, Step};

use turnbuckle_wire::revision::{EraKind, Revision};

use crate::client_support::{full_server, plain};

fn cursors(peer: &Peer) -> Vec<Option<String>> {
    let told = peer.messages_of("tools/list");
    let cursor =
        |heard: ReceivedMessage| Some(heard.message["params"].get("cursor")?.as_str()?.to_owned());
    told.into_iter().map(cursor).collect()
}

fn tool(name: impl std::fmt::Display) -> Value {
    json!({"name": name.to_string(), "inputSchema": {"type": "object"}})
}

/// Returns a page of one tool that may be cached for `ttl` milliseconds.
fn page(heard: &ReceivedMessage, ttl: &Value, next: Option<&str>) -> Vec<Step> {
    let mut result =
        json!({"resultType": "complete", "cacheScope": "private", "tools": [tool("t")]});
    if !ttl.is_null() {
        result["ttlMs"] = ttl.clone();
    }
    if let Some(next) = next {
        result["nextCursor"] = next.into();
    }
    vec![heard.answer(result)]
}

// requirement: 4f05f91415b1 58c11f468058 9a0998724ff1 c2d9b49f597e f587a7bd7acb
#[tokio::test(start_paused = true)]
async fn a_result_is_fresh_for_as_long_as_it_says_and_no_longer() {
    for (ttl, asked) in [
        (json!(0), 3),
        (Value::Null, 3),
        (json!(-1000), 3),
        (json!(1000), 2),
        (json!(10_000), 1),
    ] {
        let of = ttl.clone();
        let peer = Peer::new(Revision::NEWEST, move |heard| {
            (heard.method() == "tools/list").then(|| page(heard, &of, None))
        });
        let client = connect_to(&peer, plain()).await.unwrap();
        for _ in 0..2 {
            client.list_tools().fetch_all().await.unwrap();
        }
        tokio::time::advance(Duration::from_millis(1000)).await;
        client.list_tools().fetch_all().await.unwrap();
        assert_eq!(peer.messages_of("tools/list").len(), asked, "{ttl}");
    }
}

async fn pages() -> (Peer, Client) {
    let peer = Peer::new(Revision::NEWEST, |heard| {
        if heard.method() != "tools/list" {
            return None;
        }
        // The second page expires first.
        Some(match heard.message["params"]["cursor"].as_str() {
            None => page(heard, &json!(60_000), Some("c1")),
            Some("c1") => page(heard, &json!(1000), Some("c2")),
            _ => page(heard, &json!(60_000), None),
        })
    });
    let client = connect_to(&peer, plain()).await.unwrap();
    (peer, client)
}

// requirement: abea8f958f36
#[tokio::test(start_paused = true)]
async fn a_page_that_expired_is_asked_for_by_its_cursor() {
    let (peer, client) = pages().await;
    let all = [None, Some("c1".to_owned()), Some("c2".to_owned())];
    client.list_tools().fetch_all().await.unwrap();
    assert_eq!(cursors(&peer), all);
    tokio::time::advance(Duration::from_millis(1000)).await;
    client.list_tools().fetch_all().await.unwrap();
    assert_eq!(cursors(&peer)[3..], [Some("c1".to_owned())]);
}

// requirement: 1cc4481db96b
#[tokio::test(start_paused = true)]
async fn a_fresh_list_is_read_from_its_beginning() {
    let (peer, client) = pages().await;
    let all = [None, Some("c1".to_owned()), Some("c2".to_owned())];
    client.list_tools().fetch_all().await.unwrap();
    client
        .list_tools()
        .bypass_cache()
        .fetch_all()
        .await
        .unwrap();
    assert_eq!(cursors(&peer)[3..], all);
}

// requirement: 6573d829758c 7c12e4b8987f 9ee38a200c66 a38857c14157 be048c77e6a5
#[tokio::test(start_paused = true)]
async fn pages_of_any_size_make_one_list() {
    const CURSORS: [&str; 5] = ["", " ", "0", "null", "\u{e9}\"\\\n"];
    const SIZES: [usize; 6] = [2, 0, 3, 1, 0, 4];
    for revision in Revision::ALL {
        let peer = Peer::new(revision, |heard| {
            if heard.method() != "tools/list" {
                return None;
            }
            let cursor = heard.message["params"].get("cursor");
            let at = cursor.map_or(0, |cursor| {
                1 + CURSORS
                    .iter()
                    .position(|it| cursor == it)
                    .expect("one of ours")
            });
            let before: usize = SIZES[..at].iter().sum();
            let tools: Vec<_> = (before..before + SIZES[at]).map(tool).collect();
            let mut result = json!({"tools": tools, "resultType": "complete", "ttlMs": 0,
                "cacheScope": "private"});
            if let Some(next) = CURSORS.get(at) {
                result["nextCursor"] = (*next).into();
            }
            Some(vec![heard.answer(result)])
        });
        let client = connect_to(&peer, plain()).await.unwrap();
        let listed = client.list_tools().fetch_all().await.unwrap();
        let names: Vec<_> = listed.iter().map(|tool| tool.name.clone()).collect();
        let expected: Vec<_> = (0..10).map(|n| n.to_string()).collect();
        assert_eq!(names, expected, "{revision}");
    }
}

// requirement: 5ca925de906d
#[tokio::test(start_paused = true)]
async fn a_cursor_is_not_taken_into_another_session() {
    for revision in Revision::ALL {
        if revision.features().era == EraKind::Modern {
            continue;
        }
        let peer = Peer::new(revision, |heard| {
            if heard.method() != "tools/list" {
                return None;
            }
            let cursor = heard.message["params"].get("cursor");
            Some(match (heard.connection, cursor) {
                (1, Some(_)) => vec![Step::Break],
                (_, None) => page(heard, &Value::Null, Some("c")),
                (_, Some(_)) => page(heard, &Value::Null, None),
            })
        });
        let client = connect_to(&peer, plain()).await.unwrap();
        let listed = client.list_tools().fetch_all().await.unwrap();
        assert_eq!(listed.len(), 2, "{revision}");
        let told: Vec<_> = peer
            .messages_of("tools/list")
            .iter()
            .map(|heard| {
                (
                    heard.connection,
                    heard.message["params"].get("cursor").is_some(),
                )
            })
            .collect();
        let expected = [(1, false), (1, true), (2, false), (2, true)];
        assert_eq!(told, expected, "{revision}");
        // A page that was asked for by itself is not.
        let peer = Peer::new(revision, |heard| {
            (heard.method() == "tools/list").then(|| vec![Step::Break])
        });
        let client = connect_to(&peer, plain()).await.unwrap();
        let error = client.list_tools().page(Some("c")).await.unwrap_err();
        assert!(
            matches!(error, Error::ConnectionLost { .. }),
            "{revision} {error}"
        );
        assert_eq!(peer.messages_of("tools/list").len(), 1, "{revision}");
    }
}

// requirement: 640d08da5b92 71b865fbc988
#[tokio::test(start_paused = true)]
async fn a_missing_resource_is_told_with_the_code_of_any_revision() {
    for revision in Revision::ALL {
        for (code, data, missing) in [
            (-32002, Value::Null, true),
            (-32002, json!({"uri": "a:b"}), true),
            (-32602, json!({"uri": "a:b"}), true),
            (-32602, Value::Null, false),
            (-32602, json!("uri"), false),
            (-32603, json!({"uri": "a:b"}), false),
        ] {
            let refused = data.clone();
            let peer = Peer::new(revision, move |heard| {
                let error = json!({"code": code, "message": "no", "data": refused});
                let answer = json!({"jsonrpc": "2.0", "id": heard.id(), "error": error});
                (heard.method() == "resources/read").then(|| vec![Step::Say(answer)])
            });
            let client = connect_to(&peer, plain()).await.unwrap();
            let error = client.read_resource("a:b").await.unwrap_err();
            assert_eq!(
                error.is_resource_not_found(),
                missing,
                "{revision} {code} {data}"
            );
            assert_eq!(peer.messages_of("resources/read").len(), 1, "{revision}");
        }
    }
    for case in turnbuckle_it::harness::Case::all() {
        let client = Coupled::connect(case, &full_server(), plain()).await;
        let error = client.read_resource("a:none").await.unwrap_err();
        assert!(error.is_resource_not_found(), "{case} {error}");
    }
}
