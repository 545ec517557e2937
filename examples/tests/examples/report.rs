//! Tests of the `report` server: a task that is left, and found again after a restart of the server.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;
use turnbuckle::Client;
use turnbuckle::client::{EraPreference, Started, TaskHandle};
use turnbuckle::http::HttpConnector;
use turnbuckle::types::TaskStatus;

use crate::harness::{Example, Transport, client_builder, data, with_timeout};

/// Returns a directory of ten folders with a file each.
fn directory() -> TempDir {
    let directory = TempDir::new().unwrap();
    for n in 0..10 {
        let folder = directory.path().join(format!("folder {n}"));
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("file.txt"), "three words, here\nand two\n").unwrap();
    }
    directory
}

fn counts() -> Value {
    json!({"files": 10, "lines": 20, "words": 50, "bytes": 260})
}

fn example(directory: &Path, state: &Path, pause: u32) -> Example {
    Example::new(env!("CARGO_BIN_EXE_report"))
        .arg(directory)
        .arg("--state")
        .arg(state)
        .arg("--pause")
        .arg(pause.to_string())
        .env("TURNBUCKLE_KEYS", KEY)
}

/// A key for tests: 32 bytes in Base64 for URLs.
const KEY: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8";

#[tokio::test]
async fn a_quick_report_is_the_answer() {
    with_timeout(async {
        let (directory, state) = (directory(), TempDir::new().unwrap());
        for (n, transport) in Transport::all().into_iter().enumerate() {
            let state = state.path().join(format!("{n}.db"));
            let example = example(directory.path(), &state, 0);
            let (client, _process) = example.connect(transport, client_builder()).await;
            let result = client.call_tool("report", &()).await.unwrap();
            assert_eq!(data(&result), counts(), "{transport:?}");
            client.close().await;
        }
    })
    .await;
}

async fn connect(url: &str) -> Client {
    let connector = HttpConnector::new(url).unwrap();
    let builder = client_builder().era(EraPreference::Modern);
    builder.connect(connector).await.unwrap()
}

#[tokio::test]
async fn a_report_that_was_left_is_fetched_after_a_restart() {
    with_timeout(async {
        let (directory, state) = (directory(), TempDir::new().unwrap());
        let state = state.path().join("state.db");
        // Ten files take five seconds.
        let slow = example(directory.path(), &state, 500);
        let mut process = slow.serve().await;
        let client = connect(&process.url).await;
        let started = client.call_tool("report", &()).start().await.unwrap();
        let Started::Task(task) = started else {
            panic!("a quick report");
        };
        let status = task.status().await.unwrap().task.status;
        assert_eq!(status, TaskStatus::Working);
        let text = task.to_string();
        client.close().await;
        process.terminate().await;

        let again = slow.serve().await;
        let client = connect(&again.url).await;
        let handle: TaskHandle = text.parse().unwrap();
        let result = client.task(handle).await.unwrap();
        assert_ne!(result.is_error, Some(true), "{}", result.text());
        assert_eq!(data(&result), counts());
        client.close().await;
    })
    .await;
}
