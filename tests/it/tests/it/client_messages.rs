//! Tests of the messages that our client sends on its own, and of its reactions to those of a
//! server.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use turnbuckle_client::{Client, EraPreference};
use turnbuckle_it::coupled::connect_to;
use turnbuckle_it::peer::{Peer, PeerConnectors, ReceivedMessage, Step};
use turnbuckle_types::{Json, LoggingMessageNotificationParams};
use turnbuckle_wire::revision::{EraKind, Revision};

use crate::client_support::plain;
use crate::traced::Traced;

// requirement: b6066dea8c7d cfa7569a5518
#[tokio::test(start_paused = true)]
async fn nothing_is_asked_for_by_itself() {
    for revision in Revision::ALL {
        let peer = Peer::new(revision, |heard| {
            (heard.method() == "tools/list").then(|| {
                vec![
                    heard.answer(json!({"tools": [], "resultType": "complete", "ttlMs": 1000,
                    "cacheScope": "private"})),
                ]
            })
        });
        let client = connect_to(&peer, plain()).await.unwrap();
        client.list_tools().fetch_all().await.unwrap();
        let told = peer.messages().len();
        tokio::time::sleep(Duration::from_secs(24 * 3600)).await;
        assert_eq!(peer.messages().len(), told, "{revision}");
        client.list_tools().fetch_all().await.unwrap();
        assert_eq!(peer.messages().len(), told + 1, "{revision}");
    }
}

