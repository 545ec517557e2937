//! The weight of the minimal servers: crates and bytes.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::contestants::{Contestant, Program};
use super::programs::{RMCP, binary};
use crate::process::{cargo, run, target};
use crate::weigh::list_crates;

/// One minimal server's.
pub(super) struct Weight {
    /// The crates of its build, itself counted; unknown of a floor, whose package has several.
    pub(super) crates: Option<usize>,
    /// Of the stripped release binary.
    pub(super) bytes: Option<u64>,
}

/// A server's title, its binary, and the arguments of `cargo tree` that list what is in it.
type Row = (&'static str, Program, Option<&'static [&'static str]>);

const OURS: &[&str] = &["-p", "turnbuckle-echo", "--no-default-features"];

const ROWS: &[Row] = &[
    (
        "floor: a loop over lines",
        Program::Floor("floor-lines"),
        None,
    ),
    (
        "**turnbuckle**, pipes",
        Program::Ours("echo-stdio"),
        Some(OURS),
    ),
    (
        "rmcp, pipes",
        Program::Rmcp("readme-stdio"),
        Some(&["--manifest-path", RMCP, "--features", "stdio"]),
    ),
    ("floor: axum", Program::Floor("floor-axum"), None),
    (
        "**turnbuckle**, HTTP",
        Program::Ours("echo-http"),
        Some(&["-p", "turnbuckle-echo", "--features", "http"]),
    ),
    (
        "rmcp, HTTP",
        Program::Rmcp("readme-http"),
        Some(&["--manifest-path", RMCP, "--features", "http"]),
    ),
];

/// Returns the weights of those whose programs are among the contestants'.
pub(super) fn weigh(contestants: &[Contestant]) -> Result<Vec<(&'static str, Weight)>, String> {
    let mut weights = Vec::new();
    for &(title, program, tree) in ROWS {
        if !contestants.iter().any(|one| one.program == program) {
            continue;
        }
        let crates = match tree {
            Some(of) => Some(list_crates(cargo(["tree", "--locked"]).args(of))?.len()),
            None => None,
        };
        let bytes = binary(program).and_then(|binary| stripped_size(&binary));
        weights.push((title, Weight { crates, bytes }));
    }
    Ok(weights)
}

/// Returns the size of a binary without what only a debugger reads; nothing where there is no `strip`.
fn stripped_size(binary: &Path) -> Option<u64> {
    let copy = target().join("bench/stripped");
    fs::create_dir_all(copy.parent()?).ok()?;
    run(Command::new("strip").arg("-o").arg(&copy).arg(binary)).ok()?;
    fs::metadata(&copy).ok().map(|copy| copy.len())
}
