//! Connecting: how the era of a server is detected.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use turnbuckle_client::{Client, EraPreference, Error};
use turnbuckle_it::peer::{Peer, PeerConnectors, ReceivedMessage, Step};
use turnbuckle_server::Server;
use turnbuckle_session::handler::{Limits, Signal};
use turnbuckle_session::transport::{
    MemoryTransport, Timeouts, TransportConnector, TransportContext, memory_pair, serve,
};
use turnbuckle_wire::revision::{EraKind, Revision};

use turnbuckle_types::{LoggingLevel, RawObject};

fn server() -> Server {
    Server::new("s", "1").build().unwrap()
}

fn serve_in_memory() -> TransportConnector<MemoryTransport> {
    let (ours, theirs) = memory_pair();
    tokio::spawn(serve(
        Arc::new(server()) as Arc<dyn turnbuckle_session::transport::Dispatch>,
        theirs,
        Limits::default(),
        TransportContext::default(),
        Signal::new(),
    ));
    TransportConnector::new(ours)
}

/// Returns a server that reacts to each message as `script` says.
fn scripted_peer(script: impl Fn(&ReceivedMessage) -> Vec<Step> + Send + Sync + 'static) -> Peer {
    Peer::new(Revision::NEWEST, move |heard| Some(script(heard)))
}

fn refuse(heard: &ReceivedMessage, code: i64, data: Value) -> Vec<Step> {
    vec![Step::Say(json!({"jsonrpc": "2.0", "id": heard.id(),
        "error": {"code": code, "message": "no", "data": data}}))]
}

fn greeting(heard: &ReceivedMessage, revision: &str) -> Vec<Step> {
    vec![heard.answer(
        json!({"protocolVersion": revision, "capabilities": {"tools": {}, "resources": {}},
            "serverInfo": {"name": "by hand", "version": "0"}}),
    )]
}

async fn connect(peer: &Peer, era: EraPreference) -> Result<Client, Error> {
    Client::builder("c", "1")
        .era(era)
        .connect(peer.lines())
        .await
}

fn methods(peer: &Peer) -> Vec<String> {
    let messages = peer.messages();
    messages
        .iter()
        .map(|heard| heard.method().to_owned())
        .collect()
}

#[tokio::test(start_paused = true)]
async fn the_modern_era_is_the_default_and_every_revision_can_be_chosen() {
    let client = Client::builder("c", "1")
        .connect(serve_in_memory())
        .await
        .unwrap();
    assert_eq!(client.server_info().unwrap().revision, Revision::NEWEST);
    assert_eq!(
        client
            .server_info()
            .unwrap()
            .implementation
            .as_ref()
            .unwrap()
            .name,
        "s"
    );
    for revision in Revision::ALL {
        let builder = Client::builder("c", "1").era(EraPreference::Only(revision));
        let client = builder.connect(serve_in_memory()).await.unwrap();
        let server = client.server_info().unwrap();
        assert_eq!(server.revision, revision);
        assert_eq!(server.implementation.as_ref().unwrap().name, "s");
        client.close().await;
    }
}

// requirement: 1db792cee398
#[tokio::test(start_paused = true)]
async fn a_server_that_refuses_the_probe_in_any_way_is_legacy() {
    for code in [-32601, -32602, -32600, -32000, -32603, 0] {
        let peer = scripted_peer(move |heard| match heard.method() {
            "server/discover" => refuse(heard, code, Value::Null),
            "initialize" => greeting(heard, "2025-06-18"),
            _ => Vec::new(),
        });
        let client = connect(&peer, EraPreference::Auto).await.unwrap();
        let server = client.server_info().unwrap();
        assert_eq!(server.revision.as_str(), "2025-06-18");
        assert_eq!(server.era(), EraKind::Legacy);
        client.close().await;
        assert_eq!(
            methods(&peer),
            ["server/discover", "initialize", "notifications/initialized"]
        );
        assert_eq!(peer.connection_count(), 1);
    }
}

