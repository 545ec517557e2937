//! Names like options, repositories that lead outside or run programs, and limits.

use super::*;

#[tokio::test]
async fn names_are_never_options() {
    let served = Served::new().await;
    let id = served.repository.head().unwrap().target().unwrap();
    // A hostile repository can have such a ref, which git itself refuses to make.
    let refs = served.path(".git/refs/heads");
    fs::write(refs.join("--output=x"), format!("{id}\n")).unwrap();
    for name in ["--output=x", "-f", "--help"] {
        for (tool, arguments) in [
            ("git_diff", json!({"target": name})),
            ("git_show", json!({"revision": name})),
            ("git_checkout", json!({"branch_name": name})),
            ("git_create_branch", json!({"branch_name": name})),
            (
                "git_create_branch",
                json!({"branch_name": "x", "base_branch": name}),
            ),
            (
                "git_branch",
                json!({"branch_type": "all", "contains": name}),
            ),
            (
                "git_branch",
                json!({"branch_type": "all", "not_contains": name}),
            ),
        ] {
            let text = served.fail(tool, arguments).await;
            assert!(text.contains("cannot start with '-'"), "{tool}: {text}");
        }
    }
    for name in ["a..b", "", "a b", "x.lock", "a\0b"] {
        served
            .fail("git_create_branch", json!({"branch_name": name}))
            .await;
    }
    assert!(!served.path("x").exists());
}

#[tokio::test]
async fn only_files_of_the_work_tree_are_added() {
    let served = Served::new().await;
    fs::write(served.inside().join("secret"), "secret").unwrap();
    let absolute = served.inside().join("secret").display().to_string();
    for file in ["../secret", "x/../../secret", &absolute, "/etc/passwd"] {
        let text = served.fail("git_add", json!({"files": [file]})).await;
        assert!(text.contains("is outside the repository"), "{text}");
    }
    served.write("-n", "a name like an option\n");
    served.write("*", "a name like a pattern\n");
    served.write("other", "\n");
    served.ok("git_add", json!({"files": ["-n", "*"]})).await;
    let status = served.ok("git_status", json!({})).await;
    assert!(
        status.contains("new file:   -n") && status.contains("Untracked files:\n\tother"),
        "{status}"
    );
}

#[tokio::test]
async fn large_files_and_long_results_are_bounded() {
    let mut limits = Limits::default();
    (
        limits.max_output_bytes,
        limits.max_file_bytes,
        limits.max_commits,
    ) = (2_000, 10_000, 3);
    let served = Served::with_limits(limits).await;
    served.write("a.txt", &"line\n".repeat(1_000));
    let text = served.ok("git_diff_unstaged", json!({})).await;
    assert!(
        text.len() < 2_300 && text.contains("[cut: longer than 2000 bytes"),
        "{}",
        text.len()
    );
    served.write("a.txt", &"line\n".repeat(10_000));
    let text = served.fail("git_add", json!({"files": ["."]})).await;
    assert!(text.contains("may have 10000"), "{text}");
    let text = served.ok("git_diff_unstaged", json!({})).await;
    assert!(text.contains("Binary files"), "{text}");
    let mut index = served.repository.index().unwrap();
    index.add_path(Path::new("a.txt")).unwrap();
    index.write().unwrap();
    commit_at(&served.repository, "large", 3_999_999_999);
    let text = served
        .fail("git_show", json!({"revision": "HEAD:a.txt"}))
        .await;
    assert!(text.contains("may have 10000"), "{text}");
    let blob = index.get_path(Path::new("a.txt"), 0).unwrap().id;
    let object = served.repository.find_object(blob, None).unwrap();
    let who = Signature::now("Ada", "ada@example.com").unwrap();
    served
        .repository
        .reference("refs/tags/blob", blob, false, "")
        .unwrap();
    served
        .repository
        .tag("tag", &object, &who, "of a blob", false)
        .unwrap();
    let id = blob.to_string();
    for revision in [&id, &id[..7], "blob", "tag", "tag^{}", ":a.txt", ":0:a.txt"] {
        let text = served.fail("git_show", json!({"revision": revision})).await;
        assert!(text.contains("may have 10000"), "{revision}: {text}");
    }
    for revision in [":", ":1:", ":../x", ":/", ":0:/a.txt"] {
        served.fail("git_show", json!({"revision": revision})).await;
    }
    let message = "a large commit".repeat(1_000);
    let large = commit_at(&served.repository, &message, 3_999_999_999);
    for revision in [&large, "HEAD", "main", "HEAD~0"] {
        let text = served.fail("git_show", json!({"revision": revision})).await;
        assert!(text.contains("may have 10000"), "{revision}: {text}");
    }
    for number in 0..5 {
        commit_at(&served.repository, "again", 4_000_000_000 + number);
    }
    for (max_count, is_cut) in [(100, true), (4, true), (3, false)] {
        let log = served.ok("git_log", json!({"max_count": max_count})).await;
        assert_eq!(log.matches("Commit: ").count(), 3);
        assert_eq!(log.contains("[cut: a log has at most 3 commits"), is_cut);
    }
}

