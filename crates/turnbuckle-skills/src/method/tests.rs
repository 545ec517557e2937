use serde_json::json;

use super::*;

fn entry(name: &str) -> serde_json::Value {
    json!({
        "uri": format!("skill://{name}/SKILL.md"),
        "frontmatter": {"name": name, "description": "d"},
        "resources": "dynamic",
    })
}

#[test]
fn an_invalid_entry_does_not_hide_the_others() {
    let page = json!({
        "skills": [entry("a"), {"uri": "skill://b/SKILL.md"}, 1, entry("c")],
        "nextCursor": "n",
        "ttlMs": 1.5e3,
        "cacheScope": "public",
        "resultType": "complete",
    });
    let page: ListSkillsResult = serde_json::from_str(&page.to_string()).unwrap();
    let names: Vec<_> = page.skills.iter().map(Skill::name).collect();
    assert_eq!(names, ["a", "c"]);
    let rejected: Vec<_> = page
        .rejected
        .iter()
        .map(|entry| entry.uri.as_deref())
        .collect();
    assert_eq!(rejected, [Some("skill://b/SKILL.md"), None]);
    assert!(page.rejected[0].reason.to_string().contains("frontmatter"));
    assert_eq!(
        (page.ttl_ms, page.cache_scope),
        (Some(1500), Some(CacheScope::Public))
    );
    assert_eq!(page.next_cursor.as_deref(), Some("n"));
}

#[test]
fn a_page_has_bounds() {
    let text = format!("{{\"skills\":[{}1]}}", "1,".repeat(MAX_REJECTED));
    let page: ListSkillsResult = serde_json::from_str(&text).unwrap();
    assert_eq!(page.rejected.len(), MAX_REJECTED);
    let text = format!("{{\"skills\":[{}1]}}", "1,".repeat(MAX_PAGE_ENTRIES));
    assert!(serde_json::from_str::<ListSkillsResult>(&text).is_err());
}

#[test]
fn settings_are_optional() {
    let settings: SkillsSettings = serde_json::from_str("{}").unwrap();
    assert!(!settings.directory_read);
    let settings: SkillsSettings = serde_json::from_str("{\"directoryRead\":true}").unwrap();
    assert!(settings.directory_read);
}
