//! Repositories whose files lead outside, never end, or are large: they are checked before libgit2 opens them.

use super::*;

impl Served {
    /// Makes another repository with a commit of `a.txt`.
    async fn init_with_commit(&self, name: &str) -> PathBuf {
        let path = self.inside().join(name);
        init(&path);
        fs::write(path.join("a.txt"), "one\n").unwrap();
        for (tool, arguments) in [
            ("git_add", json!({"repo_path": path, "files": ["a.txt"]})),
            ("git_commit", json!({"repo_path": path, "message": "first"})),
        ] {
            self.ok(tool, arguments).await;
        }
        path
    }

    /// Calls a tool of each kind, which must fail, and returns the texts.
    async fn expect_refusals(&self, path: &Path) -> Vec<String> {
        let mut texts = Vec::new();
        for (tool, arguments) in [
            ("git_status", json!({"repo_path": path})),
            ("git_log", json!({"repo_path": path})),
            ("git_show", json!({"repo_path": path, "revision": "HEAD"})),
            ("git_add", json!({"repo_path": path, "files": ["."]})),
            ("git_commit", json!({"repo_path": path, "message": "x"})),
            (
                "git_create_branch",
                json!({"repo_path": path, "branch_name": "x"}),
            ),
        ] {
            texts.push(self.fail(tool, arguments).await);
        }
        texts
    }

    fn outside(&self) -> PathBuf {
        self.scratch.path().canonicalize().unwrap().join("outside")
    }
}

#[tokio::test]
async fn files_that_are_read_whole_are_bounded() {
    let served = Served::new().await;
    for name in [
        "config",
        "index",
        "packed-refs",
        "refs/heads/x",
        "logs/HEAD",
    ] {
        let path = served.init_with_commit(&name.replace('/', "-")).await;
        let file = fs::File::create(path.join(".git").join(name)).unwrap();
        file.set_len((64 << 20) + 1).unwrap();
        for text in served.expect_refusals(&path).await {
            let named = Path::new(".git").join(name).display().to_string();
            assert!(
                text.contains(&named) && text.contains("has 67108865 bytes"),
                "{text}"
            );
        }
    }
    // Objects may be large, and only settings are bounded further.
    let path = served.init_with_commit("large").await;
    let pack = path.join(".git/objects/pack/x.pack");
    fs::File::create(pack)
        .unwrap()
        .set_len((64 << 20) + 1)
        .unwrap();
    served.ok("git_log", json!({"repo_path": path})).await;
    for name in [".gitignore", ".gitattributes", ".gitmodules"] {
        let file = path.join(name);
        fs::File::create(&file).unwrap().set_len(2 << 20).unwrap();
        let arguments = json!({"repo_path": path});
        let text = served.fail("git_status", arguments.clone()).await;
        assert!(
            text.contains(name) && text.contains("has 2097152 bytes"),
            "{text}"
        );
        fs::remove_file(file).unwrap();
        served.ok("git_status", arguments).await;
    }
}

#[tokio::test]
async fn configurations_read_no_other_file() {
    let served = Served::new().await;
    let outside = served.outside();
    fs::write(&outside, "[user]\n\tname = Outside\n").unwrap();
    let value = outside.display().to_string().replace('\\', "/");
    for (name, section) in [
        ("plain", "[include]".to_owned()),
        ("spelled", "\t[INCLUDE]".to_owned()),
        (
            "conditional",
            format!("[includeIf \"gitdir:{value}/../**\"]"),
        ),
    ] {
        let path = served.init_with_commit(name).await;
        let config = path.join(".git/config");
        let text = fs::read_to_string(&config).unwrap();
        fs::write(&config, format!("{text}{section} path = \"{value}\"\n")).unwrap();
        for text in served.expect_refusals(&path).await {
            assert!(text.contains("includes another file"), "{text}");
        }
    }
    let path = served.init_with_commit("modules").await;
    let modules = path.join(".gitmodules");
    fs::write(&modules, format!("[include]\n\tpath = {value}\n")).unwrap();
    let text = served.fail("git_status", json!({"repo_path": path})).await;
    assert!(text.contains("includes another file"), "{text}");
    for name in ["core.excludesFile", "core.attributesFile"] {
        let path = served.init_with_commit(name).await;
        let repository = Repository::open(&path).unwrap();
        let mut config = repository.config().unwrap();
        config.set_str(name, &value).unwrap();
        for text in served.expect_refusals(&path).await {
            assert!(
                text.contains("is outside the allowed repository") && text.contains(name),
                "{text}"
            );
        }
        let inner = path.join("patterns");
        fs::write(&inner, "*.log\n").unwrap();
        config.set_str(name, inner.to_str().unwrap()).unwrap();
        served.ok("git_status", json!({"repo_path": path})).await;
    }
}

