//! The cache of verified files.

use turnbuckle_skills::client::{SkillCache, SkillsClient as _};

use crate::scripted::{FORMS, SKILL, SKILL_TEXT, SkillServer, entry, file_of, text};

// requirement: bb671ddea3a8
#[tokio::test(start_paused = true)]
async fn a_verified_file_is_not_read_again_until_its_digest_changes() {
    let server = SkillServer::new();
    let cache = SkillCache::new(1 << 20);
    let reader = server.reader().await.cache(cache.clone());
    for _ in 0..2 {
        let skill = reader.load_at(SKILL).await.unwrap();
        skill.read(FORMS).await.unwrap();
    }
    assert_eq!(server.reads(), [SKILL, FORMS]);

    server.change(|state| {
        state.files.insert(FORMS.to_owned(), text(FORMS, "changed"));
        let mut entry = entry();
        entry["resources"][1] = file_of(FORMS, b"changed");
        state.pages = vec![vec![entry]];
    });
    let skill = reader.load_at(SKILL).await.unwrap();
    assert_eq!(skill.read(FORMS).await.unwrap().text(), Some("changed"));
    assert_eq!(server.reads(), [SKILL, FORMS, FORMS]);

    // Another server with the same entry does not get these copies.
    let other = server.connect().await.skills("other").cache(cache.clone());
    assert_eq!(other.load_at(SKILL).await.unwrap().content(), SKILL_TEXT);
    assert_eq!(server.reads().len(), 4);
    cache.remove_server("docs");
    reader.load_at(SKILL).await.unwrap();
    assert_eq!(server.reads().len(), 5);
}

#[tokio::test(start_paused = true)]
async fn without_a_cache_each_read_is_verified_anew() {
    let server = SkillServer::new();
    let skill = server.reader().await.load_at(SKILL).await.unwrap();
    skill.read(FORMS).await.unwrap();
    // The result of `resources/read` may be cached for minutes, and nevertheless is not used.
    server.change(|state| drop(state.files.insert(FORMS.to_owned(), text(FORMS, "changed"))));
    assert!(
        skill
            .read(FORMS)
            .await
            .unwrap_err()
            .is_verification_failure()
    );
}

// requirement: fa3eeab2496d
#[tokio::test(start_paused = true)]
async fn a_file_that_failed_is_not_cached() {
    let server = SkillServer::new();
    let cache = SkillCache::new(1 << 20);
    let reader = server.reader().await.cache(cache.clone());
    server.change(|state| {
        drop(
            state
                .files
                .insert(SKILL.to_owned(), text(SKILL, "tampered with")),
        )
    });
    reader.load_at(SKILL).await.unwrap_err();
    assert_eq!(cache.bytes(), 0);
}
