//! Merges, cherry-picks and reverts, and checkouts in the middle of them.

use super::*;

#[tokio::test]
async fn a_merge_is_concluded_with_all_its_parents() {
    let served = Served::new().await;
    let first = served.repository.head().unwrap().peel_to_commit().unwrap();
    commit_at(&served.repository, "here", 4_000_000_000);
    let who = Signature::now("Ada", "ada@example.com").unwrap();
    let tree = first.tree().unwrap();
    let other = served
        .repository
        .commit(None, &who, &who, "there", &tree, &[&first])
        .unwrap();
    let other = served.repository.find_annotated_commit(other).unwrap();
    served.repository.merge(&[&other], None, None).unwrap();
    served.ok("git_commit", json!({"message": "both"})).await;
    let merged = served.repository.head().unwrap().peel_to_commit().unwrap();
    assert_eq!(merged.parent_count(), 2);
    assert_eq!(served.repository.state(), git2::RepositoryState::Clean);
    served.fail("git_commit", json!({"message": "more"})).await;
}

#[tokio::test]
async fn an_operation_ends_with_its_commit_or_a_reset() {
    let served = Served::new().await;
    served
        .ok("git_create_branch", json!({"branch_name": "old"}))
        .await;
    let first = served.repository.head().unwrap().target().unwrap();
    let state = || served.repository.state();
    for (file, operation) in [
        ("MERGE_HEAD", "a merge"),
        ("CHERRY_PICK_HEAD", "a cherry-pick"),
        ("REVERT_HEAD", "a revert"),
    ] {
        served.write(&format!(".git/{file}"), &format!("{first}\n"));
        let arguments = json!({"branch_name": "old"});
        let text = served.fail("git_checkout", arguments).await;
        assert!(text.contains(operation), "{text}");
        served.ok("git_reset", json!({})).await;
        assert_eq!(state(), git2::RepositoryState::Clean);
        served.write(&format!(".git/{file}"), &format!("{first}\n"));
        served.write("a.txt", file);
        served.ok("git_add", json!({"files": ["."]})).await;
        served.ok("git_commit", json!({"message": file})).await;
        assert_eq!(state(), git2::RepositoryState::Clean);
    }
    // The steps that are left of a rebase are kept.
    fs::create_dir(served.path(".git/rebase-merge")).unwrap();
    served.ok("git_reset", json!({})).await;
    served
        .fail("git_checkout", json!({"branch_name": "old"}))
        .await;
    assert!(served.path(".git/rebase-merge").exists());
}

#[tokio::test]
async fn a_cherry_pick_keeps_its_author() {
    let served = Served::new().await;
    let who = Signature::now("Bob", "bob@example.com").unwrap();
    let first = served.repository.head().unwrap().peel_to_commit().unwrap();
    let tree = first.tree().unwrap();
    let picked = served
        .repository
        .commit(None, &who, &who, "picked", &tree, &[&first])
        .unwrap();
    served.write(".git/CHERRY_PICK_HEAD", &format!("{picked}\n"));
    served.write("a.txt", "picked\n");
    served.ok("git_add", json!({"files": ["."]})).await;
    served.ok("git_commit", json!({"message": "mine"})).await;
    let commit = served.repository.head().unwrap().peel_to_commit().unwrap();
    assert_eq!(commit.author().name().unwrap(), "Bob");
    assert_eq!(commit.committer().name().unwrap(), "Ada");
}

#[tokio::test]
async fn a_branch_is_checked_out_before_a_tag_of_its_name() {
    let served = Served::new().await;
    let first = served.repository.head().unwrap().target().unwrap();
    served
        .repository
        .reference("refs/tags/v1", first, false, "")
        .unwrap();
    served
        .ok("git_create_branch", json!({"branch_name": "back"}))
        .await;
    served.write("a.txt", "on the branch\n");
    served.ok("git_add", json!({"files": ["."]})).await;
    served.ok("git_commit", json!({"message": "two"})).await;
    served
        .ok("git_create_branch", json!({"branch_name": "v1"}))
        .await;
    for branch in ["back", "v1"] {
        served
            .ok("git_checkout", json!({"branch_name": branch}))
            .await;
    }
    let content = fs::read_to_string(served.path("a.txt")).unwrap();
    assert_eq!(content, "on the branch\n");
    assert_eq!(
        served.ok("git_status", json!({})).await,
        "Repository status:\nOn branch v1\nnothing to commit, working tree clean"
    );
}