#[tokio::test]
async fn object_databases_behind_others_are_checked() {
    let served = Served::new().await;
    let outside = init(&served.outside());
    let (first, second) = (
        served.init_with_commit("first").await,
        served.init_with_commit("second").await,
    );
    let alternates = |path: &Path| path.join(".git/objects/info/alternates");
    fs::create_dir_all(alternates(&first).parent().unwrap()).unwrap();
    fs::create_dir_all(alternates(&second).parent().unwrap()).unwrap();
    fs::write(alternates(&first), "../../../second/.git/objects\n").unwrap();
    served.ok("git_log", json!({"repo_path": first})).await;
    let objects = outside.path().join("objects").display().to_string();
    // Both ends of lines end a path.
    for text in [objects.clone(), format!("#\r{objects}")] {
        fs::write(alternates(&second), text).unwrap();
        for text in served.expect_refusals(&first).await {
            assert!(text.contains("is outside the allowed repository"), "{text}");
        }
    }
    fs::write(alternates(&second), "src\n").unwrap();
    for text in served.expect_refusals(&first).await {
        assert!(text.contains("neither with / nor with a dot"), "{text}");
    }
}

#[tokio::test]
async fn linked_work_trees_are_used_and_keep_their_branches() {
    let served = Served::new().await;
    let linked = served.inside().join("linked");
    served.repository.worktree("linked", &linked, None).unwrap();
    let at = |more: Value| {
        let mut arguments = json!({"repo_path": linked});
        let more = more.as_object().unwrap().clone();
        arguments.as_object_mut().unwrap().extend(more);
        arguments
    };
    fs::write(linked.join("b.txt"), "b\n").unwrap();
    served.ok("git_add", at(json!({"files": ["."]}))).await;
    served.ok("git_commit", at(json!({"message": "b"}))).await;
    let status = served.ok("git_status", at(json!({}))).await;
    assert!(status.contains("On branch linked"), "{status}");
    for (arguments, branch) in [
        (at(json!({"branch_name": "main"})), "refs/heads/main"),
        (json!({"branch_name": "linked"}), "refs/heads/linked"),
    ] {
        let text = served.fail("git_checkout", arguments).await;
        assert!(
            text.contains(branch) && text.contains("another work tree"),
            "{text}"
        );
    }
    assert!(!served.path("b.txt").exists(), "nothing was checked out");
    served
        .ok("git_create_branch", json!({"branch_name": "more"}))
        .await;
    served
        .ok("git_checkout", json!({"branch_name": "more"}))
        .await;
    let reflog = fs::read_to_string(served.path(".git/logs/HEAD")).unwrap();
    assert!(
        reflog.ends_with("\tcheckout: moving from main to more\n"),
        "{reflog}"
    );
    // All of both git directories must be inside.
    let outside = served.outside();
    fs::rename(served.path(""), &outside).unwrap();
    let link = linked.join(".git");
    let target = outside.join(".git/worktrees/linked");
    fs::write(&link, format!("gitdir: {}\n", target.display())).unwrap();
    let text = served.fail("git_status", at(json!({}))).await;
    assert!(text.contains("is outside the allowed repository"), "{text}");
}

#[tokio::test]
async fn submodules_are_checked_as_repositories() {
    let served = Served::new().await;
    let inner = served.init_with_commit("repo/inner").await;
    let submodule = Repository::open(&inner).unwrap();
    let mut index = served.repository.index().unwrap();
    let mut entry = index.get_path(Path::new("a.txt"), 0).unwrap();
    entry.mode = 0o160_000;
    entry.path = b"inner".to_vec();
    entry.id = submodule.head().unwrap().target().unwrap();
    index.add(&entry).unwrap();
    index.write().unwrap();
    let status = served.ok("git_status", json!({})).await;
    assert!(status.contains("new file:   inner"), "{status}");
    let mut config = submodule.config().unwrap();
    let outside = served.outside();
    fs::create_dir(&outside).unwrap();
    config
        .set_str("core.worktree", outside.to_str().unwrap())
        .unwrap();
    let text = served.fail("git_status", json!({})).await;
    assert!(text.contains("is outside the allowed repository"), "{text}");
    // Of another repository in the work tree nothing is opened.
    index.remove_path(Path::new("inner")).unwrap();
    index.write().unwrap();
    let status = served.ok("git_status", json!({})).await;
    assert!(status.contains("Untracked files:\n\tinner/"), "{status}");
}

