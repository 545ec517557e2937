//! Skills that are made in code.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::json;
use turnbuckle_skills::server::{SkillBuilder, Skills};

use crate::support::{Tree, ask, client, entries, files, pages, read, refuse};

// requirement: 75984a8d27ec a0c650a03f14
#[tokio::test(start_paused = true)]
async fn a_skill_of_code_is_served_like_one_of_a_folder() {
    let skill = SkillBuilder::new("refunds", "Refunds: \"all\" of them\n# and more")
        .prefix(["acme corp", "billing"])
        .field("license", "MIT")
        .field(
            "metadata",
            json!({"version": "1", "list": [1, 2.5, true, null], "1": "\u{e9}\t"}),
        )
        .body("# Refunds\n")
        .file("references/policy.md", "policy")
        .file("logo.bin", [0xff, 0])
        .build()
        .unwrap();
    let mut client = client(Skills::new().skill(skill)).await;
    let entry = entries(&mut client).await.remove(0);
    assert_eq!(entry["uri"], "skill://acme%20corp/billing/refunds/SKILL.md");
    assert_eq!(
        entry["frontmatter"]["description"],
        "Refunds: \"all\" of them\n# and more"
    );
    assert_eq!(
        entry["frontmatter"]["metadata"],
        json!({"version": "1", "list": [1, 2.5, true, null], "1": "\u{e9}\t"})
    );
    assert_eq!(files(&entry).len(), 3);
    let text =
        read(&mut client, "skill://acme%20corp/billing/refunds/SKILL.md").await["text"].clone();
    let text = text.as_str().unwrap();
    assert!(
        text.starts_with("---\n") && text.ends_with("---\n# Refunds\n"),
        "{text}"
    );
    let parsed = turnbuckle_skills::Frontmatter::parse(text.as_bytes()).unwrap();
    assert_eq!(serde_json::to_value(&parsed).unwrap(), entry["frontmatter"]);
    assert!(
        read(&mut client, "skill://acme%20corp/billing/refunds/logo.bin").await["blob"].is_string()
    );
}

#[tokio::test(start_paused = true)]
async fn a_complete_skill_file_is_served_as_it_is() {
    let file = "---\nname: whole # a comment\ndescription: >-\n  a\n  b\n---\ntext\n";
    let skill = SkillBuilder::from_skill_file(file).build().unwrap();
    let mut client = client(Skills::new().skill(skill)).await;
    assert_eq!(
        entries(&mut client).await[0]["frontmatter"],
        json!({"name": "whole", "description": "a b"})
    );
    assert_eq!(
        read(&mut client, "skill://whole/SKILL.md").await["text"],
        file
    );
}

// requirement: 29ad9de2d23f a40e672105bd cfc3f1b12af9
#[tokio::test(start_paused = true)]
async fn a_dynamic_skill_is_made_for_each_request() {
    let calls = Arc::new(AtomicU32::new(0));
    let counted = calls.clone();
    let skill = SkillBuilder::new("daily", "The report of today")
        .dynamic_body(move || {
            let call = counted.fetch_add(1, Ordering::Relaxed) + 1;
            async move { Ok(format!("report {call}")) }
        })
        .dynamic_file("data/raw.bin", || async { Ok(vec![0xff]) })
        .dynamic_file("broken.md", || async { Err("out of order".into()) })
        .dynamic_file("large.bin", || async { Ok(vec![0; (16 << 20) + 1]) })
        .file("fixed.md", "fixed")
        .build()
        .unwrap();
    let mut client = client(Skills::new().skill(skill)).await;
    let entry = entries(&mut client).await.remove(0);
    assert_eq!(entry["resources"], "dynamic");
    let got = ask(
        &mut client,
        "skills/get",
        json!({"uri": "skill://daily/SKILL.md"}),
    )
    .await;
    assert_eq!(got["skill"], entry);
    for number in [1, 2] {
        let text = read(&mut client, "skill://daily/SKILL.md").await["text"]
            .as_str()
            .unwrap()
            .to_owned();
        assert!(text.ends_with(&format!("\nreport {number}")), "{text}");
        let parsed = turnbuckle_skills::Frontmatter::parse(text.as_bytes()).unwrap();
        assert_eq!(serde_json::to_value(&parsed).unwrap(), entry["frontmatter"]);
    }
    assert_eq!(
        read(&mut client, "skill://daily/data/raw.bin").await["blob"],
        "/w=="
    );
    assert_eq!(
        read(&mut client, "skill://daily/fixed.md").await["text"],
        "fixed"
    );
    for (file, reason) in [
        ("broken.md", "out of order"),
        ("large.bin", "longer than 16 MiB"),
    ] {
        let uri = json!({"uri": format!("skill://daily/{file}")});
        let (code, message) = refuse(&mut client, "resources/read", uri).await;
        assert!(
            code == -32603 && message.contains(reason),
            "{code} {message}"
        );
    }
    let uri = json!({"uri": "skill://daily"});
    let (children, _) = pages(&mut client, "resources/directory/read", uri, "resources").await;
    assert_eq!(children.len(), 5);
    assert_eq!(
        calls.load(Ordering::Relaxed),
        2,
        "a list or an entry runs no function"
    );
}

