//! Connecting: how the era of a server is detected.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use serde_json::{Value, json};
use turnbuckle_client::{Client, EraPreference, Error};
use turnbuckle_server::Server;
use turnbuckle_session::{
    Connector, Frame, Inbox, Limits, Link, LinkError, LinkKind, MemoryTransport, OpenFuture,
    Signal, Timeouts, Transport, TransportConnector, TransportContext, TransportLink, memory_pair,
    serve,
};
use turnbuckle_wire::revision::{EraKind, Revision};

use turnbuckle_types::{LoggingLevel, RawObject};

fn server() -> Server {
    Server::new("s", "1").build().unwrap()
}

fn serve_in_memory() -> TransportConnector<MemoryTransport> {
    let (ours, theirs) = memory_pair();
    tokio::spawn(serve(
        Arc::new(server()) as Arc<dyn turnbuckle_session::Dispatch>,
        theirs,
        Limits::default(),
        TransportContext::default(),
        Signal::new(),
    ));
    TransportConnector::new(ours)
}

/// The script of a server: its answer to a message, if any.
type Script = Arc<dyn Fn(&Value) -> Reaction + Send + Sync>;

enum Reaction {
    Send(Vec<Value>),
    Write(&'static str),
    Silence,
    Exit,
}

fn respond(id: &Value, result: Value) -> Reaction {
    Reaction::Send(vec![json!({"jsonrpc": "2.0", "id": id, "result": result})])
}

fn refuse(id: &Value, code: i64, data: Value) -> Reaction {
    Reaction::Send(vec![json!({"jsonrpc": "2.0", "id": id,
        "error": {"code": code, "message": "no", "data": data}})])
}

fn greeting(message: &Value, revision: &str) -> Reaction {
    respond(
        &message["id"],
        json!({"protocolVersion": revision, "capabilities": {"tools": {}, "resources": {}},
            "serverInfo": {"name": "by hand", "version": "0"}}),
    )
}

/// Connects to a new scripted server each time and records the messages to all of them.
struct ScriptedConnector {
    script: Script,
    opened: Arc<AtomicUsize>,
    told: Arc<Mutex<Vec<Value>>>,
}

impl ScriptedConnector {
    fn new(script: impl Fn(&Value) -> Reaction + Send + Sync + 'static) -> Self {
        Self {
            script: Arc::new(script),
            opened: Arc::default(),
            told: Arc::default(),
        }
    }
}

impl Connector for ScriptedConnector {
    fn open(&self, inbox: Arc<dyn Inbox>) -> OpenFuture<'_> {
        self.opened.fetch_add(1, Ordering::Relaxed);
        let (ours, theirs) = memory_pair();
        tokio::spawn(act(self.script.clone(), self.told.clone(), theirs));
        let link: Arc<dyn Link> = TransportLink::start(ours, inbox, 1 << 16);
        Box::pin(std::future::ready(Ok::<_, LinkError>(link)))
    }

    fn link_kind(&self) -> LinkKind {
        LinkKind::Duplex
    }

    fn description(&self) -> String {
        "a server by hand".into()
    }
}

async fn act(script: Script, told: Arc<Mutex<Vec<Value>>>, mut wire: MemoryTransport) {
    while let Some(frame) = std::future::poll_fn(|cx| wire.poll_frame(cx)).await {
        let Frame::Message(bytes) = frame else {
            continue;
        };
        let message: Value = serde_json::from_slice(&bytes).unwrap();
        told.lock().unwrap().push(message.clone());
        match script(&message) {
            Reaction::Send(messages) => {
                for message in messages {
                    wire.queue(message.to_string().as_bytes());
                }
            }
            Reaction::Write(text) => wire.queue(Bytes::from(text).as_ref()),
            Reaction::Silence => {}
            Reaction::Exit => return,
        }
        std::future::poll_fn(|cx| wire.poll_flush(cx))
            .await
            .unwrap();
    }
}

async fn connect(connector: ScriptedConnector, era: EraPreference) -> Result<Client, Error> {
    Client::builder("c", "1").era(era).connect(connector).await
}

fn methods(told: &Mutex<Vec<Value>>) -> Vec<String> {
    let told = told.lock().unwrap();
    told.iter()
        .map(|message| message["method"].as_str().unwrap_or_default().to_owned())
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
        let connector = ScriptedConnector::new(move |message| match message["method"].as_str() {
            Some("server/discover") => refuse(&message["id"], code, Value::Null),
            Some("initialize") => greeting(message, "2025-06-18"),
            _ => Reaction::Silence,
        });
        let (told, opened) = (connector.told.clone(), connector.opened.clone());
        let client = connect(connector, EraPreference::Auto).await.unwrap();
        let server = client.server_info().unwrap();
        assert_eq!(server.revision.as_str(), "2025-06-18");
        assert_eq!(server.era(), EraKind::Legacy);
        client.close().await;
        assert_eq!(
            methods(&told),
            ["server/discover", "initialize", "notifications/initialized"]
        );
        assert_eq!(opened.load(Ordering::Relaxed), 1);
    }
}

