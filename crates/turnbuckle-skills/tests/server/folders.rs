//! Folders that are skills, and the files that belong to them.

use serde_json::json;
use turnbuckle_skills::server::Skills;

use crate::support::{Tree, client, entries, files, read, skill_file, uris};

// requirement: 6c361ebedab6
#[tokio::test(start_paused = true)]
async fn a_nested_skill_belongs_to_the_outer_one_and_is_listed_on_its_own() {
    let tree = Tree::new();
    tree.skill("outer");
    tree.skill("outer/parts/inner");
    tree.write("outer/parts/inner/notes.md", "x");
    let listed = entries(&mut client(tree.skills()).await).await;
    assert_eq!(listed[0]["uri"], "skill://outer/SKILL.md");
    assert_eq!(
        files(&listed[0]),
        [
            "skill://outer/SKILL.md",
            "skill://outer/parts/inner/SKILL.md",
            "skill://outer/parts/inner/notes.md"
        ]
    );
    assert_eq!(listed[1]["uri"], "skill://outer/parts/inner/SKILL.md");
    assert_eq!(files(&listed[1]), files(&listed[0])[1..]);
    assert_eq!(listed[0]["resources"][1], listed[1]["resources"][0]);
}

#[tokio::test(start_paused = true)]
async fn a_nested_skill_with_a_fault_is_still_a_file_of_the_outer_one() {
    let tree = Tree::new();
    tree.skill("outer");
    tree.write("outer/inner/SKILL.md", "no frontmatter");
    let mut client = client(tree.skills()).await;
    let listed = entries(&mut client).await;
    assert_eq!(listed.len(), 1);
    assert_eq!(files(&listed[0])[1], "skill://outer/inner/SKILL.md");
    assert_eq!(
        read(&mut client, "skill://outer/inner/SKILL.md").await["text"],
        "no frontmatter"
    );
    assert_eq!(
        tree.faults(),
        ["outer/inner: the first line is not `---`, so there is no frontmatter"]
    );
}

#[tokio::test(start_paused = true)]
async fn a_folder_that_is_a_skill_itself_is_served_under_its_name() {
    let tree = Tree::new();
    tree.skill("a/pdf");
    tree.write("a/pdf/x.md", "x");
    let skills = Skills::from_dir(tree.path().join("a/pdf")).unwrap();
    let listed = entries(&mut client(skills).await).await;
    assert_eq!(
        files(&listed[0]),
        ["skill://pdf/SKILL.md", "skill://pdf/x.md"]
    );
}

#[tokio::test(start_paused = true)]
async fn skills_of_several_folders_are_listed_together() {
    let (one, two) = (Tree::new(), Tree::new());
    one.skill("a");
    one.skill("both");
    two.skill("b");
    two.skill("both");
    let skills = one.skills().dir(two.path()).unwrap();
    let faults: Vec<_> = skills
        .faults()
        .iter()
        .map(|fault| fault.reason.clone())
        .collect();
    assert_eq!(faults, ["another skill has the URI skill://both/SKILL.md"]);
    let expected = [
        "skill://a/SKILL.md",
        "skill://b/SKILL.md",
        "skill://both/SKILL.md",
    ];
    assert_eq!(uris(&mut client(skills).await).await, expected);
}

// requirement: 9e91c77ca80f b02f972bd223
#[tokio::test(start_paused = true)]
async fn a_name_is_encoded_in_the_uri_and_brought_into_normal_form() {
    let tree = Tree::new();
    tree.skill("My Team/refunds");
    tree.write("My Team/refunds/100%2f done?.md", "a");
    // A name as some systems write it: `e` and a combining accent.
    tree.write("My Team/refunds/cafe\u{301}.md", "b");
    let mut client = client(tree.skills()).await;
    let listed = entries(&mut client).await;
    assert_eq!(
        files(&listed[0]),
        [
            "skill://My%20Team/refunds/100%252f%20done%3F.md",
            "skill://My%20Team/refunds/SKILL.md",
            "skill://My%20Team/refunds/caf%C3%A9.md",
        ]
    );
    assert_eq!(
        read(&mut client, "skill://My%20Team/refunds/caf%C3%A9.md").await["text"],
        "b"
    );
    assert_eq!(
        read(
            &mut client,
            "skill://My%20Team/refunds/100%252f%20done%3F.md"
        )
        .await["text"],
        "a"
    );
}

#[tokio::test(start_paused = true)]
async fn hidden_entries_do_not_belong_to_a_skill() {
    let tree = Tree::new();
    tree.skill("a");
    tree.write("a/.git/config", "secret");
    tree.write("a/.DS_Store", "x");
    tree.skill(".b");
    let listed = entries(&mut client(tree.skills()).await).await;
    assert_eq!(files(&listed[0]), ["skill://a/SKILL.md"]);
    assert_eq!(listed.len(), 1);
    assert_eq!(tree.faults(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn line_ends_and_bytes_are_kept() {
    let tree = Tree::new();
    let text = "---\r\nname: a\r\ndescription: b\r\n---\r\n\r\nline\0\u{feff}\r\n";
    tree.write("a/SKILL.md", text);
    let mut client = client(tree.skills()).await;
    assert_eq!(read(&mut client, "skill://a/SKILL.md").await["text"], text);
    assert_eq!(
        entries(&mut client).await[0]["resources"][0]["size"],
        json!(text.len())
    );
}

// requirement: 09bc06f5a9f9
#[tokio::test(start_paused = true)]
async fn skills_with_one_name_are_served_and_named() {
    let tree = Tree::new();
    tree.skill("billing/refunds");
    tree.skill("support/refunds");
    assert_eq!(tree.uris().await.len(), 2);
    assert_eq!(
        tree.faults(),
        ["support/refunds: has the same name as skill://billing/refunds/SKILL.md"]
    );
    assert!(tree.skills().faults()[0].is_served);
}

#[test]
fn a_folder_that_is_not_there_is_named() {
    let tree = Tree::new();
    let error = Skills::from_dir(tree.path().join("none"))
        .unwrap_err()
        .to_string();
    assert!(error.contains("/none: "), "{error}");
    tree.write("file", skill_file("file"));
    assert!(Skills::from_dir(tree.path().join("file")).is_err());
}
