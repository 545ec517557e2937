//! A scripted server that is a process, and what is left of such.

use std::fs;

use turnbuckle_stdio::Command;

/// Answers the handshake, and does what the fault says about everything else that is a request:
/// `$id` is the request's.
const PRELUDE: &str = r#"
say() { printf '%s\n' "$1"; }
answer() { say '{"jsonrpc":"2.0","id":'"$id"',"result":{"content":[]}}'; }
while IFS= read -r line; do
    id=${line#*\"id\":}
    id=${id%%[,\}]*}
    case $line in
    *'"method":"initialize"'*)
        say '{"jsonrpc":"2.0","id":'"$id"',"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"logging":{}},"serverInfo":{"name":"sh","version":"0"}}}' ;;
    *'"method":"notifications/'*) ;;
    *) fault ;;
    esac
done
"#;

/// Returns the command of a server in `sh` that runs `fault` for every request after the handshake
/// of 2025-11-25; the shell function `answer` sends a correct answer.
pub fn shell(fault: &str) -> Command {
    let script = format!("fault() {{\n{fault}\n}}\n{PRELUDE}");
    Command::new("sh").arg("-c").arg(script)
}

/// Returns the number of child processes of this process that are not reaped yet.
///
/// # Panics
/// Where there is no `/proc`.
#[must_use]
pub fn children() -> usize {
    let tasks = fs::read_dir("/proc/self/task").expect("there is a /proc");
    tasks
        .flatten()
        .filter_map(|task| fs::read_to_string(task.path().join("children")).ok())
        .map(|children| children.split_whitespace().count())
        .sum()
}

/// Returns the number of file descriptors that this process holds, those of sockets and pipes among
/// them.
///
/// # Panics
/// Where there is no `/proc`.
#[must_use]
pub fn open_files() -> usize {
    let open = fs::read_dir("/proc/self/fd").expect("there is a /proc");
    open.count()
}