// requirement: 591564f16e4d
#[tokio::test(start_paused = true)]
async fn a_server_that_exits_at_the_probe_is_restarted_for_a_handshake() {
    let connector = ScriptedConnector::new(|message| match message["method"].as_str() {
        Some("server/discover") => Reaction::Exit,
        Some("initialize") => greeting(message, "2024-11-05"),
        _ => Reaction::Silence,
    });
    let (told, opened) = (connector.told.clone(), connector.opened.clone());
    let client = connect(connector, EraPreference::Auto).await.unwrap();
    assert_eq!(
        client.server_info().unwrap().revision.as_str(),
        "2024-11-05"
    );
    assert_eq!(opened.load(Ordering::Relaxed), 2);
    client.close().await;
    assert_eq!(
        methods(&told),
        ["server/discover", "initialize", "notifications/initialized"]
    );
}

// requirement: 1db792cee398
#[tokio::test(start_paused = true)]
async fn an_unanswered_probe_leads_to_a_handshake() {
    let builder = || Client::builder("c", "1");
    let longer = || builder().probe_timeout(Duration::from_secs(7));
    for (builder, bound) in [(builder(), 3), (longer(), 7)] {
        let connector = ScriptedConnector::new(|message| match message["method"].as_str() {
            Some("initialize") => greeting(message, "2025-11-25"),
            _ => Reaction::Silence,
        });
        let began = tokio::time::Instant::now();
        let client = builder.connect(connector).await.unwrap();
        assert_eq!(client.server_info().unwrap().era(), EraKind::Legacy);
        assert_eq!(began.elapsed(), Duration::from_secs(bound));
    }
}

#[tokio::test(start_paused = true)]
async fn a_modern_server_that_is_slow_to_start_is_not_taken_for_a_legacy_one() {
    let probe = Mutex::new(Value::Null);
    let connector = ScriptedConnector::new(move |message| match message["method"].as_str() {
        Some("server/discover") => {
            *probe.lock().unwrap() = message["id"].clone();
            Reaction::Silence
        }
        // The server starts now and answers everything that waited, in order.
        Some("initialize") => Reaction::Send(vec![
            json!({"jsonrpc": "2.0", "id": message["id"],
                "error": {"code": -32601, "message": "no"}}),
            json!({"jsonrpc": "2.0", "id": *probe.lock().unwrap(), "result": {
                "resultType": "complete", "supportedVersions": ["2026-07-28"],
                "capabilities": {}, "ttlMs": 0, "cacheScope": "private"}}),
        ]),
        _ => Reaction::Silence,
    });
    let client = connect(connector, EraPreference::Auto).await.unwrap();
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
        let connector =
            ScriptedConnector::new(move |message| refuse(&message["id"], code, data.clone()));
        let told = connector.told.clone();
        let error = connect(connector, EraPreference::Auto).await.unwrap_err();
        assert!(
            matches!(error, Error::Incompatible { .. } | Error::ErrorResponse(_)),
            "{error}"
        );
        assert_eq!(methods(&told), ["server/discover"]);
    }
}

// requirement: 903d0a224390
#[tokio::test(start_paused = true)]
async fn a_version_that_is_not_supported_is_replaced_by_one_that_is() {
    let connector = ScriptedConnector::new(|message| match message["method"].as_str() {
        Some("server/discover") => refuse(
            &message["id"],
            -32022,
            json!({"supported": ["2025-06-18"], "requested": "2026-07-28"}),
        ),
        Some("initialize") => greeting(message, "2025-06-18"),
        _ => Reaction::Silence,
    });
    let client = connect(connector, EraPreference::Auto).await.unwrap();
    assert_eq!(
        client.server_info().unwrap().revision.as_str(),
        "2025-06-18"
    );
}

