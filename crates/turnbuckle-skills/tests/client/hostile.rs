//! Hostile entries: how large they may be, and where their files may lie.

use serde_json::json;
use turnbuckle_skills::client::SkillError;
use turnbuckle_skills::{ListSkillsResult, Skill};

use crate::scripted::{SKILL, SKILL_TEXT, SkillServer, entry, file_of, text};

#[test]
fn a_manifest_of_a_million_files_is_refused_before_it_is_collected() {
    let file = file_of("skill://acme/pdf-processing/a", b"").to_string();
    let files = format!("[{}{file}]", format!("{file},").repeat(1_000_000));
    let entry =
        json!({"uri": SKILL, "frontmatter": entry()["frontmatter"], "resources": 0}).to_string();
    let entry = entry.replace("\"resources\":0", &format!("\"resources\":{files}"));
    let error = serde_json::from_str::<Skill>(&entry).unwrap_err();
    // No file was compared with another: they are all the same.
    assert!(
        error.to_string().contains("more than 65536 files"),
        "{error}"
    );
    let page = format!("{{\"skills\":[{entry}]}}");
    let page: ListSkillsResult = serde_json::from_str(&page).unwrap();
    assert_eq!((page.skills.len(), page.rejected.len()), (0, 1));
    assert_eq!(page.rejected[0].uri.as_deref(), Some(SKILL));
}

// requirement: 482a04fbbea6
#[tokio::test(start_paused = true)]
async fn an_entry_with_files_outside_of_its_skill_is_refused() {
    for uri in [
        "skill://acme/other/SKILL.md",
        "skill://acme/pdf-processing",
        "skill://acme/pdf-processing/",
        "skill://acme/pdf-processing-2/a",
        "skill://acme/pdf-processing/../other/a",
        "skill://acme/pdf-processing/%2e%2e/other/a",
        "skill://acme/pdf-processing/a%2F..%2Fb",
        "skill://acme/pdf-processing/a%00b",
        "skill://acme/pdf-processing//a",
        "https://acme/pdf-processing/a",
        "file:///etc/passwd",
        "",
    ] {
        let server = SkillServer::new();
        server.change(|state| {
            state.files.insert(uri.to_owned(), text(uri, ""));
            let files = state.pages[0][0]["resources"].as_array_mut().unwrap();
            files.push(file_of(uri, b""));
        });
        let error = server.reader().await.load_at(SKILL).await.unwrap_err();
        assert!(
            matches!(error, SkillError::InvalidEntry { .. }),
            "{uri}: {error}"
        );
        assert!(server.reads().is_empty());
    }
}

// requirement: 91798b12c24c
#[tokio::test(start_paused = true)]
async fn an_entry_that_is_not_of_its_uri_is_refused() {
    let server = SkillServer::new();
    let reader = server.reader().await;
    // The name is not the last segment of the path.
    let other = "skill://acme/other/SKILL.md";
    server.change(|state| {
        let mut entry = entry();
        entry["uri"] = other.into();
        entry["resources"] = json!([file_of(other, SKILL_TEXT.as_bytes())]);
        state.pages = vec![vec![entry]];
    });
    let error = reader.load_at(other).await.unwrap_err();
    assert!(matches!(error, SkillError::InvalidEntry { .. }), "{error}");
    // Two spellings of one file, and SKILL.md itself not among the files.
    for files in [
        json!([
            file_of(SKILL, b""),
            file_of("skill://acme/pdf-processing/a", b""),
            file_of("skill://acme/pdf-processing/%61", b"")
        ]),
        json!([file_of("skill://acme/pdf-processing/a", b"")]),
    ] {
        server.change(|state| {
            let mut entry = entry();
            entry["resources"] = files;
            state.pages = vec![vec![entry]];
        });
        let error = reader.load_at(SKILL).await.unwrap_err();
        assert!(matches!(error, SkillError::InvalidEntry { .. }), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_entry_of_another_skill_is_refused() {
    let peer = turnbuckle_it::peer::Peer::new(
        turnbuckle_wire::revision::Revision::NEWEST,
        |heard| {
            let result = match heard.method() {
                "skills/get" => {
                    json!({"resultType": "complete", "skill": entry(), "ttlMs": 0, "cacheScope": "private"})
                }
                "server/discover" => json!({
                    "resultType": "complete", "supportedVersions": ["2026-07-28"],
                    "capabilities": {"extensions": {turnbuckle_skills::EXTENSION_ID: {}}},
                    "ttlMs": 0, "cacheScope": "private",
                }),
                _ => return None,
            };
            Some(vec![heard.answer(result)])
        },
    );
    let client = turnbuckle_it::faults::PeerTransport::Lines
        .connect(&peer)
        .await;
    let reader = turnbuckle_skills::client::SkillReader::new(client, "docs");
    let error = reader.get("skill://acme/other/SKILL.md").await.unwrap_err();
    assert!(matches!(error, SkillError::InvalidEntry { .. }), "{error}");
}