#[tokio::test]
async fn files_that_a_filter_would_change_are_not_staged() {
    let served = Served::new().await;
    served.write(".gitattributes", "*.key filter=crypt\n*.low filter=lower\n");
    served.write("old.key", "old\n");
    // A filter that is configured nowhere does nothing.
    served.ok("git_add", json!({"files": ["."]})).await;
    let mut config = served.repository.config().unwrap();
    config.set_str("filter.crypt.smudge", "cat").unwrap();
    config.set_str("filter.lower.clean", "").unwrap();
    served.write("new.key", "new\n");
    served.write("new.low", "new\n");
    served.ok("git_add", json!({"files": ["new.low"]})).await;
    for program in ["filter.crypt.clean", "filter.crypt.process"] {
        config.set_str(program, "cat").unwrap();
        for files in [json!(["new.key"]), json!(["."])] {
            let text = served.fail("git_add", json!({"files": files})).await;
            assert!(
                text.contains("new.key") && text.contains("the filter 'crypt'"),
                "{text}"
            );
        }
        config.remove(program).unwrap();
    }
    config.set_str("filter.crypt.clean", "cat").unwrap();
    let status = served.ok("git_status", json!({})).await;
    assert!(status.contains("Untracked files:\n\tnew.key"), "{status}");
    // Files that did not change are no reason.
    fs::remove_file(served.path("new.key")).unwrap();
    let text = served.ok("git_add", json!({"files": ["."]})).await;
    assert!(text.starts_with("Nothing was staged"), "{text}");
    served.write("old.key", "changed\n");
    let text = served.fail("git_add", json!({"files": ["."]})).await;
    assert!(text.contains("old.key is not staged"), "{text}");
}

#[tokio::test]
async fn files_of_another_encoding_are_not_staged() {
    let served = Served::new().await;
    served.write(
        ".gitattributes",
        "*.u16 working-tree-encoding=UTF-16LE\n*.u8 working-tree-encoding=utf-8\n",
    );
    served.write("new.u8", "new\n");
    served.ok("git_add", json!({"files": ["."]})).await;
    served.write("new.u16", "n\0e\0w\0\n\0");
    for files in [json!(["new.u16"]), json!(["."])] {
        let text = served.fail("git_add", json!({"files": files})).await;
        assert!(
            text.contains("new.u16") && text.contains("the encoding 'UTF-16LE'"),
            "{text}"
        );
    }
}

#[tokio::test]
async fn a_bare_repository_has_no_work_tree() {
    let served = Served::new().await;
    let bare = served.inside().join("bare.git");
    Repository::init_bare(&bare).unwrap();
    for tool in ["git_diff_unstaged", "git_add", "git_status"] {
        served
            .fail(tool, json!({"repo_path": bare, "files": ["."]}))
            .await;
    }
}

#[tokio::test]
async fn repositories_lead_nowhere_outside() {
    let served = Served::new().await;
    let outside = served
        .scratch
        .path()
        .canonicalize()
        .unwrap()
        .join("outside");
    let other = init(&outside);
    fs::write(outside.join("secret.txt"), "secret\n").unwrap();
    let repo_path = |name: &str| served.inside().join(name);
    let refused = async |path: PathBuf| {
        for tool in ["git_status", "git_diff_unstaged", "git_log"] {
            let text = served.fail(tool, json!({"repo_path": path})).await;
            assert!(text.contains("is outside the allowed repository"), "{text}");
        }
    };
    refused(outside.clone()).await;
    refused(repo_path("../outside")).await;
    // A file that leads to another git directory.
    fs::create_dir(repo_path("linked")).unwrap();
    fs::write(
        repo_path("linked/.git"),
        format!("gitdir: {}\n", other.path().display()),
    )
    .unwrap();
    refused(repo_path("linked")).await;
    // A work tree that is elsewhere.
    let moved = init(&repo_path("moved"));
    moved
        .config()
        .unwrap()
        .set_str("core.worktree", outside.to_str().unwrap())
        .unwrap();
    refused(repo_path("moved")).await;
    // Objects of another repository.
    let borrowing = init(&repo_path("borrowing"));
    let alternates = borrowing.path().join("objects/info/alternates");
    fs::create_dir_all(alternates.parent().unwrap()).unwrap();
    fs::write(
        &alternates,
        other.path().join("objects").display().to_string(),
    )
    .unwrap();
    refused(repo_path("borrowing")).await;
    // No search in the directories above.
    fs::create_dir(served.path("sub")).unwrap();
    served
        .fail("git_status", json!({"repo_path": served.path("sub")}))
        .await;
    assert!(server(Options::new()).is_err());
    assert!(server(Options::new().directory(repo_path("missing"))).is_err());
}

