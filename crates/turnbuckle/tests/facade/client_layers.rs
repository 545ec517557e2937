//! Layers around the requests of a client, and observers of its messages.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;
use turnbuckle::Revision;
use turnbuckle::client::service::{ClientRequest, ClientResponse, ClientService, from_fn};
use turnbuckle::client::{Error, MessageObserver};
use turnbuckle::prelude::*;
use turnbuckle::session::transport::{Frame, OutboundMessage, Timeouts};
use turnbuckle::testing;
use turnbuckle::types::{CallToolResult, Json};

#[tool]
fn tenant(meta: Meta) -> String {
    meta.get("com.example/tenant")
        .unwrap_or("nobody".to_owned())
}

#[tool]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

fn server() -> turnbuckle::ServerBuilder {
    Server::new("s", "1.0.0").tools(tools![tenant, add])
}

/// The lines that layers and observers wrote, in their order.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<String>>>);

impl Lines {
    fn push(&self, line: impl Into<String>) {
        self.0.lock().unwrap().push(line.into());
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

#[tokio::test]
async fn a_layer_changes_a_request_and_its_response() {
    for revision in [Revision::NEWEST, Revision::NEWEST_LEGACY] {
        let client = testing::client(server()).revision(revision);
        let client = client.configure(|builder| {
            builder.layer(from_fn(
                async |mut request: ClientRequest, next: ClientService| {
                    request.insert_meta("com.example/tenant", "blue")?;
                    let mut response = next.run(request).await?;
                    if let Some(result) = response.result_mut::<CallToolResult>() {
                        *result = CallToolResult::from_text(format!("[{}]", result.text()));
                    }
                    Ok(response)
                },
            ))
        });
        let client = client.connect().await.unwrap();
        let result = client.call_tool("tenant", &()).await.unwrap();
        assert_eq!(result.text(), "[blue]");
        assert_eq!(client.list_tools().fetch_all().await.unwrap().len(), 2);
    }
}

#[tokio::test]
async fn the_first_layer_is_the_outermost_and_sees_every_request() {
    let lines = Lines::default();
    let shared = lines.clone();
    let log = move |name: &'static str| {
        let lines = shared.clone();
        from_fn(move |request: ClientRequest, next: ClientService| {
            let lines = lines.clone();
            async move {
                let target = request.name().unwrap_or_default();
                lines.push(format!("{name} {} {target}", request.method()));
                let response = next.run(request).await;
                let failed = response
                    .as_ref()
                    .map_or(true, ClientResponse::is_tool_error);
                lines.push(format!("{name} failed: {failed}"));
                response
            }
        })
    };
    let client = testing::client(server());
    let client = client.configure(move |builder| builder.layer(log("outer")).layer(log("inner")));
    let client = client.connect().await.unwrap();
    assert_eq!(lines.take(), Vec::<String>::new());
    client.call_tool("add", &json!({"a": 1})).await.unwrap();
    assert_eq!(
        lines.take(),
        [
            "outer tools/call add",
            "inner tools/call add",
            "inner failed: true",
            "outer failed: true"
        ]
    );
    client.request_raw("tools/list", None, None).await.unwrap();
    assert_eq!(lines.take()[0], "outer tools/list ");
}

#[tokio::test]
async fn a_layer_answers_repeats_and_refuses() {
    let client = testing::client(server()).configure(|builder| {
        builder.layer(from_fn(
            async |mut request: ClientRequest, next: ClientService| match request.method() {
                "ping" => Err(Error::Closed),
                "prompts/list" => Ok(ClientResponse::new(Json::empty_object())),
                "tools/call" => {
                    request.set_timeouts(Timeouts::uniform(Duration::from_secs(5)));
                    let first = next.run(request.clone()).await?;
                    match first.is_tool_error() {
                        true => {
                            request.set_params(
                                &json!({"name": "add", "arguments": {"a": 1, "b": 2}}),
                            )?;
                            next.run(request).await
                        }
                        false => Ok(first),
                    }
                }
                _ => next.run(request).await,
            },
        ))
    });
    let client = client
        .revision(Revision::NEWEST_LEGACY)
        .connect()
        .await
        .unwrap();
    assert!(matches!(client.ping().await, Err(Error::Closed)));
    let repeated = client.call_tool("add", &()).await.unwrap();
    assert_eq!(repeated.text(), "3");
    let raw = client
        .request_raw("prompts/list", None, None)
        .await
        .unwrap();
    assert_eq!(raw.as_str(), "{}");
    let error = client.list_prompts().fetch_all().await.unwrap_err();
    assert!(
        error.to_string().contains("a layer of this client"),
        "{error}"
    );
}

/// An observer that writes down the methods that are sent and the results that come.
struct Record(Lines);

impl MessageObserver for Record {
    fn on_connect(&self, address: &str) {
        self.0.push(format!("connect {}", !address.is_empty()));
    }

    fn on_send(&self, message: &OutboundMessage) {
        let message: serde_json::Value = serde_json::from_slice(&message.frame).unwrap();
        self.0
            .push(message["method"].as_str().unwrap_or("response"));
    }

    fn on_receive(&self, frame: &Frame) {
        if let Frame::Message(text) = frame {
            let message: serde_json::Value = serde_json::from_slice(text).unwrap();
            self.0.push(format!("id {}", message["id"]));
        }
    }
}

#[tokio::test]
async fn an_observer_sees_the_handshake_and_every_message() {
    let lines = Lines::default();
    let record = Record(lines.clone());
    let client = testing::client(server()).revision(Revision::NEWEST_LEGACY);
    let client = client.configure(|builder| builder.message_observer(record));
    let client = client.connect().await.unwrap();
    client
        .call_tool("add", &json!({"a": 1, "b": 2}))
        .await
        .unwrap();
    let lines = lines.take();
    assert_eq!(lines[0], "connect true");
    assert_eq!(lines[1], "initialize");
    assert_eq!(lines[3], "notifications/initialized");
    assert_eq!(lines[4], "tools/call");
    assert!(
        lines[2].starts_with("id ") && lines[5].starts_with("id "),
        "{lines:?}"
    );
}
