//! Bounds of what is loaded.

use turnbuckle_skills::server::{ServingLimits, Skills};

use crate::support::{Tree, client, entries, uris};

fn reasons(skills: &Skills) -> Vec<String> {
    skills
        .faults()
        .iter()
        .map(|fault| fault.reason.clone())
        .collect()
}

#[tokio::test(start_paused = true)]
async fn a_skill_with_more_files_than_hosts_must_load_is_served_with_a_warning() {
    let tree = Tree::new();
    tree.skill("large");
    for number in 0..512 {
        tree.write(&format!("large/{number}.md"), "x");
    }
    let skills = tree.skills();
    assert_eq!(
        reasons(&skills),
        ["has 513 files: hosts may decline skills of more than 512"]
    );
    assert!(skills.faults()[0].is_served);
    assert_eq!(entries(&mut client(skills).await).await.len(), 1);
    std::fs::remove_file(tree.path().join("large/0.md")).unwrap();
    assert_eq!(tree.faults(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_skill_with_more_bytes_than_hosts_must_load_is_served_with_a_warning() {
    let tree = Tree::new();
    tree.skill("large");
    let size = usize::try_from(turnbuckle_skills::RECOMMENDED_MAX_BYTES).unwrap();
    let own = crate::support::skill_file("large").len();
    tree.write("large/data", vec![b'x'; size - own]);
    assert_eq!(tree.faults(), [""; 0]);
    tree.write("large/data", vec![b'x'; size - own + 1]);
    let skills = tree.skills();
    assert_eq!(
        reasons(&skills),
        ["has 16777217 bytes: hosts may decline skills of more than 16 MiB"]
    );
    assert_eq!(skills.count(), 1);
}

#[tokio::test(start_paused = true)]
async fn ten_thousand_files_are_beyond_the_bound_and_leave_one_skill_out() {
    let tree = Tree::new();
    tree.skill("bad");
    for number in 0..10_000 {
        tree.write(&format!("bad/{:02}/{number}.md", number % 100), "x");
    }
    tree.skill("good");
    let skills = tree.skills();
    assert_eq!(reasons(&skills).len(), 1);
    assert!(
        reasons(&skills)[0]
            .ends_with("the skill has more than 4096 files (ServingLimits::max_files)")
    );
    assert_eq!(
        uris(&mut client(skills).await).await,
        ["skill://good/SKILL.md"]
    );
    let skills = tree.skills().limits(ServingLimits::new().max_files(20_000));
    assert_eq!((skills.count(), skills.faults()[0].is_served), (2, true));
}

#[test]
fn every_bound_names_itself() {
    let tree = Tree::new();
    for name in ["a", "b", "c"] {
        tree.skill(name);
        tree.write(&format!("{name}/x/y.md"), vec![b'x'; 1000]);
    }
    let size = crate::support::skill_file("a").len() as u64 + 1000;
    let at_the_bounds = ServingLimits::new()
        .max_files(2)
        .max_bytes(size)
        .max_skills(3)
        .max_total_entries(12)
        .max_total_bytes(3 * size)
        .max_depth(2);
    let skills = tree.skills().limits(at_the_bounds.clone());
    assert_eq!((skills.count(), reasons(&skills)), (3, Vec::new()));
    let bound = || at_the_bounds.clone();
    for (limits, count, reason) in [
        (
            bound().max_files(1),
            0,
            "x/y.md the skill has more than 1 files (ServingLimits::max_files)".to_owned(),
        ),
        (
            bound().max_bytes(size - 1),
            0,
            format!(
                "the skill has more than {} bytes (ServingLimits::max_bytes)",
                size - 1
            ),
        ),
        (
            bound().max_bytes(500),
            0,
            "cannot be read: it has 1000 bytes".to_owned(),
        ),
        (
            bound().max_skills(2),
            2,
            "there are 2 skills (ServingLimits::max_skills)".to_owned(),
        ),
        (
            bound().max_total_entries(11),
            2,
            "there are more than 11 entries (ServingLimits::max_total_entries)".to_owned(),
        ),
        (
            bound().max_total_bytes(3 * size - 1),
            2,
            format!(
                "all skills have more than {} bytes (ServingLimits::max_total_bytes)",
                3 * size - 1
            ),
        ),
        (
            bound().max_depth(1),
            0,
            "x is deeper than 1 folders (ServingLimits::max_depth)".to_owned(),
        ),
    ] {
        let skills = tree.skills().limits(limits);
        let reasons = reasons(&skills);
        assert_eq!(skills.count(), count, "{reasons:?}");
        assert!(
            reasons.iter().any(|it| it.contains(&reason)),
            "{reason}: {reasons:?}"
        );
    }
}

#[test]
fn faults_are_bounded() {
    let tree = Tree::new();
    for number in 0..1100 {
        tree.write(&format!("s-{number}/SKILL.md"), "");
    }
    assert_eq!(tree.faults().len(), 1000);
}
