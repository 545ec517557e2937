//! The comparison of counts with the budget.

use std::collections::{BTreeMap, BTreeSet};

use super::file::{File, Goal, Measure, Row};
use super::rooms::CostByModule;

/// The share by which a count may grow, and by which it must shrink to be worth keeping.
const TOLERANCE: f64 = 0.05;

/// Below a whole allocation it is a table that grew in one run and not in the other.
const ALLOCATIONS: f64 = 0.5;

/// So many bytes are never too many: what is counted of a few requests comes in steps.
const BYTES: f64 = 64.0;

/// The number of rooms that that grew are named.
const NAMED: usize = 4;

/// The result of a comparison.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Findings {
    /// The rows that became more.
    pub(super) grown: BTreeSet<String>,
    pub(super) failures: Vec<String>,
    pub(super) hints: Vec<String>,
}

/// Compares what was counted with the file.
pub(super) fn compare(file: &File, counted: &BTreeMap<String, Row>) -> Findings {
    let mut found = Findings::default();
    for (name, now) in counted {
        let Some(accepted) = file.rows.get(name) else {
            found
                .failures
                .push(format!("{name} is not in the budget: accept it"));
            continue;
        };
        let mut misses = false;
        for measure in Measure::ALL {
            against_accepted(name, measure, accepted, now, &mut found);
            let over = over_goal(file, counted, name, measure, accepted, now);
            misses |= over.is_some();
            match (over, &accepted.over) {
                (Some(over), None) => {
                    found.grown.insert(name.clone());
                    found.failures.push(over);
                }
                (Some(over), Some(why)) => found.hints.push(format!("{over}: {why}")),
                (None, _) => {}
            }
        }
        if accepted.over.is_some() && !misses {
            let failure = format!("{name} is within its goals: take its `over` out of the budget");
            found.failures.push(failure);
        }
    }
    found
}

fn against_accepted(name: &str, measure: Measure, accepted: &Row, now: &Row, found: &mut Findings) {
    let Some(after) = measure.amount(now) else {
        return;
    };
    let Some(before) = measure.amount(accepted) else {
        let what = format!("{name} has no {} in the budget: accept it", measure.name());
        found.failures.push(what);
        return;
    };
    let room = match measure {
        Measure::Instructions => before * TOLERANCE,
        Measure::Allocations => ALLOCATIONS,
        Measure::Bytes => (before * TOLERANCE).max(BYTES),
    };
    let change = || {
        format!(
            "{name}: {} {} instead of {} ({:+.1} %)",
            measure.format(after),
            measure.name(),
            measure.format(before),
            100.0 * (after / before - 1.0),
        )
    };
    if after > before + room {
        let mut what = change();
        if measure == Measure::Instructions {
            what.push_str(&grown(&accepted.rooms, &now.rooms));
        }
        found.grown.insert(name.to_owned());
        found.failures.push(what);
    } else if after < before - room {
        found.hints.push(format!("{}: keep it", change()));
    }
}

/// Returns the rooms that grew most, each with by how much.
fn grown(before: &CostByModule, after: &CostByModule) -> String {
    let mut grown: Vec<_> = after
        .iter()
        .map(|(room, cost)| (room, cost - before.get(room).unwrap_or(&0.0), cost))
        .filter(|(_, more, _)| *more >= 1.0)
        .collect();
    grown.sort_by(|one, other| other.1.total_cmp(&one.1));
    grown
        .into_iter()
        .take(NAMED)
        .map(|(room, more, cost)| format!("\n    {room} {more:+.0}, to {cost:.0}"))
        .collect()
}

fn over_goal(
    file: &File,
    counted: &BTreeMap<String, Row>,
    name: &str,
    measure: Measure,
    accepted: &Row,
    now: &Row,
) -> Option<String> {
    let amount = measure.amount(now)?;
    let limit = limit(file, counted, measure, measure.goal(accepted)?)?;
    (amount > limit).then(|| {
        format!(
            "{name}: {} {}, over its goal of {} by {:.1} %",
            measure.format(amount),
            measure.name(),
            measure.format(limit),
            100.0 * (amount / limit - 1.0),
        )
    })
}

