//! Approvals, and what revokes them.

use serde_json::{Value, json};
use turnbuckle_skills::client::{
    ApprovalSet, ApprovalState, SkillError, SkillOrigin, approval_digest,
};
use turnbuckle_skills::{Digest, Skill};

use crate::scripted::{FORMS, SKILL, entry, file_of};

fn skill(entry: Value) -> Skill {
    serde_json::from_value(entry).unwrap()
}

// requirement: 5186b4eb14e4 b4ac74a531e1 ddfa186757ee
#[test]
fn an_approval_covers_exactly_the_files_that_were_seen() {
    let approved = skill(entry());
    let mut reordered = entry();
    reordered["resources"].as_array_mut().unwrap().reverse();
    let mut rotated = entry();
    rotated["resources"][1]["digest"] = json!(Digest::compute(b"other"));
    let mut added = entry();
    added["resources"]
        .as_array_mut()
        .unwrap()
        .push(file_of("skill://acme/pdf-processing/new", b""));
    let mut removed = entry();
    removed["resources"].as_array_mut().unwrap().pop();
    let mut moved = entry();
    moved["resources"][1]["uri"] = "skill://acme/pdf-processing/FORMS.md".into();
    let mut dynamic = entry();
    dynamic["resources"] = "dynamic".into();

    let mut approvals = ApprovalSet::new();
    assert_eq!(approvals.check("docs", &approved), ApprovalState::Missing);
    approvals.approve("docs", &approved).unwrap();
    assert_eq!(
        approvals.check("docs", &skill(reordered)),
        ApprovalState::Approved
    );
    for changed in [rotated, added, removed, moved, dynamic] {
        let mut approvals = approvals.clone();
        assert_eq!(
            approvals.check("docs", &skill(changed)),
            ApprovalState::Revoked
        );
        // The set that was approved comes back: the approval does not.
        assert_eq!(approvals.check("docs", &approved), ApprovalState::Missing);
    }
}

// requirement: bb671ddea3a8 ca97a6cbdda5
#[test]
fn an_approval_is_of_one_skill_of_one_server() {
    let mut approvals = ApprovalSet::new();
    approvals.approve("docs", &skill(entry())).unwrap();
    let elsewhere = SkillOrigin::new("other", SKILL);
    assert_eq!(
        approvals.check("other", &skill(entry())),
        ApprovalState::Missing
    );
    approvals.approve("other", &skill(entry())).unwrap();
    approvals.remove_server("docs");
    assert_eq!(approvals.origins().collect::<Vec<_>>(), [&elsewhere]);
    assert!(approvals.revoke(&elsewhere));
    assert!(!approvals.revoke(&elsewhere));
}

// requirement: ddfa186757ee
#[test]
fn a_dynamic_skill_cannot_be_approved_for_later() {
    let mut dynamic = entry();
    dynamic["resources"] = "dynamic".into();
    let error = ApprovalSet::new()
        .approve("docs", &skill(dynamic))
        .unwrap_err();
    assert!(matches!(error, SkillError::CannotBind { .. }), "{error}");
}

// requirement: 5186b4eb14e4
#[test]
fn approvals_are_stored_and_stay_the_same() {
    let mut approvals = ApprovalSet::new();
    approvals.approve("docs", &skill(entry())).unwrap();
    let stored = serde_json::to_value(&approvals).unwrap();
    let digest = approval_digest(&skill(entry())).unwrap();
    assert_eq!(
        stored,
        json!([{"server": "docs", "uri": SKILL, "digest": digest}])
    );
    let mut read: ApprovalSet = serde_json::from_value(stored).unwrap();
    assert_eq!(read, approvals);
    assert_eq!(read.check("docs", &skill(entry())), ApprovalState::Approved);
    // Stored digests stay valid in later versions.
    let mut one = entry();
    one["resources"] = json!([file_of(SKILL, b"")]);
    let digest = approval_digest(&skill(one)).unwrap();
    let text = format!(
        "turnbuckle skill approval 1\n{} {SKILL} {}\n",
        SKILL.len(),
        Digest::compute(b"")
    );
    assert_eq!(digest, Digest::compute(text.as_bytes()));
    assert!(SKILL < FORMS, "the files are sorted by their bytes");
}
