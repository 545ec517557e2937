//! The programs of the contestants: built, or found, or not there.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use super::contestants::{Contestant, Program};
use crate::process::{cargo, node, output, root, run, target};

/// The official Rust SDK's servers, in a workspace of their own.
const RMCP: &str = "benches/peers/rmcp/Cargo.toml";

/// The programs that were built for one run.
pub(super) struct Programs {
    /// The load driver.
    pub(super) driver: PathBuf,
    node: Result<String, String>,
    python: Result<PathBuf, String>,
}

impl Programs {
    /// Builds the programs of the contestants. A missing program of another SDK is an error of
    /// [`command`](Self::command); a missing program of ours is an error here.
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
        fn not_wanted<T>() -> Result<T, String> {
            Err("not asked for".to_owned())
        }
        Ok(Self {
            driver: target().join("release/turnbuckle-load"),
            node: wanted(|program| program == Program::Node)
                .then(node)
                .unwrap_or_else(not_wanted),
            python: wanted(|program| program == Program::Python)
                .then(python)
                .unwrap_or_else(not_wanted),
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
fn binary(program: Program) -> Option<PathBuf> {
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
    let mut make = Command::new("python3");
    make.args(["-m", "venv", "--clear"]).arg(&folder);
    output(&mut make)?;
    let mut install = Command::new(&python);
    install.args(["-m", "pip", "install", "--quiet", "--requirement"]);
    output(install.arg(&requirements))?;
    fs::write(&stamp, &wanted).map_err(|error| format!("{}: {error}", stamp.display()))?;
    Ok(python)
}
