//! Our client and servers that are processes.

use std::path::PathBuf;

use serde_json::{Value, json};
use turnbuckle_check::oracle::{Oracle, Sender};
use turnbuckle_client::{Client, EraPreference};
use turnbuckle_it::peer::{Peer, PeerConnectors, shell};
use turnbuckle_stdio::Command;
use turnbuckle_wire::revision::Revision;

use crate::client_support::plain;

/// A file that is gone with this.
struct File(PathBuf);

impl File {
    fn new(name: &str) -> Self {
        let name = format!("turnbuckle-{name}-{}", std::process::id());
        Self(std::env::temp_dir().join(name))
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

async fn connect(fault: &str) -> Client {
    let builder = plain().era(EraPreference::Only(Revision::NEWEST_LEGACY));
    builder.connect(shell(fault)).await.unwrap()
}

// requirement: 126d7348daa8 7d4b06cb18cb
#[tokio::test]
async fn only_messages_are_written_to_a_process() {
    let file = File::new("written");
    // What comes after the handshake, byte for byte, and what is left over when the input ends.
    let keep = format!(
        r#"printf '%s\n' "$line" >> '{0}'; answer; cat >> '{0}'"#,
        file.0.display()
    );
    let client = connect(&keep).await;
    client
        .call_tool("t", &json!({"text": "one\ntwo\r\n\u{2028}\u{85}"}))
        .await
        .unwrap();
    let waiting = tokio::spawn(client.call_tool("waits", &()).into_future());
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    waiting.abort();
    let _ = waiting.await;
    client.close().await;
    let written = std::fs::read_to_string(&file.0).unwrap();
    assert!(written.ends_with('\n'));
    let lines: Vec<_> = written.lines().collect();
    let methods: Vec<_> = lines
        .iter()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["method"].clone())
        .collect();
    assert_eq!(methods[0], "tools/call");
    assert!(lines.len() >= 2, "{methods:?}");
    let oracle = Oracle::load();
    let revision = Revision::NEWEST_LEGACY;
    for line in lines {
        let message = serde_json::from_str(line).unwrap();
        let judged = oracle.check_message(revision, Sender::Client, &message, None);
        assert_eq!(judged, Ok(()), "{line}");
    }
}

// requirement: fa7492d71613
#[tokio::test]
async fn lines_on_standard_error_are_not_errors() {
    let client = connect("echo 'ERROR: fatal' >&2; answer; echo 'panicked' >&2").await;
    for _ in 0..3 {
        client.call_tool("t", &()).await.unwrap();
    }
    assert_eq!(
        client.server_info().unwrap().revision,
        Revision::NEWEST_LEGACY
    );
    client.close().await;
}

// requirement: 698d0a5d76e3
#[tokio::test(start_paused = true)]
async fn one_connection_serves_every_task() {
    for revision in Revision::ALL {
        let peer = Peer::new(revision, |_| None);
        let builder = plain().era(EraPreference::Only(revision));
        let client = builder.connect(peer.lines()).await.unwrap();
        let tasks: Vec<_> = (0..20)
            .map(|_| {
                let client = client.clone();
                tokio::spawn(async move { client.call_tool("t", &()).await })
            })
            .collect();
        for task in tasks {
            task.await.unwrap().unwrap();
        }
        assert_eq!(
            (peer.connection_count(), peer.open_count()),
            (1, 1),
            "{revision}"
        );
    }
}

/// Returns the number of lines in a file.
fn lines(file: &File) -> usize {
    std::fs::read_to_string(&file.0).unwrap().lines().count()
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_server_that_ends_before_it_reads_is_started_once_and_its_last_words_are_told() {
    // With and without time for the client to write its first message.
    for wait in ["", "sleep 0.2;"] {
        let file = File::new("starts");
        let path = file.0.display();
        let script =
            format!("echo start >> '{path}'; {wait} echo 'DATABASE_URL is missing' >&2; exit 3");
        let command = Command::new("sh").arg("-c").arg(script);
        let error = plain().connect(command).await.unwrap_err();
        assert_eq!(lines(&file), 1, "{error:?}");
        let text = error.to_string();
        assert!(text.contains("exit status: 3"), "{text}");
        assert_eq!(text.matches("DATABASE_URL is missing").count(), 1, "{text}");
        assert!(!text.contains("may have acted"), "{text}");
    }
}

#[tokio::test]
async fn a_server_that_ends_at_a_first_request_it_does_not_know_is_started_again() {
    let file = File::new("unknown");
    let path = file.0.display();
    let fault =
        format!("case $line in *server/discover*) echo ended >> '{path}'; exit 1 ;; esac; answer");
    let client = plain().connect(shell(&fault)).await.unwrap();
    client.call_tool("t", &()).await.unwrap();
    assert_eq!(lines(&file), 1);
    let revision = client.server_info().unwrap().revision;
    assert_eq!(revision, Revision::NEWEST_LEGACY);
    client.close().await;
}
