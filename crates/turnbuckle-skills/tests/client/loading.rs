//! Loading a skill and reading its files.

use serde_json::json;
use turnbuckle_client::{Client, Error};
use turnbuckle_skills::client::{SkillError, SkillOrigin, SkillRefresh, SkillsClient as _};

use crate::scripted::{
    FORMS, FORMS_TEXT, LOGO, LOGO_BYTES, SKILL, SKILL_TEXT, SkillServer, entry, file_of, text,
};

#[tokio::test(start_paused = true)]
async fn a_skill_is_listed_loaded_and_read() {
    let server = SkillServer::new();
    let client = server.connect().await;
    let skills = client.list_skills().fetch_all().await.unwrap();
    assert_eq!(skills[0].name(), "pdf-processing");
    let skill = client.load_skill(&skills[0]).await.unwrap();
    assert_eq!(skill.content(), SKILL_TEXT);
    assert_eq!(
        skill.files().unwrap(),
        ["SKILL.md", "assets/logo (1).png", "references/FORMS.md"]
    );
    let forms = skill.read("references/FORMS.md").await.unwrap();
    assert_eq!((forms.uri(), forms.text()), (FORMS, Some(FORMS_TEXT)));
    assert_eq!(forms.mime_type(), Some("text/markdown"));
    let logo = skill.read("assets/logo (1).png").await.unwrap();
    assert_eq!((logo.bytes(), logo.text()), (LOGO_BYTES, None));
    assert_eq!(server.reads(), [SKILL, FORMS, LOGO]);
}

// requirement: d67227ea02d5
#[tokio::test(start_paused = true)]
async fn nothing_is_read_before_a_skill_is_loaded() {
    let server = SkillServer::new();
    let reader = server.reader().await;
    let listed = reader.list().fetch_all().await.unwrap();
    let got = reader.get(SKILL).await.unwrap();
    let mut approvals = turnbuckle_skills::client::ApprovalSet::new();
    approvals.approve("docs", &got).unwrap();
    reader.check(&listed[0]).unwrap();
    assert!(server.reads().is_empty());
    let skill = reader.load(&got).await.unwrap();
    assert_eq!(server.reads(), [SKILL]);
    skill.refresh().await.unwrap();
    assert_eq!(server.reads(), [SKILL]);
}

// requirement: b78c6b780ed6
#[tokio::test(start_paused = true)]
async fn a_skill_that_is_not_listed_is_loaded_by_its_uri() {
    let server = SkillServer::new();
    server.change(|state| {
        state.unlisted = state.pages.remove(0);
    });
    let client = server.connect().await;
    assert!(client.list_skills().fetch_all().await.unwrap().is_empty());
    let skill = client.load_skill_at(SKILL).await.unwrap();
    assert_eq!(skill.entry().name(), "pdf-processing");
}

// requirement: 14dca77cb1de
#[tokio::test(start_paused = true)]
async fn a_resource_without_an_entry_is_not_loaded_whatever_its_uri() {
    let other = "skill://acme/other/SKILL.md";
    let server = SkillServer::new();
    server.change(|state| {
        state.files.insert(
            other.to_owned(),
            text(other, "---\nname: other\ndescription: d\n---\n"),
        );
    });
    let client = server.connect().await;
    for error in [
        client.get_skill(other).await.map(drop).unwrap_err(),
        client.load_skill_at(other).await.map(drop).unwrap_err(),
    ] {
        let refusal = error.request_error().and_then(Error::error_response);
        assert_eq!(refusal.unwrap().code, -32602);
    }
    assert!(server.reads().is_empty());
}

// requirement: 650abfc8625a
#[tokio::test(start_paused = true)]
async fn the_entry_of_what_is_no_skill_file_is_not_asked_for() {
    let server = SkillServer::new();
    let reader = server.reader().await;
    for uri in [FORMS, "skill://acme/pdf-processing", "SKILL.md", ""] {
        let error = reader.get(uri).await.unwrap_err();
        assert!(
            matches!(error, SkillError::InvalidUri { .. }),
            "{uri}: {error}"
        );
    }
    assert!(server.peer.messages_of("skills/get").is_empty());
}

