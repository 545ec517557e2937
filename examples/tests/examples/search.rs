//! Tests of the `search` program, with the `notes` and `files` servers.

use std::fs;
use std::process::Stdio;

use serde_json::json;
use tempfile::TempDir;
use tokio::process::Command;

use crate::harness::{Example, with_timeout};

#[tokio::test]
async fn three_servers_are_searched_and_one_that_is_down_is_named() {
    with_timeout(async {
        let directory = TempDir::new().unwrap();
        let files = directory.path().join("files");
        fs::create_dir(&files).unwrap();
        fs::write(files.join("a.txt"), "green tea\n").unwrap();
        let over_http = Example::new(env!("CARGO_BIN_EXE_files")).arg(&files);
        let process = over_http.serve().await;
        let servers = json!({"mcpServers": {
            "notes": {"command": env!("CARGO_BIN_EXE_notes"), "args": [":memory:"]},
            "files": {"url": process.url},
            "gone": {"command": "/no/such/program"},
        }});
        let config = directory.path().join("mcp.json");
        fs::write(&config, servers.to_string()).unwrap();
        let output = Command::new(env!("CARGO_BIN_EXE_search"))
            .arg(&config)
            .arg("green")
            .stdin(Stdio::null())
            .output()
            .await
            .unwrap();
        let (found, errors) = (
            String::from_utf8(output.stdout).unwrap(),
            String::from_utf8(output.stderr).unwrap(),
        );
        assert!(output.status.success(), "{errors}");
        let mut lines: Vec<&str> = found.lines().collect();
        lines.sort_unstable();
        assert!(
            matches!(&lines[..], [files, notes]
                if notes.starts_with("notes: {") && files.starts_with("files: {")
                    && files.contains("green tea")),
            "{found}"
        );
        assert!(errors.starts_with("gone: "), "{errors}");
    })
    .await;
}

#[tokio::test]
async fn a_file_that_cannot_be_read_is_named() {
    let program = Command::new(env!("CARGO_BIN_EXE_search"))
        .args(["/no/such/mcp.json", "tea"])
        .output();
    let output = with_timeout(program).await.unwrap();
    assert!(!output.status.success());
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(errors.contains("/no/such/mcp.json"), "{errors}");
}
