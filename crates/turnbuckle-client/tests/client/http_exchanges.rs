//! A server of HTTP exchanges that fail one by one: which requests end, and which are sent again.

use std::future::{IntoFuture, pending};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use turnbuckle_client::{Client, EraPreference, Error};
use turnbuckle_session::transport::{Frame, Inbox, LinkError, LinkKind, OutboundMessage};

use crate::scripted_link::{ScriptedConnector, scripted_link};
use crate::scripted_server::{builder, settle};

const LEGACY: &str = "2025-11-25";

/// The script of a server: the result or failure of a message on the nth connection, or no response.
type Exchange = Arc<dyn Fn(usize, &Value) -> Result<Option<Value>, LinkError> + Send + Sync>;

/// A legacy server over HTTP.
#[derive(Clone)]
struct Exchanges {
    script: Exchange,
    messages: Arc<Mutex<Vec<(usize, Value)>>>,
    opened: Arc<AtomicUsize>,
}

impl Exchanges {
    fn new(
        script: impl Fn(usize, &Value) -> Result<Option<Value>, LinkError> + Send + Sync + 'static,
    ) -> Self {
        Self {
            script: Arc::new(script),
            messages: Arc::default(),
            opened: Arc::default(),
        }
    }

    async fn connect(&self) -> Client {
        let server = self.clone();
        let connector = ScriptedConnector::new(LinkKind::Exchange, move |inbox| {
            let server = server.clone();
            let connection = server.opened.fetch_add(1, Ordering::Relaxed) + 1;
            Ok(scripted_link(LinkKind::Exchange, move |message| {
                Box::pin(exchange(server.clone(), connection, inbox.clone(), message))
            }))
        });
        let builder = builder().era(EraPreference::Legacy);
        builder.connect(connector).await.unwrap()
    }

    fn messages(&self) -> Vec<String> {
        let messages = self.messages.lock().unwrap();
        messages
            .iter()
            .map(|(connection, message)| format!("{connection} {}", message["method"]))
            .map(|line| line.replace('"', ""))
            .collect()
    }
}

/// Sends a message to the server, and gives the inbox its answer.
async fn exchange(
    server: Exchanges,
    connection: usize,
    inbox: Arc<dyn Inbox>,
    sent: OutboundMessage,
) -> Result<(), LinkError> {
    let message: Value = serde_json::from_slice(&sent.frame).unwrap();
    let record = (connection, message.clone());
    server.messages.lock().unwrap().push(record);
    tokio::task::yield_now().await;
    let Some(id) = sent.kind.request_id() else {
        return Ok(());
    };
    let outcome = match message["method"] == "initialize" {
        true => Ok(Some(json!({"protocolVersion": LEGACY,
            "capabilities": {"tools": {}, "resources": {}, "prompts": {}},
            "serverInfo": {"name": "s", "version": "0"}}))),
        false => (server.script)(connection, &message),
    };
    if let Err(LinkError::Unreachable { reason }) = &outcome {
        let reason = reason.clone();
        inbox.fail(LinkError::ConnectionLost { reason });
    }
    let Some(result) = outcome? else {
        return pending().await;
    };
    let answer = json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
    inbox.receive(Frame::Message(answer.to_string().into()), Some(id));
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn an_unknown_session_ends_for_every_request_and_another_is_opened() {
    let server = Exchanges::new(|connection, message| {
        match (connection, message["params"]["name"].as_str()) {
            (1, Some("slow")) => Ok(None),
            (1, _) => Err(LinkError::SessionNotFound),
            _ => Ok(Some(json!({"content": []}))),
        }
    });
    let client = server.connect().await;
    let slow = tokio::spawn(client.call_tool("slow", &()).into_future());
    settle().await;
    let error = client.request_raw("ping", None, None).await.unwrap_err();
    assert!(
        matches!(error, Error::ConnectionLost { sent: false, .. }),
        "{error}"
    );
    // The server may have acted on the request whose exchange had begun.
    let error = slow.await.unwrap().unwrap_err();
    assert!(
        matches!(error, Error::ConnectionLost { sent: true, .. }),
        "{error}"
    );
    client.request_raw("ping", None, None).await.unwrap();
    settle().await;
    assert_eq!(
        server.messages(),
        [
            "1 initialize",
            "1 notifications/initialized",
            "1 tools/call",
            "1 ping",
            "2 initialize",
            "2 notifications/initialized",
            "2 ping",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_request_refused_for_an_unknown_session_is_sent_again_once_in_a_new_one() {
    let server = Exchanges::new(|connection, message| {
        match (connection, message["params"]["name"].as_str()) {
            (1, _) | (_, Some("never")) => Err(LinkError::SessionNotFound),
            _ => Ok(Some(json!({"content": []}))),
        }
    });
    let client = server.connect().await;
    // The server did not act on the call, so that it is sent again although it is not safe to repeat.
    client.call_tool("t", &()).await.unwrap();
    assert_eq!(
        server.messages(),
        [
            "1 initialize",
            "1 notifications/initialized",
            "1 tools/call",
            "2 initialize",
            "2 notifications/initialized",
            "2 tools/call",
        ]
    );
    // A request is sent again only once.
    let error = client.call_tool("never", &()).await.unwrap_err();
    assert!(
        matches!(
            error,
            Error::ConnectionLost {
                sent: false,
                reason: LinkError::SessionNotFound
            }
        ),
        "{error}"
    );
    let messages = server.messages();
    let calls = messages
        .iter()
        .filter(|messages| messages.ends_with("tools/call"));
    assert_eq!(calls.count(), 4, "{messages:?}");
}

#[tokio::test(start_paused = true)]
async fn a_safe_request_is_sent_again_to_a_server_that_was_unreachable() {
    let server = Exchanges::new(|connection, _| match connection {
        1 => Err(LinkError::Unreachable {
            reason: "it went away".into(),
        }),
        _ => Ok(Some(json!({"tools": []}))),
    });
    let client = server.connect().await;
    client.list_tools().fetch_all().await.unwrap();
    assert_eq!(server.opened.load(Ordering::Relaxed), 2);
}

#[tokio::test(start_paused = true)]
async fn an_unsent_request_is_not_cancelled_on_the_wire() {
    let server = Exchanges::new(|_, _| {
        Err(LinkError::Unauthorized {
            status: 401,
            challenge: None,
            failure: None,
            body: String::new(),
        })
    });
    let client = server.connect().await;
    let error = client.call_tool("t", &()).await.unwrap_err();
    assert!(matches!(error, Error::Unauthorized { .. }), "{error}");
    settle().await;
    assert_eq!(server.messages().last().unwrap(), "1 tools/call");
}

#[tokio::test(start_paused = true)]
async fn a_request_with_a_too_large_response_is_not_sent_again() {
    let server = Exchanges::new(|_, _| Err(LinkError::MessageTooLarge { limit: 10 }));
    let client = server.connect().await;
    let error = client.read_resource("x:y").await.unwrap_err();
    assert!(error.to_string().contains("10 bytes"), "{error}");
    let mut messages = server.messages();
    messages.retain(|messages| messages.ends_with("resources/read"));
    assert_eq!(messages.len(), 1);
}
