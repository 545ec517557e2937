//! Repositories: states, differences, logs, changes, and hostile repositories.

mod hostile;
mod index;
mod operations;
mod scan;

use std::fs;
use std::path::{Path, PathBuf};

use git2::{Repository, Signature, Time};
use serde_json::{Value, json};
use tempfile::TempDir;
use turnbuckle::testing::{self, Checker, TestClient};
use turnbuckle_serve::git::{Limits, Options, server};

/// A served directory with the repository `repo` of one commit.
struct Served {
    scratch: TempDir,
    repository: Repository,
    client: TestClient,
}

impl Served {
    async fn new() -> Self {
        Self::with_limits(Limits::default()).await
    }

    async fn with_limits(limits: Limits) -> Self {
        let scratch = TempDir::new().unwrap();
        let inside = scratch.path().canonicalize().unwrap().join("inside");
        fs::create_dir(&inside).unwrap();
        let repository = init(&inside.join("repo"));
        let options = Options::new().directory(&inside).limits(limits);
        let client = testing::connect(server(options).unwrap()).await.unwrap();
        let served = Self {
            scratch,
            repository,
            client,
        };
        served.write("a.txt", "one\ntwo\n");
        served.ok("git_add", json!({"files": ["a.txt"]})).await;
        served.ok("git_commit", json!({"message": "first\n"})).await;
        served
    }

    fn inside(&self) -> PathBuf {
        self.scratch.path().canonicalize().unwrap().join("inside")
    }

    fn path(&self, name: &str) -> PathBuf {
        self.inside().join("repo").join(name)
    }

    fn write(&self, name: &str, content: &str) {
        fs::write(self.path(name), content).unwrap();
    }

    /// Calls a tool, by default for `repo`, and returns whether it failed, and its text.
    async fn call(&self, tool: &str, mut arguments: Value) -> (bool, String) {
        let members = arguments.as_object_mut().unwrap();
        let repo = self.path("").display().to_string();
        members.entry("repo_path").or_insert_with(|| json!(repo));
        let result = self.client.call_tool(tool, &arguments).await.unwrap();
        (result.is_error == Some(true), result.text().into_owned())
    }

    async fn ok(&self, tool: &str, arguments: Value) -> String {
        let (failed, text) = self.call(tool, arguments).await;
        assert!(!failed, "{tool}: {text}");
        text
    }

    async fn fail(&self, tool: &str, arguments: Value) -> String {
        let (failed, text) = self.call(tool, arguments).await;
        assert!(failed, "{tool}: {text}");
        text
    }
}

/// Makes a repository on the branch `main`.
fn init(path: &Path) -> Repository {
    let mut options = git2::RepositoryInitOptions::new();
    let repository = Repository::init_opts(path, options.initial_head("main")).unwrap();
    let mut config = repository.config().unwrap();
    config.set_str("user.name", "Ada").unwrap();
    config.set_str("user.email", "ada@example.com").unwrap();
    repository
}

/// Commits the index at a time, in seconds.
fn commit_at(repository: &Repository, message: &str, seconds: i64) -> String {
    let who = Signature::new("Ada", "ada@example.com", &Time::new(seconds, 60)).unwrap();
    let tree = repository.index().unwrap().write_tree().unwrap();
    let tree = repository.find_tree(tree).unwrap();
    let parent = repository.head().unwrap().peel_to_commit().unwrap();
    let id = repository.commit(Some("HEAD"), &who, &who, message, &tree, &[&parent]);
    id.unwrap().to_string()
}

#[tokio::test]
async fn the_status_has_all_states() {
    let served = Served::new().await;
    let clean = "Repository status:\nOn branch main\nnothing to commit, working tree clean";
    assert_eq!(served.ok("git_status", json!({})).await, clean);
    served.write("a.txt", "changed\n");
    served.write("b.txt", "new\n");
    served.write("c.txt", "untracked\n");
    served.ok("git_add", json!({"files": ["b.txt"]})).await;
    assert_eq!(
        served.ok("git_status", json!({})).await,
        "Repository status:\nOn branch main\nChanges to be committed:\n\tnew file:   b.txt\n\nChanges not staged for commit:\n\tmodified:   a.txt\n\nUntracked files:\n\tc.txt"
    );
    let empty = served.inside().join("empty");
    init(&empty);
    let status = served.ok("git_status", json!({"repo_path": empty})).await;
    assert!(
        status.contains("On branch main\n\nNo commits yet"),
        "{status}"
    );
}