#[tokio::test(start_paused = true)]
async fn paths_resolve_against_the_root_of_the_skill() {
    let server = SkillServer::new();
    let skill = server.reader().await.load_at(SKILL).await.unwrap();
    for path in [
        "references/FORMS.md",
        "./references/FORMS.md",
        "references/../references//FORMS.md",
        FORMS,
    ] {
        assert_eq!(skill.read(path).await.unwrap().uri(), FORMS, "{path}");
    }
    for path in ["assets/logo (1).png", "assets/logo%20(1).png", LOGO] {
        assert_eq!(skill.read(path).await.unwrap().uri(), LOGO, "{path}");
    }
}

// requirement: 4a3524a047e7 4d2100c7f1e6 7909bfe3d8d9 ec8a7005aafc
#[tokio::test(start_paused = true)]
async fn a_file_that_the_held_entry_does_not_list_is_not_read() {
    let server = SkillServer::new();
    let outside = [
        "references/NEW.md",
        "references",
        "",
        "/references/FORMS.md",
        "../pdf-processing/references/FORMS.md",
        "..%2fother/SKILL.md",
        "%2e%2e/other/SKILL.md",
        "references/%2e%2e/%2e%2e/other/SKILL.md",
        "references\\FORMS.md",
        "references/FORMS.md\0",
        "skill://acme/pdf-processing/references/NEW.md",
        "skill://acme/pdf-processing/../other/SKILL.md",
        "skill://acme/other/SKILL.md",
        "https://example.com/x",
    ];
    server.change(|state| {
        for path in outside {
            state.files.insert(path.to_owned(), text(path, "secret"));
        }
    });
    let reader = server.reader().await;
    let skill = reader.load_at(SKILL).await.unwrap();
    let before = server.reads();
    for path in outside {
        let error = skill.read(path).await.unwrap_err();
        assert!(
            matches!(error, SkillError::Unlisted { .. }),
            "{path}: {error}"
        );
        assert!(error.is_verification_failure());
    }
    assert_eq!(server.reads(), before);
}

// requirement: 4a3524a047e7 7909bfe3d8d9 bb671ddea3a8 ca97a6cbdda5 d29434af1b24 d46cebaa2259
// requirement: e3e593260356 ea7b6ec06879
#[tokio::test(start_paused = true)]
async fn a_skill_reads_from_its_own_server_only() {
    let (one, other) = (SkillServer::new(), SkillServer::new());
    let skill = one
        .connect()
        .await
        .skills("one")
        .load_at(SKILL)
        .await
        .unwrap();
    let twin = other
        .connect()
        .await
        .skills("other")
        .load_at(SKILL)
        .await
        .unwrap();
    assert_ne!(skill.origin(), twin.origin());
    assert_eq!(skill.origin(), SkillOrigin::new("one", SKILL));
    skill.read(FORMS).await.unwrap();
    assert_eq!(one.reads(), [SKILL, FORMS]);
    assert_eq!(other.reads(), [SKILL]);
    let tagged = twin.tagged_content();
    assert!(
        tagged.starts_with(&format!(
            "[The skill {SKILL} from the MCP server \"other\"."
        )),
        "{tagged}"
    );
    assert!(tagged.ends_with(SKILL_TEXT));
}

