//! The index: its lock, and the entries that a call stages, passes over or keeps.

use git2::{IndexEntry, IndexEntryExtendedFlag, IndexEntryFlag, IndexTime, Oid};

use super::*;

impl Served {
    /// Returns the index as it is on the disk.
    fn index(&self) -> git2::Index {
        let mut index = self.repository.index().unwrap();
        index.read(true).unwrap();
        index
    }

    fn paths(&self) -> Vec<String> {
        let paths = self.index();
        let paths = paths.iter().map(|entry| String::from_utf8(entry.path));
        paths.map(Result::unwrap).collect()
    }

    /// Replaces the entry of a path.
    fn edit(&self, path: &str, edit: impl FnOnce(&mut IndexEntry)) {
        let mut index = self.index();
        let mut entry = index.get_path(Path::new(path), 0).unwrap();
        edit(&mut entry);
        index.add(&entry).unwrap();
        index.write().unwrap();
    }

    async fn add(&self, file: &str) -> String {
        self.ok("git_add", json!({"files": [file]})).await
    }

    async fn status(&self) -> String {
        self.ok("git_status", json!({})).await
    }
}

/// Returns an entry without the times of a file.
fn entry(path: &str, id: Oid, mode: u32) -> IndexEntry {
    let time = IndexTime::new(0, 0);
    IndexEntry {
        ctime: time,
        mtime: time,
        dev: 0,
        ino: 0,
        mode,
        uid: 0,
        gid: 0,
        file_size: 0,
        id,
        flags: 0,
        flags_extended: 0,
        path: path.into(),
    }
}

#[tokio::test]
async fn calls_at_a_time_stage_all_their_files() {
    let served = Served::new().await;
    for number in 0..24 {
        served.write(&format!("f{number}"), "content\n");
    }
    for round in 0..3 {
        let served = &served;
        let add =
            |number: usize| async move { served.add(&format!("f{}", round * 8 + number)).await };
        let texts: [String; 8] = tokio::join!(
            add(0),
            add(1),
            add(2),
            add(3),
            add(4),
            add(5),
            add(6),
            add(7)
        )
        .into();
        for text in texts {
            assert_eq!(text, "Files staged successfully");
        }
    }
    assert_eq!(served.paths().len(), 25);
}

#[tokio::test]
async fn the_lock_of_another_process_stops_changes() {
    let served = Served::new().await;
    served
        .ok("git_create_branch", json!({"branch_name": "old"}))
        .await;
    served.write("a.txt", "newer\n");
    served.add("a.txt").await;
    served.ok("git_commit", json!({"message": "newer"})).await;
    served.write("b.txt", "b\n");
    let lock = ".git/index.lock";
    served.write(lock, "of another process");
    for (tool, arguments) in [
        ("git_add", json!({"files": ["b.txt"]})),
        ("git_reset", json!({})),
        ("git_checkout", json!({"branch_name": "old"})),
    ] {
        let text = served.fail(tool, arguments).await;
        assert!(
            text.contains("index.lock exists") && text.contains("try again"),
            "{tool}: {text}"
        );
    }
    let read = |name: &str| fs::read_to_string(served.path(name)).unwrap();
    assert_eq!(read(lock), "of another process");
    assert_eq!(read("a.txt"), "newer\n");
    fs::remove_file(served.path(lock)).unwrap();
    served.add("b.txt").await;
    served.ok("git_reset", json!({})).await;
    fs::remove_file(served.path("b.txt")).unwrap();
    served
        .ok("git_checkout", json!({"branch_name": "old"}))
        .await;
    assert_eq!(read("a.txt"), "one\ntwo\n");
    let clean = "Repository status:\nOn branch old\nnothing to commit, working tree clean";
    assert_eq!(served.status().await, clean);
    assert!(!served.path(lock).exists());
}