#[tokio::test]
async fn differences_are_those_of_git_diff() {
    let served = Served::new().await;
    served.write("a.txt", "one\nTWO\n");
    let text = served.ok("git_diff_unstaged", json!({})).await;
    assert!(
        text.starts_with("Unstaged changes:\ndiff --git a/a.txt b/a.txt\nindex "),
        "{text}"
    );
    assert!(
        text.ends_with("--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+TWO"),
        "{text}"
    );
    let text = served
        .ok("git_diff_unstaged", json!({"context_lines": 0}))
        .await;
    assert!(
        text.contains("@@ -2 +2 @@") && !text.contains("\n one"),
        "{text}"
    );
    assert_eq!(
        served.ok("git_diff_staged", json!({})).await,
        "Staged changes:\n"
    );
    served.ok("git_add", json!({"files": ["."]})).await;
    assert_eq!(
        served.ok("git_diff_unstaged", json!({})).await,
        "Unstaged changes:\n"
    );
    assert!(
        served
            .ok("git_diff_staged", json!({}))
            .await
            .ends_with("-two\n+TWO")
    );
    let text = served.ok("git_diff", json!({"target": "HEAD"})).await;
    assert!(
        text.starts_with("Diff with HEAD:\ndiff --git") && text.ends_with("+TWO"),
        "{text}"
    );
    assert_eq!(
        served.ok("git_reset", json!({})).await,
        "All staged changes reset"
    );
    assert_eq!(
        served.ok("git_diff_staged", json!({})).await,
        "Staged changes:\n"
    );
    fs::remove_file(served.path("a.txt")).unwrap();
    served.ok("git_add", json!({"files": ["a.txt"]})).await;
    assert!(
        served
            .ok("git_status", json!({}))
            .await
            .contains("deleted:    a.txt")
    );
}

#[tokio::test]
async fn the_log_is_bounded_by_number_and_time() {
    let served = Served::new().await;
    // Newer than the first commit, which was made now.
    let later = 4_000_000_000;
    for number in 0..5 {
        commit_at(
            &served.repository,
            &format!("commit {number}\n"),
            later + number * 86_400,
        );
    }
    let log = served.ok("git_log", json!({"max_count": 2})).await;
    assert!(log.starts_with("Commit history:\nCommit: "), "{log}");
    assert_eq!(log.matches("Commit: ").count(), 2);
    assert!(
        log.contains("Author: Ada\nDate: 2096-10-06 08:06:40+01:00\nMessage: commit 4\n"),
        "{log}"
    );
    let log = served
        .ok(
            "git_log",
            json!({"start_timestamp": "2096-10-04", "end_timestamp": "2096-10-06"}),
        )
        .await;
    assert!(
        log.contains("commit 2")
            && log.contains("commit 3")
            && !log.contains("commit 4")
            && !log.contains("commit 1"),
        "{log}"
    );
    assert_eq!(
        served
            .ok("git_log", json!({"end_timestamp": "3 days ago"}))
            .await,
        "Commit history:\n"
    );
    for time in ["--output=x", "whenever", ""] {
        served
            .fail("git_log", json!({"start_timestamp": time}))
            .await;
    }
}

