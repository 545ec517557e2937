//! Paths that lead outside, limits, and roots.

use super::*;

#[tokio::test]
async fn nothing_outside_is_reached_by_its_path() {
    let served = Served::new().await;
    let secret = served
        .scratch
        .path()
        .join("secret")
        .to_str()
        .unwrap()
        .to_owned();
    let beside = format!("{}2/a", served.path("").trim_end_matches('/'));
    for path in [
        "../secret",
        "x/../../secret",
        &secret,
        "/etc/passwd",
        &beside,
        "a\0b",
        "~/x",
    ] {
        for (tool, arguments) in [
            ("read_text_file", json!({"path": path})),
            ("read_media_file", json!({"path": path})),
            ("write_file", json!({"path": path, "content": "x"})),
            ("edit_file", json!({"path": path, "edits": []})),
            ("create_directory", json!({"path": path})),
            ("list_directory", json!({"path": path})),
            ("directory_tree", json!({"path": path})),
            ("search_files", json!({"path": path, "pattern": "**"})),
            ("get_file_info", json!({"path": path})),
            ("move_file", json!({"source": path, "destination": "moved"})),
        ] {
            let text = served.fail(tool, arguments).await;
            assert!(
                text.starts_with("Access denied - ") || text.contains("NUL"),
                "{tool} {path}: {text}"
            );
        }
    }
    assert_eq!(
        fs::read_to_string(served.scratch.path().join("secret")).unwrap(),
        "secret"
    );
}

#[tokio::test]
async fn limits_hold_for_entries_and_depth() {
    let mut limits = Limits::default();
    (limits.max_entries, limits.max_depth) = (10, 3);
    let served = Served::with_limits(limits).await;
    served.write("a/b/c/d", "");
    let text = served.fail("directory_tree", json!({"path": "."})).await;
    assert!(text.contains("max_depth"), "{text}");
    let text = served
        .fail("search_files", json!({"path": ".", "pattern": "x"}))
        .await;
    assert!(text.contains("max_depth"), "{text}");
    for number in 0..11 {
        served.write(&format!("many/{number}"), "");
    }
    for tool in [
        "list_directory",
        "list_directory_with_sizes",
        "directory_tree",
    ] {
        let text = served.fail(tool, json!({"path": "many"})).await;
        assert!(text.contains("max_entries"), "{text}");
    }
}

#[tokio::test]
async fn roots_choose_directories() {
    let scratch = TempDir::new().unwrap();
    let path = |name: &str| scratch.path().canonicalize().unwrap().join(name);
    for name in ["inside/one", "inside/two", "outside"] {
        fs::create_dir_all(path(name)).unwrap();
    }
    let uri = |name: &str| format!("file://{}", path(name).display());
    let allowed = async |options: &Options, roots: Option<Vec<String>>| {
        let server = server(options.clone()).unwrap().build().unwrap();
        let mut client = testing::client(&server);
        if let Some(roots) = roots {
            client = client.roots(roots);
        }
        let client = client.without_answers().connect().await.unwrap();
        let result = client
            .call_tool("list_allowed_directories", &())
            .await
            .unwrap();
        result.text().into_owned()
    };
    let list = |names: &[&str]| {
        let paths: Vec<_> = names
            .iter()
            .map(|name| path(name).display().to_string())
            .collect();
        format!("Allowed directories:\n{}", paths.join("\n"))
    };
    let none = Options::new().client_roots(true);
    let roots = vec![uri("inside/two"), uri("missing")];
    assert_eq!(allowed(&none, Some(roots)).await, list(&["inside/two"]));
    assert!(
        allowed(&none, None)
            .await
            .contains("no allowed directories")
    );
    let some = none.directory(path("inside"));
    let roots = vec![uri("outside"), uri("inside/one")];
    assert_eq!(
        allowed(&some, Some(roots)).await,
        list(&["inside/one"]),
        "roots only narrow"
    );
    assert_eq!(
        allowed(&some, Some(vec![uri("outside")])).await,
        list(&["inside"])
    );
    assert_eq!(allowed(&some, None).await, list(&["inside"]));
    let fixed = some.client_roots(false);
    assert_eq!(
        allowed(&fixed, Some(vec![uri("inside/one")])).await,
        list(&["inside"])
    );
    assert!(server(Options::new()).is_err());
    assert!(server(Options::new().directory(path("missing"))).is_err());
}

/// Tests of what only Unix has.
#[cfg(unix)]
mod unix {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::{Duration, Instant};

    use super::*;