#[tokio::test]
async fn a_checkout_brings_the_index_to_the_commit() {
    let served = Served::new().await;
    for (name, content) in [("gone", "1\n"), ("place", "a file\n"), ("kept", "1\n")] {
        served.write(name, content);
    }
    served.add(".").await;
    served.ok("git_commit", json!({"message": "old"})).await;
    served
        .ok("git_create_branch", json!({"branch_name": "old"}))
        .await;
    fs::remove_file(served.path("gone")).unwrap();
    fs::remove_file(served.path("place")).unwrap();
    fs::create_dir(served.path("place")).unwrap();
    served.write("place/inner", "a file in a directory\n");
    served.write("a.txt", "changed\n");
    served.add(".").await;
    served.ok("git_commit", json!({"message": "new"})).await;
    let new = ["a.txt", "kept", "place/inner"];
    assert_eq!(served.paths(), new);
    served.write("staged", "not committed\n");
    served.add("staged").await;
    for (branch, paths) in [
        ("old", &["a.txt", "gone", "kept", "place", "staged"][..]),
        ("main", &["a.txt", "kept", "place/inner", "staged"]),
    ] {
        served
            .ok("git_checkout", json!({"branch_name": branch}))
            .await;
        assert_eq!(served.paths(), paths);
        assert_eq!(
            served.status().await,
            format!(
                "Repository status:\nOn branch {branch}\nChanges to be committed:\n\tnew file:   staged"
            )
        );
    }
}

#[tokio::test]
async fn files_that_are_assumed_unchanged_are_passed_over() {
    let served = Served::new().await;
    for name in ["outside", "local", "other"] {
        served.write(name, "1\n");
    }
    served.add(".").await;
    served.ok("git_commit", json!({"message": "more"})).await;
    let mark = || {
        served.edit("outside", |entry| {
            entry.flags_extended |= IndexEntryExtendedFlag::SKIP_WORKTREE.bits();
        });
        served.edit("local", |entry| entry.flags |= IndexEntryFlag::VALID.bits());
    };
    mark();
    let clean = "Repository status:\nOn branch main\nnothing to commit, working tree clean";
    for is_there in [true, false] {
        for name in ["outside", "local"] {
            match is_there {
                true => served.write(name, "changed here\n"),
                false => fs::remove_file(served.path(name)).unwrap(),
            }
            let text = served.fail("git_add", json!({"files": [name]})).await;
            assert!(text.contains("--no-skip-worktree"), "{text}");
        }
        assert!(served.add(".").await.starts_with("Nothing was staged"));
        assert_eq!(served.status().await, clean);
        let text = served.ok("git_diff_unstaged", json!({})).await;
        assert_eq!(text, "Unstaged changes:\n");
        let text = served.ok("git_diff", json!({"target": "HEAD"})).await;
        assert_eq!(text, "Diff with HEAD:\n");
    }
    served.write("other", "2\n");
    served.add("other").await;
    served.ok("git_reset", json!({})).await;
    let index = served.index();
    let find = |path: &str| index.get_path(Path::new(path), 0).unwrap();
    let skipped = IndexEntryExtendedFlag::SKIP_WORKTREE.bits();
    assert_ne!(find("outside").flags_extended & skipped, 0);
    assert_ne!(find("local").flags & IndexEntryFlag::VALID.bits(), 0);
    assert_eq!(find("other").flags & IndexEntryFlag::VALID.bits(), 0);
}