// requirement: 6c361ebedab6
#[tokio::test(start_paused = true)]
async fn a_nested_skill_of_code_belongs_to_the_outer_one() {
    let inner = |name: &str| {
        SkillBuilder::new(name, "d")
            .prefix(["outer", "parts"])
            .file("x.md", "x")
    };
    let outer = || {
        SkillBuilder::new("outer", "d")
            .file("y.md", "y")
            .build()
            .unwrap()
    };
    let skills = Skills::new()
        .skill(inner("inner").build().unwrap())
        .skill(outer());
    let listed = entries(&mut client(skills).await).await;
    assert_eq!(
        files(&listed[0]),
        [
            "skill://outer/SKILL.md",
            "skill://outer/parts/inner/SKILL.md",
            "skill://outer/parts/inner/x.md",
            "skill://outer/y.md"
        ]
    );
    assert_eq!(files(&listed[1]), files(&listed[0])[1..3]);
    let dynamic = inner("inner")
        .dynamic_body(|| async { Ok(String::new()) })
        .build()
        .unwrap();
    let listed = entries(&mut client(Skills::new().skill(dynamic).skill(outer())).await).await;
    assert_eq!(listed[0]["resources"], "dynamic");
}

// requirement: 1f901c802fdb c4400a6e67d3
#[test]
fn what_cannot_be_served_is_refused() {
    let build = |builder: SkillBuilder| builder.build().unwrap_err().to_string();
    let skill = || SkillBuilder::new("a", "d");
    for (builder, reason) in [
        (SkillBuilder::new("A", "d"), "the name \"A\""),
        (SkillBuilder::new("a", ""), "the description is empty"),
        (skill().prefix([".."]), "a segment is empty, `.` or `..`"),
        (skill().prefix([""]), "a segment is empty"),
        (skill().prefix(["a/b"]), "a slash"),
        (skill().file("../x", "x"), "a segment is empty, `.` or `..`"),
        (skill().file("/x", "x"), "a segment is empty"),
        (skill().file("SKILL.md", "x"), "stands twice"),
        (skill().file("x", "x").file("x", "y"), "stands twice"),
        (
            skill().file("x", "x").file("x/y", "y"),
            "is both a file and a folder",
        ),
        (skill().field("name", "b"), "is not the last segment"),
        (
            skill().field("x", f64::NAN).field("description", 1),
            "`description` is not a string",
        ),
        (
            SkillBuilder::from_skill_file("text"),
            "the first line is not `---`",
        ),
        (
            SkillBuilder::from_skill_file("---\nname: a\ndescription: d\n---\n").body("x"),
            "has its own body",
        ),
        (
            SkillBuilder::from_skill_file("---\nname: a\ndescription: d\n---\n").field("x", 1),
            "has its own frontmatter",
        ),
    ] {
        let error = build(builder);
        assert!(error.contains(reason), "{reason}: {error}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_skill_in_conflict_with_another_is_left_out() {
    let tree = Tree::new();
    tree.skill("outer");
    tree.write(
        "outer/inner/SKILL.md",
        "---\nname: inner\ndescription: d\n---\n",
    );
    let conflicting = |name: &str, prefix: &[&str]| {
        SkillBuilder::new(name, "other")
            .prefix(prefix.iter().copied())
            .build()
            .unwrap()
    };
    let skills = tree
        .skills()
        .skill(conflicting("outer", &[]))
        .skill(conflicting("more", &["outer", "SKILL.md"]))
        .skill(conflicting("beside", &["outer"]));
    let faults: Vec<_> = skills.faults().iter().map(ToString::to_string).collect();
    assert_eq!(
        faults,
        [
            "skill://outer/SKILL.md is left out: another skill has the URI skill://outer/SKILL.md",
            "skill://outer/SKILL.md/more/SKILL.md is left out: another skill has a file at skill://outer/SKILL.md",
        ]
    );
    assert_eq!(skills.count(), 3);
}