/// Tests of what only Unix has.
#[cfg(unix)]
mod unix {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    #[tokio::test]
    async fn nothing_of_a_repository_is_run() {
        let served = Served::new().await;
        let ran = served.inside().join("ran");
        let script = format!("#!/bin/sh\necho \"$0\" >> '{}'\ncat\n", ran.display());
        let program = served.inside().join("program");
        let executable = |path: &Path| {
            fs::write(path, &script).unwrap();
            fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
        };
        executable(&program);
        let hooks = served.path(".git/hooks");
        fs::create_dir_all(&hooks).unwrap();
        for hook in [
            "pre-commit",
            "commit-msg",
            "prepare-commit-msg",
            "post-commit",
            "post-checkout",
            "reference-transaction",
            "post-index-change",
            "fsmonitor-watchman",
        ] {
            executable(&hooks.join(hook));
        }
        let mut config = served.repository.config().unwrap();
        for key in [
            "filter.evil.clean",
            "filter.evil.smudge",
            "filter.evil.process",
            "diff.evil.textconv",
            "diff.evil.command",
            "diff.external",
            "core.fsmonitor",
            "core.pager",
            "core.editor",
            "gpg.program",
            "core.sshCommand",
            "merge.evil.driver",
        ] {
            config.set_str(key, program.to_str().unwrap()).unwrap();
        }
        config.set_str("commit.gpgsign", "true").unwrap();
        served.write(".gitattributes", "*.txt filter=evil diff=evil merge=evil\n");
        served.write("a.txt", "changed\n");
        served.fail("git_add", json!({"files": ["."]})).await;
        let mut index = served.repository.index().unwrap();
        index.add_path(Path::new("a.txt")).unwrap();
        index.write().unwrap();
        for (tool, arguments) in [
            ("git_status", json!({})),
            ("git_diff_unstaged", json!({})),
            ("git_diff", json!({"target": "HEAD"})),
            ("git_diff_staged", json!({})),
            ("git_commit", json!({"message": "second"})),
            ("git_log", json!({})),
            ("git_show", json!({"revision": "HEAD"})),
            (
                "git_create_branch",
                json!({"branch_name": "work", "base_branch": "HEAD~1"}),
            ),
            ("git_checkout", json!({"branch_name": "work"})),
            ("git_reset", json!({})),
            ("git_branch", json!({"branch_type": "all"})),
        ] {
            served.ok(tool, arguments).await;
        }
        assert!(
            !ran.exists(),
            "{}",
            fs::read_to_string(&ran).unwrap_or_default()
        );
        assert_eq!(
            fs::read_to_string(served.path("a.txt")).unwrap(),
            "one\ntwo\n"
        );
    }

    #[tokio::test]
    async fn symlinks_lead_nowhere_outside() {
        let served = Served::new().await;
        let outside = served
            .scratch
            .path()
            .canonicalize()
            .unwrap()
            .join("outside");
        init(&outside);
        fs::write(outside.join("secret.txt"), "secret\n").unwrap();
        symlink(&outside, served.inside().join("link")).unwrap();
        fs::create_dir(served.inside().join("wrapped")).unwrap();
        symlink(outside.join(".git"), served.inside().join("wrapped/.git")).unwrap();
        for name in ["link", "wrapped"] {
            let path = served.inside().join(name);
            let text = served.fail("git_status", json!({"repo_path": path})).await;
            assert!(text.contains("is outside the allowed repository"), "{text}");
        }
        symlink(&outside, served.path("dir")).unwrap();
        served
            .fail("git_add", json!({"files": ["dir/secret.txt"]}))
            .await;
        served.ok("git_add", json!({"files": ["dir"]})).await;
        let text = served.ok("git_diff_staged", json!({})).await;
        assert!(
            text.contains("new file mode 120000") && !text.contains("secret\n"),
            "{text}"
        );
    }
}