#[tokio::test]
async fn of_a_submodule_its_commit_is_staged() {
    let served = Served::new().await;
    let inner = init(&served.path("sub"));
    let who = Signature::now("Ada", "ada@example.com").unwrap();
    let tree = inner.index().unwrap().write_tree().unwrap();
    let tree = inner.find_tree(tree).unwrap();
    let first = inner
        .commit(Some("HEAD"), &who, &who, "1", &tree, &[])
        .unwrap();
    // Another repository is no submodule yet.
    let text = served.fail("git_add", json!({"files": ["sub"]})).await;
    assert!(text.contains("is another repository"), "{text}");
    assert!(served.add(".").await.starts_with("Nothing was staged"));
    let mut index = served.index();
    index.add(&entry("sub", first, 0o160_000)).unwrap();
    index.write().unwrap();
    commit_at(&served.repository, "with a submodule", 4_000_000_000);
    assert!(served.add("sub").await.starts_with("Nothing was staged"));
    for (seconds, file) in [(4_000_000_000, "sub"), (4_000_000_001, ".")] {
        fs::write(served.path("sub/new"), seconds.to_string()).unwrap();
        let id = commit_at(&inner, "next", seconds);
        assert!(served.status().await.contains("modified:   sub"));
        served.add(file).await;
        let entry = served.index().get_path(Path::new("sub"), 0).unwrap();
        assert_eq!((entry.id.to_string(), entry.mode), (id, 0o160_000));
        assert_eq!(served.paths(), ["a.txt", "sub"]);
    }
    let text = served.fail("git_add", json!({"files": ["sub/new"]})).await;
    assert!(text.contains("is in the submodule sub"), "{text}");
    // Without a commit there is nothing to stage.
    fs::write(served.path("sub/.git/HEAD"), "ref: refs/heads/none\n").unwrap();
    let text = served.fail("git_add", json!({"files": ["sub"]})).await;
    assert!(text.contains("the commit of the submodule sub"), "{text}");
    // A submodule that is not checked out is passed over.
    fs::remove_dir_all(served.path("sub")).unwrap();
    fs::create_dir(served.path("sub")).unwrap();
    assert!(served.add(".").await.starts_with("Nothing was staged"));
    assert_eq!(served.paths(), ["a.txt", "sub"]);
}

#[tokio::test]
async fn tracked_files_are_staged_though_they_are_ignored() {
    let served = Served::new().await;
    fs::create_dir(served.path("build")).unwrap();
    for name in ["x.log", "build/t"] {
        served.write(name, "1\n");
    }
    served.add(".").await;
    served.ok("git_commit", json!({"message": "more"})).await;
    served.write(".gitignore", "*.log\nbuild/\n");
    for name in ["y.log", "build/u"] {
        served.write(name, "untracked\n");
        let text = served.fail("git_add", json!({"files": [name]})).await;
        assert!(text.contains("is ignored"), "{text}");
    }
    served.write("x.log", "22\n");
    served.write("build/t", "22\n");
    assert_eq!(served.add("x.log").await, "Files staged successfully");
    assert_eq!(served.add(".").await, "Files staged successfully");
    let paths = [".gitignore", "a.txt", "build/t", "x.log"];
    assert_eq!(served.paths(), paths);
    let text = served.ok("git_diff_unstaged", json!({})).await;
    assert_eq!(text, "Unstaged changes:\n");
    fs::remove_dir_all(served.path("build")).unwrap();
    served.add("build").await;
    assert_eq!(served.paths(), [".gitignore", "a.txt", "x.log"]);
}

#[tokio::test]
async fn marks_of_files_to_add_are_not_committed() {
    let served = Served::new().await;
    let empty = served.repository.blob(b"").unwrap();
    for (name, content) in [("planned", "content\n"), ("empty", "")] {
        served.write(name, content);
        let mut mark = entry(name, empty, 0o100_644);
        mark.flags_extended = IndexEntryExtendedFlag::INTENT_TO_ADD.bits();
        let mut index = served.index();
        index.add(&mark).unwrap();
        index.write().unwrap();
    }
    served
        .fail("git_commit", json!({"message": "nothing"}))
        .await;
    let changed = "Changes not staged for commit:\n\tnew file:   empty\n\tnew file:   planned";
    assert!(served.status().await.contains(changed));
    let text = served.ok("git_diff_staged", json!({})).await;
    assert_eq!(text, "Staged changes:\n");
    served.write("a.txt", "changed\n");
    served.add("a.txt").await;
    served.ok("git_commit", json!({"message": "second"})).await;
    let names = json!({"revision": "HEAD:"});
    assert_eq!(served.ok("git_show", names.clone()).await, "a.txt");
    served.add(".").await;
    served.ok("git_commit", json!({"message": "third"})).await;
    let text = served.ok("git_show", names).await;
    assert_eq!(text, "a.txt\nempty\nplanned");
}

