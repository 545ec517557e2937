//! Connecting: which era a server turns out to speak, by whichever way it says so.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use serde_json::{Value, json};
use turnbuckle_client::{Client, Era, Error, Verdict};
use turnbuckle_server::Server;
use turnbuckle_session::{
    Connector, Frame, Inbox, Joined, Limits, Link, LinkError, LinkKind, MemoryTransport, Opening,
    Patience, Pump, Signal, Transport, TransportContext, pair, serve,
};
use turnbuckle_wire::revision::{EraKind, Revision};

use turnbuckle_types::{LogLevel, RawObject};

fn server() -> Server {
    Server::new("s", "1").build().unwrap()
}

fn served() -> Joined<MemoryTransport> {
    let (ours, theirs) = pair();
    tokio::spawn(serve(
        Arc::new(server()) as Arc<dyn turnbuckle_session::Dispatch>,
        theirs,
        Limits::default(),
        TransportContext::default(),
        Signal::new(),
    ));
    Joined::new(ours)
}

/// A server by hand: what it answers to a message, if anything.
type Script = Arc<dyn Fn(&Value) -> Reaction + Send + Sync>;

enum Reaction {
    Say(Vec<Value>),
    Write(&'static str),
    Silence,
    Exit,
}

fn say(id: &Value, result: Value) -> Reaction {
    Reaction::Say(vec![json!({"jsonrpc": "2.0", "id": id, "result": result})])
}

fn refuse(id: &Value, code: i64, data: Value) -> Reaction {
    Reaction::Say(vec![json!({"jsonrpc": "2.0", "id": id,
        "error": {"code": code, "message": "no", "data": data}})])
}

fn greeting(message: &Value, revision: &str) -> Reaction {
    say(
        &message["id"],
        json!({"protocolVersion": revision, "capabilities": {"tools": {}, "resources": {}},
            "serverInfo": {"name": "by hand", "version": "0"}}),
    )
}

/// Connects to scripted servers, a new one each time; remembers what each was told.
struct ByHand {
    script: Script,
    opened: Arc<AtomicUsize>,
    told: Arc<Mutex<Vec<Value>>>,
}

impl ByHand {
    fn new(script: impl Fn(&Value) -> Reaction + Send + Sync + 'static) -> Self {
        Self {
            script: Arc::new(script),
            opened: Arc::default(),
            told: Arc::default(),
        }
    }
}

impl Connector for ByHand {
    fn open(&self, inbox: Arc<dyn Inbox>) -> Opening<'_> {
        self.opened.fetch_add(1, Ordering::Relaxed);
        let (ours, theirs) = pair();
        tokio::spawn(act(self.script.clone(), self.told.clone(), theirs));
        let link: Arc<dyn Link> = Pump::start(ours, inbox, 1 << 16);
        Box::pin(std::future::ready(Ok::<_, LinkError>(link)))
    }

    fn binding(&self) -> LinkKind {
        LinkKind::Duplex
    }

