//! Tests of the client's connection: its opening, the envelope of each request, and its reuse.

use std::collections::HashSet;
use std::time::Duration;

use serde_json::{Value, json};
use turnbuckle_client::{EraPreference, Error};
use turnbuckle_it::coupled::{Coupled, connect_to};
use turnbuckle_it::harness::Case;
use turnbuckle_it::peer::{Peer, PeerConnectors, Step};

use turnbuckle_types::TASKS_EXTENSION;
use turnbuckle_wire::revision::{EraKind, Revision};

use crate::client_support::{full_server, plain, settle};

fn methods(peer: &Peer) -> Vec<String> {
    let messages = peer.messages();
    messages
        .iter()
        .map(|heard| heard.method().to_owned())
        .collect()
}

// requirement: 21f0e54da123 2ab245507c45 2d4f294af15e 5fae3c58c0b9 7f20780329e1 bff8ceaba21e
// requirement: c28a74a5aa23
#[tokio::test(start_paused = true)]
async fn the_handshake_comes_first_and_is_whole() {
    for case in Case::legacy() {
        let client = Coupled::connect(case, &full_server(), plain()).await;
        client
            .call_tool("echo", &json!({"text": "x"}))
            .await
            .unwrap();
        let sent = client.tap().sent_messages();
        assert_eq!(sent[0]["method"], "initialize", "{case}");
        let params = &sent[0]["params"];
        assert_eq!(params["protocolVersion"], case.revision.as_str(), "{case}");
        assert!(params["capabilities"].is_object(), "{case}");
        let info = json!({"name": "tester", "version": "1.0.0"});
        assert_eq!(params["clientInfo"], info, "{case}");
        assert_eq!(sent[1]["method"], "notifications/initialized", "{case}");
        assert_eq!(sent[1].get("id"), None, "{case}");
        assert_eq!(sent[2]["method"], "tools/call", "{case}");
    }
}

// requirement: 0fdb4122ca7b
#[tokio::test(start_paused = true)]
async fn nothing_is_sent_while_the_handshake_is_not_answered() {
    for revision in legacy() {
        let peer = Peer::new(revision, move |heard| {
            (heard.method() == "initialize").then(|| {
                let result = json!({"protocolVersion": revision.as_str(), "capabilities": {},
                    "serverInfo": {"name": "slow", "version": "0"}});
                vec![Step::Wait(Duration::from_secs(20)), heard.answer(result)]
            })
        });
        let builder = plain().keep_alive(Duration::from_secs(1), Duration::from_secs(1));
        let connecting = tokio::spawn({
            let peer = peer.clone();
            async move { connect_to(&peer, builder).await }
        });
        tokio::time::sleep(Duration::from_secs(19)).await;
        assert_eq!(methods(&peer), ["initialize"], "{revision}");
        connecting.await.unwrap().unwrap();
        assert_eq!(methods(&peer)[1], "notifications/initialized", "{revision}");
    }
}

// requirement: 021eb52e9a6e 048c73d47a90 1c1a847bbf42
#[tokio::test(start_paused = true)]
async fn the_latest_revision_is_offered_and_one_that_is_not_spoken_ends_it() {
    let answering = |version: &'static str| {
        Peer::new(Revision::NEWEST_LEGACY, move |heard| {
            (heard.method() == "initialize").then(|| {
                vec![
                    heard.answer(json!({"protocolVersion": version, "capabilities": {},
                    "serverInfo": {"name": "s", "version": "0"}})),
                ]
            })
        })
    };
    for version in ["1999-01-01", "2026-07-28", "", "2999-01-01"] {
        let peer = answering(version);
        let error = plain()
            .era(EraPreference::Legacy)
            .connect(peer.lines())
            .await
            .unwrap_err();
        assert!(
            matches!(error, Error::Incompatible { .. }),
            "{version} {error}"
        );
        settle().await;
        assert_eq!(methods(&peer), ["initialize"], "{version}");
        assert_eq!(peer.open_count(), 0, "{version}");
        let offered = &peer.messages()[0].message["params"]["protocolVersion"];
        assert_eq!(*offered, Revision::NEWEST_LEGACY.as_str());
    }
    // Any older one that is spoken will do.
    for revision in legacy() {
        let peer = answering(revision.as_str());
        let client = plain()
            .era(EraPreference::Legacy)
            .connect(peer.lines())
            .await
            .unwrap();
        assert_eq!(client.server_info().unwrap().revision, revision);
    }
}

