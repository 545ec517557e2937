//! Everything that decides whether a change may be merged, in the order in which it fails fastest.
//!
//! What mostly keeps one core busy, or waits, goes on beside what is built, each lane in a process
//! of its own, whose output is shown when it has ended.

use std::fs::{self, File};
use std::io;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio, id};
use std::thread;
use std::time::Instant;

use crate::process::{self, cargo};
use crate::{api, book, budget, node, programs, requirements, soak, tidy, weigh};

/// One step: its name and what it does.
type Step = (&'static str, fn() -> Result<(), String>);

/// What takes seconds.
const FIRST: &[Step] = &[
    ("tidy", || tidy::run(&[])),
    ("requirements", || {
        requirements::run(&["check".to_owned(), "--strict".to_owned()])
    }),
    ("crates", weigh::within_limits),
    ("format", || {
        process::run(&mut cargo(["fmt", "--all", "--check"]))
    }),
];

/// What is compiled with all cores, up to the programs that [`RUNS`] needs.
const BUILDS: &[Step] = &[
    ("lints", || {
        process::run(&mut cargo([
            "clippy",
            "--workspace",
            "--all-targets",
            "--",
            "--deny=warnings",
        ]))
    }),
    ("tests", || {
        let mut tests = cargo(["test", "--workspace", "--quiet"]);
        if !has_official_schemas() {
            tests.env("TURNBUCKLE_SPEC_OPTIONAL", "1");
        }
        process::run(&mut tests)
    }),
    ("programs", programs::build_with_tests),
];

/// What is still built while [`RUNS`] goes on.
const REST: &[Step] = &[
    ("documentation", || {
        let mut doc = cargo(["doc", "--workspace", "--no-deps", "--quiet"]);
        process::run(doc.env("RUSTDOCFLAGS", "--deny=warnings"))
    }),
    ("public API", || api::run(&["--check".to_owned()])),
    ("code of others", weigh::shown_code),
    ("book", || book::run(&[])),
];

/// Steps that go on beside others, and the word that makes this program take them.
struct Lane {
    word: &'static str,
    steps: &'static [Step],
}

/// Beside [`BUILDS`]: programs that are linked and counted one at a time.
const COUNTS: Lane = Lane {
    word: "--counts",
    steps: &[("budget", || budget::run(&[]))],
};

/// Beside [`MAX_DRAIN_BYTES`]: the programs with all kinds of peers.
const RUNS: Lane = Lane {
    word: "--runs",
    steps: &[
        ("soak", soak::briefly),
        ("conformance", || node::prove_server(&[])),
        ("conformance-client", || node::prove_client(&[])),
        ("interop", || node::prove_both(&[])),
    ],
};

const WITHOUT_SCHEMAS: &str = "\
!! WITHOUT THE OFFICIAL SCHEMAS: no message is checked against them in this run.
!! Set TURNBUCKLE_SPEC to the directory that holds <revision>/schema.json of each revision.";

/// Whether the tests will find the official schemas, where they look for them.
fn has_official_schemas() -> bool {
    let beside = process::root().join("../shared/spec");
    std::env::var_os("TURNBUCKLE_SPEC")
        .map_or(beside, Into::into)
        .is_dir()
}

/// `cargo xtask ci`: stops at the first step that fails.
pub(crate) fn run(arguments: &[String]) -> Result<(), String> {
    if let [word] = arguments
        && let Some(lane) = [COUNTS, RUNS].iter().find(|lane| lane.word == word)
    {
        end_with_input();
        return take(lane.steps, || Ok(()));
    }
    if !has_official_schemas() {
        println!("{WITHOUT_SCHEMAS}");
    }
    take(FIRST, || Ok(()))?;
    let mut counts = Beside::start(&COUNTS)?;
    take(BUILDS, || counts.still_good())?;
    let mut runs = Beside::start(&RUNS)?;
    take(REST, || counts.still_good().and(runs.still_good()))?;
    runs.end()?;
    counts.end()?;
    if !has_official_schemas() {
        println!("{WITHOUT_SCHEMAS}");
    }
    Ok(())
}

/// Takes the steps in turn; `go_on` is asked before each.
fn take(steps: &[Step], mut go_on: impl FnMut() -> Result<(), String>) -> Result<(), String> {
    for (name, step) in steps {
        go_on()?;
        println!("== {name}");
        let began = Instant::now();
        step().map_err(|error| format!("{name}: {error}"))?;
        println!("== {name}: {:.1} s", began.elapsed().as_secs_f64());
    }
    Ok(())
}

/// The process of a lane, in a group of its own with all that it starts. It ends when this one does,
/// however that comes about.
struct Beside {
    process: Child,
    output: PathBuf,
}

impl Beside {
    fn start(lane: &Lane) -> Result<Self, String> {
        let output = process::target().join(format!("ci{}.log", lane.word));
        let start = || {
            let log = File::create(&output)?;
            let mut command = Command::new(std::env::current_exe()?);
            #[cfg(unix)]
            std::os::unix::process::CommandExt::process_group(&mut command, 0);
            command
                .args(["ci", lane.word])
                .stdin(Stdio::piped())
                .stdout(log.try_clone()?)
                .stderr(log)
                .spawn()
        };
        let process = start().map_err(|error| format!("the steps beside: {error}"))?;
        let names: Vec<_> = lane.steps.iter().map(|(name, _)| *name).collect();
        println!("== beside what follows: {}", names.join(", "));
        Ok(Self { process, output })
    }

    /// Nothing has failed so far.
    fn still_good(&mut self) -> Result<(), String> {
        match self.process.try_wait() {
            Ok(Some(status)) if !status.success() => self.end(),
            _ => Ok(()),
        }
    }

    /// Waits for its end, and shows what it said.
    fn end(&mut self) -> Result<(), String> {
        // Its input stays open for so long.
        let input = self.process.stdin.take();
        let status = self.process.wait();
        drop(input);
        let said = fs::read_to_string(&self.output).unwrap_or_default();
        print!("{said}");
        let status = status.map_err(|error| format!("the steps beside: {error}"))?;
        match status.success() {
            true => Ok(()),
            false => Err("a step beside the others failed; it is the last one shown".to_owned()),
        }
    }
}

/// Ends this process and what it started as soon as nobody holds its input any more.
fn end_with_input() {
    thread::spawn(|| {
        let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
        let group = format!("-{}", id());
        let _ = Command::new("kill").args(["-TERM", "--", &group]).status();
    });
}
