//! `cargo xtask budget`: what one request costs, in instructions and allocations.
//!
//! The servers are the modes of `benches/budget`. Each runs under valgrind with N and with 2N
//! requests from a client in this process; the difference over N is one request, free of start-up
//! and of the client. Instructions are the server's own in user space: the kernel's are not
//! counted. callgrind's figures repeat exactly, so a change shows however small it is.

mod client;
mod modes;
mod valgrind;

use std::path::Path;
use std::process::Command;

use crate::process::{cannot_start, cargo, run as run_command, target};
use modes::{MODES, Mode};
use valgrind::{Counts, Tool};

/// N: the requests of the shorter run.
const REQUESTS: u64 = 1_000;

/// `cargo xtask budget [MODE…]`: the table of the named modes, or of all that are built.
pub(crate) fn run(wanted: &[String]) -> Result<(), String> {
    run_command(&mut cargo([
        "build",
        "--profile",
        "bench",
        "--package",
        "turnbuckle-budget",
    ]))?;
    let server = target().join("release/turnbuckle-budget");
    let modes = select(&built(&server)?, wanted)?;

    println!("user-space instructions and heap allocations of the server per request");
    println!(
        "(valgrind; {} requests less {REQUESTS}, over {REQUESTS})\n",
        2 * REQUESTS
    );
    println!(
        "{:<28} {:>12} {:>8} {:>11} {:>9}",
        "", "instructions", "× floor", "allocations", "bytes"
    );
    let mut floors: Vec<(&str, f64)> = Vec::new();
    for mode in modes {
        let instructions = per_request(&server, mode, Tool::Callgrind)?;
        let allocations = per_request(&server, mode, Tool::Dhat)?;
        floors.push((mode.name, instructions.amount));
        let floor = floors.iter().find(|(name, _)| *name == mode.floor);
        let ratio = floor.map(|(_, floor)| format!("{:.2}", instructions.amount / floor));
        println!(
            "{:<28} {:>12.0} {:>8} {:>11.1} {:>9.0}",
            mode.name,
            instructions.amount,
            ratio.unwrap_or_default(),
            allocations.amount,
            allocations.bytes,
        );
    }
    println!(
        "\nwhere they go: callgrind_annotate {}",
        valgrind::kept("MODE", Tool::Callgrind).display()
    );
    Ok(())
}

/// The names of the modes that the server binary has.
fn built(server: &Path) -> Result<Vec<String>, String> {
    let mut command = Command::new(server);
    let output = command
        .arg("modes")
        .output()
        .map_err(|error| cannot_start(&command, &error))?;
    Ok(String::from_utf8_lossy(&output.stdout)
        .lines()
        .map(str::to_owned)
        .collect())
}

/// The modes to measure, floors first: the wanted ones with their floors, or all.
fn select(built: &[String], wanted: &[String]) -> Result<Vec<&'static Mode>, String> {
    let known = |name: &String| MODES.iter().any(|mode| mode.name == *name);
    if let Some(name) = built.iter().find(|name| !known(name)) {
        return Err(format!("{name} has no row in xtask/src/budget/modes.rs"));
    }
    if let Some(name) = wanted.iter().find(|name| !built.contains(name)) {
        return Err(format!("no mode {name}; there are: {}", built.join(", ")));
    }
    let is_wanted = |name: &str| wanted.is_empty() || wanted.iter().any(|wanted| wanted == name);
    let floors: Vec<_> = MODES
        .iter()
        .filter(|mode| is_wanted(mode.name))
        .map(|mode| mode.floor)
        .collect();
    let modes = MODES
        .iter()
        .filter(|mode| built.iter().any(|name| name == mode.name));
    Ok(modes
        .filter(|mode| is_wanted(mode.name) || floors.contains(&mode.name))
        .collect())
}

/// What one request of `mode` adds to the tool's counts.
fn per_request(server: &Path, mode: &Mode, tool: Tool) -> Result<Counts, String> {
    let once = valgrind::count(server, mode, tool, REQUESTS)?;
    let twice = valgrind::count(server, mode, tool, 2 * REQUESTS)?;
    let requests = REQUESTS as f64;
    Ok(Counts {
        amount: (twice.amount - once.amount) / requests,
        bytes: (twice.bytes - once.bytes) / requests,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(built: &[&str], wanted: &[&str]) -> Result<Vec<&'static str>, String> {
        let owned = |names: &[&str]| {
            names
                .iter()
                .map(|name| (*name).to_owned())
                .collect::<Vec<_>>()
        };
        let modes = select(&owned(built), &owned(wanted))?;
        Ok(modes.into_iter().map(|mode| mode.name).collect())
    }

    #[test]
    fn a_mode_brings_its_floor_and_stands_after_it() {
        let built = ["ours-http-modern", "floor-stdio", "floor-http"];
        let both = ["floor-http", "ours-http-modern"];
        assert_eq!(names(&built, &["ours-http-modern"]).unwrap(), both);
        assert_eq!(names(&built, &[]).unwrap().len(), 3);
    }

    #[test]
    fn a_mode_without_a_row_or_a_server_is_refused() {
        assert!(
            names(&["floor-carrier-pigeon"], &[])
                .unwrap_err()
                .contains("no row")
        );
        assert!(
            names(&["floor-http"], &["ours-http-modern"])
                .unwrap_err()
                .contains("no mode")
        );
    }

    #[test]
    fn every_floor_is_a_mode_above_its_own() {
        for (index, mode) in MODES.iter().enumerate() {
            assert!(
                MODES[..=index].iter().any(|floor| floor.name == mode.floor),
                "{}",
                mode.name
            );
        }
    }
}