#[tokio::test]
async fn conflicts_are_shown_with_their_sides() {
    let served = Served::new().await;
    let blob = |text: &str| served.repository.blob(text.as_bytes()).unwrap();
    let mut index = served.index();
    index.remove_path(Path::new("a.txt")).unwrap();
    for (path, stages) in [
        ("a.txt", [true, true, true]),
        ("both", [false, true, true]),
        ("ours", [true, true, false]),
        ("theirs", [true, false, true]),
    ] {
        for (number, _) in (1..).zip(stages).filter(|(_, is_there)| *is_there) {
            let mut side = entry(path, blob(&format!("side {number}\n")), 0o100_644);
            side.flags = number << 12;
            index.add(&side).unwrap();
        }
        served.write(path, "work\n");
    }
    index.write().unwrap();
    let unmerged = "Unmerged paths:\n\tboth modified:   a.txt\n\tboth added:      both\n\t\
                    deleted by them: ours\n\tdeleted by us:   theirs\n";
    let status = served.status().await;
    assert!(status.contains(unmerged.trim_end()), "{status}");
    let paths =
        "* Unmerged path a.txt\n* Unmerged path both\n* Unmerged path ours\n* Unmerged path theirs";
    for (tool, arguments, title) in [
        ("git_diff_unstaged", json!({}), "Unstaged changes:"),
        ("git_diff", json!({"target": "HEAD"}), "Diff with HEAD:"),
        ("git_diff_staged", json!({}), "Staged changes:"),
    ] {
        let text = served.ok(tool, arguments).await;
        assert!(text.starts_with(&format!("{title}\n{paths}\n")), "{text}");
        assert_eq!(text.contains("+work"), tool != "git_diff_staged", "{text}");
    }
    let text = served.ok("git_diff_unstaged", json!({})).await;
    assert!(text.contains("-side 2\n+work"), "{text}");
    served.fail("git_commit", json!({"message": "m"})).await;
    fs::remove_file(served.path("ours")).unwrap();
    served.add(".").await;
    assert_eq!(served.paths(), ["a.txt", "both", "theirs"]);
    served.ok("git_commit", json!({"message": "m"})).await;
}

/// Tests of symlinks.
#[cfg(unix)]
mod unix {
    use std::os::unix::fs::symlink;

    use super::*;

    #[tokio::test]
    async fn a_symlink_replaces_the_files_of_a_directory() {
        let served = Served::new().await;
        for (dir, named) in [("first", "first"), ("second", ".")] {
            fs::create_dir(served.path(dir)).unwrap();
            served.write(&format!("{dir}/f"), "f\n");
            fs::create_dir_all(served.path("real")).unwrap();
            served.write("real/f", "f\n");
            served.add(".").await;
            served.ok("git_commit", json!({"message": dir})).await;
            fs::remove_dir_all(served.path(dir)).unwrap();
            symlink("real", served.path(dir)).unwrap();
            served.add(named).await;
            let paths = served.paths();
            assert!(paths.contains(&dir.to_owned()), "{paths:?}");
            assert!(!paths.contains(&format!("{dir}/f")), "{paths:?}");
            // A directory again.
            fs::remove_file(served.path(dir)).unwrap();
            fs::create_dir(served.path(dir)).unwrap();
            served.write(&format!("{dir}/g"), "g\n");
            served.add(named).await;
            let paths = served.paths();
            assert!(!paths.contains(&dir.to_owned()), "{paths:?}");
            assert!(paths.contains(&format!("{dir}/g")), "{paths:?}");
        }
    }
}