/// Tests of what only Unix has.
#[cfg(unix)]
mod unix {
    use std::os::unix::fs::symlink;
    use std::time::{Duration, Instant};

    use super::*;

    /// Makes a named pipe in the place of a file.
    fn make_pipe(path: &Path) {
        use rustix::fs::{CWD, FileType, Mode, mknodat};
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let _ = fs::remove_file(path);
        mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    }

    /// A named pipe that is removed at the end of a test, and whose readers go on then.
    struct Pipe(PathBuf);

    impl Drop for Pipe {
        fn drop(&mut self) {
            let writer = fs::File::options().read(true).write(true).open(&self.0);
            let _ = fs::remove_file(&self.0);
            drop(writer);
        }
    }

    #[tokio::test]
    async fn a_git_directory_has_no_symlink() {
        let served = Served::new().await;
        let outside = served.outside();
        fs::create_dir(&outside).unwrap();
        let (file, folder, missing) = (
            outside.join("file"),
            outside.join("folder"),
            outside.join("missing"),
        );
        fs::write(&file, "outside\n").unwrap();
        fs::create_dir(&folder).unwrap();
        for (name, target) in [
            ("logs/HEAD", &file),
            ("logs/HEAD", &missing),
            ("logs", &folder),
            ("logs", &missing),
            ("refs/heads", &folder),
            ("refs/heads/main", &file),
            ("refs/heads/x", &missing),
            ("objects", &folder),
            ("objects/pack", &folder),
            ("objects/pack/pack-1.idx", &file),
            ("objects/ab", &folder),
            ("objects/ab/cdef", &file),
            ("objects/info", &folder),
            ("info", &folder),
            ("info/exclude", &file),
            ("info/attributes", &file),
            ("HEAD", &file),
            ("ORIG_HEAD", &missing),
            ("config", &file),
            ("index", &file),
            ("index.lock", &missing),
            ("packed-refs", &file),
            ("shallow", &file),
            ("worktrees", &folder),
            ("rebase-merge", &folder),
            ("x/hooks/y/z", &file),
        ] {
            let path = served.init_with_commit("other").await;
            let link = path.join(".git").join(name);
            fs::create_dir_all(link.parent().unwrap()).unwrap();
            if fs::remove_file(&link).is_err() {
                let _ = fs::remove_dir_all(&link);
            }
            symlink(target, &link).unwrap();
            for text in served.expect_refusals(&path).await {
                let named = link.display().to_string();
                assert!(
                    text.contains(&named) && text.contains("is a symlink"),
                    "{name}: {text}"
                );
            }
            fs::remove_dir_all(path).unwrap();
        }
        assert_eq!(fs::read_to_string(file).unwrap(), "outside\n");
        assert!(!missing.exists() && folder.read_dir().unwrap().next().is_none());
    }

    #[tokio::test]
    async fn hooks_may_be_symlinks_to_what_is_inside() {
        let served = Served::new().await;
        served.write("hook", "#!/bin/sh\n");
        fs::create_dir_all(served.path(".git/hooks")).unwrap();
        let hook = served.path(".git/hooks/pre-commit");
        symlink("../../hook", &hook).unwrap();
        served.ok("git_log", json!({})).await;
        for target in [served.scratch.path(), Path::new("missing")] {
            fs::remove_file(&hook).unwrap();
            symlink(target, &hook).unwrap();
            served.fail("git_log", json!({})).await;
        }
    }

