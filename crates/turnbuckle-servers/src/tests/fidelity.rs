//! A proxy compared with a direct connection: each feature, in every pair of eras, byte for byte.

mod origin;
mod steps;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;
use turnbuckle_client::{ClientBuilder, EraPreference};
use turnbuckle_server::Server;
use turnbuckle_session::transport::{Frame, MessageObserver};

use crate::{InProcess, Servers};
use origin::origin;
use steps::{STEPS, client};

/// The frames of a server that a client has received.
#[derive(Clone, Default)]
struct Frames(Arc<Mutex<Vec<String>>>);

impl MessageObserver for Frames {
    fn on_receive(&self, frame: &Frame) {
        if let Frame::Message(bytes) = frame {
            let text = String::from_utf8_lossy(bytes).into_owned();
            self.0.lock().unwrap().push(text);
        }
    }
}

/// Runs all steps over one connection. Returns the frames of each.
async fn run(server: Server, builder: ClientBuilder) -> Vec<Vec<Value>> {
    let frames = Frames::default();
    let builder = builder.message_observer(frames.clone());
    let client = builder.connect(InProcess::new(server)).await.unwrap();
    let mut by_step = vec![take(&frames)];
    for (_, step) in STEPS {
        step(client.clone()).await;
        // Answers to messages that the step did not wait for.
        tokio::time::sleep(Duration::from_millis(50)).await;
        by_step.push(take(&frames));
    }
    by_step
}

/// Takes the frames, without what cannot be the same: the state of a request is sealed under a key of each
/// server, and servers of the legacy era say of each result that it is no error.
fn take(frames: &Frames) -> Vec<Value> {
    let frames = std::mem::take(&mut *frames.0.lock().unwrap());
    let mut frames: Vec<Value> = frames
        .iter()
        .map(|it| serde_json::from_str(it).unwrap())
        .collect();
    for result in frames
        .iter_mut()
        .filter_map(|it| it.get_mut("result")?.as_object_mut())
    {
        result.remove("requestState");
        if result.get("isError") == Some(&Value::Bool(false)) {
            result.remove("isError");
        }
    }
    frames
}

/// Differences between a proxy and a direct connection that remain: the step, the eras of the client and of
/// the server (`None`: both), and the reason.
const DIFFERENCES: [(&str, Option<Era>, Option<Era>, &str); 4] = [
    (
        "tools",
        Some(Era::Legacy),
        Some(Era::Modern),
        "a server of the modern era may make a task of any call",
    ),
    (
        "unknown resource",
        Some(Era::Legacy),
        Some(Era::Modern),
        "the modern era has no code of its own for it",
    ),
    (
        "resource",
        Some(Era::Modern),
        Some(Era::Legacy),
        "the legacy era has no cache hints",
    ),
    (
        "task",
        Some(Era::Modern),
        Some(Era::Legacy),
        "a server of the legacy era has to be asked for a task beforehand, and the client takes tasks",
    ),
];

type Era = EraPreference;

#[tokio::test(start_paused = true)]
async fn a_proxy_answers_as_its_server_does_in_every_pair_of_eras() {
    let eras = [EraPreference::Modern, EraPreference::Legacy];
    let mut faults = Vec::new();
    for (front, behind) in eras
        .into_iter()
        .flat_map(|front| eras.map(|it| (front, it)))
    {
        let direct = run(origin(), client().era(front)).await;
        // The server keeps its names and URIs, and the proxy has the same name and version.
        let proxy = Servers::builder("host", "1")
            .server("one", InProcess::new(origin()))
            .prefix("one", "")
            .clients(move |client| client.era(behind))
            .proxy(Server::new("origin", "1"))
            .await
            .unwrap();
        let proxied = run(proxy.server().clone(), client().era(front)).await;
        let names = std::iter::once("connect").chain(STEPS.iter().map(|(name, _)| *name));
        for (name, (direct, proxied)) in names.zip(direct.into_iter().zip(proxied)) {
            let is_known = DIFFERENCES.iter().any(|(step, client, server, _)| {
                *step == name
                    && client.is_none_or(|era| era == front)
                    && server.is_none_or(|era| era == behind)
            });
            if (direct != proxied) != is_known {
                faults.push(format!(
                    "{front:?} -> {behind:?}, {name}\n  direct:  {}\n  proxied: {}",
                    Value::Array(direct),
                    Value::Array(proxied),
                ));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