#[tokio::test(start_paused = true)]
async fn an_unknown_revision_is_named_in_the_error() {
    let connector = ScriptedConnector::new(|message| match message["method"].as_str() {
        Some("initialize") => greeting(message, "2023-01-01"),
        _ => refuse(&message["id"], -32601, Value::Null),
    });
    let error = connect(connector, EraPreference::Auto).await.unwrap_err();
    assert!(error.to_string().contains("2023-01-01"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn invalid_messages_are_skipped_and_counted() {
    let connector = ScriptedConnector::new(|message| match message["method"].as_str() {
        Some("initialize") => greeting(message, "2025-11-25"),
        Some("notifications/initialized") => Reaction::Write("Server listening on stdio"),
        Some("ping") => respond(&message["id"], json!({})),
        _ => Reaction::Silence,
    });
    let heard = Arc::new(Mutex::new(Vec::new()));
    let list = heard.clone();
    let client = Client::builder("c", "1")
        .era(EraPreference::Legacy)
        .on_invalid_message(move |count, text| list.lock().unwrap().push((count, text.to_owned())))
        .connect(connector)
        .await
        .unwrap();
    client.ping().await.unwrap();
    assert_eq!(
        *heard.lock().unwrap(),
        [(1, "Server listening on stdio".to_owned())]
    );
}

// requirement: 75a842b64511
#[tokio::test(start_paused = true)]
async fn a_known_era_saves_the_probe_and_an_outdated_one_is_corrected() {
    let script = |message: &Value| match message["method"].as_str() {
        Some("initialize") => greeting(message, "2025-11-25"),
        _ => refuse(&message["id"], -32601, Value::Null),
    };
    let connector = ScriptedConnector::new(script);
    let told = connector.told.clone();
    let client = connect(connector, EraPreference::Known(EraKind::Legacy))
        .await
        .unwrap();
    client.close().await;
    assert_eq!(methods(&told), ["initialize", "notifications/initialized"]);

    let modern = ScriptedConnector::new(|message| match message["method"].as_str() {
        Some("server/discover") => respond(
            &message["id"],
            json!({"resultType": "complete", "supportedVersions": ["2026-07-28"],
                "capabilities": {}, "ttlMs": 0, "cacheScope": "private"}),
        ),
        _ => refuse(&message["id"], -32601, Value::Null),
    });
    let told = modern.told.clone();
    let client = connect(modern, EraPreference::Known(EraKind::Legacy))
        .await
        .unwrap();
    assert_eq!(client.server_info().unwrap().revision, Revision::NEWEST);
    client.close().await;
    assert_eq!(methods(&told), ["initialize", "server/discover"]);
}

#[tokio::test(start_paused = true)]
async fn an_unanswered_request_times_out_and_is_cancelled() {
    let connector = ScriptedConnector::new(|message| match message["method"].as_str() {
        Some("initialize") => greeting(message, "2025-11-25"),
        _ => Reaction::Silence,
    });
    let told = connector.told.clone();
    let client = connect(connector, EraPreference::Legacy).await.unwrap();
    let began = tokio::time::Instant::now();
    let error = client.ping().await.unwrap_err();
    assert!(error.is_timeout(), "{error}");
    assert_eq!(began.elapsed(), Duration::from_secs(60));
    client.close().await;
    assert_eq!(methods(&told).last().unwrap(), "notifications/cancelled");
    let told = told.lock().unwrap();
    let [.., ping, cancelled] = &told[..] else {
        panic!()
    };
    assert_eq!(cancelled["params"]["requestId"], ping["id"]);
}

// requirement: 52a18f50bf03 8f234495f4ce
#[tokio::test(start_paused = true)]
async fn a_server_that_stops_answering_pings_is_disconnected() {
    let connector = ScriptedConnector::new({
        let pings = AtomicUsize::new(0);
        move |message| match message["method"].as_str() {
            Some("initialize") => greeting(message, "2025-11-25"),
            Some("ping") if pings.fetch_add(1, Ordering::Relaxed) < 3 => {
                respond(&message["id"], json!({}))
            }
            _ => Reaction::Silence,
        }
    });
    let opened = connector.opened.clone();
    let began = tokio::time::Instant::now();
    let client = Client::builder("c", "1")
        .era(EraPreference::Legacy)
        .keep_alive(Duration::from_secs(30), Duration::from_secs(5))
        .timeouts(Timeouts::uniform(Duration::from_secs(600)))
        .connect(connector)
        .await
        .unwrap();
    // Reading is safe to repeat: it is sent once more on another connection, which is lost as well.
    let error = client.read_resource("x:y").await.unwrap_err();
    let told = "a ping was not answered within 5s (ClientBuilder::keep_alive)";
    assert!(error.to_string().contains(told), "{error}");
    assert_eq!(opened.load(Ordering::Relaxed), 2);
    assert_eq!(began.elapsed(), Duration::from_secs(4 * 30 + 5 + 30 + 5));
}

// requirement: 4bde8b77cab8 bf40b4d36a4f
#[tokio::test(start_paused = true)]
async fn undeclared_capabilities_are_not_requested() {
    let connector = ScriptedConnector::new(|message| match message["method"].as_str() {
        Some("initialize") => respond(
            &message["id"],
            json!({"protocolVersion": "2025-11-25", "capabilities": {},
                "serverInfo": {"name": "by hand", "version": "0"}}),
        ),
        _ => Reaction::Silence,
    });
    let told = connector.told.clone();
    let client = connect(connector, EraPreference::Legacy).await.unwrap();
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
    assert_eq!(methods(&told), ["initialize", "notifications/initialized"]);
}

#[tokio::test(start_paused = true)]
async fn a_modern_only_client_reports_a_legacy_server() {
    let connector = ScriptedConnector::new(|message| refuse(&message["id"], -32601, Value::Null));
    let error = connect(connector, EraPreference::Modern).await.unwrap_err();
    assert!(matches!(error, Error::Incompatible { .. }), "{error}");
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