    fn describe(&self) -> String {
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
            Reaction::Say(messages) => {
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

async fn connect(by_hand: ByHand, era: Era) -> Result<Client, Error> {
    Client::builder("c", "1").era(era).connect(by_hand).await
}

fn methods(told: &Mutex<Vec<Value>>) -> Vec<String> {
    let told = told.lock().unwrap();
    told.iter()
        .map(|message| message["method"].as_str().unwrap_or_default().to_owned())
        .collect()
}

#[tokio::test(start_paused = true)]
async fn our_own_server_is_spoken_to_in_the_modern_era_and_in_any_that_is_asked_for() {
    let client = Client::builder("c", "1").connect(served()).await.unwrap();
    assert_eq!(client.server().unwrap().revision, Revision::NEWEST);
    assert_eq!(
        client
            .server()
            .unwrap()
            .implementation
            .as_ref()
            .unwrap()
            .name,
        "s"
    );
    for revision in Revision::ALL {
        let builder = Client::builder("c", "1").era(Era::Only(revision));
        let client = builder.connect(served()).await.unwrap();
        let server = client.server().unwrap();
        assert_eq!(server.revision, revision);
        assert_eq!(server.implementation.as_ref().unwrap().name, "s");
        client.close().await;
    }
}

// requirement: 1db792cee398
#[tokio::test(start_paused = true)]
async fn a_server_that_refuses_the_probe_in_any_way_is_legacy() {
    for code in [-32601, -32602, -32600, -32000, -32603, 0] {
        let by_hand = ByHand::new(move |message| match message["method"].as_str() {
            Some("server/discover") => refuse(&message["id"], code, Value::Null),
            Some("initialize") => greeting(message, "2025-06-18"),
            _ => Reaction::Silence,
        });
        let (told, opened) = (by_hand.told.clone(), by_hand.opened.clone());
        let client = connect(by_hand, Era::Auto).await.unwrap();
        let server = client.server().unwrap();
        assert_eq!(server.revision.as_str(), "2025-06-18");
        assert_eq!(server.verdict(), Verdict::Legacy);
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
async fn a_server_that_exits_at_the_probe_is_started_again_and_greeted() {
    let by_hand = ByHand::new(|message| match message["method"].as_str() {
        Some("server/discover") => Reaction::Exit,
        Some("initialize") => greeting(message, "2024-11-05"),
        _ => Reaction::Silence,
    });
    let (told, opened) = (by_hand.told.clone(), by_hand.opened.clone());
    let client = connect(by_hand, Era::Auto).await.unwrap();
    assert_eq!(client.server().unwrap().revision.as_str(), "2024-11-05");
    assert_eq!(opened.load(Ordering::Relaxed), 2);
    client.close().await;
    assert_eq!(
        methods(&told),
        ["server/discover", "initialize", "notifications/initialized"]
    );
}

// requirement: 1db792cee398
#[tokio::test(start_paused = true)]
async fn a_server_that_never_answers_the_probe_is_greeted_after_a_while() {
    let builder = || Client::builder("c", "1");
    let longer = || builder().probe_timeout(Duration::from_secs(7));
    for (builder, bound) in [(builder(), 3), (longer(), 7)] {
        let by_hand = ByHand::new(|message| match message["method"].as_str() {
            Some("initialize") => greeting(message, "2025-11-25"),
            _ => Reaction::Silence,
        });
        let began = tokio::time::Instant::now();
        let client = builder.connect(by_hand).await.unwrap();
        assert_eq!(client.server().unwrap().era(), EraKind::Legacy);
        assert_eq!(began.elapsed(), Duration::from_secs(bound));
    }
}

#[tokio::test(start_paused = true)]
async fn a_modern_server_that_is_slow_to_start_is_not_taken_for_a_legacy_one() {
    let probe = Mutex::new(Value::Null);
    let by_hand = ByHand::new(move |message| match message["method"].as_str() {
        Some("server/discover") => {
            *probe.lock().unwrap() = message["id"].clone();
            Reaction::Silence
        }
        // It has only just come up, and answers everything that waited, in order.
        Some("initialize") => Reaction::Say(vec![
            json!({"jsonrpc": "2.0", "id": message["id"],
                "error": {"code": -32601, "message": "no"}}),
            json!({"jsonrpc": "2.0", "id": *probe.lock().unwrap(), "result": {
                "resultType": "complete", "supportedVersions": ["2026-07-28"],
                "capabilities": {}, "ttlMs": 0, "cacheScope": "private"}}),
        ]),
        _ => Reaction::Silence,
    });
    let client = connect(by_hand, Era::Auto).await.unwrap();
    assert_eq!(client.server().unwrap().revision, Revision::NEWEST);
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
        let by_hand = ByHand::new(move |message| refuse(&message["id"], code, data.clone()));
        let told = by_hand.told.clone();
        let error = connect(by_hand, Era::Auto).await.unwrap_err();
        assert!(
            matches!(error, Error::Incompatible { .. } | Error::Refused(_)),
            "{error}"
        );
        assert_eq!(methods(&told), ["server/discover"]);
    }
}

// requirement: 903d0a224390
#[tokio::test(start_paused = true)]
async fn a_version_that_is_not_supported_is_replaced_by_one_that_is() {
    let by_hand = ByHand::new(|message| match message["method"].as_str() {
        Some("server/discover") => refuse(
            &message["id"],
            -32022,
            json!({"supported": ["2025-06-18"], "requested": "2026-07-28"}),
        ),
        Some("initialize") => greeting(message, "2025-06-18"),
        _ => Reaction::Silence,
    });
    let client = connect(by_hand, Era::Auto).await.unwrap();
    assert_eq!(client.server().unwrap().revision.as_str(), "2025-06-18");
}

#[tokio::test(start_paused = true)]
async fn a_revision_that_nobody_here_knows_is_named() {
    let by_hand = ByHand::new(|message| match message["method"].as_str() {
        Some("initialize") => greeting(message, "2023-01-01"),
        _ => refuse(&message["id"], -32601, Value::Null),
    });
    let error = connect(by_hand, Era::Auto).await.unwrap_err();
    assert!(error.to_string().contains("2023-01-01"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn noise_on_the_pipe_is_skipped_and_counted() {
    let by_hand = ByHand::new(|message| match message["method"].as_str() {
        Some("initialize") => greeting(message, "2025-11-25"),
        Some("notifications/initialized") => Reaction::Write("Server listening on stdio"),
        Some("ping") => say(&message["id"], json!({})),
        _ => Reaction::Silence,
    });
    let heard = Arc::new(Mutex::new(Vec::new()));
    let list = heard.clone();
    let client = Client::builder("c", "1")
        .era(Era::Legacy)
        .on_noise(move |count, text| list.lock().unwrap().push((count, text.to_owned())))
        .connect(by_hand)
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
async fn a_cached_verdict_saves_the_probe_and_one_that_no_longer_holds_is_found_out() {
    let script = |message: &Value| match message["method"].as_str() {
        Some("initialize") => greeting(message, "2025-11-25"),
        _ => refuse(&message["id"], -32601, Value::Null),
    };
    let by_hand = ByHand::new(script);
    let told = by_hand.told.clone();
    let client = connect(by_hand, Era::Known(Verdict::Legacy)).await.unwrap();
    client.close().await;
    assert_eq!(methods(&told), ["initialize", "notifications/initialized"]);

    let modern = ByHand::new(|message| match message["method"].as_str() {
        Some("server/discover") => say(
            &message["id"],
            json!({"resultType": "complete", "supportedVersions": ["2026-07-28"],
                "capabilities": {}, "ttlMs": 0, "cacheScope": "private"}),
        ),
        _ => refuse(&message["id"], -32601, Value::Null),
    });
    let told = modern.told.clone();
    let client = connect(modern, Era::Known(Verdict::Legacy)).await.unwrap();
    assert_eq!(client.server().unwrap().revision, Revision::NEWEST);
    client.close().await;
    assert_eq!(methods(&told), ["initialize", "server/discover"]);
}

#[tokio::test(start_paused = true)]
async fn a_request_without_an_answer_ends_at_its_deadline_and_is_taken_back() {
    let by_hand = ByHand::new(|message| match message["method"].as_str() {
        Some("initialize") => greeting(message, "2025-11-25"),
        _ => Reaction::Silence,
    });
    let told = by_hand.told.clone();
    let client = connect(by_hand, Era::Legacy).await.unwrap();
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
async fn a_server_that_stops_answering_pings_is_given_up() {
    let by_hand = ByHand::new({
        let pings = AtomicUsize::new(0);
        move |message| match message["method"].as_str() {
            Some("initialize") => greeting(message, "2025-11-25"),
            Some("ping") if pings.fetch_add(1, Ordering::Relaxed) < 3 => {
                say(&message["id"], json!({}))
            }
            _ => Reaction::Silence,
        }
    });
    let opened = by_hand.opened.clone();
    let began = tokio::time::Instant::now();
    let client = Client::builder("c", "1")
        .era(Era::Legacy)
        .keep_alive(Duration::from_secs(30), Duration::from_secs(5))
        .patience(Patience::at_most(Duration::from_secs(600)))
        .connect(by_hand)
        .await
        .unwrap();
    // Reading is safe to repeat: it is asked once more on another connection, which dies as well.
    let error = client.read("x:y").await.unwrap_err();
    let told = "a ping was not answered within 5s (ClientBuilder::keep_alive)";
    assert!(error.to_string().contains(told), "{error}");
    assert_eq!(opened.load(Ordering::Relaxed), 2);
    assert_eq!(began.elapsed(), Duration::from_secs(4 * 30 + 5 + 30 + 5));
}

// requirement: 4bde8b77cab8 bf40b4d36a4f
#[tokio::test(start_paused = true)]
async fn what_a_server_did_not_declare_is_not_asked_for() {
    let by_hand = ByHand::new(|message| match message["method"].as_str() {
        Some("initialize") => say(
            &message["id"],
            json!({"protocolVersion": "2025-11-25", "capabilities": {},
                "serverInfo": {"name": "by hand", "version": "0"}}),
        ),
        _ => Reaction::Silence,
    });
    let told = by_hand.told.clone();
    let client = connect(by_hand, Era::Legacy).await.unwrap();
    let refusals = [
        client.list_tools().all().await.unwrap_err(),
        client.call("t", &()).await.unwrap_err(),
        client.list_prompts().all().await.unwrap_err(),
        client.list_resources().all().await.unwrap_err(),
        client.read("x:y").await.unwrap_err(),
        client.set_log_level(LogLevel::Info).await.unwrap_err(),
    ];
    for error in refusals {
        assert!(matches!(error, Error::Unsupported { .. }), "{error}");
        assert!(error.to_string().contains("does not declare"), "{error}");
    }
    client.close().await;
    assert_eq!(methods(&told), ["initialize", "notifications/initialized"]);
}

#[tokio::test(start_paused = true)]
async fn a_client_of_the_modern_era_alone_is_told_what_a_legacy_server_wants() {
    let by_hand = ByHand::new(|message| refuse(&message["id"], -32601, Value::Null));
    let error = connect(by_hand, Era::Modern).await.unwrap_err();
    assert!(matches!(error, Error::Incompatible { .. }), "{error}");
    assert!(error.to_string().contains("handshake"), "{error}");
}

// requirement: b80eb6a14946
#[tokio::test(start_paused = true)]
async fn an_extension_needs_an_id_that_may_be_sent() {
    let connect = async |id: &str| {
        let builder = Client::builder("c", "1").extension(id, RawObject::empty());
        builder.connect(served()).await
    };
    for bad in ["", "ui", "/ui", "com..example/ui", "com.example/ui_"] {
        let error = connect(bad).await.unwrap_err();
        assert!(matches!(error, Error::Unwritable(_)), "{error}");
        assert!(error.to_string().contains(&format!("{bad:?}")), "{error}");
    }
    for good in ["com.example/ui", "io.modelcontextprotocol/ui"] {
        connect(good).await.unwrap();
    }
}