#[tokio::test]
async fn a_commit_is_shown_with_its_changes() {
    let served = Served::new().await;
    let first = served.ok("git_show", json!({"revision": "HEAD"})).await;
    assert!(
        first.starts_with("commit ") && first.contains("\nAuthor: Ada <ada@example.com>\nDate:   "),
        "{first}"
    );
    assert!(
        first.ends_with(
            "\n\n    first\n\n--- /dev/null\n+++ b/a.txt\n@@ -0,0 +1,2 @@\n+one\n+two\n"
        ),
        "{first}"
    );
    fs::create_dir(served.path("sub")).unwrap();
    served.write("sub/b.txt", "b\n");
    fs::remove_file(served.path("a.txt")).unwrap();
    served.ok("git_add", json!({"files": ["."]})).await;
    served
        .ok("git_commit", json!({"message": "two\n\nlines"}))
        .await;
    let second = served.ok("git_show", json!({"revision": "HEAD"})).await;
    assert!(
        second.contains("    two\n    \n    lines\n\n--- a/a.txt\n+++ /dev/null\n"),
        "{second}"
    );
    for (revision, text) in [
        ("HEAD~1:a.txt", "one\ntwo\n"),
        ("HEAD:", "sub/"),
        ("HEAD:sub", "b.txt"),
        ("HEAD:sub/b.txt", "b\n"),
    ] {
        assert_eq!(
            served.ok("git_show", json!({"revision": revision})).await,
            text
        );
    }
    for revision in ["HEAD:a.txt", "HEAD:../x", "HEAD:sub/b.txt/c", "--x:a.txt"] {
        served.fail("git_show", json!({"revision": revision})).await;
    }
    served
        .fail("git_show", json!({"revision": "nothing"}))
        .await;
    let text = served
        .fail("git_show", json!({"revision": ":/first"}))
        .await;
    assert!(text.contains("git_log"), "{text}");
}

#[tokio::test]
async fn branches_are_made_listed_and_checked_out() {
    let served = Served::new().await;
    let first = served
        .repository
        .head()
        .unwrap()
        .target()
        .unwrap()
        .to_string();
    let text = served
        .ok("git_create_branch", json!({"branch_name": "work"}))
        .await;
    assert_eq!(text, "Created branch 'work' from 'main'");
    assert_eq!(
        served
            .ok("git_checkout", json!({"branch_name": "work"}))
            .await,
        "Switched to branch 'work'"
    );
    served.write("b.txt", "b\n");
    served.ok("git_add", json!({"files": ["b.txt"]})).await;
    let text = served.ok("git_commit", json!({"message": "second"})).await;
    let second = text
        .strip_prefix("Changes committed successfully with hash ")
        .unwrap();
    let branches = async |more: Value| {
        let mut arguments = json!({"branch_type": "local"});
        arguments
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        served.ok("git_branch", arguments).await
    };
    assert_eq!(branches(json!({})).await, "  main\n* work");
    assert_eq!(branches(json!({"contains": second})).await, "* work");
    assert_eq!(
        branches(json!({"contains": first, "not_contains": second})).await,
        "  main"
    );
    assert_eq!(branches(json!({"branch_type": "remote"})).await, "");
    served
        .repository
        .reference(
            "refs/remotes/origin/main",
            second.parse().unwrap(),
            false,
            "",
        )
        .unwrap();
    assert_eq!(
        branches(json!({"branch_type": "all"})).await,
        "  main\n* work\n  remotes/origin/main"
    );
    served
        .repository
        .reference_symbolic(
            "refs/remotes/origin/HEAD",
            "refs/remotes/origin/gone",
            false,
            "",
        )
        .unwrap();
    assert_eq!(
        branches(json!({"branch_type": "all"})).await,
        "  main\n* work\n  remotes/origin/main",
        "a reference to nothing is no branch"
    );
    assert_eq!(
        served.fail("git_branch", json!({"branch_type": "x"})).await,
        "Invalid branch type: x"
    );
    served
        .ok("git_checkout", json!({"branch_name": "main"}))
        .await;
    assert!(!served.path("b.txt").exists());
    served.write("b.txt", "in the way\n");
    served
        .fail("git_checkout", json!({"branch_name": "work"}))
        .await;
    assert_eq!(
        fs::read_to_string(served.path("b.txt")).unwrap(),
        "in the way\n",
        "nothing is lost"
    );
    served
        .fail("git_create_branch", json!({"branch_name": "work"}))
        .await;
}

