//! The number of crates that a build takes: ours may not grow past a limit.

use std::collections::BTreeSet;
use std::process::{Command, Stdio};

use super::peer::Peer;
use crate::process::{cannot_start, cargo, command_line};

/// The facade's features, and how many crates they may take, the facade counted.
const LIMITS: &[(&[&str], usize)] = &[(&[], 62), (&["--features", "http"], 80)];

/// Fails when the facade takes more crates than it may.
pub(crate) fn within_limits() -> Result<(), String> {
    let mut over = Vec::new();
    for &(features, limit) in LIMITS {
        let mut tree = cargo(["tree", "--locked", "--package", "turnbuckle"]);
        let crates = list_crates(tree.args(features))?;
        let name = features.last().unwrap_or(&"default features");
        println!("{name}: {} crates of {limit}", crates.len());
        if crates.len() > limit {
            let crates: Vec<_> = crates.into_iter().collect();
            over.push(format!(
                "{name}, more than {limit}:\n  {}",
                crates.join("\n  ")
            ));
        }
    }
    if over.is_empty() {
        Ok(())
    } else {
        Err(over.join("\n"))
    }
}

/// Returns how many crates a hello world takes, itself counted.
pub(super) fn of_hello(peer: Peer) -> Result<usize, String> {
    Ok(list_crates(&mut peer.cargo("tree"))?.len())
}

/// Returns the crates that `tree` lists, as `name version`. What only builds and tests need is left out.
pub(crate) fn list_crates(tree: &mut Command) -> Result<BTreeSet<String>, String> {
    tree.args(["--edges", "normal", "--prefix", "none"]);
    let output = tree
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| cannot_start(tree, &error))?;
    if !output.status.success() {
        return Err(format!("{}: {}", command_line(tree), output.status));
    }
    let crates = distinct(&String::from_utf8_lossy(&output.stdout));
    if crates.is_empty() {
        return Err(format!("{}: no crate at all", command_line(tree)));
    }
    Ok(crates)
}

/// Returns the first two words of each line, once; behind them stand folders and marks.
fn distinct(tree: &str) -> BTreeSet<String> {
    tree.lines()
        .filter_map(|line| {
            let (name, rest) = line.split_once(' ')?;
            let version = rest.split(' ').next()?;
            Some(format!("{name} {version}"))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crate_counts_once_for_each_version() {
        let tree = "a v1.0.0 (/x/a)\nb v2.0.0\nb v2.0.0 (*)\nb v1.9.0\n\nc v0.1.0 (proc-macro)\n";
        let expected = ["a v1.0.0", "b v1.9.0", "b v2.0.0", "c v0.1.0"];
        assert!(distinct(tree).iter().eq(&expected), "{:?}", distinct(tree));
    }
}
