//! Attacks on the `files` server: paths and links out of the served directory, and special files.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use serde_json::json;
use tempfile::TempDir;
use turnbuckle::types::ResourceContents;

use crate::files::{files, served_directory};
use crate::harness::{Transport, client_builder, uri, with_timeout};

const SECRET: &str = "the secret";

/// Creates a served directory with links out of it and special files, and a secret file beside it.
fn directory_with_traps(directory: &TempDir) -> PathBuf {
    let root = served_directory(directory);
    let outside = root.with_file_name("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("secret.txt"), SECRET).unwrap();
    // Its name begins like that of the served directory.
    let sibling = root.with_file_name("served-too");
    fs::create_dir(&sibling).unwrap();
    fs::write(sibling.join("secret.txt"), SECRET).unwrap();

    symlink("ok.txt", root.join("within")).unwrap();
    symlink("../outside/secret.txt", root.join("link")).unwrap();
    symlink(outside.join("secret.txt"), root.join("absolute")).unwrap();
    symlink("../outside", root.join("folder")).unwrap();
    symlink("sub/../../outside/secret.txt", root.join("winding")).unwrap();
    symlink("loop", root.join("loop")).unwrap();
    symlink("/dev/zero", root.join("zero")).unwrap();
    symlink("/proc/self/environ", root.join("environ")).unwrap();
    let pipe = root.join("pipe");
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    let huge = fs::File::create(root.join("huge")).unwrap();
    huge.set_len(1 << 40).unwrap();
    root
}

/// Suffixes of the served directory's URI that must not be readable.
const FORBIDDEN_BELOW: &[&str] = &[
    "/../outside/secret.txt",
    "/../served-too/secret.txt",
    "-too/secret.txt",
    "/sub/../../outside/secret.txt",
    "/sub/../ok.txt",
    "/./ok.txt",
    "//ok.txt",
    "/ok.txt/..",
    "/%2e%2e/outside/secret.txt",
    "/%2E%2E/outside/secret.txt",
    "/.%2e/outside/secret.txt",
    "/%2e./outside/secret.txt",
    "/..%2foutside%2fsecret.txt",
    "/..%2Foutside%2Fsecret.txt",
    "/%2e%2e%2foutside%2fsecret.txt",
    "/sub%2fdeep.md",
    "/%252e%252e/outside/secret.txt",
    "/%25%32%65%25%32%65/outside/secret.txt",
    "/%c0%ae%c0%ae/outside/secret.txt",
    "/%c0%af",
    "/%ff",
    "/..\\outside\\secret.txt",
    "/%5c..%5coutside%5csecret.txt",
    "/ok.txt%00",
    "/ok.txt%00.png",
    "/link%00",
    "/ok.txt?x",
    "/ok.txt#x",
    "/link",
    "/absolute",
    "/folder",
    "/folder/secret.txt",
    "/winding",
    "/loop",
    "/zero",
    "/environ",
    "/pipe",
    "/huge",
    "/none",
];

/// Suffixes of the served directory's path that tools must not read. Paths are not decoded.
const FORBIDDEN_PATHS: &[&str] = &[
    "/../outside/secret.txt",
    "-too/secret.txt",
    "/sub/../ok.txt",
    "/./ok.txt",
    "/%2e%2e/outside/secret.txt",
    "/ok.txt\0",
    "/link",
    "/absolute",
    "/folder/secret.txt",
    "/zero",
    "/environ",
    "/pipe",
    "/huge",
];

fn uris(root: &Path) -> Vec<String> {
    let inside = uri(root);
    let outside = root.with_file_name("outside/secret.txt");
    let mut uris: Vec<String> = FORBIDDEN_BELOW
        .iter()
        .map(|below| format!("{inside}{below}"))
        .collect();
    uris.extend([
        uri(&outside),
        "file:///etc/passwd".to_owned(),
        "file:///".to_owned(),
        "file://".to_owned(),
        format!("file://evil.example{}/ok.txt", root.display()),
        format!("file:{}/ok.txt", root.display()),
        format!("FILE://{}/ok.txt", outside.display()),
        format!("file:////{}", outside.display()),
        format!("{inside}/{}", "n".repeat(300)),
        format!("{inside}{}", "/d".repeat(3000)),
        format!("{inside}{}/outside/secret.txt", "/..".repeat(40)),
        format!("{inside}/{}", "%2e%2e%2f".repeat(400)),
    ]);
    uris
}

#[tokio::test]
async fn nothing_outside_is_read_and_nothing_hangs() {
    let directory = TempDir::new().unwrap();
    let root = directory_with_traps(&directory);
    for transport in Transport::newest() {
        with_timeout(async {
            let (client, _process) = files(&root).connect(transport, client_builder()).await;
            for uri in uris(&root) {
                let read = client.read_resource(&uri).await;
                assert!(read.is_err(), "{transport:?}: {uri} was read: {read:?}");
                let output = format!("{read:?}");
                assert!(!output.contains(SECRET), "{transport:?}: {uri}: {output}");
            }
            let tools = ["read_text", "list_directory", "search"];
            let paths = FORBIDDEN_PATHS
                .iter()
                .map(|path| format!("{}{path}", root.display()));
            for path in paths.chain(uris(&root)) {
                for tool in tools {
                    let arguments = json!({"path": path, "text": SECRET});
                    let output = match client.call_tool(tool, &arguments).await {
                        Ok(result) => format!("{:?}", result.content),
                        Err(error) => error.to_string(),
                    };
                    assert!(
                        !output.contains(SECRET),
                        "{transport:?}: {tool} {path}: {output}"
                    );
                    assert!(
                        !output.contains("PATH="),
                        "{transport:?}: {tool} {path}: {output}"
                    );
                }
            }
            // Harmless files are still served.
            for name in ["within", "ok.txt", "sub/"] {
                client.read_resource(uri(&root.join(name))).await.unwrap();
            }
            client.close().await;
        })
        .await;
    }
}

#[tokio::test]
async fn a_search_of_everything_follows_no_link_out() {
    let directory = TempDir::new().unwrap();
    let root = directory_with_traps(&directory);
    with_timeout(async {
        let (client, _process) = files(&root)
            .connect(Transport::newest()[0], client_builder())
            .await;
        let result = client
            .call_tool("search", &json!({"text": SECRET}))
            .await
            .unwrap();
        assert!(
            crate::harness::data(&result)["matches"]
                .as_array()
                .unwrap()
                .is_empty()
        );
        client.close().await;
    })
    .await;
}

#[tokio::test]
async fn a_file_that_becomes_a_link_meanwhile_gives_nothing_away() {
    let directory = TempDir::new().unwrap();
    let root = directory_with_traps(&directory);
    let target = root.join("swapped");
    fs::write(&target, "harmless").unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let swapping = thread::spawn({
        let (stop, beside, target) = (stop.clone(), root.join("beside"), target.clone());
        let outside = root.with_file_name("outside/secret.txt");
        move || {
            while !stop.load(Ordering::Relaxed) {
                symlink(&outside, &beside).unwrap();
                fs::rename(&beside, &target).unwrap();
                fs::write(&beside, "harmless").unwrap();
                fs::rename(&beside, &target).unwrap();
            }
        }
    });
    with_timeout(async {
        let (client, _process) = files(&root)
            .connect(Transport::newest()[1], client_builder())
            .await;
        let mut read_count = 0;
        for _ in 0..400 {
            let Ok(result) = client.read_resource(uri(&target)).bypass_cache().await else {
                continue;
            };
            let [ResourceContents::Text(text)] = result.contents.as_slice() else {
                panic!("{result:?}");
            };
            assert_eq!(text.text, "harmless");
            read_count += 1;
        }
        assert!(read_count > 0, "the file was never readable");
        client.close().await;
    })
    .await;
    stop.store(true, Ordering::Relaxed);
    swapping.join().unwrap();
}

#[tokio::test]
async fn nothing_is_written_through_a_link() {
    let directory = TempDir::new().unwrap();
    let root = directory_with_traps(&directory);
    let outside = root.with_file_name("outside");
    with_timeout(async {
        let example = files(&root).arg("--write");
        let (client, _process) = example
            .connect(Transport::newest()[1], client_builder())
            .await;
        for path in FORBIDDEN_PATHS
            .iter()
            .chain(&["/folder/new.txt", "/../new.txt", "/sub"])
        {
            let path = format!("{}{path}", root.display());
            let arguments = json!({"path": path, "text": "overwritten"});
            // Some paths are refused; a link is replaced by a file.
            let _ = client.call_tool("write_text", &arguments).await;
        }
        client.close().await;
    })
    .await;
    let names = |directory: &Path| {
        let entries = fs::read_dir(directory).unwrap();
        let mut names: Vec<_> = entries.map(|it| it.unwrap().file_name()).collect();
        names.sort();
        names
    };
    assert_eq!(names(&outside), ["secret.txt"]);
    assert_eq!(
        fs::read_to_string(outside.join("secret.txt")).unwrap(),
        SECRET
    );
    assert_eq!(
        names(root.parent().unwrap()),
        ["outside", "served", "served-too"]
    );
    let leftovers = names(&root);
    let leftovers = leftovers
        .iter()
        .filter(|name| name.as_encoded_bytes().starts_with(b".writing"));
    assert_eq!(leftovers.count(), 0, "a temporary file is left");
}
