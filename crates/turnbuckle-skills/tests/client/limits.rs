//! Limits of one skill, and skills that are dynamic.

use serde_json::{Value, json};
use turnbuckle_skills::client::{SkillError, SkillLimits};
use turnbuckle_skills::{RECOMMENDED_MAX_BYTES, RECOMMENDED_MAX_FILES};

use crate::scripted::{FORMS, SKILL, SKILL_TEXT, SkillServer, entry, file_of, text};

/// Returns the entry of [`SKILL`] with so many files, of so many bytes in sum.
fn entry_of(files: usize, bytes: u64) -> Value {
    let mut resources = vec![file_of(SKILL, SKILL_TEXT.as_bytes())];
    for number in 1..files {
        resources.push(file_of(
            &format!("skill://acme/pdf-processing/{number}"),
            b"",
        ));
    }
    if let Some(last) = resources.get_mut(1) {
        last["size"] = json!(bytes - SKILL_TEXT.len() as u64);
    }
    let mut entry = entry();
    entry["resources"] = json!(resources);
    entry
}

// requirement: 1f78d540b5e7 c40e8f4c1fb2
#[tokio::test(start_paused = true)]
async fn a_skill_at_the_limits_is_loaded_and_one_beyond_says_why() {
    assert_eq!(SkillLimits::new().max_files, RECOMMENDED_MAX_FILES);
    assert_eq!(SkillLimits::new().max_bytes, RECOMMENDED_MAX_BYTES);
    let server = SkillServer::new();
    let reader = server.reader().await;
    let serve =
        |files, bytes| server.change(|state| state.pages = vec![vec![entry_of(files, bytes)]]);
    serve(512, 16 << 20);
    reader.load_at(SKILL).await.unwrap();
    let before = server.reads();

    serve(513, 16 << 20);
    let error = reader.load_at(SKILL).await.unwrap_err();
    assert!(
        matches!(
            error,
            SkillError::TooManyFiles {
                files: 513,
                limit: 512,
                ..
            }
        ),
        "{error}"
    );
    assert!(error.to_string().contains("SkillLimits::max_files"));
    let raised = reader.clone().limits(SkillLimits::new().max_files(513));
    raised.load_at(SKILL).await.unwrap();

    serve(512, (16 << 20) + 1);
    let error = reader.load_at(SKILL).await.unwrap_err();
    let SkillError::TooManyBytes { bytes, .. } = error else {
        panic!("{error}");
    };
    assert_eq!(bytes, (16 << 20) + 1);
    assert!(error.to_string().contains("SkillLimits::max_bytes"));
    let raised = reader.limits(SkillLimits::new().max_bytes(bytes));
    raised.load_at(SKILL).await.unwrap();
    assert_eq!(server.reads().len(), before.len() + 2);
}

// requirement: 4102230a7b4d
#[tokio::test(start_paused = true)]
async fn a_dynamic_skill_is_loaded_only_if_the_host_allows_it() {
    let server = SkillServer::new();
    server.change(|state| state.pages[0][0]["resources"] = "dynamic".into());
    let reader = server.reader().await;
    let error = reader.load_at(SKILL).await.unwrap_err();
    assert!(
        matches!(error, SkillError::DynamicRefused { .. }),
        "{error}"
    );
    assert!(server.reads().is_empty());

    let skill = reader
        .clone()
        .allow_dynamic(true)
        .load_at(SKILL)
        .await
        .unwrap();
    assert_eq!(skill.files(), None);
    assert_eq!(
        skill.read("references/FORMS.md").await.unwrap().uri(),
        FORMS
    );
    for path in [
        "../other/SKILL.md",
        "skill://acme/other/SKILL.md",
        "/etc/passwd",
        "",
    ] {
        let error = skill.read(path).await.unwrap_err();
        assert!(
            matches!(error, SkillError::Unlisted { .. }),
            "{path}: {error}"
        );
    }
    assert_eq!(server.reads(), [SKILL, FORMS]);

    let other = SKILL_TEXT.replace("1.5", "2.5");
    server.change(|state| drop(state.files.insert(SKILL.to_owned(), text(SKILL, &other))));
    let error = reader.allow_dynamic(true).load_at(SKILL).await.unwrap_err();
    assert!(
        matches!(error, SkillError::FrontmatterMismatch { .. }),
        "{error}"
    );
}

#[tokio::test(start_paused = true)]
async fn what_is_read_of_a_dynamic_skill_is_counted() {
    let server = SkillServer::new();
    let part = "skill://acme/pdf-processing/part";
    server.change(|state| {
        state.pages[0][0]["resources"] = "dynamic".into();
        state
            .files
            .insert(part.to_owned(), text(part, &"x".repeat(100)));
    });
    let max_bytes = SKILL_TEXT.len() as u64 + 200;
    let reader = server.reader().await.allow_dynamic(true);
    let reader = reader.limits(SkillLimits::new().max_bytes(max_bytes));
    let skill = reader.load_at(SKILL).await.unwrap();
    skill.read("part").await.unwrap();
    skill.clone().read("part").await.unwrap();
    for _ in 0..2 {
        let error = skill.read("part").await.unwrap_err();
        assert!(matches!(error, SkillError::TooManyBytes { .. }), "{error}");
    }
    let small = reader.limits(SkillLimits::new().max_bytes(10));
    assert!(matches!(
        small.load_at(SKILL).await,
        Err(SkillError::TooManyBytes { .. })
    ));
}
