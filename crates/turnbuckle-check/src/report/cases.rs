//! The words for a set of cases.

use super::CaseReport;

/// Returns the words for these of all cases, grouped by transport: `2025-06-18, 2025-11-25 over http`.
pub(super) fn describe(chosen: &[usize], all: &[CaseReport]) -> String {
    if chosen.len() == all.len() {
        return match all {
            [only] => format!("{} over {}", only.revision, only.transport),
            _ => format!("all {} cases", all.len()),
        };
    }
    let mut groups: Vec<(&str, Vec<&str>)> = Vec::new();
    for case in chosen.iter().filter_map(|at| all.get(*at)) {
        match groups.iter_mut().find(|(name, _)| *name == case.transport) {
            Some((_, revisions)) => revisions.push(&case.revision),
            None => groups.push((&case.transport, vec![&case.revision])),
        }
    }
    let words = groups.iter().map(|(transport, revisions)| {
        let count = all
            .iter()
            .filter(|case| case.transport == *transport)
            .count();
        if count == revisions.len() && count > 1 {
            return format!("all {count} revisions over {transport}");
        }
        format!("{} over {transport}", revisions.join(", "))
    });
    words.collect::<Vec<_>>().join("; ")
}