    #[tokio::test]
    async fn symlinks_lead_nowhere_outside() {
        let served = Served::new().await;
        served.write("real/a", "text");
        for (target, name) in [
            ("../secret", "relative"),
            ("/etc/passwd", "absolute"),
            ("../../inside/../secret", "long"),
            ("real/../../secret", "dots"),
        ] {
            symlink(target, served.path(name)).unwrap();
            served.fail("read_text_file", json!({"path": name})).await;
            served
                .fail("write_file", json!({"path": name, "content": "x"}))
                .await;
            served.fail("get_file_info", json!({"path": name})).await;
        }
        symlink("..", served.path("up")).unwrap();
        for path in ["up/secret", "up"] {
            served.fail("read_text_file", json!({"path": path})).await;
        }
        served.fail("list_directory", json!({"path": "up"})).await;
        served
            .fail("create_directory", json!({"path": "up/made"}))
            .await;
        symlink("../new", served.path("dangling")).unwrap();
        served
            .fail("write_file", json!({"path": "dangling", "content": "x"}))
            .await;
        assert!(!served.scratch.path().join("new").exists());
        assert!(!served.scratch.path().join("made").exists());
        symlink("real/a", served.path("good")).unwrap();
        symlink(served.path("real"), served.path("good_dir")).unwrap();
        assert_eq!(
            served.ok("read_text_file", json!({"path": "good"})).await,
            "text"
        );
        assert_eq!(
            served
                .ok("read_text_file", json!({"path": "good_dir/a"}))
                .await,
            "text"
        );
        served
            .ok("write_file", json!({"path": "good", "content": "new"}))
            .await;
        assert_eq!(
            served.content("real/a"),
            "new",
            "the target is written, as the reference does"
        );
        let tree = served.ok("directory_tree", json!({"path": "."})).await;
        assert!(!tree.contains("secret"), "{tree}");
        let found = served
            .ok("search_files", json!({"path": ".", "pattern": "**/secret"}))
            .await;
        assert_eq!(found, "No matches found");
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_symlink_that_is_swapped_between_check_and_use_leads_nowhere() {
        let served = Served::new().await;
        served.write("real/secret", "public");
        let link = served.path("link");
        symlink("real", &link).unwrap();
        let ended = std::sync::Arc::new(AtomicBool::new(false));
        let swapping = {
            let (ended, link) = (ended.clone(), link.clone());
            std::thread::spawn(move || {
                let other = format!("{link}.new");
                while !ended.load(Ordering::Relaxed) {
                    for target in ["..", "real"] {
                        symlink(target, &other).unwrap();
                        fs::rename(&other, &link).unwrap();
                    }
                }
            })
        };
        let (mut read, mut written) = (0, 0);
        let start = Instant::now();
        while start.elapsed() < Duration::from_millis(1_500) {
            let (failed, text) = served
                .call("read_text_file", json!({"path": "link/secret"}))
                .await;
            assert_ne!(text, "secret");
            read += u32::from(!failed);
            let (failed, _) = served
                .call(
                    "write_file",
                    json!({"path": "link/secret", "content": "public"}),
                )
                .await;
            written += u32::from(!failed);
        }
        ended.store(true, Ordering::Relaxed);
        swapping.join().unwrap();
        assert!(
            read > 0 && written > 0,
            "the link led inside at times: {read}, {written}"
        );
        assert_eq!(
            fs::read_to_string(served.scratch.path().join("secret")).unwrap(),
            "secret"
        );
    }

    #[tokio::test]
    async fn pipes_and_devices_are_not_opened() {
        let served = Served::new().await;
        let pipe = served.path("pipe");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &*pipe,
            rustix::fs::FileType::Fifo,
            0o600.into(),
            0,
        )
        .unwrap();
        let options = Options::new().directory("/dev").directory(served.path(""));
        let client = testing::connect(server(options).unwrap()).await.unwrap();
        for path in ["/dev/zero", "/dev/tty", &pipe] {
            for tool in [
                "read_text_file",
                "read_media_file",
                "edit_file",
                "write_file",
            ] {
                let arguments = json!({"path": path, "edits": [], "content": ""});
                let result = client.call_tool(tool, &arguments).await.unwrap();
                assert_eq!(result.is_error, Some(true), "{tool} {path}");
            }
        }
    }

    #[tokio::test]
    async fn permissions_stay_when_a_file_is_replaced() {
        let served = Served::new().await;
        served.write("script", "one");
        fs::set_permissions(served.path("script"), fs::Permissions::from_mode(0o750)).unwrap();
        served
            .ok("write_file", json!({"path": "script", "content": "two"}))
            .await;
        let info = served.ok("get_file_info", json!({"path": "script"})).await;
        assert!(info.ends_with("permissions: 750"), "{info}");
    }
}
