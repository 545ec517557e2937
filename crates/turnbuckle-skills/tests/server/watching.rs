//! Folders that change while they are served.

use std::fs;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{Instant, timeout};
use turnbuckle_it::harness::{Case, Client};
use turnbuckle_wire::revision::Revision;

use crate::support::{Tree, entries, files, server, skill_file, uris};

/// Connects a client that listens to changes of the list and of a file.
async fn listener(tree: &Tree) -> Client {
    let server = server(tree.skills().watch(true));
    let mut client = Client::connect(Case::pipe(Revision::NEWEST), &server).await;
    let filter = json!({"notifications": {
        "resourcesListChanged": true,
        "resourceSubscriptions": ["skill://a/SKILL.md", "skill://a/x.md"],
    }});
    client.start("subscriptions/listen", filter).await;
    let acknowledged = client.next().await;
    assert_eq!(
        acknowledged["method"], "notifications/subscriptions/acknowledged",
        "{acknowledged}"
    );
    client
}

/// Returns the notifications of the next ten seconds, as their methods and URIs, and when the first came.
async fn notices(client: &mut Client) -> (Vec<String>, Duration) {
    let started = Instant::now();
    let mut notices = Vec::new();
    let mut first = Duration::MAX;
    while let Ok(notice) = timeout(Duration::from_secs(10), client.next()).await {
        first = first.min(started.elapsed());
        let uri = notice["params"]["uri"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        let method = notice["method"].as_str().unwrap_or_default();
        notices.push(format!(
            "{} {uri}",
            method.trim_start_matches("notifications/resources/")
        ));
    }
    (notices, first)
}

fn tree() -> Tree {
    let tree = Tree::new();
    tree.skill("a");
    tree.write("a/x.md", "one");
    tree
}

#[tokio::test(start_paused = true)]
async fn a_changed_file_is_seen_within_two_seconds_with_one_notice() {
    let tree = tree();
    let mut client = listener(&tree).await;
    let before = entries(&mut client).await.remove(0);
    tree.write("a/x.md", "two");
    let (notices, first) = notices(&mut client).await;
    assert_eq!(notices, ["list_changed ", "updated skill://a/x.md"]);
    assert!(first <= Duration::from_secs(2), "{first:?}");
    let after = entries(&mut client).await.remove(0);
    assert_eq!(files(&before), files(&after));
    assert_eq!(before["resources"][0], after["resources"][0]);
    assert_ne!(
        before["resources"][1]["digest"],
        after["resources"][1]["digest"]
    );
    assert_eq!(
        crate::support::read(&mut client, "skill://a/x.md").await["text"],
        "two"
    );
}

#[tokio::test(start_paused = true)]
async fn a_change_that_is_none_gives_no_notice() {
    let tree = tree();
    let mut client = listener(&tree).await;
    tree.write("a/x.md", "one");
    tree.write("notes.md", "not part of a skill");
    tree.write("a/.x.md.swp", "an editor's file");
    tree.write("bad/SKILL.md", "a skill that is not served");
    assert_eq!(notices(&mut client).await.0, [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn files_and_skills_come_and_go() {
    let tree = tree();
    let mut client = listener(&tree).await;
    tree.write("a/y.md", "new");
    assert_eq!(notices(&mut client).await.0, ["list_changed "]);
    assert_eq!(files(&entries(&mut client).await[0]).len(), 3);
    tree.skill("b");
    assert_eq!(notices(&mut client).await.0, ["list_changed "]);
    assert_eq!(
        uris(&mut client).await,
        ["skill://a/SKILL.md", "skill://b/SKILL.md"]
    );
    fs::remove_dir_all(tree.path().join("a")).unwrap();
    assert_eq!(notices(&mut client).await.0, ["list_changed "]);
    assert_eq!(uris(&mut client).await, ["skill://b/SKILL.md"]);
}

#[tokio::test(start_paused = true)]
async fn a_skill_that_becomes_bad_is_left_out_until_it_is_good_again() {
    let tree = tree();
    tree.skill("b");
    let mut client = listener(&tree).await;
    tree.write("a/SKILL.md", "broken");
    assert_eq!(notices(&mut client).await.0, ["list_changed "]);
    assert_eq!(uris(&mut client).await, ["skill://b/SKILL.md"]);
    tree.write("a/SKILL.md", skill_file("a"));
    assert_eq!(notices(&mut client).await.0, ["list_changed "]);
    assert_eq!(uris(&mut client).await.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_folder_that_is_replaced_is_read_anew() {
    let tree = tree();
    let mut client = listener(&tree).await;
    let (old, new) = (tree.path().join("a"), tree.path().join(".new"));
    fs::create_dir(&new).unwrap();
    fs::write(new.join("SKILL.md"), skill_file("a")).unwrap();
    fs::write(new.join("x.md"), "other").unwrap();
    fs::rename(&old, tree.path().join(".old")).unwrap();
    fs::rename(&new, &old).unwrap();
    assert_eq!(
        notices(&mut client).await.0,
        ["list_changed ", "updated skill://a/x.md"]
    );
}

#[tokio::test(start_paused = true)]
async fn what_was_read_is_served_while_the_folder_is_away() {
    let tree = tree();
    let mut client = listener(&tree).await;
    let away = tree.path().with_extension("away");
    fs::rename(tree.path(), &away).unwrap();
    assert_eq!(notices(&mut client).await.0, [""; 0]);
    assert_eq!(uris(&mut client).await, ["skill://a/SKILL.md"]);
    fs::write(away.join("a/x.md"), "back").unwrap();
    fs::rename(&away, tree.path()).unwrap();
    assert_eq!(
        notices(&mut client).await.0,
        ["list_changed ", "updated skill://a/x.md"]
    );
}

#[tokio::test(start_paused = true)]
async fn a_page_goes_on_behind_its_cursor_after_a_change() {
    let tree = Tree::new();
    for name in ["a", "b", "c", "d"] {
        tree.skill(name);
    }
    let limits = turnbuckle_skills::server::ServingLimits::new().page_size(2.try_into().unwrap());
    let server = server(tree.skills().limits(limits).watch(true));
    let mut client = Client::connect(Case::pipe(Revision::NEWEST), &server).await;
    let first = crate::support::ask(&mut client, "skills/list", json!({})).await;
    fs::remove_dir_all(tree.path().join("b")).unwrap();
    tree.skill("a-new");
    tokio::time::sleep(Duration::from_secs(5)).await;
    let cursor = first["nextCursor"].clone();
    let rest = crate::support::ask(&mut client, "skills/list", json!({"cursor": cursor})).await;
    let names: Vec<&Value> = rest["skills"]
        .as_array()
        .unwrap()
        .iter()
        .map(|skill| &skill["uri"])
        .collect();
    assert_eq!(names, ["skill://c/SKILL.md", "skill://d/SKILL.md"]);
    assert!(rest.get("nextCursor").is_none());
}

#[tokio::test(start_paused = true)]
async fn watching_ends_with_the_server() {
    let tree = tree();
    let server = server(tree.skills().watch(true));
    let client = Client::connect(Case::pipe(Revision::NEWEST), &server).await;
    tokio::time::sleep(Duration::from_secs(3)).await;
    let alive = || {
        tokio::runtime::Handle::current()
            .metrics()
            .num_alive_tasks()
    };
    assert!(alive() > 0);
    drop(client);
    drop(server);
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert_eq!(alive(), 0);
}
