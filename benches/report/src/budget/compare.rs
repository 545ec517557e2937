//! The comparison of counts with the budget.

use std::collections::BTreeSet;

use super::file::{Goal, Measure, Rows};

/// The share by which a count may grow, and by which it must shrink to be worth keeping.
const TOLERANCE: f64 = 0.05;

/// Below a whole allocation it is a table that grew in one run and not in the other.
const ALLOCATIONS: f64 = 0.5;

/// So many bytes are never too many: the counts of a few requests come in steps.
const BYTES: f64 = 64.0;

/// The result of a comparison.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Findings {
    /// The rows that became more.
    pub(super) grown: BTreeSet<String>,
    pub(super) failures: Vec<String>,
    pub(super) hints: Vec<String>,
}

/// Compares counts with the accepted rows.
pub(super) fn compare(accepted: &Rows, counted: &Rows) -> Findings {
    let mut found = Findings::default();
    for (name, now) in counted {
        let Some(before) = accepted.get(name) else {
            let failure = format!("{name} is not in the budget: accept it");
            found.failures.push(failure);
            continue;
        };
        let mut misses = false;
        for (&measure, &amount) in &now.counts {
            compare_amounts(
                name,
                measure,
                before.counts.get(&measure),
                amount,
                &mut found,
            );
            let goal = before.at_most.get(&measure);
            let limit = goal.and_then(|goal| limit(accepted, counted, measure, goal));
            let Some(limit) = limit.filter(|limit| amount > *limit) else {
                continue;
            };
            misses = true;
            let over = format!(
                "{name}: {} {}, over its goal of {} by {:.1} %",
                measure.format(amount),
                measure.name(),
                measure.format(limit),
                100.0 * (amount / limit - 1.0),
            );
            if let Some(reason) = &before.over {
                found.hints.push(format!("{over}: {reason}"));
            } else {
                found.grown.insert(name.clone());
                found.failures.push(over);
            }
        }
        if before.over.is_some() && !misses {
            let failure = format!("{name} is within its goals: take its `over` out of the budget");
            found.failures.push(failure);
        }
    }
    found
}

fn compare_amounts(
    name: &str,
    measure: Measure,
    before: Option<&f64>,
    after: f64,
    found: &mut Findings,
) {
    let Some(&before) = before else {
        let failure = format!("{name} has no {} in the budget: accept it", measure.name());
        found.failures.push(failure);
        return;
    };
    let room = match measure {
        Measure::Instructions => before * TOLERANCE,
        Measure::Allocations => ALLOCATIONS,
        Measure::Bytes => (before * TOLERANCE).max(BYTES),
    };
    let change = format!(
        "{name}: {} {} instead of {} ({:+.1} %)",
        measure.format(after),
        measure.name(),
        measure.format(before),
        100.0 * (after / before - 1.0),
    );
    if after > before + room {
        found.grown.insert(name.to_owned());
        found.failures.push(change);
    } else if after < before - room {
        found.hints.push(format!("{change}: keep it"));
    }
}

/// Returns a goal as a number. It is relative to the new counts of other rows, or else to the accepted
/// ones.
pub(super) fn limit(accepted: &Rows, counted: &Rows, measure: Measure, goal: &Goal) -> Option<f64> {
    match goal {
        Goal::Amount(amount) => Some(*amount),
        Goal::Relative { of, times, plus } => {
            let amount = |of: &String| {
                let amount = |rows: &Rows| rows.get(of)?.counts.get(&measure).copied();
                amount(counted).or_else(|| amount(accepted))
            };
            let base = of.names().iter().map(amount).sum::<Option<f64>>()?;
            Some(base * times.unwrap_or(1.0) + plus.unwrap_or(0.0))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::file::{Others, Row};
    use super::*;

    fn row(instructions: f64, allocations: f64) -> Row {
        let counts = [
            (Measure::Instructions, instructions),
            (Measure::Allocations, allocations),
        ];
        Row {
            counts: counts.into(),
            ..Row::default()
        }
    }

    fn compare_one(accepted: Row, now: Row) -> Findings {
        let accepted = [("one", accepted), ("other", row(500.0, 1.0))];
        let accepted = accepted.map(|(name, row)| (name.to_owned(), row)).into();
        compare(&accepted, &[("one".to_owned(), now)].into())
    }

    #[test]
    fn a_count_may_grow_by_a_twentieth_and_an_allocation_by_less_than_one() {
        let before = row(1000.0, 9.0);
        assert_eq!(
            compare_one(before.clone(), row(1050.0, 9.2)),
            Findings::default()
        );
        let found = compare_one(before.clone(), row(1060.0, 9.0));
        assert!(found.failures[0].contains("1060 instructions instead of 1000 (+6.0 %)"));
        let found = compare_one(before.clone(), row(1000.0, 10.0));
        assert!(found.failures[0].contains("10.0 allocations instead of 9.0"));
        let found = compare_one(before, row(900.0, 9.0));
        assert!(found.failures.is_empty() && found.hints[0].contains("keep it"));
        let found = compare(&Rows::new(), &[("new".to_owned(), Row::default())].into());
        assert!(found.failures[0].contains("accept it"));
    }

    #[test]
    fn a_missed_goal_fails_unless_the_row_has_a_reason() {
        let now = || row(1000.0, 9.0);
        let goal = |goal| {
            let mut row = now();
            row.at_most.insert(Measure::Instructions, goal);
            row
        };
        let other = |times, plus| Goal::Relative {
            of: Others::One("other".to_owned()),
            times,
            plus,
        };
        let twice_other = |times| Goal::Relative {
            of: Others::Sum(vec!["other".to_owned(); 2]),
            times: Some(times),
            plus: None,
        };
        for met in [
            Goal::Amount(1000.0),
            other(Some(2.0), None),
            other(None, Some(500.0)),
            twice_other(1.0),
        ] {
            let mut accepted = goal(met);
            assert_eq!(compare_one(accepted.clone(), now()), Findings::default());
            accepted.over = Some("young".to_owned());
            let found = compare_one(accepted, now());
            assert!(found.failures[0].contains("take its `over`"), "{found:?}");
        }
        for missed in [
            Goal::Amount(999.0),
            other(Some(1.9), None),
            other(None, Some(400.0)),
            twice_other(0.9),
        ] {
            let mut accepted = goal(missed);
            let found = compare_one(accepted.clone(), now());
            assert!(found.failures[0].contains("over its goal"), "{found:?}");
            accepted.over = Some("young".to_owned());
            let found = compare_one(accepted, now());
            assert!(found.failures.is_empty() && found.hints[0].ends_with("young"));
        }
    }
}
