//! A client and a server of exchanges that fail one by one: what ends, what is sent again.

use std::future::{IntoFuture, pending};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use crate::by_hand::{builder, settle};
use serde_json::{Value, json};
use turnbuckle_client::{Era, Error};
use turnbuckle_session::{
    Carrying, Connector, Frame, Inbox, Link, LinkError, LinkKind, Opening, Parcel, Settling,
};

const LEGACY: &str = "2025-11-25";

/// What a server of exchanges does with a message on the nth connection: an answer, or nothing yet.
type Exchange = Arc<dyn Fn(usize, &Value) -> Result<Option<Value>, LinkError> + Send + Sync>;

/// A legacy server of exchanges.
#[derive(Clone)]
struct Exchanges {
    script: Exchange,
    told: Arc<Mutex<Vec<(usize, Value)>>>,
    opened: Arc<AtomicUsize>,
}

impl Exchanges {
    fn new(
        script: impl Fn(usize, &Value) -> Result<Option<Value>, LinkError> + Send + Sync + 'static,
    ) -> Self {
        Self {
            script: Arc::new(script),
            told: Arc::default(),
            opened: Arc::default(),
        }
    }

    fn told(&self) -> Vec<String> {
        let told = self.told.lock().unwrap();
        told.iter()
            .map(|(connection, message)| format!("{connection} {}", message["method"]))
            .map(|told| told.replace('"', ""))
            .collect()
    }
}

impl Connector for Exchanges {
    fn open(&self, inbox: Arc<dyn Inbox>) -> Opening<'_> {
        let connection = self.opened.fetch_add(1, Ordering::Relaxed) + 1;
        let link: Arc<dyn Link> = Arc::new(Posts(self.clone(), connection, inbox));
        Box::pin(std::future::ready(Ok::<_, LinkError>(link)))
    }

    fn binding(&self) -> LinkKind {
        LinkKind::Exchange
    }

    fn describe(&self) -> String {
        "exchanges by hand".into()
    }
}

struct Posts(Exchanges, usize, Arc<dyn Inbox>);

impl Link for Posts {
    fn kind(&self) -> LinkKind {
        LinkKind::Exchange
    }

    fn carry(&self, parcel: Parcel) -> Carrying {
        let Self(server, connection, inbox) = self;
        let (server, connection, inbox) = (server.clone(), *connection, inbox.clone());
        Box::pin(async move {
            let message: Value = serde_json::from_slice(&parcel.frame).unwrap();
            server
                .told
                .lock()
                .unwrap()
                .push((connection, message.clone()));
            tokio::task::yield_now().await;
            if message["method"] == "initialize" {
                let greeting = json!({"jsonrpc": "2.0", "id": message["id"], "result": {
                    "protocolVersion": LEGACY, "capabilities": {"tools": {}, "resources": {}, "prompts": {}},
                    "serverInfo": {"name": "s", "version": "0"}}});
                let frame = Frame::Message(greeting.to_string().into());
                inbox.receive(frame, parcel.kind.request_id());
                return Ok(());
            }
            let Some(id) = parcel.kind.request_id() else {
                return Ok(());
            };
            let answered = (server.script)(connection, &message);
            if let Err(LinkError::Unreachable { reason }) = &answered {
                let reason = reason.clone();
                inbox.lost(LinkError::Broken { reason });
            }
            match answered? {
                Some(result) => {
                    let answer = json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
                    inbox.receive(Frame::Message(answer.to_string().into()), Some(id));
                    Ok(())
                }
                None => pending().await,
            }
        })
    }

    fn close(&self) -> Settling {
        Box::pin(std::future::ready(()))
    }
}

#[tokio::test(start_paused = true)]
async fn a_session_that_is_gone_ends_for_every_request_and_another_is_opened() {
    let server = Exchanges::new(|connection, message| {
        match (connection, message["params"]["name"].as_str()) {
            (1, Some("slow")) => Ok(None),
            (1, _) => Err(LinkError::SessionGone),
            _ => Ok(Some(json!({"content": []}))),
        }
    });
    let client = builder()
        .era(Era::Legacy)
        .connect(server.clone())
        .await
        .unwrap();
    let slow = tokio::spawn(client.call("slow", &()).into_future());
    settle().await;
    let error = client.raw("ping", None, None).await.unwrap_err();
    assert!(matches!(error, Error::Lost { sent: false, .. }), "{error}");
    // The server may well have acted upon the one that was under way.
    let error = slow.await.unwrap().unwrap_err();
    assert!(matches!(error, Error::Lost { sent: true, .. }), "{error}");
    client.raw("ping", None, None).await.unwrap();
    settle().await;
    assert_eq!(
        server.told(),
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
async fn what_is_safe_is_asked_again_of_a_server_that_could_be_reached_before() {
    let server = Exchanges::new(|connection, _| match connection {
        1 => Err(LinkError::Unreachable {
            reason: "it went away".into(),
        }),
        _ => Ok(Some(json!({"tools": []}))),
    });
    let client = builder()
        .era(Era::Legacy)
        .connect(server.clone())
        .await
        .unwrap();
    client.list_tools().all().await.unwrap();
    assert_eq!(server.opened.load(Ordering::Relaxed), 2);
}

#[tokio::test(start_paused = true)]
async fn what_never_reached_the_server_is_not_taken_back() {
    let server = Exchanges::new(|_, _| {
        Err(LinkError::Unauthorized {
            status: 401,
            challenge: None,
        })
    });
    let client = builder()
        .era(Era::Legacy)
        .connect(server.clone())
        .await
        .unwrap();
    let error = client.call("t", &()).await.unwrap_err();
    assert!(matches!(error, Error::Unauthorized { .. }), "{error}");
    settle().await;
    assert_eq!(server.told().last().unwrap(), "1 tools/call");
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_too_large_is_not_asked_for_again() {
    let server = Exchanges::new(|_, _| Err(LinkError::TooLarge { limit: 10 }));
    let client = builder()
        .era(Era::Legacy)
        .connect(server.clone())
        .await
        .unwrap();
    let error = client.read("x:y").await.unwrap_err();
    assert!(error.to_string().contains("10 bytes"), "{error}");
    let mut told = server.told();
    told.retain(|told| told.ends_with("resources/read"));
    assert_eq!(told.len(), 1);
}