// requirement: 591564f16e4d
#[tokio::test(start_paused = true)]
async fn a_server_that_exits_at_the_probe_is_restarted_for_a_handshake() {
    let peer = scripted_peer(|heard| match heard.method() {
        "server/discover" => vec![Step::Break],
        "initialize" => greeting(heard, "2024-11-05"),
        _ => Vec::new(),
    });
    let client = connect(&peer, EraPreference::Auto).await.unwrap();
    assert_eq!(
        client.server_info().unwrap().revision.as_str(),
        "2024-11-05"
    );
    assert_eq!(peer.connection_count(), 2);
    client.close().await;
    assert_eq!(
        methods(&peer),
        ["server/discover", "initialize", "notifications/initialized"]
    );
}

// requirement: 1db792cee398
#[tokio::test(start_paused = true)]
async fn an_unanswered_probe_leads_to_a_handshake() {
    let builder = || Client::builder("c", "1");
    let longer = || builder().probe_timeout(Duration::from_secs(7));
    for (builder, bound) in [(builder(), 3), (longer(), 7)] {
        let peer = scripted_peer(|heard| match heard.method() {
            "initialize" => greeting(heard, "2025-11-25"),
            _ => Vec::new(),
        });
        let began = tokio::time::Instant::now();
        let client = builder.connect(peer.lines()).await.unwrap();
        assert_eq!(client.server_info().unwrap().era(), EraKind::Legacy);
        assert_eq!(began.elapsed(), Duration::from_secs(bound));
    }
}

#[tokio::test(start_paused = true)]
async fn a_modern_server_that_is_slow_to_start_is_not_taken_for_a_legacy_one() {
    let probe = Mutex::new(Value::Null);
    let peer = scripted_peer(move |heard| match heard.method() {
        "server/discover" => {
            *probe.lock().unwrap() = heard.id().clone();
            Vec::new()
        }
        // The server starts now and answers everything that waited, in order.
        "initialize" => vec![
            heard.refuse(-32601, "no"),
            Step::Say(
                json!({"jsonrpc": "2.0", "id": *probe.lock().unwrap(), "result": {
                "resultType": "complete", "supportedVersions": ["2026-07-28"],
                "capabilities": {}, "ttlMs": 0, "cacheScope": "private"}}),
            ),
        ],
        _ => Vec::new(),
    });
    let client = connect(&peer, EraPreference::Auto).await.unwrap();
    assert_eq!(client.server_info().unwrap().revision, Revision::NEWEST);
}

// requirement: 903d0a224390
#[tokio::test(start_paused = true)]
async fn a_recognized_modern_error_never_leads_to_a_handshake() {
    for (code, data) in [
        (
            -32022,
            json!({"supported": ["2999-01-01"], "requested": "2026-07-28"}),
        ),
        (-32022, Value::Null),
        (-32021, json!({"requiredCapabilities": {"sampling": {}}})),
    ] {
        let peer = scripted_peer(move |heard| refuse(heard, code, data.clone()));
        let error = connect(&peer, EraPreference::Auto).await.unwrap_err();
        assert!(
            matches!(error, Error::Incompatible { .. } | Error::ErrorResponse(_)),
            "{error}"
        );
        assert_eq!(methods(&peer), ["server/discover"]);
    }
}

// requirement: 903d0a224390
#[tokio::test(start_paused = true)]
async fn a_version_that_is_not_supported_is_replaced_by_one_that_is() {
    let peer = scripted_peer(|heard| match heard.method() {
        "server/discover" => refuse(
            heard,
            -32022,
            json!({"supported": ["2025-06-18"], "requested": "2026-07-28"}),
        ),
        "initialize" => greeting(heard, "2025-06-18"),
        _ => Vec::new(),
    });
    let client = connect(&peer, EraPreference::Auto).await.unwrap();
    assert_eq!(
        client.server_info().unwrap().revision.as_str(),
        "2025-06-18"
    );
}

