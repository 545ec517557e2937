//! The order of the functions in the released tool: those that run at a start stand side by side.
//!
//! The system reads a program by pages, a few of them around each one that is needed. Scattered over the whole file,
//! the functions of a start cost more time and memory than all else at it. So the tool is linked twice: the first
//! one is started under valgrind, which tells the functions that run, and the second one has them in front.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use serde_json::{Value, json};

use super::servers::{initialize, initialized, list_servers, request};
use crate::process::{output, run as run_to_end};

/// The variable that names a folder for files beside the program, and with which rustc starts this program in the
/// linker's place.
const AS_LINKER: &str = "TURNBUCKLE_XTASK_LINKER";

/// The linker that rustc uses on this platform.
const LINKER: &str = "cc";

/// The argument that leaves names out of a program.
const STRIP: &str = "-Wl,--strip-all";

/// The fewest functions of ours that run at a start.
const MIN_FUNCTIONS: usize = 500;

/// Makes `build` link in this order.
pub(super) fn order_functions(build: &mut Command, folder: &Path) -> Result<(), String> {
    // Before a build of many minutes.
    output(Command::new("valgrind").arg("--version")).map_err(|error| {
        format!("{error}\nThe order of functions is read from valgrind: install it, or build with --unordered")
    })?;
    let this = std::env::current_exe().map_err(|error| format!("this program: {error}"))?;
    build.arg(format!("-Clinker={}", this.display()));
    build.env(AS_LINKER, folder);
    Ok(())
}

/// Links where rustc started this program in the linker's place; returns its status then.
pub(crate) fn act_as_linker() -> Option<ExitCode> {
    let folder = PathBuf::from(std::env::var_os(AS_LINKER)?);
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    Some(match link(&arguments, &folder) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    })
}

fn link(arguments: &[OsString], folder: &Path) -> Result<(), String> {
    let mut output = arguments.iter().skip_while(|argument| *argument != "-o");
    let program = output.nth(1).ok_or("rustc names no program to link")?;
    let program = Path::new(program);
    let named = arguments.iter().filter(|argument| *argument != STRIP);
    run_to_end(Command::new(LINKER).args(named))?;
    let mut functions = BTreeSet::new();
    for server in list_servers(folder)? {
        let alone = server.command(program);
        let mut bridge = Command::new(program);
        bridge.args(["bridge", "--stdio", "--"]);
        bridge.arg(alone.get_program()).args(alone.get_args());
        record(&alone, &server.call, folder, &mut functions)?;
        record(&bridge, &server.call, folder, &mut functions)?;
    }
    let own = functions.iter().filter(|name| name.contains("turnbuckle"));
    if own.count() < MIN_FUNCTIONS {
        return Err(
            "valgrind finds no names: the linker was told in another way to leave them out"
                .to_owned(),
        );
    }
    let order = folder.join("functions.txt");
    let lines: String = functions.iter().map(|name| format!("{name}\n")).collect();
    fs::write(&order, lines).map_err(|error| format!("{}: {error}", order.display()))?;
    let mut ordered = OsString::from("-Wl,--no-warn-symbol-ordering,--symbol-ordering-file=");
    ordered.push(&order);
    run_to_end(Command::new(LINKER).args(arguments).arg(ordered))
}

/// Starts a server, calls a tool of it, and adds the functions that have run.
fn record(
    command: &Command,
    call: &Value,
    folder: &Path,
    functions: &mut BTreeSet<String>,
) -> Result<(), String> {
    let profile = folder.join("callgrind.out");
    let mut valgrind = Command::new("valgrind");
    valgrind
        .args(["--quiet", "--tool=callgrind", "--demangle=no"])
        .arg(format!("--callgrind-out-file={}", profile.display()))
        .arg(command.get_program())
        .args(command.get_args())
        .stdin(Stdio::piped())
        .stdout(Stdio::null());
    let messages = [
        initialize(),
        initialized(),
        request(1, "tools/list", &json!({})),
        request(2, "tools/call", call),
    ];
    let run = || {
        let mut child = valgrind.spawn()?;
        if let Some(mut input) = child.stdin.take() {
            for message in messages {
                writeln!(input, "{message}")?;
            }
        }
        let status = child.wait()?;
        let succeeded = status.success();
        succeeded.then(|| fs::read_to_string(&profile)).transpose()
    };
    let found = run().map_err(|error: std::io::Error| format!("{command:?}: {error}"))?;
    let profile = found.ok_or_else(|| format!("{command:?} has failed"))?;
    functions.extend(profile.lines().filter_map(read_function).map(str::to_owned));
    Ok(())
}

/// Returns the function of the tool that a line of callgrind's output is about.
fn read_function(line: &str) -> Option<&str> {
    let (kind, rest) = line.split_once("=(")?;
    let (_, name) = rest.split_once(") ")?;
    // The second and further levels of a recursion have a number.
    let name = name.split('\'').next()?;
    (matches!(kind, "fn" | "cfn") && !name.starts_with("0x")).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::read_function;

    #[test]
    fn functions_are_read_from_a_profile() {
        assert_eq!(read_function("fn=(12) _ZN4mainE"), Some("_ZN4mainE"));
        assert_eq!(read_function("cfn=(3) sqlite3Init'2"), Some("sqlite3Init"));
        for other in [
            "fn=(12)",
            "fl=(1) src/main.rs",
            "cfn=(7) 0x1ab70",
            "16 400",
            "",
        ] {
            assert_eq!(read_function(other), None, "{other}");
        }
    }
}