    #[tokio::test]
    async fn pipes_are_refused_and_not_opened() {
        let served = Served::new().await;
        for name in [
            "HEAD",
            "config",
            "index",
            "packed-refs",
            "shallow",
            "commondir",
            "info/exclude",
            "info/attributes",
            "info/grafts",
            "refs/heads/x",
            "logs/HEAD",
            "objects/info/alternates",
            "objects/info/commit-graph",
            "objects/pack/pack-1.idx",
            "objects/ab/cdef",
        ] {
            let path = served.init_with_commit("other").await;
            let special = path.join(".git").join(name);
            make_pipe(&special);
            for text in served.expect_refusals(&path).await {
                let named = special.display().to_string();
                assert!(
                    text.contains(&named) && text.contains("is no regular file"),
                    "{name}: {text}"
                );
            }
            fs::remove_dir_all(path).unwrap();
        }
        let path = served.init_with_commit("other").await;
        fs::remove_dir_all(path.join(".git")).unwrap();
        make_pipe(&path.join(".git"));
        for text in served.expect_refusals(&path).await {
            assert!(text.contains("is no regular file"), "{text}");
        }
    }

    #[tokio::test]
    async fn pipes_in_a_work_tree_are_refused_and_not_opened() {
        let served = Served::new().await;
        served.write("b.txt", "b\n");
        for name in [
            ".gitignore",
            ".gitattributes",
            ".gitmodules",
            "sub/.gitignore",
            "sub/deep/.gitattributes",
        ] {
            let special = served.path(name);
            make_pipe(&special);
            for (tool, arguments) in [
                ("git_status", json!({})),
                ("git_diff_unstaged", json!({})),
                ("git_diff_staged", json!({})),
                ("git_diff", json!({"target": "HEAD"})),
                ("git_add", json!({"files": ["b.txt"]})),
                ("git_reset", json!({})),
                ("git_show", json!({"revision": "HEAD"})),
                ("git_checkout", json!({"branch_name": "main"})),
            ] {
                let text = served.fail(tool, arguments).await;
                let named = special.display().to_string();
                assert!(
                    text.contains(&named) && text.contains("is no regular file"),
                    "{name}: {text}"
                );
            }
            served.ok("git_log", json!({})).await;
            fs::remove_file(special).unwrap();
        }
        // Nothing of another repository in the work tree is opened, but a symlink can lead into it.
        let other = served.init_with_commit("repo/other").await;
        make_pipe(&other.join(".git/x/.gitattributes"));
        symlink("other/.git/x", served.path("link")).unwrap();
        let text = served.fail("git_status", json!({})).await;
        assert!(text.contains("is no regular file"), "{text}");
        fs::remove_dir_all(other).unwrap();
        // A symlink may lead to a file inside.
        symlink(served.scratch.path().join("x"), served.path(".gitignore")).unwrap();
        served.fail("git_status", json!({})).await;
        fs::remove_file(served.path(".gitignore")).unwrap();
        symlink("b.txt", served.path(".gitignore")).unwrap();
        served.ok("git_status", json!({})).await;
    }

    #[tokio::test]
    async fn calls_that_hang_are_answered_and_leave_room_for_others() {
        let mut limits = Limits::default();
        limits.call_timeout = Duration::from_millis(500);
        let served = Served::with_limits(limits).await;
        // The attributes of a file are looked for in its folder, which is now a symlink.
        fs::create_dir(served.path("sub")).unwrap();
        served.write("sub/b.txt", "b\n");
        served.ok("git_add", json!({"files": ["."]})).await;
        served.ok("git_commit", json!({"message": "sub"})).await;
        fs::remove_dir_all(served.path("sub")).unwrap();
        let hanging = served.inside().join("hanging");
        let attributes = Pipe(hanging.join(".gitattributes"));
        make_pipe(&attributes.0);
        symlink(&hanging, served.path("sub")).unwrap();
        let other = served.inside().join("other");
        init(&other);
        let hang = || served.fail("git_show", json!({"revision": "HEAD"}));
        let start = Instant::now();
        let (first, second, third, fourth, status) = tokio::join!(
            hang(),
            hang(),
            hang(),
            hang(),
            served.ok("git_status", json!({"repo_path": other})),
        );
        assert!(status.contains("No commits yet"), "{status}");
        for text in [first, second, third, fourth] {
            assert!(text.contains("did not end in time"), "{text}");
        }
        assert!(start.elapsed() < Duration::from_secs(30));
        let text = hang().await;
        assert!(text.contains("too many calls on this repository"), "{text}");
        served.ok("git_status", json!({"repo_path": other})).await;
        drop(attributes);
        let show = json!({"revision": "HEAD"});
        let (mut failed, mut text) = served.call("git_show", show.clone()).await;
        while failed && start.elapsed() < Duration::from_secs(60) {
            (failed, text) = served.call("git_show", show.clone()).await;
        }
        assert!(!failed, "{text}");
    }
}
