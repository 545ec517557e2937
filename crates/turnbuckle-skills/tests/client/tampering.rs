//! Content that is not what the entry describes.

use serde_json::{Value, json};
use turnbuckle_skills::Digest;
use turnbuckle_skills::client::{SkillError, SkillsClient as _};

use crate::scripted::{
    FORMS, FORMS_TEXT, LOGO, LOGO_BYTES, SKILL, SKILL_TEXT, SkillServer, blob, entry, file_of, text,
};

/// Loads [`SKILL`] after a change of its text, and returns the error.
async fn load_with(changed: &str) -> SkillError {
    let server = SkillServer::new();
    server.change(|state| drop(state.files.insert(SKILL.to_owned(), text(SKILL, changed))));
    let error = server.reader().await.load_at(SKILL).await.unwrap_err();
    assert_eq!(server.reads(), [SKILL]);
    assert!(error.is_verification_failure(), "{error}");
    error
}

// requirement: fa3eeab2496d
#[tokio::test(start_paused = true)]
async fn a_changed_byte_of_any_part_is_a_digest_mismatch() {
    for (part, with) in [
        ("---\nname", "---\nNAME"),
        ("documents", "Documents"),
        ("1.5", "2.5"),
        ("See", "Say"),
        (").\n", ").\r"),
    ] {
        let changed = SKILL_TEXT.replace(part, with);
        assert_ne!(changed, SKILL_TEXT);
        let error = load_with(&changed).await;
        assert!(
            matches!(error, SkillError::DigestMismatch { .. }),
            "{part}: {error}"
        );
        assert!(error.to_string().contains("`skills/get`"), "{error}");
    }
}

// requirement: f19d35f0d101
#[tokio::test(start_paused = true)]
async fn every_byte_of_a_skill_is_verified() {
    let server = SkillServer::new();
    let skill = server.reader().await.load_at(SKILL).await.unwrap();
    for index in 0..LOGO_BYTES.len() {
        let mut bytes = LOGO_BYTES.to_vec();
        bytes[index] ^= 1;
        server.change(|state| drop(state.files.insert(LOGO.to_owned(), blob(LOGO, &bytes))));
        let error = skill.read(LOGO).await.unwrap_err();
        assert!(
            matches!(error, SkillError::DigestMismatch { .. }),
            "{index}: {error}"
        );
    }
    server.change(|state| drop(state.files.insert(LOGO.to_owned(), blob(LOGO, LOGO_BYTES))));
    assert_eq!(skill.read(LOGO).await.unwrap().bytes(), LOGO_BYTES);
}

// requirement: f19d35f0d101
#[tokio::test(start_paused = true)]
async fn another_length_is_a_size_mismatch() {
    for changed in [
        format!("{SKILL_TEXT}\n"),
        SKILL_TEXT[1..].to_owned(),
        String::new(),
    ] {
        let error = load_with(&changed).await;
        let SkillError::SizeMismatch {
            expected, actual, ..
        } = &error
        else {
            panic!("{error}");
        };
        assert_eq!(
            (*expected, *actual),
            (SKILL_TEXT.len() as u64, changed.len() as u64)
        );
    }
    let server = SkillServer::new();
    let skill = server.reader().await.load_at(SKILL).await.unwrap();
    server.change(|state| drop(state.files.insert(FORMS.to_owned(), text(FORMS, "short"))));
    let error = skill.read(FORMS).await.unwrap_err();
    assert!(matches!(error, SkillError::SizeMismatch { .. }), "{error}");
}