// requirement: b4ac74a531e1
#[tokio::test(start_paused = true)]
async fn a_changed_entry_is_told_and_the_held_one_stays() {
    let server = SkillServer::new();
    let reader = server.reader().await;
    let skill = reader.load_at(SKILL).await.unwrap();
    assert_eq!(skill.refresh().await.unwrap(), SkillRefresh::Unchanged);
    let new = "skill://acme/pdf-processing/new.md";
    server.change(|state| {
        state.files.insert(new.to_owned(), text(new, "new"));
        let mut changed = entry();
        changed["resources"]
            .as_array_mut()
            .unwrap()
            .push(file_of(new, b"new"));
        state.pages = vec![vec![changed]];
    });
    let SkillRefresh::Changed(entry) = skill.refresh().await.unwrap() else {
        panic!("the entry has changed");
    };
    assert!(matches!(
        skill.read("new.md").await,
        Err(SkillError::Unlisted { .. })
    ));
    let skill = reader.load(&entry).await.unwrap();
    assert_eq!(skill.read("new.md").await.unwrap().text(), Some("new"));
}

#[tokio::test(start_paused = true)]
async fn a_file_that_is_served_no_longer_says_to_refresh() {
    let server = SkillServer::new();
    let skill = server.reader().await.load_at(SKILL).await.unwrap();
    server.change(|state| drop(state.files.remove(FORMS)));
    let error = skill.read(FORMS).await.unwrap_err();
    assert!(matches!(error, SkillError::Missing { .. }), "{error}");
    assert!(error.to_string().contains("LoadedSkill::refresh"));
}

// requirement: 6ec4b7bbec99
#[tokio::test(start_paused = true)]
async fn nested_skills_are_files_here_and_skills_of_their_own() {
    let nested = "skill://acme/pdf-processing/sub/forms/SKILL.md";
    let nested_text = "---\nname: forms\ndescription: d\nallowed-tools: Bash\n---\n";
    let server = SkillServer::new();
    server.change(|state| {
        state
            .files
            .insert(nested.to_owned(), text(nested, nested_text));
        let mut outer = entry();
        outer["resources"]
            .as_array_mut()
            .unwrap()
            .push(file_of(nested, nested_text.as_bytes()));
        let inner = json!({
            "uri": nested,
            "frontmatter": {"name": "forms", "description": "d", "allowed-tools": "Bash"},
            "resources": [file_of(nested, nested_text.as_bytes())],
        });
        state.pages = vec![vec![outer, inner]];
    });
    let reader = server.reader().await;
    let listing = reader.list().fetch_all().await.unwrap();
    let outer = reader.load(&listing[0]).await.unwrap();
    assert_eq!(outer.nested_skills(), [nested]);
    assert_eq!(
        outer.read("sub/forms/SKILL.md").await.unwrap().text(),
        Some(nested_text)
    );
    let mut approvals = turnbuckle_skills::client::ApprovalSet::new();
    approvals.approve("docs", &listing[0]).unwrap();
    let state = approvals.check("docs", &listing[1]);
    assert_eq!(state, turnbuckle_skills::client::ApprovalState::Missing);
    assert!(
        reader
            .load(&listing[1])
            .await
            .unwrap()
            .nested_skills()
            .is_empty()
    );
}

#[tokio::test(start_paused = true)]
async fn a_server_without_the_extension_gets_no_request() {
    let server = SkillServer::new();
    server.change(|state| state.settings = None);
    let client: Client = server.connect().await;
    let errors = [
        client
            .list_skills()
            .fetch_all()
            .await
            .map(drop)
            .unwrap_err(),
        client.get_skill(SKILL).await.map(drop).unwrap_err(),
        client
            .skills("docs")
            .read_directory("skill://acme")
            .await
            .map(drop)
            .unwrap_err(),
    ];
    for error in &errors[..2] {
        let unsupported = matches!(error.request_error(), Some(Error::Unsupported { .. }));
        assert!(unsupported, "{error}");
    }
    assert!(matches!(errors[2], SkillError::NoDirectories));
    let is_of_the_extension =
        |method: &str| method.starts_with("skills/") || method.contains("directory");
    let messages = server.peer.messages();
    assert!(
        !messages
            .iter()
            .any(|heard| is_of_the_extension(heard.method()))
    );
}
