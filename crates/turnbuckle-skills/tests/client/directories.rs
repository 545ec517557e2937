//! Directories of skills and of servers.

use serde_json::{Value, json};
use turnbuckle_client::Client;
use turnbuckle_session::transport::ClientLimits;
use turnbuckle_skills::client::{SkillDirectoryEntry, SkillError, SkillsClient as _};

use crate::scripted::{SKILL, SkillServer};

const ROOT: &str = "skill://acme/pdf-processing";

fn file(path: &str) -> Value {
    json!({"uri": format!("{ROOT}/{path}"), "name": path, "mimeType": "text/markdown"})
}

fn directory(path: &str) -> Value {
    json!({"uri": format!("{ROOT}/{path}"), "name": path, "mimeType": "inode/directory"})
}

fn server() -> SkillServer {
    let server = SkillServer::new();
    server.change(|state| {
        state.settings = Some(json!({"directoryRead": true}));
        state.directories.insert(
            ROOT.to_owned(),
            vec![
                vec![file("SKILL.md"), directory("references")],
                vec![directory("assets"), directory("new")],
            ],
        );
        state.directories.insert(
            format!("{ROOT}/references"),
            vec![vec![
                file("references/FORMS.md"),
                file("references/credit-note.md"),
                file("SKILL.md"),
                json!({"uri": "skill://acme/other/SKILL.md", "name": "x"}),
            ]],
        );
        state.directories.insert(
            format!("{ROOT}/assets"),
            vec![vec![file("assets/logo%20(1).png")]],
        );
    });
    server
}

fn paths(entries: &[SkillDirectoryEntry]) -> Vec<(&str, bool)> {
    entries
        .iter()
        .map(|entry| (entry.path.as_str(), entry.is_directory))
        .collect()
}

// requirement: 6e7fe59868a9 74501727c631
#[tokio::test(start_paused = true)]
async fn a_directory_shows_the_files_of_the_held_entry_only() {
    let skill = server().reader().await.load_at(SKILL).await.unwrap();
    let root = skill.read_directory("").await.unwrap();
    assert_eq!(
        paths(&root.entries),
        [("SKILL.md", false), ("references", true), ("assets", true)]
    );
    assert_eq!(root.unlisted, 1);
    let references = skill.read_directory("references/").await.unwrap();
    assert_eq!(paths(&references.entries), [("references/FORMS.md", false)]);
    assert_eq!(references.unlisted, 3);
    let assets = skill.read_directory("./assets").await.unwrap();
    assert_eq!(paths(&assets.entries), [("assets/logo (1).png", false)]);
    let error = skill.read("references/credit-note.md").await.unwrap_err();
    assert!(matches!(error, SkillError::Unlisted { .. }));
    for path in ["..", "/", "../other"] {
        let error = skill.read_directory(path).await.unwrap_err();
        assert!(
            matches!(error, SkillError::Unlisted { .. }),
            "{path}: {error}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_directory_shows_all_files_of_a_dynamic_skill() {
    let server = server();
    server.change(|state| state.pages[0][0]["resources"] = "dynamic".into());
    let skill = server
        .reader()
        .await
        .allow_dynamic(true)
        .load_at(SKILL)
        .await
        .unwrap();
    let references = skill.read_directory("references").await.unwrap();
    assert_eq!(
        paths(&references.entries),
        [
            ("references/FORMS.md", false),
            ("references/credit-note.md", false)
        ]
    );
    assert_eq!(references.unlisted, 2);
}

// requirement: 5fe48e072bfd
#[tokio::test(start_paused = true)]
async fn directories_are_read_only_if_the_server_declares_them() {
    for settings in [
        json!({}),
        json!({"directoryRead": false}),
        json!({"directoryRead": "yes"}),
    ] {
        let server = server();
        server.change(|state| state.settings = Some(settings));
        let reader = server.reader().await;
        assert!(!reader.can_read_directories());
        let skill = reader.load_at(SKILL).await.unwrap();
        let error = skill.read_directory("").await.unwrap_err();
        assert!(matches!(error, SkillError::NoDirectories), "{error}");
        assert!(
            server
                .peer
                .messages_of("resources/directory/read")
                .is_empty()
        );
    }
    assert!(server().reader().await.can_read_directories());
}

#[tokio::test(start_paused = true)]
async fn any_directory_of_the_server_is_read_within_the_limits_of_lists() {
    let server = server();
    let reader = server.reader().await;
    let children = reader.read_directory(ROOT).await.unwrap();
    assert_eq!(children.len(), 4);
    let error = reader
        .read_directory("skill://acme/none")
        .await
        .unwrap_err();
    assert!(error.request_error().is_some(), "{error}");
    let limits = ClientLimits::new().max_list_items(3);
    let client = server
        .connect_by(Client::builder("host", "1").limits(limits))
        .await;
    let error = client
        .skills("docs")
        .read_directory(ROOT)
        .await
        .unwrap_err();
    assert!(error.to_string().contains("max_list_items"), "{error}");
}
