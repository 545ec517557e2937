//! Folders with what must not be served.

use crate::support::{Tree, skill_file};

/// Returns the URIs that are served and the faults, after `spoil` changed a skill `bad` beside a skill `good`.
async fn results_after(spoil: impl FnOnce(&Tree)) -> (Vec<String>, Vec<String>) {
    let tree = Tree::new();
    tree.skill("good");
    tree.skill("bad");
    spoil(&tree);
    (tree.uris().await, tree.faults())
}

/// Checks that the skill `bad` alone is left out, for a reason.
async fn assert_left_out(spoil: impl FnOnce(&Tree), reason: &str) {
    let (uris, faults) = results_after(spoil).await;
    assert_eq!(uris, ["skill://good/SKILL.md"], "{reason}: {faults:?}");
    assert_eq!(faults.len(), 1, "{faults:?}");
    assert!(
        faults[0].starts_with("bad: ") && faults[0].contains(reason),
        "{faults:?}"
    );
}

// requirement: 1f901c802fdb 3ceafdeed526 57be9532c0b4
#[tokio::test(start_paused = true)]
async fn a_skill_with_bad_frontmatter_is_left_out_and_named() {
    let large = format!(
        "---\nname: bad\ndescription: b\nx: {}\n---\n",
        "y".repeat(1 << 20)
    );
    for (file, reason) in [
        ("", "the file is empty"),
        ("# bad", "the first line is not `---`"),
        (&large, "longer than 64 KiB"),
        (
            "---\nname: bad\ndescription: &a b\nx: *a\n---\n",
            "anchors are not allowed",
        ),
        (
            "---\nname: !!str bad\ndescription: b\n---\n",
            "tags are not allowed",
        ),
        (
            "---\nname: bad\nname: bad\ndescription: b\n---\n",
            "stands twice",
        ),
        (
            "---\nname: other\ndescription: b\n---\n",
            "its name is \"other\", but its folder is \"bad\"",
        ),
        ("---\nname: bad\ndescription: b\0\n---\n", "U+0000"),
    ] {
        assert_left_out(|tree| tree.write("bad/SKILL.md", file), reason).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_folder_whose_name_breaks_the_rules_is_left_out() {
    let tree = Tree::new();
    tree.write("Bad Name/SKILL.md", skill_file("bad-name"));
    assert_eq!(tree.uris().await, [""; 0]);
    assert_eq!(
        tree.faults(),
        ["Bad Name: its name is \"bad-name\", but its folder is \"Bad Name\""]
    );
}

#[tokio::test(start_paused = true)]
async fn a_path_that_makes_no_uri_leaves_its_skill_out() {
    let (uris, faults) = results_after(|tree| {
        tree.write("bad/back\\slash.md", "x");
    })
    .await;
    assert_eq!(uris, ["skill://good/SKILL.md"]);
    assert!(
        faults[0].contains("a slash, a backslash or a hidden character"),
        "{faults:?}"
    );
    assert_left_out(|tree| tree.write("bad/a\nb", "x"), "hidden character").await;
    assert_left_out(
        |tree| tree.write("bad/\u{202e}gpj.md", "x"),
        "hidden character",
    )
    .await;
    let deep = vec!["x".repeat(250); 9].join("/");
    assert_left_out(
        |tree| tree.write(&format!("bad/{deep}"), "x"),
        "more than 2048 bytes",
    )
    .await;
}

#[cfg(unix)]
mod unix {
    use std::ffi::OsStr;
    use std::fs;
    use std::os::unix::ffi::OsStrExt as _;
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    use std::os::unix::net::UnixListener;
    use std::sync::atomic::{AtomicBool, Ordering};

    use rustix::fs::{CWD, FileType, Mode, mknodat};
    use turnbuckle_skills::Digest;
    use turnbuckle_skills::server::Skills;

    use super::*;
    use crate::support::{client, entries, read};

    // requirement: 6c361ebedab6
    #[tokio::test(start_paused = true)]
    async fn symbolic_links_are_not_followed() {
        let reason = "is a symbolic link, which is not followed";
        let link = |target: &'static str, name: &'static str| {
            move |tree: &Tree| symlink(target, tree.path().join("bad").join(name)).unwrap()
        };
        assert_left_out(link("/etc/passwd", "out.md"), &format!("out.md {reason}")).await;
        assert_left_out(link("/etc", "out"), &format!("out {reason}")).await;
        assert_left_out(link("../good/SKILL.md", "inside.md"), reason).await;
        assert_left_out(link("..", "up"), reason).await;
        assert_left_out(link("loop", "loop"), reason).await;
        assert_left_out(link("none", "dangling"), reason).await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_link_to_a_skill_is_named_and_not_followed() {
        let tree = Tree::new();
        let other = Tree::new();
        other.skill("linked");
        symlink(other.path().join("linked"), tree.path().join("linked")).unwrap();
        tree.write("half/x.md", "x");
        symlink(
            other.path().join("linked/SKILL.md"),
            tree.path().join("half/SKILL.md"),
        )
        .unwrap();
        assert_eq!(tree.uris().await, [""; 0]);
        let reason = "is a symbolic link, which is not followed";
        assert_eq!(
            tree.faults(),
            [
                format!("linked: {reason}"),
                format!("half/SKILL.md: {reason}")
            ]
        );
    }

    #[tokio::test(start_paused = true)]
    async fn devices_pipes_and_sockets_are_not_opened() {
        let reason = "is a device, a pipe or a socket";
        let make = |kind: FileType, name: &'static str| {
            move |tree: &Tree| {
                let path = tree.path().join("bad").join(name);
                // 1:3 is the null device.
                mknodat(CWD, path, kind, Mode::RUSR, rustix::fs::makedev(1, 3)).unwrap();
            }
        };
        assert_left_out(
            make(FileType::Fifo, "pipe.md"),
            &format!("pipe.md {reason}"),
        )
        .await;
        let socket =
            |tree: &Tree| drop(UnixListener::bind(tree.path().join("bad/socket")).unwrap());
        assert_left_out(socket, reason).await;
        if is_root() {
            assert_left_out(make(FileType::CharacterDevice, "null"), reason).await;
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_skill_file_that_is_a_pipe_is_named() {
        let tree = Tree::new();
        fs::create_dir(tree.path().join("a")).unwrap();
        mknodat(
            CWD,
            tree.path().join("a/SKILL.md"),
            FileType::Fifo,
            Mode::RUSR,
            0,
        )
        .unwrap();
        assert_eq!(
            tree.faults(),
            ["a/SKILL.md: is a device, a pipe or a socket"]
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_name_that_is_no_utf_8_leaves_its_skill_out() {
        let broken = |tree: &Tree| {
            fs::write(
                tree.path().join("bad").join(OsStr::from_bytes(b"a\xff")),
                "x",
            )
            .unwrap()
        };
        assert_left_out(broken, "has a name that is not UTF-8").await;
    }

    #[tokio::test(start_paused = true)]
    async fn two_names_of_one_normal_form_leave_their_skill_out() {
        let twins = |tree: &Tree| {
            tree.write("bad/caf\u{e9}.md", "x");
            tree.write("bad/cafe\u{301}.md", "y");
        };
        assert_left_out(twins, "is the name of two entries").await;
    }

    // requirement: 6c361ebedab6
    #[test]
    fn a_folder_or_file_without_rights_is_named() {
        for (locked, reason) in [
            ("secret", "secret cannot be "),
            ("secret/x.md", "secret/x.md cannot be read: "),
        ] {
            let tree = Tree::new();
            tree.skill("good");
            tree.skill("bad");
            tree.write("bad/secret/x.md", "x");
            let path = tree.path().join("bad").join(locked);
            let set_mode =
                |mode| fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            set_mode(0o0);
            let (count, faults) = std::thread::scope(|scope| {
                let reading = scope.spawn(|| {
                    give_up_rights_of_root();
                    (tree.skills().count(), tree.faults())
                });
                reading.join().unwrap()
            });
            set_mode(0o700);
            assert_eq!(count, 1, "{faults:?}");
            assert_eq!(faults.len(), 1, "{faults:?}");
            let expected = format!("bad: {reason}");
            assert!(faults[0].starts_with(&expected), "{faults:?}");
            assert!(faults[0].contains("Permission denied"), "{faults:?}");
        }
    }

    /// Takes from this thread what lets root open files without rights to them.
    #[cfg(target_os = "linux")]
    fn give_up_rights_of_root() {
        use rustix::thread::{CapabilitySet, capabilities, set_capabilities};
        let mut sets = capabilities(None).unwrap();
        sets.effective -= CapabilitySet::DAC_OVERRIDE | CapabilitySet::DAC_READ_SEARCH;
        set_capabilities(None, sets).unwrap();
    }

    #[cfg(not(target_os = "linux"))]
    fn give_up_rights_of_root() {
        assert!(!is_root(), "root may open a folder without rights");
    }

    fn is_root() -> bool {
        use std::os::unix::fs::MetadataExt as _;
        fs::metadata("/proc/self").is_ok_and(|it| it.uid() == 0)
    }

    /// A thread replaces a file and a folder by links out of the tree, and back, while the tree is read.
    #[test]
    fn a_swap_while_it_is_read_neither_leads_out_nor_mixes_two_versions() {
        let tree = Tree::new();
        let outside = Tree::new();
        outside.write("secret.md", "SECRET");
        outside.write("folder/x.md", "SECRET");
        tree.skill("a");
        tree.write("a/x.md", "one");
        tree.write("a/folder/x.md", "one");
        let (stop, is_quiet) = (AtomicBool::new(false), AtomicBool::new(false));
        let swap = || {
            let at = |path: &str| tree.path().join(path);
            symlink(outside.path().join("secret.md"), at("a/.x")).unwrap();
            fs::rename(at("a/.x"), at("a/x.md")).unwrap();
            fs::rename(at("a/folder"), at("a/.folder")).unwrap();
            symlink(outside.path().join("folder"), at("a/folder")).unwrap();
            fs::remove_file(at("a/folder")).unwrap();
            fs::rename(at("a/.folder"), at("a/folder")).unwrap();
            fs::write(at("a/.y"), "two-two").unwrap();
            fs::rename(at("a/.y"), at("a/x.md")).unwrap();
        };
        let served = std::thread::scope(|scope| {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    match is_quiet.load(Ordering::Relaxed) {
                        true => std::thread::yield_now(),
                        false => swap(),
                    }
                }
            });
            let checking = scope.spawn(|| {
                let runtime = tokio::runtime::Builder::new_current_thread()
                    .enable_all()
                    .build()
                    .unwrap();
                let served = (0..300).map(|round| {
                    is_quiet.store(round % 2 == 0, Ordering::Relaxed);
                    runtime.block_on(check(&tree))
                });
                served.sum::<usize>()
            });
            let served = checking.join();
            stop.store(true, Ordering::Relaxed);
            served.unwrap()
        });
        assert!(served > 0, "the skill was never whole");
    }

    /// Checks that what is served is within the tree and fits its digests; returns the number of skills.
    async fn check(tree: &Tree) -> usize {
        let mut client = client(Skills::from_dir(tree.path()).unwrap()).await;
        let listed = entries(&mut client).await;
        for file in listed
            .iter()
            .flat_map(|entry| entry["resources"].as_array().unwrap())
        {
            let text = read(&mut client, file["uri"].as_str().unwrap()).await["text"]
                .as_str()
                .unwrap()
                .to_owned();
            assert_ne!(text, "SECRET", "{file}");
            assert_eq!(file["digest"], Digest::compute(text.as_bytes()).to_string());
        }
        listed.len()
    }
}
