//! Helpers that run the tool and servers for it.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;

/// The path of the tool.
pub(crate) const TOOL: &str = env!("CARGO_BIN_EXE_turnbuckle");

/// The demo server as a command.
pub(crate) const DEMO: [&str; 4] = ["--", TOOL, "demo", "--stdio"];

/// The outcome of one run of the tool.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Run {
    pub(crate) fn new(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).expect("the tool writes UTF-8");
        Self {
            code: output.status.code(),
            out: text(output.stdout),
            err: text(output.stderr),
        }
    }

    /// Asserts the exit code.
    #[track_caller]
    pub(crate) fn ends(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self:#?}");
        self
    }

    /// Returns the standard output, which must be one line of JSON.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        assert_eq!(self.out.lines().count(), 1, "{self:#?}");
        serde_json::from_str(&self.out).expect("the result is JSON")
    }

    /// Returns the JSON error, which must be the only line on standard error.
    #[track_caller]
    pub(crate) fn error(&self) -> Value {
        assert_eq!(self.err.lines().count(), 1, "{self:#?}");
        let envelope: Value = serde_json::from_str(&self.err).expect("the error is JSON");
        envelope["error"].clone()
    }
}

/// Returns a command that runs the tool in a neutral environment.
pub(crate) fn command(words: &[&str]) -> Command {
    let mut command = Command::new(TOOL);
    command
        .args(words)
        .env_remove("CI")
        .env_remove("NO_COLOR")
        .env_remove("OTEL_EXPORTER_OTLP_ENDPOINT")
        .env_remove("RUST_LOG")
        .env("TERM", "xterm")
        // What one test learns of a server is not for the others.
        .env("XDG_CACHE_HOME", "/dev/null")
        .stdin(Stdio::null());
    command
}

/// Runs the tool with these arguments.
pub(crate) fn run(words: &[&str]) -> Run {
    Run::new(command(words).output().expect("the tool runs"))
}

/// Runs the tool with these arguments and the demo as its server.
pub(crate) fn demo(words: &[&str]) -> Run {
    run(&[words, &DEMO].concat())
}

/// Runs the tool with these arguments and this standard input.
pub(crate) fn run_with_input(words: &[&str], input: &str) -> Run {
    let mut child = command(words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the tool runs");
    let mut stdin = child.stdin.take().expect("it has an input");
    stdin.write_all(input.as_bytes()).expect("it reads");
    drop(stdin);
    Run::new(child.wait_with_output().expect("it ends"))
}

/// The demo over HTTP at a free port.
pub(crate) struct HttpDemo {
    child: Child,
    pub(crate) url: String,
    pub(crate) sse: String,
}

impl HttpDemo {
    pub(crate) fn start() -> Self {
        let mut child = command(&["demo", "--port", "0"])
            .stdout(Stdio::piped())
            .spawn()
            .expect("the demo runs");
        let banner = BufReader::new(child.stdout.take().expect("it has an output"));
        let mut urls = banner
            .lines()
            .map(|line| line.expect("it says where it is"))
            .filter(|line| line.starts_with("http://"));
        let url = urls.next().expect("there is an endpoint");
        let sse = urls
            .next()
            .expect("there is an endpoint of the old transport");
        // Nothing reads the rest of the banner: it fits into the pipe.
        Self { child, url, sse }
    }

    pub(crate) fn run(&self, verb: &str, words: &[&str]) -> Run {
        run(&[&[verb, &self.url], words].concat())
    }
}

impl Drop for HttpDemo {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A temporary directory that is removed when dropped.
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let name = format!(
            "turnbuckle-cli-{}-{}",
            std::process::id(),
            COUNT.fetch_add(1, Ordering::Relaxed)
        );
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).expect("there is a place for it");
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Writes a file and returns its path.
    pub(crate) fn file(&self, name: &str, text: &str) -> String {
        let path = self.0.join(name);
        std::fs::create_dir_all(path.parent().expect("it is in the directory"))
            .expect("it can be made");
        std::fs::write(&path, text).expect("it can be written");
        self.name(name)
    }

    /// Returns the path of a file that need not exist.
    pub(crate) fn name(&self, name: &str) -> String {
        self.0.join(name).to_str().expect("it is UTF-8").to_owned()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
