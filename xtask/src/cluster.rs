//! `cargo xtask cluster`: instances of one server behind HAProxy, and clients of several SDKs, while instances
//! end and begin (`tests/cluster`).

use std::process::Command;

use crate::process::{node, root, run as run_to_end, target};
use crate::programs::{CLUSTER, TOOL};

/// Builds the program and runs it with all clients; its arguments say for how long and with which faults.
pub(crate) fn run(arguments: &[String]) -> Result<(), String> {
    CLUSTER.build()?;
    TOOL.build()?;
    let python = target().join("debug/python");
    let mut install = Command::new("sh");
    install.arg("tests/interop/python/install.sh").arg(&python);
    run_to_end(install.current_dir(root()))?;
    run_to_end(test()?.arg("--python").arg(python).args(arguments))
}

/// Runs the program, which is built, for 20 seconds with our client and that of TypeScript. Instances are told
/// to stop: nobody may see an error then, whatever the speed of the machine. Killed ones, whose clients see
/// broken connections, belong to [`run`].
pub(crate) fn run_briefly() -> Result<(), String> {
    run_to_end(test()?.args(["--faults", "stop"]))
}

fn test() -> Result<Command, String> {
    let mut test = Command::new(CLUSTER.path());
    test.args(["run", "--node", &node()?, "--tool"]);
    test.arg(TOOL.path());
    Ok(test)
}
