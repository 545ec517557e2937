//! `cargo xtask references`: the servers of `turnbuckle serve`, compared with the reference servers.

use std::process::{Command, Stdio};

use crate::process::{output, root, run as run_to_end, target};
use crate::programs::{START_POSTGRES, TOOL};

/// Builds the tool and compares its servers with the reference servers. `arguments` are those of
/// tests/references/compare.mjs: names of servers, and `--speed`.
pub(crate) fn run(arguments: &[String]) -> Result<(), String> {
    let folder = root().join("tests/references");
    let mut install = Command::new("sh");
    install
        .args(["tests/js/install.sh", "--where"])
        .current_dir(root())
        .env("INSTALL_FOLDER", &folder);
    let node = output(install.stderr(Stdio::inherit()))?;
    let python = target().join("references/python");
    run_to_end(
        Command::new("sh")
            .arg(folder.join("python-install.sh"))
            .arg(&python),
    )?;
    // The speed of a debug build says nothing: TOOL names a built one then.
    let tool = match std::env::var_os("TOOL") {
        Some(tool) => tool.into(),
        None => {
            TOOL.build()?;
            TOOL.path()
        }
    };
    START_POSTGRES.build()?;
    let mut compare = Command::new(node.trim());
    compare
        .arg(folder.join("compare.mjs"))
        .arg(tool)
        .arg(python)
        .arg(START_POSTGRES.path());
    run_to_end(compare.args(arguments).current_dir(root()))
}