// requirement: f19d35f0d101
#[tokio::test(start_paused = true)]
async fn a_size_or_digest_of_the_entry_that_was_changed_fails() {
    for (index, member, value) in [
        (0, "size", json!(SKILL_TEXT.len() + 1)),
        (0, "digest", json!(Digest::compute(b"other"))),
        (1, "size", json!(FORMS_TEXT.len() - 1)),
        (1, "digest", json!(Digest::compute(b""))),
    ] {
        let server = SkillServer::new();
        server.change(|state| state.pages[0][0]["resources"][index][member] = value);
        let loaded = server.reader().await.load_at(SKILL).await;
        let error = match loaded {
            Err(error) => error,
            Ok(skill) => skill.read(FORMS).await.unwrap_err(),
        };
        let fits = match member {
            "size" => matches!(error, SkillError::SizeMismatch { .. }),
            _ => matches!(error, SkillError::DigestMismatch { .. }),
        };
        assert!(fits, "{index} {member}: {error}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_file_at_the_uri_of_another_fails() {
    let server = SkillServer::new();
    server.change(|state| {
        let files = state.pages[0][0]["resources"].as_array_mut().unwrap();
        let (forms, logo) = (files[1]["uri"].clone(), files[2]["uri"].clone());
        (files[1]["uri"], files[2]["uri"]) = (logo, forms);
    });
    let skill = server.reader().await.load_at(SKILL).await.unwrap();
    for uri in [FORMS, LOGO] {
        assert!(skill.read(uri).await.unwrap_err().is_verification_failure());
    }
}

/// Serves this text as `SKILL.md`, with an entry whose digest fits and whose frontmatter is `frontmatter`.
async fn load_described(served: &str, frontmatter: Value) -> Result<(), SkillError> {
    let server = SkillServer::new();
    server.change(|state| {
        state.files.insert(SKILL.to_owned(), text(SKILL, served));
        let mut entry = entry();
        entry["frontmatter"] = frontmatter;
        entry["resources"][0] = file_of(SKILL, served.as_bytes());
        state.pages = vec![vec![entry]];
    });
    server.reader().await.load_at(SKILL).await.map(drop)
}

// requirement: 4102230a7b4d a6e9d5c46160
#[tokio::test(start_paused = true)]
async fn frontmatter_is_compared_field_by_field() {
    let fields = || entry()["frontmatter"].clone();
    load_described(SKILL_TEXT, fields()).await.unwrap();
    let mut missing = fields();
    missing.as_object_mut().unwrap().remove("metadata");
    let mut further = fields();
    further["license"] = "MIT".into();
    let mut nested = fields();
    nested["metadata"]["version"] = "1.5".into();
    let mut described = fields();
    described["description"] = "Harmless".into();
    for (fields, field) in [
        (missing, "metadata"),
        (further, "license"),
        (nested, "metadata.version"),
        (described, "description"),
    ] {
        let error = load_described(SKILL_TEXT, fields).await.unwrap_err();
        let SkillError::FrontmatterMismatch { field: found, .. } = &error else {
            panic!("{error}");
        };
        assert_eq!(found, field);
        assert!(error.is_verification_failure());
    }
    // The name of the file, beside an entry with the name of the path.
    let renamed = SKILL_TEXT.replace("name: pdf-processing", "name: pdf-filling");
    let error = load_described(&renamed, fields()).await.unwrap_err();
    assert!(
        matches!(error, SkillError::FrontmatterMismatch { .. }),
        "{error}"
    );
}

// requirement: a6e9d5c46160
#[tokio::test(start_paused = true)]
async fn a_skill_file_without_readable_frontmatter_is_not_loaded() {
    for served in [
        "",
        "# No frontmatter\n",
        "---\nname: pdf-processing\n",
        "---\n- a list\n---\n",
        "---\nname: pdf-processing\nname: pdf-processing\ndescription: d\n---\n",
        "---\nname: &a pdf-processing\ndescription: *a\n---\n",
    ] {
        let error = load_described(served, entry()["frontmatter"].clone())
            .await
            .unwrap_err();
        assert!(
            matches!(error, SkillError::InvalidFrontmatter { .. }),
            "{served:?}: {error}"
        );
        assert!(error.is_verification_failure());
    }
    let server = SkillServer::new();
    let bytes = b"---\nname: pdf-processing\ndescription: d\n---\n\xff";
    server.change(|state| {
        state.files.insert(SKILL.to_owned(), blob(SKILL, bytes));
        let mut entry = entry();
        entry["frontmatter"] = json!({"name": "pdf-processing", "description": "d"});
        entry["resources"][0] = file_of(SKILL, bytes);
        state.pages = vec![vec![entry]];
    });
    let error = server.reader().await.load_at(SKILL).await.unwrap_err();
    assert!(error.to_string().contains("not UTF-8"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_result_that_is_not_one_file_is_refused() {
    for contents in [
        text(LOGO, SKILL_TEXT),
        json!({"uri": SKILL, "blob": "not Base64!"}),
        json!({"uri": SKILL}),
    ] {
        let server = SkillServer::new();
        server.change(|state| drop(state.files.insert(SKILL.to_owned(), contents.clone())));
        let error = server.reader().await.load_at(SKILL).await.unwrap_err();
        assert!(
            matches!(error, SkillError::UnusableContents { .. }),
            "{contents}: {error}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_skill_file_as_base64_is_loaded_too() {
    let server = SkillServer::new();
    server.change(|state| {
        drop(
            state
                .files
                .insert(SKILL.to_owned(), blob(SKILL, SKILL_TEXT.as_bytes())),
        )
    });
    let client = server.connect().await;
    assert_eq!(
        client.load_skill_at(SKILL).await.unwrap().content(),
        SKILL_TEXT
    );
}
