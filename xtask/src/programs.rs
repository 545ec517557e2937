//! The programs of the project that commands run, built as the tests are: every assertion is on.

use std::path::PathBuf;

use crate::process::{cargo, run, target};
use crate::workspace::workspace;

/// A program of the workspace.
#[derive(Clone, Copy)]
pub(crate) struct Program {
    package: &'static str,
    /// The option with which cargo names its kind.
    kind: &'static str,
    name: &'static str,
}

/// The tool; its `demo` is our server.
pub(crate) const TOOL: Program = Program {
    package: "turnbuckle-cli",
    kind: "--bin",
    name: "turnbuckle",
};

/// Our client for the official suite.
pub(crate) const EVERYTHING_CLIENT: Program = Program {
    package: "turnbuckle",
    kind: "--example",
    name: "everything-client",
};

/// Our client for the servers of others.
pub(crate) const INTEROP_CLIENT: Program = Program {
    package: "turnbuckle-interop",
    kind: "--bin",
    name: "interop-client",
};

/// Our client and our server for logins with the programs of others.
pub(crate) const INTEROP_AUTH: Program = Program {
    package: "turnbuckle-interop",
    kind: "--bin",
    name: "interop-auth",
};

/// Clients that behave badly, and their server.
pub(crate) const SOAK: Program = Program {
    package: "turnbuckle-soak",
    kind: "--bin",
    name: "turnbuckle-soak",
};

/// Instances of one server, and their clients.
pub(crate) const CLUSTER: Program = Program {
    package: "turnbuckle-cluster-test",
    kind: "--bin",
    name: "cluster-test",
};

/// A PostgreSQL for programs in other languages.
pub(crate) const START_POSTGRES: Program = Program {
    package: "turnbuckle-engines",
    kind: "--bin",
    name: "start-postgres",
};

/// Measurements: `bench`, `budget` and `weigh`.
pub(crate) const REPORT: Program = Program {
    package: "turnbuckle-report",
    kind: "--bin",
    name: "turnbuckle-report",
};

/// The programs of the steps beside the tests.
const ALL: &[Program] = &[TOOL, EVERYTHING_CLIENT, INTEROP_AUTH, SOAK, CLUSTER, REPORT];

impl Program {
    /// Builds the program and nothing else.
    pub(crate) fn build(self) -> Result<(), String> {
        run(&mut cargo([
            "build",
            "--package",
            self.package,
            self.kind,
            self.name,
        ]))
    }

    /// Returns the path of the program once it is built.
    pub(crate) fn path(self) -> PathBuf {
        let built = target().join("debug");
        match self.kind {
            "--example" => built.join("examples").join(self.name),
            _ => built.join(self.name),
        }
    }
}

/// Builds them together with the tests. Their dependencies have the same features then, and
/// are not built a second time.
pub(crate) fn build_with_tests() -> Result<(), String> {
    let mut build = workspace(&["build", "--tests"]);
    for program in ALL {
        build.args([program.kind, program.name]);
    }
    run(&mut build)
}

/// Builds and starts a command of benches/report.
pub(crate) fn report(command: &str, arguments: &[String]) -> Result<(), String> {
    let mut report = cargo(["run", "--quiet", "--package", REPORT.package, "--", command]);
    run(report.args(arguments))
}
