//! Runs other programs, with errors that name them.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Returns the root of the workspace.
pub(crate) fn root() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = package
        .ancestors()
        .find(|folder| folder.join("Cargo.lock").is_file());
    root.unwrap_or(package).to_path_buf()
}

/// Returns the folder of what cargo builds.
pub(crate) fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(
        || root().join("target"),
        |dir| root().join(PathBuf::from(dir)),
    )
}

/// Returns a command of the cargo that runs this program, in the root of the workspace.
pub(crate) fn cargo<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root()).args(arguments);
    // Cargo's words about this very program: build scripts that read them would run again.
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
            command.env_remove(&name);
        }
    }
    command
}

/// Runs `command` to its end; anything but success is an error that shows the command.
pub(crate) fn run(command: &mut Command) -> Result<(), String> {
    let status = command
        .status()
        .map_err(|error| cannot_start(command, &error))?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("{}: {status}", command_line(command)))
    }
}

/// Returns what a command prints; an error has what it complains of.
pub(crate) fn output(command: &mut Command) -> Result<String, String> {
    let output = command
        .output()
        .map_err(|error| cannot_start(command, &error))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => {
            let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
            Err(format!(
                "{}: {}\n{complaint}",
                command_line(command),
                output.status
            ))
        }
    }
}

/// Returns the message for a program that did not start.
pub(crate) fn cannot_start(command: &Command, error: &std::io::Error) -> String {
    format!("cannot start {}: {error}", command.get_program().display())
}

/// Returns the command as a person types it.
pub(crate) fn command_line(command: &Command) -> String {
    let mut line = command.get_program().display().to_string();
    for argument in command.get_args() {
        line.push(' ');
        line.push_str(&argument.to_string_lossy());
    }
    line
}

/// Returns the path of the node that tests/js needs, which is newer than most machines', after its
/// packages are installed.
pub(crate) fn node() -> Result<String, String> {
    let mut install = Command::new("sh");
    install
        .args(["tests/js/install.sh", "--where"])
        .current_dir(root());
    output(install.stderr(Stdio::inherit())).map(|path| path.trim().to_owned())
}