// requirement: 04bd371c18bb db4bc7520823
#[tokio::test(start_paused = true)]
async fn a_handshake_that_is_not_answered_times_out_and_is_not_cancelled() {
    let peer = Peer::new(Revision::NEWEST_LEGACY, |_| Some(Vec::new()));
    let builder = plain()
        .era(EraPreference::Legacy)
        .connect_timeout(Duration::from_secs(9));
    let began = tokio::time::Instant::now();
    let error = builder.connect(peer.lines()).await.unwrap_err();
    assert!(error.is_timeout(), "{error}");
    assert_eq!(began.elapsed().as_secs(), 9);
    settle().await;
    assert_eq!(methods(&peer), ["initialize"]);
    assert_eq!(peer.open_count(), 0);
}

// requirement: db4bc7520823
#[tokio::test(start_paused = true)]
async fn a_handshake_that_the_probe_overtakes_is_not_cancelled() {
    let peer = Peer::new(Revision::NEWEST, |heard| match heard.method() {
        "server/discover" => {
            let result = json!({"supportedVersions": [Revision::NEWEST.as_str()],
                "capabilities": {"resources": {}}, "resultType": "complete", "ttlMs": 0,
                "cacheScope": "private"});
            Some(vec![
                Step::Wait(Duration::from_secs(5)),
                heard.answer(result),
            ])
        }
        "initialize" => Some(Vec::new()),
        _ => None,
    });
    let client = plain().connect(peer.lines()).await.unwrap();
    assert_eq!(client.server_info().unwrap().revision, Revision::NEWEST);
    client.read_resource("a:b").await.unwrap();
    let expected = ["server/discover", "initialize", "resources/read"];
    assert_eq!(methods(&peer), expected);
}

// requirement: 7cd46b8ce836 903632599613 a0816e823fd5 c622ed812689 cf13d0d127a9 d6055fc8a0f9
// requirement: e53ba79d6d2a
#[tokio::test(start_paused = true)]
async fn every_modern_request_carries_its_envelope() {
    for case in Case::modern() {
        let form = async |_: turnbuckle_client::Form, _: turnbuckle_client::QuestionContext| {
            turnbuckle_client::FormAnswer::Decline
        };
        let client = Coupled::connect(case, &full_server(), plain().on_form(form)).await;
        client.list_tools().fetch_all().await.unwrap();
        client
            .call_tool("echo", &json!({"text": "x"}))
            .await
            .unwrap();
        client.read_resource("a:1").await.unwrap();
        let subscribed = client
            .subscribe(turnbuckle_client::ChangeFilter::new().resource("a:1"))
            .await;
        drop(subscribed);
        client
            .request_raw("com.example/any", None, None)
            .await
            .unwrap_err();
        let requests = client.tap().sent_messages();
        let requests = requests.iter().filter(|it| it.get("id").is_some());
        let mut seen = HashSet::new();
        for request in requests {
            let meta = &request["params"]["_meta"];
            let key = |name: &str| meta[format!("io.modelcontextprotocol/{name}")].clone();
            assert_eq!(key("protocolVersion"), case.revision.as_str(), "{case}");
            let able = json!({"elicitation": {"form": {}}, "extensions": {TASKS_EXTENSION: {}}});
            assert_eq!(key("clientCapabilities"), able, "{case}");
            let info = json!({"name": "tester", "version": "1.0.0"});
            assert_eq!(key("clientInfo"), info, "{case}");
            seen.insert(request["method"].to_string());
        }
        assert!(seen.len() >= 6, "{case} {seen:?}");
    }
}

// requirement: 8aace556e919 bdbcccfb5804 bfab722d3e17 c3b3f8bd1e21 d3a20c5161d3
#[tokio::test(start_paused = true)]
async fn own_ids_are_there_and_never_repeat() {
    for case in Case::all() {
        let client = Coupled::connect(case, &full_server(), plain()).await;
        let calls: Vec<_> = (0..20)
            .map(|_| {
                tokio::spawn(
                    client
                        .call_tool("echo", &json!({"text": "x"}))
                        .into_future(),
                )
            })
            .collect();
        for call in calls {
            call.await.unwrap().unwrap();
        }
        client.list_tools().fetch_all().await.unwrap();
        let mut ids = HashSet::new();
        for message in client.tap().sent_messages() {
            // Never a batch, also where there are such.
            assert!(message.is_object(), "{case} {message}");
            let method = message["method"].as_str().unwrap_or_default();
            if method.starts_with("notifications/") {
                assert_eq!(message.get("id"), None, "{case}");
                continue;
            }
            let id = &message["id"];
            assert!(id.is_i64() || id.is_string(), "{case} {message}");
            assert!(ids.insert(id.to_string()), "{case} twice: {message}");
        }
        assert!(ids.len() > 20);
    }
}

