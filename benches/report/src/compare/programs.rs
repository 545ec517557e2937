//! The programs of the contestants: built, or found, or not there.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::contestants::{Contestant, Program};
use crate::process::{cannot_start, cargo, command_line, node, root, run, target};

/// The official Rust SDK's servers, in a workspace of their own.
pub(super) const RMCP: &str = "benches/peers/rmcp/Cargo.toml";

/// The programs that were built for one run.
pub(super) struct Programs {
    /// The load driver.
    pub(super) driver: PathBuf,
    node: Result<String, String>,
    python: Result<PathBuf, String>,
}

impl Programs {
    /// Builds what the contestants need. What is missing of other people's is told when it is
    /// asked for; what is missing of ours is an error.
    pub(super) fn build(contestants: &[Contestant]) -> Result<Self, String> {
        let wanted = |is: fn(Program) -> bool| contestants.iter().any(|one| is(one.program));
        let release = ["build", "--release"];
        run(cargo(release).args(["-p", "turnbuckle-load", "-p", "turnbuckle-floors"]))?;
        if wanted(|program| matches!(program, Program::Ours(_))) {
            let ours = ["-p", "turnbuckle-echo", "--no-default-features"];
            run(cargo(release).args(ours).args(["--bin", "echo-stdio"]))?;
            let http = ["--features", "http", "--bin", "echo-http"];
            run(cargo(release).args(ours).args(http))?;
        }
        if wanted(|program| matches!(program, Program::Rmcp(_))) {
            for (features, binaries) in RMCP_BINARIES {
                let mut build = cargo(release);
                build.args(["--locked", "--manifest-path", RMCP, "--features", features]);
                for binary in *binaries {
                    build.args(["--bin", binary]);
                }
                run(build.arg("--target-dir").arg(rmcp_folder()))?;
            }
        }
        let unwanted = "not asked for";
        Ok(Self {
            driver: target().join("release/turnbuckle-load"),
            node: if wanted(|program| program == Program::Node) {
                node()
            } else {
                Err(unwanted.to_owned())
            },
            python: if wanted(|program| program == Program::Python) {
                python()
            } else {
                Err(unwanted.to_owned())
            },
        })
    }

    /// Returns a contestant's command line, or why it has none here.
    pub(super) fn command(&self, contestant: &Contestant) -> Result<Vec<String>, String> {
        let mut command = match contestant.program {
            Program::Node => {
                let script = root().join("tests/js/bench/echo.mjs");
                vec![self.node.clone()?, script.display().to_string()]
            }
            Program::Python => {
                let script = root().join("benches/peers/python/echo.py");
                let python = self.python.as_ref().map_err(Clone::clone)?;
                vec![python.display().to_string(), script.display().to_string()]
            }
            own => match binary(own) {
                Some(binary) => vec![binary.display().to_string()],
                None => return Err("no binary".to_owned()),
            },
        };
        command.extend(contestant.arguments.iter().map(|&word| word.to_owned()));
        Ok(command)
    }
}

/// The features of the SDK that each of its servers needs.
const RMCP_BINARIES: &[(&str, &[&str])] = &[
    ("stdio", &["readme-stdio"]),
    ("http", &["readme-http"]),
    ("http,stdio", &["tuned", "hundred"]),
];

fn rmcp_folder() -> PathBuf {
    target().join("bench/rmcp")
}

/// Returns where a program that cargo builds is.
pub(super) fn binary(program: Program) -> Option<PathBuf> {
    match program {
        Program::Floor(name) | Program::Ours(name) => Some(target().join("release").join(name)),
        Program::Rmcp(name) => Some(rmcp_folder().join("release").join(name)),
        Program::Node | Program::Python => None,
    }
}

/// Returns the Python of an environment with the pinned packages, which is made if need be.
fn python() -> Result<PathBuf, String> {
    let folder = target().join("bench/python");
    let python = folder.join("bin/python");
    let requirements = root().join("benches/peers/python/requirements.txt");
    let wanted = fs::read_to_string(&requirements)
        .map_err(|error| format!("{}: {error}", requirements.display()))?;
    let stamp = folder.join("installed");
    if fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
        return Ok(python);
    }
    quietly(
        Command::new("python3")
            .args(["-m", "venv", "--clear"])
            .arg(&folder),
    )?;
    let mut install = Command::new(&python);
    install.args(["-m", "pip", "install", "--quiet", "--requirement"]);
    quietly(install.arg(&requirements))?;
    written(&stamp, &wanted)?;
    Ok(python)
}

fn written(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}

/// Runs a command whose output nobody needs unless it fails.
fn quietly(command: &mut Command) -> Result<(), String> {
    let output = command
        .stdin(Stdio::null())
        .output()
        .map_err(|error| cannot_start(command, &error))?;
    if output.status.success() {
        return Ok(());
    }
    let told = String::from_utf8_lossy(&output.stderr);
    let last = told.trim_end().lines().next_back().unwrap_or_default();
    Err(format!(
        "{}: {} {last}",
        command_line(command),
        output.status
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::contestants::select;

    #[test]
    fn every_binary_of_the_sdk_is_built_and_its_lock_stands() {
        for one in select(&[]).unwrap() {
            if let Program::Rmcp(name) = one.program {
                let built = RMCP_BINARIES.iter().any(|(_, all)| all.contains(&name));
                assert!(built, "{name}");
            }
        }
        assert!(root().join(RMCP).with_file_name("Cargo.lock").is_file());
    }

    #[test]
    fn a_command_that_fails_tells_its_last_line() {
        let mut fails = Command::new("sh");
        fails.args(["-c", "echo one >&2; echo two >&2; exit 3"]);
        let told = quietly(&mut fails).unwrap_err();
        assert!(told.ends_with("exit status: 3 two"), "{told}");
        assert!(quietly(&mut Command::new("true")).is_ok());
    }
}
