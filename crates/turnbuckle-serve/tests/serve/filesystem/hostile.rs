//! Paths that lead outside, limits, roots, and calls at the same time.

use std::time::Duration;

use turnbuckle::Revision;
use turnbuckle::types::ProtocolError;

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
    assert!(text.contains("more than 3 directories"), "{text}");
    let text = served
        .fail("search_files", json!({"path": ".", "pattern": "x"}))
        .await;
    assert!(text.contains("more than 3 directories"), "{text}");
    for number in 0..11 {
        served.write(&format!("many/{number}"), "");
    }
    for tool in [
        "list_directory",
        "list_directory_with_sizes",
        "directory_tree",
    ] {
        let text = served.fail(tool, json!({"path": "many"})).await;
        assert!(text.contains("more than 10 entries"), "{text}");
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

#[tokio::test]
async fn edits_at_the_same_time_are_all_made() {
    let served = std::sync::Arc::new(Served::new().await);
    let lines = |name: &str| (0..10).map(|n| format!("{name}{n}\n")).collect::<String>();
    served.write("file", lines("L"));
    let mut calls = tokio::task::JoinSet::new();
    for n in 0..10 {
        let served = served.clone();
        let edits = json!([{"oldText": format!("L{n}\n"), "newText": format!("M{n}\n")}]);
        calls.spawn(async move {
            served
                .ok("edit_file", json!({"path": "file", "edits": edits}))
                .await
        });
    }
    calls.join_all().await;
    assert_eq!(served.content("file"), lines("M"));
    let list = served.ok("list_directory", json!({"path": "."})).await;
    assert_eq!(list, "[FILE] file", "no temporary file is left");
}

#[tokio::test]
async fn directories_of_the_command_hold_if_the_client_gives_no_roots() {
    type Answer = Result<Vec<turnbuckle::types::Root>, ProtocolError>;
    let scratch = TempDir::new().unwrap();
    let limits = || {
        let mut limits = Limits::default();
        limits.call_timeout = Duration::from_secs(3);
        limits
    };
    let call = async |options: Options, is_answering: bool| {
        let answer = move || async move {
            if !is_answering {
                std::future::pending::<()>().await;
            }
            Answer::Err(ProtocolError::internal("no"))
        };
        let server = server(options.client_roots(true).limits(limits()));
        let client = testing::client(server.unwrap())
            .revision(Revision::V2025_06_18)
            .configure(move |client| client.on_roots(move |_| answer()));
        let client = client.connect().await.unwrap();
        let called = client.call_tool("list_allowed_directories", &());
        let result = called.await.unwrap();
        (result.is_error == Some(true), result.text().into_owned())
    };
    for is_answering in [true, false] {
        let options = Options::new().directory(scratch.path());
        let (failed, text) = call(options, is_answering).await;
        assert!(
            !failed && text.starts_with("Allowed directories:"),
            "{text}"
        );
        let (failed, text) = call(Options::new(), is_answering).await;
        let reason = match is_answering {
            true => "no",
            false => "has not answered `roots/list` in 1s",
        };
        assert!(failed && text.contains(reason), "{text}");
    }
}

/// Tests of what only Unix has.
#[cfg(unix)]
mod unix {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown, symlink};
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::Instant;

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

    #[tokio::test]
    async fn absolute_symlinks_lead_to_places_inside() {
        let served = Served::new().await;
        let other = TempDir::new().unwrap();
        let options = Options::new()
            .directory(served.path(""))
            .directory(other.path());
        let client = testing::connect(server(options).unwrap()).await.unwrap();
        let served = Served { client, ..served };
        fs::create_dir(served.path("sub")).unwrap();
        symlink(served.path("sub"), served.path("same")).unwrap();
        symlink(other.path(), served.path("other")).unwrap();
        for link in ["same", "other"] {
            let path = |name: &str| format!("{link}/{name}");
            let written = json!({"path": path("a"), "content": "text"});
            served.ok("write_file", written).await;
            let made = json!({"path": path("x/y")});
            served.ok("create_directory", made).await;
            let moved = json!({"source": path("a"), "destination": path("x/y/b")});
            served.ok("move_file", moved).await;
            let list = served.ok("list_directory", json!({"path": link})).await;
            assert_eq!(list, "[DIR] x");
            assert_eq!(served.content(&path("x/y/b")), "text");
        }
        let outside = served.scratch.path().join("outside");
        fs::create_dir(&outside).unwrap();
        symlink(&outside, served.path("out")).unwrap();
        symlink(outside.join("missing"), served.path("nowhere")).unwrap();
        let mut reasons = Vec::new();
        for path in ["out/a", "out/a/b", "nowhere", "nowhere/a"] {
            let written = json!({"path": path, "content": ""});
            let reason = served.fail("write_file", written).await;
            served.fail("create_directory", json!({"path": path})).await;
            reasons.push(reason.replace(&served.path(path), ""));
        }
        let denied = reasons[0].starts_with("Access denied - ");
        assert!(
            denied && reasons.iter().all(|reason| *reason == reasons[0]),
            "nothing is said of what is outside: {reasons:?}"
        );
        assert_eq!(fs::read_dir(outside).unwrap().count(), 0);
    }

    #[tokio::test]
    async fn a_directory_that_takes_the_place_of_another_is_served() {
        let served = Served::new().await;
        served.write("a", "old");
        let inside = served.path("");
        let inside = inside.trim_end_matches('/');
        let moved = served.scratch.path().join("moved");
        fs::rename(inside, &moved).unwrap();
        let written = json!({"path": "a", "content": "new"});
        let list = json!({"path": "."});
        let gone = served.fail("write_file", written.clone()).await;
        assert!(gone.starts_with("cannot open the directory"), "{gone}");
        served.fail("list_directory", list.clone()).await;
        served.fail("read_text_file", json!({"path": "a"})).await;
        fs::create_dir(inside).unwrap();
        assert_eq!(served.ok("list_directory", list.clone()).await, "");
        served.ok("write_file", written).await;
        assert_eq!(served.content("a"), "new");
        let old = fs::read_to_string(moved.join("a")).unwrap();
        assert_eq!(old, "old");
        fs::remove_dir_all(inside).unwrap();
        symlink("moved", inside).unwrap();
        served.fail("list_directory", list).await;
        served.fail("read_text_file", json!({"path": "a"})).await;
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

    #[tokio::test]
    async fn the_owner_stays_when_a_file_is_replaced() {
        let served = Served::new().await;
        served.write("file", "one");
        // Only root gives files away.
        if chown(served.path("file"), Some(1000), Some(1001)).is_err() {
            return;
        }
        fs::set_permissions(served.path("file"), fs::Permissions::from_mode(0o640)).unwrap();
        let edits = json!([{"oldText": "two", "newText": "three"}]);
        for (tool, arguments) in [
            ("write_file", json!({"path": "file", "content": "two"})),
            ("edit_file", json!({"path": "file", "edits": edits})),
        ] {
            served.ok(tool, arguments).await;
            let file = fs::metadata(served.path("file")).unwrap();
            let kept = (file.uid(), file.gid(), file.mode() & 0o777);
            assert_eq!(kept, (1000, 1001, 0o640), "{tool}");
        }
    }

    #[tokio::test]
    async fn a_move_to_another_file_system_is_explained() {
        let memory = TempDir::new_in("/dev/shm");
        let (Ok(memory), disk) = (memory, TempDir::new().unwrap()) else {
            return;
        };
        let device = |dir: &TempDir| fs::metadata(dir.path()).unwrap().dev();
        if device(&memory) == device(&disk) {
            return;
        }
        fs::write(disk.path().join("a"), "").unwrap();
        let options = Options::new()
            .directory(disk.path())
            .directory(memory.path());
        let client = testing::connect(server(options).unwrap()).await.unwrap();
        let moved = json!({"source": "a", "destination": memory.path().join("a")});
        let result = client.call_tool("move_file", &moved).await.unwrap();
        let text = result.text();
        assert!(text.contains("on another file system than"), "{text}");
    }
}
