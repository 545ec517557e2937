//! Ids of tasks: nobody is to guess those of others.
//!
//! Specification: basic/utilities/tasks (2025-11-25), and the extension `io.modelcontextprotocol/tasks`.

use serde_json::Value;

use super::{extension, legacy};
use crate::case::Bind;
use crate::check::{Check, Need, Stop};
use crate::context::CheckContext;
use crate::report::Level;

/// Fewer characters than this cannot be random enough: 64 bits take 11 of Base64.
const MIN_CHARS: usize = 11;

/// Ids that are numbers count up if they are no further apart.
const MAX_STEP: u128 = 100;

pub(super) const CHECKS: &[Check] = &[
    Check::new(
        "tasks.ids-unguessable",
        Level::Must,
        "the ids of tasks are unique, and long and random enough not to be guessed",
        |cx| Box::pin(ids(cx)),
    )
    .modern()
    .once()
    .needs(&[Need::Extension(extension::EXTENSION), Need::CallableTool])
    .requires(&["0b587f15403d"])
    .fix("make ids of 128 random bits of a cryptographic generator"),
    // Over HTTP a server may know whose task it is, and is then free to count.
    Check::new(
        "tasks.legacy-ids-unguessable",
        Level::Must,
        "the ids of tasks are unique, and long and random enough not to be guessed",
        |cx| Box::pin(legacy_ids(cx)),
    )
    .revisions(legacy::REVISION)
    .only_over(&[Bind::Pipe, Bind::Stream])
    .once()
    .needs(legacy::NEEDS)
    .requires(&["6c69d5f57782", "fc06176f1c12"])
    .fix("make ids of 128 random bits of a cryptographic generator"),
];

async fn ids(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let mut probe = extension::declaring(cx).await?;
    let first = extension::start(cx, &mut probe).await?;
    let second = extension::start(cx, &mut probe).await?;
    judge(cx, &first, &second);
    Ok(())
}

async fn legacy_ids(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let mut probe = cx.fresh(cx.options()).await?;
    let first = legacy::start(cx, &mut probe, 0).await?;
    let second = legacy::start(cx, &mut probe, 0).await?;
    judge(cx, &first, &second);
    Ok(())
}

fn judge(cx: &mut CheckContext<'_>, first: &Value, second: &Value) {
    let [first, second] = [first, second].map(|task| task["taskId"].as_str().unwrap_or_default());
    if first == second {
        cx.fault(format!("two tasks have the id {first:?}"));
    } else if first.len() < MIN_CHARS {
        cx.fault(format!(
            "the id {first:?} has {} characters, which can be guessed",
            first.len()
        ));
    } else if counts_up(first, second) {
        cx.fault(format!("the ids {first:?} and {second:?} count up"));
    }
}

/// Returns whether two texts differ only in a number at their ends, and by a small step.
fn counts_up(first: &str, second: &str) -> bool {
    let split = |text: &str| {
        let kept = text
            .trim_end_matches(|char: char| char.is_ascii_digit())
            .len();
        let number = text.get(kept..)?.parse::<u128>().ok()?;
        Some((text.get(..kept)?.to_owned(), number))
    };
    match (split(first), split(second)) {
        (Some((before, first)), Some((other, second))) => {
            before == other && first.abs_diff(second) <= MAX_STEP
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_that_count_are_told_from_random_ones() {
        for (first, second) in [
            ("task-000000001", "task-000000002"),
            ("17000000000", "17000000007"),
        ] {
            assert!(counts_up(first, second), "{first} {second}");
        }
        for (first, second) in [
            ("0b587f15403d9a1e", "6c69d5f577824fd1"),
            ("task-17000000000", "task-99000000000"),
            ("a-000000001", "b-000000002"),
            ("abcdefghijk", "abcdefghijl"),
        ] {
            assert!(!counts_up(first, second), "{first} {second}");
        }
    }
}