#[tokio::test(start_paused = true)]
async fn an_unknown_revision_is_named_in_the_error() {
    let peer = scripted_peer(|heard| match heard.method() {
        "initialize" => greeting(heard, "2023-01-01"),
        _ => refuse(heard, -32601, Value::Null),
    });
    let error = connect(&peer, EraPreference::Auto).await.unwrap_err();
    assert!(error.to_string().contains("2023-01-01"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn invalid_messages_are_skipped_and_counted() {
    let peer = scripted_peer(|heard| match heard.method() {
        "initialize" => greeting(heard, "2025-11-25"),
        "notifications/initialized" => vec![Step::Write("Server listening on stdio\n".into())],
        "ping" => vec![heard.answer(json!({}))],
        _ => Vec::new(),
    });
    let events = Arc::new(Mutex::new(Vec::new()));
    let list = events.clone();
    let client = Client::builder("c", "1")
        .era(EraPreference::Legacy)
        .on_invalid_message(move |count, text| list.lock().unwrap().push((count, text.to_owned())))
        .connect(peer.lines())
        .await
        .unwrap();
    client.ping().await.unwrap();
    assert_eq!(
        *events.lock().unwrap(),
        [(1, "Server listening on stdio".to_owned())]
    );
}

// requirement: 75a842b64511
#[tokio::test(start_paused = true)]
async fn a_known_era_saves_the_probe_and_an_outdated_one_is_corrected() {
    let script = |heard: &ReceivedMessage| match heard.method() {
        "initialize" => greeting(heard, "2025-11-25"),
        _ => refuse(heard, -32601, Value::Null),
    };
    let peer = scripted_peer(script);
    let client = connect(&peer, EraPreference::StartWith(EraKind::Legacy))
        .await
        .unwrap();
    client.close().await;
    assert_eq!(methods(&peer), ["initialize", "notifications/initialized"]);

    let peer = scripted_peer(|heard| match heard.method() {
        "server/discover" => vec![heard.answer(
            json!({"resultType": "complete", "supportedVersions": ["2026-07-28"],
                "capabilities": {}, "ttlMs": 0, "cacheScope": "private"}),
        )],
        _ => refuse(heard, -32601, Value::Null),
    });
    let client = connect(&peer, EraPreference::StartWith(EraKind::Legacy))
        .await
        .unwrap();
    assert_eq!(client.server_info().unwrap().revision, Revision::NEWEST);
    client.close().await;
    assert_eq!(methods(&peer), ["initialize", "server/discover"]);
}

#[tokio::test(start_paused = true)]
async fn an_unanswered_request_times_out_and_is_cancelled() {
    let peer = scripted_peer(|heard| match heard.method() {
        "initialize" => greeting(heard, "2025-11-25"),
        _ => Vec::new(),
    });
    let client = connect(&peer, EraPreference::Legacy).await.unwrap();
    let began = tokio::time::Instant::now();
    let error = client.ping().await.unwrap_err();
    assert!(error.is_timeout(), "{error}");
    assert_eq!(began.elapsed(), Duration::from_secs(60));
    client.close().await;
    assert_eq!(methods(&peer).last().unwrap(), "notifications/cancelled");
    let messages = peer.messages();
    let [.., ping, cancelled] = &messages[..] else {
        panic!()
    };
    assert_eq!(cancelled.message["params"]["requestId"], *ping.id());
}

// requirement: 52a18f50bf03 8f234495f4ce
#[tokio::test(start_paused = true)]
async fn a_server_that_stops_answering_pings_is_disconnected() {
    let peer = scripted_peer({
        let pings = AtomicUsize::new(0);
        move |heard| match heard.method() {
            "initialize" => greeting(heard, "2025-11-25"),
            "ping" if pings.fetch_add(1, Ordering::Relaxed) < 3 => {
                vec![heard.answer(json!({}))]
            }
            _ => Vec::new(),
        }
    });
    let began = tokio::time::Instant::now();
    let client = Client::builder("c", "1")
        .era(EraPreference::Legacy)
        .keep_alive(Duration::from_secs(30), Duration::from_secs(5))
        .timeouts(Timeouts::uniform(Duration::from_secs(600)))
        .connect(peer.lines())
        .await
        .unwrap();
    // Reading is safe to repeat: it is sent once more on another connection, which is lost as well.
    let error = client.read_resource("x:y").await.unwrap_err();
    let expected = "a ping was not answered within 5s (ClientBuilder::keep_alive)";
    assert!(error.to_string().contains(expected), "{error}");
    assert_eq!(peer.connection_count(), 2);
    assert_eq!(began.elapsed(), Duration::from_secs(4 * 30 + 5 + 30 + 5));
}

// requirement: 4bde8b77cab8 bf40b4d36a4f
#[tokio::test(start_paused = true)]
async fn undeclared_capabilities_are_not_requested() {
    let peer = scripted_peer(|heard| match heard.method() {
        "initialize" => vec![
            heard.answer(json!({"protocolVersion": "2025-11-25", "capabilities": {},
                "serverInfo": {"name": "by hand", "version": "0"}})),
        ],
        _ => Vec::new(),
    });
    let client = connect(&peer, EraPreference::Legacy).await.unwrap();
    let refusals = [
        client.list_tools().fetch_all().await.unwrap_err(),
        client.call_tool("t", &()).await.unwrap_err(),
        client.list_prompts().fetch_all().await.unwrap_err(),
        client.list_resources().fetch_all().await.unwrap_err(),
        client.read_resource("x:y").await.unwrap_err(),
        client.set_log_level(LoggingLevel::Info).await.unwrap_err(),
    ];
    for error in refusals {
        assert!(matches!(error, Error::Unsupported { .. }), "{error}");
        assert!(error.to_string().contains("does not declare"), "{error}");
    }
    client.close().await;
    assert_eq!(methods(&peer), ["initialize", "notifications/initialized"]);
}

#[tokio::test(start_paused = true)]
async fn a_modern_only_client_reports_a_legacy_server() {
    let peer = scripted_peer(|heard| refuse(heard, -32601, Value::Null));
    let error = connect(&peer, EraPreference::Modern).await.unwrap_err();
    assert!(matches!(error, Error::NeedsHandshake), "{error}");
    assert!(error.to_string().contains("handshake"), "{error}");
}

// requirement: b80eb6a14946
#[tokio::test(start_paused = true)]
async fn an_extension_needs_a_valid_id() {
    let connect = async |id: &str| {
        let builder = Client::builder("c", "1").extension(id, RawObject::empty());
        builder.connect(serve_in_memory()).await
    };
    for bad in ["", "ui", "/ui", "com..example/ui", "com.example/ui_"] {
        let error = connect(bad).await.unwrap_err();
        assert!(matches!(error, Error::InvalidRequest(_)), "{error}");
        assert!(error.to_string().contains(&format!("{bad:?}")), "{error}");
    }
    for good in ["com.example/ui", "io.modelcontextprotocol/ui"] {
        connect(good).await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_the_probe_made_unusable_is_connected_to_afresh() {
    let handshakes = AtomicUsize::new(0);
    let peer = scripted_peer(move |heard| match heard.method() {
        "initialize" if handshakes.fetch_add(1, Ordering::Relaxed) == 0 => {
            refuse(heard, -32600, Value::Null)
        }
        "initialize" => greeting(heard, "2025-06-18"),
        "server/discover" => refuse(heard, -32601, Value::Null),
        _ => Vec::new(),
    });
    let client = connect(&peer, EraPreference::Auto).await.unwrap();
    let server = client.server_info().unwrap();
    assert_eq!(server.revision, Revision::V2025_06_18);
    assert_eq!(
        methods(&peer),
        [
            "server/discover",
            "initialize",
            "initialize",
            "notifications/initialized"
        ]
    );

    // A server that refuses every handshake is asked twice, and its first answer is the error.
    let peer = scripted_peer(|heard| refuse(heard, -32601, Value::Null));
    let error = connect(&peer, EraPreference::Auto).await.unwrap_err();
    assert!(matches!(error, Error::ErrorResponse(_)), "{error:?}");
    assert_eq!(methods(&peer).len(), 3);
}
