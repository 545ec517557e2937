//! Tests of the `backup` server: copies, progress, cancellation and continuation.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use serde_json::json;
use tempfile::TempDir;
use turnbuckle::types::LoggingLevel;

use crate::harness::{Example, Transport, client_builder, data, with_timeout};

const MIB: usize = 1 << 20;

/// Creates a source directory and returns its path and the path of a target.
fn directories(directory: &TempDir, number: usize, large: usize) -> (PathBuf, PathBuf) {
    let source = directory.path().join(format!("source-{number}"));
    fs::create_dir_all(source.join("sub/empty")).unwrap();
    fs::write(source.join("a.txt"), "small").unwrap();
    fs::write(source.join("sub/large"), vec![7; large]).unwrap();
    std::os::unix::fs::symlink("a.txt", source.join("link")).unwrap();
    (source, directory.path().join(format!("target-{number}")))
}

fn backup(source: &Path, target: &Path) -> Example {
    Example::new(env!("CARGO_BIN_EXE_backup"))
        .arg(source)
        .arg(target)
}

#[tokio::test]
async fn everything_is_copied_with_progress_and_only_once() {
    let directory = TempDir::new().unwrap();
    for (number, transport) in Transport::all().into_iter().enumerate() {
        with_timeout(async {
            let (source, target) = directories(&directory, number, 3 * MIB);
            let logged = Arc::new(Mutex::new(Vec::new()));
            let recorded = logged.clone();
            let builder = client_builder()
                .log_level(LoggingLevel::Info)
                .on_log(move |log| recorded.lock().unwrap().push(log.data.as_str().to_owned()));
            let (client, _process) = backup(&source, &target).connect(transport, builder).await;
            let result = client.call_tool("preview", &()).await.unwrap();
            let expected = json!({"present": 0, "missing": 2, "bytes": 3 * MIB + 5});
            assert_eq!(data(&result), expected, "{transport:?}");

            let notifications = Arc::new(Mutex::new(Vec::new()));
            let recorded = notifications.clone();
            let call = client
                .call_tool("run", &())
                .on_progress(move |it| recorded.lock().unwrap().push(it));
            let result = call.await.unwrap();
            let expected = json!({"copied": 2, "present": 0, "skipped": 1, "failed": []});
            assert_eq!(data(&result), expected, "{transport:?}");
            assert_eq!(
                fs::read(target.join("sub/large")).unwrap(),
                vec![7; 3 * MIB]
            );
            assert!(!target.join("link").exists());

            let notifications = notifications.lock().unwrap().clone();
            let done: Vec<f64> = notifications
                .iter()
                .map(|it| it.progress.as_f64())
                .collect();
            assert!(
                done.len() > 2 && done.is_sorted(),
                "{transport:?}: {done:?}"
            );
            assert_eq!(
                notifications.last().unwrap().total,
                Some((3 * MIB as u64 + 5).into())
            );
            let logged = logged.lock().unwrap().clone();
            assert!(
                logged[0].contains("2 files to copy"),
                "{transport:?}: {logged:?}"
            );

            let result = client.call_tool("run", &()).await.unwrap();
            assert_eq!(data(&result)["present"], 2, "nothing is left to do");
            assert_eq!(data(&result)["copied"], 0);
            client.close().await;
        })
        .await;
    }
}

#[tokio::test]
async fn a_cancelled_run_leaves_no_half_file_and_the_next_goes_on() {
    const LARGE: usize = 16 * MIB;
    let directory = TempDir::new().unwrap();
    for (number, transport) in Transport::newest().into_iter().enumerate() {
        with_timeout(async {
            let (source, target) = directories(&directory, number, LARGE);
            // The large file takes many seconds, and the call is cancelled in the middle of it.
            let slow = backup(&source, &target).arg("--limit").arg("1");
            let (client, process) = slow.connect(transport, client_builder()).await;
            let (call, mut progress) = client.call_tool("run", &()).with_progress();
            let running = tokio::spawn(async move { call.await });
            while let Some(notification) = progress.next().await {
                if notification.progress.as_f64() > 5.0 {
                    break;
                }
            }
            assert!(target.join("sub/large.part").exists(), "{transport:?}");
            running.abort();
            assert!(running.await.unwrap_err().is_cancelled());
            // This call waits until the cancelled one has ended.
            let result = client.call_tool("preview", &()).await.unwrap();
            let expected = json!({"present": 1, "missing": 1, "bytes": LARGE});
            assert_eq!(data(&result), expected, "{transport:?}");
            assert_eq!(
                fs::read_dir(target.join("sub")).unwrap().count(),
                0,
                "{transport:?}"
            );
            client.close().await;
            drop(process);

            let (client, _process) = backup(&source, &target)
                .connect(transport, client_builder())
                .await;
            let result = client.call_tool("run", &()).await.unwrap();
            let expected = json!({"copied": 1, "present": 1, "skipped": 1, "failed": []});
            assert_eq!(data(&result), expected, "{transport:?}");
            assert_eq!(fs::read(target.join("sub/large")).unwrap(), vec![7; LARGE]);
            client.close().await;
        })
        .await;
    }
}

#[tokio::test]
async fn a_file_that_cannot_be_copied_does_not_stop_the_others() {
    let directory = TempDir::new().unwrap();
    with_timeout(async {
        let (source, target) = directories(&directory, 0, 1);
        // The target has a directory with the name of the file.
        fs::create_dir_all(target.join("a.txt/x")).unwrap();
        let (client, _process) = backup(&source, &target)
            .connect(Transport::newest()[1], client_builder())
            .await;
        let result = data(&client.call_tool("run", &()).await.unwrap());
        assert_eq!(result["copied"], 1, "{result}");
        let failed = result["failed"][0].as_str().unwrap();
        assert!(failed.starts_with("a.txt: "), "{failed}");
        assert!(!target.join("a.txt.part").exists());
        client.close().await;
    })
    .await;
}

#[test]
fn a_target_in_its_source_is_refused() {
    let directory = TempDir::new().unwrap();
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_backup"))
        .arg(directory.path())
        .arg(directory.path().join("target"))
        .output()
        .unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(
        !output.status.success() && stderr.contains("inside the other"),
        "{stderr}"
    );
}