// requirement: 347aeb2db7fb 5cc584306359
#[tokio::test(start_paused = true)]
async fn a_server_is_probed_before_all_else() {
    for revision in [Revision::NEWEST, Revision::NEWEST_LEGACY] {
        for web in [false, true] {
            let peer = Peer::new(revision, |_| None);
            let client = match web {
                false => plain().connect(peer.lines()).await.unwrap(),
                true => plain().connect(peer.web()).await.unwrap(),
            };
            assert_eq!(client.server_info().unwrap().revision, revision);
            let first = &peer.messages()[0];
            assert_eq!(first.method(), "server/discover");
            let version =
                &first.message["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"];
            assert_eq!(*version, Revision::NEWEST.as_str());
            // What it turned out to be is not asked for again while the client lives.
            let found = client.server_info().unwrap().era();
            drop(client);
            let again = Peer::new(revision, |_| None);
            let builder = plain().era(EraPreference::StartWith(found));
            builder.connect(again.lines()).await.unwrap();
            let probed = again.messages_of("server/discover").len();
            assert_eq!(probed, usize::from(revision == Revision::NEWEST));
        }
    }
}

// requirement: 75a842b64511
#[tokio::test(start_paused = true)]
async fn another_connection_of_a_client_probes_no_legacy_server_again() {
    let peer = Peer::new(Revision::NEWEST_LEGACY, |heard| {
        (heard.method() == "tools/call").then(|| vec![Step::Break])
    });
    let client = plain().connect(peer.lines()).await.unwrap();
    client.call_tool("dies", &()).await.unwrap_err();
    client.read_resource("a:b").await.unwrap();
    assert_eq!(
        (
            peer.connection_count(),
            peer.messages_of("server/discover").len()
        ),
        (2, 1)
    );
    assert_eq!(peer.messages_of("initialize").len(), 2);
}

// requirement: 55d67a9d5675 c37124025a87
#[tokio::test(start_paused = true)]
async fn a_client_of_the_modern_era_alone_finds_out_at_once() {
    let peer = Peer::new(Revision::NEWEST_LEGACY, |_| None);
    let error = plain()
        .era(EraPreference::Modern)
        .connect(peer.lines())
        .await
        .unwrap_err();
    assert!(matches!(error, Error::NeedsHandshake), "{error}");
    let text = error.to_string();
    assert!(
        text.contains("2025-11-25 have: try EraPreference::Auto"),
        "{text}"
    );
    assert!(
        methods(&peer)
            .iter()
            .all(|method| method == "server/discover")
    );
}

// requirement: 6774811b5e63 d9f7473b2b81
#[tokio::test(start_paused = true)]
async fn server_info_changes_nothing() {
    let infos = [
        Value::Null,
        json!({"name": "everything", "version": "1.0.0"}),
        json!({"name": "claude", "version": "99.0.0", "title": "Trusted"}),
    ];
    let mut params: Vec<Vec<Value>> = Vec::new();
    for info in infos {
        let peer = Peer::new(Revision::NEWEST, move |heard| {
            let mut result = match heard.method() {
                "server/discover" => json!({"supportedVersions": [Revision::NEWEST.as_str()],
                    "capabilities": {"tools": {}, "resources": {}}, "ttlMs": 0,
                    "cacheScope": "private"}),
                "tools/call" => json!({"content": []}),
                "resources/read" => json!({"contents": []}),
                _ => return None,
            };
            result["resultType"] = "complete".into();
            if !info.is_null() {
                result["_meta"] = json!({"io.modelcontextprotocol/serverInfo": info});
            }
            Some(vec![heard.answer(result)])
        });
        let client = plain().connect(peer.lines()).await.unwrap();
        client.call_tool("t", &json!({"a": 1})).await.unwrap();
        client.read_resource("a:b").await.unwrap();
        params.push(
            peer.messages()
                .into_iter()
                .map(|heard| heard.message)
                .collect(),
        );
    }
    assert_eq!(params[0], params[1]);
    assert_eq!(params[0], params[2]);
}

fn legacy() -> Vec<Revision> {
    let legacy = |revision: &Revision| revision.features().era == EraKind::Legacy;
    Revision::ALL.into_iter().filter(legacy).collect()
}