// requirement: 1e9cd78933ed 4341e25d8457
#[tokio::test(start_paused = true)]
async fn pings_are_sent_as_often_as_was_said() {
    for revision in legacy() {
        let peer = Peer::new(revision, |_| None);
        let builder = plain().keep_alive(Duration::from_secs(10), Duration::from_secs(2));
        let client = connect_to(&peer, builder).await.unwrap();
        tokio::time::sleep(Duration::from_secs(65)).await;
        assert_eq!(peer.messages_of("ping").len(), 6, "{revision}");
        drop(client);
    }
    // Nobody said so.
    let peer = Peer::new(Revision::NEWEST_LEGACY, |_| None);
    let _client = connect_to(&peer, plain()).await.unwrap();
    tokio::time::sleep(Duration::from_secs(24 * 3600)).await;
    assert_eq!(peer.messages_of("ping").len(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_ping_may_be_answered_late() {
    let peer = Peer::new(Revision::NEWEST_LEGACY, |heard| {
        let late = Step::Wait(Duration::from_millis(1_999));
        (heard.method() == "ping").then(|| vec![late, heard.answer(json!({}))])
    });
    let builder = plain().keep_alive(Duration::from_secs(10), Duration::from_secs(2));
    let _client = connect_to(&peer, builder).await.unwrap();
    tokio::time::sleep(Duration::from_secs(600)).await;
    assert_eq!(peer.connection_count(), 1);
    assert!(peer.messages_of("ping").len() > 40);
}

// requirement: 341bf0d70634
#[tokio::test(start_paused = true)]
async fn a_ping_that_is_not_answered_is_logged() {
    let traced = Traced::start();
    let peer = Peer::new(Revision::NEWEST_LEGACY, |heard| {
        (heard.method() == "ping").then(Vec::new)
    });
    let builder = plain().keep_alive(Duration::from_secs(10), Duration::from_secs(2));
    let client = connect_to(&peer, builder).await.unwrap();
    tokio::time::sleep(Duration::from_secs(11)).await;
    assert_eq!(traced.with("ping"), [] as [String; 0]);
    tokio::time::sleep(Duration::from_secs(2)).await;
    let logged = traced.with("ping was not answered in time (ClientBuilder::keep_alive)");
    assert_eq!(logged.len(), 1);
    // The connection has failed, and is gone; there is another for what comes next.
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(peer.open_count(), 0);
    client.read_resource("a:b").await.unwrap();
    assert_eq!(peer.connection_count(), 2);
}

// requirement: 2a241dfe298b
#[tokio::test(start_paused = true)]
async fn a_servers_ping_is_answered_while_the_user_is_asked() {
    for revision in legacy().into_iter().filter(|it| it.features().elicitation) {
        let peer = Peer::calls(revision, |heard| {
            let form = json!({"message": "m", "requestedSchema": {"type": "object",
                "properties": {}}});
            vec![
                ask("form", "elicitation/create", form),
                ask("ping", "ping", Value::Null),
                Step::Wait(Duration::from_secs(1)),
                heard.text("done"),
            ]
        });
        let builder = plain().on_form(async |_, _| std::future::pending().await);
        let client = connect_to(&peer, builder).await.unwrap();
        client.call_tool("t", &()).await.unwrap();
        let answers: Vec<_> = peer
            .messages_of("")
            .into_iter()
            .map(|it| it.message)
            .collect();
        let pong = json!({"jsonrpc": "2.0", "id": "ping", "result": {}});
        assert_eq!(answers, [pong], "{revision}");
    }
}

// requirement: 4a04d220ebed a4b7f49b39b8 d5a34268aa6e ee37dbe477da f704babfa3d8
#[tokio::test(start_paused = true)]
async fn invalid_cancellations_and_unknown_progress_are_ignored() {
    for revision in Revision::ALL {
        let notify = |method: &str, params: Value| {
            Step::Say(json!({"jsonrpc": "2.0", "method": method, "params": params}))
        };
        let peer = Peer::calls(revision, move |heard| {
            let cancelled = "notifications/cancelled";
            let mut steps = vec![
                notify(cancelled, json!({"requestId": "nobody's"})),
                notify(cancelled, json!({"requestId": 1})),
                notify(cancelled, json!({})),
                notify(cancelled, json!({"requestId": {}})),
                notify(cancelled, json!({"requestId": heard.id()})),
                notify(
                    "notifications/progress",
                    json!({"progressToken": "no", "progress": 1}),
                ),
                notify(
                    "notifications/progress",
                    json!({"progressToken": [], "progress": 1}),
                ),
                notify(
                    "notifications/progress",
                    json!({"progressToken": 1, "progress": 1}),
                ),
            ];
            steps.push(heard.text("all the same"));
            steps
        });
        let client = connect_to(&peer, plain()).await.unwrap();
        let (call, mut progress) = client.call_tool("t", &()).with_progress();
        assert_eq!(
            call.await.unwrap().content[0].as_text(),
            Some("all the same")
        );
        assert!(progress.next().await.is_none(), "{revision}");
        assert_eq!(
            peer.messages_of("notifications/cancelled").len(),
            0,
            "{revision}"
        );
    }
}

// requirement: 176dc3077712
#[tokio::test(start_paused = true)]
async fn malformed_log_messages_are_left_out_and_logged() {
    let traced = Traced::start();
    for revision in Revision::ALL {
        let peer = Peer::calls(revision, |heard| {
            let log = |params: Value| {
                let method = "notifications/message";
                Step::Say(json!({"jsonrpc": "2.0", "method": method, "params": params}))
            };
            vec![
                log(json!({"data": "no level"})),
                log(json!({"level": "loud", "data": "unknown level"})),
                log(json!({"level": "info"})),
                log(json!({"level": "info", "data": 1, "logger": {}})),
                Step::Say(json!({"jsonrpc": "2.0", "method": "notifications/message"})),
                log(json!({"level": "info", "data": "valid"})),
                heard.text("done"),
            ]
        });
        let logged = Arc::new(Mutex::new(Vec::new()));
        let on_log = {
            let logged = logged.clone();
            move |log: LoggingMessageNotificationParams| logged.lock().unwrap().push(log.data)
        };
        let client = connect_to(&peer, plain().on_log(on_log)).await.unwrap();
        for _ in 0..2 {
            let result = client.call_tool("t", &()).await.unwrap();
            assert_eq!(result.content[0].as_text(), Some("done"), "{revision}");
        }
        let logged = logged.lock().unwrap();
        let logged: Vec<_> = logged.iter().map(Json::as_str).collect();
        assert_eq!(logged, [r#""valid""#; 2], "{revision}");
        assert_eq!(peer.connection_count(), 1, "{revision}");
    }
    let ignored = traced.with("a malformed notification is ignored");
    assert_eq!(ignored.len(), 2 * 5 * Revision::ALL.len(), "{ignored:#?}");
    assert!(ignored[0].contains("notifications/message"), "{ignored:#?}");
}

// requirement: b54afab82f92
#[tokio::test(start_paused = true)]
async fn a_servers_code_passes_unjudged() {
    for revision in Revision::ALL {
        for code in [
            -1, -32601, -32002, -32000, -32010, -32099, -32700, -32603, 0, 12345,
        ] {
            let peer = Peer::calls(revision, move |heard| {
                vec![heard.refuse(code, "as it came")]
            });
            let client = connect_to(&peer, plain()).await.unwrap();
            let error = client.call_tool("t", &()).await.unwrap_err();
            let refusal = error.error_response().expect("a refusal");
            assert_eq!(
                (refusal.code, &*refusal.message),
                (code, "as it came"),
                "{revision}"
            );
            assert_eq!(peer.messages_of("tools/call").len(), 1, "{revision} {code}");
        }
    }
}

// requirement: c300e202aafa e6b9bedb33dc
#[tokio::test(start_paused = true)]
async fn a_modern_server_that_asks_gets_no_response() {
    let asking = |heard: &ReceivedMessage| {
        let form = json!({"message": "m", "requestedSchema": {"type": "object",
            "properties": {}}});
        vec![
            ask("q", "elicitation/create", form),
            ask("p", "ping", Value::Null),
            ask("x", "made/up", Value::Null),
            Step::Wait(Duration::from_secs(1)),
            heard.answer(json!({"content": [], "resultType": "complete"})),
        ]
    };
    let builder = || {
        plain()
            .on_form(async |_, _| turnbuckle_client::FormAnswer::Decline)
            .era(EraPreference::Modern)
    };
    for web in [false, true] {
        let peer = Peer::calls(Revision::NEWEST, asking);
        let client: Client = match web {
            false => builder().connect(peer.lines()).await.unwrap(),
            true => builder().connect(peer.web()).await.unwrap(),
        };
        client.call_tool("t", &()).await.unwrap();
        tokio::time::sleep(Duration::from_secs(5)).await;
        assert_eq!(peer.messages_of("").len(), 0, "{web}");
    }
}

fn ask(id: &str, method: &str, params: Value) -> Step {
    let mut message = json!({"jsonrpc": "2.0", "id": id, "method": method});
    if !params.is_null() {
        message["params"] = params;
    }
    Step::Say(message)
}

fn legacy() -> Vec<Revision> {
    let legacy = |revision: &Revision| revision.features().era == EraKind::Legacy;
    Revision::ALL.into_iter().filter(legacy).collect()
}
