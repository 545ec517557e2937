//! Tests of the `files` server: lists, reads, searches, completions, subscriptions, roots and
//! writes.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;
use turnbuckle::client::{ChangeFilter, Roots};
use turnbuckle::session::handler::Change;
use turnbuckle::types::{ResourceContents, ResourceTemplateReference, Root};

use crate::harness::{Example, Transport, client_builder, data, read, text, uri, with_timeout};

/// Creates a directory with files to serve.
pub(crate) fn served_directory(directory: &TempDir) -> PathBuf {
    let root = directory.path().canonicalize().unwrap().join("served");
    fs::create_dir_all(root.join("sub")).unwrap();
    fs::write(root.join("ok.txt"), "one\nTwo words\nthree\n").unwrap();
    fs::write(root.join("sub/deep.md"), "# two\n").unwrap();
    fs::write(root.join("sub/a b%.json"), "{}").unwrap();
    fs::write(root.join("pixel.png"), [0x89, b'P', 0xff, 0]).unwrap();
    root
}

pub(crate) fn files(root: &Path) -> Example {
    Example::new(env!("CARGO_BIN_EXE_files")).arg(root)
}

fn names(listing: &Value) -> Vec<&str> {
    let entries = listing["entries"].as_array().unwrap().iter();
    entries
        .map(|entry| entry["name"].as_str().unwrap())
        .collect()
}

#[tokio::test]
async fn files_are_listed_read_searched_and_completed() {
    let directory = TempDir::new().unwrap();
    let root = served_directory(&directory);
    for transport in Transport::all() {
        with_timeout(async {
            let (client, _process) = files(&root).connect(transport, client_builder()).await;
            let listed = client.list_resources().fetch_all().await.unwrap();
            assert_eq!(listed[0].uri, uri(&root), "{transport:?}");
            let listing = client.read_resource(&listed[0].uri).await.unwrap();
            let listing: Value = serde_json::from_str(read(&listing).0).unwrap();
            assert_eq!(names(&listing), ["ok.txt", "pixel.png", "sub"]);

            let result = client
                .read_resource(uri(&root.join("sub/deep.md")))
                .await
                .unwrap();
            assert_eq!(read(&result), ("# two\n", Some("text/markdown")));
            let result = client
                .read_resource(uri(&root.join("pixel.png")))
                .await
                .unwrap();
            let [ResourceContents::Blob(blob)] = result.contents.as_slice() else {
                panic!("{result:?}");
            };
            assert_eq!(
                (blob.blob.as_str(), blob.mime_type.as_deref()),
                ("iVD/AA==", Some("image/png"))
            );

            let below = json!({"path": root.join("sub")});
            let result = client.call_tool("list_directory", &below).await.unwrap();
            let listing = data(&result);
            assert_eq!(names(&listing), ["a b%.json", "deep.md"]);
            let encoded = listing["entries"][0]["uri"].as_str().unwrap();
            assert!(encoded.ends_with("/a%20b%25.json"), "{encoded}");
            assert_eq!(
                read(&client.read_resource(encoded).await.unwrap()),
                ("{}", Some("application/json"))
            );

            let lines = json!({"path": root.join("ok.txt"), "line": 2, "count": 1});
            let result = client.call_tool("read_text", &lines).await.unwrap();
            assert_eq!(data(&result), json!({"text": "Two words\n", "lines": 3}));
            let result = client
                .call_tool("search", &json!({"text": "TWO"}))
                .await
                .unwrap();
            let found = data(&result);
            assert_eq!(found["matches"].as_array().unwrap().len(), 2, "{found}");

            let template = ResourceTemplateReference::new("file:///{+path}");
            let typed = root.join("s").display().to_string();
            let typed = typed.trim_start_matches('/');
            if client
                .server_info()
                .unwrap()
                .capabilities
                .completions
                .is_some()
            {
                let result = client.complete(template, "path", typed).await.unwrap();
                assert_eq!(
                    result.completion.values,
                    [format!("{typed}ub")],
                    "{transport:?}"
                );
            }
            let tools = client.list_tools().fetch_all().await.unwrap();
            assert!(
                tools.iter().all(|tool| tool.name != "write_text"),
                "writing was not enabled"
            );
            client.close().await;
        })
        .await;
    }
}