/// Returns a goal as a number. What it is relative to is what was counted just now, or else accepted.
pub(super) fn limit(
    file: &File,
    counted: &BTreeMap<String, Row>,
    measure: Measure,
    goal: &Goal,
) -> Option<f64> {
    match goal {
        Goal::Amount(amount) => Some(*amount),
        Goal::Relative { of, times, plus } => {
            let now = counted.get(of).and_then(|row| measure.amount(row));
            let base = now.or_else(|| measure.amount(file.rows.get(of)?))?;
            Some(base * times.unwrap_or(1.0) + plus.unwrap_or(0.0))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(instructions: f64, allocations: f64, rooms: &[(&str, f64)]) -> Row {
        Row {
            instructions: Some(instructions),
            allocations: Some(allocations),
            rooms: rooms
                .iter()
                .map(|(room, cost)| ((*room).to_owned(), *cost))
                .collect(),
            ..Row::default()
        }
    }

    fn compare_one(accepted: Row, now: Row) -> Findings {
        let mut file = File::default();
        file.rows.insert("one".to_owned(), accepted);
        file.rows.insert("other".to_owned(), row(500.0, 1.0, &[]));
        compare(&file, &[("one".to_owned(), now)].into())
    }

    #[test]
    fn more_than_a_twentieth_fails_and_names_the_rooms_that_grew() {
        let before = row(1000.0, 9.0, &[("wire/rpc", 400.0), ("http/head", 600.0)]);
        let within = row(1050.0, 9.2, &[]);
        assert_eq!(compare_one(before.clone(), within), Findings::default());
        let now = row(
            1060.0,
            9.0,
            &[("wire/rpc", 410.0), ("http/head", 590.0), ("std", 60.0)],
        );
        let found = compare_one(before.clone(), now);
        let [failure] = &found.failures[..] else {
            panic!("{found:?}");
        };
        assert!(failure.contains("1060 instructions instead of 1000 (+6.0 %)"));
        let rooms = (
            failure.find("std +60, to 60"),
            failure.find("wire/rpc +10, to 410"),
        );
        assert!(rooms.0.is_some() && rooms.0 < rooms.1, "{failure}");
        assert!(!failure.contains("http/head"), "{failure}");
        let allocation = compare_one(before, row(1000.0, 10.0, &[]));
        assert!(allocation.failures[0].contains("10.0 allocations instead of 9.0"));
    }

    #[test]
    fn less_is_to_be_kept_and_does_not_fail() {
        let found = compare_one(row(1000.0, 9.0, &[]), row(900.0, 9.0, &[]));
        assert!(found.failures.is_empty());
        assert!(found.hints[0].contains("keep it"));
    }

    #[test]
    fn a_missed_goal_fails_unless_the_row_says_why() {
        let goal = |goal| {
            let mut row = row(1000.0, 9.0, &[]);
            row.at_most.instructions = Some(goal);
            row
        };
        let now = || row(1000.0, 9.0, &[]);
        let other = |times, plus| Goal::Relative {
            of: "other".to_owned(),
            times,
            plus,
        };
        for met in [
            Goal::Amount(1000.0),
            other(Some(2.0), None),
            other(None, Some(500.0)),
        ] {
            assert_eq!(compare_one(goal(met), now()), Findings::default());
        }
        for missed in [
            Goal::Amount(999.0),
            other(Some(1.9), None),
            other(None, Some(400.0)),
        ] {
            let mut accepted = goal(missed);
            let found = compare_one(accepted.clone(), now());
            assert!(found.failures[0].contains("over its goal"), "{found:?}");
            accepted.over = Some("young".to_owned());
            let found = compare_one(accepted, now());
            assert!(found.failures.is_empty());
            assert!(found.hints[0].ends_with("young"));
        }
    }

    #[test]
    fn a_reason_for_a_goal_that_is_met_fails() {
        let mut accepted = row(1000.0, 9.0, &[]);
        accepted.at_most.instructions = Some(Goal::Amount(1000.0));
        accepted.over = Some("young".to_owned());
        let found = compare_one(accepted, row(1000.0, 9.0, &[]));
        assert!(found.failures[0].contains("take its `over`"), "{found:?}");
    }

    #[test]
    fn what_the_budget_does_not_have_has_to_be_accepted() {
        let found = compare(
            &File::default(),
            &[("new".to_owned(), Row::default())].into(),
        );
        assert!(found.failures[0].contains("accept it"));
    }
}
