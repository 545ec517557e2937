//! `cargo xtask ci`: what decides whether a change may be merged, but for what rarely fails.
//!
//! Steps that mostly keep one core busy, or wait, run beside the builds, each lane in a process of
//! its own, whose output is shown when it has ended. All of the workspace is built once, see [`workspace`].
//!
//! The public API and packages of the crates, the workspaces beside this one, and the programs of other SDKs
//! belong to `cargo xtask apart`; tests that try every case of something, attacks, and the whole page of the
//! Inspector to `cargo xtask exhaustive`. The workflow runs both at the same time, and decides by all three.
//!
//! Run by hand, because they are slow and rarely fail: `cargo xtask budget` (before and after a change
//! of a path that every message takes), `weigh --sizes` (builds of hello worlds, the code of other SDKs
//! that the guide shows, sizes of programs), `mutants`, `fuzz`, `bench`, `book`, `haproxy`, `cluster` for 10 minutes, and `soak` for half an
//! hour.

use std::fs::{self, File};
use std::io;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio, id};
use std::thread;

use crate::schemas;

use crate::check::{Choice, check_requirements, step, test};
use crate::process::{self, cargo};
use crate::programs::REPORT;
use crate::workspace::{this_program, workspace};
use crate::{api, cluster, node, page, programs, references, soak, tidy};

/// One step: its name and its function.
type Step = (&'static str, fn() -> Result<(), String>);

/// Steps in turn, and the option with which this program takes them.
struct Lane {
    option: &'static str,
    steps: &'static [Step],
}

/// Steps that keep all cores busy, up to the programs that [`RUNS`] needs.
const BUILDS: Lane = Lane {
    option: "builds",
    steps: &[
        // It is quick, and fails before anything is built that takes long.
        ("tidy", || tidy::run(&tidy::Options::default())),
        ("lints and tests of this program", || {
            test(this_program, Choice::Quick)
        }),
        ("lints and tests", || test(workspace, Choice::Quick)),
        ("programs", programs::build_with_tests),
    ],
};

/// Steps that go on beside [`RUNS`].
const REST: Lane = Lane {
    option: "rest",
    steps: &[
        ("doc tests", test_docs),
        (
            "conformance of the authorization server",
            node::check_authorization_server,
        ),
        ("crates", || {
            process::run(Command::new(REPORT.path()).args(["weigh", "--crates"]))
        }),
    ],
};

/// Steps of [`run_apart`]: the public API and packages of the crates, workspaces that build them with dependencies of
/// their own, and programs of others, which change when we change their versions.
const APART: &[Step] = &[
    ("documentation and public API", || {
        api::run(&api::Options { check: true })
    }),
    ("packages", package),
    ("fuzz targets", || {
        let mut check = cargo([
            "check",
            "--quiet",
            "--manifest-path",
            "fuzz/Cargo.toml",
            "--target-dir",
        ]);
        process::run(check.arg(process::target()))
    }),
    ("beside reqwest", || {
        let mut test = cargo([
            "test",
            "--quiet",
            "--manifest-path",
            "tests/beside-reqwest/Cargo.toml",
            "--target-dir",
        ]);
        process::run(test.arg(process::target()))
    }),
    ("interop", || node::interop(&[])),
    ("references", || references::run(&[])),
    ("cluster", || cluster::run(&[])),
];

/// Steps of [`run_exhaustive`].
const EXHAUSTIVE: &[Step] = &[
    ("exhaustive tests", || test(workspace, Choice::Exhaustive)),
    ("features over simulated connections", || {
        let mut tests = workspace(&["test", "--quiet", "--test=features"]);
        process::run(tests.env("TURNBUCKLE_SEEDS", "1"))
    }),
    ("programs", programs::build_with_tests),
    ("page in the browser", page::check_in_browser),
    ("soak", soak::run_briefly),
];

/// Beside [`BUILDS`]: steps that build nothing with cargo, for which they would wait.
const SOURCES: Lane = Lane {
    option: "sources",
    steps: &[
        ("requirements", check_requirements),
        ("schemas", || schemas::check(&process::root())),
        ("format", || {
            process::run(&mut cargo(["fmt", "--all", "--check"]))
        }),
        // It installs Node where there is none, before lanes need it at once.
        ("conformance judge", node::check_scripts),
        ("page", page::check_sources),
    ],
};

/// Beside [`REST`]: the programs with all kinds of peers.
const RUNS: Lane = Lane {
    option: "runs",
    steps: &[
        ("cluster", cluster::run_briefly),
        ("conformance", || node::check_server(&[])),
    ],
};

/// Beside [`REST`] too: they mostly wait.
const CLIENTS: Lane = Lane {
    option: "clients",
    steps: &[
        ("page at work in the browser", page::check_at_work),
        // It ends with scenarios that measure time, when most of the others are done.
        ("conformance-client", || node::check_client(&[])),
    ],
};

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Take the steps of one lane: builds, sources, rest, runs or clients. It ends with its standard input
    #[arg(long)]
    lane: Option<String>,
}