#[tokio::test]
async fn subscribers_are_notified_of_a_change() {
    let directory = TempDir::new().unwrap();
    let root = served_directory(&directory);
    for transport in Transport::newest() {
        with_timeout(async {
            let (client, _process) = files(&root).connect(transport, client_builder()).await;
            let (file, folder) = (uri(&root.join("ok.txt")), uri(&root));
            let mut of_file = client
                .subscribe(ChangeFilter::new().resource(&*file))
                .await
                .unwrap();
            let mut of_folder = client
                .subscribe(ChangeFilter::new().resource(&*folder))
                .await
                .unwrap();
            fs::write(root.join("ok.txt"), "changed\n").unwrap();
            assert_eq!(
                of_file.next().await,
                Some(Change::Resource(file.into())),
                "{transport:?}"
            );
            fs::write(root.join("new.txt"), "new\n").unwrap();
            assert_eq!(
                of_folder.next().await,
                Some(Change::Resource(folder.into())),
                "{transport:?}"
            );
            fs::remove_file(root.join("new.txt")).unwrap();
            client.close().await;
        })
        .await;
    }
}

#[tokio::test]
async fn the_roots_of_a_client_are_honoured() {
    let directory = TempDir::new().unwrap();
    let root = served_directory(&directory);
    std::os::unix::fs::symlink("../ok.txt", root.join("sub/up")).unwrap();
    for transport in Transport::all() {
        with_timeout(async {
            let roots = Roots::new();
            roots
                .add(Root::new(uri(&root.join("sub"))).unwrap())
                .unwrap();
            let (client, _process) = files(&root)
                .connect(transport, client_builder().roots(roots.clone()))
                .await;
            client
                .read_resource(uri(&root.join("sub/deep.md")))
                .await
                .unwrap();
            for outside in ["ok.txt", "sub/up", ""] {
                let read = client.read_resource(uri(&root.join(outside))).await;
                assert!(
                    read.is_err(),
                    "{transport:?}: {outside} is not in the client's roots"
                );
            }
            let result = client.call_tool("list_directory", &()).await.unwrap();
            let sub = root.join("sub");
            assert_eq!(names(&data(&result)), [sub.to_str().unwrap()]);

            // A root that contains the served directory grants nothing outside of it.
            roots
                .set([Root::new(uri(directory.path())).unwrap()])
                .unwrap();
            // Over HTTP the notice of the change may come after the next request.
            while client
                .read_resource(uri(&root.join("ok.txt")))
                .await
                .is_err()
            {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            let result = client.call_tool("list_directory", &()).await.unwrap();
            assert_eq!(names(&data(&result)), [root.to_str().unwrap()]);
            client.close().await;
        })
        .await;
    }
}

#[tokio::test]
async fn files_are_written_where_that_was_allowed() {
    let directory = TempDir::new().unwrap();
    let root = served_directory(&directory);
    with_timeout(async {
        let transport = Transport::newest()[0];
        let (client, _process) = files(&root)
            .arg("--write")
            .connect(transport, client_builder())
            .await;
        for path in ["sub/new.txt", "ok.txt"] {
            let arguments = json!({"path": root.join(path), "text": "written"});
            let result = client.call_tool("write_text", &arguments).await.unwrap();
            assert!(text(&result).starts_with("wrote 7 bytes"), "{result:?}");
            assert_eq!(fs::read_to_string(root.join(path)).unwrap(), "written");
        }
        for path in ["sub", "", "none/new.txt"] {
            let arguments = json!({"path": root.join(path), "text": "written"});
            let result = client.call_tool("write_text", &arguments).await.unwrap();
            assert_eq!(result.is_error, Some(true), "{path}");
        }
        client.close().await;
    })
    .await;
}