#[tokio::test]
async fn nothing_new_is_neither_staged_nor_committed() {
    let served = Served::new().await;
    let message = json!({"message": "empty"});
    let text = served.fail("git_commit", message.clone()).await;
    assert!(text.contains("git_add"), "{text}");
    for files in [json!(["a.txt"]), json!(["."])] {
        let text = served.ok("git_add", json!({"files": files})).await;
        assert!(text.starts_with("Nothing was staged"), "{text}");
    }
    served.fail("git_add", json!({"files": []})).await;
    let unborn = served.inside().join("unborn");
    init(&unborn);
    let arguments = json!({"repo_path": unborn, "message": "empty"});
    served.fail("git_commit", arguments).await;
    served.write("a.txt", "changed\n");
    let text = served.ok("git_add", json!({"files": ["a.txt"]})).await;
    assert_eq!(text, "Files staged successfully");
    served.ok("git_commit", message).await;
}

#[tokio::test]
async fn revisions_that_are_no_branches_are_checked_out_alone() {
    let served = Served::new().await;
    let first = served.repository.head().unwrap().target().unwrap();
    commit_at(&served.repository, "second", 4_000_000_000);
    let detached = format!("HEAD is now detached at {}", &first.to_string()[..7]);
    for revision in ["HEAD~1", &first.to_string()] {
        let arguments = json!({"branch_name": revision});
        assert_eq!(served.ok("git_checkout", arguments).await, detached);
        let main = json!({"branch_name": "main"});
        let text = served.ok("git_checkout", main).await;
        assert_eq!(text, "Switched to branch 'main'");
    }
    for target in ["main", "HEAD~1", &first.to_string()] {
        let text = served.ok("git_diff", json!({"target": target})).await;
        assert!(text.starts_with(&format!("Diff with {target}:")), "{text}");
    }
    for (tool, argument) in [
        ("git_checkout", "branch_name"),
        ("git_diff", "target"),
        ("git_show", "revision"),
    ] {
        served.fail(tool, json!({argument: "nothing"})).await;
    }
}

#[tokio::test]
async fn errors_say_what_to_do() {
    let served = Served::new().await;
    let empty = served.inside().join("empty");
    init(&empty);
    for (tool, arguments) in [
        ("git_log", json!({})),
        ("git_show", json!({"revision": "HEAD"})),
        ("git_diff", json!({"target": "main"})),
        ("git_create_branch", json!({"branch_name": "x"})),
        ("git_checkout", json!({"branch_name": "main"})),
    ] {
        let mut arguments = arguments.clone();
        arguments["repo_path"] = json!(empty);
        let text = served.fail(tool, arguments).await;
        assert!(
            text.contains("no commit yet") && text.contains("git_commit"),
            "{tool}: {text}"
        );
    }
    served
        .ok("git_create_branch", json!({"branch_name": "work"}))
        .await;
    served.write("a.txt", "committed\n");
    served.write("b.txt", "committed\n");
    served.ok("git_add", json!({"files": ["."]})).await;
    served.ok("git_commit", json!({"message": "more"})).await;
    served.write("a.txt", "changed\n");
    served.write("b.txt", "changed\n");
    let text = served
        .fail("git_checkout", json!({"branch_name": "work"}))
        .await;
    assert!(
        text.contains("a.txt, b.txt") && text.contains("git_commit"),
        "{text}"
    );
    let text = served
        .fail("git_checkout", json!({"branch_name": "f"}))
        .await;
    assert!(
        text.contains("no branch, tag or commit 'f'") && text.contains("git_branch"),
        "{text}"
    );
    for file in [".git/config", "./.GIT/config", ".git"] {
        let text = served.fail("git_add", json!({"files": [file]})).await;
        assert!(text.contains("is in a git directory"), "{text}");
    }
}

#[tokio::test]
async fn the_check_is_clean() {
    let scratch = TempDir::new().unwrap();
    let options = Options::new().directory(scratch.path());
    let checked = Checker::new(server(options).unwrap()).run().await.unwrap();
    checked.assert_clean();
}
