//! Our client and our server, over connections that harm what they carry: every request ends in a
//! result or in an error that says why, nothing is left on either side, and the server serves on.
//! What harms nothing is tried everywhere else, too (`in_pieces`).

mod closing;
mod exchanges;
mod in_pieces;
mod losing;
mod resuming;
mod seeded;

use exchanges::{Exchange, Run, Scenario, at_length, converse, places};

/// Holds everything, and names what does not.
#[track_caller]
fn all_hold(what: &str, runs: impl Iterator<Item = Result<Run, String>>) {
    let mut failures = Vec::new();
    let mut tried = 0;
    for run in runs {
        tried += 1;
        failures.extend(run.err());
    }
    eprintln!("{tried} {what}");
    let shown = failures.iter().take(5).cloned().collect::<Vec<_>>();
    assert!(
        failures.is_empty(),
        "{} of {tried} {what}:\n{}",
        failures.len(),
        shown.join("\n\n")
    );
    assert!(tried > 0);
}