/// Takes every step, and stops at the first that fails.
pub(crate) fn run(options: &Options) -> Result<(), String> {
    if let Some(option) = &options.lane {
        let mut lanes = [&BUILDS, &SOURCES, &REST, &RUNS, &CLIENTS].into_iter();
        let lane = lanes.find(|lane| lane.option == option);
        let lane = lane.ok_or_else(|| format!("there is no lane {option}"))?;
        end_with_input();
        return take(lane.steps, || Ok(()));
    }
    take_beside(&BUILDS, &[&SOURCES])?;
    take_beside(&REST, &[&RUNS, &CLIENTS])
}

/// Takes the steps of a lane while others go on, and waits for those.
fn take_beside(lane: &Lane, lanes: &[&Lane]) -> Result<(), String> {
    let lanes = lanes.iter().map(|lane| Beside::start(lane));
    let mut lanes = lanes.collect::<Result<Vec<_>, _>>()?;
    take(lane.steps, || lanes.iter_mut().try_for_each(Beside::check))?;
    lanes.iter_mut().try_for_each(Beside::end)
}

/// Takes the steps that build much, rarely fail, and decide about a merge all the same: on a machine of
/// their own, at the same time as the others.
pub(crate) fn run_apart() -> Result<(), String> {
    take(APART, || Ok(()))
}

/// Takes the steps that try every case and play every attack, which takes long: on a machine of their own as well.
pub(crate) fn run_exhaustive() -> Result<(), String> {
    take(EXHAUSTIVE, || Ok(()))
}

/// Runs the doc tests of the whole workspace. The examples of a proc macro are doc tests of `tests/macros`.
fn test_docs() -> Result<(), String> {
    let mut tests = workspace(&["test", "--doc", "--quiet"]);
    process::run(tests.arg("--exclude=turnbuckle-macros"))
}

/// Packages every crate as for the registry. They are not built from the packages: all of that is
/// built by others, from the same files.
fn package() -> Result<(), String> {
    process::run(&mut cargo([
        "publish",
        "--workspace",
        "--dry-run",
        "--no-verify",
        "--allow-dirty",
        "--quiet",
    ]))
}

/// Takes the steps in turn; `go_on` is asked before each.
fn take(steps: &[Step], mut go_on: impl FnMut() -> Result<(), String>) -> Result<(), String> {
    for (name, function) in steps {
        go_on()?;
        step(name, function)?;
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
        let output = process::target().join(format!("ci-{}.log", lane.option));
        let start = || {
            let log = File::create(&output)?;
            let mut command = Command::new(std::env::current_exe()?);
            #[cfg(unix)]
            std::os::unix::process::CommandExt::process_group(&mut command, 0);
            command
                .args(["ci", "--lane", lane.option])
                .stdin(Stdio::piped())
                .stdout(log.try_clone()?)
                .stderr(log)
                .spawn()
        };
        let process = start().map_err(|error| format!("the steps beside: {error}"))?;
        let names: Vec<_> = lane.steps.iter().map(|(name, _)| *name).collect();
        println!("== beside the next steps: {}", names.join(", "));
        Ok(Self { process, output })
    }

    /// Checks that nothing has failed so far.
    fn check(&mut self) -> Result<(), String> {
        match self.process.try_wait() {
            Ok(Some(status)) if !status.success() => self.end(),
            _ => Ok(()),
        }
    }

    /// Waits for the end of the process and prints its output.
    fn end(&mut self) -> Result<(), String> {
        // Its input stays open for so long.
        let input = self.process.stdin.take();
        let status = self.process.wait();
        drop(input);
        print!("{}", fs::read_to_string(&self.output).unwrap_or_default());
        let status = status.map_err(|error| format!("the steps beside: {error}"))?;
        match status.success() {
            true => Ok(()),
            false => Err("a step beside the others failed; it is the last one shown".to_owned()),
        }
    }
}

/// Ends this process and its children as soon as nobody holds its input any more.
fn end_with_input() {
    thread::spawn(|| {
        let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
        let group = format!("-{}", id());
        let _ = Command::new("kill").args(["-TERM", "--", &group]).status();
    });
}
